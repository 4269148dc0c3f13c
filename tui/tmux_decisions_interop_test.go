//go:build interop && linux

package tui_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The three decisions on one form, in a real terminal at the stated sizes, against the demo server process: the
// server sees three different actions, and so does the person.
func TestTmuxDecisions(t *testing.T) {
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	decisions := []struct {
		name, action string
		decide       func(*tmux)
		shows        string
	}{
		{"accept", "accept", func(m *tmux) {
			m.keys("Down").keys("Enter").see("field 2 of 2").keys("Down").keys("Enter").see("nothing is sent yet").pause().keys("s")
		}, "Deployed build-42 to staging."},
		{"decline", "decline", func(m *tmux) { m.keys("C-x").see("nothing is sent yet").pause().keys("y") }, "was declined"},
		{"dismiss", "cancel", func(m *tmux) { m.keys("Escape").see("nothing is sent yet").pause().keys("y") }, "was dismissed"},
	}
	for _, size := range [][2]int{{80, 24}, {40, 12}} {
		for _, d := range decisions {
			t.Run(fmt.Sprintf("%dx%d/%s", size[0], size[1], d.name), func(t *testing.T) {
				dir := t.TempDir()
				record := filepath.Join(dir, "record")
				config := filepath.Join(dir, "servers.json")
				content := fmt.Sprintf(`{"mcpServers":{"demo":{"command":%q,"args":["demo-server","--record",%q]}}}`, path, record)
				if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
				m := inTmux(t, size[0], size[1], path+" --config "+config+"; echo exit=$?")
				m.see("1/1", "Nothing was said") // the tools can be called
				m.keys("-l", `/call demo/deploy {"artifact":"build-42"}`).keys("Enter")
				m.see("Choose the deployment target").pause()
				d.decide(m)
				m.gone("Choose the deployment target").see("demo · ").joined(d.shows)
				m.keys("C-q").see("exit=0")
				data, err := os.ReadFile(record)
				if err != nil {
					t.Fatal(err)
				}
				legs := strings.Count(string(data), `"method":"tools/call"`)
				if legs != 2 || strings.Count(string(data), `"action":"`+d.action+`"`) != 1 {
					t.Errorf("%d legs of tools/call, want 2, one of them with %q:\n%s", legs, d.action, data)
				}
			})
		}
	}
}

// gone waits until none of the texts is on screen.
func (m *tmux) gone(texts ...string) *tmux {
	m.t.Helper()
	for _, not := range texts {
		for end := time.Now().Add(20 * time.Second); strings.Contains(m.text(), not); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				m.t.Fatalf("%q stays on screen:\n%s", not, m.text())
			}
		}
	}
	return m
}

// joined waits for a text that may be broken over rows.
func (m *tmux) joined(want string) *tmux {
	m.t.Helper()
	flat := func() string { return strings.Join(strings.Fields(m.text()), " ") }
	for end := time.Now().Add(20 * time.Second); !strings.Contains(flat(), want); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			m.t.Fatalf("%q does not come on screen:\n%s", want, m.text())
		}
	}
	return m
}
