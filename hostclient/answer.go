package hostclient

import (
	"context"

	"askback/forms"
	"askback/protocol"
)

// Answer answers an Interaction and waits for the Host's canonical record. A refusal that can be corrected is a
// *RequestError and leaves it pending. When it has ended otherwise than by this answer, the record comes with
// CodeAlreadyResolved.
//
// When the connection ends meanwhile, Answer waits for the next one (bounded by ctx) and asks the Host what became of
// it. It is sent again only if it is still pending with the same root in the same epoch, where an equal answer
// converges; otherwise the error is CodeNotDelivered (still pending) or CodeUnknownOutcome.
func (v *View) Answer(ctx context.Context, sessionID, interactionID string, answer protocol.InteractionAnswer) (protocol.Interaction, error) {
	l, none := v.keeper.current()
	if none != nil {
		return protocol.Interaction{}, none
	}
	if answer.Kind() == protocol.KindForm && !l.host.Forms() {
		return protocol.Interaction{}, errorf(CodeNoForms, "this Host has no forms; the answer was not sent")
	}
	v.mu.Lock()
	v.tracker.beginAnswer(interactionID)
	v.mu.Unlock()
	in, err := v.deliver(ctx, l, &protocol.InteractionAnswerInput{SessionID: sessionID, InteractionID: interactionID, Answer: answer})
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.tracker.endAnswer(interactionID) {
		v.resolve(interactionID)
	}
	return in, err
}

// AnswerForm answers a form, as Answer does.
func (v *View) AnswerForm(ctx context.Context, sessionID, interactionID string, r forms.Result) (protocol.Interaction, error) {
	return v.Answer(ctx, sessionID, interactionID, &protocol.FormAnswer{Result: r})
}

func (v *View) deliver(ctx context.Context, l *link, in *protocol.InteractionAnswerInput) (protocol.Interaction, error) {
	first := l.host
	for {
		r, err := l.do(ctx, in, nil)
		switch {
		case err == nil:
			return v.resolved(in, r.(*protocol.Interaction))
		case lost(err) && CodeOf(err) == CodeNotConnected && l.host == first:
			return protocol.Interaction{}, err // never left this process
		case lost(err):
		case unsettled(RefusalOf(err)):
			got, ended, err := v.lookUp(ctx, l, in)
			if ended || err != nil && !passing(err) {
				return got, err
			}
			if err == nil {
				return got, errorf(CodeNotDelivered, "the Host did not store the answer, and the form is still pending")
			}
		default:
			if RefusalOf(err) == protocol.CodeNotFound {
				v.settle(InteractionSettled{SessionID: in.SessionID, InteractionID: in.InteractionID, Gone: true})
			}
			return protocol.Interaction{}, err
		}
		got, again, err := v.afterLoss(ctx, &l, first, in)
		if again == nil {
			return got, err
		}
		l = again
	}
}

// unsettled reports whether a refusal of an answer means that the Host has to be asked how the Interaction stands.
func unsettled(code protocol.ErrorCode) bool {
	switch code {
	case protocol.CodeAlreadyResolved, protocol.CodeOutcomeUnknown, protocol.CodeCommitOutcomeUnknown:
		return true
	}
	return false
}

// afterLoss finds out on the next connections what became of an answer. again is the connection to send it on once more.
func (v *View) afterLoss(ctx context.Context, l **link, first HostInfo, in *protocol.InteractionAnswerInput) (got protocol.Interaction, again *link, err error) {
	for {
		next, err := v.keeper.after(ctx, *l)
		if err != nil {
			return got, nil, &Error{Code: CodeUnknownOutcome, Cause: causeOf(err),
				Message: "the answer was sent, but the connection ended before the Host confirmed it"}
		}
		*l = next
		if next.host.RootID != first.RootID {
			return got, nil, errorf(CodeUnknownOutcome, "another Host answers now; whether the one before has stored the answer is unknown")
		}
		got, ended, err := v.lookUp(ctx, next, in)
		switch {
		case breach(err) != nil: // it would be the same each time
			return got, nil, &Error{Code: CodeUnknownOutcome, Cause: breach(err),
				Message: "what became of the answer is unknown: " + breach(err).Message}
		case passing(err):
			continue
		case ended || err != nil:
			return got, nil, err
		case next.host.HostEpoch != first.HostEpoch:
			return got, nil, errorf(CodeNotDelivered, "the Host was restarted before it stored the answer; the form is pending again and was not answered")
		}
		return got, next, nil
	}
}

func causeOf(err error) *Error {
	if e, ok := err.(*Error); ok {
		return e
	}
	return nil
}

