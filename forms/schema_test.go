package forms

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// props is a requestedSchema with the given properties.
func props(properties string, more ...string) string {
	s := `{"type":"object","properties":{` + properties + `}`
	for _, m := range more {
		s += "," + m
	}
	return s + "}"
}

// readField reads a schema of one property p and returns its canonical JSON.
func readField(t *testing.T, property string, more ...string) (string, Schema, error) {
	t.Helper()
	s, err := ReadSchema([]byte(props(`"p":`+property, more...)), SchemaOptions{})
	if err != nil {
		return "", s, err
	}
	if len(s.Fields) != 1 {
		t.Fatalf("%d fields", len(s.Fields))
	}
	return string(s.Fields[0].append(nil)), s, nil
}

// TestSchemaRows has each row of the table, in every spelling.
func TestSchemaRows(t *testing.T) {
	f := func(kind, members string) string {
		base := `{"kind":"` + kind + `","name":"p","label":"p","required":false`
		if members != "" {
			base += "," + members
		}
		return base + "}"
	}
	opts := func(pairs ...string) string {
		var out []string
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, fmt.Sprintf(`{"value":%q,"label":%q}`, pairs[i], pairs[i+1]))
		}
		return `"options":[` + strings.Join(out, ",") + `]`
	}
	ab := opts("a", "a", "b", "b")
	titled := opts("a", "A", "b", "B")
	for _, tc := range []struct{ name, property, want string }{
		{"string", `{"type":"string"}`, f("string", "")},
		{"string with lengths", `{"type":"string","minLength":1,"maxLength":9}`, f("string", `"minLength":1,"maxLength":9`)},
		{"string maxLength above 2048", `{"type":"string","maxLength":5000}`, f("string", `"maxLength":2048`)},
		{"string lengths spelt as decimals", `{"type":"string","minLength":1.0,"maxLength":2e1}`, f("string", `"minLength":1,"maxLength":20`)},
		{"format email", `{"type":"string","format":"email"}`, f("string", `"format":"email"`)},
		{"format uri", `{"type":"string","format":"uri"}`, f("string", `"format":"uri"`)},
		{"format date", `{"type":"string","format":"date"}`, f("string", `"format":"date"`)},
		{"format date-time", `{"type":"string","format":"date-time"}`, f("string", `"format":"date-time"`)},
		{"unknown format is a hint", `{"type":"string","format":"uuid"}`, f("string", `"description":"format: uuid"`)},
		{"unknown format beside a description", `{"type":"string","format":"uuid","description":"d"}`, f("string", `"description":"d (format: uuid)"`)},
		{"enum", `{"type":"string","enum":["a","b"]}`, f("single_select", ab)},
		{"enum without type", `{"enum":["a","b"]}`, f("single_select", ab)},
		{"enumNames", `{"type":"string","enum":["a","b"],"enumNames":["A","B"]}`, f("single_select", titled)},
		{"enumNames of another length", `{"type":"string","enum":["a","b"],"enumNames":["A"]}`, f("single_select", ab)},
		{"enumNames of another type", `{"type":"string","enum":["a","b"],"enumNames":["A",2]}`, f("single_select", ab)},
		{"oneOf", `{"type":"string","oneOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]}`, f("single_select", titled)},
		{"oneOf without type", `{"oneOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]}`, f("single_select", titled)},
		{"oneOf without title", `{"type":"string","oneOf":[{"const":"a"},{"const":"b","title":"B"}]}`, f("single_select", opts("a", "a", "b", "B"))},
		{"oneOf with description", `{"oneOf":[{"const":"a","description":"D"}]}`, f("single_select", `"options":[{"value":"a","label":"a","description":"D"}]`)},
		{"number", `{"type":"number","minimum":-1.50,"maximum":1e2}`, f("number", `"minimum":-1.50,"maximum":1e2`)},
		{"integer", `{"type":"integer","minimum":0,"maximum":9}`, f("integer", `"minimum":0,"maximum":9`)},
		{"integer exclusive", `{"type":"integer","exclusiveMinimum":0,"exclusiveMaximum":9}`, f("integer", `"minimum":1,"maximum":8`)},
		{"integer exclusive fractions", `{"type":"integer","exclusiveMinimum":0.5,"exclusiveMaximum":8.5}`, f("integer", `"minimum":1,"maximum":8`)},
		{"integer exclusive negative", `{"type":"integer","exclusiveMinimum":-2.5,"exclusiveMaximum":-0.5}`, f("integer", `"minimum":-2,"maximum":-1`)},
		{"integer tighter bound wins", `{"type":"integer","minimum":5,"exclusiveMinimum":1,"maximum":9,"exclusiveMaximum":8}`, f("integer", `"minimum":5,"maximum":7`)},
		{"integer tighter exclusive wins", `{"type":"integer","minimum":1,"exclusiveMinimum":1}`, f("integer", `"minimum":2`)},
		{"integer exclusive bounds that allow all", `{"type":"integer","exclusiveMinimum":-1e300,"exclusiveMaximum":1e17}`, f("integer", "")},
		{"integer bounds of 64 bits", `{"type":"integer","minimum":-9223372036854775808,"maximum":18446744073709551615}`, f("integer", "")},
		{"integer bound of 64 bits on one side", `{"type":"integer","minimum":0,"maximum":9.223372036854776e18}`, f("integer", `"minimum":0`)},
		{"integer multipleOf 1", `{"type":"integer","multipleOf":1.0}`, f("integer", "")},
		{"boolean", `{"type":"boolean"}`, f("boolean", "")},
		{"array enum", `{"type":"array","items":{"type":"string","enum":["a","b"]},"minItems":1,"maxItems":2}`, f("multi_select", ab+`,"minItems":1,"maxItems":2`)},
		{"array enum without item type", `{"type":"array","items":{"enum":["a","b"]}}`, f("multi_select", ab)},
		{"array anyOf", `{"type":"array","items":{"anyOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]}}`, f("multi_select", titled)},
		{"array oneOf", `{"type":"array","items":{"oneOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]}}`, f("multi_select", titled)},
		{"array anyOf of two with null", `{"type":"array","items":{"anyOf":[{"type":"string","enum":["a","b"]},{"type":"null"}]}}`, f("multi_select", ab)},
		{"array const", `{"type":"array","items":{"const":"a"}}`, f("multi_select", opts("a", "a"))},
		{"array uniqueItems", `{"type":"array","items":{"enum":["a","b"]},"uniqueItems":true}`, f("multi_select", ab)},
		{"array uniqueItems false", `{"type":"array","items":{"enum":["a","b"]},"uniqueItems":false}`, f("multi_select", ab)},
		{"const", `{"const":"a"}`, f("single_select", opts("a", "a"))},
		{"const with type", `{"type":"string","const":"a"}`, f("single_select", opts("a", "a"))},
		{"nullable type list", `{"type":["string","null"]}`, f("string", "")},
		{"null first", `{"type":["null","integer"]}`, f("integer", "")},
		{"type list of one", `{"type":["boolean"]}`, f("boolean", "")},
		{"nullable enum with null", `{"type":["string","null"],"enum":["a",null,"b"]}`, f("single_select", ab)},
		{"anyOf null", `{"anyOf":[{"type":"integer","minimum":1},{"type":"null"}]}`, f("integer", `"minimum":1`)},
		{"anyOf null first", `{"anyOf":[{"type":"null"},{"type":"string"}],"default":null}`, f("string", "")},
		{"anyOf array or null", `{"anyOf":[{"type":"array","items":{"enum":["a","b"]}},{"type":"null"}]}`, f("multi_select", ab)},
		{"allOf of one", `{"allOf":[{"type":"string","maxLength":3}]}`, f("string", `"maxLength":3`)},
		{"title", `{"type":"string","title":"T"}`, strings.Replace(f("string", ""), `"label":"p"`, `"label":"T"`, 1)},
		{"empty title", `{"type":"string","title":""}`, strings.Replace(f("string", ""), `"label":"p"`, `"label":"\"p\""`, 1)},
		{"blank title", `{"type":"string","title":" "}`, strings.Replace(f("string", ""), `"label":"p"`, `"label":"\"p\""`, 1)},
		{"description", `{"type":"boolean","description":"D"}`, f("boolean", `"description":"D"`)},
		{"default", `{"type":"string","default":"x"}`, f("string", `"default":"x"`)},
		{"default null", `{"type":"string","default":null}`, f("string", "")},
		{"default that does not satisfy", `{"type":"integer","minimum":10,"default":5}`, f("integer", `"minimum":10`)},
		{"default of another type", `{"type":"integer","default":"5"}`, f("integer", "")},
		{"default integer as decimal", `{"type":"integer","default":5.0}`, f("integer", `"default":5`)},
		{"default integer as power", `{"type":"integer","default":1e3}`, f("integer", `"default":1000`)},
		{"default number keeps its text", `{"type":"number","default":1.50}`, f("number", `"default":1.50`)},
		{"default false", `{"type":"boolean","default":false}`, f("boolean", `"default":false`)},
		{"default empty text", `{"type":"string","default":""}`, f("string", `"default":""`)},
		{"default single value for a list", `{"type":"array","items":{"enum":["a","b"]},"default":"a"}`, f("multi_select", ab+`,"default":["a"]`)},
		{"default list", `{"type":"array","items":{"enum":["a","b"]},"default":["b","a"]}`, f("multi_select", ab+`,"default":["b","a"]`)},
		{"default repeated in a list", `{"type":"array","items":{"enum":["a","b"]},"default":["a","a"]}`, f("multi_select", ab)},
		{"default no option", `{"enum":["a","b"],"default":"c"}`, f("single_select", ab)},
		{"default that the projection changes", `{"type":"string","default":"a\u200bb"}`, f("string", "")},
		{"default with a tab", `{"type":"string","default":"a\tb"}`, f("string", "")},
		{"default with a line break", `{"type":"string","default":"a\nb"}`, f("string", `"default":"a\nb"`)},
		{"default beyond 2^53", `{"type":"integer","default":9007199254740993}`, f("integer", "")},
		{"default longer than 256", `{"type":"string","default":"` + strings.Repeat("x", 257) + `"}`, f("string", "")},
		{"repeated values count once", `{"enum":["a","b","a"]}`, f("single_select", ab)},
		{"repeated values in anyOf", `{"type":"array","items":{"anyOf":[{"const":"a","title":"A"},{"const":"b","title":"B"},{"const":"a","title":"C"}]}}`, f("multi_select", titled)},
		{"repeated values keep their names in step", `{"enum":["a","a","b"],"enumNames":["A","X","B"]}`, f("single_select", titled)},
		{"equal labels", `{"enum":["a","b"],"enumNames":["X","X"]}`, f("single_select", opts("a", "X (a)", "b", "X (b)"))},
		{"empty option label", `{"oneOf":[{"const":"a","title":""}]}`, f("single_select", opts("a", `"a"`))},
		{"empty option value", `{"enum":["","b"]}`, f("single_select", opts("", `""`, "b", "b"))},
		{"lengths filter options", `{"type":"string","enum":["a","bb"],"minLength":2}`, f("single_select", opts("bb", "bb"))},
		{"format filters options", `{"type":"string","enum":["2026-01-31","x"],"format":"date"}`, f("single_select", opts("2026-01-31", "2026-01-31"))},
		{"enum and oneOf meet", `{"enum":["a","b"],"oneOf":[{"const":"b","title":"B"},{"const":"c"}]}`, f("single_select", opts("b", "B"))},
		{"annotations anywhere", `{"type":"string","$id":"#x","$anchor":"x","$comment":"c","examples":["x"],"deprecated":true,"readOnly":true,"writeOnly":false,"x-any":{"y":1},"additionalProperties":false,"$schema":"http://json-schema.org/draft-07/schema#","$defs":{},"definitions":{}}`, f("string", "")},
		{"format on a non-string", `{"type":"integer","format":"int32"}`, f("integer", "")},
		{"title of another type", `{"type":"string","title":5,"description":null}`, f("string", "")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, s, err := readField(t, tc.property)
			if err != nil {
				t.Fatal(err)
			}
			if got != tc.want {
				t.Errorf("field\n%s\nwant\n%s", got, tc.want)
			}
			form := Form{Message: "m", Requester: Requester{Name: "t"}, Fields: s.Fields}
			if _, err := form.Fit(OurLimits()); err != nil {
				t.Errorf("not admitted: %v", err)
			}
		})
	}
}

