package hostclient_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"askback/hostclient"
	"askback/protocol"
)

// showing is a View that shows session s1 on the returned peer.
func showing(t *testing.T, h *scripted, opts hostclient.ShowOptions, pending ...protocol.Interaction) (*hostclient.View, *peer, protocol.SubscriptionHeader) {
	t.Helper()
	v, p := ready(t, h)
	shown := make(chan error, 1)
	go func() { shown <- v.Show(t.Context(), "s1", opts) }()
	head := p.opens("sub-1", snapshot("s1", pending...))
	if err := <-shown; err != nil {
		t.Fatal(err)
	}
	await[hostclient.SessionOpened](t, v, nil)
	return v, p, head
}

func (p *peer) closesSub(want string) {
	p.t.Helper()
	in, id := request[*protocol.SubscriptionCloseInput](p)
	if in.SubscriptionID != want {
		p.t.Errorf("closed %s, want %s", in.SubscriptionID, want)
	}
	p.answer(id, in.Operation(), &protocol.SubscriptionCloseResult{SubscriptionID: in.SubscriptionID})
}

// reopens reads a close of one subscription and an open, which come in either order, and answers both.
func (p *peer) reopens(old, subscription string, s protocol.Snapshot) protocol.SubscriptionHeader {
	p.t.Helper()
	for range 2 {
		r := expect[*protocol.Request](p)
		switch in := r.Input.(type) {
		case *protocol.SubscriptionCloseInput:
			if in.SubscriptionID != old {
				p.t.Errorf("closed %s, want %s", in.SubscriptionID, old)
			}
			p.answer(r.RequestID, r.Operation, &protocol.SubscriptionCloseResult{SubscriptionID: old})
		case *protocol.SubscriptionOpenInput:
			p.answer(r.RequestID, r.Operation, &protocol.SubscriptionOpenResult{HostEpoch: p.h.epoch, SubscriptionID: subscription,
				NextSequence: 1, Snapshot: s, ActiveAssistantStreams: []protocol.AssistantStream{}})
		default:
			p.t.Fatalf("got %s, want a close and an open", r.Operation)
		}
	}
	return protocol.SubscriptionHeader{HostEpoch: p.h.epoch, SubscriptionID: subscription, Sequence: 1}
}

func revision(n int64) protocol.Snapshot {
	s := snapshot("s1")
	s.ProjectionRevision = n
	return s
}

func (p *peer) projects(h *protocol.SubscriptionHeader, s protocol.Snapshot) {
	p.t.Helper()
	p.send(&protocol.SessionProjection{SubscriptionHeader: *h, Snapshot: s})
	h.Sequence++
}

func TestAGapOpensAnew(t *testing.T) {
	for name, jump := range map[string]int64{"gap": 2, "repeat": -1, "zero": -100} {
		bubble(t, func(t *testing.T) {
			h := newScripted(t)
			v, p, head := showing(t, h, hostclient.ShowOptions{})
			p.projects(&head, revision(1))
			await[hostclient.SessionChanged](t, v, nil)
			head.Sequence = max(0, head.Sequence+jump)
			p.projects(&head, revision(99))
			p.projects(&head, revision(100)) // of the subscription that is given up
			next := p.reopens("sub-1", "sub-2", revision(2))
			e := await[hostclient.SessionOpened](t, v, nil)
			if !e.Again || e.Snapshot.ProjectionRevision != 2 {
				t.Errorf("%s: %+v", name, e)
			}
			p.projects(&next, revision(3))
			if e := await[hostclient.SessionChanged](t, v, nil); e.Snapshot.ProjectionRevision != 3 {
				t.Errorf("%s: %+v", name, e)
			}
		})
	}
}

func TestSlowConsumerOpensAnew(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		v, p, head := showing(t, h, hostclient.ShowOptions{})
		p.send(&protocol.SubscriptionClosed{SubscriptionHeader: head, Reason: protocol.ClosedSlowConsumer})
		p.opens("sub-2", revision(5))
		if e := await[hostclient.SessionOpened](t, v, nil); e.Snapshot.ProjectionRevision != 5 {
			t.Errorf("%+v", e)
		}
	})
}

