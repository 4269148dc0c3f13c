package host

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"askback/forms"
	"askback/protocol"
)

// heldWrite stops the next write to a store before it begins, and lets it go on or fail.
type heldWrite struct {
	armed atomic.Bool
	at    chan struct{} // closed when it is held
	goOn  chan error
}

func (w *heldWrite) arm() {
	w.at, w.goOn = make(chan struct{}), make(chan error)
	w.armed.Store(true)
}

// pass stands in for store.fail.
func (w *heldWrite) pass() error {
	if !w.armed.CompareAndSwap(true, false) {
		return nil
	}
	close(w.at)
	return <-w.goOn
}

var errNoSpace = errors.New("no space left")

// TestFramesWhileAnAnswerIsStored: what a provider says between the beginning and the end of the write counts as said
// after an answer that is stored, and as said beside an open form when it is not. Call and form end the same way.
func TestFramesWhileAnAnswerIsStored(t *testing.T) {
	const pending, answered, closed = "pending", "answered", "closed"
	for name, c := range map[string]struct {
		kind   string
		extra  frame
		write  error
		status string // of the form
		reason string // why it closed
		text   string // of the call's failure
		asked  bool   // the provider's next form is pending
	}{
		"result":                {kind: "result", extra: frame{"result": frame{"content": []frame{}}}, status: answered},
		"failed":                {kind: "failed", extra: frame{"message": "server_error: gone"}, status: answered, text: "server_error: gone"},
		"request":               {kind: "interaction_request", extra: frame{"interactionId": "g", "request": colour()}, status: answered, asked: true},
		"progress":              {kind: "progress", extra: frame{"current": 1, "total": 2}, status: answered},
		"violation":             {kind: "rejected", extra: frame{"message": "no"}, status: answered, text: "outcome_unknown: "},
		"result, not stored":    {kind: "result", extra: frame{"result": frame{"content": []frame{}}}, write: errNoSpace, status: closed, reason: "producer_cancelled", text: "protocol_error: "},
		"failed, not stored":    {kind: "failed", extra: frame{"message": "server_error: gone"}, write: errNoSpace, status: closed, reason: "producer_cancelled", text: "server_error: gone"},
		"request, not stored":   {kind: "interaction_request", extra: frame{"interactionId": "g", "request": colour()}, write: errNoSpace, status: closed, reason: "provider_disconnected", text: "outcome_unknown: "},
		"progress, not stored":  {kind: "progress", extra: frame{"current": 1, "total": 2}, write: errNoSpace, status: pending},
		"violation, not stored": {kind: "rejected", extra: frame{"message": "no"}, write: errNoSpace, status: closed, reason: "provider_disconnected", text: "outcome_unknown: "},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, nil)
			write := &heldWrite{}
			s.h.store.fail = write.pass
			form := s.begin().form("f")
			write.arm()
			req := s.view.ask("interaction.answer", frame{"sessionId": s.session, "interactionId": form.text("interactionId"), "answer": accepting("red")})
			<-write.at
			s.provider.tell(c.kind, s.call, c.extra)
			if c.kind == "rejected" {
				s.provider.ended()
			} else {
				s.provider.ok("host.status", frame{}) // the frame before it was worked on
			}
			write.goOn <- c.write
			if f := s.view.answer(req); f["ok"] != (c.write == nil) || c.write != nil && f.text("error.code") != "persistence_failed" {
				t.Errorf("the answer came to %v", f)
			}
			switch {
			case c.asked:
				s.view.await("the second form", func(f frame) bool {
					id := f.text("snapshot.interactions.pending.0.interactionId")
					return id != "" && id != form.text("interactionId")
				})
			case c.kind != "progress":
				s.view.terminal(s.turn)
				row := s.result()
				if *row.IsError != (c.text != "") || !strings.HasPrefix(row.Content.Text, c.text) {
					t.Errorf("the call came to %s", row.Raw)
				}
			}
			in := s.view.ok("interaction.query", frame{"sessionId": s.session, "interactionId": form.text("interactionId")})
			if in.text("status") != c.status || in.text("outcome.reason") != c.reason {
				t.Errorf("the form is %v", in)
			}
		})
	}
}

// TestAnswerAfterTheCallEnded: an answer that finds the call ended, and the form only about to be closed, comes too late.
func TestAnswerAfterTheCallEnded(t *testing.T) {
	s := newScene(t, nil)
	form := s.begin().form("f")
	sess := s.h.catalog.find(s.session)
	sess.mu.Lock() // holds the closure up
	s.provider.tell("result", s.call, frame{"result": frame{"content": []frame{}}})
	s.provider.ok("host.status", frame{})
	asked := sess.pending[0].shown
	answer := forms.Result{Action: forms.ActionDecline}
	done := settled(asked, protocol.InteractionAnswered, &protocol.FormOutcome{Result: answer, CommittedAt: 1})
	err := sess.commitAnswer(&done, answer)
	sess.mu.Unlock()
	if !errors.Is(err, errClosed) {
		t.Errorf("answered: %v", err)
	}
	s.view.terminal(s.turn)
	if got := s.closure(form); got != "producer_cancelled" {
		t.Errorf("closed as %q", got)
	}
	if row := s.result(); !strings.HasPrefix(row.Content.Text, "protocol_error: ") {
		t.Errorf("%s", row.Raw)
	}
}