func TestSchemaReferences(t *testing.T) {
	const plain = `{"kind":"single_select","name":"p","label":"p","required":false,"options":[{"value":"a","label":"a"},{"value":"b","label":"b"}]}`
	enum := `{"type":"string","enum":["a","b"]}`
	for _, tc := range []struct{ name, property, more, want, keyword string }{
		{"$defs", `{"$ref":"#/$defs/E"}`, `"$defs":{"E":` + enum + `}`, plain, ""},
		{"definitions", `{"$ref":"#/definitions/E"}`, `"definitions":{"E":` + enum + `}`, plain, ""},
		{"deeper pointer", `{"$ref":"#/$defs/g/inner/E"}`, `"$defs":{"g":{"inner":{"E":` + enum + `}}}`, plain, ""},
		{"pointer into a list", `{"$ref":"#/$defs/l/1"}`, `"$defs":{"l":[1,` + enum + `]}`, plain, ""},
		{"escaped pointer", `{"$ref":"#/$defs/a~1b~0c%20d"}`, `"$defs":{"a/b~c d":` + enum + `}`, plain, ""},
		{"allOf of a ref", `{"allOf":[{"$ref":"#/$defs/E"}]}`, `"$defs":{"E":` + enum + `}`, plain, ""},
		{"anyOf of a ref and null", `{"anyOf":[{"$ref":"#/$defs/E"},{"type":"null"}]}`, `"$defs":{"E":` + enum + `}`, plain, ""},
		{"items by ref", `{"type":"array","items":{"$ref":"#/$defs/E"}}`, `"$defs":{"E":` + enum + `}`, strings.Replace(plain, "single", "multi", 1), ""},
		{"sibling title wins", `{"$ref":"#/$defs/E","title":"T"}`, `"$defs":{"E":{"enum":["a","b"],"title":"D"}}`, strings.Replace(plain, `"label":"p"`, `"label":"T"`, 1), ""},
		{"title of the target", `{"$ref":"#/$defs/E"}`, `"$defs":{"E":{"enum":["a","b"],"title":"D"}}`, strings.Replace(plain, `"label":"p"`, `"label":"D"`, 1), ""},
		{"sibling default wins", `{"default":"b","$ref":"#/$defs/E"}`, `"$defs":{"E":{"enum":["a","b"],"default":"a"}}`, strings.Replace(plain, `]}`, `],"default":"b"}`, 1), ""},
		{"tighter lengths win", `{"$ref":"#/$defs/S","minLength":1,"maxLength":9}`, `"$defs":{"S":{"type":"string","minLength":2,"maxLength":10}}`,
			`{"kind":"string","name":"p","label":"p","required":false,"minLength":2,"maxLength":9}`, ""},
		{"tighter bounds win", `{"$ref":"#/$defs/N","minimum":1,"maximum":9}`, `"$defs":{"N":{"type":"number","minimum":0.5,"maximum":8.5}}`,
			`{"kind":"number","name":"p","label":"p","required":false,"minimum":1,"maximum":8.5}`, ""},
		{"integer of a number", `{"$ref":"#/$defs/N","type":"integer"}`, `"$defs":{"N":{"type":"number"}}`, `{"kind":"integer","name":"p","label":"p","required":false}`, ""},
		{"enums meet", `{"$ref":"#/$defs/E","enum":["b","c","a"]}`, `"$defs":{"E":` + enum + `}`, `{"kind":"single_select","name":"p","label":"p","required":false,"options":[{"value":"b","label":"b"},{"value":"a","label":"a"}]}`, ""},
		{"tighter items win", `{"$ref":"#/$defs/L","minItems":1,"items":{"maxLength":1}}`, `"$defs":{"L":{"type":"array","minItems":0,"items":{"enum":["a","b","cc"]}}}`,
			`{"kind":"multi_select","name":"p","label":"p","required":false,"options":[{"value":"a","label":"a"},{"value":"b","label":"b"}],"minItems":1}`, ""},
		{"four in a row", `{"$ref":"#/$defs/A"}`, `"$defs":{"A":{"$ref":"#/$defs/B"},"B":{"$ref":"#/$defs/C"},"C":{"$ref":"#/$defs/D"},"D":` + enum + `}`, plain, ""},

		{"five in a row", `{"$ref":"#/$defs/A"}`, `"$defs":{"A":{"$ref":"#/$defs/B"},"B":{"$ref":"#/$defs/C"},"C":{"$ref":"#/$defs/D"},"D":{"$ref":"#/$defs/E"},"E":` + enum + `}`, "", "$ref"},
		{"cycle", `{"$ref":"#/$defs/A"}`, `"$defs":{"A":{"$ref":"#/$defs/B"},"B":{"$ref":"#/$defs/A"}}`, "", "$ref"},
		{"self", `{"$ref":"#/$defs/A"}`, `"$defs":{"A":{"$ref":"#/$defs/A"}}`, "", "$ref"},
		{"missing target", `{"$ref":"#/$defs/X"}`, `"$defs":{"E":` + enum + `}`, "", "$ref"},
		{"remote", `{"$ref":"https://example.org/schema#/$defs/E"}`, `"$defs":{"E":` + enum + `}`, "", "$ref"},
		{"relative file", `{"$ref":"other.json"}`, `"$defs":{"E":` + enum + `}`, "", "$ref"},
		{"anchor", `{"$ref":"#E"}`, `"$defs":{"E":{"$anchor":"E","type":"string"}}`, "", "$ref"},
		{"root", `{"$ref":"#"}`, `"$defs":{}`, "", "$ref"},
		{"another property", `{"$ref":"#/properties/p"}`, `"$defs":{}`, "", "$ref"},
		{"no string", `{"$ref":5}`, `"$defs":{}`, "", "$ref"},
		{"target is no object", `{"$ref":"#/$defs/E"}`, `"$defs":{"E":true}`, "", "$ref"},
		{"target says nothing", `{"$ref":"#/$defs/E"}`, `"$defs":{"E":{"title":"x"}}`, "", "type"},
		{"target with an $id of its own", `{"$ref":"#/$defs/E"}`, `"$defs":{"E":{"$id":"https://example.org/e","$ref":"#/$defs/F"},"F":` + enum + `}`, "", "$ref"},
		{"types exclude each other", `{"$ref":"#/$defs/E","type":"integer"}`, `"$defs":{"E":` + enum + `}`, "", "enum"},
		{"two formats", `{"$ref":"#/$defs/S","format":"date"}`, `"$defs":{"S":{"type":"string","format":"email"}}`, "", "format"},
		{"constraint of the target", `{"$ref":"#/$defs/S"}`, `"$defs":{"S":{"type":"string","pattern":"x"}}`, "", "pattern"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, _, err := readField(t, tc.property, tc.more)
			if tc.keyword == "" {
				if err != nil || got != tc.want {
					t.Errorf("field %s\nwant  %s\nerror %v", got, tc.want, err)
				}
				return
			}
			first, ok := errors.AsType[*SchemaError](err)
			if !ok || first.Field != "p" || first.Keyword != tc.keyword {
				t.Errorf("error %v, want keyword %s", err, tc.keyword)
			}
		})
	}
	t.Run("no bomb", func(t *testing.T) {
		// Each level refers three times to the next.
		var defs []string
		for i := range 4 {
			r := fmt.Sprintf(`{"$ref":"#/$defs/D%d"}`, i+1)
			defs = append(defs, fmt.Sprintf(`"D%d":{"$ref":"#/$defs/D%d","allOf":[%s],"anyOf":[%s,{"type":"null"}]}`, i, i+1, r, r))
		}
		defs = append(defs, `"D4":{"type":"string"}`)
		var ps []string
		for i := range 32 {
			ps = append(ps, fmt.Sprintf(`"p%d":{"$ref":"#/$defs/D1"}`, i))
		}
		_, err := ReadSchema([]byte(props(strings.Join(ps, ","), `"$defs":{`+strings.Join(defs, ",")+`}`)), SchemaOptions{})
		if err == nil || !strings.Contains(err.Error(), "one of more than 256 references") {
			t.Errorf("error %v", err)
		}
	})
}

