package forms

import (
	"encoding/json"
	"errors"
	"flag"
	"strings"
	"testing"
)

// caseForm reads a case's schema and fits it, which must succeed.
func caseForm(t *testing.T, c decodeCase) Form {
	t.Helper()
	s, err := ReadSchema(c.schema(), SchemaOptions{})
	if err != nil {
		t.Fatalf("refused: %v", err)
	}
	f, err := (Form{Message: "m", Requester: Requester{Name: "t"}, Fields: s.Fields}).Fit(OurLimits())
	if err != nil {
		t.Fatalf("not admitted: %v", err)
	}
	caseSchemas[t.Name()] = c.schema()
	return f
}

// caseSchemas is the schema that each running test read last.
var caseSchemas = map[string][]byte{}

// sends asserts that vals fit, leave as the given JSON, and satisfy the case's
// own schema by another validator.
func sends(t *testing.T, f Form, vals Values, want string) {
	t.Helper()
	r := Accept(vals)
	if errs := f.Check(r); errs != nil {
		t.Fatalf("%v does not fit: %v", vals, errs)
	}
	raw, _ := f.Canonical(r).Values.MarshalJSON()
	if string(raw) != want {
		t.Errorf("sends %s, want %s", raw, want)
	}
	if valid := judge(caseSchemas[t.Name()]); valid != nil {
		judgedAnswers++
		if err := valid(raw); err != nil {
			t.Errorf("%s does not satisfy the server's schema: %v", raw, err)
		}
	}
}

var judgedAnswers int

// typed parses NAME=TEXT pairs as a person would type them.
func typed(t *testing.T, f Form, pairs ...string) Values {
	t.Helper()
	vals, errs := f.Set(nil, pairs)
	if errs != nil {
		t.Fatal(errs)
	}
	return vals
}

// refused asserts that the schema is refused for the property and keyword.
func refused(field, keyword string) func(*testing.T, decodeCase) {
	return func(t *testing.T, c decodeCase) {
		_, err := ReadSchema(c.schema(), SchemaOptions{})
		for _, e := range asSchemaErrors(err) {
			if e.Field == field && e.Keyword == keyword {
				return
			}
		}
		t.Errorf("error %v, want property %q and keyword %q", err, field, keyword)
	}
}

func asSchemaErrors(err error) SchemaErrors {
	es, _ := errors.AsType[SchemaErrors](err)
	return es
}

// notTyped asserts that a text is refused for the case's only field.
func notTyped(texts ...string) func(*testing.T, decodeCase) {
	return func(t *testing.T, c decodeCase) {
		f := caseForm(t, c)
		for _, text := range texts {
			if v, err := ParseText(f.Fields[0], text); err == nil {
				t.Errorf("%q became %v", text, v)
			} else if !strings.HasPrefix(err.Error(), `"f": `) {
				t.Errorf("the error does not name the field: %v", err)
			}
		}
	}
}

