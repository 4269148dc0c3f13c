package forms

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// one is a canonical form with the given fields, as JSON.
func one(fields ...string) string {
	return `{"message":"m","requester":{"name":"t"},"fields":[` + strings.Join(fields, ",") + `]}`
}

const (
	textField   = `{"kind":"string","name":"s","label":"S","required":true}`
	selectField = `{"kind":"single_select","name":"p","label":"P","required":false,"options":[{"value":"a","label":"A"}]}`
)

// with adds members to the JSON of an object.
func with(object, members string) string {
	return strings.TrimSuffix(object, "}") + "," + members + "}"
}

func field(kind, members string) string {
	f := fmt.Sprintf(`{"kind":%q,"name":"f","label":"F","required":false}`, kind)
	if members != "" {
		f = with(f, members)
	}
	return f
}

const twoOptions = `"options":[{"value":"a","label":"A"},{"value":"b","label":"B"}]`

func TestDecodeFormAccepts(t *testing.T) {
	for _, tc := range []struct{ name, json string }{
		{"no fields asks for consent alone", one()},
		{"empty source is absent", `{"message":"m","requester":{"name":"t","source":""},"fields":[]}`},
		{"any order of keys", `{"fields":[],"requester":{"source":"x","name":"t"},"message":"m"}`},
		{"blanks around", " \n" + one() + "\t"},
		{"string with everything", one(field("string", `"description":"d","default":"abc","minLength":1,"maxLength":5`))},
		{"format email", one(field("string", `"format":"email","default":"a@b.c"`))},
		{"format uri", one(field("string", `"format":"uri","default":"a:b"`))},
		{"format date", one(field("string", `"format":"date","default":"2026-01-31"`))},
		{"format date-time", one(field("string", `"format":"date-time","default":"2026-01-31T00:00:00Z"`))},
		{"number", one(field("number", `"default":1.5,"minimum":-2,"maximum":2e0`))},
		{"integer", one(field("integer", `"default":5.0,"minimum":0.5,"maximum":9`))},
		{"boolean", one(field("boolean", `"default":false`))},
		{"single_select", one(field("single_select", twoOptions+`,"default":"a"`))},
		{"multi_select", one(field("multi_select", twoOptions+`,"default":["b","a"],"minItems":1,"maxItems":5`))},
		{"multi_select empty default", one(field("multi_select", twoOptions+`,"default":[]`))},
		{"option description", one(field("single_select", `"options":[{"value":"a","label":"A","description":""}]`))},
		{"maxLength above 2048 is read as 2048", one(field("string", `"maxLength":100000`))},
		{"empty strings are values", one(field("single_select", `"options":[{"value":"","label":"none"}],"default":""`))},
		{"name is opaque", one(strings.Replace(textField, `"s"`, `"__proto__"`, 1), strings.Replace(textField, `"s"`, `"a.b"`, 1))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, err := DecodeForm([]byte(tc.json), OurLimits())
			if err != nil {
				t.Fatal(err)
			}
			raw, _ := f.Encode()
			again, err := DecodeForm(raw, OurLimits())
			if err != nil {
				t.Fatalf("%s: %v", raw, err)
			}
			if raw2, _ := again.Encode(); !bytes.Equal(raw, raw2) {
				t.Errorf("encode is not settled:\n%s\n%s", raw, raw2)
			}
		})
	}
}

