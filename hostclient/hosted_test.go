package hostclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"askback/forms"
	"askback/host"
	"askback/host/access"
	"askback/hostclient"
	"askback/internal/memnet"
	"askback/protocol"
)

// hosted is our own Host on an in-memory network.
type hosted struct {
	t      *testing.T
	opt    host.Options
	token  string
	h      *host.Host
	served chan error

	mu  sync.Mutex // clients dial while a Host is replaced
	net *memnet.Listener
}

func newHosted(t *testing.T) *hosted {
	t.Helper()
	store := access.Ephemeral()
	token, err := store.Add("both", access.RoleBoth, 0)
	if err != nil {
		t.Fatal(err)
	}
	h := &hosted{t: t, token: token, opt: host.Options{Dir: t.TempDir(), Access: store, WorkDir: "/srv/project"}}
	h.start()
	t.Cleanup(h.stop)
	return h
}

func (h *hosted) start() {
	h.t.Helper()
	var err error
	if h.h, err = host.Open(h.opt); err != nil {
		h.t.Fatal(err)
	}
	l := memnet.Listen("host")
	h.mu.Lock()
	h.net, h.served = l, make(chan error, 1)
	h.mu.Unlock()
	go func() { h.served <- h.h.Serve(l) }()
}

func (h *hosted) stop() {
	if h.h == nil {
		return
	}
	h.h.Close()
	<-h.served
	h.h = nil
}

// wire is a dialer of one client's own, whose connections the test can cut.
type wire struct {
	h  *hosted
	mu sync.Mutex
	c  *memnet.Conn
}

func (w *wire) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	w.h.mu.Lock()
	l := w.h.net
	w.h.mu.Unlock()
	c, err := l.Dial(ctx)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.c = c.(*memnet.Conn)
	return c, nil
}

func (w *wire) conn() *memnet.Conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.c
}

func (h *hosted) options() (hostclient.Options, *wire) {
	w := &wire{h: h}
	return hostclient.Options{URL: "ws://host", NetDial: w.dial, InstanceID: "instance", Token: func() (string, error) { return h.token, nil }}, w
}

// desk is a view and a provider of one client, with a session that the view shows.
type desk struct {
	*hosted
	v     *hostclient.View
	p     *hostclient.Provider
	calls serving
	vWire *wire
	pWire *wire
}

func (h *hosted) desk() *desk {
	h.t.Helper()
	d := &desk{hosted: h}
	var opts hostclient.Options
	opts, d.vWire = h.options()
	d.v = newView(h.t, opts)
	opts, d.pWire = h.options()
	d.p, d.calls = newProvider(h.t, opts)
	for _, err := range []error{d.v.Ready(h.t.Context()), d.p.Ready(h.t.Context()), d.p.Publish(h.t.Context(), offer("one", "two"))} {
		if err != nil {
			h.t.Fatal(err)
		}
	}
	if _, err := d.v.CreateSession(h.t.Context(), protocol.SessionCreateInput{SessionID: "s1", Name: "desk", PermissionMode: protocol.PermissionBypass}); err != nil {
		h.t.Fatal(err)
	}
	if err := d.v.Show(h.t.Context(), "s1", hostclient.ShowOptions{Rows: true}); err != nil {
		h.t.Fatal(err)
	}
	return d
}

func (d *desk) turn(id string, lines ...string) {
	d.t.Helper()
	_, err := hostclient.StartTurn(d.t.Context(), d.v, d.p, protocol.TurnStartInput{SessionID: "s1", TurnID: id, Content: protocol.Content{Text: strings.Join(lines, "\n")}})
	if err != nil {
		d.t.Fatal(err)
	}
}

