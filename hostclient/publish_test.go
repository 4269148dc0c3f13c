package hostclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"askback/hostclient"
	"askback/protocol"
)

// TestOlderRegistration: a call may name one that was replaced, until the Host releases it.
func TestOlderRegistration(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		prov, s, p, reg := published(t, h, h.options())
		running := p.runs(s, reg, "i0")
		go prov.Publish(t.Context(), offer("three"))
		next := p.registers()
		p.runs(s, reg, "i1") // tool one
		p.calls(next, "i2", "three")
		expect[*protocol.CapabilityAccepted](p)
		if running.ctx.Err() != nil {
			t.Error("a replace ended a running call")
		}
		p.send(&protocol.RegistrationRelease{RegistrationID: reg})
		p.calls(reg, "i3", "one")
		expect[*protocol.CapabilityRejected](p)
		p.calls(next, "i4", "three")
		expect[*protocol.CapabilityAccepted](p)
	})
}

func TestPublishing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		prov, _, p, reg := published(t, h, h.options())
		// Refused: it says why, and is not tried again on this connection.
		done := make(chan error, 1)
		go func() { done <- prov.Publish(t.Context(), offer("two")) }()
		in, id := request[*protocol.CapabilityReplaceInput](p)
		if in.RegistrationID == reg {
			t.Error("the registration id was used twice")
		}
		p.refuse(id, in.Operation(), protocol.CodeInvalidRequest)
		if err := <-done; hostclient.RefusalOf(err) != protocol.CodeInvalidRequest {
			t.Error(err)
		}
		await[hostclient.PublishFailed](t, prov, nil)
		// Not sendable: refused here.
		for name, bad := range map[string][]hostclient.Offer{
			"schema": {{OfferID: "o", Version: "1", Affinity: "session", HostPathAccess: "none", Label: "l", Tools: []hostclient.Tool{{ServerID: "s", Name: "t", InputSchema: json.RawMessage(`{"type":"object","$schema":"x"}`)}}}},
			"empty":  {{OfferID: "o", Version: "1", Affinity: "session", HostPathAccess: "none", Label: "l"}},
			"twice":  append(offer("one"), offer("one")...),
		} {
			if err := prov.Publish(t.Context(), bad); hostclient.CodeOf(err) != hostclient.CodeTooLarge {
				t.Errorf("%s: %v", name, err)
			}
		}
		// Taken back: what the Host holds is the last one that it took.
		go func() { done <- prov.Publish(t.Context(), nil) }()
		un, id := request[*protocol.CapabilityUnregisterInput](p)
		if un.RegistrationID != reg {
			t.Errorf("unregistered %s, want %s", un.RegistrationID, reg)
		}
		p.answer(id, un.Operation(), &protocol.CapabilityUnregisterResult{RegistrationID: reg, Revision: 2})
		if err := <-done; err != nil {
			t.Error(err)
		}
		p.silent()
	})
	t.Run("newest", func(t *testing.T) {
		bubble(t, func(t *testing.T) { // several wishes while one is under way: the last one counts
			h := newScripted(t)
			prov, _ := newProvider(t, h.options())
			done := make(chan error, 8)
			for i := range 5 { // before there is a connection
				go func() { done <- prov.Publish(t.Context(), offer(fmt.Sprint("tool", i))) }()
				synctest.Wait()
			}
			p := h.accepted()
			in, id := request[*protocol.CapabilityReplaceInput](p)
			if name := in.Offers[0].Tools[0].Name; name != "tool4" {
				t.Errorf("published %s", name)
			}
			p.answer(id, in.Operation(), &protocol.CapabilityReplaceResult{RegistrationID: in.RegistrationID, Revision: 1})
			for range 5 {
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
		})
	})
}

// TestCloseUnregistersFirst, and takes no further calls meanwhile; a Host that does not answer does not hold it up.
// TestCloseLetsAResultLeave: a result in chunks that was given before Close reaches the Host, unless that takes too long.
func TestCloseLetsAResultLeave(t *testing.T) {
	for name, released := range map[string]bool{"released": true, "never released": false} {
		inBubble(t, name, func(t *testing.T) {
			h := newScripted(t)
			prov, s, p, reg := published(t, h, h.options())
			inv := p.runs(s, reg, "i1")
			text := strings.Repeat("x", 40*protocol.ChunkBytes)
			if err := inv.Result(hostclient.ToolResult{Content: []hostclient.ContentBlock{{Type: "text", Text: text}}}); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second) // at no moment when a ping is due, whose pong might find the end first
			defer cancel()
			done := make(chan error, 1)
			go func() { done <- prov.Close(ctx) }()
			for left, withdrawn := 1, false; left > 0 || !withdrawn; { // in whatever order
				f, err := p.read()
				if err != nil {
					t.Fatalf("with %d bytes to come: %v", left, err)
				}
				switch f := f.(type) {
				case *protocol.Request:
					p.answer(f.RequestID, f.Input.Operation(), &protocol.CapabilityUnregisterResult{RegistrationID: reg, Revision: 2})
					withdrawn = true
				case *protocol.CapabilityResultStart:
					left = f.ByteLength
				case *protocol.CapabilityResultChunk:
					left -= len(f.Data)
				}
			}
			if released {
				p.send(&protocol.CapabilityRelease{InvocationID: "i1"})
			}
			if code := p.gone(); code != 1000 {
				t.Errorf("closed with %d", code)
			}
			if err := <-done; err != nil || ctx.Err() == nil != released {
				t.Errorf("%v, %v", err, ctx.Err())
			}
		})
	}
}

