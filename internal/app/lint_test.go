package app

import (
	"strings"
	"testing"
)

// Exit codes and JSON of lint: fits, refused, no JSON at all.
func TestLint(t *testing.T) {
	w := newWorld(t)
	good := w.write("good.json", `{"type":"object","properties":{"a":{"type":"string","maxLength":3}},"required":["a"]}`)
	bad := w.write("bad.json", `{"type":"object","properties":{"a":{"type":"string","pattern":"x"}}}`)
	for name, c := range map[string]struct {
		args []string
		exit int
		out  string // on stdout, "" for nothing wanted
	}{
		"reads":                    {[]string{good}, 0, "1 field"},
		"json":                     {[]string{good, "--json"}, 0, `{"form":{`},
		"refused":                  {[]string{bad}, 1, "pattern"},
		"refused as JSON":          {[]string{bad, "--json"}, 1, `{"error":{`},
		"answer fits":              {[]string{good, "--answer", `{"action":"accept","values":{"a":"x"}}`}, 0, `{"ok":true}`},
		"answer does not":          {[]string{good, "--answer", `{"action":"accept","values":{"a":"long"}}`}, 1, `{"ok":false,"errors":[{"field":"a"`},
		"answer to a refused form": {[]string{bad, "--answer", `{"action":"decline"}`}, 1, `{"error":{`},
		"answer is no JSON":        {[]string{good, "--answer", `{`}, 2, ""},
		"no JSON":                  {[]string{w.write("no.json", `{`)}, 2, ""},
		"no UTF-8":                 {[]string{w.write("raw.json", "\xff\xfe"), "--json"}, 2, `{"error":{`},
		"not there":                {[]string{"gone.json"}, 2, ""},
		"render":                   {[]string{good, "--render", "40x12"}, 0, "! No passwords, API keys, tokens, cards"},
		"render is no size":        {[]string{good, "--render", "4x1"}, 2, ""},
		"size and more":            {[]string{good, "--render", "40x12x"}, 2, ""},
		"JSON with render":         {[]string{good, "--json", "--render", "40x12"}, 2, `{"error":{`},
		"answer with render":       {[]string{good, "--answer", "{}", "--render", "40x12"}, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := w.run(append([]string{"lint"}, c.args...)...)
			if r.code != c.exit || !strings.Contains(r.stdout, c.out) || c.out == "" && r.stdout != "" {
				t.Errorf("exit %d, want %d\nstdout %s\nstderr %s", r.code, c.exit, r.stdout, r.stderr)
			}
		})
	}
}