// ends waits until a Turn is terminal. It asks, since other waits drop the events that would tell.
func (d *desk) ends(id string, want protocol.TurnStatus) {
	d.t.Helper()
	for range 10_000 {
		turn, err := d.v.Turn(d.t.Context(), "s1", id)
		if err != nil {
			d.t.Fatal(err)
		}
		if turn.Status.Terminal() {
			if turn.Status != want {
				d.t.Errorf("Turn %s is %s, want %s", id, turn.Status, want)
			}
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	d.t.Fatalf("Turn %s does not end", id)
}

// resultRow waits for the tool_result row of a call.
func (d *desk) resultRow() hostclient.Row {
	d.t.Helper()
	for {
		e := await[hostclient.TranscriptRows](d.t, d.v, nil)
		if e.Err != nil {
			d.t.Fatal(e.Err)
		}
		for _, r := range e.Rows {
			if r.Type == protocol.RowToolResult {
				return r
			}
		}
	}
}

func TestJourney(t *testing.T) {
	inBubble(t, "HL-07 a person thinks for a day", func(t *testing.T) {
		d := newHosted(t).desk()
		d.turn("t1", `/call srv/one {"n":1}`)
		inv := <-d.calls
		if string(inv.Call().Arguments) != `{"n":1}` || inv.Call().ServerID != "srv" {
			t.Errorf("%+v", inv.Call())
		}
		inv.Progress(1, 3)
		e := await(t, d.v, func(e hostclient.ToolActivity) bool { return e.Event.Type == protocol.EventToolProgress })
		if e.Event.Chunk != "steps:1/3" {
			t.Errorf("%+v", e)
		}
		for _, want := range []forms.Result{says("a"), {Action: forms.ActionDecline}} {
			done := asking(inv, theForm())
			q := await[hostclient.InteractionPending](t, d.v, nil)
			form, ok := q.Interaction.Request.(*protocol.FormRequest)
			if !ok || form.Form.Message != "Which one?" {
				t.Fatalf("%+v", q)
			}
			time.Sleep(20 * time.Hour) // a person thinks
			in, err := d.v.Answer(t.Context(), "s1", q.Interaction.InteractionID, &protocol.FormAnswer{Result: want})
			if err != nil || in.Status != protocol.InteractionAnswered {
				t.Errorf("%+v, %v", in, err)
			}
			if got := <-done; got.err != nil || !forms.Equivalent(got.result, want) {
				t.Errorf("%+v, want %+v", got, want)
			}
			if s := await[hostclient.InteractionSettled](t, d.v, nil); !s.Ours || s.InteractionID != q.Interaction.InteractionID {
				t.Errorf("%+v", s)
			}
		}
		big := strings.Repeat("é", 200_000)
		if err := inv.Result(text(big)); err != nil {
			t.Fatal(err)
		}
		row := d.resultRow()
		if !strings.Contains(string(row.Raw), big[:1000]) || row.IsError == nil || *row.IsError {
			t.Errorf("row %.200s", row.Raw)
		}
		d.v.Hide("s1")
		if got, err := d.v.Turn(t.Context(), "s1", "t1"); err != nil || got.Status != protocol.TurnCompleted {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// TestViewIsCutWhileAFormIsPending: the call lives on, and the form is told again.
func TestViewIsCutWhileAFormIsPending(t *testing.T) {
	inBubble(t, "TR-09", func(t *testing.T) {
		d := newHosted(t).desk()
		d.turn("t1", "/call srv/one")
		inv := <-d.calls
		done := asking(inv, theForm())
		q := await[hostclient.InteractionPending](t, d.v, nil)
		d.vWire.conn().Cut()
		if again := await[hostclient.InteractionPending](t, d.v, nil); !again.Again || again.Interaction.InteractionID != q.Interaction.InteractionID {
			t.Errorf("%+v", again)
		}
		if _, err := d.v.Answer(t.Context(), "s1", q.Interaction.InteractionID, &protocol.FormAnswer{Result: says("a")}); err != nil {
			t.Error(err)
		}
		if got := <-done; got.err != nil {
			t.Error(got.err)
		}
		inv.Result(text("done"))
		d.ends("t1", protocol.TurnCompleted)
	})
}

// TestAnswerIntoAHalfOpenConnection: the answer never arrived, which the Host tells after the reconnect, and it is sent
// once more.
func TestAnswerIntoAHalfOpenConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := newHosted(t).desk()
		d.turn("t1", "/call srv/one")
		inv := <-d.calls
		done := asking(inv, theForm())
		q := await[hostclient.InteractionPending](t, d.v, nil)
		d.vWire.conn().Silence()
		start := time.Now()
		if _, err := d.v.Answer(t.Context(), "s1", q.Interaction.InteractionID, &protocol.FormAnswer{Result: says("a")}); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took > 47*time.Second {
			t.Errorf("the answer took %v", took)
		}
		if got := <-done; got.err != nil || !forms.Equivalent(got.result, says("a")) {
			t.Errorf("%+v", got)
		}
	})
}

// TestProviderIsCutWhileAFormIsPending: the form closes with the reason, and the offers are there again.
func TestProviderIsCutWhileAFormIsPending(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := newHosted(t).desk()
		d.turn("t1", "/call srv/one")
		inv := <-d.calls
		done := asking(inv, theForm())
		await[hostclient.InteractionPending](t, d.v, nil)
		await[hostclient.Published](t, d.p, nil)
		d.pWire.conn().Cut()
		if got := <-done; hostclient.CodeOf(got.err) != hostclient.CodeDropped {
			t.Errorf("%+v", got)
		}
		if s := await[hostclient.InteractionSettled](t, d.v, nil); !isClosure(protocol.ClosedProviderDisconnected)(s) {
			t.Errorf("%+v", s)
		}
		d.ends("t1", protocol.TurnCompleted)
		await[hostclient.Published](t, d.p, nil)
		d.turn("t2", "/call srv/two")
		(<-d.calls).Result(text("done"))
		d.ends("t2", protocol.TurnCompleted)
	})
}

// TestHostRestartsWhileAFormIsPending: when the client is back it tells that the Host's restart closed the form.
func TestHostRestartsWhileAFormIsPending(t *testing.T) {
	for name, drain := range map[string]bool{"killed": false, "drained": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				d := newHosted(t).desk()
				d.turn("t1", "/call srv/one")
				inv := <-d.calls
				asking(inv, theForm())
				q := await[hostclient.InteractionPending](t, d.v, nil)
				epoch := d.v.Connection().Host.HostEpoch
				if drain {
					if err := d.h.Shutdown(t.Context()); err != nil {
						t.Error(err)
					}
					<-d.served
				} else {
					d.net.Cut()
					d.net.Close()
					d.stop()
				}
				time.Sleep(3 * time.Minute)
				d.start()
				s := await[hostclient.InteractionSettled](t, d.v, nil)
				if s.InteractionID != q.Interaction.InteractionID {
					t.Errorf("%+v", s)
				}
				if want := protocol.ClosedHostRestarted; drain && !isClosure(want)(s) {
					t.Errorf("%+v", s.Interaction.Outcome)
				}
				if err := d.v.Ready(t.Context()); err == nil && d.v.Connection().Host.HostEpoch == epoch && !drain {
					t.Error("the epoch is the same")
				}
				<-inv.ctx.Done()
			})
		})
	}
}

