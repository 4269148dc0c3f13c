package hostsuite

import (
	"reflect"
	"sync"
	"testing"

	"askback/forms"
	"askback/hostclient"
	"askback/protocol"
)

// pending waits for the Turn's Interaction.
func (s *suite) pending(t *testing.T, turn *protocol.TurnSnapshot) protocol.Interaction {
	t.Helper()
	e := find(t, s.view, "pending Interaction", func(e hostclient.InteractionPending) bool { return e.Interaction.TurnID == turn.TurnID })
	if e.SessionID != turn.SessionID || e.Interaction.RunID != turn.RunID {
		t.Errorf("the Interaction is %+v", e.Interaction)
	}
	return e.Interaction
}

func choose(labels ...string) *protocol.QuestionAnswer {
	a := &protocol.QuestionAnswer{}
	for _, l := range labels {
		a.Answers = append(a.Answers, &l)
	}
	return a
}

func (s *suite) question(t *testing.T) {
	id := s.session(t)
	turn := s.start(t, id, "/ask 2")
	p := s.pending(t, turn)
	q, ok := p.Request.(*protocol.QuestionRequest)
	if !ok || len(q.Questions) != 1 || len(q.Questions[0].Options) != 2 {
		t.Fatalf("the question is %+v", p.Request)
	}
	label := q.Questions[0].Options[1].Label
	answer := func(interaction string, a protocol.InteractionAnswer) (protocol.Interaction, error) {
		return s.view.Answer(t.Context(), id, interaction, a)
	}
	for what, a := range map[string]protocol.InteractionAnswer{
		"two answers to one question": choose(label, label),
		"another kind of answer":      &protocol.PermissionAnswer{Decision: protocol.DecisionAllow},
	} {
		if _, err := answer(p.InteractionID, a); hostclient.RefusalOf(err) != protocol.CodeOperationConflict {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := answer("no-such-interaction", choose(label)); hostclient.RefusalOf(err) != protocol.CodeNotFound {
		t.Errorf("an unknown Interaction: %v", err)
	}
	got, err := answer(p.InteractionID, choose(label))
	if err != nil {
		t.Fatal(err)
	}
	if o, ok := got.Outcome.(*protocol.QuestionOutcome); !ok || got.Status != protocol.InteractionAnswered || *o.Answers[0] != label {
		t.Errorf("the answered Interaction is %+v", got)
	}
	if again, err := answer(p.InteractionID, choose(label)); err != nil || again.Revision != got.Revision {
		t.Errorf("the same answer again: %+v, %v", again, err)
	}
	if _, err := answer(p.InteractionID, choose(q.Questions[0].Options[0].Label)); !resolvedAlready(err) {
		t.Errorf("another answer: %v", err)
	}
	s.ends(t, turn, protocol.TurnCompleted)
	s.settled(t, p, protocol.InteractionAnswered)
}

// resolvedAlready accepts both ways in which hostclient says it.
func resolvedAlready(err error) bool {
	return hostclient.RefusalOf(err) == protocol.CodeAlreadyResolved || hostclient.CodeOf(err) == hostclient.CodeAlreadyResolved
}

// settled wants the view to be told once how an Interaction ended.
func (s *suite) settled(t *testing.T, p protocol.Interaction, want protocol.InteractionStatus) protocol.Interaction {
	t.Helper()
	of := func(e hostclient.InteractionSettled) bool { return e.InteractionID == p.InteractionID }
	e := find(t, s.view, "end of the Interaction", of)
	if e.Interaction.Status != want || e.Err != nil || e.Gone {
		t.Errorf("the Interaction ended as %+v", e)
	}
	if n := count(s.view, of); n != 1 {
		t.Errorf("its end was told %d times", n)
	}
	return e.Interaction
}

func (s *suite) questionLate(t *testing.T) {
	id := s.session(t)
	turn := s.start(t, id, "/ask 3")
	p := s.pending(t, turn)
	if _, err := s.view.StopTurn(t.Context(), id, turn.TurnID, turn.RunID); err != nil {
		t.Fatal(err)
	}
	if _, err := s.view.Answer(t.Context(), id, p.InteractionID, choose("One")); !resolvedAlready(err) {
		t.Errorf("an answer after the Turn was stopped: %v", err)
	}
	s.closed(t, p)
}

func (s *suite) closed(t *testing.T, p protocol.Interaction) {
	t.Helper()
	got, err := s.view.Interaction(t.Context(), p.SessionID, p.InteractionID)
	if err != nil {
		t.Fatal(err)
	}
	if c, ok := got.Outcome.(*protocol.Closure); !ok || got.Status != protocol.InteractionClosed || c.Reason != protocol.ClosedTurnStopped {
		t.Errorf("the Interaction is %+v", got)
	}
	s.settled(t, p, protocol.InteractionClosed)
}

func integer(n int) *protocol.FormAnswer {
	return &protocol.FormAnswer{Result: forms.Result{Action: forms.ActionAccept, Values: forms.Values{"n": forms.NumberValue(forms.NumberOf(n))}}}
}

func (s *suite) form(t *testing.T) {
	id := s.session(t)
	turn := s.start(t, id, s.callText("ask", ""))
	p := s.pending(t, turn)
	if _, ok := p.Request.(*protocol.FormRequest); !ok {
		t.Fatalf("the form is %+v", p.Request)
	}
	wrong := &protocol.FormAnswer{Result: forms.Result{Action: forms.ActionAccept, Values: forms.Values{"n": forms.TextValue("seven")}}}
	if _, err := s.view.Answer(t.Context(), id, p.InteractionID, wrong); hostclient.RefusalOf(err) != protocol.CodeOperationConflict {
		t.Errorf("a wrong answer: %v", err)
	}
	for what, again := range map[string]bool{"the first answer": false, "the same again": true} {
		if _, err := s.view.Answer(t.Context(), id, p.InteractionID, integer(7)); err != nil {
			t.Errorf("%s (%v): %v", what, again, err)
		}
	}
	if _, err := s.view.Answer(t.Context(), id, p.InteractionID, integer(8)); !resolvedAlready(err) {
		t.Errorf("another answer: %v", err)
	}
	if row := s.result(t, turn); said(row) != "accept 7" {
		t.Errorf("the result is %q", said(row))
	}
	s.ends(t, turn, protocol.TurnCompleted)
	s.settled(t, p, protocol.InteractionAnswered)
}

func (s *suite) formLate(t *testing.T) {
	id := s.session(t)
	turn := s.start(t, id, s.callText("ask", ""))
	p := s.pending(t, turn)
	if _, err := s.view.StopTurn(t.Context(), id, turn.TurnID, turn.RunID); err != nil {
		t.Fatal(err)
	}
	if _, err := s.view.Answer(t.Context(), id, p.InteractionID, integer(7)); !resolvedAlready(err) {
		t.Errorf("an answer after the Turn was stopped: %v", err)
	}
	s.closed(t, p)
}

// twoSurfaces has two views answer one Interaction differently at the same time:
// exactly one wins, and both learn the canonical outcome.
func (s *suite) twoSurfaces(t *testing.T, what string, answers [2]protocol.InteractionAnswer) {
	id := s.session(t)
	other := watch(t, hostclient.NewView(s.target.Options))
	if err := other.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := other.Show(t.Context(), id, hostclient.ShowOptions{}); err != nil {
		t.Fatal(err)
	}
	turn := s.start(t, id, what)
	p := s.pending(t, turn)
	find(t, other, "pending Interaction", func(e hostclient.InteractionPending) bool { return e.Interaction.InteractionID == p.InteractionID })
	var wg sync.WaitGroup
	var got [2]protocol.Interaction
	var errs [2]error
	for i, v := range []*watcher{s.view, other} {
		wg.Go(func() { got[i], errs[i] = v.Answer(t.Context(), id, p.InteractionID, answers[i]) })
	}
	wg.Wait()
	if won := [2]bool{errs[0] == nil, errs[1] == nil}; won[0] == won[1] {
		t.Fatalf("both or none won: %v, %v", errs[0], errs[1])
	}
	for i := range errs {
		if errs[i] != nil && !resolvedAlready(errs[i]) {
			t.Errorf("the loser was told %v", errs[i])
		}
	}
	winner := got[0].Outcome
	if errs[0] != nil {
		winner = got[1].Outcome
	}
	for _, w := range []*watcher{s.view, other} {
		e := find(t, w, "end of the Interaction", func(e hostclient.InteractionSettled) bool { return e.InteractionID == p.InteractionID })
		if !reflect.DeepEqual(e.Interaction.Outcome, winner) {
			t.Errorf("one view learnt %+v, the winner is %+v", e.Interaction.Outcome, winner)
		}
	}
	s.ends(t, turn, protocol.TurnCompleted)
}
