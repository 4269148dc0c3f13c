package forms

import (
	"errors"
	"strings"
	"testing"
)

var checked = one(
	`{"kind":"string","name":"name","label":"Name","required":true,"minLength":2,"maxLength":4}`,
	`{"kind":"string","name":"note","label":"Note","required":false}`,
	`{"kind":"integer","name":"replicas","label":"Replicas","required":false,"minimum":1,"maximum":5}`,
	`{"kind":"number","name":"rate","label":"Rate","required":false,"minimum":0.1,"maximum":0.3}`,
	`{"kind":"boolean","name":"sure","label":"Sure","required":true}`,
	`{"kind":"single_select","name":"env","label":"Env","required":false,"options":[{"value":"a","label":"A"},{"value":"b","label":"B"}]}`,
	`{"kind":"multi_select","name":"tags","label":"Tags","required":false,"minItems":1,"maxItems":2,"options":[{"value":"x","label":"X"},{"value":"y","label":"Y"},{"value":"z","label":"Z"}]}`,
)

func TestCheck(t *testing.T) {
	f := mustForm(t, checked)
	base := `"name":"abc","sure":false`
	for _, tc := range []struct{ name, values, want string }{
		{"least", base, ""},
		{"a required boolean may be false", base, ""},
		{"everything", base + `,"note":"","replicas":5,"rate":0.3,"env":"b","tags":["y","x"]`, ""},
		{"unknown name", base + `,"other":1`, `"other": is not a field of this form`},
		{"wrong-case name", base + `,"Note":""`, `"Note": is not a field of this form`},
		{"missing required", `"sure":true`, `"name": is required`},
		{"missing required boolean", `"name":"abc"`, `"sure": is required`},
		{"string as number", base + `,"note":5`, `"note": must be a text, not a number`},
		{"number as string", base + `,"replicas":"2"`, `"replicas": must be a number, not a text`},
		{"boolean as string", `"name":"abc","sure":"true"`, `"sure": must be true or false, not a text`},
		{"list as string", base + `,"tags":"x"`, `"tags": must be a list of texts, not a text`},
		{"select as list", base + `,"env":["a"]`, `"env": must be a text, not a list of texts`},
		{"too short", `"name":"a","sure":true`, `"name": must have at least 2 characters, has 1`},
		{"too long", `"name":"abcde","sure":true`, `"name": must have at most 4 characters, has 5`},
		{"code points, not bytes", `"name":"漢字éé","sure":true`, ""},
		{"code points, not clusters", `"name":"👩\u200d🚀xx","sure":true`, `"name": must have at most 4 characters, has 5`},
		{"control", base + `,"note":"a\u001b[2J"`, `"note": holds a control character (U+001B escape) after 1 character; remove it`},
		{"carriage return", base + `,"note":"a\r\n"`, `"note": holds a control character (U+000D carriage return) after 1 character; remove it`},
		{"line break and tab", base + `,"note":"a\n\tb"`, ""},
		{"delete is no C0 control", base + `,"note":"\u007f"`, ""},
		{"above maximum", base + `,"replicas":6`, `"replicas": must be at most 5`},
		{"below minimum", base + `,"replicas":0`, `"replicas": must be at least 1`},
		{"fraction", base + `,"replicas":1.5`, `"replicas": must be a whole number`},
		{"an integer however spelt", base + `,"replicas":50e-1`, ""},
		{"exact decimals", base + `,"rate":0.30000000000000001`, `"rate": must be at most 0.3`},
		{"exact decimals below", base + `,"rate":0.09999999999999999`, `"rate": must be at least 0.1`},
		{"long number", base + `,"rate":0.2` + strings.Repeat("0", 62), `"rate": must be at most 64 characters long`},
		{"no option", base + `,"env":"A"`, `"env": must be one of the options: "a" (A), "b" (B)`},
		{"no option in list", base + `,"tags":["x","q"]`, `"tags": holds something else than its options: "x" (X), "y" (Y), "z" (Z)`},
		{"option twice", base + `,"tags":["x","x"]`, `"tags": holds "x" twice`},
		{"too few", base + `,"tags":[]`, `"tags": must have at least 1 choice, has 0`},
		{"too many", base + `,"tags":["x","y","z"]`, `"tags": must have at most 2 choices, has 3`},
		{"several", `"name":"a","replicas":9,"x":1`, "\"name\": must have at least 2 characters, has 1\n\"replicas\": must be at most 5\n\"sure\": is required\n\"x\": is not a field of this form"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := DecodeResult([]byte(`{"action":"accept","values":{`+tc.values+`}}`), OurLimits())
			if err != nil {
				t.Fatal(err)
			}
			errs := f.Check(r)
			if errs.Error() != tc.want {
				t.Errorf("says\n%s\nwant\n%s", errs, tc.want)
			}
			if (errs.Err() != nil) != (tc.want != "") {
				t.Errorf("Err() is %v", errs.Err())
			}
		})
	}
}

