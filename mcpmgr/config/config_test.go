package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func env(kv ...string) Lookup {
	m := map[string]string{}
	for i := 0; i < len(kv); i += 2 {
		m[kv[i]] = kv[i+1]
	}
	return func(k string) (string, bool) { v, ok := m[k]; return v, ok }
}

func TestParse(t *testing.T) {
	dir := t.TempDir()
	text := `{
	"mcpServers": {
		"zeta": {"command": "${BIN}", "args": ["--x", "${X:-de f}", "$HOME", "a${BIN}b"], "env": {"B": "2", "A": "${BIN}"}, "cwd": "sub", "protocol": "modern", "timeout": "90s"},
		"alpha.1_-": {"url": "https://example.com/mcp?k=${BIN}", "headers": {"X-Key": "s ${BIN}"}, "type": "http", "timeout": 5000, "protocol": "legacy"},
		"off": {"disabled": true, "command": 7},
		"rooted": {"command": "x", "type": "stdio", "disabled": false, "roots": [{"uri": "file://` + dir + `", "name": "here"}, {"uri": "file://` + dir + `"}]}
	}
}`
	f := Parse(filepath.Join(dir, "conf.json"), []byte("\xef\xbb\xbf"+text), env("BIN", "prog"))
	if len(f.Errors)+len(f.Warnings) != 0 {
		t.Fatal(f.Errors, f.Warnings)
	}
	want := []Server{
		{Name: "zeta", Transport: Stdio, Command: "prog", Args: []string{"--x", "de f", "$HOME", "aprogb"}, Env: []Pair{{"B", "2"}, {"A", "prog"}},
			Dir: filepath.Join(dir, "sub"), Protocol: Modern, Timeout: 90 * time.Second},
		{Name: "alpha.1_-", Transport: HTTP, URL: "https://example.com/mcp?k=prog", Headers: []Pair{{"X-Key", "s prog"}}, Protocol: Legacy, Timeout: 5 * time.Second},
		{Name: "rooted", Transport: Stdio, Command: "x", Protocol: Auto, Roots: []Root{{"file://" + dir, "here"}, {"file://" + dir, ""}}},
	}
	if !slices.EqualFunc(f.Servers, want, Server.Equal) {
		t.Fatalf("got  %+v\nwant %+v", f.Servers, want)
	}
	if !slices.Equal(f.Disabled, []string{"off"}) {
		t.Fatal(f.Disabled)
	}
	if s, ok := f.Server("rooted"); !ok || s.Name != "rooted" {
		t.Fatal("rooted")
	}
}

