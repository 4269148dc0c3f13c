package screen

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTextIsWhatIsSeen(t *testing.T) {
	s := New(20, 4)
	defer s.Close()
	s.Write([]byte("one  \r\n\x1b[31mtwo\x1b[0m \u6f22x\x1b[6n\a"))
	if got, want := s.Text(), "one\ntwo \u6f22x\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if s.Bells() != 1 {
		t.Errorf("%d bells", s.Bells())
	}
	s.Write([]byte("\x1b[?1049h\x1b[Halt"))
	if !s.AltScreen() || s.Text() != "alt\n" {
		t.Errorf("alternate screen %v: %q", s.AltScreen(), s.Text())
	}
}

func TestWaitSeesLaterWrites(t *testing.T) {
	s := New(20, 2)
	defer s.Close()
	found := make(chan error, 1)
	go func() { found <- s.WaitText(t.Context(), "here") }()
	for _, p := range []string{"he", "re"} {
		s.Write([]byte(p))
	}
	if err := <-found; err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := s.WaitText(ctx, "never"); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "here") {
		t.Fatalf("got %v", err)
	}
}

func TestWaitEndsWithTheScreen(t *testing.T) {
	s := New(10, 2)
	ended := make(chan error, 1)
	go func() { ended <- s.WaitText(t.Context(), "x") }()
	s.Close()
	if err := <-ended; err == nil {
		t.Fatal("no error")
	}
	if _, err := s.Write([]byte("x")); err == nil {
		t.Fatal("write after close")
	}
}