// TestSchemaManyKeywords: the largest schema that is read cannot keep us busy by
// referring again and again to a definition of many keywords.
func TestSchemaManyKeywords(t *testing.T) {
	schema := func(keywords int) []byte {
		var unknown, ps []string
		for i := range keywords {
			unknown = append(unknown, fmt.Sprintf(`"%05d":0`, i))
		}
		const r = `"$ref":"#/$defs/A"`
		for i := range 32 {
			ps = append(ps, fmt.Sprintf(`"p%d":{%s,"allOf":[{%s,"allOf":[{%s,"allOf":[{%s}]}]}]}`, i, r, r, r, r))
		}
		return []byte(props(strings.Join(ps, ","), `"$defs":{"A":{"type":"string",`+strings.Join(unknown, ",")+`}}`))
	}
	start := time.Now()
	if _, err := ReadSchema(schema(5_000), SchemaOptions{}); err == nil || !strings.Contains(err.Error(), "bytes of schemas") {
		t.Errorf("error %v", err)
	}
	if args, err := ReadArguments(schema(20_000)); err != nil || len(args.Unread) == 0 {
		t.Errorf("arguments: %v, %v", args.Unread, err)
	}
	if took := time.Since(start); took > 10*time.Second { // it was minutes
		t.Errorf("took %v", took)
	}
	s, err := ReadSchema(schema(300), SchemaOptions{})
	if err != nil || len(s.Ignored) != 32*300 {
		t.Errorf("%d ignored, %v", len(s.Ignored), err)
	}
}

