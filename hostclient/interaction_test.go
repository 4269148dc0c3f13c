package hostclient_test

import (
	"cmp"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"askback/forms"
	"askback/hostclient"
	"askback/protocol"
)

// form is a pending form of one required text field.
func form(id string) protocol.Interaction {
	return protocol.Interaction{
		SchemaVersion: protocol.InteractionSchemaVersion, InteractionID: id, SessionID: "s1", TurnID: "t1", RunID: "r1", Revision: 1,
		Status: protocol.InteractionPending,
		Request: &protocol.FormRequest{ToolUseID: "u1", Form: forms.Form{
			Message: "Which one?", Requester: forms.Requester{Name: "deploy"},
			Fields: []forms.Field{{Kind: forms.KindString, Name: "which", Label: "Which", Required: true}},
		}},
	}
}

func says(text string) forms.Result {
	return forms.Result{Action: forms.ActionAccept, Values: forms.Values{"which": forms.TextValue(text)}}
}

func answered(id, text string) *protocol.Interaction {
	in := form(id)
	in.Revision, in.Status, in.Outcome = 2, protocol.InteractionAnswered, &protocol.FormOutcome{Result: says(text), CommittedAt: 5}
	return &in
}

func closed(id string, reason protocol.ClosureReason) *protocol.Interaction {
	in := form(id)
	in.Revision, in.Status, in.Outcome = 2, protocol.InteractionClosed, &protocol.Closure{Reason: reason, CommittedAt: 5}
	return &in
}

type answerResult struct {
	in  protocol.Interaction
	err error
}

func answering(v *hostclient.View, id, text string) <-chan answerResult {
	done := make(chan answerResult, 1)
	go func() {
		in, err := v.Answer(context.Background(), "s1", id, &protocol.FormAnswer{Result: says(text)})
		done <- answerResult{in, err}
	}()
	return done
}

func (p *peer) asksFor(id string, r *protocol.Interaction) {
	p.t.Helper()
	in, req := request[*protocol.InteractionQueryInput](p)
	if in.InteractionID != id {
		p.t.Errorf("asked for %s, want %s", in.InteractionID, id)
	}
	if r == nil {
		p.refuse(req, in.Operation(), protocol.CodeNotFound)
		return
	}
	p.answer(req, in.Operation(), r)
}

// TestLeavingPending: how an Interaction ended that left pending without our answer is asked once and told once.
func TestLeavingPending(t *testing.T) {
	for name, c := range map[string]struct {
		record *protocol.Interaction
		check  func(hostclient.InteractionSettled) bool
	}{
		"answered elsewhere": {answered("i1", "x"), func(e hostclient.InteractionSettled) bool {
			o, ok := e.Interaction.Outcome.(*protocol.FormOutcome)
			return ok && !e.Ours && forms.Equivalent(o.Result, says("x"))
		}},
		"stopped":           {closed("i1", protocol.ClosedTurnStopped), isClosure(protocol.ClosedTurnStopped)},
		"turn ended":        {closed("i1", protocol.ClosedTurnTerminal), isClosure(protocol.ClosedTurnTerminal)},
		"timed out":         {closed("i1", protocol.ClosedTimedOut), isClosure(protocol.ClosedTimedOut)},
		"host restarted":    {closed("i1", protocol.ClosedHostRestarted), isClosure(protocol.ClosedHostRestarted)},
		"provider gave up":  {closed("i1", protocol.ClosedProducerCancelled), isClosure(protocol.ClosedProducerCancelled)},
		"provider lost":     {closed("i1", protocol.ClosedProviderDisconnected), isClosure(protocol.ClosedProviderDisconnected)},
		"gone with session": {nil, func(e hostclient.InteractionSettled) bool { return e.Gone }},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := newScripted(t)
				v, p, head := showing(t, h, hostclient.ShowOptions{}, form("i1"), form("i2"))
				p.projects(&head, snapshot("s1", form("i2")))
				p.projects(&head, snapshot("s1", form("i2")))
				p.asksFor("i1", c.record)
				if e := await[hostclient.InteractionSettled](t, v, nil); e.InteractionID != "i1" || !c.check(e) {
					t.Errorf("%+v", e)
				}
				p.projects(&head, snapshot("s1", form("i1"), form("i2"))) // written before it settled
				e := await[hostclient.SessionChanged](t, v, func(e hostclient.SessionChanged) bool { return true })
				for len(e.Snapshot.Interactions.Pending) != 1 { // an older one that has not been taken yet
					e = await[hostclient.SessionChanged](t, v, nil)
				}
				p.silent()
			})
		})
	}
}

