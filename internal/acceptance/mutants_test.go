package acceptance

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"askback/forms"
	"askback/host"
	"askback/internal/play"
	"askback/mcpmgr"
	"askback/protocol"
	"askback/provider"
)

// A criterion that cannot fail says nothing: each of these breaks one part of the system and wants one criterion, or one
// clause of it, to say so in those words.
var mutants = []struct {
	name   string
	of     func(T)
	clause string // "" is all
	fault  fault
	says   string
}{
	{"ac01 another value", ac01, "accept_stdio", fault{tamper: "other_answer"}, "legs: "},
	{"ac02 same id", ac02, "fresh_id", fault{tamper: "same_id"}, "was used twice"},
	{"ac02 rounded integer", ac02, "equal_arguments", fault{tamper: "arguments"}, "leg: ask"},
	{"ac02 answers of all rounds", ac02, "current_round_only", fault{tamper: "earlier_answers"}, "leg 3"},
	{"ac02 state parsed and printed", ac02, "state_exact", fault{tamper: "state_parsed"}, "state came back as"},
	{"ac02 empty state left out", ac02, "state_empty", fault{tamper: "no_state"}, "state came back as"},
	{"ac02 state made up", ac02, "state_absent", fault{tamper: "a_state"}, "state came back as"},
	{"ac03 double send", ac03, "", fault{tamper: "twice"}, "the server saw 6 tools/call"},
	{"ac03 the executor calls twice", ac03, "", fault{host: func(o *host.Options) { o.Executor = twofold{} }}, "the Turn does not end: waiting_for_user"},
	{"ac04 decline is cancel", ac04, "decline", fault{tools: asking(func(r forms.Result) forms.Result {
		if r.Action == forms.ActionDecline {
			return forms.Cancel()
		}
		return r
	})}, "the server saw"},
	{"ac05 another key", ac05, "several_forms_exact_keys", fault{tamper: "other_key"}, `"proto"`},
	{"ac05 tried again", ac05, "malformed", fault{tools: again}, "the server saw 2 tools/call"},
	{"ac05 tried again over the limit", ac05, "over_limit", fault{tools: again}, "the server saw 2 tools/call"},
	{"ac06 state lost", ac06, "state_only_completes", fault{tamper: "no_state"}, "leg 2: state"},
	{"ac06 no cap", ac06, "state_only_capped", fault{manager: func(o *mcpmgr.Options) { o.Rounds = 8 }}, "the server saw 9 tools/call"},
	{"ac07 stop answers cancel", ac07, "no_retry", fault{tools: deaf}, "the server saw 2 tools/call"},
	{"ac07 another reason", ac07, "no_interaction", fault{frames: replaced(false, `"turn_stopped"`, `"turn_terminal"`)}, "outcome: "},
	{"ac08 answer given to the next connection", ac08, "disconnect/committed", fault{frames: misdelivered}, "an answer was handed over"},
	{"ac08 two values accepted", ac08, "supersede/committed", fault{frames: acceptedTwice}, "an answer afterwards: <nil>"},
	{"ac08 another binding", ac08, "stale_binding/pending", fault{tools: again}, "the server saw"},
	{"ac09 the call is replayed", ac09, "provider_restart/connection", fault{frames: replayed}, "the server saw"},
	{"ac10 the person has a deadline", ac10, "thinking_is_free", fault{host: func(o *host.Options) { o.InteractionTimeout = deadline }}, "after an hour"},
	{"ac10 the timer is not armed again", ac10, "hung_after_answer_expires", fault{host: stopped}, "the Turn does not end"},
	{"ac10 another deadline", ac10, "refused_form_does_not_suspend/progress", fault{host: func(o *host.Options) { o.ExecutionDeadline = 2 * deadline }}, "the Turn does not end"},
	{"ac11 a second try", ac11, "sampling", fault{tools: again}, "legs"},
	{"ac13 _meta on legacy", ac13, "legacy_result", fault{tamper: "capability"}, "_meta on a legacy connection"},
	{"ac13 two requests", ac13, "structured/modern", fault{tamper: "twice"}, "2 requests"},
	{"ac15 capability on legacy", ac15, "legacy_after_fallback", fault{tamper: "capability"}, "elicitation"},
	{"ac15 capability without handler", ac15, "modern_without_handler", fault{tamper: "capability"}, "declares " + formOnly},
	{"ac15 a handler on an old Host", ac15, "epoch_39_host", fault{tools: handling}, "declares " + formOnly},
	{"ac16 another reason", ac16, "failed", fault{frames: replaced(false, `"producer_cancelled"`, `"turn_terminal"`)}, "want producer_cancelled"},
}

