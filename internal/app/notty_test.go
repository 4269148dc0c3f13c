package app

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// SC-01: nobody can be asked, whatever the input is. The call fails at once, says what was asked, and accepts nothing.
func TestFormWithoutATerminal(t *testing.T) {
	for name, piped := range map[string]bool{"SC-01 no input": false, "SC-01 a pipe that stays open": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			cmd := w.command("--config", w.path("demo.json"), "call", "demo/deploy", "--args", deployArgs, "--json")
			if piped {
				in, err := cmd.StdinPipe()
				if err != nil {
					t.Fatal(err)
				}
				defer in.Close()
			}
			began := time.Now()
			r := w.wait(cmd)
			if took := time.Since(began); r.code != exitInput || took > 30*time.Second {
				t.Fatalf("exit %d after %v\n%s%s", r.code, took, r.stdout, r.stderr)
			}
			e := r.json(t)["error"].(map[string]any)
			form, _ := e["form"].(map[string]any)
			fields, _ := e["fields"].([]any)
			if e["code"] != "input_required" || e["server"] != "demo" || e["tool"] != "deploy" || form["message"] == nil ||
				!slices.Equal(fields, []any{"environment", "confirm"}) {
				t.Errorf("the program is told %s", r.stdout)
			}
			for _, s := range []string{"demo", "deploy", "environment", "confirm", "--set"} {
				if !strings.Contains(r.stderr, s) {
					t.Errorf("%q is not told: %s", s, r.stderr)
				}
			}
			if n := w.calls(); n != 1 {
				t.Errorf("%d tools/call", n)
			}
		})
	}
}