// TestSchemaRefusals: each keyword that constrains and is not in the table
// refuses with the property and the keyword.
func TestSchemaRefusals(t *testing.T) {
	for _, tc := range []struct{ name, property, keyword string }{
		{"pattern", `{"type":"string","pattern":"^a"}`, "pattern"},
		{"multipleOf on a number", `{"type":"number","multipleOf":1}`, "multipleOf"},
		{"multipleOf on an integer", `{"type":"integer","multipleOf":2}`, "multipleOf"},
		{"exclusiveMinimum on a number", `{"type":"number","exclusiveMinimum":0}`, "exclusiveMinimum"},
		{"exclusiveMaximum on a number", `{"type":"number","exclusiveMaximum":0}`, "exclusiveMaximum"},
		{"exclusiveMinimum of draft 4", `{"type":"integer","minimum":1,"exclusiveMinimum":true}`, "exclusiveMinimum"},
		{"const of a number", `{"const":1}`, "const"},
		{"const of a boolean", `{"type":"boolean","const":true}`, "const"},
		{"const null", `{"const":null}`, "const"},
		{"not", `{"type":"string","not":{"const":"x"}}`, "not"},
		{"if", `{"type":"string","if":{"minLength":1}}`, "if"},
		{"nested object", `{"type":"object","properties":{"a":{"type":"string"}}}`, "type"},
		{"free list", `{"type":"array","items":{"type":"string"}}`, "items"},
		{"list of numbers", `{"type":"array","items":{"type":"integer"}}`, "items"},
		{"list of lists", `{"type":"array","items":{"type":"array","items":{"enum":["a"]}}}`, "items"},
		{"list without items", `{"type":"array"}`, "items"},
		{"tuple", `{"type":"array","items":[{"enum":["a"]}]}`, "items"},
		{"items true", `{"type":"array","items":true}`, "items"},
		{"prefixItems", `{"type":"array","items":{"enum":["a"]},"prefixItems":[{}]}`, "prefixItems"},
		{"unevaluatedItems", `{"type":"array","items":{"enum":["a"]},"unevaluatedItems":false}`, "unevaluatedItems"},
		{"contains", `{"type":"array","items":{"enum":["a"]},"contains":{"const":"a"}}`, "contains"},
		{"item pattern", `{"type":"array","items":{"enum":["a"],"pattern":"a"}}`, "pattern"},
		{"item enum of numbers", `{"type":"array","items":{"enum":[1]}}`, "enum"},
		{"uniqueItems text", `{"type":"array","items":{"enum":["a"]},"uniqueItems":"yes"}`, "uniqueItems"},
		{"enum of integers", `{"type":"integer","enum":[1,2]}`, "enum"},
		{"enum of booleans", `{"enum":[true,false]}`, "enum"},
		{"mixed enum", `{"enum":["a",1]}`, "enum"},
		{"enum with null alone", `{"enum":["a",null]}`, "enum"},
		{"no integer below", `{"type":"integer","maximum":-1e300}`, "maximum"},
		{"no integer below, exclusive", `{"type":"integer","exclusiveMaximum":-9007199254740991}`, "exclusiveMaximum"},
		{"no integer above, exclusive", `{"type":"integer","exclusiveMinimum":9007199254740991,"maximum":9e15}`, "exclusiveMinimum"},
		{"no integer between", `{"type":"integer","minimum":0.5,"maximum":0.9}`, "minimum"},
		{"enum of strings on an integer", `{"type":"integer","enum":["1"]}`, "enum"},
		{"empty enum", `{"enum":[]}`, "enum"},
		{"enum no list", `{"enum":"a"}`, "enum"},
		{"too many options", `{"enum":["x"` + manyOptions(256) + `]}`, "enum"},
		{"oneOf of schemas", `{"oneOf":[{"type":"string"},{"type":"integer"}]}`, "oneOf"},
		{"oneOf of numbers", `{"oneOf":[{"const":1}]}`, "oneOf"},
		{"oneOf with a pattern", `{"oneOf":[{"const":"a","pattern":"b"}]}`, "oneOf"},
		// By JSON Schema no answer fits: a value that matches two entries of oneOf
		// does not match exactly one. To count it once, as enum does, would let an
		// answer through that the schema refuses, and reading never widens.
		{"oneOf twice the same", `{"oneOf":[{"const":"a"},{"const":"a"}]}`, "oneOf"},
		{"anyOf of two types", `{"anyOf":[{"type":"string"},{"type":"integer"}]}`, "anyOf"},
		{"anyOf of choices outside a list", `{"type":"string","anyOf":[{"const":"a"},{"const":"b"}]}`, "anyOf"},
		{"allOf of two", `{"allOf":[{"type":"string"},{"minLength":1}]}`, "allOf"},
		{"$dynamicRef", `{"type":"string","$dynamicRef":"#x"}`, "$dynamicRef"},
		{"two types", `{"type":["string","integer"]}`, "type"},
		{"null alone", `{"type":"null"}`, "type"},
		{"unknown type", `{"type":"text"}`, "type"},
		{"type no text", `{"type":5}`, "type"},
		{"nothing", `{}`, "type"},
		{"only a title", `{"title":"x"}`, "type"},
		{"only a bound", `{"minimum":1}`, "type"},
		{"true", `true`, "type"},
		{"null", `null`, "type"},
		{"text", `"string"`, "type"},
		{"minLength text", `{"type":"string","minLength":"1"}`, "minLength"},
		{"minLength negative", `{"type":"string","minLength":-1}`, "minLength"},
		{"minLength above 2048", `{"type":"string","minLength":2049}`, "minLength"},
		{"empty length range", `{"type":"string","minLength":3,"maxLength":2}`, "minLength"},
		{"empty number range", `{"type":"number","minimum":3,"maximum":2}`, "minimum"},
		{"empty exclusive range", `{"type":"integer","exclusiveMinimum":3,"maximum":3}`, "exclusiveMinimum"},
		{"bound that allows none", `{"type":"integer","minimum":1e300}`, "minimum"},
		{"exclusive bound that allows none", `{"type":"integer","exclusiveMinimum":1e300}`, "exclusiveMinimum"},
		{"bound too long", `{"type":"number","minimum":1.` + strings.Repeat("0", 64) + `}`, "minimum"},
		{"format no text", `{"type":"string","format":1}`, "format"},
		{"no date of 5", `{"type":"string","format":"date","maxLength":5}`, "format"},
		{"minItems over options", `{"type":"array","items":{"enum":["a"]},"minItems":2}`, "minItems"},
		{"no option left", `{"enum":["a"],"minLength":2}`, "enum"},
		{"option with a control", `{"enum":["a\u001b"]}`, "enum"},
		{"option too long", `{"enum":["` + strings.Repeat("x", 2049) + `"]}`, "enum"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := readField(t, tc.property)
			first, ok := errors.AsType[*SchemaError](err)
			if !ok {
				t.Fatalf("not refused (%v)", err)
			}
			if first.Field != "p" || first.Keyword != tc.keyword || first.Message == "" {
				t.Errorf("error %v, want property p and keyword %s", first, tc.keyword)
			}
		})
	}
}