// TestTwoViewsAnswerAtOnce: one wins, and both learn the canonical outcome.
func TestTwoViewsAnswerAtOnce(t *testing.T) {
	inBubble(t, "TR-11", func(t *testing.T) {
		d := newHosted(t).desk()
		opts, _ := d.options()
		other := newView(t, opts)
		if err := errors.Join(other.Ready(t.Context()), other.Show(t.Context(), "s1", hostclient.ShowOptions{})); err != nil {
			t.Fatal(err)
		}
		d.turn("t1", "/call srv/one")
		inv := <-d.calls
		done := asking(inv, theForm())
		views := []*hostclient.View{d.v, other}
		results := make([]<-chan answerResult, 2)
		for i, v := range views {
			q := await[hostclient.InteractionPending](t, v, nil)
			results[i] = answering(v, q.Interaction.InteractionID, fmt.Sprint("from ", i))
		}
		won := 0
		for i, r := range results {
			got := <-r
			if got.err == nil {
				won++
			} else if hostclient.CodeOf(got.err) != hostclient.CodeAlreadyResolved {
				t.Errorf("view %d: %v", i, got.err)
			}
			s := await[hostclient.InteractionSettled](t, views[i], nil)
			o, ok := s.Interaction.Outcome.(*protocol.FormOutcome)
			if !ok || s.Ours != (got.err == nil) {
				t.Errorf("view %d: %+v", i, s)
				continue
			}
			if a := got.in.Outcome.(*protocol.FormOutcome); !forms.Equivalent(a.Result, o.Result) {
				t.Errorf("view %d was told two outcomes", i)
			}
		}
		if won != 1 {
			t.Errorf("%d won", won)
		}
		if got := <-done; got.err != nil {
			t.Error(got.err)
		}
	})
}

