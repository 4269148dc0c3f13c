package mcpmgr

import (
	"errors"
	"testing"
)

// TestStrayHeader: an annotation counts on what properties alone lead to, and anywhere else it makes a tool unusable.
func TestStrayHeader(t *testing.T) {
	const prop = `{"type":"string","x-mcp-header":"A"}`
	object := func(inner string) string { return `{"type":"object","properties":{"a":` + inner + `}}` }
	for schema, headers := range map[string]int{
		object(prop):         1,
		object(object(prop)): 1,
		`{"type":"object","properties":{"x-mcp-header":{"type":"string"}}}`:                                        0,
		object(`{"type":"string","default":` + prop + `,"enum":["x-mcp-header"],"x-note":{"items":` + prop + `}}`): 0,
		object(`{"type":"array","items":` + prop + `}`):                                                            -1,
		object(`{"type":"array","items":` + object(prop) + `}`):                                                    -1,
		object(`{"type":"array","prefixItems":[{},` + prop + `]}`):                                                 -1,
		object(`{"anyOf":[` + prop + `,{"type":"null"}]}`):                                                         -1,
		`{"type":"object","oneOf":[` + object(prop) + `]}`:                                                         -1,
		`{"type":"object","if":` + object(prop) + `}`:                                                              -1,
		`{"type":"object","$defs":{"a":` + prop + `},"properties":{"b":{"$ref":"#/$defs/a"}}}`:                     -1,
		`{"type":"object","patternProperties":{"^a":` + prop + `}}`:                                                -1,
		`{"type":"object","additionalProperties":` + prop + `}`:                                                    -1,
		`{"type":"object","x-mcp-header":"A"}`:                                                                     -1,
	} {
		hs, err := paramHeaders([]byte(schema))
		if headers < 0 != errors.Is(err, errStrayHeader) || headers >= 0 && len(hs) != headers {
			t.Errorf("%s: %v %v", schema, hs, err)
		}
	}
}
