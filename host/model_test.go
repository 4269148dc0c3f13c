package host

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"askback/host/access"
	"askback/protocol"
)

// TestAuthorityModel drives a Host with random operations of several terminals and
// providers, disconnects and the clock among them, and holds it to a small model: which
// forms are pending, how each ended, what every provider was handed, which calls live.
func TestAuthorityModel(t *testing.T) {
	runs, most := 0, 3
	if s := os.Getenv("ASKBACK_MODEL_RUNS"); s != "" {
		most, _ = strconv.Atoi(s)
	}
	rapid.Check(t, func(rt *rapid.T) {
		if runs++; runs > most {
			return
		}
		// The numbers are drawn outside the bubble, whose clock runs for days.
		// Shrinking shortens the run.
		seed, steps := rapid.Uint64().Draw(rt, "seed"), rapid.IntRange(1, 60).Draw(rt, "steps")
		d := &dice{random: rand.New(rand.NewPCG(seed, 1)), length: 20 + steps}
		synctest.Test(t, func(t *testing.T) { d.play(t) })
		if d.failure != "" {
			rt.Fatalf("%s\nafter %v", d.failure, d.steps)
		}
	})
}

// dice gives a model its random numbers, and keeps what it found.
type dice struct {
	random  *rand.Rand
	length  int
	steps   []string
	failure string
}

type modelFailure string

// skipped is panicked when an operation is not possible now.
type skipped struct{}

func (d *dice) Fatalf(format string, args ...any) { panic(modelFailure(fmt.Sprintf(format, args...))) }

// below returns a number below n.
func (d *dice) below(n int) int {
	return d.random.IntN(n)
}

func (d *dice) play(t *testing.T) {
	w := newWorld(t)
	defer w.close()
	defer func() {
		switch r := recover().(type) {
		case nil:
		case modelFailure:
			d.failure = string(r)
		default:
			panic(r)
		}
	}()
	type operation struct {
		name string
		run  func(*dice)
	}
	operations := []operation{
		{"start", w.start}, {"stop", w.stop}, {"reject", w.reject}, {"result", w.result}, {"fail", w.fail}, {"violate", w.violate}, {"race", w.race},
		{"answerLate", w.answerLate}, {"wrong", w.wrong}, {"lose", w.lose}, {"join", w.join}, {"replace", w.replace},
		{"unregister", w.unregister}, {"lookAway", w.lookAway}, {"sleep", w.sleep},
	}
	for range 4 { // what leads on comes more often than what ends
		operations = append(operations, operations[0])
		operations = append(operations, []operation{{"accept", w.accept}, {"accept", w.accept}, {"ask", w.ask}, {"ask", w.ask}, {"answer", w.answer}, {"answer", w.answer}}...)
	}
	for len(d.steps) < d.length {
		op := operations[d.below(len(operations))]
		if d.attempt(op.run) {
			d.steps = append(d.steps, op.name)
			w.check(d, len(d.steps)%5 == 0)
		}
	}
	w.check(d, true)
}

// attempt reports whether the operation was possible.
func (d *dice) attempt(run func(*dice)) (done bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(skipped); !ok {
				panic(r)
			}
		}
	}()
	run(d)
	return true
}

// tap is a peer whose frames are collected by a goroutine.
type tap struct {
	*peer
	mu   sync.Mutex
	seen []frame
	gone bool
}

func (r *rig) tap(role access.Role, instance string) *tap {
	p := &tap{peer: r.connect(role, 81, instance)}
	go func() {
		for {
			f, err := p.tryRead()
			p.mu.Lock()
			if err != nil {
				p.gone = true
				p.mu.Unlock()
				return
			}
			p.seen = append(p.seen, f)
			p.mu.Unlock()
		}
	}()
	return p
}

func (p *tap) frames() []frame {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.seen)
}

// find returns the last frame that matches, nil when there is none.
func (p *tap) find(match func(frame) bool) frame {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range slices.Backward(p.seen) {
		if match(f) {
			return f
		}
	}
	return nil
}

