package host

import (
	"slices"

	bolt "go.etcd.io/bbolt"

	"askback/forms"
	"askback/host/broker"
	"askback/protocol"
)

// interactionAnswer decides an answer. Exactly one that fits becomes the outcome, and it
// is on disk before anybody learns of it; an equivalent repeat gets the same snapshot,
// any other answer after that is already_resolved. A wrong answer leaves the form
// pending, to be corrected.
func (h *Host) interactionAnswer(c *conn, in *protocol.InteractionAnswerInput) (protocol.Result, error) {
	s, err := h.lockSession(in.SessionID)
	if err != nil {
		return nil, noInteraction(err)
	}
	defer s.mu.Unlock()
	found, err := s.findInteraction(in.InteractionID, c.dialect)
	if err != nil {
		return nil, h.unreadable("interaction.answer", err)
	}
	if found == nil {
		return nil, errNoInteraction
	}
	if found.Status != protocol.InteractionPending {
		return repeatOf(found, in.Answer)
	}
	result, refused := fitting(found, in.Answer)
	if refused != nil {
		c.log.Info("interaction answer refused", "session", s.id, "interaction", in.InteractionID)
		return nil, refused
	}
	done := settled(*found, protocol.InteractionAnswered, &protocol.FormOutcome{Result: result, CommittedAt: h.now()})
	if err := s.commitAnswer(&done, result); err != nil {
		return nil, err
	}
	c.log.Info("interaction answered", "session", s.id, "interaction", in.InteractionID, "action", string(result.Action))
	return &done, nil
}

// commitAnswer stores an answer and hands it over. The call is told first, so that it neither ends beside an answer as if
// the form were open, nor has ended when the answer is stored. mu is held.
func (s *session) commitAnswer(done *protocol.Interaction, result forms.Result) error {
	h := s.host
	isIt := func(p *interaction) bool { return p.shown.InteractionID == done.InteractionID }
	i := slices.IndexFunc(s.pending, isIt)
	if i < 0 {
		return errClosed // no call of this Host asked it
	}
	ask := s.pending[i].ask
	if ok, reason := h.gate.reserve(ask); !ok {
		s.storeClosures([]*interaction{s.take(isIt)}, reason)
		return errClosed
	}
	if err := h.store.write(func(tx *bolt.Tx) error { return putSettled(tx, done) }); err != nil {
		h.gate.keepOpen(h, ask)
		return h.persistence("interaction.answer", err) // still pending: it may be answered again
	}
	s.take(isIt)
	s.refreshView()
	s.publishProjection()
	h.touch(s.id)
	h.gate.commit(h, ask, result)
	return nil
}

var errClosed = refusal(protocol.CodeAlreadyResolved, "Interaction was already closed")

// fitting returns an answer in the form in which it is kept, or why it does not fit.
func fitting(in *protocol.Interaction, answer protocol.InteractionAnswer) (forms.Result, *protocol.Error) {
	req, isForm := in.Request.(*protocol.FormRequest)
	a, ok := answer.(*protocol.FormAnswer)
	if !isForm || !ok {
		return forms.Result{}, refusal(protocol.CodeOperationConflict, "Interaction answer does not match the pending request")
	}
	if a.Wrong != "" {
		return forms.Result{}, refusal(protocol.CodeOperationConflict, broker.Clip(a.Wrong))
	}
	if errs := req.Form.Check(a.Result); len(errs) > 0 {
		return forms.Result{}, refusal(protocol.CodeOperationConflict, broker.Clip(errs[0].Error()))
	}
	return req.Form.Canonical(a.Result), nil
}

// repeatOf is the answer to an answer that came after the end.
func repeatOf(in *protocol.Interaction, answer protocol.InteractionAnswer) (protocol.Result, error) {
	out, ok := in.Outcome.(*protocol.FormOutcome)
	if !ok {
		return nil, errClosed
	}
	a, ok := answer.(*protocol.FormAnswer)
	if ok && out.Forgotten() && a.Result.Action == out.Result.Action {
		return nil, refusal(protocol.CodeAlreadyResolved, "Interaction was already answered, and its values are kept no longer")
	}
	if !ok || a.Wrong != "" || !forms.Equivalent(out.Result, a.Result) {
		return nil, refusal(protocol.CodeAlreadyResolved, "Interaction has a different canonical answer")
	}
	return in, nil
}