func TestCheckActions(t *testing.T) {
	f := mustForm(t, checked)
	for _, r := range []Result{Decline(), Cancel()} {
		if errs := f.Check(r); errs != nil {
			t.Errorf("%s: %v", r.Action, errs)
		}
	}
	for _, r := range []Result{{}, {Action: "ok"}, {Action: ActionDecline, Values: Values{"name": TextValue("x")}}} {
		if errs := f.Check(r); errs == nil {
			t.Errorf("%v fits", r)
		}
	}
	consent := mustForm(t, one())
	if errs := consent.Check(Accept(nil)); errs != nil {
		t.Errorf("consent: %v", errs)
	}
}

// TestAbsence: left out is left out, and differs from every empty value.
func TestAbsence(t *testing.T) {
	f := mustForm(t, one(
		`{"kind":"string","name":"s","label":"S","required":true,"minLength":0}`,
		`{"kind":"multi_select","name":"m","label":"M","required":true,"options":[{"value":"a","label":"A"}]}`,
	))
	if errs := f.Check(Accept(Values{"s": TextValue(""), "m": ListValue(nil)})); errs != nil {
		t.Errorf("empty values: %v", errs)
	}
	for _, vals := range []Values{{}, {"s": {}, "m": {}}} {
		if errs := f.Check(Accept(vals)); len(errs) != 2 {
			t.Errorf("absence: %v", errs)
		}
	}
	raw, _ := Accept(Values{"s": TextValue(""), "left": {}}).Encode()
	if string(raw) != `{"action":"accept","values":{"s":""}}` {
		t.Errorf("encoded %s", raw)
	}
}

func TestErrorsAreValues(t *testing.T) {
	f := mustForm(t, checked)
	err := f.Check(Accept(Values{"replicas": NumberValue(NumberOf(9))})).Err()
	errs, ok := errors.AsType[Errors](err)
	if !ok || len(errs) != 3 {
		t.Fatalf("%v", err)
	}
	first, ok := errors.AsType[FieldError](err)
	if !ok || first.Field != "name" || first.Rule != RuleRequired {
		t.Errorf("first %v", first)
	}
	of := errs.Of("replicas")
	if len(of) != 1 || of[0].Rule != RuleMaximum || of[0].Message != "must be at most 5" {
		t.Errorf("of replicas: %v", of)
	}
	hostile := FieldError{Field: "a\x1b[2J\u202e" + strings.Repeat("x", 500), Message: "is odd"}
	if s := hostile.Error(); strings.ContainsAny(s, "\x1b\u202e") || len(s) > 200 {
		t.Errorf("a hostile name is not tamed: %q", s)
	}
}

func TestEquivalent(t *testing.T) {
	decode := func(s string) Result {
		r, err := DecodeResult([]byte(s), OurLimits())
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	accept := func(vals string) string { return `{"action":"accept","values":{` + vals + `}}` }
	for _, tc := range []struct {
		name, a, b string
		want       bool
	}{
		{"same", accept(`"a":1,"b":"x"`), accept(`"b":"x","a":1`), true},
		{"5.0 and 5", accept(`"a":5.0`), accept(`"a":5`), true},
		{"-0 and 0", accept(`"a":-0`), accept(`"a":0`), true},
		{"1e3 and 1000", accept(`"a":1e3`), accept(`"a":1000`), true},
		{"close decimals", accept(`"a":0.1`), accept(`"a":0.10000000000000000001`), false},
		{"number and text", accept(`"a":1`), accept(`"a":"1"`), false},
		{"list order", accept(`"a":["x","y"]`), accept(`"a":["y","x"]`), false},
		{"same list", accept(`"a":["x","y"]`), accept(`"a":["x","y"]`), true},
		{"absence and empty", accept(``), accept(`"a":""`), false},
		{"other name", accept(`"a":""`), accept(`"b":""`), false},
		{"false and absence", accept(`"a":false`), accept(``), false},
		{"actions", `{"action":"decline"}`, `{"action":"cancel"}`, false},
		{"declines", `{"action":"decline"}`, `{"action":"decline"}`, true},
		{"accept and decline", accept(``), `{"action":"decline"}`, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, b := decode(tc.a), decode(tc.b)
			if Equivalent(a, b) != tc.want || Equivalent(b, a) != tc.want {
				t.Errorf("want %v", tc.want)
			}
		})
	}
}