func manyOptions(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"o%d"`, i)
	}
	return b.String()
}

func TestSchemaIgnores(t *testing.T) {
	for _, tc := range []struct{ name, property, want string }{
		{"minimum on a string", `{"type":"string","minimum":3}`, "p.minimum"},
		{"a broken minimum on a string", `{"type":"string","minimum":"x"}`, "p.minimum"},
		{"lengths on a number", `{"type":"number","minLength":3,"maxLength":4,"pattern":"x"}`, "p.minLength p.maxLength p.pattern"},
		{"bounds on a select", `{"enum":["a"],"maximum":3}`, "p.maximum"},
		{"string keyword on a list", `{"type":"array","items":{"enum":["a"]},"pattern":"x"}`, "p.pattern"},
		{"list keywords on a string", `{"type":"string","items":{"type":"object"},"minItems":1,"uniqueItems":true}`, "p.items p.minItems p.uniqueItems"},
		{"object keywords", `{"type":"boolean","properties":{},"required":true,"additionalProperties":{}}`, "p.properties p.required p.additionalProperties"},
		{"format on an integer", `{"type":"integer","format":"int32"}`, "p.format"},
		{"unknown format", `{"type":"string","format":"uuid"}`, "p.format"},
		{"unknown keyword", `{"type":"string","placeholder":"x"}`, "p.placeholder"},
		{"enumNames of another length", `{"enum":["a","b"],"enumNames":["A"]}`, "p.enumNames"},
		{"enumNames in step", `{"enum":["a","b"],"enumNames":["A","B"]}`, ""},
		{"in the target of a reference", `{"$ref":"#/$defs/S","minimum":1}`, "p.minimum p.maximum"},
		{"annotations pass without a word", `{"type":"string","$comment":"c","examples":[],"x-y":1,"deprecated":true}`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, s, err := readField(t, tc.property, `"$defs":{"S":{"type":"string","maximum":1}}`)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, ig := range s.Ignored {
				got = append(got, ig.Field+"."+ig.Keyword)
			}
			if strings.Join(got, " ") != tc.want {
				t.Errorf("ignored %v, want %s", got, tc.want)
			}
		})
	}
}

func TestSchemaRoot(t *testing.T) {
	for _, tc := range []struct{ name, schema, field, keyword, says string }{
		{"annotated", `{"$schema":"http://json-schema.org/draft-07/schema#","$id":"https://example.org/x","title":"T","description":"D","$comment":"c","additionalProperties":false,"examples":[],"x-a":1,"type":"object","properties":{}}`, "", "", ""},
		{"no properties", `{"type":"object"}`, "", "", ""},
		{"additionalProperties empty", props(``, `"additionalProperties":{}`), "", "", ""},
		{"required declared", props(`"a":{"type":"string"}`, `"required":["a","a"]`), "", "", ""},
		{"no type", `{"properties":{}}`, "", "type", `must be "object"`},
		{"another type", `{"type":"string"}`, "", "type", `must be "object"`},
		{"not an object", `[]`, "", "", "must be an object"},
		{"not JSON", `{`, "", "", "is not JSON"},
		{"duplicate property", props(`"a":{"type":"string"},"a":{"type":"string"}`), "a", "properties", `key "a" stands twice`},
		{"duplicate keyword", `{"type":"object","type":"object"}`, "", "type", `key "type" stands twice`},
		{"duplicate keyword of a property", props(`"a.b":{"title":"A","title":"B"}`), "a.b", "title", `key "title" stands twice`},
		{"duplicate far down", props(`"a":{"oneOf":[{"const":"x","const":"y"}]}`), "a", "oneOf", `properties.a.oneOf[0]: key "const" stands twice`},
		{"duplicate beside the properties", props(``, `"$defs":{"A":{"x":1,"x":2}}`), "", "$defs", `$defs.A: key "x" stands twice`},
		{"duplicate in an empty name", props(`"":{"title":"A","title":"B"}`), "", "title", `properties."": key "title" stands twice`},
		{"lone surrogate in a choice", props(`"a":{"enum":["\ud800"]}`), "a", "enum", "properties.a.enum[0]: holds half of a surrogate pair"},
		{"lone surrogate in a name", props(`"\ud800":{"type":"string"}`), "", "properties", "half of a surrogate pair"},
		{"lone surrogate in a constant", props(`"a":{"oneOf":[{"const":"\ud800","title":"\ud800"}]}`), "a", "oneOf", "properties.a.oneOf[0].const: holds half of a surrogate pair"},
		{"properties empty list", `{"type":"object","properties":[],"required":[]}`, "", "", ""},
		{"properties empty list, one required", `{"type":"object","properties":[],"required":["a"]}`, "a", "required", "not among the properties"},
		{"properties list", `{"type":"object","properties":[{}]}`, "", "properties", "must be an object"},
		{"required text", props(``, `"required":"a"`), "", "required", "must be a list"},
		{"required undeclared", props(`"a":{"type":"string"}`, `"required":["a","ghost"]`), "ghost", "required", "not among the properties"},
		{"minProperties", props(``, `"minProperties":1`), "", "minProperties", "as a whole"},
		{"anyOf", props(``, `"anyOf":[]`), "", "anyOf", "as a whole"},
		{"patternProperties", props(``, `"patternProperties":{"^a":{"type":"string"}}`), "", "patternProperties", "as a whole"},
		{"unevaluatedProperties", props(``, `"unevaluatedProperties":false`), "", "unevaluatedProperties", "as a whole"},
		{"dependentRequired", props(``, `"dependentRequired":{}`), "", "dependentRequired", "as a whole"},
		{"additionalProperties list", props(``, `"additionalProperties":[]`), "", "additionalProperties", "as a whole"},
		{"additionalProperties schema", props(``, `"additionalProperties":{"type":"string"}`), "", "additionalProperties", "as a whole"},
		{"$ref", `{"type":"object","$ref":"#/$defs/x"}`, "", "$ref", "as a whole"},
		{"if", props(``, `"if":{}`), "", "if", "as a whole"},
		{"empty name", props(`"":{"type":"string"}`), "", "properties", "empty name"},
		{"long name", props(`"` + strings.Repeat("n", 257) + `":{"type":"string"}`), strings.Repeat("n", 257), "properties", "is 257 bytes"},
		{"33 properties", props(strings.TrimPrefix(manyProperties(33), ",")), "", "properties", "has 33 properties, a form has at most 32"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := ReadSchema([]byte(tc.schema), SchemaOptions{})
			if tc.says == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			first, ok := errors.AsType[*SchemaError](err)
			if !ok || first.Field != tc.field || first.Keyword != tc.keyword || !strings.Contains(first.Message, tc.says) {
				t.Errorf("error %v, want %q %q %q", err, tc.field, tc.keyword, tc.says)
			}
		})
	}
	t.Run("keywords that cannot apply to an object are listed", func(t *testing.T) {
		s, err := ReadSchema([]byte(props(``, `"minLength":1`, `"items":{}`)), SchemaOptions{})
		if err != nil || len(s.Ignored) != 2 || s.Ignored[0] != (Ignored{Keyword: "minLength"}) {
			t.Errorf("%v %v", s.Ignored, err)
		}
	})
	t.Run("too large", func(t *testing.T) {
		_, err := ReadSchema([]byte(props(``, `"description":"`+strings.Repeat("x", 100)+`"`)), SchemaOptions{MaxBytes: 100})
		if err == nil || !strings.Contains(err.Error(), "at most 100 are read") {
			t.Error(err)
		}
	})
	t.Run("all errors", func(t *testing.T) {
		_, err := ReadSchema([]byte(props(`"a":{"type":"string","pattern":"x","not":{}},"b":null`, `"required":["z"]`)), SchemaOptions{})
		es, _ := errors.AsType[SchemaErrors](err)
		var got []string
		for _, e := range es {
			got = append(got, e.Field+"."+e.Keyword)
		}
		if strings.Join(got, " ") != "a.pattern a.not b.type z.required" {
			t.Errorf("errors %v", got)
		}
	})
	t.Run("foreign limits", func(t *testing.T) {
		raw := []byte(props(`"p":{"enum":["o"` + manyOptions(64) + `]}`))
		if _, err := ReadSchema(raw, SchemaOptions{}); err != nil {
			t.Errorf("65 options under our limits: %v", err)
		}
		if _, err := ReadSchema(raw, SchemaOptions{Limits: ForeignLimits()}); err == nil {
			t.Error("65 options under foreign limits")
		}
	})
}

func manyProperties(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"p%d":{"type":"boolean"}`, i)
	}
	return b.String()
}

