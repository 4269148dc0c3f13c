package app

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// Whatever is wrong with a command line, --json gives one value on stdout, and the exit code is that of usage.
func TestUsageUnderJSON(t *testing.T) {
	w := newWorld(t)
	named := map[string]bool{"a blank in the name": true, "arguments": true, "arguments of a device": true, "no answers": true}
	for name, args := range map[string][]string{
		"exclusive answers":     {"call", "demo/plain", "--json", "--decline", "--cancel"},
		"exclusive values":      {"call", "demo/plain", "--json", "--decline", "--set", "a=b"},
		"flag after json":       {"call", "demo/plain", "--json", "--nope"},
		"flag before json":      {"call", "demo/plain", "--nope", "--json"},
		"json with a value":     {"call", "demo", "--json=true"},
		"json with a word":      {"call", "demo/plain", "--nope", "--json=TRUE"},
		"too many":              {"call", "demo/plain", "demo/plain", "--json"},
		"no answers":            {"call", "demo/plain", "--json", "--answers", "gone"},
		"none":                  {"call", "--json"},
		"a blank in the name":   {"call", "demo/a b", "--json"},
		"no scheme":             {"inspect", "127.0.0.1:3111/mcp", "--json"},
		"level":                 {"tools", "--json", "--log-level", "loud"},
		"mode":                  {"tools", "--json", "--permission-mode", "bypas"},
		"arguments":             {"call", "demo/plain", "--json", "--args", "@gone"},
		"arguments of a device": {"call", "demo/plain", "--json", "--args", "@/dev/zero"},
	} {
		t.Run(name, func(t *testing.T) {
			r := w.run(append([]string{"--config", w.path("demo.json")}, args...)...)
			if r.code != exitUsage || r.errorCode(t) != "usage" {
				t.Errorf("%+v", r)
			}
			if e := r.json(t)["error"].(map[string]any); named[name] && (e["server"] != "demo" || e["tool"] == nil) {
				t.Errorf("the call is not named: %s", r.stdout)
			}
		})
	}
	t.Run("SC-05 no JSON that nobody asked for", func(t *testing.T) {
		for _, args := range [][]string{{"inspect", "--", "no-such-command", "--json"}, {"call", "demo", "--json=false"}, {"call", "demo", "--args", "--json"}} {
			if r := w.run(args...); r.code == 0 || r.stdout != "" {
				t.Errorf("%q: %+v", args, r)
			}
		}
	})
}

// A word that is no command is named, whatever flags follow it, and nothing else is shown in its place. A wrong number of
// words is told with what is wanted.
func TestUnknownCommand(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"bogus"}, `unknown command "bogus" for "askback"`},
		{[]string{"cal", "demo/plain", "--args", "{}", "--json"}, "Did you mean this?\n call\n"},
		{[]string{"--config", w.path("demo.json"), "bogus"}, `unknown command "bogus"`},
		{[]string{"--", "bogus"}, `unknown command "bogus"`},
		{[]string{"help", "bogus"}, `unknown command "bogus" for "askback"`},
		{[]string{"help", "host", "bogus"}, `unknown command "bogus" for "askback host"`},
		{[]string{"call"}, "Usage: askback call SERVER/TOOL [flags]\n"},
		{[]string{"answer", "a/b", "c/d"}, "Usage: askback answer SESSION/INTERACTION [flags]\n"},
		{[]string{"host", "token", "bogus"}, `unknown command "bogus" for "askback host token"`},
		{[]string{"completion", "bogus"}, `unknown command "bogus" for "askback completion"`},
	} {
		r := w.run(c.args...)
		if r.code != exitUsage || !strings.Contains(r.stderr, c.says) || !strings.Contains(r.stderr, "--help'.") {
			t.Errorf("%q: %+v", c.args, r)
		}
		if slices.Contains(c.args, "--json") {
			if code := r.errorCode(t); code != "usage" {
				t.Errorf("%q: %s", c.args, r.stdout)
			}
		} else if r.stdout != "" {
			t.Errorf("%q: %s", c.args, r.stdout)
		}
	}
	for _, args := range [][]string{{"help"}, {"help", "call"}, {"help", "host", "token"}, {"completion"}, {"--help"}, {"call", "--help"}, {"--version"}} {
		if r := w.run(args...); r.code != exitOK || r.stdout == "" || r.stderr != "" {
			t.Errorf("%q: %+v", args, r)
		}
	}
}

// An empty value is what an unset variable of a script leaves; it must not run something else than what was meant.
func TestEmptyFlagValues(t *testing.T) {
	w := newWorld(t)
	form := w.write("form.json", `{"type":"object","properties":{"a":{"type":"string"}}}`)
	for _, args := range [][]string{
		{"lint", form, "--answer", ""},
		{"lint", form, "--render="},
		{"call", "demo/plain", "--config", ""},
		{"call", "demo/plain", "--config", w.path("demo.json"), "--host="},
		{"call", "demo/plain", "--config", w.path("demo.json"), "--answers", ""},
		{"call", "demo/plain", "--config", w.path("demo.json"), "--session", ""},
		{"call", "demo/plain", "--config", w.path("demo.json"), "--args", ""},
		{"call", "demo/plain", "--config", w.path("demo.json"), "--set", ""},
		{"call", "demo/plain", "--config", w.path("demo.json"), "--set", "a=b", "--set="},
		{"inspect", "demo", "--config", w.path("demo.json"), "--json", "--root="},
	} {
		if r := w.run(args...); r.code != exitUsage || r.stdout != "" && !strings.HasPrefix(r.stdout, `{"error"`) || !strings.Contains(r.stderr, "its value is empty") {
			t.Errorf("%q: %+v", args, r)
		}
	}
}