func TestDecodeFormRefuses(t *testing.T) {
	for _, tc := range []struct{ name, json, says string }{
		{"not an object", `[]`, "must be an object, not an array"},
		{"trailing text", one() + "{}", "text after the JSON value"},
		{"invalid UTF-8", strings.Replace(one(), `"m"`, "\"\xff\"", 1), "is not valid UTF-8"},
		{"lone surrogate", strings.Replace(one(), `"m"`, `"\ud800"`, 1), "half of a surrogate pair"},
		{"unknown key", with(one(), `"title":"x"`), `unknown key "title"`},
		{"wrong-case key", strings.Replace(one(), `"message"`, `"Message"`, 1), `key "message" is missing`},
		{"wrong-case key beside", with(one(), `"Message":"x"`), `unknown key "Message"`},
		{"duplicate key", with(one(), `"message":"x"`), `key "message" stands twice`},
		{"duplicate key in a field", one(with(textField, `"name":"x"`)), `key "name" stands twice`},
		{"no message", `{"requester":{"name":"t"},"fields":[]}`, `key "message" is missing`},
		{"no requester", `{"message":"m","fields":[]}`, `key "requester" is missing`},
		{"no fields", `{"message":"m","requester":{"name":"t"}}`, `key "fields" is missing`},
		{"message null", strings.Replace(one(), `"m"`, `null`, 1), "message: must be a string, not null"},
		{"source null", `{"message":"m","requester":{"name":"t","source":null},"fields":[]}`, "requester.source: must be a string"},
		{"requester extra", `{"message":"m","requester":{"name":"t","url":""},"fields":[]}`, `requester: unknown key "url"`},
		{"fields object", strings.Replace(one(), `[]`, `{}`, 1), "fields: must be an array"},
		{"field not object", one(`"x"`), "fields[0]: must be an object"},
		{"unknown kind", one(field("secret", "")), "fields[0].kind: is not a kind of field"},
		{"wrong-case kind", one(field("String", "")), "fields[0].kind: is not a kind of field"},
		{"no kind", one(`{"name":"f","label":"F","required":false}`), `fields[0]: key "kind" is missing`},
		{"no name", one(`{"kind":"boolean","label":"F","required":false}`), `key "name" is missing`},
		{"no label", one(`{"kind":"boolean","name":"f","required":false}`), `key "label" is missing`},
		{"no required", one(`{"kind":"boolean","name":"f","label":"F"}`), `key "required" is missing`},
		{"required text", one(`{"kind":"boolean","name":"f","label":"F","required":"yes"}`), "required: must be a boolean"},
		{"key of another kind", one(field("boolean", `"minLength":1`)), `unknown key "minLength"`},
		{"pattern", one(with(textField, `"pattern":"x"`)), `unknown key "pattern"`},
		{"options on a string", one(with(textField, twoOptions)), `unknown key "options"`},
		{"minItems on single_select", one(with(selectField, `"minItems":1`)), `unknown key "minItems"`},
		{"default null", one(with(textField, `"default":null`)), "default: must be a text"},
		{"default of another type", one(field("boolean", `"default":"true"`)), "default: must be true or false"},
		{"multi default text", one(field("multi_select", twoOptions+`,"default":"a"`)), "default: must be a list of texts"},
		{"unknown format", one(with(textField, `"format":"uuid"`)), "format: must be"},
		{"length text", one(with(textField, `"minLength":"1"`)), "minLength: must be a number"},
		{"length negative", one(with(textField, `"minLength":-1`)), "must be a whole number, 0 or more"},
		{"length fraction", one(with(textField, `"maxLength":1.5`)), "must be a whole number, 0 or more"},
		{"minimum text", one(field("number", `"minimum":"1"`)), "minimum: must be a number"},
		{"minimum too long", one(field("number", `"minimum":1.`+strings.Repeat("0", 64))), "must be at most 64 characters long"},
		{"minimum exponent", one(field("number", `"minimum":1e401`)), "exponent between -400 and 400"},
		{"no options", one(`{"kind":"single_select","name":"p","label":"P","required":false}`), `key "options" is missing`},
		{"option extra", one(field("single_select", `"options":[{"value":"a","label":"A","title":"x"}]`)), `options[0]: unknown key "title"`},
		{"option without label", one(field("single_select", `"options":[{"value":"a"}]`)), `options[0]: key "label" is missing`},
		{"option number", one(field("single_select", `"options":[1]`)), "options[0]: must be an object"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := DecodeForm([]byte(tc.json), OurLimits())
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("error %v, want one that says %q", err, tc.says)
			}
		})
	}
}