// TestSchemaCuts: a label or description over its limit is cut, a message
// never.
func TestSchemaCuts(t *testing.T) {
	long := strings.Repeat("é", 400)
	s, err := ReadSchema([]byte(props(`"p":{"title":"`+long+`","description":"`+long+`","oneOf":[{"const":"a","title":"`+long+`","description":"`+long+`"},{"const":"b","title":"`+long+`"}]}`)), SchemaOptions{})
	if err != nil {
		t.Fatal(err)
	}
	fd := s.Fields[0]
	for name, text := range map[string]string{"label": fd.Label, "option label": fd.Options[0].Label} {
		if len(text) > 256 || !strings.Contains(text, "…") {
			t.Errorf("%s of %d bytes: %s", name, len(text), text)
		}
	}
	for name, text := range map[string]string{"description": fd.Description, "option description": fd.Options[0].Description} {
		if len(text) > 512 || !strings.HasSuffix(text, "…") {
			t.Errorf("%s of %d bytes", name, len(text))
		}
	}
	if a, b := fd.Options[0].Label, fd.Options[1].Label; !strings.HasSuffix(a, " (a)") || !strings.HasSuffix(b, " (b)") {
		t.Errorf("labels that are equal after cutting: %q %q", a, b)
	}
	form := Form{Message: strings.Repeat("m", 8193), Requester: Requester{Name: "t"}, Fields: s.Fields}
	if form.Admit(OurLimits()) == nil {
		t.Error("a message over its limit is admitted")
	}
}

