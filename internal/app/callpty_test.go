package app

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
)

// session is a program at a terminal. Its stdout may be another place, as in a pipeline.
type session struct {
	w    *world
	cmd  *exec.Cmd
	tty  *os.File
	mu   sync.Mutex
	seen bytes.Buffer
	more chan struct{}
	out  bytes.Buffer
}

// atTerminal starts a program with stdin and stderr on a terminal and stdout in a pipe.
func (w *world) atTerminal(args ...string) *session {
	w.t.Helper()
	tty, child, err := pty.Open()
	if err != nil {
		w.t.Fatal(err)
	}
	s := &session{w: w, cmd: w.command(args...), tty: tty, more: make(chan struct{}, 1)}
	s.cmd.Stdin, s.cmd.Stderr, s.cmd.Stdout = child, child, &s.out
	if err := s.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	child.Close()
	go func() { // ends with the program, which holds the other side
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
	w.t.Cleanup(func() { tty.Close(); s.cmd.Process.Kill() })
	return s
}

func (s *session) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen.String()
}

func (s *session) await(want string) {
	s.w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for !strings.Contains(s.text(), want) {
		select {
		case <-s.more:
		case <-ctx.Done():
			s.w.t.Fatalf("no %q on the terminal:\n%s", want, s.text())
		}
	}
}

func (s *session) typed(text string) { io.WriteString(s.tty, text) }

func (s *session) end() ran {
	s.w.t.Helper()
	return s.w.finish(s.cmd, &s.out, &bytes.Buffer{})
}

// A form is asked on the terminal; only the result is on stdout.
func TestCallAsksAtTheTerminal(t *testing.T) {
	w := newWorld(t)
	s := w.atTerminal("--config", w.path("demo.json"), "call", "demo/deploy", "--args", deployArgs, "--json")
	s.await("Never enter passwords, API keys, access tokens or payment data here.")
	s.await("environment")
	s.typed("1\n")
	s.await("confirm")
	s.typed("yes\n")
	s.await("Review")
	if n := w.calls(); n != 1 {
		t.Errorf("%d tools/call before the answer", n)
	}
	s.typed("submit\n")
	r := s.end()
	if r.code != 0 || r.json(t)["forms"] != 1.0 || !strings.Contains(r.stdout, "Deployed build-42 to staging.") || w.calls() != 2 {
		t.Errorf("%d calls, %+v\n%s", w.calls(), r, s.text())
	}
	if strings.Contains(s.text(), "\x1b") {
		t.Errorf("escapes in line mode: %q", s.text())
	}
}

// What ends a form without a person's decision sends no answer.
func TestNoAnswerWithoutADecision(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(*session)
		exit int
		code string
	}{
		"SC-02 end of input":                {func(s *session) { s.typed("\x04") }, 3, "input_required"},
		"SC-02 an unfinished line":          {func(s *session) { s.typed("1"); s.typed("\x04\x04") }, 3, "input_required"},
		"SC-04 end of input after nonsense": {func(s *session) { s.typed("moon\n\n\n"); s.typed("\x04") }, 3, "input_required"},
		"interrupt":                         {func(s *session) { s.cmd.Process.Signal(os.Interrupt) }, 6, "cancelled"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s := w.atTerminal("--config", w.path("demo.json"), "call", "demo/deploy", "--args", deployArgs, "--json")
			s.await("environment")
			s.await("> ")
			c.do(s)
			r := s.end()
			if got := r.errorCode(t); r.code != c.exit || got != c.code || w.calls() != 1 {
				t.Errorf("exit %d code %q, want %d %q; %d calls\n%s", r.code, got, c.exit, c.code, w.calls(), s.text())
			}
		})
	}
}

// Decline and dismissal at the terminal are a person's, and distinct.
func TestDeclineAtTheTerminal(t *testing.T) {
	for word, want := range map[string]string{".decline": "declined", ".dismiss": "dismissed"} {
		w := newWorld(t)
		s := w.atTerminal("--config", w.path("demo.json"), "call", "demo/deploy", "--args", deployArgs, "--json")
		s.await("environment")
		s.typed(word + "\n")
		s.await("yes")
		s.typed("yes\n")
		r := s.end()
		if r.code != 4 || r.errorCode(t) != "server_error" || !strings.Contains(r.stdout, want) || w.calls() != 2 {
			t.Errorf("%s: %d calls, %+v\n%s", word, w.calls(), r, s.text())
		}
	}
}

// SC-05 and a full pipe: a server that floods stderr, and a reader that takes its time, change nothing on stdout.
func TestNoiseAndAFullPipe(t *testing.T) {
	w := newWorld(t)
	w.write("noisy.json", `{"mcpServers":{"demo":{"command":"sh","args":["-c","(i=0; while [ $i -lt 20000 ]; do echo noise $i >&2; i=$((i+1)); done) & exec \"$0\" demo-server","`+os.Args[0]+`"],"env":{"`+asProgram+`":"1"}}}}`)
	cmd := w.command("--config", w.path("noisy.json"), "tools", "--json")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	data, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	if !bytes.HasPrefix(data, []byte("[{")) || bytes.Contains(data, []byte("noise")) || strings.Contains(errs.String(), "noise") {
		t.Errorf("stdout %.200s\nstderr %.200s", data, errs.String())
	}
}

// A call that asks again starts from the answers that it was given, and says so.
func TestCallAsksAgainFromTheLastAnswers(t *testing.T) {
	w := newWorld(t)
	s := w.atTerminal("--config", w.path("demo.json"), "call", "demo/mrtr_loop", "--json")
	s.await("A form, from:")
	if strings.Contains(s.text(), "It starts from your last answers") {
		t.Errorf("the first form starts from answers:\n%s", s.text())
	}
	s.typed("1\nsubmit\n")
	s.await("It starts from your last answers in this call.")
	s.await("your last answer)")
	s.typed("\x04")
	if r := s.end(); r.code != exitInput || w.calls() != 2 {
		t.Errorf("%d calls, %+v\n%s", w.calls(), r, s.text())
	}
}
