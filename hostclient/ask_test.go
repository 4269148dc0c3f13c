package hostclient_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"askback/forms"
	"askback/hostclient"
	"askback/protocol"
)

func theForm() forms.Form {
	return forms.Form{Message: "Which one?", Requester: forms.Requester{Name: "one", Source: "srv · via askback"},
		Fields: []forms.Field{{Kind: forms.KindString, Name: "which", Label: "Which", Required: true}}}
}

type asked struct {
	result forms.Result
	err    error
}

func asking(inv *served, form forms.Form) <-chan asked {
	done := make(chan asked, 1)
	go func() {
		r, err := inv.Ask(context.Background(), form)
		done <- asked{r, err}
	}()
	return done
}

func TestAsk(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		_, s, p, reg := published(t, h, h.options())
		inv := p.runs(s, reg, "i1")
		seen := map[string]bool{}
		for _, want := range []forms.Result{says("a"), {Action: forms.ActionDecline}, {Action: forms.ActionCancel}} {
			done := asking(inv, theForm())
			q := expect[*protocol.InteractionRequest](p)
			if q.InvocationID != "i1" || seen[q.InteractionID] || q.Form.Message != "Which one?" {
				t.Errorf("%+v", q)
			}
			seen[q.InteractionID] = true
			// A person thinks for a day and more; the tool may say how far it is.
			time.Sleep(26 * time.Hour)
			inv.Progress(float64(len(seen)), 10)
			if f := expect[*protocol.CapabilityProgress](p); f.Current != len(seen) {
				t.Errorf("%+v", f)
			}
			p.send(&protocol.InteractionResult{InvocationID: "i1", InteractionID: q.InteractionID, Result: want})
			got := <-done
			if got.err != nil || !forms.Equivalent(got.result, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		}
		inv.Result(text("done"))
		expect[*protocol.CapabilityResult](p)
	})
}

// TestAskRules: one form at a time, only where forms exist, only a form that the contract allows; each is refused here,
// and nothing goes out.
func TestAskRules(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		_, s, p, reg := published(t, h, h.options())
		inv := p.runs(s, reg, "i1")
		bad := theForm()
		bad.Fields = append(bad.Fields, bad.Fields[0])
		if got := <-asking(inv, bad); hostclient.CodeOf(got.err) != hostclient.CodeTooLarge {
			t.Errorf("a form with a field twice: %v", got.err)
		}
		if got := <-asking(inv, forms.Form{Message: strings.Repeat("x", 9000), Requester: forms.Requester{Name: "one"}}); hostclient.CodeOf(got.err) != hostclient.CodeTooLarge {
			t.Errorf("a form with a message over its limit: %v", got.err)
		}
		first := asking(inv, theForm())
		q := expect[*protocol.InteractionRequest](p)
		if got := <-asking(inv, theForm()); hostclient.CodeOf(got.err) != hostclient.CodeAskPending {
			t.Errorf("a second form: %v", got.err)
		}
		if err := inv.Result(text("x")); hostclient.CodeOf(err) != hostclient.CodeAskPending {
			t.Errorf("a result while a form is pending: %v", err)
		}
		if err := inv.Result(text(strings.Repeat("x", 100_000))); hostclient.CodeOf(err) != hostclient.CodeAskPending {
			t.Errorf("a chunked result while a form is pending: %v", err)
		}
		if err := inv.Fail("connection_lost: the server died"); err != nil {
			t.Error(err)
		}
		if f := expect[*protocol.CapabilityFailed](p); f.Message != "connection_lost: the server died" {
			t.Errorf("%+v", f)
		}
		// The answer crosses our failed: nobody gets it, and the connection goes on.
		p.send(&protocol.InteractionResult{InvocationID: "i1", InteractionID: q.InteractionID, Result: says("late")})
		p.send(&protocol.CapabilityRelease{InvocationID: "i1"})
		if got := <-first; hostclient.CodeOf(got.err) != hostclient.CodeReleased {
			t.Errorf("the first form: %+v", got)
		}
		p.runs(s, reg, "i2")
	})
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		_, s, p, reg := published(t, h, dialect39(h.options()))
		inv := p.runs(s, reg, "i1")
		if got := <-asking(inv, theForm()); hostclient.CodeOf(got.err) != hostclient.CodeNoForms {
			t.Errorf("a form in epoch 39: %v", got.err)
		}
		p.silent()
	})
}

func TestAskLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		_, s, p, reg := published(t, h, h.options())
		inv := p.runs(s, reg, "i1")
		for range protocol.MaxAsksPerInvocation {
			done := asking(inv, theForm())
			q := expect[*protocol.InteractionRequest](p)
			p.send(&protocol.InteractionResult{InvocationID: "i1", InteractionID: q.InteractionID, Result: says("a")})
			if got := <-done; got.err != nil {
				t.Fatal(got.err)
			}
		}
		if got := <-asking(inv, theForm()); hostclient.CodeOf(got.err) != hostclient.CodeTooLarge {
			t.Error(got.err)
		}
		inv.Fail("limit_exceeded: too many forms")
		expect[*protocol.CapabilityFailed](p)
	})
}

// TestAnAnswerToAnotherForm ends the connection and answers nothing.
func TestAnAnswerToAnotherForm(t *testing.T) {
	for name, answer := range map[string]func(q *protocol.InteractionRequest) *protocol.InteractionResult{
		"other interaction": func(q *protocol.InteractionRequest) *protocol.InteractionResult {
			return &protocol.InteractionResult{InvocationID: "i1", InteractionID: "other", Result: says("x")}
		},
		"other invocation": func(q *protocol.InteractionRequest) *protocol.InteractionResult {
			return &protocol.InteractionResult{InvocationID: "i2", InteractionID: q.InteractionID, Result: says("x")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := newScripted(t)
				prov, s, p, reg := published(t, h, h.options())
				p.runs(s, reg, "i2")
				inv := p.runs(s, reg, "i1")
				done := asking(inv, theForm())
				p.send(answer(expect[*protocol.InteractionRequest](p)))
				if got := <-done; hostclient.CodeOf(got.err) != hostclient.CodeInteraction {
					t.Errorf("%+v", got)
				}
				if c := await(t, prov, state(hostclient.StateWaiting)); c.Cause.Code != hostclient.CodeInteraction {
					t.Error(c.Cause)
				}
			})
		})
	}
	t.Run("twice", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			h := newScripted(t)
			prov, s, p, reg := published(t, h, h.options())
			inv := p.runs(s, reg, "i1")
			done := asking(inv, theForm())
			q := expect[*protocol.InteractionRequest](p)
			for range 2 {
				p.send(&protocol.InteractionResult{InvocationID: "i1", InteractionID: q.InteractionID, Result: says("x")})
			}
			<-done
			if c := await(t, prov, state(hostclient.StateWaiting)); c.Cause.Code != hostclient.CodeInteraction {
				t.Error(c.Cause)
			}
		})
	})
}

// TestAnswerAfterTheEnd: one after cancel or release is ignored, and the tool that waited learns why it ended.
func TestAnswerAfterTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		_, s, p, reg := published(t, h, h.options())
		inv := p.runs(s, reg, "i1")
		done := asking(inv, theForm())
		q := expect[*protocol.InteractionRequest](p)
		p.send(&protocol.CapabilityCancel{InvocationID: "i1"})
		p.send(&protocol.InteractionResult{InvocationID: "i1", InteractionID: q.InteractionID, Result: says("x")})
		p.send(&protocol.CapabilityRelease{InvocationID: "i1"})
		p.send(&protocol.InteractionResult{InvocationID: "i1", InteractionID: q.InteractionID, Result: says("x")})
		if got := <-done; hostclient.CodeOf(got.err) != hostclient.CodeCancelled || got.result.Action != "" {
			t.Errorf("%+v", got)
		}
		p.runs(s, reg, "i2")
	})
}

// TestAskGivenUp: a tool that stops waiting for its own reasons can only fail; an answer that comes first is dropped.
func TestAskGivenUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		_, s, p, reg := published(t, h, h.options())
		inv := p.runs(s, reg, "i1")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		done := make(chan error, 1)
		go func() { _, err := inv.Ask(ctx, theForm()); done <- err }()
		q := expect[*protocol.InteractionRequest](p)
		if err := <-done; err != context.DeadlineExceeded {
			t.Error(err)
		}
		if err := inv.Result(text("x")); hostclient.CodeOf(err) != hostclient.CodeAskPending {
			t.Error(err)
		}
		p.send(&protocol.InteractionResult{InvocationID: "i1", InteractionID: q.InteractionID, Result: says("late")})
		synctest.Wait()
		if err := inv.Fail("timeout: gave up"); err != nil {
			t.Error(err)
		}
		expect[*protocol.CapabilityFailed](p)
	})
}