func TestCloseUnregistersFirst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		prov, s, p, reg := published(t, h, h.options())
		inv := p.runs(s, reg, "i1")
		done := make(chan error, 1)
		go func() { done <- prov.Close(t.Context()) }()
		un, id := request[*protocol.CapabilityUnregisterInput](p)
		p.calls(reg, "i2", "one")
		if f := expect[*protocol.CapabilityRejected](p); !strings.Contains(f.Message, "leaving") {
			t.Errorf("%+v", f)
		}
		if inv.ctx.Err() != nil {
			t.Error("the running call ended before the offers were taken back")
		}
		p.answer(id, un.Operation(), &protocol.CapabilityUnregisterResult{RegistrationID: reg, Revision: 2})
		if code := p.gone(); code != 1000 {
			t.Errorf("closed with %d", code)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if got := hostclient.CodeOf(context.Cause(inv.ctx)); got != hostclient.CodeClosed {
			t.Errorf("cause %s", got)
		}
	})
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		prov, _, _, _ := published(t, h, h.options())
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		if err := prov.Close(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 4*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		h.net.Refuse(true)
		prov, _ := newProvider(t, h.options())
		if err := prov.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestSuperseded: the connection of a provider that another one of its identity has replaced lives on, its late results
// are the Host's to ignore, and its next offers are refused.
func TestSuperseded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		prov, s, p, reg := published(t, h, h.options())
		inv := p.runs(s, reg, "i1")
		p.send(&protocol.RegistrationRelease{RegistrationID: reg})
		if e := await[hostclient.PublishFailed](t, prov, nil); hostclient.CodeOf(e.Err) != hostclient.CodeSuperseded {
			t.Errorf("%+v", e)
		}
		if err := inv.Result(text("late")); err != nil {
			t.Error(err)
		}
		expect[*protocol.CapabilityResult](p)
		done := make(chan error, 1)
		go func() { done <- prov.Publish(t.Context(), offer("two")) }()
		in, id := request[*protocol.CapabilityReplaceInput](p)
		p.refuse(id, in.Operation(), protocol.CodeInvalidRequest)
		if err := <-done; hostclient.RefusalOf(err) != protocol.CodeInvalidRequest {
			t.Error(err)
		}
		if err := prov.Publish(t.Context(), nil); err != nil { // there is nothing of ours to take back
			t.Error(err)
		}
		p.silent()
	})
}

// TestStartTurn goes to the provider's connection where that may start Turns, else to the view's.
func TestStartTurn(t *testing.T) {
	for name, c := range map[string]struct {
		refusal protocol.ErrorCode
		drop    bool
		view    bool
		away    bool // the view's connection is not there
		want    protocol.ErrorCode
	}{
		"allowed":            {},
		"not granted":        {refusal: protocol.CodeUnauthorized, view: true},
		"not served":         {refusal: protocol.CodeOperationUnavailable, view: true},
		"lost":               {drop: true, view: true},
		"lost, and no other": {drop: true, away: true},
		"refused there":      {refusal: protocol.CodeSessionBusy, want: protocol.CodeSessionBusy},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := newScripted(t)
				prov, _, pp, _ := published(t, h, h.options())
				v, vp := ready(t, h)
				if c.away {
					vp.drop()
					synctest.Wait()
				}
				done := make(chan error, 1)
				go func() {
					_, err := hostclient.StartTurn(t.Context(), v, prov, protocol.TurnStartInput{SessionID: "s1", TurnID: "t1", Content: protocol.Content{Text: "x"}})
					done <- err
				}()
				start := func(p *peer, refusal protocol.ErrorCode) {
					in, id := request[*protocol.TurnStartInput](p)
					if refusal != "" {
						p.refuse(id, in.Operation(), refusal)
						return
					}
					p.answer(id, in.Operation(), &protocol.TurnStartResult{Kind: protocol.KindStarted,
						Turn: &protocol.TurnSnapshot{SessionID: "s1", TurnID: in.TurnID, RunID: "r", Status: protocol.TurnRunning}})
				}
				if c.drop {
					request[*protocol.TurnStartInput](pp)
					pp.drop()
				} else {
					start(pp, c.refusal)
				}
				if c.view {
					start(vp, "")
				}
				err := <-done
				if c.away {
					if hostclient.CodeOf(err) != hostclient.CodeRequestLost {
						t.Errorf("it may have started: %v", err)
					}
					return
				}
				if hostclient.RefusalOf(err) != c.want || c.want == "" && err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestTakingBackWhatIsGone: a Host that says the registration is not ours has nothing left to take back.
func TestTakingBackWhatIsGone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		prov, _, p, _ := published(t, h, h.options())
		done := make(chan error, 1)
		go func() { done <- prov.Publish(t.Context(), nil) }()
		un, id := request[*protocol.CapabilityUnregisterInput](p)
		p.refuse(id, un.Operation(), protocol.CodeInvalidRequest)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