// TestLimits checks each row of the table of limits on both sides of it.
func TestLimits(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	message := func(n int) string { return strings.Replace(one(), `"m"`, `"`+x(n)+`"`, 1) }
	requester := func(name, source int) string {
		return `{"message":"m","requester":{"name":"` + x(name) + `","source":"` + x(source) + `"},"fields":[]}`
	}
	label := func(key string, n int) string {
		return one(strings.Replace(textField, `"`+key+`":"`+map[string]string{"name": "s", "label": "S"}[key]+`"`, `"`+key+`":"`+x(n)+`"`, 1))
	}
	fields := func(n int) string {
		var fs []string
		for i := range n {
			fs = append(fs, fmt.Sprintf(`{"kind":"boolean","name":"f%d","label":"L","required":false}`, i))
		}
		return one(fs...)
	}
	options := func(n int) string {
		var opts []string
		for i := range n {
			opts = append(opts, fmt.Sprintf(`{"value":"v%d","label":"l%d"}`, i, i))
		}
		return one(field("multi_select", `"options":[`+strings.Join(opts, ",")+`]`))
	}
	def := func(text string) string { return one(with(textField, `"maxLength":5000,"default":"`+text+`"`)) }
	option := func(value string) string {
		return one(field("single_select", `"options":[{"value":"`+value+`","label":"L"}]`))
	}
	foreign, our := ForeignLimits(), OurLimits()
	for _, tc := range []struct {
		row  string
		lim  Limits
		json string
		ok   bool
	}{
		{"fields/32", our, fields(32), true},
		{"fields/33", our, fields(33), false},
		{"options/1", our, options(1), true},
		{"options/0", our, options(0), false},
		{"options/256", our, options(256), true},
		{"options/257", our, options(257), false},
		{"options/foreign 64", foreign, options(64), true},
		{"options/foreign 65", foreign, options(65), false},
		{"message/0", our, message(0), false},
		{"message/1", our, message(1), true},
		{"message/8192", our, message(8192), true},
		{"message/8193", our, message(8193), false},
		{"message/bytes, not code points", our, strings.Replace(one(), `"m"`, `"`+strings.Repeat("é", 4097)+`"`, 1), false},
		{"requester name/0", our, requester(0, 0), false},
		{"requester name/256", our, requester(256, 0), true},
		{"requester name/257", our, requester(257, 0), false},
		{"requester source/512", our, requester(1, 512), true},
		{"requester source/513", our, requester(1, 513), false},
		{"field name/0", our, label("name", 0), false},
		{"field name/256", our, label("name", 256), true},
		{"field name/257", our, label("name", 257), false},
		{"field label/0", our, label("label", 0), false},
		{"field label/256", our, label("label", 256), true},
		{"field label/257", our, label("label", 257), false},
		{"option label/256", our, one(field("single_select", `"options":[{"value":"a","label":"`+x(256)+`"}]`)), true},
		{"option label/257", our, one(field("single_select", `"options":[{"value":"a","label":"`+x(257)+`"}]`)), false},
		{"option label/0", our, one(field("single_select", `"options":[{"value":"a","label":""}]`)), false},
		{"description/512", our, one(with(textField, `"description":"`+x(512)+`"`)), true},
		{"description/513", our, one(with(textField, `"description":"`+x(513)+`"`)), false},
		{"option description/512", our, one(field("single_select", `"options":[{"value":"a","label":"A","description":"`+x(512)+`"}]`)), true},
		{"option description/513", our, one(field("single_select", `"options":[{"value":"a","label":"A","description":"`+x(513)+`"}]`)), false},
		{"default/2048 code points", our, def(x(2048)), true},
		{"default/2049 code points", our, def(x(2049)), false},
		{"default/8192 bytes", our, def(strings.Repeat("😀", 2048)), true},
		{"default/control", our, def(`a\u001bb`), false},
		{"default/carriage return", our, def(`a\rb`), false},
		{"default/line break and tab", our, def(`a\n\tb`), true},
		{"option value/0", our, option(""), true},
		{"option value/2048", our, option(x(2048)), true},
		{"option value/2049", our, option(x(2049)), false},
		{"option value/control", our, option(`\u0000`), false},
		{"number/64 bytes", our, one(field("number", `"default":1.`+strings.Repeat("0", 62))), true},
		{"number/65 bytes", our, one(field("number", `"default":1.`+strings.Repeat("0", 63))), false},
		{"number/exponent 400", our, one(field("number", `"default":1e400,"minimum":1e-400`)), true},
		{"number/exponent 401", our, one(field("number", `"default":1e401`)), false},
		{"number/exponent -401", our, one(field("number", `"default":1e-401`)), false},
		{"integer/2^53-1", our, one(field("integer", `"default":9007199254740991`)), true},
		{"integer/2^53", our, one(field("integer", `"default":9007199254740992`)), false},
		{"integer/-2^53", our, one(field("integer", `"default":-9007199254740992`)), false},
		{"request/16 KiB", our, sizedForm(16 << 10), true},
		{"request/16 KiB and 1", our, sizedForm(16<<10 + 1), false},
	} {
		t.Run(tc.row, func(t *testing.T) {
			if _, err := DecodeForm([]byte(tc.json), tc.lim); (err == nil) != tc.ok {
				t.Errorf("error %v, want accepted %v", err, tc.ok)
			}
		})
	}
	t.Run("request/size is that of our encoder", func(t *testing.T) {
		// Escaped and spaced out it is several times as long.
		spelled := strings.ReplaceAll(sizedForm(16<<10), "x", `\u0078`)
		if _, err := DecodeForm([]byte(spelled), our); err != nil {
			t.Error(err)
		}
	})
}