func (p *tap) request(op string, input any) frame {
	id := p.ask(op, input)
	return p.find(func(f frame) bool { return f.text("requestId") == id })
}

const (
	modelDispatched = iota
	modelAdmitted
	modelAwaiting
	modelEnded
)

type modelCall struct {
	id       string // invocation, once it was seen
	provider *modelProvider
	session  *modelSession
	phase    int
	deadline time.Time
	form     *modelForm
	asked    int
}

type modelForm struct {
	id      string
	call    *modelCall
	since   time.Time
	value   string // the answer that won
	reason  string // or why it closed
	results int    // how often the provider must have got it
}

func (f *modelForm) pending() bool { return f.value == "" && f.reason == "" }

type modelSession struct {
	id, turn, run string
	calls         []*modelCall
	stopped       bool
}

func (s *modelSession) running() bool {
	return slices.ContainsFunc(s.calls, func(c *modelCall) bool { return c.phase != modelEnded })
}

type modelProvider struct {
	name      string
	tap       *tap
	published string // registration, "" none
	n         int
}

type world struct {
	rig       *rig
	view      *tap
	sessions  []*modelSession
	providers []*modelProvider
	forms     []*modelForm
	write     heldWrite
	n         int
}

func newWorld(t *testing.T) *world {
	w := &world{rig: newRig(t, nil)}
	w.rig.h.store.fail = w.write.pass
	w.view = w.rig.tap(access.RoleClient, "terminal")
	for i := range 3 {
		s := &modelSession{id: fmt.Sprint("session", i)}
		w.view.request("session.create", frame{"sessionId": s.id, "workspace": frame{"kind": "project", "projectId": "default"}, "modelTarget": frame{"kind": "default"}})
		w.sessions = append(w.sessions, s)
		w.providers = append(w.providers, &modelProvider{name: fmt.Sprint("srv", i)})
	}
	w.watch()
	return w
}

func (w *world) close() {
	w.rig.stop()
	synctest.Wait()
}

func (w *world) watch() {
	for _, s := range w.sessions {
		w.view.request("subscription.open", frame{"sessionId": s.id, "transcript": frame{"kind": "none"}})
	}
}

func pick[T any](rt *dice, list []T, ok func(T) bool) T {
	var fit []T
	for _, v := range list {
		if ok(v) {
			fit = append(fit, v)
		}
	}
	if len(fit) == 0 {
		panic(skipped{})
	}
	return fit[rt.below(len(fit))]
}

func (w *world) calls() (list []*modelCall) {
	for _, s := range w.sessions {
		list = append(list, s.calls...)
	}
	return list
}

func inPhase(phases ...int) func(*modelCall) bool {
	return func(c *modelCall) bool { return slices.Contains(phases, c.phase) }
}

// end takes a call out of the model, closing its form.
func (c *modelCall) end(reason string) {
	if c.phase == modelAwaiting {
		c.form.reason = reason
	}
	c.phase = modelEnded
}

func (w *world) start(rt *dice) {
	s := pick(rt, w.sessions, func(s *modelSession) bool { return !s.running() })
	if !slices.ContainsFunc(w.providers, func(p *modelProvider) bool { return p.published != "" }) && rt.below(4) > 0 {
		panic(skipped{}) // nothing to call
	}
	w.n++
	s.turn, s.stopped, s.calls = fmt.Sprint("turn", w.n), false, nil
	text := ""
	for _, p := range w.providers {
		for range rt.below(3) {
			text += "/call " + p.name + "/tool\n"
			c := &modelCall{provider: p, session: s, deadline: time.Now().Add(protocol.InvocationTimeout)}
			if p.published == "" {
				c.phase = modelEnded
			}
			s.calls = append(s.calls, c)
		}
	}
	if text == "" {
		text = "/call nobody/nothing"
	}
	f := w.view.request("turn.start", frame{"sessionId": s.id, "turnId": s.turn, "content": frame{"text": text}})
	s.run = f.text("result.turn.runId")
	if s.run == "" {
		rt.Fatalf("turn.start: %v", f)
	}
	for _, p := range w.providers {
		var ids []string
		if p.tap != nil {
			for _, f := range p.tap.frames() {
				if f.text("kind") == "client.capability.call" && f.text("turnId") == s.turn {
					ids = append(ids, f.text("invocationId"))
				}
			}
		}
		for _, c := range s.calls {
			if c.provider != p || c.phase == modelEnded {
				continue
			}
			if len(ids) == 0 {
				rt.Fatalf("%s did not get its call", p.name)
			}
			c.id, ids = ids[0], ids[1:]
		}
		if len(ids) > 0 {
			rt.Fatalf("%s got a call too many", p.name)
		}
	}
}

