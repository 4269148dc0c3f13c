package forms

import (
	"encoding/json"
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// The generators below draw schemas, forms and answers for the property tests.
// They aim at the borders: bounds that meet, formats that almost fit, keywords
// of another type, references in every spelling.

func drawText(t *rapid.T, label string, most int) string {
	kind := rapid.IntRange(0, 9).Draw(t, label+" kind")
	n := rapid.IntRange(0, most).Draw(t, label+" length")
	unit := []string{"a", "b", " ", "é", "漢", "😀", "\"", "\\", "\n", "\t"}[kind]
	if kind < 3 {
		return strings.Repeat(unit, n)
	}
	return strings.Repeat(unit, n/2) + strings.Repeat("x", n-n/2)
}

var drawnWords = []string{"a", "b", "red", "green", "Red", "", " ", "a,b", "x\u200by", "é", "漢字", "\"q\""}

func drawWords(t *rapid.T, label string, least, most int) []string {
	return rapid.SliceOfN(rapid.SampledFrom(drawnWords), least, most).Draw(t, label)
}

var drawnNumbers = []string{
	"0", "-0", "1", "5", "5.0", "1e3", "-3", "0.5", "-0.5", "2.5", "10", "100", "1E+2", "25e-1", "-7.25",
	"9007199254740991", "-9007199254740991", "9007199254740992", "1e16", "1e300", "-1e300", "1e-300",
}

func drawNumber(t *rapid.T, label string) json.RawMessage {
	return json.RawMessage(rapid.SampledFrom(drawnNumbers).Draw(t, label))
}

// ordered is a JSON object that keeps the order in which it was filled.
type ordered struct {
	keys []string
	vals map[string]any
}

func newOrdered() *ordered { return &ordered{vals: map[string]any{}} }

func (o *ordered) set(key string, val any) {
	if _, ok := o.vals[key]; !ok {
		o.keys = append(o.keys, key)
	}
	o.vals[key] = val
}

func (o *ordered) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	b.WriteByte('{')
	for i, k := range o.keys {
		if i > 0 {
			b.WriteByte(',')
		}
		key, _ := json.Marshal(k)
		val, err := json.Marshal(o.vals[k])
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%s:%s", key, val)
	}
	b.WriteByte('}')
	return []byte(b.String()), nil
}

