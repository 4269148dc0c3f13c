package app

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"askback/forms"
	"askback/hostclient"
	"askback/internal/memnet"
	"askback/protocol"
)

// A Host that went away while a call ran is waited for as long as a restart takes, and not for ever.
func TestHostThatStaysAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var errs bytes.Buffer
		c := &caller{g: &globals{env: &env{stderr: &errs}}, answered: make(chan askedAnswer, 1)}
		events := make(chan hostclient.Event)
		waiting := hostclient.Connection{State: hostclient.StateWaiting, Cause: &hostclient.Error{Message: "the line was cut"}}
		told := make(chan struct{})
		go func() {
			defer close(told)
			events <- waiting
			time.Sleep(lostTime - time.Second)
			events <- hostclient.Connection{State: hostclient.StateReady}
			time.Sleep(time.Hour)
			for range 10 { // one try after the other
				events <- waiting
				time.Sleep(4 * time.Second)
			}
		}()
		began := time.Now()
		err := c.follow(t.Context(), events)
		f, ok := errors.AsType[*callFailure](err)
		if took := time.Since(began); !ok || f.code != "outcome_unknown" || took != lostTime-time.Second+time.Hour+lostTime {
			t.Errorf("after %v: %v", took, err)
		}
		if n := strings.Count(errs.String(), "the line was cut; connecting again\n"); n != 2 {
			t.Errorf("told %d times: %q", n, errs.String())
		}
		for over := false; !over; { // what is told after the end
			select {
			case <-events:
			case <-told:
				over = true
			}
		}
	})
}

// A Host that goes away while it is given an answer is waited for as long. Then nobody knows what became of the answer.
func TestHostThatStaysAwayWithAnAnswer(t *testing.T) {
	for name, cut := range map[string]bool{"cut": true, "silent": false} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			synctest.Test(t, func(t *testing.T) {
				e, err := openEmbedded(embeddedOptions{log: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
				defer e.close()
				var line *memnet.Conn
				v := hostclient.NewView(hostclient.Options{URL: "ws://embedded", Token: func() (string, error) { return e.clientToken, nil },
					NetDial: func(ctx context.Context, network, address string) (net.Conn, error) {
						if line != nil {
							return nil, syscall.ECONNREFUSED
						}
						c, err := e.dial(ctx, network, address)
						line, _ = c.(*memnet.Conn)
						return c, err
					}})
				defer v.Close()
				if err := v.Ready(t.Context()); err != nil {
					t.Fatal(err)
				}
				line.Silence()
				if cut {
					time.AfterFunc(time.Second, line.Cut)
				}
				c := &caller{g: &globals{env: &env{stderr: new(bytes.Buffer)}}, view: v}
				began := time.Now()
				err = c.send(t.Context(), protocol.Interaction{SessionID: "s", InteractionID: "i"}, forms.Decline())
				f, ok := errors.AsType[*callFailure](err)
				if took := time.Since(began); !ok || f.code != "outcome_unknown" || took != lostTime {
					t.Errorf("after %v: %v", took, err)
				}
			})
		})
	}
}

// That a command waits for the Host is said while it does, and not later.
func TestWaitingForTheHost(t *testing.T) {
	for _, c := range []struct {
		takes time.Duration
		says  string
	}{{0, ""}, {2 * quietTime, "askback: waiting for the Host …\n"}} {
		synctest.Test(t, func(t *testing.T) {
			var errs bytes.Buffer
			g := &globals{env: &env{stderr: &errs}}
			if err := g.awaitHost(t.Context(), func(context.Context) error { time.Sleep(c.takes); return nil }); err != nil {
				t.Error(err)
			}
			time.Sleep(2 * quietTime)
			synctest.Wait()
			if errs.String() != c.says {
				t.Errorf("ready after %v: %q", c.takes, errs.String())
			}
		})
	}
}

// What may hold a form is looked into, and a record that cannot be opened is not.
func TestMayWait(t *testing.T) {
	for name, c := range map[string]struct {
		item protocol.SessionItem
		want bool
	}{
		"running":      {protocol.SessionItem{Status: protocol.SessionRunning}, true},
		"waiting":      {protocol.SessionItem{Status: protocol.SessionWaitingForUser}, true},
		"a new status": {protocol.SessionItem{Status: "thinking"}, true},
		"active":       {protocol.SessionItem{Status: protocol.SessionActive}, false},
		"a Turn of it": {protocol.SessionItem{Status: protocol.SessionActive, LiveRunState: &protocol.LiveRunState{RunningTurnIDs: []string{"t"}}}, true},
		"no record":    {protocol.SessionItem{Kind: protocol.KindUnsupportedLegacyRecord, ID: "s"}, false},
	} {
		if got := mayWait(c.item); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A call that is given up while the Host cannot be told has an effect that nobody knows, whatever ended it.
func TestGivenUpWithoutAHost(t *testing.T) {
	for cause, want := range map[string]struct {
		code      string
		uncertain bool
	}{"cancelled": {"cancelled", true}, "connection_lost": {"outcome_unknown", false}, "input_required": {"input_required", false}} {
		synctest.Test(t, func(t *testing.T) {
			v := hostclient.NewView(hostclient.Options{URL: "ws://127.0.0.1:1", Token: func() (string, error) { return "t", nil },
				NetDial: func(context.Context, string, string) (net.Conn, error) { return nil, syscall.ECONNREFUSED }})
			defer v.Close()
			c := &caller{log: slog.New(slog.DiscardHandler), view: v, turn: protocol.TurnSnapshot{SessionID: "s", TurnID: "t", RunID: "r"}}
			f, ok := errors.AsType[*callFailure](c.giveUp(t.Context(), nil, &callFailure{code: cause, message: "m"}))
			if !ok || f.code != want.code || f.uncertain != want.uncertain {
				t.Errorf("%s: %+v", cause, f)
			}
		})
	}
}