func isClosure(want protocol.ClosureReason) func(hostclient.InteractionSettled) bool {
	return func(e hostclient.InteractionSettled) bool {
		c, ok := e.Interaction.Outcome.(*protocol.Closure)
		return ok && c.Reason == want && !e.Ours
	}
}

// TestAnswerRows is the client's side of the table of answers.
func TestAnswerRows(t *testing.T) {
	for name, c := range map[string]struct {
		reply   func(*peer, string) // to interaction.answer
		record  *protocol.Interaction
		asks    bool
		refusal protocol.ErrorCode
		code    hostclient.Code
		settled bool
		ours    bool
	}{
		"stored":                   {reply: func(p *peer, id string) { p.answer(id, protocol.OpInteractionAnswer, answered("i1", "a")) }, settled: true, ours: true},
		"the same as was stored":   {reply: refuses(protocol.CodeAlreadyResolved), asks: true, record: answered("i1", "a"), settled: true, ours: true},
		"another was stored":       {reply: refuses(protocol.CodeAlreadyResolved), asks: true, record: answered("i1", "b"), settled: true, code: hostclient.CodeAlreadyResolved},
		"closed":                   {reply: refuses(protocol.CodeAlreadyResolved), asks: true, record: closed("i1", protocol.ClosedTurnStopped), settled: true, code: hostclient.CodeAlreadyResolved},
		"wrong":                    {reply: refuses(protocol.CodeOperationConflict), refusal: protocol.CodeOperationConflict},
		"unknown":                  {reply: refuses(protocol.CodeNotFound), refusal: protocol.CodeNotFound, settled: true},
		"not granted":              {reply: refuses(protocol.CodeUnauthorized), refusal: protocol.CodeUnauthorized},
		"not stored":               {reply: refuses(protocol.CodePersistenceFailed), refusal: protocol.CodePersistenceFailed},
		"unknown outcome, stored":  {reply: refuses(protocol.CodeCommitOutcomeUnknown), asks: true, record: answered("i1", "a"), settled: true, ours: true},
		"unknown outcome, pending": {reply: refuses(protocol.CodeOutcomeUnknown), asks: true, record: ptr(form("i1")), code: hostclient.CodeNotDelivered},
	} {
		t.Run("HL-11 "+name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := newScripted(t)
				v, p, _ := showing(t, h, hostclient.ShowOptions{}, form("i1"))
				done := answering(v, "i1", "a")
				in, id := request[*protocol.InteractionAnswerInput](p)
				if a, ok := in.Answer.(*protocol.FormAnswer); !ok || !forms.Equivalent(a.Result, says("a")) || in.SessionID != "s1" {
					t.Errorf("answered %+v", in)
				}
				c.reply(p, id)
				if c.asks {
					p.asksFor("i1", c.record)
				}
				got := <-done
				if hostclient.RefusalOf(got.err) != c.refusal || hostclient.CodeOf(got.err) != c.code {
					t.Errorf("got %v", got.err)
				}
				if c.settled {
					if e := await[hostclient.InteractionSettled](t, v, nil); e.Ours != c.ours || e.Gone != (c.refusal == protocol.CodeNotFound) {
						t.Errorf("told %+v", e)
					}
				}
				p.silent()
			})
		})
	}
}

func ptr[T any](v T) *T { return &v }

func refuses(code protocol.ErrorCode) func(*peer, string) {
	return func(p *peer, id string) { p.refuse(id, protocol.OpInteractionAnswer, code) }
}

