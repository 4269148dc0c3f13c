package forms

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseText(t *testing.T) {
	two, three := 2, 3
	low, high := number(t, "0.1"), number(t, "5")
	options := []Option{{"staging", "Staging area", ""}, {"production", "Production", ""}, {"a,b", "Both", ""}, {"a", "One, two", ""}, {"b", "staging", ""}, {"", "None", ""}}
	text := Field{Kind: KindString, Name: "f", MinLength: &two, MaxLength: &three}
	num := Field{Kind: KindNumber, Name: "f", Minimum: &low}
	integer := Field{Kind: KindInteger, Name: "f", Maximum: &high}
	free := Field{Kind: KindInteger, Name: "f"}
	boolean := Field{Kind: KindBoolean, Name: "f"}
	single := Field{Kind: KindSingleSelect, Name: "f", Options: options}
	multi := Field{Kind: KindMultiSelect, Name: "f", Options: options[:5], MaxItems: &three}
	date := Field{Kind: KindString, Name: "f", Format: FormatDate}
	dozen := 12
	email := Field{Kind: KindString, Name: "f", Format: FormatEmail, MaxLength: &dozen}
	uri := Field{Kind: KindString, Name: "f", Format: FormatURI}
	moment := Field{Kind: KindString, Name: "f", Format: FormatDateTime}
	for _, tc := range []struct {
		name string
		fd   Field
		text string
		want string // JSON, or "" where it is refused
		says string
	}{
		{"text", text, "abc", `"abc"`, ""},
		{"text is not trimmed", text, " a ", `" a "`, ""},
		{"code points", text, "漢😀", `"漢😀"`, ""},
		{"short text", text, "a", "", "must have at least 2 characters, has 1"},
		{"long text", text, "abcd", "", "must have at most 3 characters, has 4"},
		{"escape in a paste", text, "a\x1b", "", "holds a control character (U+001B escape) after 1 character; remove it"},
		{"empty text is a value", Field{Kind: KindString, Name: "f"}, "", `""`, ""},

		{"number", num, "1.5", "1.5", ""},
		{"number keeps its text", num, "1.50", "1.50", ""},
		{"number with exponent", num, "1e6", "1e6", ""},
		{"number below", num, "0.09", "", "must be at least 0.1"},
		{"empty number", num, "", "", "nothing was typed"},
		{"leading blank", num, " 1", "", "begins with a blank; remove it"},
		{"trailing blank", num, "1 ", "", "ends with a blank; remove it"},
		{"blanks on both sides", num, " 1 ", "", "has blanks before and after it; remove them"},
		{"only blanks", num, "  ", "", "holds nothing but blanks"},
		{"hidden in a number", num, "1\u200b5", "", "holds a hidden character (U+200B zero width space) after 1 character; remove it"},
		{"trailing line break", num, "1\n", "", "ends with a blank"},
		{"decimal comma", num, "1,5", "", "use a point as in 1.5"},
		{"VP-23 decimal comma after separators", num, "1.000,5", "", "use a point as in 1000.5"},
		{"VP-23 decimal comma after blanks", num, "-12 000,50", "", "use a point as in -12000.50"},
		{"VP-23 point after commas", num, "1,000.5", "", "leave out the separators as in 1000.5"},
		{"VP-23 two commas", num, "1,000,5", "", "leave out the separators as in 10005"},
		{"thousands", num, "1,000,000", "", "leave out the separators as in 1000000"},
		{"plus", num, "+1", "", "leave out the plus sign"},
		{"NaN", num, "NaN", "", "write it like -12.5 or 1e6"},
		{"Infinity", num, "Inf", "", "is not a number"},
		{"hexadecimal", num, "0x1f", "", "is not a number"},
		{"full-width digits", num, "１２", "", "is not a number; write it as 12, with plain digits, minus and point"},
		{"digits of another script", num, "-٣٫٥", "", "write it as -3.5, with plain"},
		{"another minus", num, "−1.5", "", "write it as -1.5, with plain"},
		{"VP-23 a comma for decimals or thousands", num, "1,000", "", "write 1000, or 1.000 where the comma parts the decimals"},
		{"thousands of other places", num, "1\u202f000’000\u00a0000", "", "leave out the separators as in 1000000000"},
		{"no digit before the point", num, "-.5", "", "write it as -0.5"},
		{"no digit after the point", num, "5.", "", "write it as 5"},
		{"zeros before a number", num, "-007.50", "", "write it as -7.50"},
		{"minus alone", num, "-", "", "write it like -12.5 or 1e6"},
		{"point alone", num, "-.", "", "write it like -12.5 or 1e6"},
		{"zeros alone", num, "00", "", "write it as 0"},
		{"em space before", num, "\u20031", "", "begins with a blank; remove it"},
		{"huge exponent", num, "1e401", "", "exponent between -400 and 400"},

		{"integer", integer, "5", "5", ""},
		{"minus zero", integer, "-0", "0", ""},
		{"integer above", integer, "6", "", "must be at most 5"},
		{"1e3 with a hint", free, "1e3", "", "must be written in plain digits: 1000"},
		{"5.0 with a hint", free, "5.0", "", "must be written in plain digits: 5"},
		{"1.5", free, "1.5", "", "must be a whole number in plain digits"},
		{"largest", free, "9007199254740991", "9007199254740991", ""},
		{"too large", free, "9007199254740992", "", "must be within ±9007199254740991"},
		{"far too large", free, strings.Repeat("9", 70), "", "must be within ±9007199254740991"},
		{"trailing junk", free, "42xyz", "", "is not a whole number; write it in plain digits like 42"},
		{"separators", free, "1.000.000", "", "is not a whole number; leave out the separators as in 1000000"},
		{"Indian separators", free, "-12,34,000", "", "leave out the separators as in -1234000"},
		{"blanks for separators", free, "1\u00a0000", "", "leave out the separators as in 1000"},
		{"one group", free, "1.000", "", "must be written in plain digits: 1, or 1000 where the point parts the thousands"},
		// Without their points and commas these are other numbers.
		{"decimals after separators", free, "1.000,5", "", "is not a whole number; write it in plain digits like 42"},
		{"decimal comma in an integer", free, "1,5", "", "is not a whole number; write it in plain digits like 42"},
		{"half of one", free, ".5", "", "is not a whole number; write it in plain digits like 42"},
		{"point at the end", free, "5.", "", "is not a whole number; write it in plain digits like 42"},
		{"version", free, "1.2.3", "", "is not a whole number; write it in plain digits like 42"},
		{"two numbers", free, "1 2", "", "is not a whole number; write it in plain digits like 42"},
		{"leading zeros", free, "007", "", "leave out the leading zeros"},
		{"leading zeros of a negative", free, "-007", "", "leave out the leading zeros"},
		{"digits of a full-width integer", free, "－４２", "", "write it as -42, with plain digits and minus"},
		{"lone minus", free, "-", "", "is not a whole number"},
		{"empty integer", free, "", "", "nothing was typed"},

		{"true", boolean, "true", "true", ""},
		{"Yes", boolean, "Yes", "true", ""},
		{"n", boolean, "n", "false", ""},
		{"nope", boolean, "nope", "", "must be yes or no"},
		{"1", boolean, "1", "", "must be yes or no"},
		{"blank after yes", boolean, "yes ", "", "ends with a blank"},
		{"empty boolean", boolean, "", "", "must be yes or no"},

		{"option by value", single, "production", `"production"`, ""},
		{"option by label", single, "Production", `"production"`, ""},
		{"value before label", single, "staging", `"staging"`, ""},
		{"empty option value", single, "", `""`, ""},
		{"other case", single, "PRODUCTION", "", `did you mean "production"?`},
		{"blank around an option", single, "production ", "", "ends with a blank"},
		{"no option", single, "moon", "", "is not one of the options"},

		{"list", multi, "production,staging", `["production","staging"]`, ""},
		{"list of one", multi, "production", `["production"]`, ""},
		{"list by label", multi, "Production,Both", `["production","a,b"]`, ""},
		{"option with a comma", multi, "a,b", `["a,b"]`, ""},
		{"label with a comma", multi, "One, two,production", `["a","production"]`, ""},
		{"empty list", multi, "", `[]`, ""},
		{"blank after a comma", multi, "production, staging", "", "begins with a blank"},
		{"twice", multi, "b,b", "", `holds "b" twice`},
		{"too many", multi, "production,staging,a,b,production", "", "twice"},
		{"unknown in a list", multi, "production,moon", "", "is not one of the options"},
		{"a flood of commas", multi, strings.Repeat(",", 100000), "", "more than"},

		{"date", date, "2026-01-31", `"2026-01-31"`, ""},
		{"blank after a date", date, "2026-01-31 ", "", "ends with a blank; remove it"},
		{"line break after a date", date, "2026-01-31\n", "", "ends with a blank (a line break); remove it"},
		{"hidden in an address", email, "a@b\u200b.example", "", "holds a hidden character (U+200B zero width space) after 3 characters; remove it"},
		{"blank before an address", email, "\u00a0a@b.example", "", "begins with a blank; remove it"},
		{"blank before an address that is too long", email, "\u2003a@b.example.org", "", "begins with a blank; remove it"},
		{"control in an address", email, "a@b.example\r", "", "holds a control character (U+000D carriage return)"},
		{"blank within an address", email, "a @b.example", "", "must be a bare e-mail address"},
		{"letters beyond ASCII in an address", email, "a@\u00fc.example", "", `holds "ü"; an e-mail address is plain ASCII`},
		{"letters beyond ASCII in a URI", uri, "https://a.example/b\u00fccher", "", `holds "ü"; write it as %C3%BC`},
		{"letters beyond ASCII in a host", uri, "https://b\u00fccher.example?b\u00fccher", "", `holds "ü"; write such a host as xn--…`},
		{"blank in a host", uri, "https://a b/", "", "must be a full address with its scheme"},
		{"letters beyond ASCII without a host", uri, "urn:x:\u00fc", "", `write it as %C3%BC`},
		{"blank in a URI", uri, "https://a.example/b c", "", `holds " "; write it as %20`},
		{"backslash in a URI", uri, `https://a.example/c\b`, "", `write it as %5C`},
		{"words", uri, "an \u00fc", "", "must be a full address with its scheme"},
		{"no scheme", uri, "a.example/b", "", "must be a full address with its scheme"},
		{"bad escape in a URI", uri, "https://a.example/%zz", "", "must be a full address with its scheme"},
		{"leap second", moment, "2016-12-31T23:59:60Z", "", "seconds to 59"},
		{"hour 24", moment, "2026-01-31T24:00:00+01:00", "", "hours to 23"},
		{"no such day", moment, "2026-02-30T10:00:00Z", "", "not in the calendar"},
		{"no zone", moment, "2026-01-31t10:00:00.5", "", "has no zone; end it with Z"},
		{"blank for T", moment, "2026-01-31 10:00:00Z", "", "must be a date and time with a zone, such as"},
		{"no seconds", moment, "2026-01-31T10:00Z", "", "must be a date and time with a zone, such as"},
		{"no moment at all", moment, "2026-13-31T10:00:0", "", "must be a date and time with a zone, such as"},
		{"an offset that is none", moment, "2026-01-31T10:00:00+1", "", "must be a date and time with a zone, such as"},
		{"no date", date, "2026-02-30", "", "must be a calendar date such as 2026-01-31"},
		{"unknown kind", Field{Kind: "x", Name: "f"}, "", "", "no known kind"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v, err := ParseText(tc.fd, tc.text)
			if (err == nil) != (tc.want != "") {
				t.Fatalf("value %v, error %v", v, err)
			}
			if err != nil {
				fe, ok := err.(FieldError)
				if !ok || fe.Field != "f" || !strings.Contains(fe.Message, tc.says) {
					t.Errorf("error %v, want one that says %q", err, tc.says)
				}
				return
			}
			if raw, _ := v.MarshalJSON(); string(raw) != tc.want {
				t.Errorf("value %s, want %s", raw, tc.want)
			}
		})
	}
}

