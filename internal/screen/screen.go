// Package screen is an emulated terminal: what a program writes becomes rows of text that can be waited for and
// compared. Scripted runs and whole-program tests share it.
package screen

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/charmbracelet/x/vt"
)

// A Screen is an io.Writer that shows what was written. All methods may be called from any goroutine.
type Screen struct {
	mu      sync.Mutex
	term    *vt.Emulator
	changed chan struct{} // closed and replaced at each write
	written int64
	bells   int
	closed  bool
	drained chan struct{}
}

// New returns an empty screen. Close it when it is no longer used.
func New(width, height int) *Screen {
	s := &Screen{term: vt.NewEmulator(width, height), changed: make(chan struct{}), drained: make(chan struct{})}
	s.term.SetCallbacks(vt.Callbacks{Bell: func() { s.bells++ }})
	// The emulator answers queries into a pipe and blocks until somebody reads it; nobody wants the answers.
	go func() {
		defer close(s.drained)
		io.Copy(io.Discard, s.term)
	}()
	return s
}

// Write shows p.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, io.ErrClosedPipe
	}
	n, err := s.term.Write(p)
	s.written += int64(n)
	s.wake()
	return n, err
}

func (s *Screen) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Resize changes the size. The program has to be told by other means.
func (s *Screen) Resize(width, height int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.term.Resize(width, height)
	s.wake()
}

// Close ends the screen; later writes fail.
func (s *Screen) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.wake()
	s.mu.Unlock()
	// The emulator's own Close races with its Read, so the pipe is ended first; Read then returns.
	if pipe, ok := s.term.InputPipe().(io.Closer); ok {
		pipe.Close()
	}
	<-s.drained
	return s.term.Close()
}

// Text returns the rows with trailing blanks and trailing empty rows cut, each ended by a line feed.
func (s *Screen) Text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text()
}

func (s *Screen) text() string {
	rows := strings.Split(s.term.String(), "\n")
	for i, r := range rows {
		rows[i] = strings.TrimRight(r, " \r")
	}
	for len(rows) > 0 && rows[len(rows)-1] == "" {
		rows = rows[:len(rows)-1]
	}
	if len(rows) == 0 {
		return ""
	}
	return strings.Join(rows, "\n") + "\n"
}

// Written counts the bytes that were written so far.
func (s *Screen) Written() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.written
}

// Bells counts the bells that rang so far.
func (s *Screen) Bells() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bells
}

// AltScreen says whether the program is on the alternate screen.
func (s *Screen) AltScreen() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.term.IsAltScreen()
}

// Wait returns when ok holds for the screen's text, or with an error that shows the screen when ctx ends first.
func (s *Screen) Wait(ctx context.Context, what string, ok func(text string) bool) error {
	for {
		s.mu.Lock()
		text, changed, closed := s.text(), s.changed, s.closed
		s.mu.Unlock()
		if ok(text) {
			return nil
		}
		if closed {
			return fmt.Errorf("the program ended while waiting for %s; the last screen was:\n%s", what, text)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w; the screen is:\n%s", what, context.Cause(ctx), text)
		}
	}
}

// WaitText is Wait for a piece of text.
func (s *Screen) WaitText(ctx context.Context, want string) error {
	return s.Wait(ctx, fmt.Sprintf("%q", want), func(text string) bool { return strings.Contains(text, want) })
}