// TestStopInEachPhase: the tool learns of it, the form closes, the Turn is cancelled.
func TestStopInEachPhase(t *testing.T) {
	for _, phase := range []string{"running", "awaiting", "chunks"} {
		t.Run(phase, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				d := newHosted(t).desk()
				d.turn("t1", "/call srv/one")
				inv := <-d.calls
				switch phase {
				case "awaiting":
					asking(inv, theForm())
					await[hostclient.InteractionPending](t, d.v, nil)
				case "chunks":
					d.pWire.conn().Silence()
					inv.Result(text(strings.Repeat("x", 20<<20)))
					synctest.Wait()
				}
				turn, err := d.v.Turn(t.Context(), "s1", "t1")
				if err != nil {
					t.Fatal(err)
				}
				stopped, err := d.v.StopTurn(t.Context(), "s1", "t1", turn.RunID)
				if err != nil || stopped.Status != protocol.TurnCancelled {
					t.Errorf("%+v, %v", stopped, err)
				}
				if phase == "chunks" {
					d.pWire.conn().Resume()
				}
				<-inv.ctx.Done()
				if got := hostclient.CodeOf(context.Cause(inv.ctx)); got != hostclient.CodeCancelled {
					t.Errorf("cause %s", got)
				}
				if phase == "awaiting" {
					if s := await[hostclient.InteractionSettled](t, d.v, nil); !isClosure(protocol.ClosedTurnStopped)(s) {
						t.Errorf("%+v", s)
					}
				}
				// The connection has survived it.
				d.turn("t2", "/call srv/two")
				(<-d.calls).Result(text("done"))
				d.ends("t2", protocol.TurnCompleted)
			})
		})
	}
}

// TestEightCallsAtOnce with a form each and results in chunks.
func TestEightCallsAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := newHosted(t).desk()
		var lines []string
		for i := range protocol.MaxActiveInvocations {
			lines = append(lines, fmt.Sprintf(`/call srv/one {"n":%d}`, i))
		}
		d.turn("t1", lines...)
		for range lines {
			inv := <-d.calls
			go func() {
				var args struct{ N int }
				json.Unmarshal(inv.Call().Arguments, &args)
				for i := range 50 {
					inv.Progress(float64(i), 50)
					time.Sleep(10 * time.Millisecond)
				}
				r, err := inv.Ask(inv.ctx, theForm())
				if err != nil {
					t.Error(err)
				}
				inv.Result(text(strings.Repeat(r.Values["which"].Text(), 300_000)))
			}()
		}
		for range lines {
			q := await[hostclient.InteractionPending](t, d.v, nil)
			if _, err := d.v.Answer(t.Context(), "s1", q.Interaction.InteractionID, &protocol.FormAnswer{Result: says("x")}); err != nil {
				t.Error(err)
			}
		}
		d.ends("t1", protocol.TurnCompleted)
	})
}

// TestEpoch39Host: against a Host of the other epoch everything works but forms.
func TestEpoch39(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newHosted(t)
		opts, _ := h.options()
		p, calls := newProvider(t, dialect39(opts))
		v := newView(t, opts)
		if err := errors.Join(p.Publish(t.Context(), offer("one")), v.Ready(t.Context())); err != nil {
			t.Fatal(err)
		}
		if _, err := v.CreateSession(t.Context(), protocol.SessionCreateInput{SessionID: "s1", PermissionMode: protocol.PermissionBypass}); err != nil {
			t.Fatal(err)
		}
		if _, err := v.StartTurn(t.Context(), protocol.TurnStartInput{SessionID: "s1", TurnID: "t1", Content: protocol.Content{Text: "/call srv/one"}}); err != nil {
			t.Fatal(err)
		}
		inv := <-calls
		if inv.CanAsk() || p.CanAsk() {
			t.Error("forms in epoch 39")
		}
		if _, err := inv.Ask(t.Context(), theForm()); hostclient.CodeOf(err) != hostclient.CodeNoForms {
			t.Error(err)
		}
		if err := inv.Fail("no_handler: this Host cannot show forms"); err != nil {
			t.Error(err)
		}
	})
}

// TestRevoked: a revoked token ends the connection and is not tried again.
func TestRevoked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newHosted(t)
		opts, _ := h.options()
		v := newView(t, opts)
		if err := v.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := h.opt.Access.Revoke("both"); err != nil {
			t.Fatal(err)
		}
		if c := await(t, v, state(hostclient.StateRefused)); c.Cause.Code != hostclient.CodeUnauthorized {
			t.Errorf("%+v", c)
		}
	})
}