func TestMutants(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			notices(t, &m.fault, m.of, m.clause, m.says)
		})
	}
	// These take the real programs.
	t.Run("ac12 servers tell what was typed", func(t *testing.T) {
		t.Parallel()
		notices(t, &fault{tell: true}, ac12, "", "an event holds", "a frame of the view holds", "a frame of the provider holds", "the screen holds", "the program's log holds", "log holds", "a row holds",
			"a result holds", "the result of call holds", "a record in rows holds")
	})
	t.Run("ac12 states are not redacted", func(t *testing.T) {
		t.Parallel()
		notices(t, &fault{frames: replaced(true, "[redacted]", stateOne)}, ac12, "", "an event holds", "a frame holds", "the screen holds", "a row holds", "a result holds",
			"a record in rows holds", "the terminal's bytes holds")
	})
	t.Run("ac14 another value by script", func(t *testing.T) {
		t.Parallel()
		notices(t, &fault{tamper: "other_answer"}, ac14, "script/stdio", "leg 2 of")
	})
	t.Run("ac14 another value on the screen", func(t *testing.T) {
		t.Parallel()
		notices(t, &fault{tamper: "other_answer"}, ac14, "terminal/stdio", "leg 2 of")
	})
}

// notices wants a criterion to fail, with these words.
func notices(t *testing.T, f *fault, of func(T), clause string, says ...string) {
	t.Helper()
	r := &trial{t: t, fault: f, said: &said{}}
	if clause != "" {
		r.path = strings.Split(clause, "/")
	}
	r.run(of)
	if !r.said.found {
		t.Fatalf("there is no clause %s", clause)
	}
	all := strings.Join(r.said.failures, "\n")
	for _, want := range says {
		if all == "" || !strings.Contains(all, want) {
			t.Errorf("the criterion does not say %q, but:\n%s", want, all)
		}
	}
}

// trial is a T that writes failures down.
type trial struct {
	t     *testing.T
	fault *fault
	path  []string // of the clause that is wanted from here
	said  *said

	mu       sync.Mutex
	cleanups []func()
	failed   bool
}

type said struct {
	mu       sync.Mutex
	failures []string
	found    bool // the clause
	ran      sync.WaitGroup
}

func (r *trial) Helper()                   {}
func (r *trial) Log(...any)                {}
func (r *trial) Logf(string, ...any)       {}
func (r *trial) Parallel()                 {}
func (r *trial) TempDir() string           { return r.t.TempDir() }
func (r *trial) Context() context.Context  { return r.t.Context() }
func (r *trial) Fault() *fault             { return r.fault }
func (r *trial) Error(args ...any)         { r.fail(fmt.Sprintln(args...)) }
func (r *trial) Errorf(f string, a ...any) { r.fail(fmt.Sprintf(f, a...)) }

func (r *trial) Fatal(args ...any) {
	r.Error(args...)
	runtime.Goexit()
}

func (r *trial) Fatalf(f string, a ...any) {
	r.Errorf(f, a...)
	runtime.Goexit()
}

func (r *trial) fail(text string) {
	r.mu.Lock()
	r.failed = true
	r.mu.Unlock()
	r.said.mu.Lock()
	defer r.said.mu.Unlock()
	r.said.failures = append(r.said.failures, text)
}

func (r *trial) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

func (r *trial) Cleanup(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleanups = append(r.cleanups, f)
}

