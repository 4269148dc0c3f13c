package kit

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"os"
	"strings"
	"sync"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"askback/tui/tty"
)

// MaxCopy is how many bytes are put on the clipboard; terminals refuse more.
const MaxCopy = 64 << 10

// Emulator is a terminal that is no file.
type Emulator struct {
	Input         io.Reader
	Output        io.Writer
	Width, Height int
	Resize        <-chan [2]int // width and height
}

// Terminal is the terminal of one run of a screen program: a real one or an emulator. What is written beside the frames
// (the bell, the clipboard) never lands inside of one.
type Terminal struct {
	emulator *Emulator
	file     *os.File
	in       *tty.Reader // nil for an emulator
	out      io.Writer
	state    *term.State
}

// output is a terminal whose writes do not mix. It stays a file, so that its size can be asked for.
type output struct {
	*os.File
	mu sync.Mutex
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return writeUnwrapped(o.File, p)
}

// WriteString keeps io.WriteString from going past Write.
func (o *output) WriteString(s string) (int, error) { return o.Write([]byte(s)) }

// writer is an emulator's side of output.
type writer struct {
	w  io.Writer
	mu sync.Mutex
}

func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return writeUnwrapped(w.w, p)
}

// Rows do not break while the screen is ours. Terminals disagree about the width of some texts, and a row that one of
// them finds too wide would go on in the next: the screen would scroll, our first rows would leave it, and what a server
// wrote would begin a row without our bar. A row that is cut at the edge does none of this.
//
// The mode goes with the alternate screen, which every way of starting, ending, stopping and going on passes through.
const (
	enterScreen = ansi.SetModeAltScreenSaveCursor
	leaveScreen = ansi.ResetModeAltScreenSaveCursor
	wrapOff     = ansi.ResetModeAutoWrap
	wrapOn      = ansi.SetModeAutoWrap
)

// writeUnwrapped writes p, in which autowrap ends where the screen becomes ours and returns before it is given back.
func writeUnwrapped(w io.Writer, p []byte) (int, error) {
	q := p
	if bytes.Contains(p, []byte(enterScreen)) || bytes.Contains(p, []byte(leaveScreen)) {
		q = bytes.ReplaceAll(q, []byte(enterScreen), []byte(enterScreen+wrapOff))
		q = bytes.ReplaceAll(q, []byte(leaveScreen), []byte(wrapOn+leaveScreen))
	}
	n, err := w.Write(q)
	if err == nil || n > len(p) {
		n = len(p)
	}
	return n, err
}

// OpenTerminal takes the emulator, or in and out where it is nil.
func OpenTerminal(e *Emulator, in, out *os.File, getenv func(string) string) *Terminal {
	if e != nil {
		return &Terminal{emulator: e, out: &writer{w: e.Output}}
	}
	t := &Terminal{file: in, in: tty.NewReader(in, getenv), out: &output{File: out}}
	t.state, _ = term.GetState(int(in.Fd())) // without it there is nothing to restore
	return t
}

// Options are those of a program that draws the whole screen and is ended by ctx. Signals are its owner's.
func (t *Terminal) Options(ctx context.Context) []tea.ProgramOption {
	opts := []tea.ProgramOption{tea.WithAltScreen(), tea.WithoutSignalHandler(), tea.WithContext(ctx), tea.WithOutput(t.out)}
	if t.in != nil {
		return append(opts, tea.WithInput(t.in))
	}
	return append(opts, tea.WithInput(t.emulator.Input))
}

// Real says whether signals can come from the terminal.
func (t *Terminal) Real() bool { return t.in != nil }

// Ended is closed when a real terminal has gone; nil for an emulator.
func (t *Terminal) Ended() <-chan struct{} {
	if t.in == nil {
		return nil
	}
	return t.in.Ended()
}

// WatchSize tells the program the sizes of an emulator until ctx ends. It returns at once for a real terminal, which
// tells them itself.
func (t *Terminal) WatchSize(ctx context.Context, p *tea.Program) {
	e := t.emulator
	if e == nil {
		return
	}
	p.Send(tea.WindowSizeMsg{Width: e.Width, Height: e.Height})
	for {
		select {
		case s, ok := <-e.Resize:
			if !ok {
				return
			}
			p.Send(tea.WindowSizeMsg{Width: s[0], Height: s[1]})
		case <-ctx.Done():
			return
		}
	}
}

// Restore undoes what may be left of raw mode.
func (t *Terminal) Restore() {
	if t.state != nil {
		_ = term.Restore(int(t.file.Fd()), t.state) // the terminal may be gone
	}
}

// Bell rings once.
func (t *Terminal) Bell() { _, _ = io.WriteString(t.out, "\a") }

// Copy puts a text on the clipboard of the person's terminal (OSC 52), which is theirs even over ssh.
func (t *Terminal) Copy(text string) {
	if len(text) > MaxCopy {
		text = strings.ToValidUTF8(text[:MaxCopy], "") // no half of a character
	}
	_, _ = io.WriteString(t.out, "\x1b]52;c;"+base64.StdEncoding.EncodeToString([]byte(text))+"\a")
}