// TestAnswerAndProjectionCross: the projection without the form comes before the answer's own response; nobody is asked.
func TestAnswerAndProjectionCross(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		v, p, head := showing(t, h, hostclient.ShowOptions{}, form("i1"))
		done := answering(v, "i1", "a")
		_, id := request[*protocol.InteractionAnswerInput](p)
		p.projects(&head, snapshot("s1"))
		synctest.Wait()
		p.answer(id, protocol.OpInteractionAnswer, answered("i1", "a"))
		if got := <-done; got.err != nil {
			t.Fatal(got.err)
		}
		if e := await[hostclient.InteractionSettled](t, v, nil); !e.Ours {
			t.Errorf("%+v", e)
		}
		p.silent()
	})
}

// TestAnswerThatLosesStillTells: our answer is refused as wrong after the form was answered elsewhere.
func TestRefusedAnswerOfAFormThatLeft(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		v, p, head := showing(t, h, hostclient.ShowOptions{}, form("i1"))
		done := answering(v, "i1", "a")
		_, id := request[*protocol.InteractionAnswerInput](p)
		p.projects(&head, snapshot("s1"))
		synctest.Wait()
		p.refuse(id, protocol.OpInteractionAnswer, protocol.CodeOperationConflict)
		<-done
		p.asksFor("i1", answered("i1", "b"))
		if e := await[hostclient.InteractionSettled](t, v, nil); e.Ours {
			t.Errorf("%+v", e)
		}
	})
}

// TestAnswerWhileTheConnectionDies: what became of the answer is asked of the same Host; it goes out again only to the
// same root in the same epoch that still waits for it.
func TestAnswerWhileTheConnectionDies(t *testing.T) {
	for name, c := range map[string]struct {
		root, epoch string
		record      *protocol.Interaction // nil: not_found
		noQuery     bool
		refusal     protocol.ErrorCode // of the query, without a record; not_found when empty
		again       bool
		want        hostclient.Code
		told        bool
	}{
		"it was stored":           {root: rootA, epoch: "epoch-1", record: answered("i1", "a"), told: true},
		"it was not":              {root: rootA, epoch: "epoch-1", record: ptr(form("i1")), again: true, told: true},
		"another was":             {root: rootA, epoch: "epoch-1", record: answered("i1", "b"), want: hostclient.CodeAlreadyResolved, told: true},
		"the Host restarted":      {root: rootA, epoch: "epoch-2", record: closed("i1", protocol.ClosedHostRestarted), want: hostclient.CodeAlreadyResolved, told: true},
		"stored, then restarted":  {root: rootA, epoch: "epoch-2", record: answered("i1", "a"), told: true},
		"pending after a restart": {root: rootA, epoch: "epoch-2", record: ptr(form("i1")), want: hostclient.CodeNotDelivered},
		"another Host":            {root: rootB, epoch: "epoch-1", noQuery: true, want: hostclient.CodeUnknownOutcome},
		"unreadable":              {root: rootA, epoch: "epoch-1", refusal: protocol.CodePersistenceFailed, want: hostclient.CodeUnknownOutcome},
		"removed":                 {root: rootA, epoch: "epoch-1", want: hostclient.CodeUnknownOutcome, told: true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := newScripted(t)
				v, p, _ := showing(t, h, hostclient.ShowOptions{}, form("i1"))
				await[hostclient.InteractionPending](t, v, nil)
				done := answering(v, "i1", "a")
				request[*protocol.InteractionAnswerInput](p)
				h.root, h.epoch = c.root, c.epoch
				p.drop()
				p = h.accepted()
				sent := 0
				for want := 1 + count(!c.noQuery) + count(c.again); want > 0; want-- {
					r := expect[*protocol.Request](p)
					switch r.Input.(type) {
					case *protocol.SubscriptionOpenInput:
						p.answer(r.RequestID, r.Operation, &protocol.SubscriptionOpenResult{HostEpoch: c.epoch, SubscriptionID: "sub-2",
							NextSequence: 1, Snapshot: snapshot("s1", form("i1")), ActiveAssistantStreams: []protocol.AssistantStream{}})
					case *protocol.InteractionQueryInput:
						if c.record == nil {
							p.refuse(r.RequestID, r.Operation, cmp.Or(c.refusal, protocol.CodeNotFound))
							continue
						}
						p.answer(r.RequestID, r.Operation, c.record)
					case *protocol.InteractionAnswerInput:
						sent++
						p.answer(r.RequestID, r.Operation, answered("i1", "a"))
					}
				}
				got := <-done
				if hostclient.CodeOf(got.err) != c.want {
					t.Errorf("got %v", got.err)
				}
				if c.told {
					await[hostclient.InteractionSettled](t, v, nil)
				}
				if !c.told {
					untold(t, v)
				}
				if sent != count(c.again) {
					t.Errorf("sent again %d times", sent)
				}
				p.silent()
			})
		})
	}
}

