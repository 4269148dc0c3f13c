package acceptance

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"askback/forms"
	"askback/host"
	"askback/internal/acceptance/peer"
	"askback/internal/play"
	"askback/protocol"
)

const timedOut = "timed out after provider acceptance"

// refusedForms: neither a form that is refused, by whomever, nor progress touches the execution timer.
func refusedForms(t T) {
	hand := func(t T) (*rig, *rawProvider, *play.Clock) {
		clock := play.NewClock()
		r := start(t, rigOptions{host: func(o *host.Options) { o.Clock = hostClock{Clock: clock} }})
		return r, r.rawProvide("hand-made"), clock
	}
	// expires wants a call that runs to run until its deadline, counted from the clock's last move.
	expires := func(t T, r *rig, clock *play.Clock, tn *turn, left time.Duration) []result {
		t.Helper()
		clock.Move(left - time.Second)
		time.Sleep(20 * time.Millisecond)
		if n := r.host.Active(); n != 1 {
			t.Errorf("%d invocations just before the deadline", n)
		}
		clock.Move(2 * time.Second)
		_, results := tn.end()
		if n := len(results); n == 0 || !results[n-1].uncertain || !strings.Contains(results[n-1].text, timedOut) {
			t.Errorf("%+v", results)
		}
		return results
	}
	t.Run("none_asked", func(t T) {
		clock := play.NewClock()
		r := start(t, rigOptions{host: func(o *host.Options) { o.Clock = hostClock{Clock: clock} }})
		s := peer.New(peer.Done)
		release := s.Hold(1)
		defer release()
		tn := r.call("/call " + r.addServer(s) + "/ask {}")
		s.Await(t, 1)
		expires(t, r, clock, tn, deadline)
		r.clean(0, tn)
	})
	// What the manager refuses reaches no Host; the same call fails, and nobody's timer has stopped.
	t.Run("by_the_manager", func(t T) {
		clock := play.NewClock()
		r := start(t, rigOptions{host: func(o *host.Options) { o.Clock = hostClock{Clock: clock} }})
		bad := peer.New(peer.Round(`"s"`, `"k":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"string"}}}`))
		good := peer.New(peer.Done)
		release := good.Hold(1)
		defer release()
		tn := r.call("/call "+r.addServer(bad)+"/ask {}", "/call "+r.addServer(good)+"/ask {}")
		good.Await(t, 1)
		waitFor(t, "the refused call's end", func() bool { return r.host.Active() == 1 })
		if results := expires(t, r, clock, tn, deadline); len(results) != 2 || !strings.HasPrefix(results[0].text, "invalid_form: ") {
			t.Errorf("%+v", results)
		}
		r.never(tn)
		r.clean(0, tn)
	})
	// A session's forms together may have 56 KiB. The one that no longer fits fails its call and touches no other.
	t.Run("by_the_host", func(t T) {
		r, p, clock := hand(t)
		tn := r.call(strings.TrimSuffix(strings.Repeat("/call hand/ask {}\n", 5), "\n"))
		var ids []string
		for range 5 {
			ids = append(ids, p.take())
		}
		var fields []string
		for i := range 12 {
			fields = append(fields, fmt.Sprintf(`{"kind":"boolean","name":"f%d","label":"f%d","required":false,"description":%q}`, i, i, strings.Repeat("d", 500)))
		}
		big := fmt.Sprintf(`{"message":%q,"requester":{"name":"ask"},"fields":[%s]}`, strings.Repeat("m", 8000), strings.Join(fields, ","))
		var shown []protocol.Interaction
		for i, id := range ids[:3] {
			p.request(id, fmt.Sprint("big", i), big)
			in, _ := tn.form()
			shown = append(shown, in)
		}
		p.request(ids[3], "one-too-many", big)
		if got := p.expect("cancel"); got != ids[3] {
			t.Errorf("cancel of %s", got)
		}
		if got := p.expect("release"); got != ids[3] {
			t.Errorf("release of %s", got)
		}
		if n := r.host.Active(); n != 4 {
			t.Errorf("%d invocations are live beside the refused one", n)
		}
		// The fifth call asks nothing: its time runs. The three that wait have all the time in the world.
		clock.Move(deadline - time.Second)
		p.progress(ids[4], 3)
		p.progress(ids[0], 3)
		time.Sleep(20 * time.Millisecond)
		clock.Move(2 * time.Second)
		if got := p.expect("cancel"); got != ids[4] {
			t.Errorf("cancel of %s", got)
		}
		clock.Move(time.Hour)
		time.Sleep(20 * time.Millisecond)
		for i, in := range shown {
			tn.answer(in, forms.Decline())
			if got := p.expect("interaction_result"); got != ids[i] {
				t.Errorf("the answer went to %s", got)
			}
			p.result(ids[i])
		}
		_, results := tn.end()
		var texts []string
		for _, res := range results {
			if res.isError {
				texts = append(texts, res.text)
			}
		}
		if all := strings.Join(texts, "\n"); len(texts) != 2 || !strings.Contains(all, "The form does not fit") || !strings.Contains(all, timedOut) {
			t.Errorf("%q", texts)
		}
		r.clean(0, tn)
	})
	// A malformed one ends its connection; another provider's call has its time unchanged.
	t.Run("malformed", func(t T) {
		for _, form := range []string{`{"message":"m"}`, `{"message":"m","requester":{"name":"ask"},"fields":[{"kind":"string"}]}`, `[]`,
			`{"message":"m","requester":{"name":"ask"},"fields":[{"kind":"single_select","name":"a","label":"a","required":true,"options":[]}]}`} {
			r, p, clock := hand(t)
			s := peer.New(peer.Done)
			release := s.Hold(1)
			tn := r.call("/call hand/ask {}", "/call "+r.addServer(s)+"/ask {}")
			id := p.take()
			s.Await(t, 1)
			p.request(id, "bad", form)
			waitFor(t, "the end of the call that asked so", func() bool { return r.host.Active() == 1 })
			expires(t, r, clock, tn, deadline)
			release()
			r.never(tn)
			r.clean(0, tn)
		}
	})
	// One for a call that is over is ignored.
	t.Run("of_a_call_that_is_over", func(t T) {
		r, p, clock := hand(t)
		tn := r.call("/call hand/ask {}", "/call hand/ask {}")
		over, running := p.take(), p.take()
		p.result(over)
		waitFor(t, "the first call's end", func() bool { return r.host.Active() == 1 })
		p.request(over, "late", emptyForm)
		p.progress(over, 1)
		p.progress(running, 1)
		expires(t, r, clock, tn, deadline)
		r.never(tn)
		r.clean(0, tn)
	})
	t.Run("progress", func(t T) {
		clock, arms := play.NewClock(), new(atomic.Int64)
		r := start(t, rigOptions{host: func(o *host.Options) { o.Clock = hostClock{clock, arms} }})
		p := r.rawProvide("hand-made")
		tn := r.call("/call hand/ask {}")
		id := p.take()
		clock.Move(deadline - 2*time.Second)
		p.progress(id, 1) // does not arm the timer anew
		time.Sleep(20 * time.Millisecond)
		clock.Move(time.Second)
		p.request(id, "mine", emptyForm)
		in, _ := tn.form()
		p.progress(id, 2) // does not start it while the form is pending
		time.Sleep(20 * time.Millisecond)
		clock.Move(time.Hour)
		time.Sleep(20 * time.Millisecond)
		tn.answer(in, forms.Decline())
		p.expect("interaction_result")
		if t.Fault() == nil { // started when it was accepted, committed and delivered: only then may time pass
			waitFor(t, "the deadline after the delivery", func() bool { return arms.Load() >= 3 })
		}
		clock.Move(deadline - 2*time.Second)
		p.progress(id, 3) // nor afterwards
		time.Sleep(20 * time.Millisecond)
		expires(t, r, clock, tn, 2*time.Second)
		r.clean(0, tn)
	})
}
