package acceptance

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"askback/host"
	"askback/internal/acceptance/peer"
	"askback/internal/play"
	"askback/protocol"
)

// hostClock is a clock that stands still until it is moved, as the Host's.
type hostClock struct {
	*play.Clock
	arms *atomic.Int64 // counts deadlines that were started, where it is not nil
}

func (c hostClock) AfterFunc(d time.Duration, f func()) host.Timer {
	t := c.Clock.AfterFunc(d, f)
	if c.arms != nil && d == deadline {
		c.arms.Add(1)
	}
	return t
}

const deadline = protocol.InvocationTimeout

// 10. The provider execution timeout is suspended only while the exact canonical Interaction is pending and is re-armed
// after settlement.
func TestAC10_the_timer_stops_for_the_person_alone(t *testing.T) { ac10(live{t}) }

func ac10(t T) {
	t.Parallel()
	// asked is a call that waits for a person; hold keeps the leg after the answer from ending.
	asked := func(t T, o rigOptions, script ...string) (*rig, *play.Clock, *peer.Server, *turn, protocol.Interaction) {
		clock := play.NewClock()
		o.host = func(o *host.Options) { o.Clock = hostClock{Clock: clock} }
		r := start(t, o)
		s := peer.New(script...)
		tn := r.call("/call " + r.addServer(s) + "/ask {}")
		in, _ := tn.form()
		return r, clock, s, tn, in
	}
	round := peer.Round(`"s"`, peer.Form("k", "v"))
	t.Run("thinking_is_free", func(t T) {
		r, clock, s, tn, in := asked(t, rigOptions{}, round, peer.Done)
		for range 60 {
			clock.Move(time.Minute)
		}
		time.Sleep(20 * time.Millisecond)
		if now, err := r.view.Interaction(r.ctx(), in.SessionID, in.InteractionID); err != nil || now.Status != protocol.InteractionPending {
			t.Fatalf("after an hour: %+v %v", now, err)
		}
		tn.answer(in, accept("v", "x"))
		_, results := tn.end()
		if len(results) != 1 || results[0].isError || len(s.Calls()) != 2 {
			t.Errorf("%+v, %d legs", results, len(s.Calls()))
		}
		r.clean(0, tn)
	})
	t.Run("commit_without_delivery_expires", func(t T) {
		held := make(chan struct{})
		reached := make(chan struct{}, 1)
		clock := play.NewClock()
		r := start(t, rigOptions{host: func(o *host.Options) {
			o.Clock = hostClock{Clock: clock}
			o.BeforeHandOver = func(string) { reached <- struct{}{}; <-held }
		}})
		defer close(held)
		s := peer.New(round, peer.Done)
		tn := r.call("/call " + r.addServer(s) + "/ask {}")
		in, _ := tn.form()
		tn.answer(in, accept("v", "x"))
		<-reached
		clock.Move(deadline + time.Second)
		_, results := tn.end()
		if len(results) != 1 || !results[0].isError || !results[0].uncertain || !strings.Contains(results[0].text, "timed out after provider acceptance") {
			t.Errorf("%+v", results)
		}
		if n := len(s.Calls()); n != 1 {
			t.Errorf("%d legs: the answer was delivered", n)
		}
		r.clean(0, tn)
	})
	t.Run("hung_after_answer_expires", func(t T) {
		clock := play.NewClock()
		arms := new(atomic.Int64)
		r := start(t, rigOptions{host: func(o *host.Options) { o.Clock = hostClock{clock, arms} }})
		s := peer.New(round, peer.Done)
		release := s.Hold(2)
		defer release()
		tn := r.call("/call " + r.addServer(s) + "/ask {}")
		in, _ := tn.form()
		clock.Move(time.Hour)
		tn.answer(in, accept("v", "x"))
		s.Await(t, 2)
		if t.Fault() == nil { // started when it was accepted, committed and delivered: only then may time pass
			waitFor(t, "the deadline after the delivery", func() bool { return arms.Load() >= 3 })
		}
		clock.Move(deadline - time.Second)
		time.Sleep(20 * time.Millisecond)
		if n := r.host.Active(); n != 1 {
			t.Errorf("%d invocations just before the deadline", n)
		}
		clock.Move(2 * time.Second)
		_, results := tn.end()
		if len(results) != 1 || !results[0].uncertain || !strings.Contains(results[0].text, "timed out after provider acceptance") {
			t.Errorf("%+v", results)
		}
		r.clean(0, tn)
	})
	t.Run("refused_form_does_not_suspend", refusedForms)
	t.Run("second_form_suspends_again", func(t T) {
		r, clock, s, tn, in := asked(t, rigOptions{}, round, peer.Round(`"t"`, peer.Form("k2", "v")), peer.Done)
		clock.Move(time.Hour)
		tn.answer(in, accept("v", "x"))
		second, _ := tn.form()
		clock.Move(time.Hour)
		time.Sleep(20 * time.Millisecond)
		tn.answer(second, accept("v", "y"))
		_, results := tn.end()
		if len(results) != 1 || results[0].isError || len(s.Calls()) != 3 {
			t.Errorf("%+v, %d legs", results, len(s.Calls()))
		}
		r.clean(0, tn)
	})
}
