package app

import (
	"os"
	"strings"
	"testing"
)

// A project file comes with a folder that somebody else may have made: what it starts is shown and asked for, once for
// each content, and without a terminal only --config uses it.
func TestProjectFileIsApproved(t *testing.T) {
	w := newWorld(t)
	data, err := os.ReadFile(w.path("demo.json"))
	if err != nil {
		t.Fatal(err)
	}
	project := string(data)
	w.write(".mcp.json", project)

	if r := w.run("call", "demo/plain", "--json"); r.code != 2 || r.errorCode(t) != "usage" || !strings.Contains(r.stderr, "--config") || w.calls() != 0 {
		t.Errorf("without a terminal: %+v", r)
	}
	if r := w.run("call", "demo/plain", "--json", "--config", ".mcp.json"); r.code != 0 {
		t.Errorf("named by --config: %+v", r)
	}
	ask := func(answer func(*session)) ran {
		t.Helper()
		s := w.atTerminal("call", "demo/plain", "--json")
		s.await("Run them from now on? [y/N] ")
		if text := s.text(); strings.Count(text, "  demo: ") != 1 || !strings.Contains(text, "demo-server") {
			t.Errorf("what is started is not shown once: %s", text)
		}
		answer(s)
		return s.end()
	}
	typed := func(text string) func(*session) { return func(s *session) { s.typed(text) } }
	before := w.calls()
	for _, no := range []string{"n\n", "\n", "yes please\n", "\x04"} {
		if r := ask(typed(no)); r.code != 2 || !strings.Contains(r.stdout, "not approved") || w.calls() != before {
			t.Errorf("%q: %+v", no, r)
		}
	}
	if r := ask(func(s *session) { s.cmd.Process.Signal(os.Interrupt) }); r.code != 6 || r.errorCode(t) != "cancelled" || w.calls() != before {
		t.Errorf("interrupted: %+v", r)
	}
	if r := ask(typed("y\n")); r.code != 0 || w.calls() != before+1 {
		t.Errorf("approved: %+v", r)
	}
	if r := w.run("call", "demo/plain", "--json"); r.code != 0 {
		t.Errorf("asked again: %+v", r)
	}
	if info, err := os.Stat(w.path("state/askback/approved.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the approvals: %v, %v", info, err)
	}
	w.write(".mcp.json", project+"\n")
	if r := w.run("call", "demo/plain", "--json"); r.code != 2 {
		t.Errorf("another content was not asked about: %+v", r)
	}
}