func TestRemarks(t *testing.T) {
	for in, want := range map[string][]string{
		"plain text":           nil,
		"one\ntwo":             nil,
		" a":                   {"begins with a blank"},
		"a\u00a0":              {"ends with a blank"},
		"a\n":                  {"ends with a line break"},
		"pass\u200bword":       {"holds a hidden character (U+200B zero width space) after 4 characters"},
		" \u202e\n":            {"holds a hidden character (U+202E right-to-left override) after 1 character", "begins with a blank", "ends with a line break"},
		"👩\u200d🚀":             nil,
		"👩\u200d🚀\u200d\u200b": {"holds a hidden character (U+200D zero width joiner) after 3 characters"},
		"☺\ufe0f a\ufe0f":      {"holds a hidden character (U+FE0F) after 4 characters"},
		"a\u0301\u0301\u200d":  {"holds a hidden character (U+200D zero width joiner) after 3 characters"},
		"a\u0301\u0301\u0301\u0301b\u0301\u0301\u0301\u0301\u0301": {"holds more than 4 marks on one character (U+0301) after 10 characters"},
		"a\tb":    {"holds a tab, which shows as a space, after 1 character"},
		"é\t\t":   {"holds a tab, which shows as a space, after 1 character", "ends with a blank"},
		"a\ue123": {"holds a hidden character (U+E123) after 1 character"},
	} {
		if got := Remarks(TextValue(in)); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if Remarks(BoolValue(true)) != nil {
		t.Error("a remark about a boolean")
	}
}

// TestRemarksNameWhatIsEscaped: of joiners and selectors in any order, the one
// that is named is the first that the projection escapes.
func TestRemarksNameWhatIsEscaped(t *testing.T) {
	parts := []string{"👩", "☺", "a", "\u200d", "\ufe0f", "🏽", "\u0301\u0301\u0301", "\n"}
	for n := range 8 * 8 * 8 * 8 * 8 {
		var s string
		for range 5 {
			s += parts[n%len(parts)]
			n /= len(parts)
		}
		shown := Block(s)
		kept := 0
		for kept < len([]rune(s)) && []rune(s)[kept] == []rune(shown)[kept] {
			kept++
		}
		want := ""
		if shown != s {
			want = "after " + characters(kept)
		}
		if got := hiddenIn(s); !strings.HasSuffix(got, want) || (got == "") != (want == "") {
			t.Fatalf("%q: %q, want %q", s, got, want)
		}
	}
}

func TestSet(t *testing.T) {
	f := mustForm(t, one(
		`{"kind":"integer","name":"count","label":"Count","required":true,"default":1}`,
		`{"kind":"multi_select","name":"tags","label":"Tags","required":false,"minItems":2,"maxItems":3,"options":[{"value":"a","label":"A"},{"value":"b","label":"B"},{"value":"c","label":"C"}]}`,
		`{"kind":"string","name":"a","label":"L","required":false}`,
		`{"kind":"string","name":"a=b","label":"L","required":false}`,
	))
	for _, tc := range []struct {
		name string
		base Values
		set  []string
		want string
		says string
	}{
		{"nothing", nil, nil, `{}`, ""},
		{"typed by the field", nil, []string{"count=3"}, `{"count":3}`, ""},
		{"over a default", f.Defaults(), []string{"count=3"}, `{"count":3}`, ""},
		{"list with commas", nil, []string{"tags=a,b"}, `{"tags":["a","b"]}`, ""},
		{"list repeated", nil, []string{"tags=a", "tags=b"}, `{"tags":["a","b"]}`, ""},
		{"list replaces a base", Values{"tags": ListValue([]string{"c", "b"})}, []string{"tags=a", "tags=b"}, `{"tags":["a","b"]}`, ""},
		{"list too short", nil, []string{"tags=a"}, "", "must have at least 2 choices, has 1"},
		{"list twice the same", nil, []string{"tags=a", "tags=a"}, "", `holds "a" twice`},
		{"empty text", nil, []string{"a="}, `{"a":""}`, ""},
		{"equals sign in a value", nil, []string{"a=x=y"}, `{"a":"x=y"}`, ""},
		{"equals sign in a name", nil, []string{"a=b=c"}, `{"a=b":"c"}`, ""},
		{"twice", nil, []string{"count=1", "count=2"}, "", `"count": is set twice`},
		{"wrong value", nil, []string{"count=x"}, "", `"count": is not a whole number`},
		{"unknown name", nil, []string{"cuont=1"}, "", `"cuont": is not a field of this form; it asks for "count" (required), "tags", "a", "a=b"`},
		{"empty name", nil, []string{"=1"}, "", `"" is not a field of this form; it asks for "count"`},
		{"no equals sign", nil, []string{"count"}, "", `"count" must be NAME=VALUE`},
		{"all errors", nil, []string{"x=1", "count=y"}, "", "\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			vals, errs := f.Set(tc.base, tc.set)
			if tc.says != "" {
				if errs == nil || !strings.Contains(errs.Error(), tc.says) {
					t.Errorf("errors %v, want %q", errs, tc.says)
				}
				return
			}
			raw, _ := vals.MarshalJSON()
			if errs != nil || string(raw) != tc.want {
				t.Errorf("values %s errors %v, want %s", raw, errs, tc.want)
			}
		})
	}
	if got := f.Missing(Values{"a": TextValue("")}); !reflect.DeepEqual(got, []string{"count"}) {
		t.Errorf("missing %v", got)
	}
	if _, errs := (Form{}).Set(nil, []string{"a=1"}); !strings.Contains(errs.Error(), "it has no fields") {
		t.Errorf("%v", errs)
	}
}

