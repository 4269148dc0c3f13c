package app

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// What is wrong with the flags of a Host and its tokens is said before anything is served.
func TestHostFlags(t *testing.T) {
	w := newWorld(t)
	if r := w.run("host", "token", "add", "laptop"); r.code != 0 || !regexp.MustCompile(`^askb_rh_[A-Za-z0-9_-]{43}\n$`).MatchString(r.stdout) {
		t.Fatalf("%+v", r)
	} else if data, err := os.ReadFile(w.path("state/askback/host/tokens.json")); err != nil || strings.Contains(string(data), strings.TrimSpace(r.stdout)) {
		t.Errorf("the token itself is stored: %v", err)
	}
	for name, c := range map[string]struct {
		args []string
		exit int
		says string
	}{
		"a retention that is over":    {[]string{"host", "--retain", "-1h"}, 2, "--retain"},
		"half of TLS":                 {[]string{"host", "--tls-cert", "cert.pem"}, 2, "go together"},
		"no certificate":              {[]string{"host", "--tls-cert", "gone.pem", "--tls-key", "gone.pem"}, 2, "gone.pem"},
		"clear text for others":       {[]string{"host", "--listen", "0.0.0.0:0"}, 2, "clear text"},
		"no address":                  {[]string{"host", "--listen", "nowhere"}, 2, "--listen"},
		"a role that there is not":    {[]string{"host", "token", "add", "a", "--role", "king"}, 2, "--role"},
		"a token that has ended":      {[]string{"host", "token", "add", "a", "--expires", "-1h"}, 2, "--expires"},
		"a token that never was":      {[]string{"host", "token", "add", "a", "--expires", "0s"}, 2, "--expires"},
		"a name that is none":         {[]string{"host", "token", "add", "a b"}, 2, "token name"},
		"a name that is taken":        {[]string{"host", "token", "add", "laptop"}, 2, "laptop"},
		"a token that there is not":   {[]string{"host", "token", "revoke", "moon"}, 5, "moon"},
		"a command that there is not": {[]string{"host", "token", "moon"}, 2, "unknown command"},
	} {
		t.Run(name, func(t *testing.T) {
			if r := w.run(c.args...); r.code != c.exit || !strings.Contains(r.stderr, c.says) || r.stdout != "" {
				t.Errorf("%+v", r)
			}
		})
	}
	if r := w.run("host", "token", "list", "--json"); r.code != 0 || !strings.Contains(r.stdout, `"name":"laptop"`) || strings.Contains(r.stdout, "askb_rh_") {
		t.Errorf("%+v", r)
	}
	if r := w.run("host", "token", "revoke", "laptop"); r.code != 0 {
		t.Errorf("%+v", r)
	}
}