// An entry that no Host can have is told before anything is dialed.
func TestEntryName(t *testing.T) {
	w := newWorld(t)
	for name, session := range map[string]string{"/": "", "a/": "", "/b": "", "a/b/c": "", "a b/c": "", "a": "", "a\x1b/b": "", "": "s", "a/ b": "s", "a b": "s"} {
		args := []string{"answer", "--host", "ws://127.0.0.1:1", "--json", "--decline"}
		if session != "" {
			args = append(args, "--session", session)
		}
		if r := w.run(append(args, "--", name)...); r.code != exitUsage || r.errorCode(t) != "usage" || strings.Contains(r.stderr, "\x1b") {
			t.Errorf("%q: %+v", name, r)
		}
	}
}

// What is named and not there is told apart from what is there and wrong.
func TestNamedServer(t *testing.T) {
	w := newWorld(t)
	demo, err := os.ReadFile(w.path("demo.json"))
	if err != nil {
		t.Fatal(err)
	}
	w.write("all.json", `{"mcpServers":{"wrong":{"command":7},"off":{"command":"x","disabled":true},"key\u001b[2J":{"command":"x"},`+
		strings.TrimPrefix(string(demo), `{"mcpServers":{`))
	for _, c := range []struct {
		name string
		exit int
		code string
		says string
	}{
		{"wrong/plain", exitUsage, "usage", `all.json: server "wrong": command: must be a string`},
		{"off/plain", exitUsage, "usage", `server "off": disabled`},
		{"moon/plain", exitUnreachable, "not_found", "no server is named"},
		{"demo/moon", exitUnreachable, "not_found", "has no tool"},
	} {
		r := w.run("call", c.name, "--config", w.path("all.json"), "--json")
		e, _ := r.json(t)["error"].(map[string]any)
		message, _ := e["message"].(string)
		if r.code != c.exit || e["code"] != c.code || !strings.Contains(message, c.says) || fmt.Sprint(e["server"], "/", e["tool"]) != c.name {
			t.Errorf("%s: exit %d, %s", c.name, r.code, r.stdout)
		}
	}
	r := w.run("tools", "--config", w.path("all.json"), "--json")
	if r.code != exitUsage || !strings.Contains(r.stdout, `"server":"demo"`) || !strings.HasPrefix(r.stdout, "[") {
		t.Errorf("the other servers are listed and the exit code tells of the wrong one: %d %.200s", r.code, r.stdout)
	}
	if strings.Contains(r.stderr, "\x1b") || !strings.Contains(r.stderr, `\x1b[2J`) {
		t.Errorf("SE-01: a name of the configuration reaches the terminal as it is: %q", r.stderr)
	}
	w.write("none.json", `{"mcpServers":{"wrong":{"command":7}}}`)
	if r := w.run("tools", "--config", w.path("none.json"), "--json"); !strings.Contains(r.stdout, `none.json: server \"wrong\": command`) {
		t.Errorf("the JSON names file, server and key: %s", r.stdout)
	}
}

// A run whose output is lost does not succeed.
func TestLostOutput(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	w := newWorld(t)
	for _, args := range [][]string{{"version"}, {"version", "--json"}, {"tools"}, {"call", "demo/plain"}, {"call", "demo/plain", "--json"}, {"--help"}} {
		cmd := w.command(append([]string{"--config", w.path("demo.json")}, args...)...)
		var errs strings.Builder
		cmd.Stdout, cmd.Stderr = full, &errs
		if err := cmd.Run(); cmd.ProcessState.ExitCode() != exitFailed || !strings.Contains(errs.String(), "no space") {
			t.Errorf("%q: %v %s", args, err, errs.String())
		}
	}
}

// What would go on for ever ends when nobody gets what it tells, and a token that nobody got is none.
func TestLostOutputOfWhatGoesOn(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	m := startMachines(t)
	m.ask()
	for _, args := range [][]string{
		{"host", "--listen", "127.0.0.1:0", "--data", m.here.path("other")},
		{"host", "token", "add", "unseen", "--data", m.here.path("other")},
		append([]string{"pending", "--watch", "--json"}, m.remote...),
		append([]string{"pending", "--watch"}, m.remote...),
	} {
		cmd := m.here.command(args...)
		var errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = full, &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if r := m.here.finish(cmd, &bytes.Buffer{}, &errs); r.code != exitFailed || !strings.Contains(r.stderr, "no space") {
			t.Errorf("%q: %+v", args, r)
		}
	}
	if r := m.here.run("host", "token", "list", "--json", "--data", m.here.path("other")); strings.TrimSpace(r.stdout) != "[]" {
		t.Errorf("the token that nobody got: %s", r.stdout)
	}
}

// The JSON of a call's error names the call, also where its flags are wrong.
func TestUsageErrorNamesTheCall(t *testing.T) {
	w := newWorld(t)
	for _, args := range [][]string{{"--args", ""}, {"--decline", "--cancel"}, {"--permission-mode", "wat"}, {"--set", "garbage"}} {
		r := w.run(append([]string{"call", "demo/plain", "--json", "--config", w.path("demo.json")}, args...)...)
		e, _ := r.json(t)["error"].(map[string]any)
		if r.code != exitUsage || e["code"] != "usage" || e["server"] != "demo" || e["tool"] != "plain" || w.calls() != 0 {
			t.Errorf("%q: %+v", args, r)
		}
	}
}
