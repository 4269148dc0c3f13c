package tui

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"askback/tui/hostview"
	"askback/tui/theme"
)

// Run ends everything that it has started, however it ends.
func TestRunLeavesNothing(t *testing.T) {
	for _, tc := range []struct {
		name string
		end  func(in *io.PipeWriter, cancel func())
		want Reason
	}{
		{"quit", func(in *io.PipeWriter, _ func()) { io.WriteString(in, "\x11") }, ReasonQuit},
		{"cancelled", func(_ *io.PipeWriter, cancel func()) { cancel() }, ReasonSignal},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ignore := goleak.IgnoreCurrent()
			in, pipe := io.Pipe()
			defer in.Close()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			started := make(chan struct{})
			var once sync.Once
			logs := make(chan hostview.LogEntry, 1)
			logs <- hostview.LogEntry{Text: "a line"}
			o := Options{Backend: newFakeHost(), Servers: demoServers(), Theme: theme.New(theme.Dark), Logs: logs,
				Terminal: &Terminal{Input: in, Output: io.Discard, Width: 80, Height: 24},
				Watch:    func(Watched) { once.Do(func() { close(started) }) }}
			go func() { <-started; tc.end(pipe, cancel) }()
			out, err := Run(ctx, o)
			if err != nil || out.Reason != tc.want {
				t.Errorf("ended with %+v, %v", out, err)
			}
			in.Close()
			goleak.VerifyNone(t, ignore, goleak.IgnoreAnyFunction("github.com/charmbracelet/x/vt.(*Emulator).Read"))
		})
	}
}

func TestRunNeedsABackend(t *testing.T) {
	if out, err := Run(t.Context(), Options{}); err == nil || out.Reason != ReasonFailed {
		t.Errorf("%+v, %v", out, err)
	}
}

// A Backend that gives up ends the program with its error.
func TestRunFailsWithItsBackend(t *testing.T) {
	in, _ := io.Pipe()
	defer in.Close()
	bad := errors.New("no way")
	out, err := Run(t.Context(), Options{Backend: failing{newFakeHost(), bad}, Theme: theme.New(theme.Dark),
		Terminal: &Terminal{Input: in, Output: io.Discard, Width: 80, Height: 24}})
	if !errors.Is(err, bad) || out.Reason != ReasonFailed {
		t.Errorf("%+v, %v", out, err)
	}
}

type failing struct {
	*fakeHost
	err error
}

func (f failing) Run(context.Context, func(hostview.Event)) error { return f.err }

// A start that is under way when the program ends is waited for, and its Turn stopped.
func TestStartedTurnsAreStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := hostview.NewStarted(), newFakeHost()
		go s.Start(func() (hostview.Turn, error) {
			time.Sleep(time.Second)
			return h.Start(t.Context(), "s1", "text")
		})
		synctest.Wait()
		if !s.Busy() {
			t.Error("a start under way is nothing")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if got := s.StopAll(ctx, h); len(got) != 1 || h.count("stop t1") != 1 {
			t.Errorf("stopped %v, calls %v", got, h.calls)
		}
		// One that ended while another session was open is told by the list of sessions, which may be older than it.
		s = hostview.NewStarted()
		_, _ = s.Start(func() (hostview.Turn, error) {
			return hostview.Turn{SessionID: "s1", TurnID: "t1", Status: "running"}, nil
		})
		for _, c := range []struct {
			status, open string
			busy         bool
		}{{"active", "s2", true}, {"running", "s2", true}, {"active", "s1", true}, {"waiting_for_user", "s2", true}, {"aborted", "s2", false}} {
			s.SawSessions([]hostview.Session{{ID: "s1", Status: c.status}, {ID: "s2", Status: "active"}}, c.open)
			if s.Busy() != c.busy {
				t.Errorf("after %s with %s open: busy is %v", c.status, c.open, s.Busy())
			}
		}
		// A Turn that the Host ended before its start was answered is not kept.
		s = hostview.NewStarted()
		_, _ = s.Start(func() (hostview.Turn, error) {
			s.Saw(hostview.Turn{TurnID: "t9", Status: "completed"})
			return hostview.Turn{TurnID: "t9", Status: "running"}, nil
		})
		if s.Busy() {
			t.Error("an ended Turn is kept")
		}
	})
}

// The pump loses nothing and keeps the order, however slow the program is.
func TestPump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPump()
		ctx, cancel := context.WithCancel(t.Context())
		var got []string
		batches := 0
		done := make(chan struct{})
		go func() {
			defer close(done)
			p.run(ctx, func(b []hostview.Event) {
				batches++
				time.Sleep(10 * time.Millisecond)
				for _, e := range b {
					got = append(got, e.(hostview.Removed).SessionID)
				}
			})
		}()
		var want []string
		for i := range 1000 {
			s := itoa(i)
			want = append(want, s)
			p.put(hostview.Removed{SessionID: s})
			if i%100 == 0 {
				time.Sleep(time.Millisecond)
			}
		}
		time.Sleep(time.Second)
		cancel()
		<-done
		if strings.Join(got, " ") != strings.Join(want, " ") || batches > 20 {
			t.Errorf("%d events in %d batches", len(got), batches)
		}
	})
}
