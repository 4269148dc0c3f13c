package app

import (
	"strings"
	"testing"
)

// A pipe has everything typed before the servers have started: the call waits for its tool, and the lines that
// follow answer its form.
func TestLinesFromAPipe(t *testing.T) {
	for name, c := range map[string]struct {
		input string
		exit  int
		calls int
		says  []string
	}{
		"answered":   {"/call demo/deploy " + deployArgs + "\n1\nyes\n\nsubmit\n/quit\n", 0, 2, []string{"accepted", "Deployed build-42 to staging."}},
		"no form":    {"/call demo/plain\n/quit\n", 0, 1, []string{"demo/plain: done"}},
		"SC-02 ends": {"/call demo/deploy " + deployArgs + "\n1\n", exitStopped, 1, []string{"A form, from:", "The input has ended. Nothing was sent."}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			cmd := w.command("--config", w.path("demo.json"))
			cmd.Stdin = strings.NewReader(c.input)
			r := w.wait(cmd)
			if r.code != c.exit || w.calls() != c.calls {
				t.Errorf("exit %d, want %d; %d calls, want %d\n%s%s", r.code, c.exit, w.calls(), c.calls, r.stdout, r.stderr)
			}
			for _, s := range c.says {
				if !strings.Contains(r.stdout, s) {
					t.Errorf("no %q in\n%s", s, r.stdout)
				}
			}
			if strings.Contains(r.stdout+r.stderr, "\x1b") {
				t.Errorf("an escape: %q", r.stdout)
			}
		})
	}
}