// run runs a test to its end, its cleanups included.
func (r *trial) run(f func(T)) {
	if len(r.path) == 0 {
		r.said.found = true
	}
	r.apart(func() { f(r) })
	for {
		r.mu.Lock()
		n := len(r.cleanups)
		if n == 0 {
			r.mu.Unlock()
			return
		}
		last := r.cleanups[n-1]
		r.cleanups = r.cleanups[:n-1]
		r.mu.Unlock()
		r.apart(last)
	}
}

// apart runs f on a goroutine that a fatal failure may end.
func (r *trial) apart(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// Run runs the clauses that are wanted.
func (r *trial) Run(name string, f func(T)) bool {
	inner := &trial{t: r.t, fault: r.fault, said: r.said}
	if len(r.path) > 0 {
		if name != r.path[0] {
			return true
		}
		inner.path = r.path[1:]
	}
	inner.run(f)
	return !inner.Failed()
}

// twofold runs every call of a Turn again when it has ended: beside each other, which of their forms comes first would
// be chance, and with it what the criterion says.
type twofold struct{}

func (twofold) Execute(ctx context.Context, run *host.Run) error {
	calls, err := host.ParseCalls(run.Text())
	if err != nil {
		return err
	}
	for range 2 {
		started, err := run.Start(ctx, calls...)
		if err != nil {
			return err
		}
		for _, c := range started {
			c.Wait()
		}
	}
	return nil
}

// toolsFunc replaces Call.
type toolsFunc struct {
	inner
	call func(ctx context.Context, in provider.Tools, req provider.CallRequest) (provider.CallResult, error)
}

func (s toolsFunc) Call(ctx context.Context, req provider.CallRequest) (provider.CallResult, error) {
	return s.call(ctx, s.inner, req)
}

// asking changes each answer.
func asking(change func(forms.Result) forms.Result) func(provider.Tools) provider.Tools {
	return func(in provider.Tools) provider.Tools {
		return toolsFunc{in, func(ctx context.Context, in provider.Tools, req provider.CallRequest) (provider.CallResult, error) {
			form := req.Form
			req.Form = func(ctx context.Context, f forms.Form) (forms.Result, error) {
				res, err := form(ctx, f)
				return change(res), err
			}
			return in.Call(ctx, req)
		}}
	}
}

// again repeats a call that fails, with whatever binding is current.
func again(in provider.Tools) provider.Tools {
	return toolsFunc{in, func(ctx context.Context, in provider.Tools, req provider.CallRequest) (provider.CallResult, error) {
		res, err := in.Call(ctx, req)
		if err == nil {
			return res, err
		}
		req.Form = func(context.Context, forms.Form) (forms.Result, error) { return forms.Cancel(), nil }
		all := in.Tools()
		req.Tool = all[slices.IndexFunc(all, func(t provider.ToolInfo) bool { return t.Server == req.Tool.Server && t.Name == req.Tool.Name })]
		in.Call(ctx, req)
		return res, err
	}}
}

// deaf does not hear that a call was given up, and answers what the person left open.
func deaf(in provider.Tools) provider.Tools {
	return toolsFunc{in, func(ctx context.Context, in provider.Tools, req provider.CallRequest) (provider.CallResult, error) {
		form := req.Form
		req.Form = func(_ context.Context, f forms.Form) (forms.Result, error) {
			if res, err := form(ctx, f); err == nil {
				return res, nil
			}
			return forms.Cancel(), nil
		}
		return in.Call(context.WithoutCancel(ctx), req)
	}}
}

// handling has a form handler whether or not a form can reach a person.
func handling(in provider.Tools) provider.Tools {
	return toolsFunc{in, func(ctx context.Context, in provider.Tools, req provider.CallRequest) (provider.CallResult, error) {
		req.Form = func(context.Context, forms.Form) (forms.Result, error) { return forms.Cancel(), nil }
		return in.Call(ctx, req)
	}}
}

// stopped arms no execution deadline but the first.
func stopped(o *host.Options) { o.Clock = &onceArmed{Clock: o.Clock} }

type onceArmed struct {
	host.Clock
	mu    sync.Mutex
	armed bool
}

func (c *onceArmed) AfterFunc(d time.Duration, f func()) host.Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d == deadline && c.armed {
		return hostClock{Clock: play.NewClock()}.AfterFunc(d, f) // of a clock that nobody moves
	}
	c.armed = c.armed || d == deadline
	return c.Clock.AfterFunc(d, f)
}