func (w *world) stop(rt *dice) {
	s := pick(rt, w.sessions, (*modelSession).running)
	for _, c := range s.calls {
		if c.phase != modelEnded {
			c.end("turn_stopped")
		}
	}
	s.stopped = true
	if f := w.view.request("turn.stop", frame{"sessionId": s.id, "turnId": s.turn, "runId": s.run}); f.text("result.status") != "cancelled" {
		rt.Fatalf("turn.stop: %v", f)
	}
}

func (w *world) tell(c *modelCall, kind string, extra frame) {
	c.provider.tap.tell(kind, frame{"invocationId": c.id}, extra)
	synctest.Wait()
}

func (w *world) accept(rt *dice) {
	c := pick(rt, w.calls(), inPhase(modelDispatched))
	w.tell(c, "accepted", nil)
	c.phase = modelAdmitted
}

func (w *world) reject(rt *dice) {
	c := pick(rt, w.calls(), inPhase(modelDispatched))
	w.tell(c, "rejected", frame{"message": "no"})
	c.end("")
}

func (w *world) ask(rt *dice) {
	c := pick(rt, w.calls(), inPhase(modelAdmitted))
	c.asked++
	w.tell(c, "interaction_request", frame{"interactionId": fmt.Sprint("n", c.asked), "request": colour()})
	c.phase, c.form = modelAwaiting, &modelForm{call: c, since: time.Now()}
	known := map[string]bool{}
	for _, f := range w.forms {
		known[f.id] = true
	}
	for _, id := range w.shown(c.session) {
		if !known[id] {
			c.form.id = id
		}
	}
	if c.form.id == "" {
		rt.Fatalf("the form was not shown")
	}
	w.forms = append(w.forms, c.form)
}

func (w *world) result(rt *dice) {
	c := pick(rt, w.calls(), inPhase(modelAdmitted, modelAwaiting))
	w.tell(c, "result", frame{"result": frame{"content": []frame{}}})
	c.end("producer_cancelled")
}

func (w *world) fail(rt *dice) {
	c := pick(rt, w.calls(), inPhase(modelAdmitted, modelAwaiting))
	w.tell(c, "failed", frame{"message": "server_error: no"})
	c.end("producer_cancelled")
}

func (w *world) violate(rt *dice) {
	c := pick(rt, w.calls(), inPhase(modelAdmitted, modelAwaiting))
	w.tell(c, "accepted", nil)
	w.drop(c.provider)
}

func (w *world) reply(f *modelForm, value string) frame {
	return w.view.request("interaction.answer", frame{"sessionId": f.call.session.id, "interactionId": f.id, "answer": accepting(value)})
}

func (w *world) answer(rt *dice) {
	f := pick(rt, w.forms, (*modelForm).pending)
	w.n++
	f.value = fmt.Sprint("value", w.n)
	if got := w.reply(f, f.value); got.text("result.status") != "answered" {
		rt.Fatalf("answer: %v", got)
	}
	f.results++
	f.call.phase, f.call.deadline = modelAdmitted, time.Now().Add(protocol.InvocationTimeout)
}