// TestErrors: each problem names file, server and key, and the other servers still start.
func TestErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("n", 65)
	cases := []struct{ entry, want string }{
		{`"s": 7`, `c.json: server "s": must be an object`},
		{`"s": {}`, `server "s": command: an entry needs "command" or "url"`},
		{`"s": {"command":"a","url":"http://x"}`, `server "s": url: an entry has either`},
		{`"s": {"command":""}`, `command: must not be empty`},
		{`"s": {"command":7}`, `command: must be a string`},
		{`"s": {"command":"a","args":"x"}`, `args: must be a list of strings`},
		{`"s": {"command":"a","args":["x",1]}`, `args[1]: must be a string`},
		{`"s": {"command":"a","env":["x"]}`, `env: must be an object of strings`},
		{`"s": {"command":"a","env":{"X":1}}`, `env.X: must be a string`},
		{`"s": {"command":"a","env":{"X=Y":"1"}}`, `env.X=Y: is no variable`},
		{`"s": {"command":"a","env":{"X":"1","X":"2"}}`, `env: must be an object of strings: the key "X" is given twice`},
		{`"s": {"command":"${NOPE}"}`, `server "s": command: the environment variable NOPE is not set`},
		{`"s": {"command":"a","args":["${NOPE}"]}`, `args[0]: the environment variable NOPE is not set`},
		{`"s": {"command":"a","env":{"K":"${NOPE}"}}`, `env.K: the environment variable NOPE`},
		{`"s": {"url":"http://x","headers":{"K":"${NOPE}"}}`, `headers.K: the environment variable NOPE`},
		{`"s": {"command":"${UNCLOSED"}`, `command: ${UNCLOSED has no closing brace`},
		{`"s": {"command":"${1X}"}`, `does not name a variable`},
		{`"s": {"command":"a","cwd":7}`, `cwd: must be a string`},
		{`"s": {"command":"a","type":"http"}`, `type: "http" needs "url"`},
		{`"s": {"url":"http://x","type":"stdio"}`, `type: "stdio" needs "command"`},
		{`"s": {"url":"http://x","type":"sse"}`, `type: "sse" is the transport of 2024-11-05`},
		{`"s": {"url":"http://x","type":"carrier pigeon"}`, `type: must be`},
		{`"s": {"url":"http://x","args":[]}`, `args: belongs to an entry with "command"`},
		{`"s": {"command":"a","headers":{}}`, `headers: belongs to an entry with "url"`},
		{`"s": {"url":"ftp://x"}`, `url: must begin with http`},
		{`"s": {"url":"x"}`, `url: is not an http or https address`},
		{`"s": {"url":"http://u:p@x"}`, `url: must not hold a user`},
		{`"s": {"url":"http://x#f"}`, `url: must not have a fragment`},
		{`"s": {"url":"http://x","headers":{"Mcp-Method":"x"}}`, `headers.Mcp-Method: is set by the protocol`},
		{`"s": {"url":"http://x","headers":{"mcp-param-x":"x"}}`, `is set by the protocol`},
		{`"s": {"url":"http://x","headers":{"A B":"x"}}`, `headers.A B: is not a header name`},
		{`"s": {"url":"http://x","headers":{"A":"x\ny"}}`, `headers.A: has a control character`},
		{`"s": {"url":"http://x","headers":{"A":"x","a":"y"}}`, `headers.a: is given twice`},
		{`"s": {"command":"a","protocol":"future"}`, `protocol: must be "auto", "modern" or "legacy"`},
		{`"s": {"command":"a","timeout":0}`, `timeout: must be above 0`},
		{`"s": {"command":"a","timeout":-5}`, `timeout: must be above 0`},
		{`"s": {"command":"a","timeout":"soon"}`, `timeout: must be milliseconds`},
		{`"s": {"command":"a","timeout":null}`, `timeout: must be milliseconds`},
		{`"s": {"command":"a","timeout":"48h"}`, `at most 24h`},
		{`"s": {"command":"a","timeout":1e300}`, `at most 24h`},
		{`"s": {"command":"a","disabled":"yes"}`, `disabled: must be true or false`},
		{`"s": {"command":"a","roots":{}}`, `roots: must be a list`},
		{`"s": {"command":"a","roots":[7]}`, `roots[0]: must be an object`},
		{`"s": {"command":"a","roots":[{"uri":"http://x/"}]}`, `roots[0].uri: must be an absolute file:// address`},
		{`"s": {"command":"a","roots":[{"uri":"file://other/x"}]}`, `roots[0].uri: must be an absolute`},
		{`"s": {"command":"a","roots":[{"uri":"file:///nowhere/at/all"}]}`, `roots[0].uri: the folder does not exist`},
		{`"s": {"command":"a","roots":[{"uri":"file://` + strings.ReplaceAll(file, " ", "%20") + `"}]}`, `roots[0].uri: is not a folder`},
		{`"s x": {"command":"a"}`, `server "s x": a server's name is 1 to 64`},
		{`"": {"command":"a"}`, `a server's name is 1 to 64`},
		{`"` + long + `": {"command":"a"}`, `a server's name is 1 to 64`},
		{`"s": {"command":"a"}, "s": {"command":"b"}`, `server "s": is given twice`},
	}
	for _, c := range cases {
		t.Run(c.want, func(t *testing.T) {
			f := Parse("c.json", []byte(`{"mcpServers":{"good":{"command":"ok"},`+c.entry+`}}`), env())
			if len(f.Errors) != 1 {
				t.Fatalf("%d errors: %v", len(f.Errors), f.Errors)
			}
			if got := f.Errors[0].Error(); !strings.HasPrefix(got, "c.json: ") || !strings.Contains(got, c.want) {
				t.Fatal(got)
			}
			if f.Servers[0].Name != "good" {
				t.Fatal("the other server does not start")
			}
		})
	}
	t.Run("every problem of an entry", func(t *testing.T) {
		f := Parse("c.json", []byte(`{"mcpServers":{"s":{"command":7,"args":[1],"protocol":"x","timeout":0}}}`), env())
		if len(f.Errors) != 4 {
			t.Fatal(f.Errors)
		}
	})
	for text, want := range map[string]string{
		``:                     `c.json: is not JSON: it ends too early`,
		"{\n\n  oops}":         `is not JSON: line 3`,
		`[]`:                   `it is not an object`,
		`{}`:                   `c.json: mcpServers: is missing`,
		`{"mcpServers":[]}`:    `c.json: mcpServers: must be an object of servers`,
		`{"mcpServers":{}} {}`: `more after`,
		`{"a":1,"a":2}`:        `the key "a" is given twice`,
		`{"mcpServers":{},"x":"` + strings.Repeat("y", MaxSize) + `"}`: `larger than`,
	} {
		f := Parse("c.json", []byte(text), env())
		if len(f.Errors) != 1 || !strings.Contains(f.Errors[0].Error(), want) {
			t.Errorf("%.40q: %v", text, f.Errors)
		}
	}
}

