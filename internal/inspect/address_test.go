package inspect

import (
	"strings"
	"testing"
)

func TestAddress(t *testing.T) {
	for _, c := range []struct {
		name, text, host string
		warns            string // part of a warning; "" for none
		refused          string // part of the refusal; "" for none
	}{
		{"plain", "https://accounts.example.com/login?x=1#y", "accounts.example.com", "", ""},
		{"port", "https://example.com:8443/", "example.com", "", ""},
		{"SE-05 userinfo and punycode", "https://accounts.example.com@xn--80ak6aa92e.com/login", "xn--80ak6aa92e.com", "@", ""},
		{"SE-05 password", "https://a:b@example.com/", "example.com", "@ is not the host", ""},
		{"SE-05 letters", "https://аррӏе.com/", "xn--80ak6aa92e.com", "look like others", ""},
		{"SE-05 at in the path", "https://example.com/@evil.example", "example.com", "", ""},
		{"SE-05 at in the query", "https://example.com?u=@evil.example", "example.com", "", ""},
		{"SE-05 a number", "https://192.0.2.1/", "192.0.2.1", "number", ""},
		{"SE-05 a short number", "https://127.1/", "127.0.0.1", "number", ""},
		{"SE-05 one number", "https://2130706433/", "127.0.0.1", "number", ""},
		{"SE-05 a hexadecimal number", "https://0X7f.1/", "127.0.0.1", "number", ""},
		{"SE-05 an octal number", "https://0300.0.2.010/", "192.0.2.8", "number", ""},
		{"SE-05 a wide number", "https://１９２.0.2.1/", "192.0.2.1", "number", ""},
		{"SE-05 a number too large", "https://192.0.2.256/", "", "", "no machine"},
		{"SE-05 too many numbers", "https://192.0.2.1.1/", "", "", "no machine"},
		{"SE-05 no octal number", "https://192.0.2.08/", "", "", "no machine"},
		{"SE-05 a number within a name", "https://192.0.2.1.example.com/", "192.0.2.1.example.com", "", ""},
		{"SE-05 a zone", "https://[fe80::1%25eth0]/", "", "", "looked up"},
		{"SE-05 a host cut by a program", "https://evil.example;example.com/", "", "", "looked up"},
		{"SE-05 quotes", `https://evil.example"example.com/`, "", "", "looked up"},
		{"SE-05 an empty label", "https://example..com/", "", "", "looked up"},
		{"SE-05 an empty name", "https://xn--/", "", "", "looked up"},
		{"SE-05 a root label", "https://example.com./", "example.com.", "", ""},
		{"SE-05 underscores", "https://a_b.example.com/", "a_b.example.com", "", ""},
		{"SE-05 letters read as others", "https://ⓔxample.com/", "example.com", "read as others", ""},
		{"SE-05 another full stop", "https://evil。example/.example.com", "evil.example", "read as others", ""},
		{"SE-05 escaped letters", "https://%E2%93%94xample.com/", "example.com", "read as others", ""},
		{"SE-05 a letter that cannot be seen", "https://example.com/\u202egnp.exe", "example.com", "cannot be seen", ""},
		{"SE-05 case", "https://EXAMPLE.com/", "example.com", "", ""},
		{"SE-05 backslash", `https://example.com\@evil.example/`, "", "", "address"},
		{"SE-06 script", "javascript:alert(1)", "", "", "only https is opened, not javascript"},
		{"SE-06 file", "file:///etc/passwd ; https://x.example/$(touch /var/p)", "", "", "only https is opened, not file"},
		{"SE-06 file with a host", "file://host/etc/passwd", "host", "", "only https"},
		{"SE-06 no scheme", "//x.example/join", "", "", "no web address"},
		{"SE-06 an app's scheme", "zoommtg://x.example/join", "x.example", "", "only https"},
		{"SE-06 blanks", "https://x.example/$(touch /var/p)", "x.example", "", "blanks"},
		{"http on loopback", "http://127.0.0.1:9/x", "127.0.0.1", "number", ""},
		{"http on localhost", "http://localhost/x", "localhost", "", ""},
		{"http on loopback 6", "http://[::1]:9/x", "::1", "number", ""},
		{"http on a number that may be loopback", "http://127.1/x", "", "", "this very machine"},
		{"http on every address", "http://0.0.0.0/x", "", "", "this very machine"},
		{"http elsewhere", "http://example.com/x", "example.com", "", "this very machine"},
		{"http on a name that begins like it", "http://localhost.example.com/x", "localhost.example.com", "", "this very machine"},
		{"nothing", "", "", "", "no web address"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := ReadAddress(c.text)
			if a.Text != c.text {
				t.Errorf("the text became %q", a.Text)
			}
			if c.host != "" && (a.Host != c.host && a.Refused == "" || !strings.Contains(a.Refused, c.refused)) {
				t.Errorf("host %q, refused %q", a.Host, a.Refused)
			}
			if (a.Refused != "") != (c.refused != "") || !strings.Contains(a.Refused, c.refused) {
				t.Errorf("refused %q, want %q", a.Refused, c.refused)
			}
			if all := strings.Join(a.Warnings, "\n"); a.Refused == "" && ((all != "") != (c.warns != "") || !strings.Contains(all, c.warns)) {
				t.Errorf("warnings %q, want %q", all, c.warns)
			}
			if a.Refused == "" && !strings.Contains(strings.ToLower(c.text[a.From:a.To]), strings.ToLower(hostAsWritten(c.text))) {
				t.Errorf("emphasised: %q", c.text[a.From:a.To])
			}
		})
	}
}

// hostAsWritten is the host of a test's address as it stands there.
func hostAsWritten(s string) string {
	_, s, _ = strings.Cut(s, "//")
	if i := strings.IndexAny(s, "/?#"); i >= 0 {
		s = s[:i]
	}
	return s[strings.LastIndexByte(s, '@')+1:]
}

func FuzzReadAddress(f *testing.F) {
	for _, s := range []string{"https://a@b/c", "https://[::1]:1/", "https://аррӏе.com", "x", "https://@", "https://h:p@:1/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a := ReadAddress(s)
		if a.Text != s || a.From > a.To || a.To > len(s) {
			t.Fatalf("%+v", a)
		}
		if a.Refused == "" && (a.Host == "" || strings.ContainsFunc(a.Host, func(r rune) bool { return r >= 0x80 })) {
			t.Fatalf("host %q of %q", a.Host, s)
		}
	})
}
