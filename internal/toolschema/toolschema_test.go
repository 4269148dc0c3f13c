package toolschema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"askback/internal/jsonschema"
)

func TestCheck(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object"}`: "",
		`{"type":"object","properties":{"$schema":{"type":"string"}},"required":["$schema"]}`:       "",
		`{"type":"object","$defs":{"a":{"type":"string"}},"properties":{"x":{"$ref":"#/$defs/a"}}}`: "",
		`{"type":"object","properties":{"x":{"enum":[{"if":1}],"default":{"$schema":1}}}}`:          "",
		`{"type":"object","items":[true,{"type":"string"}],"additionalProperties":false}`:           "",
		`{"type":"object","properties":{"a":{"pattern":"(?=x)\\d+"}}}`:                              "",
		`{}`:                              `must be "object"`,
		`[]`:                              "must be an object",
		`{"type":["object"]}`:             `must be "object"`,
		`{"type":"object","$schema":"x"}`: `unknown key "$schema"`,
		`{"type":"object","if":{}}`:       `unknown key "if"`,
		`{"type":"object","properties":{"a":{"not":{}}}}`:                                                   `unknown key "not"`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}}}`:                                         "own definitions",
		`{"type":"object","$ref":"https://x.example/s"}`:                                                    "own definitions",
		`{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}`:                                    "own definitions",
		`{"type":"object","properties":{"a":{"pattern":"("}}}`:                                              "regular expression",
		`{"type":"object","properties":{"":{}}}`:                                                            "key",
		`{"type":"object","properties":{"a":7}}`:                                                            "must be an object",
		`{"type":"object","type":"object"}`:                                                                 "twice",
		`{"type":"object","description":"` + strings.Repeat("x", MaxBytes) + `"}`:                           "bytes",
		`{"type":"object","enum":[` + strings.Repeat("1,", MaxNodes) + `1]}`:                                "values",
		`{"type":"object","default":` + strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth) + `}`: "deep",
	} {
		err := Check([]byte(schema))
		if (want == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), want)) {
			t.Errorf("%.100s: %v, want %q", schema, err, want)
		}
	}
}

func TestPatterns(t *testing.T) {
	for p, ok := range map[string]bool{
		"": true, "^a|b$": true, "a{2,3}?": true, "a{": true, "{": true, "a{,3}": true, "x{1}": true, `\d+\.\w*`: true,
		"(?:a)(?=b)(?!c)(?<=d)(?<!e)": true, "(?<n>a)\\k<n>": true, "[a-z]": true, "[^]": true, "[]": true, "[a-]": true,
		`[\w-z]`: true, `[\]]`: true, "]": true, "}": true, `é𝄞+`: true, "(a|)*": true, `\/`: true, `(?=a)*`: true,
		"(": false, ")": false, "*a": false, "a**": false, "a{2}{3}": false, "a{3,2}": false, "[": false, "[z-a]": false,
		`\`: false, "(?P<n>a)": false, "(?i)a": false, "(?<n>a)(?<n>b)": false, "(?<1>a)": false, "(?<=a)*": false, "^*": false,
		"(?<n>a)\\k<m>": false, `[\`: false, "{1}": false, "a\xff": false,
		strings.Repeat("(", 500): false, strings.Repeat("{", MaxBytes) + "}": false,
	} {
		if err := CheckPattern(p); (err == nil) != ok {
			t.Errorf("%q: %v", p, err)
		}
	}
}

func TestRewrite(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"as it is", `{"type":"object","properties":{"a":{"type":"string"}}}`, `{"type":"object","properties":{"a":{"type":"string"}}}`},
		{"no type", `{}`, `{"type":"object"}`},
		{"nullable root", `{"type":["null","object"]}`, `{"type":"object"}`},
		{"notes", `{"$schema":"http://json-schema.org/draft-07/schema#","$id":"x","$comment":"c","type":"object","x-y":1,"deprecated":true}`, `{"type":"object"}`},
		{"a property may have any name", `{"properties":{"$schema":{"$schema":"s","not":{}},"if":true}}`, `{"type":"object","properties":{"$schema":{},"if":true}}`},
		{"conditions", `{"type":"object","if":{"required":["a"]},"then":{"required":["b"]},"not":{"required":["c"]},"required":["d"]}`, `{"type":"object","required":["d"]}`},
		{"patternProperties take additionalProperties along", `{"patternProperties":{"^x":{}},"additionalProperties":false,"properties":{"a":{}}}`, `{"type":"object","properties":{"a":{}}}`},
		{"prefixItems take items along", `{"properties":{"a":{"prefixItems":[{}],"items":false}}}`, `{"type":"object","properties":{"a":{}}}`},
		{"a oneOf that became wider", `{"oneOf":[{"required":["a"],"not":{"required":["b"]}},{"required":["b"]}]}`, `{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}]}`},
		{"a oneOf that did not", `{"oneOf":[{"required":["a"],"$comment":"x"},{"required":["b"]}]}`, `{"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}]}`},
		{"a oneOf beside an anyOf", `{"anyOf":[true],"oneOf":[{"not":{}},true]}`, `{"type":"object","anyOf":[true]}`},
		{"a pattern of another language", `{"properties":{"a":{"type":"string","pattern":"(?i)x"}}}`, `{"type":"object","properties":{"a":{"type":"string"}}}`},
		{"references into definitions", `{"definitions":{"s":{"type":"string","$comment":"x"}},"properties":{"a":{"$ref":"#/definitions/s"}}}`, `{"type":"object","definitions":{"s":{"type":"string"}},"properties":{"a":{"$ref":"#/definitions/s"}}}`},
		{"a reference elsewhere", `{"properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"}}}`, `{"type":"object","properties":{"a":{"type":"string"},"b":{"$ref":"#/$defs/ref1"}},"$defs":{"ref1":{"type":"string"}}}`},
		{"a reference to the root", `{"properties":{"child":{"$ref":"#"}}}`, `{"type":"object","properties":{"child":{"$ref":"#/$defs/ref1"}},"$defs":{"ref1":{"properties":{"child":{"$ref":"#/$defs/ref1"}}}}}`},
		{"beside definitions of that name", `{"$defs":{"ref1":{}},"properties":{"a":{"$ref":"#"}}}`, `{"type":"object","properties":{"a":{"$ref":"#/$defs/ref2"}},"$defs":{"ref1":{},"ref2":{"$defs":{"ref1":{}},"properties":{"a":{"$ref":"#/$defs/ref2"}}}}}`},
		{"an anchor", `{"$defs":{"s":{"$anchor":"it","type":"string"}},"properties":{"a":{"$ref":"#it"}}}`, `{"type":"object","properties":{"a":{"$ref":"#/$defs/ref1"}},"$defs":{"s":{"type":"string"},"ref1":{"type":"string"}}}`},
		{"its own $id", `{"$id":"https://x.example/s","$defs":{"s":{}},"properties":{"a":{"$ref":"https://x.example/s#/$defs/s"}}}`, `{"type":"object","$defs":{"s":{}},"properties":{"a":{"$ref":"#/$defs/s"}}}`},
		{"large numbers stay", `{"properties":{"a":{"maximum":12345678901234567890}}}`, `{"type":"object","properties":{"a":{"maximum":12345678901234567890}}}`},
		{"an empty name", `{"properties":{"":{},"a":{}},"additionalProperties":false}`, `{"type":"object","properties":{"a":{}}}`},
		{"a default with an empty name", `{"properties":{"a":{"default":{"":1}}}}`, `{"type":"object","properties":{"a":{}}}`},
		{"texts cut within a character", `{"description":"x\ud83d","properties":{"a":{"title":"\ude00","default":"\ud83d"}}}`, `{"type":"object","description":"x\ufffd","properties":{"a":{"title":"\ufffd","default":null}}}`},
		{"no schema at all", `{"properties":{"a":7},"allOf":{},"anyOf":[]}`, `{"type":"object","properties":{"a":true}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Rewrite([]byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			var a, b any
			if json.Unmarshal(got, &a) != nil || json.Unmarshal([]byte(c.want), &b) != nil || !reflect.DeepEqual(a, b) {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
			again, err := Rewrite(got)
			if err != nil || string(again) != string(got) {
				t.Errorf("not stable: %s, %v", again, err)
			}
		})
	}
}

func TestRewriteRefuses(t *testing.T) {
	for schema, want := range map[string]string{
		`7`:                 "must be an object",
		`{"type":"string"}`: "must allow an object",
		`{"type":"object","properties":{"a":{"$ref":"https://x.example/s"}}}`: "outside the schema",
		`{"$ref":"other.json#/x"}`: "outside the schema",
		`{"$ref":"#/nowhere"}`:     "not there",
		`{"$ref":"#nowhere"}`:      "not there",
		`{"a":1,"a":2}`:            "twice",
		`{"enum":["\ud83d"]}`:      "half of a surrogate pair",
		`{"description":"` + strings.Repeat("x", MaxBytes) + `"}`: "bytes",
	} {
		if out, err := Rewrite([]byte(schema)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %s, %v, want %q", schema, out, err, want)
		}
	}
}

// TestRewriteManyReferences: the largest schemas that are looked at cannot keep
// us busy, whatever their references lead through.
func TestRewriteManyReferences(t *testing.T) {
	const n = 20_000
	list := func(format string, args func(i int) []any) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = fmt.Sprintf(format, args(i)...)
		}
		return strings.Join(parts, ",")
	}
	last := func(i int) []any { return []any{i, n - 1 - i} }
	for name, schema := range map[string]string{
		"into definitions": `{"$defs":{` + list(`"d%d":{"$ref":"#/$defs/d%d"}`, last) + `}}`,
		"into a list":      `{"$defs":{"l":{"allOf":[` + list(`{"$ref":"#/$defs/l/allOf/%[2]d"}`, last) + `]}}}`,
		"elsewhere":        `{"anyOf":[` + list(`{"$ref":"#/anyOf/%[2]d"}`, last) + `]}`,
		"anchors":          `{"anyOf":[` + list(`{"$anchor":"a%d","$ref":"#a%d"}`, last) + `]}`,
		"taken names":      `{"anyOf":[` + list(`{"$ref":"#/anyOf/%[2]d"}`, last) + `],"$defs":{` + list(`"ref%d":true`, func(i int) []any { return []any{i} }) + `}}`,
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, err := Rewrite([]byte(schema))
			if err == nil {
				t.Error("accepted")
			}
			if len(schema) > maxSource {
				t.Error("not looked at")
			}
			if took := time.Since(start); took > 10*time.Second { // without an index 18 and more
				t.Errorf("took %v: %v", took, err)
			}
		})
	}
}

// FuzzRewrite holds that what comes out is acceptable to a Host and accepts no
// less than what went in.
func FuzzRewrite(f *testing.F) {
	f.Add([]byte(`{"$defs":{"s":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/s"}},"oneOf":[{"not":{}},{"required":["a"]}]}`), []byte(`{"a":"x"}`))
	f.Add([]byte(`{"patternProperties":{"x":{}},"additionalProperties":false}`), []byte(`{"x":1}`))
	f.Add([]byte(`{"properties":{"a":{"$ref":"#"}},"prefixItems":[true],"items":false}`), []byte(`{"a":{"a":{}}}`))
	f.Fuzz(func(t *testing.T, schema, value []byte) {
		out, err := Rewrite(schema)
		if err != nil {
			return
		}
		if err := Check(out); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		var object map[string]any
		before, after := jsonschema.New(schema), jsonschema.New(out)
		if json.Unmarshal(value, &object) != nil || before.Unchecked() != nil || after.Unchecked() != nil {
			return
		}
		if before.Check(value) == nil {
			if err := after.Check(value); err != nil {
				t.Fatalf("narrower: %v\n%s\n%s\n%s", err, schema, out, value)
			}
		}
	})
}
