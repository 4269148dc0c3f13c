package forms

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// seedForms, seedResults and seedSchemas start the fuzzers; what they found
// that was worth keeping is in testdata/fuzz.
var seedForms = []string{
	one(), checked,
	one(field("string", `"description":"d","default":"abc","minLength":1,"maxLength":5`), selectField),
	one(field("multi_select", twoOptions+`,"default":["b","a"],"minItems":1,"maxItems":5`)),
	one(field("integer", `"default":5.0,"minimum":0.5,"maximum":9e0`)),
	one(field("string", `"format":"date-time","minLength":21,"maxLength":22`)),
	`{"message":"\u001b[2J\u202e","requester":{"name":"t","source":"s"},"fields":[]}`,
	with(one(), `"Message":"x"`), `{"message":"m"`, `[]`, `null`, "\xff",
}

func FuzzForm(f *testing.F) {
	for _, s := range seedForms {
		f.Add([]byte(s))
	}
	drawn := rapid.MakeFuzz(func(t *rapid.T) { hasAnswer(t) })
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, lim := range []Limits{OurLimits(), ForeignLimits(), OurLimits().Projected()} {
			form, err := DecodeForm(data, lim)
			if err == nil {
				checkAdmitted(t, form, lim)
			} else if len(err.Error()) > 64<<10 {
				t.Fatalf("an error of %d bytes", len(err.Error()))
			}
		}
		drawn(t, data) // the same bytes as the draws of a form
	})
}

// checkAdmitted asserts what admission promises of a form.
func checkAdmitted(t *testing.T, form Form, lim Limits) {
	t.Helper()
	raw, _ := form.Encode()
	back, err := DecodeForm(raw, lim)
	if err != nil || !reflect.DeepEqual(normal(back), normal(form)) {
		t.Fatalf("decode(encode) differs: %v\n%s", err, raw)
	}
	if raw2, _ := back.Encode(); !bytes.Equal(raw, raw2) {
		t.Fatalf("encode is not settled:\n%s\n%s", raw, raw2)
	}
	fit, err := form.Fit(lim)
	if err != nil {
		t.Fatalf("admitted, but does not fit: %v\n%s", err, raw)
	}
	for _, vals := range []Values{fit.answer(), fit.longestValues()} {
		r := Accept(vals)
		if errs := fit.Check(r); errs != nil {
			t.Fatalf("no answer: %v\n%s", errs, raw)
		}
		answer, _ := r.Encode()
		if len(answer) > lim.Answer {
			t.Fatalf("a legal answer of %d bytes\n%s", len(answer), raw)
		}
		if back, err := DecodeResult(answer, lim); err != nil || !Equivalent(r, back) {
			t.Fatalf("the answer %s became %v: %v", answer, back, err)
		}
	}
	shown := form.Project()
	if again := shown.Project(); !reflect.DeepEqual(again, shown) {
		t.Fatalf("projection is not idempotent\n%s", raw)
	}
}

func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		`{"action":"accept","values":{"name":"abc","sure":true,"replicas":50e-1,"rate":0.20,"tags":["x","y"],"env":"a","note":""}}`,
		`{"action":"accept","values":{}}`, `{"action":"decline"}`, `{"action":"cancel","values":{}}`,
		`{"action":"accept","values":{"replicas":-0,"name":"\ud83d\ude00x"}}`, `{"action":"accept","values":{"a":null}}`,
		`{"action":"accept","values":{"a":1,"a":2}}`, `{"action":"accept","values":{"rate":1e999999999999}}`, "\xff",
	} {
		f.Add([]byte(s))
	}
	form := mustForm(f, checked)
	lim := ForeignLimits()
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := DecodeResult(data, lim)
		if err != nil {
			return
		}
		raw, _ := r.Encode()
		back, err := DecodeResult(raw, lim)
		if err != nil || !reflect.DeepEqual(back, r) {
			t.Fatalf("decode(encode) differs: %v\n%s\n%s", err, data, raw)
		}
		if !json.Valid(raw) || len(raw) > lim.Answer {
			t.Fatalf("encoded %q", raw)
		}
		if !Equivalent(r, back) || !Equivalent(r, r) {
			t.Fatal("an answer is not equivalent to itself")
		}
		if form.Check(r) != nil {
			return
		}
		leaves := form.Canonical(r)
		if form.Check(leaves) != nil || !Equivalent(leaves, r) {
			t.Fatalf("canonical %v of %v", leaves, r)
		}
		if again := form.Canonical(leaves); !reflect.DeepEqual(again, leaves) {
			t.Fatal("canonical is not idempotent")
		}
		if v := leaves.Values["replicas"]; !v.IsZero() && strings.ContainsAny(v.Number().String(), ".eE") {
			t.Fatalf("an integer leaves as %s", v.Number())
		}
	})
}