// caseTests say what each case means for this package. Where the form contract
// decides differently from the case, the comment says so.
var caseTests = map[string]func(*testing.T, decodeCase){
	"SD-01": func(t *testing.T, c decodeCase) {
		f := caseForm(t, c)
		if len(f.Fields) != 1 || f.Fields[0].Label != "Value" || !f.Fields[0].Required {
			t.Errorf("fields %+v", f.Fields)
		}
		sends(t, f, typed(t, f, "value=ok"), `{"value":"ok"}`)
	},
	"SD-02": func(t *testing.T, c decodeCase) {
		f := caseForm(t, c)
		sends(t, f, typed(t, f, "a=x"), `{"a":"x"}`)
	},
	"SD-03": func(t *testing.T, c decodeCase) {
		f := caseForm(t, c)
		sends(t, f, typed(t, f, "a=x"), `{"a":"x"}`)
		if f.Check(Accept(Values{"a": TextValue("x"), "_meta": TextValue("x")})) == nil {
			t.Error("an undeclared key fits")
		}
	},
	"SD-04": func(t *testing.T, c decodeCase) {
		f := caseForm(t, c)
		if f.Fields[0].Kind != KindString || f.Fields[0].Required {
			t.Errorf("field %+v", f.Fields[0])
		}
		sends(t, f, nil, `{}`)
	},
	"SD-06": func(t *testing.T, c decodeCase) {
		f := caseForm(t, c)
		sends(t, f, f.Defaults(), `{}`)
	},
	"SD-07": func(t *testing.T, c decodeCase) {
		f := caseForm(t, c)
		if f.Fields[0].Options[0].Label != "Cats" || f.Fields[0].Options[1].Label != "Dogs" {
			t.Errorf("options %+v", f.Fields[0].Options)
		}
		sends(t, f, f.Defaults(), `{"p":"pet-1"}`)
		sends(t, f, typed(t, f, "p=Dogs"), `{"p":"pet-2"}`)
	},
	"SD-09": func(t *testing.T, c decodeCase) {
		f := caseForm(t, c)
		sends(t, f, f.Defaults(), `{"c":"#FF0000"}`)
		if f.Check(Accept(Values{"c": TextValue("Red")})) == nil {
			t.Error("a label is a value")
		}
	},
	"SD-10": func(t *testing.T, c decodeCase) {
		f := caseForm(t, c)
		sends(t, f, typed(t, f, "p=Read"), `{"p":["r"]}`)
		for _, items := range []string{
			`{"oneOf":[{"const":"r","title":"Read"}]}`, `{"type":"string","anyOf":[{"const":"r","title":"Read"}]}`,
		} {
			if _, _, err := readField(t, `{"type":"array","items":`+items+`}`); err != nil {
				t.Errorf("%s: %v", items, err)
			}
		}
	},
	// The case would let the person type lines; the contract refuses an array
	// of free strings.
	"SD-12": refused("hosts", "items"),
	"SD-13": func(t *testing.T, c decodeCase) {
		f := caseForm(t, c)
		sends(t, f, typed(t, f, "priority=low"), `{"priority":"low"}`)
		if f.Check(Accept(Values{"priority": TextValue("Low")})) == nil {
			t.Error("Low fits")
		}
	},
	// The case would choose among numbers; the contract refuses enums that
	// are not strings.
	"SD-14": refused("n", "enum"),
	"SD-17": func(t *testing.T, c decodeCase) {
		f := caseForm(t, c)
		sends(t, f, typed(t, f, "n=7", "id=anything"), `{"id":"anything","n":7}`)
		if !strings.Contains(f.Fields[1].Description, "uuid") {
			t.Error("the unknown format is not shown as a hint")
		}
	},
	// The contract refuses the whole form and names the property; declining
	// it is the caller's.
	"SD-18": refused("addr", "type"),
	"SD-19": refused("geo", "type"),
	"SD-20": func(t *testing.T, c decodeCase) {
		for range 20 {
			f := caseForm(t, c)
			var names []string
			for _, fd := range f.Fields {
				names = append(names, fd.Name)
			}
			if strings.Join(names, ",") != "zip,city,age" {
				t.Fatalf("order %v", names)
			}
		}
	},
	"SD-22": func(t *testing.T, c decodeCase) {
		f := caseForm(t, c)
		sends(t, f, nil, `{}`)
		if f.Check(Decline()) != nil || f.Check(Cancel()) != nil {
			t.Error("a form without fields cannot be declined")
		}
	},
	// The case would skip `b`; the contract refuses a property that is no
	// object. Both are named.
	"SD-23": func(t *testing.T, c decodeCase) {
		refused("b", "type")(t, c)
		refused("ghost", "required")(t, c)
	},
	// Keys are opaque, but a field name has 1 to 256 bytes: the contract
	// refuses the empty one.
	"SD-24": func(t *testing.T, c decodeCase) {
		refused("", "properties")(t, c)
		c.Input["requestedSchema"] = []byte(strings.Replace(string(c.Input["requestedSchema"]), `"": `, `"a/b": `, 1))
		f := caseForm(t, c)
		sends(t, f, typed(t, f, "__proto__=x", "a.b=y", "a/b=z"), `{"__proto__":"x","a.b":"y","a/b":"z"}`)
	},
	"SD-26": func(t *testing.T, c decodeCase) {
		f := caseForm(t, c)
		sends(t, f, f.Defaults(), `{}`)
	},
	// The case would enforce some and hint at others; the contract refuses
	// what it cannot check.
	"SD-27": func(t *testing.T, c decodeCase) {
		refused("pin", "pattern")(t, c)
		refused("rate", "exclusiveMinimum")(t, c)
		refused("rate", "multipleOf")(t, c)
	},
	"SD-28": func(t *testing.T, c decodeCase) {
		for name, schema := range map[string]string{
			"5,000 options":  props(`"a":{"enum":["x"` + manyOptions(4999) + `]}`),
			"400 properties": props(strings.TrimPrefix(manyProperties(400), ",")),
			"a large schema": props(``, `"description":"`+strings.Repeat("x", 1e6)+`"`),
			"deep nesting":   `{"type":"object","properties":` + strings.Repeat(`{"a":`, 500) + `1` + strings.Repeat(`}`, 501),
		} {
			if _, err := ReadSchema([]byte(schema), SchemaOptions{MaxBytes: 128 << 10}); err == nil || len(err.Error()) > 500 {
				t.Errorf("%s: %v", name, err)
			}
		}
		f := Form{Message: strings.Repeat("x", 1e6), Requester: Requester{Name: "t"}}
		if err := f.Admit(OurLimits()); err == nil {
			t.Error("a message of 1,000,000 bytes is admitted")
		}
	},
	"VP-01": notTyped("42xyz", "12.5abc", "42 ", "4 2"),
	"VP-03": func(t *testing.T, c decodeCase) {
		f := caseForm(t, c)
		sends(t, f, typed(t, f, "f=1.5"), `{"f":1.5}`)
		sends(t, f, typed(t, f, "f=1.50"), `{"f":1.50}`)
		notTyped("1.", "-", ".5")(t, c)
	},
	// The default is outside ±(2^53−1), so it does not satisfy the field and is
	// dropped; nothing is rounded.
	"VP-04": func(t *testing.T, c decodeCase) {
		f := caseForm(t, c)
		sends(t, f, f.Defaults(), `{}`)
		notTyped("9007199254740993")(t, c)
		sends(t, f, typed(t, f, "f=9007199254740991"), `{"f":9007199254740991}`)
		n := caseForm(t, decodeCase{Input: map[string]json.RawMessage{"field": []byte(`{"type":"number"}`)}})
		sends(t, n, typed(t, n, "f=9007199254740993"), `{"f":9007199254740993}`)
	},
	// 1e400 is a number under the contract (its exponent is within ±400) and
	// leaves as its text; what no JSON can carry is refused.
	"VP-05": func(t *testing.T, c decodeCase) {
		notTyped("Inf", "Infinity", "NaN", "1e401", "-inf")(t, c)
		f := caseForm(t, c)
		sends(t, f, typed(t, f, "f=1e400"), `{"f":1e400}`)
	},
	"VP-07": func(t *testing.T, c decodeCase) {
		f := caseForm(t, c)
		sends(t, f, nil, `{}`)
		sends(t, f, f.Defaults(), `{}`)
	},
	"VP-08": func(t *testing.T, c decodeCase) {
		f := caseForm(t, c)
		sends(t, f, typed(t, f, "n=0", "b=no"), `{"b":false,"n":0}`)
	},
	"VP-09": func(t *testing.T, c decodeCase) {
		f := caseForm(t, c)
		sends(t, f, typed(t, f, "name=Ada"), `{"name":"Ada"}`)
		if f.Check(Accept(Values{"name": TextValue("Ada"), "email": TextValue("")})) == nil {
			t.Error("an empty email fits")
		}
	},
	"VP-11": func(t *testing.T, c decodeCase) {
		f := caseForm(t, c)
		cleared := f.Defaults()
		delete(cleared, "f")
		sends(t, f, cleared, `{}`)
	},
	"VP-12": func(t *testing.T, c decodeCase) {
		f := caseForm(t, c)
		sends(t, f, f.Defaults(), `{"n":5}`)
	},
	"VP-13": func(t *testing.T, c decodeCase) {
		f := caseForm(t, c)
		sends(t, f, f.Defaults(), `{"age":30,"score":95.5,"verified":false}`)
	},
	"VP-14": func(t *testing.T, c decodeCase) {
		f := caseForm(t, c)
		sends(t, f, f.Defaults(), `{"keep":true}`)
	},
	"VP-15": func(t *testing.T, c decodeCase) {
		notTyped("nope", "1", "", "truee")(t, c)
		f := caseForm(t, c)
		if f.Check(Accept(Values{"f": TextValue("true")})) == nil {
			t.Error("a text is a boolean")
		}
	},
	"VP-16": func(t *testing.T, c decodeCase) {
		f := caseForm(t, c)
		sends(t, f, typed(t, f, "approve=no"), `{"approve":false}`)
		if Equivalent(Accept(Values{"approve": BoolValue(false)}), Decline()) {
			t.Error("no is decline")
		}
	},
	"VP-19": func(t *testing.T, c decodeCase) {
		f := caseForm(t, c)
		if !f.Fields[0].Default.IsZero() {
			t.Error("a default over maxItems is kept")
		}
		errs := f.Check(Accept(Values{"t": ListValue([]string{"r", "g"})}))
		if errs == nil || !strings.Contains(errs.Error(), "at most 1 choice") {
			t.Errorf("%v", errs)
		}
	},
	"VP-20": func(t *testing.T, c decodeCase) {
		f := caseForm(t, c)
		bad := Values{"m": TextValue("Bob <a@b.c>"), "u": TextValue("example.com"), "d": TextValue("2026-02-30"), "t": TextValue("2026-02-28T10:00:00")}
		errs := f.Check(Accept(bad))
		if len(errs) != 4 {
			t.Errorf("%v", errs)
		}
		for _, e := range errs {
			if e.Rule != RuleFormat || !strings.Contains(e.Message, "such as") {
				t.Errorf("no hint: %v", e)
			}
		}
		sends(t, f, typed(t, f, "t=2026-02-28T10:00:00Z"), `{"t":"2026-02-28T10:00:00Z"}`)
	},
	"VP-21": notTyped("-", "", " "),
	"VP-23": func(t *testing.T, c decodeCase) {
		notTyped("1,5", "1.000,5", "١٥", "1 000")(t, c)
		_, err := ParseText(caseForm(t, c).Fields[0], "1,5")
		if !strings.Contains(err.Error(), "1.5") {
			t.Errorf("no accepted notation: %v", err)
		}
	},
	"VP-24": func(t *testing.T, c decodeCase) {
		f := caseForm(t, c)
		sends(t, f, typed(t, f, "f=2"), `{"f":2}`)
		if f.Check(Accept(Values{"f": TextValue("2")})) == nil {
			t.Error("a text is a number")
		}
	},
	"VP-25": func(t *testing.T, c decodeCase) {
		f := caseForm(t, c)
		sends(t, f, nil, `{}`)
		raw, _ := Accept(nil).Encode()
		if string(raw) != `{"action":"accept","values":{}}` {
			t.Errorf("accept of nothing is %s", raw)
		}
	},
	"VP-27": func(t *testing.T, c decodeCase) {
		f := caseForm(t, c)
		sends(t, f, typed(t, f, "f=play"), `{"f":"play"}`)
	},
	"SE-01": func(t *testing.T, c decodeCase) {
		f := Form{Message: "m\n\x1b[2J", Requester: Requester{Name: "\x1b]0;x\x07"}, Fields: []Field{{Kind: KindBoolean, Name: "f", Label: "ok\x1b[2J\x1b]52;c;ZXZpbA==\x07\u202e"}}}
		raw, _ := f.Project().Encode()
		for _, r := range string(raw) {
			if r < 0x20 && r != '\n' || r == 0x202e || r >= 0x7f && r < 0xa0 {
				t.Errorf("%U in the projection", r)
			}
		}
	},
	// No masked fields: the person is warned and still decides.
	"SE-03": func(t *testing.T, c decodeCase) {
		f := caseForm(t, c)
		if !LooksSecret(f.Fields[0]) {
			t.Error("an API key does not look like a secret")
		}
		sends(t, f, typed(t, f, "api_key=x"), `{"api_key":"x"}`)
	},
}

func TestCases(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range loadCases(t) {
		seen[c.ID] = true
		test := caseTests[c.ID]
		t.Run(c.ID, func(t *testing.T) {
			if test == nil {
				t.Fatalf("%s has no test: %s", c.ID, c.Title)
			}
			test(t, c)
		})
	}
	for id := range caseTests {
		if !seen[id] {
			t.Errorf("%s is no case", id)
		}
	}
	if all := !strings.Contains(flag.Lookup("test.run").Value.String(), "/"); all && judgedAnswers < 30 {
		t.Errorf("%d answers were judged", judgedAnswers)
	}
	if len(seen) != 43 {
		t.Errorf("%d cases", len(seen))
	}
}
