package acceptance

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"askback/host"
	"askback/internal/play"
	"askback/protocol"
)

// 16. Provider final-result, failure, cancellation, and release paths close every nested Interaction; no invocation can
// settle while leaving an orphan form.
func TestAC16_every_way_out_closes_the_form(t *testing.T) { ac16(live{t}) }

func ac16(t T) {
	t.Parallel()
	type scene struct {
		r     *rig
		p     *rawProvider
		clock *play.Clock
		tn    *turn
		id    string
		in    protocol.Interaction
		end   chan struct{} // ends the Turn from inside
	}
	for name, c := range map[string]struct {
		do     func(*scene)
		reason protocol.ClosureReason
		text   string // in the result
	}{
		"result": {func(s *scene) {
			s.p.send(`{"kind":"client.capability.result","invocationId":%q,"result":{"content":[{"type":"text","text":"ghost"}]}}`, s.id)
		}, protocol.ClosedProducerCancelled, ""},
		"result_start": {func(s *scene) {
			s.p.send(`{"kind":"client.capability.result_start","invocationId":%q,"byteLength":40000,"chunkCount":2}`, s.id)
		}, protocol.ClosedProducerCancelled, ""},
		"failed": {func(s *scene) {
			s.p.send(`{"kind":"client.capability.failed","invocationId":%q,"message":"server_error: the server has died"}`, s.id)
		}, protocol.ClosedProducerCancelled, "server_error: the server has died"},
		"cancel": {func(s *scene) {
			if _, err := s.r.view.StopTurn(s.r.ctx(), s.tn.session, s.tn.id, s.tn.run); err != nil {
				s.r.t.Fatal(err)
			}
			if got := s.p.expect("cancel"); got != s.id {
				s.r.t.Errorf("cancel of %s", got)
			}
		}, protocol.ClosedTurnStopped, "outcome_unknown"},
		"release": {func(s *scene) {
			if _, err := s.r.view.StopTurn(s.r.ctx(), s.tn.session, s.tn.id, s.tn.run); err != nil {
				s.r.t.Fatal(err)
			}
			if got := s.p.expect("release"); got != s.id {
				s.r.t.Errorf("release of %s", got)
			}
			// What comes after the release is ignored.
			s.p.result(s.id)
		}, protocol.ClosedTurnStopped, "outcome_unknown"},
		"disconnect": {func(s *scene) { s.p.hangUp() }, protocol.ClosedProviderDisconnected, "outcome_unknown"},
		"supersede":  {func(s *scene) { s.r.rawProvide("hand-made") }, protocol.ClosedProviderDisconnected, "outcome_unknown"},
		"stop": {func(s *scene) {
			if snap, err := s.r.view.StopTurn(s.r.ctx(), s.tn.session, s.tn.id, s.tn.run); err != nil || !snap.Status.Terminal() {
				s.r.t.Fatalf("%+v %v", snap, err)
			}
			// When stop has returned, nothing is pending any more.
			now, err := s.r.view.Interaction(s.r.ctx(), s.in.SessionID, s.in.InteractionID)
			if err != nil || now.Outcome == nil {
				s.r.t.Errorf("after stop: %+v %v", now, err)
			}
		}, protocol.ClosedTurnStopped, "outcome_unknown"},
		"turn_end":  {func(s *scene) { close(s.end) }, protocol.ClosedTurnTerminal, ""},
		"malformed": {func(s *scene) { s.p.send(`{"kind":"nonsense"}`) }, protocol.ClosedProviderDisconnected, "outcome_unknown"},
		"deadline":  {func(s *scene) { s.clock.Move(protocol.InteractionTimeout + time.Second) }, protocol.ClosedTimedOut, ""},
	} {
		t.Run(name, func(t T) {
			clock, end := play.NewClock(), make(chan struct{})
			r := start(t, rigOptions{host: func(o *host.Options) {
				o.Clock = hostClock{Clock: clock}
				o.Executor = impatient{end}
			}})
			s := &scene{r: r, clock: clock, end: end, p: r.rawProvide("hand-made")}
			s.tn = r.call("/call hand/ask {}")
			s.id = s.p.ask()
			s.in, _ = s.tn.form()
			c.do(s)
			o, ok := s.tn.settled(s.in).(*protocol.Closure)
			if !ok || o.Reason != c.reason {
				t.Errorf("outcome %+v, want %s", o, c.reason)
			}
			snap, results := s.tn.end()
			if len(results) != 1 || !results[0].isError || !strings.Contains(results[0].text, c.text) || strings.Contains(results[0].text, "ghost") {
				t.Errorf("%s: %+v", snap.Status, results)
			}
			s.p.quiet()
			r.clean(0, s.tn)
		})
	}
}

// impatient runs /call lines, but gives the Turn up when it is told to, whatever its calls wait for.
type impatient struct{ end chan struct{} }

func (e impatient) Execute(ctx context.Context, run *host.Run) error {
	done := make(chan error, 1)
	go func() { done <- host.CallExecutor{}.Execute(ctx, run) }()
	select {
	case err := <-done:
		return err
	case <-e.end:
		return errors.New("the executor gives up")
	}
}
