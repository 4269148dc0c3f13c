package strictjson

import (
	"errors"
	"strings"
	"testing"
)

func TestParseRefuses(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		lim        Limits
		want       Problem
		says       string
	}{
		{"empty", ``, Limits{}, Syntax, "is not JSON: there is no value"},
		{"blanks", ` `, Limits{}, Syntax, "is not JSON: there is no value"},
		{"cut", `{"a":`, Limits{}, Syntax, "a: is not JSON: it ends too early (byte 5)"},
		{"trailing", `{} {}`, Limits{}, TrailingText, "text after the JSON value (byte 2)"},
		{"trailing junk", `{}x`, Limits{}, TrailingText, "text after the JSON value (byte 2)"},
		{"bom", "\xef\xbb\xbf{}", Limits{}, Syntax, "is not JSON: it begins with a byte order mark"},
		{"duplicate", `{"a":{"b":1,"b":2}}`, Limits{}, DuplicateKey, `a: key "b" stands twice`},
		{"duplicate by escape", `{"a":1,"\u0061":2}`, Limits{}, DuplicateKey, `key "a" stands twice`},
		{"utf8", "\"\xff\"", Limits{}, BadUTF8, "is not valid UTF-8"},
		{"utf8 with lone surrogates", "\"\xff\"", Limits{LoneSurrogates: true}, BadUTF8, ""},
		{"utf8 surrogate", "\"\xed\xa0\x80\"", Limits{}, BadUTF8, ""},
		{"lone high", `["\ud800"]`, Limits{}, LoneSurrogate, ""},
		{"lone low", `["\udc00x"]`, Limits{}, LoneSurrogate, ""},
		{"swapped", `["\udc00\ud800"]`, Limits{}, LoneSurrogate, ""},
		{"control in string", "\"a\nb\"", Limits{}, Syntax, ""},
		{"comment", `/**/1`, Limits{}, Syntax, ""},
		{"single quotes", `'a'`, Limits{}, Syntax, ""},
		{"comma", `[1,]`, Limits{}, Syntax, ""},
		{"plus", `+1`, Limits{}, Syntax, ""},
		{"leading zero", `01`, Limits{}, TrailingText, ""},
		{"nan", `NaN`, Limits{}, Syntax, ""},
		{"large", `"aaaa"`, Limits{MaxBytes: 5}, TooLarge, "is 6 bytes, at most 5 are read"},
		{"deep", `[[["["]]]`, Limits{MaxDepth: 2}, TooDeep, "nests deeper than 2 levels"},
		{"very deep", strings.Repeat("[", 1e6), Limits{}, TooDeep, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Parse([]byte(tc.text), tc.lim)
			e, ok := errors.AsType[*Error](err)
			if !ok {
				t.Fatalf("error is %v, want an *Error", err)
			}
			if e.Problem != tc.want {
				t.Errorf("problem %q (%v), want %q", e.Problem, e, tc.want)
			}
			if tc.says != "" && e.Error() != tc.says {
				t.Errorf("says %q, want %q", e, tc.says)
			}
		})
	}
}

// TestErrorKeys: the place by its keys is whole, where the path is shortened and
// quotes what is no plain word.
func TestErrorKeys(t *testing.T) {
	long := strings.Repeat("k", 70)
	for in, want := range map[string]string{
		`{"a.b":{"0":[1,{"c":1,"c":2}]}}`:         "a.b|0|1",
		`{"` + long + `":{"x":["","\ud800"]}}`:    long + "|x|1",
		`{"a/b~":{"":"\ud800"}}`:                  "a/b~|",
		`{"a":1,"a":2}`:                           "",
		`{"properties":{"p":{"title":"\udc00"}}}`: "properties|p|title",
	} {
		_, err := Parse([]byte(in), Limits{})
		e, _ := errors.AsType[*Error](err)
		if e == nil || strings.Join(e.Keys, "|") != want {
			t.Errorf("%s: %+v, want %s", in, e, want)
		}
	}
}

func TestParseAccepts(t *testing.T) {
	for _, tc := range []struct {
		text string
		lim  Limits
		kind Kind
	}{
		{` {"a" : [ 1 , "x" ] , "b":{}} `, Limits{}, Object},
		{`[]`, Limits{}, Array},
		{`"\ud83d\ude00"`, Limits{}, String},
		{`"\ud800"`, Limits{LoneSurrogates: true}, String},
		{`-0.5e+10`, Limits{}, Number},
		{`true`, Limits{}, Boolean},
		{`null`, Limits{}, Null},
		{`[["[[[["]]`, Limits{MaxDepth: 2}, Array},
		{`"aaaa"`, Limits{MaxBytes: 6}, String},
	} {
		v, err := Parse([]byte(tc.text), tc.lim)
		if err != nil || v.Kind() != tc.kind {
			t.Errorf("%s: kind %q, error %v", tc.text, v.Kind(), err)
		}
	}
}