func TestWarnings(t *testing.T) {
	f := Parse("c.json", []byte(`{"$schema":"x","mcpServers":{"s":{"command":"a","autoApprove":[],"timeout":60,"roots":[]}},"inputs":[]}`), env())
	var got []string
	for _, w := range f.Warnings {
		got = append(got, w.Error())
	}
	want := []string{`c.json: $schema: unknown key`, `c.json: server "s": autoApprove: unknown key`,
		`c.json: server "s": timeout: 60 is 60 milliseconds; write "60s" for seconds`, `c.json: inputs: unknown key`}
	if !slices.Equal(got, want) || len(f.Errors) != 0 || len(f.Servers) != 1 {
		t.Fatalf("%q %v", got, f.Errors)
	}
}

// TestOtherPrograms: what other programs' files call otherwise is named with what it is called here, and an entry that is
// switched off need not even have a name that is one.
func TestOtherPrograms(t *testing.T) {
	f := Parse("c.json", []byte(`{"servers":{},"mcpServers":{"My Server":{"disabled":true},"":{"disabled":true,"url":7},
		"b":{"command":"x","cwd":"~/x","enabled":false,"environment":{}},"c":{"url":"http://x","serverUrl":"http://y"},"d e":{"disabled":false,"command":"x"}}}`), env())
	var got []string
	for _, w := range append(f.Warnings, f.Errors...) {
		got = append(got, w.Error())
	}
	want := []string{`c.json: servers: unknown key; servers stand under "mcpServers"`, `c.json: server "b": enabled: unknown key; "disabled": true switches a server off`,
		`c.json: server "b": environment: unknown key; variables stand under "env"`, `c.json: server "b": cwd: ~ means nothing here, ${HOME} does`, `c.json: server "c": serverUrl: unknown key; the address is "url"`,
		`c.json: server "d e": a server's name is 1 to 64 of the characters A-Z a-z 0-9 _ . -`}
	if !slices.Equal(got, want) || len(f.Servers) != 2 || !slices.Equal(f.Disabled, []string{"My Server", ""}) {
		t.Fatalf("%q %+v %q", got, f.Servers, f.Disabled)
	}
}