// sizedForm is a form of exactly n bytes as JSON.
func sizedForm(n int) string {
	const option = 900
	var opts []string
	form := func() string {
		return one(field("single_select", `"options":[`+strings.Join(opts, ",")+`]`))
	}
	for i := 0; len(form())+option < n; i++ {
		opts = append(opts, fmt.Sprintf(`{"value":"%03d%s","label":"%d"}`, i, strings.Repeat("x", 800), i))
	}
	rest := n - len(form())
	return strings.Replace(form(), `"m"`, `"m`+strings.Repeat("x", rest)+`"`, 1)
}

func TestAnswerLimit(t *testing.T) {
	result := func(n int) string {
		const wrap = `{"action":"accept","values":{"s":""}}`
		return strings.Replace(wrap, `:""`, `:"`+strings.Repeat("x", n-len(wrap))+`"`, 1)
	}
	for _, tc := range []struct {
		name string
		lim  Limits
		size int
		ok   bool
	}{
		{"64 KiB", OurLimits(), 64 << 10, true},
		{"64 KiB and 1", OurLimits(), 64<<10 + 1, false},
		{"foreign 8 KiB", ForeignLimits(), 8 << 10, true},
		{"foreign 8 KiB and 1", ForeignLimits(), 8<<10 + 1, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := DecodeResult([]byte(result(tc.size)), tc.lim); (err == nil) != tc.ok {
				t.Errorf("error %v, want accepted %v", err, tc.ok)
			}
		})
	}
}

func TestDecodeResult(t *testing.T) {
	for _, tc := range []struct {
		name, json string
		malformed  bool
	}{
		{"accept", `{"action":"accept","values":{"a":"","n":1.5,"b":false,"l":["x"],"e":[]}}`, false},
		{"accept empty", `{"action":"accept","values":{}}`, false},
		{"decline", `{"action":"decline"}`, false},
		{"cancel", `{"action":"cancel"}`, false},
		{"unknown name is wrong, not malformed", `{"action":"accept","values":{"whatever":true}}`, false},
		{"too long a text is wrong, not malformed", `{"action":"accept","values":{"a":"` + strings.Repeat("x", 3000) + `"}}`, false},
		{"too long a number is wrong, not malformed", `{"action":"accept","values":{"a":1` + strings.Repeat("0", 80) + `}}`, false},
		{"a control is wrong, not malformed", `{"action":"accept","values":{"a":"\u0000"}}`, false},
		{"a repeated choice is wrong, not malformed", `{"action":"accept","values":{"a":["x","x"]}}`, false},
		{"not an object", `"accept"`, true},
		{"unknown key", `{"action":"decline","why":"x"}`, true},
		{"kind inside", `{"action":"decline","kind":"form"}`, true},
		{"wrong-case key", `{"Action":"decline"}`, true},
		{"duplicate key", `{"action":"decline","action":"decline"}`, true},
		{"duplicate value", `{"action":"accept","values":{"a":1,"a":1}}`, true},
		{"unknown action", `{"action":"ok"}`, true},
		{"no action", `{"values":{}}`, true},
		{"accept without values", `{"action":"accept"}`, true},
		{"decline with values", `{"action":"decline","values":{}}`, true},
		{"cancel with values", `{"action":"cancel","values":{}}`, true},
		{"null", `{"action":"accept","values":{"a":null}}`, true},
		{"nested", `{"action":"accept","values":{"a":{}}}`, true},
		{"list of numbers", `{"action":"accept","values":{"a":[1]}}`, true},
		{"list in list", `{"action":"accept","values":{"a":[["x"]]}}`, true},
		{"values array", `{"action":"accept","values":[]}`, true},
		{"lone surrogate", `{"action":"accept","values":{"a":"\udfff"}}`, true},
		{"trailing", `{"action":"decline"}x`, true},
		{"empty", ``, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := DecodeResult([]byte(tc.json), OurLimits())
			if (err != nil) != tc.malformed {
				t.Fatalf("error %v, want malformed %v", err, tc.malformed)
			}
			if err == nil && r.Action != ActionAccept && r.Values != nil {
				t.Error("values without accept")
			}
		})
	}
}