func TestCanonical(t *testing.T) {
	f := mustForm(t, checked)
	r, _ := DecodeResult([]byte(`{"action":"accept","values":{"name":"abc","sure":true,"replicas":50e-1,"rate":0.20}}`), OurLimits())
	raw, _ := f.Canonical(r).Encode()
	if string(raw) != `{"action":"accept","values":{"name":"abc","rate":0.20,"replicas":5,"sure":true}}` {
		t.Errorf("canonical %s", raw)
	}
	if r.Values["replicas"].Number().String() != "50e-1" {
		t.Error("Canonical changed what it was given")
	}
	if got := f.Canonical(Decline()); got.Values != nil || got.Action != ActionDecline {
		t.Errorf("decline became %v", got)
	}
}

func TestValues(t *testing.T) {
	list := []string{"a"}
	v := ListValue(list)
	list[0] = "b"
	v.List()[0] = "c"
	if got := v.List(); len(got) != 1 || got[0] != "a" {
		t.Errorf("a list value changed to %v", got)
	}
	if !NumberValue(Number{}).IsZero() || NumberValue(NumberOf(0)).IsZero() {
		t.Error("no number is absence, and 0 is none")
	}
	for _, v := range []Value{{}, TextValue("x"), NumberValue(NumberOf(1)), BoolValue(true), ListValue(nil)} {
		texts := 0
		for _, set := range []bool{v.Text() != "", !v.Number().IsZero(), v.Bool(), v.List() != nil} {
			if set {
				texts++
			}
		}
		if texts > 1 || (texts == 0) != v.IsZero() || !v.Equal(v) || v.Type().String() == "" {
			t.Errorf("%v answers %d accessors", v, texts)
		}
	}
	if raw, _ := (Value{}).MarshalJSON(); string(raw) != "null" {
		t.Errorf("absence is %s", raw)
	}
	least, most := (Field{Kind: KindString}).Lengths()
	if least != 0 || most != 256 {
		t.Errorf("lengths %d to %d", least, most)
	}
}

