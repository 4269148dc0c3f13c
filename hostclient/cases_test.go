package hostclient_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"askback/forms"
	"askback/hostclient"
	"askback/protocol"
)

// The known ways in which clients of this kind fail, where they are this package's to avoid. Others of them stand beside
// what they belong to.

func TestLargeFrames(t *testing.T) {
	for _, size := range []int{32_767, 32_768, 32_769, 65_535, 65_536, 200_000, protocol.MaxFrameBytes - 1, protocol.MaxFrameBytes, protocol.MaxFrameBytes + 1} {
		t.Run(fmt.Sprintf("TR-05 a message of %d bytes", size), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := newScripted(t)
				v, p := ready(t, h)
				const frame = `{"kind":"project.catalog.changed","revision":1}`
				p.raw(frame + strings.Repeat(" ", size-len(frame)))
				if size > protocol.MaxFrameBytes {
					if c := await(t, v, state(hostclient.StateWaiting)); c.Cause.Code != hostclient.CodeOversize {
						t.Error(c.Cause)
					}
					return
				}
				await[hostclient.CatalogChanged](t, v, nil)
			})
		})
	}
}

func TestDeadlinesOfCallers(t *testing.T) {
	for name, leave := range map[string]func(context.Context) (context.Context, context.CancelFunc){
		"deadline": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 200*time.Millisecond)
		},
		"cancelled": func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Millisecond, cancel)
			return ctx, cancel
		},
		"before": func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return ctx, cancel
		},
	} {
		t.Run("TR-06 "+name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := newScripted(t)
				v, p, head := showing(t, h, hostclient.ShowOptions{}, form("i1"))
				await[hostclient.InteractionPending](t, v, nil)
				for what, do := range map[string]func(context.Context) error{
					"a request": func(ctx context.Context) error { _, err := v.Session(ctx, "s1"); return err },
					"Next":      func(ctx context.Context) error { _, err := v.Next(ctx); return err },
					"a turn": func(ctx context.Context) error {
						_, err := v.StartTurn(ctx, protocol.TurnStartInput{SessionID: "s1", TurnID: "t", Content: protocol.Content{Text: "x"}})
						return err
					},
				} {
					ctx, cancel := leave(t.Context())
					if err := do(ctx); !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("%s: %v", what, err)
					}
					cancel()
				}
				p.projects(&head, revision(3))
				if e := await[hostclient.SessionChanged](t, v, nil); e.Snapshot.ProjectionRevision != 3 {
					t.Errorf("%+v", e)
				}
			})
		})
	}
}

// TestNothingIsAnsweredByItself: whatever happens to a form here, no answer is made up.
func TestNothingIsAnsweredByItself(t *testing.T) {
	for name, end := range map[string]func(*desk, *served){
		"HL-02 nobody looks":             func(d *desk, inv *served) {},
		"HL-02 the view leaves":          func(d *desk, inv *served) { d.v.Close() },
		"HL-02 the view is cut":          func(d *desk, inv *served) { d.vWire.conn().Cut() },
		"HL-02 the view hides":           func(d *desk, inv *served) { d.v.Hide("s1") },
		"HL-03 the provider is cut":      func(d *desk, inv *served) { d.pWire.conn().Cut() },
		"HL-03 the provider leaves":      func(d *desk, inv *served) { d.p.Close(d.t.Context()) },
		"HL-03 the Host stops":           func(d *desk, inv *served) { d.stop() },
		"HL-03 nobody answers for a day": func(d *desk, inv *served) { time.Sleep(25 * time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				d := newHosted(t).desk()
				d.turn("t1", "/call srv/one")
				inv := <-d.calls
				done := asking(inv, theForm())
				await[hostclient.InteractionPending](t, d.v, nil)
				end(d, inv)
				time.Sleep(time.Hour)
				select {
				case got := <-done:
					if got.err == nil || got.result.Action != "" {
						t.Errorf("the tool was told %+v", got)
					}
				default: // the form still waits
					if !strings.HasPrefix(name, "HL-02") {
						t.Error("the tool still waits")
					}
				}
			})
		})
	}
}

func TestNoFormsNoAsking(t *testing.T) {
	for name, opts := range map[string]func(hostclient.Options) hostclient.Options{"HL-01 epoch 39": dialect39, "HL-12 epoch 39": dialect39} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := newScripted(t)
				prov, s, p, reg := published(t, h, opts(h.options()))
				inv := p.runs(s, reg, "i1")
				if prov.CanAsk() || inv.CanAsk() {
					t.Error("says that it can ask")
				}
				got := <-asking(inv, theForm())
				if hostclient.CodeOf(got.err) != hostclient.CodeNoForms || got.result.Action != "" || !strings.Contains(got.err.Error(), "cannot show forms") {
					t.Errorf("%+v", got)
				}
			})
		})
	}
	t.Run("an answer in epoch 39 ends the connection", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			h := newScripted(t)
			prov, s, p, reg := published(t, h, dialect39(h.options()))
			p.runs(s, reg, "i1")
			p.raw(`{"kind":"client.capability.interaction_result","invocationId":"i1","interactionId":"q","result":{"action":"decline"}}`)
			if c := await(t, prov, state(hostclient.StateWaiting)); c.Cause.Code != hostclient.CodeProtocol {
				t.Error(c.Cause)
			}
		})
	})
}