// lookUp asks how the Interaction of an answer stands. ended is whether it has ended; then err says whether otherwise
// than by this answer.
func (v *View) lookUp(ctx context.Context, l *link, in *protocol.InteractionAnswerInput) (got protocol.Interaction, ended bool, err error) {
	r, err := l.do(ctx, &protocol.InteractionQueryInput{SessionID: in.SessionID, InteractionID: in.InteractionID}, nil)
	if RefusalOf(err) == protocol.CodeNotFound {
		v.settle(InteractionSettled{SessionID: in.SessionID, InteractionID: in.InteractionID, Gone: true})
		return got, true, errorf(CodeUnknownOutcome, "the Host does not know this form any more; what became of the answer is unknown")
	}
	if RefusalOf(err) != "" && !passing(err) {
		return got, false, errorf(CodeUnknownOutcome, "the Host could not say what became of the answer")
	}
	if err != nil {
		return got, false, err
	}
	found := r.(*protocol.Interaction)
	if found.Status == protocol.InteractionPending {
		return *found, false, nil
	}
	got, err = v.resolved(in, found)
	return got, true, err
}

// resolved takes in the canonical record that came for an answer of ours.
func (v *View) resolved(in *protocol.InteractionAnswerInput, found *protocol.Interaction) (protocol.Interaction, error) {
	if found.Status == protocol.InteractionPending {
		return *found, errorf(CodeNotDelivered, "the Host did not store the answer, and the form is still pending")
	}
	ours := sameOutcome(in.Answer, found.Outcome)
	v.settle(InteractionSettled{SessionID: in.SessionID, InteractionID: in.InteractionID, Interaction: *found, Ours: ours})
	if ours {
		return *found, nil
	}
	if c, ok := found.Outcome.(*protocol.Closure); ok {
		return *found, errorf(CodeAlreadyResolved, "it was closed before the answer arrived (%s)", c.Reason)
	}
	return *found, errorf(CodeAlreadyResolved, "it was answered elsewhere first")
}

// sameOutcome reports whether an outcome is what an answer says.
func sameOutcome(answer protocol.InteractionAnswer, outcome protocol.InteractionOutcome) bool {
	switch a := answer.(type) {
	case *protocol.FormAnswer:
		o, ok := outcome.(*protocol.FormOutcome)
		// A Host may have dropped the values of a settled form; then the action is all there is to compare.
		return ok && (forms.Equivalent(a.Result, o.Result) || a.Result.Action == o.Result.Action && o.Result.Values == nil)
	case *protocol.QuestionAnswer:
		o, ok := outcome.(*protocol.QuestionOutcome)
		return ok && sameAnswers(a.Answers, o.Answers)
	case *protocol.SandboxBoundaryAnswer:
		o, ok := outcome.(*protocol.SandboxBoundaryOutcome)
		return ok && a.Decision == o.Decision
	case *protocol.PermissionAnswer:
		_, closed := outcome.(*protocol.Closure)
		return !closed // its outcome has no shape that is known
	}
	return false
}

func sameAnswers(a, b []*string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if (a[i] == nil) != (b[i] == nil) || a[i] != nil && *a[i] != *b[i] {
			return false
		}
	}
	return true
}

// settle tells how an Interaction ended, if it was told as pending and nobody has told yet.
func (v *View) settle(e InteractionSettled) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if k := v.tracker.known[e.InteractionID]; k != nil && k.session == e.SessionID && v.tracker.settle(e.InteractionID) {
		v.events.push(e)
	}
}

// resolve asks the Host once how an Interaction ended that left pending without an answer of ours. v.mu is held.
func (v *View) resolve(id string) {
	k := v.tracker.known[id]
	if k == nil {
		return
	}
	if v.link == nil {
		k.querying = false // the next open of its session asks
		return
	}
	l, ctx, session := v.link, v.linkCtx, k.session
	v.spawn(func() {
		r, err := l.do(ctx, &protocol.InteractionQueryInput{SessionID: session, InteractionID: id}, nil)
		e := InteractionSettled{SessionID: session, InteractionID: id}
		switch {
		case err == nil:
			e.Interaction = *r.(*protocol.Interaction)
		case RefusalOf(err) == protocol.CodeNotFound:
			e.Gone = true
		case !passing(err) && RefusalOf(err) != "":
			e.Err = err
		}
		if err != nil && e.Err == nil && !e.Gone || err == nil && e.Interaction.Status == protocol.InteractionPending {
			v.unresolved(l, id)
			return
		}
		v.settle(e)
	})
}

// unresolved takes in that a query over l brought nothing. The next open of the session asks again; where that has come
// already, over another connection, it left the question to this query.
func (v *View) unresolved(l *link, id string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	again := v.tracker.asked(id)
	if again && v.link != nil && v.link != l {
		v.tracker.known[id].querying = true
		v.resolve(id)
	}
}