func TestFormats(t *testing.T) {
	long := strings.Repeat("a", 63)
	for _, tc := range []struct {
		format Format
		good   []string
		bad    []string
	}{
		{FormatEmail, []string{
			"a@b.c", "ada.lovelace@example.org", "a!#$%&'*+-/=?^_`{|}~@b-c.d", "1@2.3", strings.Repeat("a", 64) + "@b.c",
			"a@" + long + "." + long + "." + long + ".org",
		}, []string{
			"", "a", "a@b", "@b.c", "a@", "a@.c", "a@b.", "a@b..c", ".a@b.c", "a.@b.c", "a..b@c.d", "a b@c.d", "Bob <a@b.c>", `"a"@b.c`,
			"a@b@c.d", "a@-b.c", "a@b-.c", "a@b_c.d", "a@[1.2.3.4]", "é@b.c", "a@é.c", " a@b.c", "a@b.c ", "a@b.c\n", "a@b.c\r\n",
			strings.Repeat("a", 65) + "@b.c", "a@" + long + "x.c", strings.Repeat("a", 60) + "@" + long + "." + long + "." + long + ".cc",
		}},
		{FormatURI, []string{
			"https://example.org/x?y=1#z", "mailto:a@b.c", "urn:isbn:1", "a:b", "javascript:alert(1)", "file:///etc", "http://[::1]:80/", "data:,x",
			"http://user:pw@host:8080/%41", "HTTP+x-1.0://h", "http://user@[::ffff:1.2.3.4]:8080?q#f", "http://h:/", "a:@:b",
		}, []string{
			"", "example.com", "example.org/x", "/path", "//host/x", "https:", "https://", ":x", "1a:b", "a_b:c", "http://a b", "http://a\tb", "http://a\n", "http://a/\n",
			"http://a/%zz", "http://a/%4", "http://[::1", "http://[x]/", "http://a/[b]", "http://é.org", "http://a/\"", "http://a/<b>", "http://a/{b}", "http://a/\\b",
			"http://a:port/", "http://a:1:2/", "http://a@b@c/", "http://[::1]x/", "http://[::1%25eth0]/", "http://[1.2.3.4]/", "http://[a@::1]/", "http://a:１/", "http://a/#b#c", " http://a", "http://a ",
		}},
		{FormatDate, []string{"2026-01-31", "2024-02-29", "2000-02-29", "0001-01-01", "9999-12-31"}, []string{
			"", "2024-02-30", "2026-02-29", "1900-02-29", "2026-13-01", "2026-00-01", "2026-01-00", "2026-01-32", "2026-04-31", "2026-1-1", "26-01-01", "2026/01/01",
			"2026-01-31\n", " 2026-01-31", "2026-01-31 ", "2026-01-31T00:00:00Z", "+2026-01-31", "２０２６-01-31", "2026-01-3a",
		}},
		{FormatDateTime, []string{
			"2026-02-28T10:00:00Z", "2026-02-28t10:00:00z", "2026-02-28T10:00:00.123456789+23:59", "2026-02-28T00:00:00-00:00", "2024-02-29T23:59:59Z",
		}, []string{
			"", "2026-02-28T10:00:00", "2026-02-28 10:00:00Z", "2026-02-30T10:00:00Z", "2026-02-28T24:00:00Z", "2026-02-28T10:60:00Z", "2026-02-28T23:59:60Z",
			"2026-02-28T10:00:00.Z", "2026-02-28T10:00:00,5Z", "2026-02-28T10:00Z", "2026-02-28T10:00:00+24:00", "2026-02-28T10:00:00+10:60", "2026-02-28T10:00:00+1000",
			"2026-02-28T10:00:00Z\n", "2026-02-28T10:00:00+10:00 ", "2026-02-28T1:00:00Z", "2026-02-28T10:00:00 Z", "2026-02-28T10-00:00Z",
		}},
	} {
		fd := Field{Kind: KindString, Name: "f", Label: "F", Format: tc.format}
		for _, s := range tc.good {
			if e := fd.Check(TextValue(s)); e != nil {
				t.Errorf("%s %q: %v", tc.format, s, e)
			}
		}
		for _, s := range tc.bad {
			if e := fd.Check(TextValue(s)); e == nil {
				t.Errorf("%s accepts %q", tc.format, s)
			}
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, bad := range []string{
		"", "-", "+1", ".5", "5.", "05", "00", "0x1f", "1_000", "1,5", "1 ", " 1", "NaN", "Infinity", "1e", "1e+", "1.e5", "--1", "1e1.5", "１２", "1\n",
		"1e401", "1e-401", "1e99999999999999999999", strings.Repeat("9", 65),
	} {
		if n, err := ParseNumber(bad); err == nil {
			t.Errorf("%q is the number %s", bad, n)
		}
	}
	ordered := []string{
		"-1e400", "-1e300", "-9007199254740993", "-9007199254740992", "-10", "-9.99", "-1.1", "-1", "-1e-400", "0", "1e-400", "0.1", "0.10000000000000000000001",
		"0.5", "1", "1.5", "2", "9", "10", "1e15", "1e20", "9007199254740992e10", "1e400",
	}
	for i, a := range ordered {
		for j, b := range ordered {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := number(t, a).Cmp(number(t, b)); got != want {
				t.Errorf("%s against %s: %d, want %d", a, b, got, want)
			}
		}
	}
	for _, same := range [][2]string{{"5", "5.0"}, {"5", "50e-1"}, {"0", "-0"}, {"0", "0e5"}, {"0.0", "-0.00e3"}, {"1e3", "1000"}, {"12.340", "1.234E+1"}, {"0.001", "1e-3"}} {
		if number(t, same[0]).Cmp(number(t, same[1])) != 0 {
			t.Errorf("%s and %s differ", same[0], same[1])
		}
	}
	for text, want := range map[string]bool{"5": true, "5.0": true, "1e3": true, "50e-1": true, "0.0": true, "1e400": true, "5.5": false, "1e-3": false, "0.1e0": false} {
		if number(t, text).IsInteger() != want {
			t.Errorf("%s: IsInteger is not %v", text, want)
		}
	}
	for text, want := range map[string]string{"-0": "0", "-0.0": "0.0", "1.50": "1.50", "1E+3": "1E+3"} {
		if got := number(t, text).String(); got != want {
			t.Errorf("%s leaves as %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{"1e3": "1000", "5.0": "5", "-50e-1": "-5", "0e9": "0", "-0.0": "0"} {
		if got := number(t, text).plain().String(); got != want {
			t.Errorf("%s in plain digits is %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string][2]string{
		"0.1": {"0", "1"}, "-0.1": {"-1", "0"}, "2.5": {"2", "3"}, "-2.5": {"-3", "-2"}, "7": {"7", "7"}, "1e-400": {"0", "1"}, "-1e-9": {"-1", "0"}, "99.999": {"99", "100"},
	} {
		n := number(t, text)
		if n.floor().String() != want[0] || n.ceil().String() != want[1] {
			t.Errorf("%s is between %s and %s, want %v", text, n.floor(), n.ceil(), want)
		}
	}
}