// TestSchemaChanges: what is not in the form as the server wrote it is told,
// once for each kind of change.
func TestSchemaChanges(t *testing.T) {
	long := strings.Repeat("L", 300)
	text := strings.Repeat("D", 600)
	many := func(n int) string { return `{"minLength":9,"enum":["long enough"` + manyOptions(n) + `]}` }
	for _, tc := range []struct{ name, property, want string }{
		{"nothing", `{"type":"string","title":"T","description":"D","maxLength":2048}`, ""},
		{"maxLength over what a text may have", `{"type":"string","maxLength":9000}`, "has a maxLength above 2048, the most that a text may have, and gets that"},
		{"long title", `{"type":"string","title":"` + long + `"}`, "has a title of 300 bytes, which is cut to 256"},
		{"long description", `{"type":"string","description":"` + text + `"}`, "has a description of 600 bytes, which is cut to 512"},
		{"long description with a hint", `{"type":"string","format":"uuid","description":"` + text[:505] + `"}`, "has a description of 505 bytes, which is cut to 497"},
		{"hint alone", `{"type":"string","format":"` + text + `"}`, ""},
		{"option that its length rules out", `{"maxLength":3,"enum":["abc","abcd"]}`, `lists options that its other keywords rule out, which are left out: "abcd"`},
		{"option that its format rules out", `{"format":"date","enum":["2026-01-31","x"]}`, `lists options that its other keywords rule out, which are left out: "x"`},
		{"options that two lists do not share", `{"enum":["a","b","c"],"oneOf":[{"const":"b","title":"B"},{"const":"d","title":"D"}]}`, `lists options that its other keywords rule out, which are left out: "a", "c", "d"`},
		{"options that a reference rules out", `{"$ref":"#/$defs/E","enum":["a","z"]}`, `lists options that its other keywords rule out, which are left out: "z", "b"`},
		{"merged", `{"enum":["x","x","x"]}`, `lists options more than once, which count once: "x"`},
		{"merged in the target of a reference", `{"$ref":"#/$defs/Twice"}`, `lists options more than once, which count once: "a"`},
		{"merged in anyOf", `{"type":"array","items":{"anyOf":[{"const":"a","title":"A"},{"const":"a","title":"B"}]}}`, `lists options more than once, which count once: "a"`},
		{"without a title", `{"oneOf":[{"const":"a"},{"const":"b","title":"B"}]}`, `has options without a title, which are shown by their value: "a"`},
		{"without a title in a list", `{"type":"array","items":{"anyOf":[{"const":"a"}]}}`, `has options without a title, which are shown by their value: "a"`},
		{"plain values need no title", `{"enum":["a","b",""]}`, ""},
		{"blank title", `{"oneOf":[{"const":"a","title":" "}]}`, `has options with a blank title, which are shown by their quoted value: "a"`},
		{"equal labels", `{"enum":["a","b"],"enumNames":["X","X"]}`, `has options of equal labels, which are shown with their value: "X (a)", "X (b)"`},
		{"long words of an option", `{"oneOf":[{"const":"a","title":"` + long + `","description":"` + text + `"}]}`, `has options whose label is cut: "a"; has options whose description is cut: "a"`},
		{"more options than are named", many(7), `lists options that its other keywords rule out, which are left out: "o0", "o1", "o2", "o3", "o4" and 2 more`},
		{"lists that another type does not read", `{"type":"integer","items":{"enum":["a","a"]}}`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, s, err := readField(t, tc.property, `"$defs":{"E":{"enum":["a","b"]},"Twice":{"enum":["a","a"]}}`)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range s.Changed {
				if c.Field != "p" {
					t.Errorf("%q is said of %q", c.Text, c.Field)
				}
				got = append(got, c.Text)
			}
			if strings.Join(got, "; ") != tc.want {
				t.Errorf("changed\n%s\nwant\n%s", strings.Join(got, "; "), tc.want)
			}
		})
	}
}

func TestReadElicitation(t *testing.T) {
	schema := `"requestedSchema":` + props(`"a":{"type":"string"}`)
	for _, tc := range []struct{ name, params, keyword string }{
		{"plain", `{"message":"m",` + schema + `}`, ""},
		{"mode form and _meta", `{"mode":"form","message":"m","_meta":{"x":1},` + schema + `}`, ""},
		{"empty message", `{"message":"",` + schema + `}`, ""},
		{"url mode", `{"mode":"url","message":"m",` + schema + `}`, "mode"},
		{"mode null", `{"mode":null,"message":"m",` + schema + `}`, "mode"},
		{"unknown key", `{"message":"m","task":{},` + schema + `}`, "task"},
		{"no message", `{` + schema + `}`, "message"},
		{"message number", `{"message":1,` + schema + `}`, "message"},
		{"no schema", `{"message":"m"}`, "requestedSchema"},
		{"schema error", `{"message":"m","requestedSchema":{"type":"array"}}`, "type"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := ReadElicitation([]byte(tc.params), SchemaOptions{})
			if tc.keyword == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if first, ok := errors.AsType[*SchemaError](err); !ok || first.Keyword != tc.keyword {
				t.Errorf("error %v, want keyword %s", err, tc.keyword)
			}
		})
	}
	for _, tc := range []struct{ params, want string }{
		{`{"message":"m","message":"n",` + schema + `}`, `keyword "message": key "message" stands twice`},
		{`{"message":"m","requestedSchema":` + props(`"a":{"title":"A","title":"B"}`) + `}`, `property "a", keyword "title": key "title" stands twice`},
		{`{"mode":"\ud800","message":"m",` + schema + `}`, `keyword "mode": holds half of a surrogate pair`},
	} {
		if _, err := ReadElicitation([]byte(tc.params), SchemaOptions{}); err == nil || err.Error() != tc.want {
			t.Errorf("%s: %v, want %s", tc.params, err, tc.want)
		}
	}
	if _, err := ReadElicitation([]byte(`[]`), SchemaOptions{}); err == nil {
		t.Error("an array is params")
	}
}

