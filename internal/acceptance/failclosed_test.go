package acceptance

import (
	"strings"
	"testing"

	"askback/forms"
	"askback/hostclient"
	"askback/protocol"
)

// Stop, stale answer, duplicate answer, cross-session answer, provider loss and round exhaustion fail closed: the server
// sees no tools/call beyond those that a person's answer, or the tool's own rounds, have led to.
func TestFailClosed(t *testing.T) { failClosed(live{t}) }

func failClosed(t T) {
	t.Parallel()
	yes := accept("environment", "staging", "confirm", true)
	send := func(r *rig, session, id string, res forms.Result) error {
		_, err := r.view.Answer(r.ctx(), session, id, &protocol.FormAnswer{Result: res})
		return err
	}
	late := func(r *rig, in protocol.Interaction, res forms.Result) {
		r.t.Helper()
		if err := send(r, in.SessionID, in.InteractionID, res); hostclient.CodeOf(err) != hostclient.CodeAlreadyResolved {
			r.t.Errorf("a late answer: %v", err)
		}
	}
	t.Run("stop", func(t T) {
		r := start(t, rigOptions{})
		tn := r.call(deploy)
		in, _ := tn.form()
		if _, err := r.view.StopTurn(r.ctx(), tn.session, tn.id, tn.run); err != nil {
			t.Fatal(err)
		}
		late(r, in, yes)
		tn.end()
		r.clean(1, tn)
	})
	t.Run("stale_answer", func(t T) {
		// The answer to a form of a call that has ended, while the same tool asks again.
		r := start(t, rigOptions{})
		first := r.call(deploy)
		in, _ := first.form()
		first.answer(in, forms.Decline())
		first.end()
		second := r.callIn(first.session, deploy)
		open, _ := second.form()
		late(r, in, yes)
		if now, err := r.view.Interaction(r.ctx(), open.SessionID, open.InteractionID); err != nil || now.Status != protocol.InteractionPending {
			t.Errorf("the open form: %+v %v", now, err)
		}
		second.answer(open, forms.Cancel())
		second.end()
		r.clean(4, first, second)
	})
	t.Run("duplicate_answer", func(t T) {
		r := start(t, rigOptions{})
		tn := r.call(deploy)
		in, _ := tn.form()
		tn.answer(in, yes)
		if err := send(r, in.SessionID, in.InteractionID, yes); err != nil {
			t.Errorf("an equal answer: %v", err)
		}
		late(r, in, forms.Decline())
		tn.end()
		if err := send(r, in.SessionID, in.InteractionID, yes); err != nil {
			t.Errorf("an equal answer after the call: %v", err)
		}
		r.clean(2, tn)
	})
	t.Run("cross_session_answer", func(t T) {
		r := start(t, rigOptions{})
		tn, other := r.call(deploy), r.call("/call demo/plain {}")
		in, _ := tn.form()
		other.end()
		_, err := r.view.Do(r.ctx(), &protocol.InteractionAnswerInput{SessionID: other.session, InteractionID: in.InteractionID, Answer: &protocol.FormAnswer{Result: yes}})
		if hostclient.RefusalOf(err) != protocol.CodeNotFound {
			t.Errorf("under another session: %v", err)
		}
		if now, err := r.view.Interaction(r.ctx(), in.SessionID, in.InteractionID); err != nil || now.Status != protocol.InteractionPending {
			t.Errorf("the form: %+v %v", now, err)
		}
		tn.answer(in, forms.Decline())
		tn.end()
		r.clean(3, tn, other)
	})
	t.Run("provider_loss", func(t T) {
		r := start(t, rigOptions{})
		tn := r.call(deploy)
		in, _ := tn.form()
		r.stopTools()
		if o, ok := tn.settled(in).(*protocol.Closure); !ok || o.Reason != protocol.ClosedProviderDisconnected {
			t.Errorf("outcome %+v", o)
		}
		late(r, in, yes)
		_, results := tn.end()
		if len(results) != 1 || !results[0].isError {
			t.Errorf("%+v", results)
		}
		r.clean(1, tn)
	})
	t.Run("round_exhaustion", func(t T) {
		r := start(t, rigOptions{rounds: 2})
		tn := r.call("/call demo/mrtr_loop {}")
		for range 2 {
			in, _ := tn.form()
			tn.answer(in, accept("confirm", true))
		}
		_, results := tn.end()
		if len(results) != 1 || !strings.HasPrefix(results[0].text, "round_limit: ") {
			t.Errorf("%+v", results)
		}
		r.clean(3, tn)
	})
}