// untold holds that nothing is told of how a form ended.
func untold(t *testing.T, v *hostclient.View) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	for {
		e, err := v.Next(ctx)
		if err != nil {
			return
		}
		if e, ok := e.(hostclient.InteractionSettled); ok {
			t.Errorf("told: %+v", e)
		}
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestFormPendingOverAHostRestart: a form that was pending while the Host restarted is told as closed by it.
func TestFormPendingOverAHostRestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		v, p, _ := showing(t, h, hostclient.ShowOptions{}, form("i1"))
		p.drop()
		h.net.Refuse(true)
		time.Sleep(5 * time.Minute)
		h.net.Refuse(false)
		h.epoch = "epoch-2"
		p = h.accepted()
		p.opens("sub-2", snapshot("s1"))
		p.asksFor("i1", closed("i1", protocol.ClosedHostRestarted))
		e := await[hostclient.InteractionSettled](t, v, nil)
		if !isClosure(protocol.ClosedHostRestarted)(e) {
			t.Errorf("%+v", e)
		}
	})
}

// TestAQueryThatIsLost is asked again after the reconnect, and told once.
func TestAQueryThatIsLost(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		v, p, head := showing(t, h, hostclient.ShowOptions{}, form("i1"))
		p.projects(&head, snapshot("s1"))
		request[*protocol.InteractionQueryInput](p)
		p.drop()
		p = h.accepted()
		p.opens("sub-2", snapshot("s1"))
		p.asksFor("i1", answered("i1", "x"))
		await[hostclient.InteractionSettled](t, v, nil)
		p.silent()
	})
}

// TestAQueryThatEndsLate: the open that came between leaves the question to the query that was under way, which asks it
// then.
func TestAQueryThatEndsLate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		v, p, head := showing(t, h, hostclient.ShowOptions{}, form("i1"))
		p.projects(&head, snapshot("s1"))
		request[*protocol.InteractionQueryInput](p) // as of the connection before; it is never answered
		hostclient.LoseQuery(v, "i1")
		p.asksFor("i1", answered("i1", "x"))
		await[hostclient.InteractionSettled](t, v, nil)
		hostclient.LoseQuery(v, "i1")
		p.silent()
	})
}

// TestAQueryOfARemovedSessionThatIsLost: no open of the session will ask again, so the next connection does.
func TestAQueryOfARemovedSessionThatIsLost(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		v, p, head := showing(t, h, hostclient.ShowOptions{}, form("i1"))
		p.send(&protocol.SubscriptionClosed{SubscriptionHeader: head, Reason: protocol.ClosedSessionRemoved})
		request[*protocol.InteractionQueryInput](p)
		p.drop()
		p = h.accepted()
		p.asksFor("i1", nil)
		if e := await[hostclient.InteractionSettled](t, v, nil); !e.Gone {
			t.Errorf("%+v", e)
		}
		p.silent()
	})
}

func TestAnswerWithoutAConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		h.net.Refuse(true)
		v := newView(t, h.options())
		await(t, v, state(hostclient.StateWaiting))
		if got := <-answering(v, "i1", "a"); hostclient.CodeOf(got.err) != hostclient.CodeNotConnected {
			t.Error(got.err)
		}
	})
}