func TestReopeningBacksOff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		_, p, head := showing(t, h, hostclient.ShowOptions{})
		start := time.Now()
		const rounds = 12
		for i := range rounds {
			p.send(&protocol.SubscriptionClosed{SubscriptionHeader: head, Reason: protocol.ClosedSlowConsumer})
			head = p.opens(fmt.Sprint("again-", i), snapshot("s1"))
		}
		if took := time.Since(start); took < 30*time.Second || took > 3*time.Minute {
			t.Errorf("%d opens in %v", rounds, took)
		}
	})
}

func TestSessionRemoved(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		v, p, head := showing(t, h, hostclient.ShowOptions{}, form("i1"))
		p.send(&protocol.SubscriptionClosed{SubscriptionHeader: head, Reason: protocol.ClosedSessionRemoved})
		e := await[hostclient.SessionClosed](t, v, nil)
		if e.Reason != protocol.ClosedSessionRemoved || e.Err != nil {
			t.Errorf("%+v", e)
		}
		in, id := request[*protocol.InteractionQueryInput](p)
		p.refuse(id, in.Operation(), protocol.CodeNotFound)
		if e := await[hostclient.InteractionSettled](t, v, nil); !e.Gone || e.InteractionID != "i1" {
			t.Errorf("%+v", e)
		}
		p.drop()
		p = h.accepted()
		p.silent() // it is not opened again
		if err := v.Ready(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestFrameTolerance: what only shows may hold what we do not know; what is acted on may not.
func TestFrameTolerance(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		v, p, _ := showing(t, h, hostclient.ShowOptions{})
		frame := func(seq int, kind, rest string) string {
			return fmt.Sprintf(`{"kind":%q,"hostEpoch":"epoch-1","subscriptionId":"sub-1","sequence":%d%s}`, kind, seq, rest)
		}
		p.raw(frame(1, "subscription.agent_graph_changed", `,"graph":[1,2]`))
		p.raw(frame(2, "subscription.session_event", `,"sessionId":"s1","runId":"r","event":{"type":"tool_dance","id":"e","turnId":"t","ts":1,"toolUseId":"u","steps":[]}`))
		p.raw(frame(3, "subscription.session_domain_changed", `,"sessionId":"s1","domain":"weather","new":true`))
		if e := await[hostclient.DomainChanged](t, v, nil); e.Domain != "weather" {
			t.Errorf("%+v", e)
		}
		text := encoded(t, &protocol.SessionProjection{SubscriptionHeader: protocol.SubscriptionHeader{HostEpoch: "epoch-1", SubscriptionID: "sub-1", Sequence: 4}, Snapshot: revision(8)})
		p.raw(strings.Replace(text, `"goal":null`, `"goal":null,"mood":{"a":[1]}`, 1))
		if e := await[hostclient.SessionChanged](t, v, nil); e.Snapshot.ProjectionRevision != 8 {
			t.Errorf("%+v", e)
		}
	})
}