// TestEncodeCanonical pins the JSON of a form and of results.
func TestEncodeCanonical(t *testing.T) {
	low, high := NumberOf(1), NumberOf(5)
	one, two := 1, 2
	f := Form{Message: "a\"b\\c\nd\te\x1b<&>\u2028é", Requester: Requester{Name: "n", Source: "s"}, Fields: []Field{
		{Kind: KindString, Name: "s", Label: "S", Required: true, Description: "d", Default: TextValue("x"), MinLength: &one, MaxLength: &two, Format: FormatEmail},
		{Kind: KindInteger, Name: "i", Label: "I", Default: NumberValue(low), Minimum: &low, Maximum: &high},
		{Kind: KindMultiSelect, Name: "m", Label: "M", Options: []Option{{"v", "L", "D"}, {"w", "W", ""}}, Default: ListValue([]string{"w"}), MinItems: &one, MaxItems: &two},
	}}
	raw, err := f.Encode()
	want := `{"message":"a\"b\\c\nd\te\u001b<&>` + "\u2028é" + `","requester":{"name":"n","source":"s"},"fields":[` +
		`{"kind":"string","name":"s","label":"S","required":true,"description":"d","default":"x","minLength":1,"maxLength":2,"format":"email"},` +
		`{"kind":"integer","name":"i","label":"I","required":false,"default":1,"minimum":1,"maximum":5},` +
		`{"kind":"multi_select","name":"m","label":"M","required":false,"options":[{"value":"v","label":"L","description":"D"},{"value":"w","label":"W"}],"default":["w"],"minItems":1,"maxItems":2}]}`
	if err != nil || string(raw) != want {
		t.Errorf("form\n%s\nwant\n%s", raw, want)
	}
	r := Accept(Values{"b": BoolValue(true), "a": TextValue("\u007f\n"), "n": NumberValue(numberFrom("1.50")), "l": ListValue(nil), "left out": {}})
	raw, err = r.Encode()
	if want := `{"action":"accept","values":{"a":"` + "\u007f" + `\n","b":true,"l":[],"n":1.50}}`; err != nil || string(raw) != want {
		t.Errorf("result\n%s\nwant\n%s", raw, want)
	}
	raw, _ = Accept(nil).Encode()
	if string(raw) != `{"action":"accept","values":{}}` {
		t.Errorf("empty accept %s", raw)
	}
	raw, _ = Cancel().Encode()
	if string(raw) != `{"action":"cancel"}` {
		t.Errorf("cancel %s", raw)
	}
}

func TestBesideMembers(t *testing.T) {
	f, err := DecodeForm([]byte(one(textField)), OurLimits())
	if err != nil {
		t.Fatal(err)
	}
	record := append(f.AppendMembers([]byte(`{"kind":"form","toolUseId":"c"`)), '}')
	v := parse(t, string(record))
	if _, err := FormFrom(v, OurLimits()); err == nil {
		t.Error("kind and toolUseId belong to no form of their own")
	}
	back, err := FormFrom(v, OurLimits(), "kind", "toolUseId")
	if err != nil || len(back.Fields) != 1 {
		t.Errorf("%v %v", back, err)
	}
	outcome := append(Decline().AppendMembers([]byte(`{"kind":"form_answer"`)), `,"committedAt":1}`...)
	r, err := ResultFrom(parse(t, string(outcome)), OurLimits(), "kind", "committedAt")
	if err != nil || r.Action != ActionDecline {
		t.Errorf("%v %v", r, err)
	}
}
