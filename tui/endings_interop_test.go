//go:build interop && linux

package tui_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// However the real program ends while a form is open: no answer is sent, and the server sees one tools/call.
// Where its own tools ask, the Turn is stopped; where it only looks, the form waits for another surface.
func TestEndingsWithAnOpenForm(t *testing.T) {
	signal := func(s syscall.Signal) func(l *login) {
		return func(l *login) { _ = l.cmd.Process.Signal(s) }
	}
	for name, end := range map[string]func(l *login){
		"hangup":       signal(syscall.SIGHUP),
		"termination":  signal(syscall.SIGTERM),
		"interrupt":    signal(syscall.SIGINT),
		"end of input": func(l *login) { l.ptm.Close() },
		"quit": func(l *login) {
			l.pause().keys("\x11").see("leave askback?").pause().keys("y")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Run("own tools", func(t *testing.T) {
				t.Parallel()
				r := newRemote(t)
				l := r.inTerminal(r.command(r.bin, "--host", r.endpoint, "--token-file", r.token, "--provider-token-file", r.addToken("provider"), "--config", r.path("servers.json")))
				l.see("servers 1/1", "Nothing was said").openForm()
				end(l)
				l.ends()
				if n := r.pending(); n != 0 {
					t.Errorf("%d forms wait", n)
				}
				if n := r.legs(); n != 1 {
					t.Errorf("%d legs of tools/call", n)
				}
			})
			t.Run("attach", func(t *testing.T) {
				t.Parallel()
				r := newRemote(t)
				r.startProvider()
				l := r.inTerminal(r.command(r.bin, "attach", "--host", r.endpoint, "--token-file", r.token))
				l.see("ready").keys("/new work").enter().see("session work").openForm()
				end(l)
				l.ends()
				if n := r.pending(); n != 1 {
					t.Fatalf("%d forms wait", n)
				}
				r.answer()
				if n := r.legs(); n != 2 {
					t.Errorf("%d legs of tools/call", n)
				}
			})
		})
	}
}

func (l *login) openForm() {
	l.t.Helper()
	l.keys(`/call demo/deploy {"artifact":"build-42"}`).enter().see("Choose the deployment target")
}

// ends waits for the program itself.
func (l *login) ends() {
	l.t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = l.cmd.Wait() // its exit code is not the question here
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		l.t.Fatalf("it does not end:\n%s", l.screen.Text())
	}
}

// answer is the second surface: it answers the one form that waits, and the tool goes on.
func (r *remote) answer() {
	r.t.Helper()
	out, err := r.command(r.bin, "pending", "--json", "--host", r.endpoint, "--token-file", r.token).Output()
	if err != nil {
		r.t.Fatal(err)
	}
	var list []struct {
		SessionID     string `json:"sessionId"`
		InteractionID string `json:"interactionId"`
	}
	if err := json.Unmarshal(out, &list); err != nil || len(list) != 1 {
		r.t.Fatalf("pending said %s: %v", out, err)
	}
	cmd := r.command(r.bin, "answer", list[0].SessionID+"/"+list[0].InteractionID, "--set", "environment=staging", "--set", "confirm=true", "--host", r.endpoint, "--token-file", r.token)
	if out, err := cmd.CombinedOutput(); err != nil {
		if e, ok := err.(*exec.ExitError); ok {
			r.t.Fatalf("answer ended with %d: %s", e.ExitCode(), strings.TrimSpace(string(out)))
		}
		r.t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); r.legs() < 2 && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
}