func TestExpand(t *testing.T) {
	e := env("A", "1", "EMPTY", "", "_x9", "u")
	for in, want := range map[string]string{
		"": "", "plain": "plain", "${A}": "1", "x${A}y${A}": "x1y1", "$A": "$A", "$$": "$$", "${EMPTY}": "", "${EMPTY:-d}": "d", "${NO:-}": "", "${NO:-a b}": "a b",
		"${A:-d}": "1", "${_x9}": "u", "${NO:-${}": "${", "a$": "a$",
		"${NO:-${A}}": "1", "<${NO:-x${NOR:-${A}y}z}>${A}": "<x1yz>1", "${A:-${NO}}": "1", "${NO:-{}}": "{}",
	} {
		if got, err := Expand(in, e); err != nil || got != want {
			t.Errorf("%q is %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"${NO}", "${", "${}", "${A B}", "${:-x}", "${A", "${NO:-${NOR}}", "${NO:-${}}", strings.Repeat("${NO:-", 20) + "x" + strings.Repeat("}", 20)} {
		if got, err := Expand(in, e); err == nil {
			t.Errorf("%q is %q", in, got)
		}
	}
}

func TestDescribe(t *testing.T) {
	s := Server{Name: "s", Transport: Stdio, Command: "npx", Args: []string{"-y", "a b", "$(rm)"}, Env: []Pair{{"KEY", "SECRET"}}, Dir: "/d"}
	if got := s.Describe(); got != `s: npx -y "a b" "$(rm)" (in /d) (sets KEY)` {
		t.Fatal(got)
	}
	s.Env = append(s.Env, Pair{"PATH", "/SECRET"})
	if got := s.Describe(); got != `s: npx -y "a b" "$(rm)" (in /d) (sets KEY, PATH)` {
		t.Fatal(got)
	}
	f := Parse("c.json", []byte(`{"mcpServers":{"a":{"command":"${BIN}","args":["--key","${KEY}"]},"b":{"url":"https://x/?k=${KEY}"}}}`), env("BIN", "prog", "KEY", "SECRET"))
	if got := f.Servers[0].Describe() + "\n" + f.Servers[1].Describe(); got != "a: \"${BIN}\" --key \"${KEY}\"\nb: https://x/?k=${KEY}" || f.Servers[0].Args[1] != "SECRET" {
		t.Fatal(got)
	}
	s = Server{Name: "h", Transport: HTTP, URL: "https://x/", Headers: []Pair{{"K", "SECRET"}}}
	if got := s.Describe(); got != "h: https://x/" {
		t.Fatal(got)
	}
}

// TestRelativeFile: a command beside its folder is found whatever the file is called by.
func TestRelativeFile(t *testing.T) {
	t.Chdir(t.TempDir())
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for path, sub := range map[string]string{"m.json": "sub", "./.mcp.json": "sub", "x/m.json": filepath.Join("x", "sub")} {
		f := Parse(path, []byte(`{"mcpServers":{"s":{"command":"./run","cwd":"sub"}}}`), env())
		if s := f.Servers[0]; s.Dir != filepath.Join(dir, sub) || s.Command != filepath.Join(dir, sub, "run") {
			t.Errorf("%s: %q in %q", path, s.Command, s.Dir)
		}
	}
}

func TestNotText(t *testing.T) {
	for _, text := range []string{"\xff\xfe{\x00}\x00", `{"mcpServers":{"s":{"command":"caf` + "\xe9" + `"}}}`} {
		if f := Parse("c.json", []byte(text), env()); len(f.Errors) != 1 || f.Errors[0].Error() != "c.json: is not text in UTF-8" {
			t.Errorf("%q: %v", text, f.Errors)
		}
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.json")
	if _, err := Load(path); !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(`{"mcpServers":{"s":{"command":"a","cwd":"sub","args":["x"]},"r":{"command":"./run","cwd":"sub"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Load(path)
	if err != nil || len(f.Errors) != 0 {
		t.Fatal(err, f.Errors)
	}
	if f.Servers[0].Dir != filepath.Join(filepath.Dir(path), "sub") || f.Servers[1].Command != filepath.Join(filepath.Dir(path), "sub", "run") {
		t.Fatalf("%+v", f.Servers)
	}
}

// TestReconcile: after the actions, exactly the wanted servers run, in order, and one whose entry
// did not change was not touched.
func TestReconcile(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		server := rapid.Custom(func(rt *rapid.T) Server {
			return Server{Name: rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(rt, "name"), Command: rapid.SampledFrom([]string{"x", "y"}).Draw(rt, "command")}
		})
		name := func(s Server) string { return s.Name }
		want := rapid.SliceOfNDistinct(server, 0, 4, name).Draw(rt, "want")
		have := rapid.SliceOfNDistinct(server, 0, 4, name).Draw(rt, "have")
		running := map[string]Server{}
		for _, h := range have {
			running[h.Name] = h
		}
		var order []string
		stopping := true
		for _, a := range Reconcile(want, have) {
			before, was := running[a.Name]
			if a.Verb == Stop && !stopping {
				rt.Fatal("a stop after a start")
			}
			stopping = a.Verb == Stop
			switch a.Verb {
			case Stop:
				delete(running, a.Name)
				continue
			case Keep:
				if !was || !before.Equal(a.Server) {
					rt.Fatal("kept what is not the same")
				}
			case Start:
				if was {
					rt.Fatal("started what runs")
				}
			case Replace:
				if !was || before.Equal(a.Server) {
					rt.Fatal("replaced what did not change")
				}
			}
			running[a.Name] = a.Server
			order = append(order, a.Name)
		}
		var names []string
		for _, w := range want {
			names = append(names, w.Name)
			if !running[w.Name].Equal(w) {
				rt.Fatal("not what is wanted")
			}
		}
		if len(running) != len(want) || fmt.Sprint(order) != fmt.Sprint(names) {
			rt.Fatal(order, names)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"mcpServers":{"s":{"command":"${A:-x}","args":["a"],"env":{"K":"v"},"timeout":"1s","roots":[{"uri":"file:///"}]}}}`))
	f.Add([]byte(`{"mcpServers":{"s":{"url":"http://x/","headers":{"A":"b"}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got := Parse("c.json", data, env("A", "b"))
		for _, s := range got.Servers {
			if !ValidName(s.Name) || (s.Transport == Stdio) == (s.Command == "") || (s.Transport == HTTP) == (s.URL == "") {
				t.Fatalf("%+v", s)
			}
		}
		for _, e := range append(got.Errors, got.Warnings...) {
			if e.Message == "" || e.File != "c.json" {
				t.Fatalf("%+v", e)
			}
		}
	})
}