func TestMembersKeepOrderAndRawText(t *testing.T) {
	v, err := Parse([]byte(" { \"z\" : 1.50 ,\n\"a\":\"\\u0041\" , \"__proto__\":[1, {\"q\":\"]}\"} ],\"\":null}"), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for k, val := range v.Members() {
		got = append(got, k+"="+string(val.Raw()))
	}
	want := `z=1.50|a="\u0041"|__proto__=[1, {"q":"]}"} ]|=null`
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("members %s\nwant    %s", s, want)
	}
	if v.Len() != 4 {
		t.Errorf("Len %d, want 4", v.Len())
	}
	arr, ok := v.Get("__proto__")
	if !ok || arr.Len() != 2 {
		t.Fatalf("Get: %v %d", ok, arr.Len())
	}
	var elems []string
	for e := range arr.Elements() {
		elems = append(elems, string(e.Raw()))
	}
	if s := strings.Join(elems, "|"); s != `1|{"q":"]}"}` {
		t.Errorf("elements %s", s)
	}
	for range arr.Members() {
		t.Error("an array has members")
	}
	for range v.Elements() {
		t.Error("an object has elements")
	}
	for range v.Members() {
		break // stopping early must be possible
	}
}

func TestAccessors(t *testing.T) {
	get := func(text string) Value {
		t.Helper()
		v, err := Parse([]byte(text), Limits{LoneSurrogates: true})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if s, err := get(`"a\n\"\u00e9"`).Text(); err != nil || s != "a\n\"é" {
		t.Errorf("Text %q %v", s, err)
	}
	if _, err := get(`"\ud800"`).Text(); err == nil {
		t.Error("a lone surrogate has a text")
	}
	if n, err := get(`-12`).Int(); err != nil || n != -12 {
		t.Errorf("Int %d %v", n, err)
	}
	for _, bad := range []string{`1.0`, `1e3`, `99999999999999999999`, `"1"`} {
		if _, err := get(bad).Int(); err == nil {
			t.Errorf("Int accepts %s", bad)
		}
	}
	if s, err := get(`1.50`).NumberText(); err != nil || s != "1.50" {
		t.Errorf("NumberText %q %v", s, err)
	}
	if b, err := get(`true`).Bool(); err != nil || !b {
		t.Errorf("Bool %v %v", b, err)
	}
	if _, err := get(`null`).Bool(); err == nil || err.Error() != "must be a boolean, not null" {
		t.Errorf("Bool of null: %v", err)
	}
	if (Value{}).Kind() != None || !(Value{}).IsZero() {
		t.Error("the zero value is something")
	}
}

func TestFields(t *testing.T) {
	read := func(text string) *Fields {
		v, err := Parse([]byte(text), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		return Read(v)
	}
	f := read(`{"name":"x","on":true,"n":3,"extra":{}}`)
	if f.Text("name") != "x" || !f.Bool("on") || f.Int("n") != 3 {
		t.Error("wrong values")
	}
	if !f.Has("extra") {
		t.Error("Has does not see extra")
	}
	if err := f.Done(); err == nil || err.Error() != `unknown key "extra"` {
		t.Errorf("Done: %v", err)
	}
	f = read(`{"Name":"x"}`)
	f.Text("name")
	if err := f.Done(); err == nil || err.Error() != `key "name" is missing` {
		t.Errorf("a key of another case: %v", err)
	}
	f = read(`{"name":null}`)
	if _, ok := f.OptText("name"); ok {
		t.Error("null is a text")
	}
	if err := f.Done(); err == nil || err.Error() != "name: must be a string, not null" {
		t.Errorf("null: %v", err)
	}
	if err := read(`[]`).Done(); err == nil || err.Error() != "must be an object, not an array" {
		t.Errorf("array: %v", err)
	}
	f = read(`{"a":1,"b":2}`)
	f.Skip("a", "b", "c")
	if err := f.Done(); err != nil {
		t.Errorf("Skip: %v", err)
	}
}

func TestPaths(t *testing.T) {
	err := At("fields", AtIndex(2, At("a b", Bad("is odd"))))
	if got := err.Error(); got != `fields[2]."a b": is odd` {
		t.Errorf("path %s", got)
	}
	plain := At("x", errors.New("no"))
	if plain.Error() != "x: no" || At("x", nil) != nil {
		t.Errorf("plain %v", plain)
	}
}

func TestAppendString(t *testing.T) {
	for in, want := range map[string]string{
		"":                       `""`,
		"plain":                  `"plain"`,
		"<&>/é\u2028\u007f":      "\"<&>/é\u2028\u007f\"",
		"a\"b\\c\nd\te\x1bf\x00": `"a\"b\\c\nd\te\u001bf\u0000"`,
		"\xff":                   "\"\ufffd\"",
	} {
		if got := string(AppendString(nil, in)); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
	b := AppendKey([]byte("{"), "a")
	b = append(b, '1')
	b = append(AppendKey(b, "b"), "2}"...)
	if string(b) != `{"a":1,"b":2}` {
		t.Errorf("AppendKey: %s", b)
	}
}