func TestLooksSecret(t *testing.T) {
	for _, s := range []string{
		"password", "Password", "userPassword", "DB_PASSWORD", "pwd", "new password", "password2", "passphrase", "api_key", "apiKey", "APIKey", "X-API-Key", "API key",
		"access token", "accessToken", "token", "auth-token", "GITHUB_TOKEN", "dbpassword", "Neue Passwörter", "Contrasena", "2FA code", "Backup codes", "Bearer", "JWT", "Card expiry", "cc_number", "Routing number", "secret", "clientSecret", "private key", "cvv", "CVC", "card number", "creditCard",
		"Credit card number", "otp", "PIN", "one-time code", "seed phrase", "iban", "Passwort", "contraseña", "パスワード", "пароль", "pass\u200bword", "ｐａｓｓｗｏｒｄ",
		"Paste your API key here", "Bearer tokens",
		"ccnum", "Kreditkarte", "kreditkartennummer", "privkey", "sshkey", "clientsecret", "pgp_key", "auth", "Authorization", "session_id", "sessionId",
		"cookie", "Your cookie", "gh_pat", "PAT", "seedPhrase", "cred", "creds", "pass", "db_pass", "Enter pass", "pw", "exp_date", "Expiry (MM/YY)", "tokens",
		"p\u0430ssword", "\u0420\u0410SSWORD", "t\u03bfken", "\u0441vv",
	} {
		if !LooksSecret(Field{Kind: KindString, Name: "f", Label: s}) {
			t.Errorf("%q does not look like a secret", s)
		}
	}
	for _, s := range []string{
		"name", "environment", "token_count", "tokenLimit", "Token budget", "max_tokens", "maxTokens", "tokenizer", "passenger", "spinner", "pinned", "secretary", "keyboard", "key", "card", "recovery", "code", "expiry", "backup", "discard no", "compass", "opinion",
		"passing", "authentic", "country code", "",
		"author", "authors", "authorised", "auth_method", "seed", "seedling", "cookie flavour", "cookies and cream", "boarding pass", "pass rate", "expiry date",
		"Expiry", "expires", "credit", "incredible", "patch", "path", "pwn", "session", "tokens per minute", "total tokens", "pass pass", "the", "\u0440\u0430\u0441\u0442",
	} {
		if LooksSecret(Field{Kind: KindString, Name: s, Label: s, Description: s}) {
			t.Errorf("%q looks like a secret", s)
		}
	}
	if !LooksSecret(Field{Kind: KindString, Name: "x", Label: "X", Description: "your password"}) || !LooksSecret(Field{Kind: KindInteger, Name: "cvv"}) {
		t.Error("description or number is not looked at")
	}
	if LooksSecret(Field{Kind: KindInteger, Name: "tokens", Label: "Pass"}) {
		t.Error("a count of tokens is a secret")
	}
	for _, k := range []Kind{KindBoolean, KindSingleSelect, KindMultiSelect} {
		if LooksSecret(Field{Kind: k, Name: "reset password"}) {
			t.Errorf("a %s cannot take a secret", k)
		}
	}
}