// TestCutTexts: servers cut texts in the middle of an emoji. What is only shown is shown with U+FFFD in that place, a
// default is not used, and lint is told.
func TestCutTexts(t *testing.T) {
	el, err := ReadElicitation([]byte(`{"_meta":{"x":"\ud83d"},"message":"cut \ud83d","requestedSchema":`+props(
		`"default":{"type":"string","title":"D\ud83d\ude00\ud83d","description":"\ude00d","default":"x\ud83d","x-note":"\ud83d"},`+
			`"b":{"enum":["u","v"],"enumNames":["U\ud83d","V"],"default":"v"},"c":{"oneOf":[{"const":"w","title":"W\ud83d","description":"\ud83d"}]}`)+`}`), SchemaOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d, b, c := el.Schema.Fields[0], el.Schema.Fields[1], el.Schema.Fields[2]
	if el.Message != "cut \ufffd" || d.Label != "D😀\ufffd" || d.Description != "\ufffdd" || !d.Default.IsZero() {
		t.Errorf("%q %+v", el.Message, d)
	}
	if b.Options[0].Label != "U\ufffd" || b.Default.Text() != "v" || c.Options[0].Label != "W\ufffd" || c.Options[0].Description != "\ufffd" {
		t.Errorf("%+v %+v", b, c)
	}
	if n := len(el.Schema.Changed); n != 1 || !strings.Contains(el.Schema.Changed[n-1].Text, "half of a surrogate pair") {
		t.Errorf("%+v", el.Schema.Changed)
	}
	if s, err := ReadSchema([]byte(`{"type":"object","title":"\ud83d","properties":{}}`), SchemaOptions{}); err != nil || s.Title != "\ufffd" || len(s.Changed) != 1 {
		t.Errorf("%+v %v", s, err)
	}
	if a, err := ReadArguments([]byte(props(`"a":{"type":"string","description":"\ud83d"}`))); err != nil || !a.Complete {
		t.Errorf("%+v %v", a, err)
	}
}

func TestMessageFor(t *testing.T) {
	read := func(more ...string) Schema {
		s, err := ReadSchema([]byte(props(`"a":{"type":"string"}`, more...)), SchemaOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	title, descr := `"title":"T"`, `"description":"D"`
	for _, tc := range []struct {
		schema        Schema
		message, want string
	}{
		{read(title, descr), "M", "M"},
		{read(title, descr), "", "D"},
		{read(title), "", "T"},
		{read(title), " \n", "T"},
		{read(), "", `The tool "deploy" asks for an answer.`},
		{Schema{}, "", `The tool "deploy" asks for your consent.`},
	} {
		if got := tc.schema.MessageFor(tc.message, "deploy"); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
	e, err := ReadElicitation([]byte(`{"message":"","requestedSchema":{"type":"object","properties":{}}}`), SchemaOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if f, err := e.Form(Requester{Name: "deploy"}, "deploy").Fit(OurLimits()); err != nil || f.Message == "" {
		t.Errorf("%v %v", f, err)
	}
}

func TestReadArguments(t *testing.T) {
	args, err := ReadArguments([]byte(`{"type":"object","properties":{
		"name":{"type":"string"},"env":{"enum":["a","b"]},"opts":{"type":"object"},"list":{"type":"array","items":{"type":"string"}},"n":{"type":"integer"}},
		"required":["name","opts"],"anyOf":[{"required":["n"]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	var fields, unread []string
	for _, fd := range args.Schema.Fields {
		fields = append(fields, fd.Name)
	}
	for _, e := range args.Unread {
		unread = append(unread, e.Field+"."+e.Keyword)
	}
	if strings.Join(fields, " ") != "name env n" || strings.Join(unread, " ") != ".anyOf opts.type list.items" {
		t.Errorf("fields %v, unread %v", fields, unread)
	}
	if args.Complete || !args.Schema.Fields[0].Required {
		t.Error("a required argument cannot be asked for, so the form is not complete")
	}
	full, err := ReadArguments([]byte(props(`"a":{"type":"string"},"b":{"type":"object"}`, `"required":["a"]`)))
	if err != nil || !full.Complete || len(full.Unread) != 1 {
		t.Errorf("%+v %v", full, err)
	}
	many, err := ReadArguments([]byte(props(strings.TrimPrefix(manyProperties(40), ","))))
	if err != nil || len(many.Schema.Fields) != 32 || len(many.Unread) != 8 {
		t.Errorf("%d fields, %d unread, %v", len(many.Schema.Fields), len(many.Unread), err)
	}
	for i, fd := range args.Schema.Fields { // no answer limit holds for arguments
		if most := fd.MaxLength; i == 0 && (most == nil || *most != maxValueRunes) || i > 0 && most != nil {
			t.Errorf("%s: maxLength %v", fd.Name, most)
		}
	}
	if told := reasons(nil, many.Unread); len(told) != 8 || reasons(errors.New("x"), nil)[0] != "the schema of the arguments cannot be read: x" {
		t.Errorf("%q", told)
	}
	if told := reasons(SchemaErrors(slices.Repeat(many.Unread, 2)), nil); len(told) != 9 || told[8] != "and 8 more" {
		t.Errorf("%q", told)
	}
	for _, bad := range []string{`[]`, `{`, ``} {
		if _, err := ReadArguments([]byte(bad)); err == nil {
			t.Errorf("%q is a schema", bad)
		}
	}
}
