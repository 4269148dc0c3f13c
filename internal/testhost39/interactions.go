package testhost39

import (
	"reflect"
	"slices"

	"askback/protocol"
)

// interaction is a question or a sandbox boundary that waits, or waited, for a
// person. The Host's lock guards it, but for settled.
type interaction struct {
	t       *turn
	record  protocol.Interaction
	answer  protocol.InteractionAnswer // the canonical one, nil while pending or when closed
	settled chan struct{}
}

// ask makes a question pending. h.mu is held.
func (t *turn) ask(body protocol.InteractionBody) *interaction {
	i := &interaction{t: t, settled: make(chan struct{}), record: protocol.Interaction{
		SchemaVersion: protocol.InteractionSchemaVersion, InteractionID: newID(), SessionID: t.s.item.ID, TurnID: t.id,
		RunID: t.snapshot.RunID, Request: body, Revision: 1, Status: protocol.InteractionPending,
	}}
	t.s.interactions[i.record.InteractionID] = i
	t.s.pending = append(t.s.pending, i)
	t.s.project() // the Turn still reads running here
	t.snapshot.Status = protocol.TurnWaitingForUser
	t.s.setStatus(protocol.SessionWaitingForUser)
	t.s.project()
	return i
}

func (i *interaction) snapshot() *protocol.Interaction {
	record := i.record
	return &record
}

// settle ends the interaction. h.mu is held.
func (i *interaction) settle(status protocol.InteractionStatus, outcome protocol.InteractionOutcome) {
	i.record.Status, i.record.Outcome, i.record.Revision = status, outcome, 2
	s := i.t.s
	s.pending = slices.DeleteFunc(s.pending, func(p *interaction) bool { return p == i })
	close(i.settled)
	s.project()
}

func (i *interaction) close(reason protocol.ClosureReason) {
	if i.record.Status == protocol.InteractionPending {
		i.settle(protocol.InteractionClosed, &protocol.Closure{Reason: reason, CommittedAt: now()})
	}
}

func (h *Host) interaction(sessionID, id string) *interaction {
	if s := h.sessions[sessionID]; s != nil {
		return s.interactions[id]
	}
	return nil
}

func (h *Host) answerInteraction(in *protocol.InteractionAnswerInput) (protocol.Result, *protocol.Error) {
	i := h.interaction(in.SessionID, in.InteractionID)
	if i == nil {
		return nil, errNoInteraction
	}
	switch {
	case i.record.Status == protocol.InteractionClosed:
		return nil, refusal(protocol.CodeAlreadyResolved, "Interaction was already closed")
	case i.record.Status == protocol.InteractionAnswered && reflect.DeepEqual(i.answer, in.Answer):
		return i.snapshot(), nil
	case i.record.Status == protocol.InteractionAnswered:
		message := "Interaction has a different canonical answer"
		if _, boundary := i.record.Request.(*protocol.SandboxBoundaryRequest); boundary {
			message = "Interaction was already resolved"
		}
		return nil, refusal(protocol.CodeAlreadyResolved, message)
	}
	mismatch := refusal(protocol.CodeOperationConflict, "Interaction answer does not match the pending request")
	at := now()
	switch a := in.Answer.(type) {
	case *protocol.QuestionAnswer:
		q, ok := i.record.Request.(*protocol.QuestionRequest)
		if !ok || len(a.Answers) != len(q.Questions) {
			return nil, mismatch
		}
		i.answer = a
		i.settle(protocol.InteractionAnswered, &protocol.QuestionOutcome{Answers: a.Answers, CommittedAt: at})
	case *protocol.SandboxBoundaryAnswer:
		if _, ok := i.record.Request.(*protocol.SandboxBoundaryRequest); !ok {
			return nil, mismatch
		}
		i.answer = a
		status := map[string]string{protocol.DecisionAllow: "approved", protocol.DecisionDeny: "denied"}[a.Decision]
		i.settle(protocol.InteractionAnswered, &protocol.SandboxBoundaryOutcome{Decision: a.Decision, Status: status, CommittedAt: at})
	default:
		return nil, mismatch
	}
	return i.snapshot(), nil
}