// TestAFormComesThrough whatever else is going on: a call that blocks, a flood of progress, a session that nobody takes
// the events of.
func TestAFormComesThrough(t *testing.T) {
	t.Run("HL-06 while a request waits", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			h := newScripted(t)
			v, p, head := showing(t, h, hostclient.ShowOptions{})
			for range protocol.MaxRequestsInFlight + 10 {
				go v.Session(t.Context(), "s1") // none is answered
			}
			synctest.Wait()
			start := time.Now()
			p.projects(&head, snapshot("s1", form("i1")))
			await[hostclient.InteractionPending](t, v, nil)
			if took := time.Since(start); took > 100*time.Millisecond {
				t.Errorf("after %v", took)
			}
		})
	})
	t.Run("HL-08 under a flood", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			h := newScripted(t)
			v, p, head := showing(t, h, hostclient.ShowOptions{})
			for i := range 5000 {
				p.send(&protocol.SessionEvent{SubscriptionHeader: head, SessionID: "s1", RunID: "r",
					Event: protocol.ToolEvent{Type: protocol.EventToolStart, ID: "e", TurnID: "t", ToolUseID: fmt.Sprint("u", i), ToolName: "x"}})
				head.Sequence++
				if i == 2500 {
					p.projects(&head, snapshot("s1", form("i1")))
				}
			}
			synctest.Wait()
			for taken := 0; ; taken++ {
				e, err := v.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if _, ok := e.(hostclient.InteractionPending); ok {
					break
				}
				if taken > 1100 {
					t.Fatal("the form waits behind more than the queue may hold")
				}
			}
		})
	})
}

// TestSecretsStayOut: what a person answers, and the token, are in no log line, no error and no text of an event but the
// answer's own record.
func TestSecretsStayOut(t *testing.T) {
	t.Run("SE-04", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			const marker = "MARKER-1f0c"
			h := newScripted(t)
			var log lockedBuffer
			opts := h.options()
			opts.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug - 4}))
			v := newView(t, opts)
			p := h.accepted()
			var texts []string
			say := func(err error) {
				for ; err != nil; err = errors.Unwrap(err) {
					texts = append(texts, err.Error(), fmt.Sprintf("%+v %#v", err, err))
				}
			}
			say(v.Ready(t.Context()))
			for _, reply := range []func(string){
				func(id string) { p.refuse(id, protocol.OpInteractionAnswer, protocol.CodeOperationConflict) },
				func(id string) { p.refuse(id, protocol.OpInteractionAnswer, protocol.CodePersistenceFailed) },
				func(id string) { p.raw(`{"kind":"client.capability.x"}`) },
			} {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				done := make(chan error, 1)
				go func() {
					_, err := v.Answer(ctx, "s1", "i1", &protocol.FormAnswer{Result: says(marker)})
					done <- err
				}()
				_, id := request[*protocol.InteractionAnswerInput](p)
				reply(id)
				say(<-done)
				cancel()
			}
			_, err := v.Answer(t.Context(), "s1", "not an id", &protocol.FormAnswer{Result: says(marker)})
			say(err)
			say(v.Connection().Cause)
			v.Close()
			all := log.String() + strings.Join(texts, "\n")
			if strings.Contains(all, marker) || strings.Contains(all, token) || len(texts) < 8 {
				t.Errorf("a secret is in %s", all)
			}
		})
	})
	t.Run("SE-10 no token, no connection", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			h := newHosted(t)
			opts, _ := h.options()
			opts.Token = func() (string, error) { return strings.Repeat("x", len(h.token)), nil }
			if err := newView(t, opts).Ready(t.Context()); hostclient.CodeOf(err) != hostclient.CodeUnauthorized {
				t.Error(err)
			}
		})
	})
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// TestLateAnswers: an answer for a call that has lost its route is told as such, and the call of the next route is not
// touched.
func TestLateAnswers(t *testing.T) {
	t.Run("HL-09", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			d := newHosted(t).desk()
			d.turn("t1", "/call srv/one")
			first := <-d.calls
			asking(first, theForm())
			q := await[hostclient.InteractionPending](t, d.v, nil)
			d.pWire.conn().Cut()
			d.ends("t1", protocol.TurnCompleted)
			await(t, d.p, func(e hostclient.Published) bool { return true })
			time.Sleep(time.Minute)
			d.turn("t2", "/call srv/one")
			second := asking(<-d.calls, theForm())
			next := await[hostclient.InteractionPending](t, d.v, nil)
			in, err := d.v.Answer(t.Context(), "s1", q.Interaction.InteractionID, &protocol.FormAnswer{Result: says("late")})
			if hostclient.CodeOf(err) != hostclient.CodeAlreadyResolved || in.Status != protocol.InteractionClosed {
				t.Errorf("%+v, %v", in, err)
			}
			if len(second) != 0 {
				t.Error("the late answer reached another call")
			}
			if _, err := d.v.Answer(t.Context(), "s1", next.Interaction.InteractionID, &protocol.FormAnswer{Result: says("x")}); err != nil {
				t.Error(err)
			}
			if got := <-second; got.err != nil || !forms.Equivalent(got.result, says("x")) {
				t.Errorf("%+v", got)
			}
		})
	})
}