// TestAnswerGivenUp: a caller that leaves while the connection is away learns that the outcome is unknown, and nothing is
// sent later.
func TestAnswerGivenUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		v, p, _ := showing(t, h, hostclient.ShowOptions{}, form("i1"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		done := make(chan error, 1)
		go func() {
			_, err := v.Answer(ctx, "s1", "i1", &protocol.FormAnswer{Result: says("a")})
			done <- err
		}()
		request[*protocol.InteractionAnswerInput](p)
		h.net.Refuse(true)
		p.drop()
		if err := <-done; hostclient.CodeOf(err) != hostclient.CodeUnknownOutcome {
			t.Error(err)
		}
		h.net.Refuse(false)
		p = h.accepted()
		p.opens("sub-2", snapshot("s1", form("i1")))
		p.silent()
	})
}

// TestAnswerThatNeverLeft: one that still waited in line when the connection ended was not sent, and is not sent later.
func TestAnswerThatNeverLeft(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		v, p, _ := showing(t, h, hostclient.ShowOptions{}, form("i1"))
		for range protocol.MaxRequestsInFlight {
			go v.Session(t.Context(), "s1")
		}
		synctest.Wait()
		done := answering(v, "i1", "a")
		synctest.Wait()
		p.drop()
		start := time.Now()
		if got := <-done; hostclient.CodeOf(got.err) != hostclient.CodeNotConnected || time.Since(start) > time.Second {
			t.Errorf("%v after %v", got.err, time.Since(start))
		}
		p = h.accepted()
		p.opens("sub-2", snapshot("s1", form("i1")))
		p.silent()
	})
}

// TestAnswerInEpoch39: a form's answer does not exist there, and is not sent.
func TestAnswerInEpoch39(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		v := newView(t, dialect39(h.options()))
		p := h.accepted()
		if err := v.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := <-answering(v, "i1", "a"); hostclient.CodeOf(got.err) != hostclient.CodeNoForms {
			t.Error(got.err)
		}
		p.silent()
	})
}

// TestAnswersAboutAnother: what the Host says of another Interaction or Turn is not taken for the one that was asked about,
// and a Host that says it again when asked what became of an answer is not asked for ever.
func TestAnswersAboutAnother(t *testing.T) {
	elsewhere := answered("i1", "x")
	elsewhere.SessionID = "s2"
	for name, other := range map[string]*protocol.Interaction{"interaction": answered("i2", "x"), "session": elsewhere} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := newScripted(t)
				v, p, _ := showing(t, h, hostclient.ShowOptions{}, form("i1"))
				done := answering(v, "i1", "x")
				in, id := request[*protocol.InteractionAnswerInput](p)
				p.answer(id, in.Operation(), other)
				p = h.accepted()
				for { // the session is opened again beside it
					r := expect[*protocol.Request](p)
					if _, ok := r.Input.(*protocol.InteractionQueryInput); ok {
						p.answer(r.RequestID, r.Operation, other)
						break
					}
				}
				got := <-done
				if hostclient.CodeOf(got.err) != hostclient.CodeUnknownOutcome || !strings.Contains(got.err.Error(), "another one") {
					t.Errorf("%+v, %v", got.in, got.err)
				}
			})
		})
	}
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		v, p := ready(t, h)
		done := make(chan error, 1)
		go func() {
			_, err := v.StopTurn(context.Background(), "s1", "t1", "r1")
			done <- err
		}()
		in, id := request[*protocol.TurnStopInput](p)
		p.answer(id, in.Operation(), &protocol.TurnSnapshot{SessionID: "s1", TurnID: "t2", RunID: "r1", Status: protocol.TurnCancelled, TerminalEventID: "e", AbortSource: "x"})
		if err := <-done; hostclient.CodeOf(err) != hostclient.CodeRequestLost || !strings.Contains(err.Error(), "another one") {
			t.Errorf("%v", err)
		}
	})
}
