package screen

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"askback/internal/inspect"
	emulator "askback/internal/screen"
	"askback/mcpmgr/config"
	"askback/tui/kit"
)

// program is a whole run on an emulated terminal.
type program struct {
	t    *testing.T
	keys *io.PipeWriter
	out  *emulator.Screen
	done chan error
	end  context.CancelFunc
}

func startProgram(t *testing.T, w, h int, log *bytes.Buffer) *program {
	t.Helper()
	srv := demoServer()
	ctx, cancel := context.WithCancel(t.Context())
	in, keys := io.Pipe()
	p := &program{t: t, keys: keys, out: emulator.New(w, h), done: make(chan error, 1), end: cancel}
	go func() {
		p.done <- Run(ctx, Options{
			Open: func(tell func(inspect.Event)) *inspect.Inspector {
				return inspect.Open(inspect.Options{Servers: []config.Server{srv.Config}, Name: "test", Version: "1", Transports: srv.Transports(), Tell: tell})
			},
			Folder: t.TempDir(), Getenv: func(string) string { return "" },
			Terminal: &kit.Emulator{Input: in, Output: io.MultiWriter(p.out, log), Width: w, Height: h},
		})
		srv.Wait()
		_ = in.Close()
	}()
	t.Cleanup(func() {
		cancel()
		_ = p.out.Close()
	})
	return p
}

func (p *program) wait(text string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 20*time.Second)
	defer cancel()
	if err := p.out.WaitText(ctx, text); err != nil {
		p.t.Fatal(err)
	}
}

// keep presses a key until a text shows: a panel ignores keys until they have paused.
func (p *program) keep(key, text string) {
	p.t.Helper()
	for range 100 {
		p.press(key)
		ctx, cancel := context.WithTimeout(p.t.Context(), kit.Pause+200*time.Millisecond)
		err := p.out.WaitText(ctx, text)
		cancel()
		if err == nil {
			return
		}
	}
	p.t.Fatalf("%q never shows:\n%s", text, p.out.Text())
}

func (p *program) press(keys string) {
	p.t.Helper()
	if _, err := io.WriteString(p.keys, keys); err != nil {
		p.t.Fatal(err)
	}
}

func (p *program) ended() error {
	p.t.Helper()
	select {
	case err := <-p.done:
		return err
	case <-time.After(20 * time.Second):
		p.t.Fatal("the program does not end")
		return nil
	}
}

// The whole program: connect, call, be asked, answer, see the result, leave.
func TestRun(t *testing.T) {
	var log bytes.Buffer
	p := startProgram(t, 80, 24, &log)
	p.wait("mrtr_confirm")
	p.press("/")
	p.press("mrtr_confirm\r")
	p.wait("1 fits")
	p.press("\r")
	p.wait("This tool takes no arguments")
	p.keep("s", "Please confirm.")
	p.wait(inspect.OriginNote)
	p.keep("y", "s sends: Yes")
	p.press("s")
	p.wait("MRTR complete: accept")
	p.keep("\x11", "") // ctrl+q
	if err := p.ended(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "\a") || !strings.HasSuffix(strings.TrimRight(log.String(), "\r\n"), "\x1b[?1003l") && !strings.Contains(log.String(), "\x1b[?1049l") {
		t.Errorf("the terminal was not restored: %q", log.String()[max(0, log.Len()-200):])
	}
}

// What ends a run from outside is its error, and no answer is sent.
func TestRunEndsFromOutside(t *testing.T) {
	var log bytes.Buffer
	p := startProgram(t, 40, 12, &log)
	p.wait("mrtr_confirm")
	p.end()
	if err := p.ended(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
