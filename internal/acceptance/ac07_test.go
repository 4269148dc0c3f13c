package acceptance

import (
	"testing"

	"askback/hostclient"
	"askback/protocol"
)

// 7. Global Stop while a form is pending sends no retry and leaves no pending Host Interaction or Client Capability
// invocation.
func TestAC07_stop_with_a_form_open(t *testing.T) { ac07(live{t}) }

func ac07(t T) {
	t.Parallel()
	stopped := func(t T) (*rig, *turn, protocol.Interaction) {
		r := start(t, rigOptions{})
		tn := r.call(deploy)
		in, _ := tn.form()
		snap, err := r.view.StopTurn(r.ctx(), tn.session, tn.id, tn.run)
		if err != nil || snap.Status != protocol.TurnCancelled {
			t.Fatalf("stop: %+v %v", snap, err)
		}
		return r, tn, in
	}
	t.Run("no_retry", func(t T) {
		r, tn, _ := stopped(t)
		_, results := tn.end()
		if len(results) != 1 || !results[0].isError || !results[0].uncertain {
			t.Errorf("%+v", results)
		}
		r.clean(1, tn)
	})
	t.Run("no_interaction", func(t T) {
		r, tn, in := stopped(t)
		o, ok := tn.settled(in).(*protocol.Closure)
		if !ok || o.Reason != protocol.ClosedTurnStopped {
			t.Errorf("outcome: %+v", o)
		}
		_, err := r.view.Answer(r.ctx(), in.SessionID, in.InteractionID, &protocol.FormAnswer{Result: accept("environment", "staging", "confirm", true)})
		if hostclient.CodeOf(err) != hostclient.CodeAlreadyResolved {
			t.Errorf("a late answer: %v", err)
		}
		r.clean(1, tn)
	})
	t.Run("no_invocation", func(t T) {
		r, tn, _ := stopped(t)
		if n := r.host.Active(); n != 0 {
			t.Errorf("%d invocations are live when stop has returned", n)
		}
		// The provider is free for the next call.
		next := r.callIn(tn.session, "/call demo/plain {}")
		if _, results := next.end(); len(results) != 1 || results[0].isError {
			t.Errorf("%+v", results)
		}
		r.clean(2, tn, next)
	})
}