// TestMessageLooksSecret: what a field does not say, the message may, where
// there is a field to type into.
func TestMessageLooksSecret(t *testing.T) {
	typed, chosen := Field{Kind: KindString, Name: "v"}, Field{Kind: KindBoolean, Name: "v"}
	for _, tc := range []struct {
		message string
		fields  []Field
		want    bool
	}{
		{"Please enter your password below", []Field{chosen, typed}, true},
		{"Paste the API key", []Field{{Kind: KindInteger}}, true},
		{"Reset the password?", []Field{chosen}, false},
		{"Reset the password?", nil, false},
		{"Which passenger has a pass?", []Field{typed}, false},
		{"Pass", []Field{typed}, false},
	} {
		if got := MessageLooksSecret(Form{Message: tc.message, Fields: tc.fields}); got != tc.want {
			t.Errorf("%q with %d fields: %v", tc.message, len(tc.fields), got)
		}
	}
}

func TestHasLink(t *testing.T) {
	for _, s := range []string{
		"see https://example.org", "HTTP://x", "ftp://h/x", "www.example.org", "go to evil.example/login now", "mailto:a@b.c", "example.com", "(bit.ly/x)",
		"ht\u200btps://x", "javascript://%0a",
		"javascript:alert(1)", "data:text/html,x", "data:,x", "tel:+491234", "localhost:8080/x", "localhost/admin", "1.2.3.4/x", "1.2.3.4:80/1", "example。com/x",
		"example｡com", "foo.de", "see foo.io.", "foo.co.uk", "(app.foo.ch)", "java.io evil.de", "java.io/x", "evil.config.io", "h.example:8443/login", "１.2.3.4/x",
	} {
		if !HasLink(Form{Message: s}) {
			t.Errorf("%q has no link", s)
		}
	}
	for _, s := range []string{"", "plain", "a.b", "e.g. name@example.org", "12:30", "either/or", "v1.2/3", "main.go", "https: is needed", "a://",
		"notes.md", "config.io", "java.io, System.IO and ASP.NET.", "run.sh", "x.py", "lib.rs", "a.at", "Done.It works", "messages.de.json", "foo.de_x", "name@example.de",
		"10.0.0.0/8", "1.2.3.4", "v1.2.3.4/linux", "localhost", "localhost:8080", "main.go:12/13", "Metadata: x", "data:5", "tel: 12", "Tel:no", "完了。次へ/戻る"} {
		if HasLink(Form{Message: s}) {
			t.Errorf("%q has a link", s)
		}
	}
	if HasLink(Form{Requester: Requester{Name: "deploy", Source: "demo · via ci.example.com"}}) {
		t.Error("the machine of the requester is a link")
	}
	link := "https://x"
	for name, f := range map[string]Form{
		"requester":   {Requester: Requester{Name: link}},
		"source":      {Requester: Requester{Source: link}},
		"label":       {Fields: []Field{{Label: link}}},
		"description": {Fields: []Field{{Description: link}}},
		"option":      {Fields: []Field{{Options: []Option{{Label: link}}}}},
		"option text": {Fields: []Field{{Options: []Option{{Description: link}}}}},
		"default":     {Fields: []Field{{Kind: KindString, Default: TextValue(link)}}},
	} {
		if !HasLink(f) {
			t.Errorf("a link in the %s is not seen", name)
		}
	}
	for name, fd := range map[string]Field{
		"a URI that is asked for": {Kind: KindString, Format: FormatURI, Default: TextValue(link)},
		"a host as the default":   {Kind: KindString, Default: TextValue("ghcr.io/org/app")},
		"an option's value":       {Kind: KindSingleSelect, Options: []Option{{Value: link, Label: "X"}}, Default: TextValue(link)},
	} {
		if fd.HasLink() {
			t.Errorf("%s is a link", name)
		}
	}
}