// drawSchema is a random requestedSchema, in the subset and somewhat around
// it.
func drawSchema(t *rapid.T) []byte {
	root := newOrdered()
	root.set("type", "object")
	defs := newOrdered()
	props := newOrdered()
	n := rapid.IntRange(0, 4).Draw(t, "properties")
	var required []string
	for i := range n {
		name := fmt.Sprintf("p%d", i)
		props.set(name, drawProperty(t, defs, 3))
		if rapid.Bool().Draw(t, "required") {
			required = append(required, name)
		}
	}
	if rapid.IntRange(0, 9).Draw(t, "annotated") == 0 {
		root.set("$schema", "https://json-schema.org/draft/2020-12/schema")
		root.set("title", "A title")
		root.set("additionalProperties", rapid.Bool().Draw(t, "additional"))
	}
	root.set("properties", props)
	if required != nil {
		root.set("required", required)
	}
	if len(defs.keys) > 0 {
		root.set("$defs", defs)
	}
	raw, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func drawProperty(t *rapid.T, defs *ordered, depth int) any {
	p := newOrdered()
	base := rapid.SampledFrom([]string{"string", "number", "integer", "boolean", "enum", "oneOf", "const", "array"}).Draw(t, "base")
	switch base {
	case "enum":
		if rapid.Bool().Draw(t, "typed") {
			p.set("type", "string")
		}
		p.set("enum", drawWords(t, "enum", 1, 5))
	case "oneOf":
		p.set("type", "string")
		p.set("oneOf", drawChoices(t))
	case "const":
		p.set("const", rapid.SampledFrom(drawnWords).Draw(t, "const"))
	case "array":
		p.set("type", "array")
		p.set("items", drawItems(t))
	default:
		p.set("type", base)
	}
	for range rapid.IntRange(0, 3).Draw(t, "keywords") {
		drawKeyword(t, p)
	}
	return drawWrapping(t, p, defs, depth)
}

func drawChoices(t *rapid.T) []any {
	var out []any
	for _, w := range drawWords(t, "choices", 1, 5) {
		c := newOrdered()
		c.set("const", w)
		if rapid.Bool().Draw(t, "titled") {
			c.set("title", rapid.SampledFrom(drawnWords).Draw(t, "title"))
		}
		out = append(out, c)
	}
	return out
}

func drawItems(t *rapid.T) any {
	items := newOrdered()
	switch rapid.IntRange(0, 3).Draw(t, "items") {
	case 0:
		items.set("anyOf", drawChoices(t))
	case 1:
		items.set("oneOf", drawChoices(t))
	default:
		items.set("type", "string")
		items.set("enum", drawWords(t, "item enum", 1, 5))
	}
	if rapid.IntRange(0, 4).Draw(t, "item keyword") == 0 {
		items.set("maxLength", rapid.IntRange(0, 5).Draw(t, "item maxLength"))
	}
	return items
}

func drawKeyword(t *rapid.T, p *ordered) {
	small := func(label string) int { return rapid.IntRange(0, 6).Draw(t, label) }
	switch key := rapid.SampledFrom([]string{
		"minLength", "maxLength", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
		"multipleOf", "minItems", "maxItems", "uniqueItems", "title", "description", "default", "pattern", "x-note",
		"enum", "allOf",
	}).Draw(t, "keyword"); key {
	case "minLength", "maxLength", "minItems", "maxItems":
		p.set(key, small(key))
	case "format":
		p.set(key, rapid.SampledFrom([]string{"email", "uri", "date", "date-time", "uuid", "int32"}).Draw(t, key))
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		p.set(key, drawNumber(t, key))
	case "multipleOf":
		p.set(key, json.RawMessage(rapid.SampledFrom([]string{"1", "1.0", "0.5", "2"}).Draw(t, key)))
	case "uniqueItems":
		p.set(key, rapid.Bool().Draw(t, key))
	case "title", "description":
		p.set(key, rapid.SampledFrom(drawnWords).Draw(t, key))
	case "default":
		p.set(key, json.RawMessage(rapid.SampledFrom([]string{
			"null", `"red"`, `"2026-01-31"`, "5", "5.0", "1e3", "true", "false", `["a"]`, `["a","a"]`, `""`, "{}", `"a\tb"`,
		}).Draw(t, key)))
	case "enum":
		p.set(key, drawWords(t, "more enum", 1, 4))
	case "allOf":
		p.set(key, []any{map[string]any{"maxLength": small("allOf maxLength"), "maximum": small("allOf maximum")}})
	case "pattern":
		if rapid.IntRange(0, 5).Draw(t, "use pattern") == 0 {
			p.set(key, "^a")
		}
	default:
		p.set(key, "note")
	}
}

// drawWrapping puts p behind a reference, an allOf, or beside null.
func drawWrapping(t *rapid.T, p *ordered, defs *ordered, depth int) any {
	if depth == 0 {
		return p
	}
	switch rapid.IntRange(0, 7).Draw(t, "wrapping") {
	case 0:
		name := fmt.Sprintf("D%d", len(defs.keys))
		defs.set(name, p)
		ref := newOrdered()
		ref.set("$ref", "#/$defs/"+name)
		if rapid.Bool().Draw(t, "sibling") {
			drawKeyword(t, ref)
		}
		return drawWrapping(t, ref, defs, depth-1)
	case 1:
		all := newOrdered()
		all.set("allOf", []any{p})
		return drawWrapping(t, all, defs, depth-1)
	case 2:
		anyOf := newOrdered()
		anyOf.set("anyOf", []any{p, map[string]any{"type": "null"}})
		drawKeyword(t, anyOf)
		return anyOf
	case 3:
		if s, ok := p.vals["type"].(string); ok {
			p.set("type", []string{s, "null"})
		}
	}
	return p
}

// drawAnswer is a random value for a field: most often one that could fit.
func drawAnswer(t *rapid.T, fd Field) Value {
	if rapid.IntRange(0, 14).Draw(t, "odd") == 0 {
		return rapid.SampledFrom([]Value{
			TextValue(""), BoolValue(true), ListValue(nil), NumberValue(Number{text: "1"}), ListValue([]string{"a", "a"}),
		}).Draw(t, "odd value")
	}
	switch fd.Kind {
	case KindBoolean:
		return BoolValue(rapid.Bool().Draw(t, "bool"))
	case KindNumber, KindInteger:
		if fd.Minimum != nil && rapid.Bool().Draw(t, "at minimum") {
			return NumberValue(*fd.Minimum)
		}
		if fd.Maximum != nil && rapid.Bool().Draw(t, "at maximum") {
			return NumberValue(*fd.Maximum)
		}
		return NumberValue(numberFrom(rapid.SampledFrom(drawnNumbers).Draw(t, "number")))
	case KindSingleSelect:
		return TextValue(rapid.SampledFrom(fd.Options).Draw(t, "option").Value)
	case KindMultiSelect:
		var list []string
		for _, o := range fd.Options {
			if rapid.Bool().Draw(t, "pick") {
				list = append(list, o.Value)
			}
		}
		return ListValue(list)
	}
	if fd.Format != "" && rapid.IntRange(0, 3).Draw(t, "formatted") > 0 {
		return TextValue(rapid.SampledFrom(formatted).Draw(t, "formatted text"))
	}
	return TextValue(drawText(t, "text", min(fd.maxLength(defaultLength)+2, 40)))
}

// formatted are texts of the formats, and some that almost are.
var formatted = []string{
	"a@b.c", "ada.lovelace@example.org", "Bob <a@b.c>", "a@b", "a..b@c.d", "a@-b.c", "a@b.c\n", strings.Repeat("a", 64) + "@b.c",
	"https://example.org/x", "example.com", "mailto:a@b.c", "urn:x", "https://", "http://[::1]:80/", "http://[::1/", "http://a b", "a:%zz", "a:b",
	"2026-02-28", "2024-02-29", "2026-02-30", "2026-2-3", "2026-02-28\n",
	"2026-02-28T10:00:00Z", "2026-02-28t10:00:00.5+23:59", "2026-02-28T10:00:00", "2026-02-28T23:59:60Z", "2026-02-28T24:00:00Z", "2026-02-28 10:00:00Z",
}