func encoded(t *testing.T, f protocol.HostFrame) string {
	data, err := protocol.Encode(f, protocol.Dialect81)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestForeignFrames: a frame of another epoch or session is the Host's violation, one of a subscription that we gave up
// is not.
func TestForeignFrames(t *testing.T) {
	for name, c := range map[string]struct {
		send func(*peer, protocol.SubscriptionHeader)
		bad  bool
	}{
		"other epoch": {func(p *peer, h protocol.SubscriptionHeader) {
			h.HostEpoch = "other"
			p.projects(&h, revision(1))
		}, true},
		"other session": {func(p *peer, h protocol.SubscriptionHeader) { p.projects(&h, snapshot("s2")) }, true},
		"given up": {func(p *peer, h protocol.SubscriptionHeader) {
			h.SubscriptionID = "old"
			p.projects(&h, revision(1))
		}, false},
	} {
		bubble(t, func(t *testing.T) {
			h := newScripted(t)
			v, p, head := showing(t, h, hostclient.ShowOptions{})
			c.send(p, head)
			synctest.Wait()
			if got := v.Connection(); c.bad != (got.State == hostclient.StateWaiting && got.Cause.Code == hostclient.CodeProtocol) {
				t.Errorf("%s: %+v", name, got)
			}
		})
	}
}

func TestRefusedShow(t *testing.T) {
	for _, code := range []protocol.ErrorCode{protocol.CodeNotFound, protocol.CodeInternalFailure, protocol.CodeOperationConflict, protocol.CodeUnauthorized} {
		bubble(t, func(t *testing.T) {
			h := newScripted(t)
			v, p := ready(t, h)
			shown := make(chan error, 1)
			go func() { shown <- v.Show(t.Context(), "s1", hostclient.ShowOptions{}) }()
			in, id := request[*protocol.SubscriptionOpenInput](p)
			p.refuse(id, in.Operation(), code)
			if err := <-shown; hostclient.RefusalOf(err) != code {
				t.Errorf("%s: %v", code, err)
			}
			go func() { shown <- v.Show(t.Context(), "s1", hostclient.ShowOptions{}) }() // it was not kept
			p.opens("sub-1", snapshot("s1"))
			if err := <-shown; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestHide(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		v, p, _ := showing(t, h, hostclient.ShowOptions{})
		v.Hide("s1")
		p.closesSub("sub-1")
		p.drop()
		p = h.accepted()
		p.silent()
		if err := v.Ready(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestReconnectOpensAgain: after a loss every shown session is opened again, and what is pending is told again, once.
func TestReconnectOpensAgain(t *testing.T) {
	inBubble(t, "TR-09", func(t *testing.T) {
		h := newScripted(t)
		v, p, head := showing(t, h, hostclient.ShowOptions{}, form("i1"))
		if e := await[hostclient.InteractionPending](t, v, nil); e.Again || e.Interaction.InteractionID != "i1" {
			t.Errorf("%+v", e)
		}
		p.projects(&head, snapshot("s1", form("i1"))) // told already
		p.drop()
		p = h.accepted()
		p.opens("sub-9", snapshot("s1", form("i1"), form("i2")))
		if e := await[hostclient.SessionOpened](t, v, nil); !e.Again {
			t.Errorf("%+v", e)
		}
		for _, want := range []struct {
			id    string
			again bool
		}{{"i1", true}, {"i2", false}} {
			e := await[hostclient.InteractionPending](t, v, nil)
			if e.Interaction.InteractionID != want.id || e.Again != want.again {
				t.Errorf("%+v, want %+v", e, want)
			}
		}
	})
}

// TestWhoeverDoesNotTakeEvents loses text and keeps facts: the reader goes on, memory is bounded, no Interaction is lost,
// and the session is opened anew once the rest has been taken.
func TestWhoeverDoesNotTakeEvents(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		v, p, head := showing(t, h, hostclient.ShowOptions{})
		offset := int64(0)
		text := strings.Repeat("x", 10_000)
		for i := range 300 {
			p.send(&protocol.SessionDelta{SubscriptionHeader: head, SessionID: "s1", Delta: protocol.Delta{Kind: protocol.DeltaText,
				TurnID: "t", RunID: "r", MessageID: "m", StartOffset: offset, Text: text}})
			offset += int64(len(text))
			head.Sequence++
			if i == 250 {
				p.projects(&head, snapshot("s1", form("i1")))
			}
			synctest.Wait()
		}
		if err := answers(p, get(v, "s")); err != nil { // the reader still reads
			t.Fatal(err)
		}
		if e := await[hostclient.InteractionPending](t, v, nil); e.Interaction.InteractionID != "i1" {
			t.Errorf("%+v", e)
		}
		reopened := make(chan struct{})
		go func() {
			defer close(reopened)
			p.reopens("sub-1", "sub-2", snapshot("s1", form("i1")))
		}()
		defer func() { <-reopened }() // it may still wait for the close when the session is open
		await[hostclient.SessionOpened](t, v, nil)
		if e := await[hostclient.InteractionPending](t, v, nil); !e.Again {
			t.Errorf("%+v", e)
		}
	})
}

// answers answers the get that was just asked.
func answers(p *peer, done <-chan error) error {
	in, id := request[*protocol.SessionCatalogQueryInput](p)
	p.givesSession(id, in.SessionID)
	return <-done
}

func TestDeltasAreJoined(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		v, p, head := showing(t, h, hostclient.ShowOptions{})
		delta := func(message string, offset int64, text string) {
			p.send(&protocol.SessionDelta{SubscriptionHeader: head, SessionID: "s1", Delta: protocol.Delta{Kind: protocol.DeltaText,
				TurnID: "t", RunID: "r", MessageID: message, StartOffset: offset, Text: text}})
			head.Sequence++
		}
		delta("m1", 0, "a😀")
		delta("m1", 3, "b") // UTF-16 units
		delta("m2", 0, "c")
		delta("m2", 5, "d") // not where the last one ended
		synctest.Wait()
		for _, want := range []string{"a😀b", "c", "d"} {
			if e := await[hostclient.SessionDelta](t, v, nil); e.Delta.Text != want {
				t.Errorf("got %q, want %q", e.Delta.Text, want)
			}
		}
	})
}

func TestPeek(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		v, p := ready(t, h)
		done := make(chan *protocol.Snapshot, 1)
		go func() {
			s, err := v.Peek(t.Context(), "s1")
			if err != nil {
				t.Error(err)
			}
			done <- s
		}()
		head := p.opens("sub-1", snapshot("s1", form("i1")))
		p.projects(&head, snapshot("s1")) // under way while it is closed
		p.closesSub("sub-1")
		if s := <-done; s == nil || len(s.Interactions.Pending) != 1 {
			t.Errorf("%+v", s)
		}
		p.silent()
	})
}

// TestPeekAtTheBeginning: what is opened before the View has taken notice of its connection is given back as well.
func TestPeekAtTheBeginning(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		v, p := ready(t, h)
		synctest.Wait()
		hostclient.Untold(v)
		done := make(chan error, 1)
		go func() { _, err := v.Peek(t.Context(), "s1"); done <- err }()
		p.opens("sub-1", snapshot("s1"))
		p.closesSub("sub-1")
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestShowGivenUp: a subscription that opens after its caller has left is given back, and one that is asked for meanwhile
// is another.
func TestShowGivenUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		v, p := ready(t, h)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		left := make(chan error, 1)
		go func() { left <- v.Show(ctx, "s1", hostclient.ShowOptions{}) }()
		_, first := request[*protocol.SubscriptionOpenInput](p)
		if err := <-left; !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		shown := make(chan error, 1)
		go func() { shown <- v.Show(t.Context(), "s1", hostclient.ShowOptions{}) }()
		_, second := request[*protocol.SubscriptionOpenInput](p)
		open := func(id, sub string) {
			p.answer(id, protocol.OpSubscriptionOpen, &protocol.SubscriptionOpenResult{HostEpoch: p.h.epoch, SubscriptionID: sub,
				NextSequence: 1, Snapshot: revision(int64(len(sub))), ActiveAssistantStreams: []protocol.AssistantStream{}})
		}
		open(first, "late")
		p.closesSub("late")
		open(second, "in time")
		if err := <-shown; err != nil {
			t.Error(err)
		}
		if e := await[hostclient.SessionOpened](t, v, nil); e.Again || e.Snapshot.ProjectionRevision != int64(len("in time")) {
			t.Errorf("%+v", e)
		}
	})
}
