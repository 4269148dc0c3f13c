package app

import (
	"bytes"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
)

// One request at a terminal asks line by line; only the result is on stdout.
func TestInspectAsksAtTheTerminal(t *testing.T) {
	w := newWorld(t)
	ask := func(tool string) *session {
		return w.atTerminal("--config", w.path("demo.json"), "inspect", "demo", "--json", "--method", "tools/call", "--name", tool)
	}
	t.Run("sampling", func(t *testing.T) {
		s := ask("mrtr_sample")
		s.await("or reject: ")
		for _, want := range []string{"your answer goes back as a retry", "round 1 of at most 10", "| user: What is the capital of France?"} {
			if !strings.Contains(s.text(), want) {
				t.Errorf("no %q in\n%s", want, s.text())
			}
		}
		s.typed("\n")
		s.await("the answer is empty")
		s.typed("Paris\n")
		if r := s.end(); r.code != 0 || !strings.Contains(r.stdout, "sampled Paris") {
			t.Errorf("%+v", r)
		}
	})
	t.Run("rejected", func(t *testing.T) {
		s := ask("mrtr_sample")
		s.await("or reject: ")
		s.typed("reject\n")
		if r := s.end(); r.code != 4 || r.json(t)["error"].(map[string]any)["code"] != "cancelled" {
			t.Errorf("%+v", r)
		}
	})
	t.Run("the end of the input is no answer", func(t *testing.T) {
		for _, tool := range []string{"mrtr_sample", "mrtr_confirm"} {
			before := w.calls()
			s := ask(tool)
			s.await("round 1 of at most 10")
			s.typed("\x04")
			if r := s.end(); r.code != 3 || r.json(t)["error"].(map[string]any)["code"] != "input_required" {
				t.Errorf("%s: %+v", tool, r)
			}
			if n := w.calls() - before; n != 1 {
				t.Errorf("%s: %d legs", tool, n)
			}
		}
	})
	t.Run("a signal", func(t *testing.T) {
		before := w.calls()
		s := ask("mrtr_confirm")
		s.await("round 1 of at most 10")
		if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if r := s.end(); r.code != 6 || r.json(t)["error"].(map[string]any)["code"] != "cancelled" {
			t.Errorf("%+v", r)
		}
		if n := w.calls() - before; n != 1 {
			t.Errorf("%d legs", n)
		}
	})
}

// The screen at a real terminal: it comes, a call is made, and the terminal is given back whatever ends it.
func TestInspectScreenAtTheTerminal(t *testing.T) {
	w := newWorld(t)
	signals := map[string]syscall.Signal{"termination": syscall.SIGTERM, "hangup": syscall.SIGHUP}
	for _, end := range []string{"q", "termination", "hangup"} {
		t.Run(end, func(t *testing.T) {
			tty, child, err := pty.Open()
			if err != nil {
				t.Fatal(err)
			}
			if err := pty.Setsize(tty, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
				t.Fatal(err)
			}
			s := &session{w: w, cmd: w.command("--config", w.path("demo.json"), "inspect", "demo"), tty: tty, more: make(chan struct{}, 1)}
			s.cmd.Env = append(s.cmd.Env, "TERM=xterm-256color", "BROWSER=")
			s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = child, child, child
			if err := s.cmd.Start(); err != nil {
				t.Fatal(err)
			}
			child.Close()
			go func() { // ends with the terminal
				buf := make([]byte, 4096)
				for {
					n, err := tty.Read(buf)
					s.mu.Lock()
					s.seen.Write(buf[:n])
					s.mu.Unlock()
					select {
					case s.more <- struct{}{}:
					default:
					}
					if err != nil {
						return
					}
				}
			}()
			t.Cleanup(func() { tty.Close(); s.cmd.Process.Kill() })
			s.await("mrtr_confirm")
			code := 0
			switch end {
			case "q":
				s.typed("q")
			default:
				code = 6
				if err := s.cmd.Process.Signal(signals[end]); err != nil {
					t.Fatal(err)
				}
			}
			if r := w.finish(s.cmd, &bytes.Buffer{}, &bytes.Buffer{}); r.code != code {
				t.Errorf("code %d, want %d\n%s", r.code, code, s.text())
			}
			s.await("\x1b[?1049l")
		})
	}
}