// race sends an answer and, while it is being stored, a provider's word for the end of the call.
func (w *world) race(rt *dice) {
	f := pick(rt, w.forms, (*modelForm).pending)
	w.n++
	value, stored, result := fmt.Sprint("value", w.n), rt.below(2) == 0, rt.below(2) == 0
	w.write.arm()
	id := w.view.ask("interaction.answer", frame{"sessionId": f.call.session.id, "interactionId": f.id, "answer": accepting(value)})
	synctest.Wait()
	if result {
		w.tell(f.call, "result", frame{"result": frame{"content": []frame{}}})
	} else {
		w.tell(f.call, "failed", frame{"message": "server_error: no"})
	}
	want := ""
	if stored {
		f.value, f.call.phase = value, modelAdmitted
		w.write.goOn <- nil
	} else {
		want = "persistence_failed"
		w.write.goOn <- errNoSpace
	}
	f.call.end("producer_cancelled")
	if got := w.view.find(func(f frame) bool { return f.text("requestId") == id }); got == nil || got.text("error.code") != want {
		rt.Fatalf("answer: %v", got)
	}
}

// answerLate repeats an answer, or gives another one, to a form that is settled.
func (w *world) answerLate(rt *dice) {
	f := pick(rt, w.forms, func(f *modelForm) bool { return !f.pending() })
	same := rt.below(2) == 0
	value := "other"
	if same {
		value = f.value
	}
	got := w.reply(f, orElse(value, "x"))
	if same && f.value != "" {
		if got.text("result.outcome.values.colour") != f.value {
			rt.Fatalf("equivalent repeat: %v", got)
		}
	} else if got.text("error.code") != "already_resolved" {
		rt.Fatalf("late answer: %v", got)
	}
}

func (w *world) wrong(rt *dice) {
	f := pick(rt, w.forms, (*modelForm).pending)
	other := w.sessions[0]
	if other == f.call.session {
		other = w.sessions[1]
	}
	if got := w.reply(f, fmt.Sprintf("%0100d", 0)); got.text("error.code") != "operation_conflict" {
		rt.Fatalf("too long: %v", got)
	}
	got := w.view.request("interaction.answer", frame{"sessionId": other.id, "interactionId": f.id, "answer": accepting("x")})
	if got.text("error.code") != "not_found" {
		rt.Fatalf("cross-session: %v", got)
	}
}

func (w *world) drop(p *modelProvider) {
	p.tap, p.published = nil, ""
	for _, c := range w.calls() {
		if c.provider == p && c.phase != modelEnded {
			c.end("provider_disconnected")
		}
	}
}

func connected(p *modelProvider) bool { return p.tap != nil }

func (w *world) lose(rt *dice) {
	if rt.below(3) > 0 {
		panic(skipped{}) // a loss ends much; let things happen first
	}
	p := pick(rt, w.providers, connected)
	p.tap.raw.Close()
	w.drop(p)
}

func (w *world) join(rt *dice) {
	p := pick(rt, w.providers, func(p *modelProvider) bool { return !connected(p) })
	p.tap = w.rig.tap(access.RoleProvider, p.name)
	w.publish(rt, p)
}

func (w *world) publish(rt *dice, p *modelProvider) {
	p.n++
	p.published = fmt.Sprint(p.name, "-", p.n)
	f := p.tap.request("client.capability.replace", frame{"registrationId": p.published, "offers": []frame{{
		"offerId": "offer", "version": "1", "affinity": "session", "hostPathAccess": "none", "label": "L",
		"tools": []frame{{"serverId": p.name, "name": "tool", "inputSchema": frame{"type": "object"}}},
	}}})
	if f["ok"] != true {
		rt.Fatalf("replace: %v", f)
	}
}

func (w *world) replace(rt *dice) {
	w.publish(rt, pick(rt, w.providers, connected))
}

func (w *world) unregister(rt *dice) {
	p := pick(rt, w.providers, func(p *modelProvider) bool { return connected(p) && p.published != "" })
	p.tap.request("client.capability.unregister", frame{"registrationId": p.published})
	p.published = ""
}

// lookAway closes the terminal and opens another: nothing depends on it.
func (w *world) lookAway(*dice) {
	w.view.raw.Close()
	w.view = w.rig.tap(access.RoleClient, "terminal")
	w.watch()
}