var seedSchemas = []string{
	props(`"a":{"type":"string","minLength":1,"format":"email","title":"T","default":"a@b.c"},"b":{"type":["boolean","null"]}`, `"required":["a"]`),
	props(`"p":{"$ref":"#/$defs/E","title":"P"},"q":{"anyOf":[{"$ref":"#/$defs/N"},{"type":"null"}]}`, `"$defs":{"E":{"enum":["a","b"]},"N":{"type":"integer","exclusiveMinimum":0}}`),
	props(`"l":{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]},"minItems":1,"uniqueItems":true,"default":"a"}`),
	props(`"o":{"oneOf":[{"const":"a","title":"x\u200b"},{"const":"b","title":"x\\u{200b}"}]}`),
	props(`"n":{"type":"number","minimum":-1.5,"maximum":1e2,"default":1.50}`, `"additionalProperties":false`, `"title":"T"`),
	props(`"e":{"type":"string","enum":["a",""],"enumNames":["A",""],"maxLength":1}`),
	props(`"x":{"type":"string","pattern":"^a","minimum":1}`), props(`"c":{"const":"a"}`), props(``), `{"type":"object"}`, `{}`, `[]`,
	props(`"r":{"$ref":"#/$defs/A"}`, `"$defs":{"A":{"allOf":[{"$ref":"#/$defs/A"}]}}`),
}

func FuzzSchema(f *testing.F) {
	for _, s := range seedSchemas {
		f.Add([]byte(s))
	}
	drawn := rapid.MakeFuzz(func(t *rapid.T) { neverWidens(t) })
	f.Fuzz(func(t *testing.T, data []byte) {
		checkSchema(t, data)
		drawn(t, data) // the same bytes as the draws of a schema and its answers
	})
}

// checkSchema asserts what reading promises of a schema.
func checkSchema(t *testing.T, data []byte) {
	t.Helper()
	if args, err := ReadArguments(data); err == nil && len(args.Schema.Fields) > OurLimits().Fields {
		t.Fatal("too many arguments")
	}
	s, err := ReadSchema(data, SchemaOptions{})
	if err != nil {
		if len(asSchemaErrors(err)) == 0 {
			t.Fatalf("error %v", err)
		}
		return
	}
	checkChanged(t, s)
	fit, err := Form{Message: "m", Requester: Requester{Name: "t"}, Fields: s.Fields}.Fit(OurLimits())
	if err != nil {
		return
	}
	checkAdmitted(t, fit, OurLimits())
	valid := judge(data)
	if valid == nil {
		return
	}
	for _, vals := range []Values{fit.answer(), fit.longestValues(), fit.Defaults()} {
		if fit.Check(Accept(vals)) != nil {
			continue
		}
		content, _ := json.Marshal(vals)
		if err := valid(content); err != nil {
			t.Fatalf("schema  %s\ncontent %s\nwas accepted, but: %v", data, content, err)
		}
	}
}

// checkChanged asserts that what is told of the reading is short and about a
// field.
func checkChanged(t *testing.T, s Schema) {
	t.Helper()
	for _, c := range s.Changed {
		if _, ok := (Form{Fields: s.Fields}).Field(c.Field); !ok || c.Text == "" || len(c.Text) > 2048 {
			t.Fatalf("%q is told of %q", c.Text, c.Field)
		}
	}
}

func FuzzProjection(f *testing.F) {
	for _, s := range []string{
		"plain", "a\r\nb\tc", "\x1b]52;c;ZXZpbA==\x07", "\u009b2J", "a\u202eb\u2066", "👩🏽\u200d🚀", "❤\ufe0f\u200d🔥", "a\u0301\u0302\u0303\u0304\u0305\u0306",
		"java.io asp.net. evil.de", "java.io.java.io",
		"\xff\xed\xa0\x80", "\U000e0041\U0010ffff\ue000", `\u{202e}\x1b`, "",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		line, block := Line(s), Block(s)
		checkProjected(t, s, line, false)
		checkProjected(t, s, block, true)
		if Line(line) != line || Block(block) != block || Line(block) != line {
			t.Fatalf("%q: not idempotent: %q %q", s, line, block)
		}
		// What is shown otherwise than it is typed has a remark.
		if told := hiddenIn(s); (told == "") != (block == strings.ReplaceAll(s, "\t", " ")) {
			t.Fatalf("%q is shown as %q, and told as %q", s, block, told)
		}
		HasLink(Form{Message: s}) // ends
	})
}
