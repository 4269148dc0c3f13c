package screen

import (
	"context"
	"encoding/base64"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	tea "github.com/charmbracelet/bubbletea"
	"golang.org/x/term"

	"askback/tui/tty"
)

// maxCopy is how many bytes are put on the clipboard; terminals refuse more.
const maxCopy = 64 << 10

// Terminal is a terminal that is no file: an emulator.
type Terminal struct {
	Input         io.Reader
	Output        io.Writer
	Width, Height int
	Resize        <-chan [2]int // width and height
}

// terminal is the terminal of one run. What is written beside the frames (the bell, the clipboard) never lands inside
// of one.
type terminal struct {
	o     Options
	in    *tty.Reader // nil for an emulator
	out   io.Writer
	state *term.State
}

// output is a terminal whose writes do not mix. It stays a file, so that its size can be asked for.
type output struct {
	*os.File
	mu sync.Mutex
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.File.Write(p)
}

// writer is an emulator's side of output.
type writer struct {
	w  io.Writer
	mu sync.Mutex
}

func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.w.Write(p)
}

func openTerminal(o Options) *terminal {
	if o.Terminal != nil {
		return &terminal{o: o, out: &writer{w: o.Terminal.Output}}
	}
	t := &terminal{o: o, in: tty.NewReader(o.In, o.Getenv), out: &output{File: o.Out}}
	t.state, _ = term.GetState(int(o.In.Fd())) // without it there is nothing to restore
	return t
}

func (t *terminal) options(ctx context.Context) []tea.ProgramOption {
	opts := []tea.ProgramOption{tea.WithAltScreen(), tea.WithoutSignalHandler(), tea.WithContext(ctx), tea.WithOutput(t.out)}
	if t.in != nil {
		return append(opts, tea.WithInput(t.in))
	}
	return append(opts, tea.WithInput(t.o.Terminal.Input))
}

// watch tells the program of sizes, signals and the end of the input until run ends.
func (t *terminal) watch(run context.Context, p *tea.Program, end context.CancelCauseFunc, spawn func(func())) {
	if t.in == nil {
		spawn(func() { t.watchSize(run, p) })
		return
	}
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT)
	spawn(func() {
		defer signal.Stop(c)
		select {
		case s := <-c:
			end(&Ended{Signal: s})
		case <-t.in.Ended():
			end(&Ended{})
		case <-run.Done():
		}
	})
}

func (t *terminal) watchSize(run context.Context, p *tea.Program) {
	e := t.o.Terminal
	p.Send(tea.WindowSizeMsg{Width: e.Width, Height: e.Height})
	for {
		select {
		case s, ok := <-e.Resize:
			if !ok {
				return
			}
			p.Send(tea.WindowSizeMsg{Width: s[0], Height: s[1]})
		case <-run.Done():
			return
		}
	}
}

// restore undoes what may be left of raw mode.
func (t *terminal) restore() {
	if t.state != nil {
		_ = term.Restore(int(t.o.In.Fd()), t.state) // the terminal may be gone
	}
}

// Bell rings once.
func (t *terminal) Bell() { _, _ = io.WriteString(t.out, "\a") }

// Copy puts a text on the clipboard of the person's terminal (OSC 52), which is theirs even over ssh.
func (t *terminal) Copy(text string) {
	if len(text) > maxCopy {
		text = text[:maxCopy]
	}
	_, _ = io.WriteString(t.out, "\x1b]52;c;"+base64.StdEncoding.EncodeToString([]byte(text))+"\a")
}