// replaced exchanges a text in all frames of a direction.
func replaced(up bool, old, new string) func() func(*relay, frame) []string {
	return func() func(*relay, frame) []string {
		return func(_ *relay, f frame) []string {
			if f.up == up {
				f.text = strings.ReplaceAll(f.text, old, new)
			}
			return []string{f.text}
		}
	}
}

// fields are the members of a frame that these relays look at.
type fields struct {
	Kind, Operation, RequestID, InvocationID, InteractionID string
	OK                                                      bool
	Error                                                   *struct{ Code string }
	Result                                                  map[string]json.RawMessage
	Input                                                   struct{ RegistrationID string }
}

func fieldsOf(f frame) (v fields) {
	json.Unmarshal([]byte(f.text), &v)
	return v
}

// misdelivered hands a form's answer to the connection that publishes after the one that asked.
func misdelivered() func(*relay, frame) []string {
	var mu sync.Mutex
	asked := ""
	return func(_ *relay, f frame) []string {
		mu.Lock()
		defer mu.Unlock()
		v := fieldsOf(f)
		switch {
		case f.up && v.Kind == "client.capability.interaction_request":
			asked = fmt.Sprintf(`{"kind":"client.capability.interaction_result","invocationId":%q,"interactionId":%q,"result":{"action":"accept","values":{}}}`, v.InvocationID, v.InteractionID)
		case !f.up && f.role == asProvider && v.Operation == string(protocol.OpCapabilityReplace) && asked != "":
			return []string{f.text, asked}
		}
		return []string{f.text}
	}
}

// acceptedTwice tells a second answer that it was stored.
func acceptedTwice() func(*relay, frame) []string {
	var mu sync.Mutex
	var stored map[string]json.RawMessage
	return func(_ *relay, f frame) []string {
		mu.Lock()
		defer mu.Unlock()
		v := fieldsOf(f)
		if f.up || v.Operation != "interaction.answer" {
			return []string{f.text}
		}
		if v.OK {
			stored = v.Result
			return []string{f.text}
		}
		stored["outcome"] = json.RawMessage(`{"kind":"form_answer","action":"decline","committedAt":1}`)
		result, _ := json.Marshal(stored)
		return []string{fmt.Sprintf(`{"requestId":%q,"operation":"interaction.answer","ok":true,"result":%s}`, v.RequestID, result)}
	}
}

// replayed gives a provider that comes back the call that it had.
func replayed() func(*relay, frame) []string {
	var mu sync.Mutex
	call, id, done := "", "", false
	offered := map[bool]string{} // the registration, before and after
	return func(r *relay, f frame) []string {
		mu.Lock()
		defer mu.Unlock()
		v := fieldsOf(f)
		switch {
		case f.up && v.Operation == string(protocol.OpCapabilityReplace):
			offered[call != ""] = v.Input.RegistrationID
		case !f.up && v.Kind == "client.capability.call" && call == "":
			call, id = f.text, v.InvocationID
		case !f.up && f.role == asProvider && v.Operation == string(protocol.OpCapabilityReplace) && call != "" && !done:
			done = true
			return []string{f.text, strings.Replace(call, offered[false], offered[true], 1)}
		case f.up && done && v.Kind == "client.capability.accepted" && v.InvocationID == id:
			go r.inject(asProvider, fmt.Sprintf(`{"kind":"client.capability.admitted","invocationId":%q}`, id))
			return nil
		case f.up && done && v.InvocationID == id:
			return nil
		}
		return []string{f.text}
	}
}