func (w *world) sleep(rt *dice) {
	pauses := []time.Duration{time.Second, time.Minute, 149 * time.Second, time.Hour, 25 * time.Hour}
	time.Sleep(pauses[rt.below(len(pauses))])
	synctest.Wait()
	for _, c := range w.calls() {
		switch {
		case c.phase == modelAwaiting && !c.form.since.Add(protocol.InteractionTimeout).After(time.Now()):
			c.end("timed_out")
		case c.phase != modelAwaiting && c.phase != modelEnded && !c.deadline.After(time.Now()):
			c.end("")
		}
	}
}

// shown lists the forms that the terminal sees as pending in a session.
func (w *world) shown(s *modelSession) (ids []string) {
	f := w.view.find(func(f frame) bool {
		return f.text("snapshot.session.sessionId") == s.id || f.text("result.snapshot.session.sessionId") == s.id
	})
	list, _ := f.at("snapshot.interactions.pending").([]any)
	if list == nil {
		list, _ = f.at("result.snapshot.interactions.pending").([]any)
	}
	for _, v := range list {
		ids = append(ids, frame(v.(map[string]any)).text("interactionId"))
	}
	return ids
}

// check holds the Host to the model: what is shown after every step, what is stored when
// asked to.
func (w *world) check(rt *dice, stored bool) {
	synctest.Wait()
	for _, s := range w.sessions {
		want := map[string]bool{}
		for _, f := range w.forms {
			if f.pending() && f.call.session == s {
				want[f.id] = true
			}
		}
		got := map[string]bool{}
		for _, id := range w.shown(s) {
			got[id] = true
		}
		if !maps.Equal(got, want) {
			rt.Fatalf("%s shows %v, want %v", s.id, got, want)
		}
		if stored {
			w.checkTurn(rt, s)
		}
	}
	for _, f := range w.forms {
		if stored {
			w.checkForm(rt, f)
		}
	}
	live, armed := 0, 0
	for _, c := range w.calls() {
		if c.phase != modelEnded {
			live++
			if c.phase != modelAwaiting {
				armed++
			}
		}
	}
	g := &w.rig.h.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.broker.Active() != live || len(g.timers) != armed || len(g.owners) != live || len(g.queues) != 0 || len(g.closing) != 0 {
		rt.Fatalf("%d calls, %d timers, %d owners, %d queues; want %d calls, %d timers", g.broker.Active(), len(g.timers), len(g.owners), len(g.queues), live, armed)
	}
}

func (w *world) checkTurn(rt *dice, s *modelSession) {
	if s.turn == "" {
		return
	}
	got := w.view.request("turn.query", frame{"sessionId": s.id, "turnId": s.turn}).text("result.status")
	want := "completed"
	switch waits := len(w.shown(s)) > 0; {
	case s.running() && waits:
		want = "waiting_for_user"
	case s.running():
		want = "running"
	case s.stopped:
		want = "cancelled"
	}
	if got != want {
		rt.Fatalf("%s is %s, want %s", s.turn, got, want)
	}
}

func (w *world) checkForm(rt *dice, f *modelForm) {
	in := frame(w.view.request("interaction.query", frame{"sessionId": f.call.session.id, "interactionId": f.id}))
	status := "pending"
	switch {
	case f.value != "":
		status = "answered"
	case f.reason != "":
		status = "closed"
	}
	if in.text("result.status") != status || in.text("result.outcome.values.colour") != f.value || in.text("result.outcome.reason") != f.reason {
		rt.Fatalf("%s: %v; want %s %q %q", f.id, in, status, f.value, f.reason)
	}
	if p := f.call.provider; p.tap != nil && f.value != "" {
		n := 0
		for _, got := range p.tap.frames() {
			if got.text("kind") == "client.capability.interaction_result" && got.text("result.values.colour") == f.value {
				n++
			}
		}
		if n > 1 {
			rt.Fatalf("%s was handed over %d times", f.id, n)
		}
	}
}
