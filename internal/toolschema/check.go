// Package toolschema knows which JSON Schemas a Runtime Host accepts as a
// tool's inputSchema: a short list of keywords, an object at the root,
// references into the schema's own definitions, patterns that JavaScript
// compiles. Check refuses everything else as a Host does; Rewrite brings any
// schema within the list.
package toolschema

import (
	"fmt"
	"strings"

	"askback/internal/strictjson"
)

// Limits of one schema, and of a whole manifest's JSON (wire protocol, 7.1).
const (
	MaxBytes = 32 << 10
	MaxDepth = 32
	MaxNodes = 8192
	MaxKey   = 256
)

// shape says what stands under a keyword.
type shape int

const (
	anyValue   shape = iota
	oneSchema        // a schema, or true or false
	schemaList       // an array of schemas
	schemaMap        // an object of schemas
	items            // a schema or an array of schemas
	reference
	pattern
)

// keywords are all that may stand in a schema.
var keywords = map[string]shape{
	"$defs": schemaMap, "$ref": reference, "additionalProperties": oneSchema, "allOf": schemaList,
	"anyOf": schemaList, "const": anyValue, "default": anyValue, "definitions": schemaMap,
	"description": anyValue, "enum": anyValue, "examples": anyValue, "exclusiveMaximum": anyValue,
	"exclusiveMinimum": anyValue, "format": anyValue, "items": items, "maxItems": anyValue,
	"maxLength": anyValue, "maxProperties": anyValue, "maximum": anyValue, "minItems": anyValue,
	"minLength": anyValue, "minProperties": anyValue, "minimum": anyValue, "multipleOf": anyValue,
	"oneOf": schemaList, "pattern": pattern, "properties": schemaMap, "propertyNames": oneSchema,
	"required": anyValue, "title": anyValue, "type": anyValue, "uniqueItems": anyValue,
}

// Check reports why a Host refuses raw as an inputSchema.
func Check(raw []byte) error {
	v, err := strictjson.Parse(raw, strictjson.Limits{MaxBytes: 6 * MaxBytes, MaxDepth: MaxDepth}) // with everything escaped
	if err != nil {
		return err
	}
	if len(raw) > MaxBytes && strictjson.CompactLen(raw) > MaxBytes {
		return strictjson.Bad("is over %d bytes of JSON", MaxBytes)
	}
	if err := v.Want(strictjson.Object); err != nil {
		return err
	}
	if typ, ok := v.Get("type"); !ok || string(typ.Raw()) != `"object"` {
		return strictjson.At("type", strictjson.Bad(`must be "object"`))
	}
	if err := CheckNodes(v); err != nil {
		return err
	}
	return (&checker{newLookup(v)}).schema(v)
}

// CheckNodes holds v to the number of values and the length of keys that a
// manifest may have. The depth is checked by whoever parses.
func CheckNodes(v strictjson.Value) error {
	nodes := 0
	return countNodes(v, &nodes)
}

func countNodes(v strictjson.Value, nodes *int) error {
	if *nodes++; *nodes > MaxNodes {
		return strictjson.Bad("holds more than %d values", MaxNodes)
	}
	for name, member := range v.Members() {
		if name == "" || len([]rune(name)) > MaxKey {
			return strictjson.Bad("has a key that is not 1 to %d characters long", MaxKey)
		}
		if err := countNodes(member, nodes); err != nil {
			return strictjson.At(name, err)
		}
	}
	for item := range v.Elements() {
		if err := countNodes(item, nodes); err != nil {
			return err
		}
	}
	return nil
}

type checker struct{ *lookup }

func (c *checker) schema(v strictjson.Value) error {
	if v.Kind() == strictjson.Boolean {
		return nil
	}
	if err := v.Want(strictjson.Object); err != nil {
		return err
	}
	for name, member := range v.Members() {
		sh, ok := keywords[name]
		if !ok {
			return strictjson.Unknown(name)
		}
		if err := c.keyword(sh, member); err != nil {
			return strictjson.At(name, err)
		}
	}
	return nil
}

func (c *checker) keyword(sh shape, v strictjson.Value) error {
	switch sh {
	case oneSchema:
		return c.schema(v)
	case items:
		if v.Kind() != strictjson.Array {
			return c.schema(v)
		}
		return c.list(v)
	case schemaList:
		return c.list(v)
	case schemaMap:
		if err := v.Want(strictjson.Object); err != nil {
			return err
		}
		for name, member := range v.Members() {
			if err := c.schema(member); err != nil {
				return strictjson.At(name, err)
			}
		}
	case reference:
		text, err := v.Text()
		if err != nil {
			return err
		}
		if _, ok := c.definition(text); !ok {
			return strictjson.Bad("must point into the schema's own definitions")
		}
	case pattern:
		text, err := v.Text()
		if err != nil {
			return err
		}
		if err := CheckPattern(text); err != nil {
			return strictjson.Bad("is no regular expression of JavaScript: %s", err)
		}
	}
	return nil
}

func (c *checker) list(v strictjson.Value) error {
	if err := v.Want(strictjson.Array); err != nil {
		return err
	}
	i := 0
	for item := range v.Elements() {
		if err := c.schema(item); err != nil {
			return strictjson.AtIndex(i, err)
		}
		i++
	}
	return nil
}

// unpercent decodes the percent escapes of a URI fragment; what is none stays.
func unpercent(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var out []byte
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			var b int
			if n, err := fmt.Sscanf(s[i+1:i+3], "%02x", &b); n == 1 && err == nil {
				out = append(out, byte(b))
				i += 2
				continue
			}
		}
		out = append(out, s[i])
	}
	return string(out)
}
