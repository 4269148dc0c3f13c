package broker

import (
	"slices"
	"strings"
	"testing"

	"askback/forms"
	"askback/protocol"
)

// Every way in which a call ends, before and after acceptance: what the provider sees, in order, and what the transcript
// gets. This is the wire protocol's section 7.3.
func TestExits(t *testing.T) {
	const cancel = "CapabilityCancel@P CapabilityRelease@P"
	for _, tc := range []struct {
		name      string
		phase     Phase
		do        func(*rig) []Effect
		effects   string
		text      string
		uncertain bool
	}{
		{"rejected", Dispatched, sends(&protocol.CapabilityRejected{InvocationID: "i", Message: "I do not want to"}),
			"stop CapabilityRelease@P settle:rejected", "I do not want to", false},
		{"failed", Admitted, sends(failed("i", "It broke")), "stop CapabilityRelease@P settle:failed", "It broke", false},
		{"failed before admitted", Accepted, sends(failed("i", "It broke")), "stop CapabilityRelease@P settle:failed", "It broke", false},
		{"failed between chunks", Chunks, sends(failed("i", "It broke")), "stop CapabilityRelease@P settle:failed", "It broke", false},
		{"failed outcome_unknown", Admitted, sends(failed("i", "outcome_unknown: The server went away.")),
			"stop CapabilityRelease@P settle:failed", "outcome_unknown: The server went away.", true},
		{"failed outcome_unknown, not a prefix", Admitted, sends(failed("i", "server_error: outcome_unknown: x")),
			"stop CapabilityRelease@P settle:failed", "server_error: outcome_unknown: x", false},
		{"failed outcome_unknown without colon", Admitted, sends(failed("i", "outcome_unknown")),
			"stop CapabilityRelease@P settle:failed", "outcome_unknown", false},
		{"rejected outcome_unknown", Dispatched, sends(&protocol.CapabilityRejected{InvocationID: "i", Message: "outcome_unknown: x"}),
			"stop CapabilityRelease@P settle:rejected", "outcome_unknown: x", false},
		{"stop, dispatched", Dispatched, stops, "stop " + cancel + " settle:stopped", "This operation was aborted", false},
		{"stop, accepted", Accepted, stops, "stop " + cancel + " settle:stopped", textCancelled, true},
		{"stop, admitted", Admitted, stops, "stop " + cancel + " settle:stopped", textCancelled, true},
		{"stop, opening", Opening, stops, "close:turn_stopped stop " + cancel + " settle:stopped", textCancelled, true},
		{"stop, awaiting", Awaiting, stops, "close:turn_stopped " + cancel + " settle:stopped", textCancelled, true},
		{"stop, delivering", Delivering, stops, "stop " + cancel + " settle:stopped", textCancelled, true},
		{"stop, chunks", Chunks, stops, "stop " + cancel + " settle:stopped", textCancelled, true},
		{"turn ends, dispatched", Dispatched, endsTurn, "stop " + cancel + " settle:turn_ended", "This operation was aborted", false},
		{"turn ends, awaiting", Awaiting, endsTurn, "close:turn_terminal " + cancel + " settle:turn_ended", textCancelled, true},
		{"drain, admitted", Admitted, drains, "stop " + cancel + " settle:host_closing", textCancelled, true},
		{"drain, dispatched", Dispatched, drains, "stop " + cancel + " settle:host_closing", "This operation was aborted", false},
		{"drain, awaiting", Awaiting, drains, "close:host_restarted " + cancel + " settle:host_closing", textCancelled, true},
		{"form closed by drain", Awaiting, func(r *rig) []Effect { return r.b.HostClosing(Ask{"i", 1}) },
			cancel + " settle:host_closing", textCancelled, true},
		{"form unanswered", Awaiting, func(r *rig) []Effect { return r.b.Unanswered(Ask{"i", 1}) },
			cancel + " settle:unanswered", "timeout: The form was not answered in time", false},
		{"form refused", Opening, func(r *rig) []Effect { return r.b.Refused(Ask{"i", 1}, "limit_exceeded: too many") },
			"stop " + cancel + " settle:refused", "limit_exceeded: too many", false},
		{"deadline, dispatched", Dispatched, expires, "stop " + cancel + " settle:deadline",
			"Client Capability invocation timed out before provider acceptance", false},
		{"deadline, accepted", Accepted, expires, "stop " + cancel + " settle:deadline", textLateAfter, true},
		{"deadline, admitted", Admitted, expires, "stop " + cancel + " settle:deadline", textLateAfter, true},
		{"deadline, opening", Opening, expires, "close:timed_out stop " + cancel + " settle:deadline", textLateAfter, true},
		{"deadline, delivering", Delivering, expires, "stop " + cancel + " settle:deadline", textLateAfter, true},
		{"deadline, chunks", Chunks, expires, "stop " + cancel + " settle:deadline", textLateAfter, true},
		{"lost, dispatched", Dispatched, leaves, "stop settle:lost", "Client Capability provider disconnected before accepting the call", false},
		{"lost, accepted", Accepted, leaves, "stop settle:lost", textLostAfter, true},
		{"lost, opening", Opening, leaves, "close:provider_disconnected stop settle:lost", textLostAfter, true},
		{"lost, awaiting", Awaiting, leaves, "close:provider_disconnected settle:lost", textLostAfter, true},
		{"lost, delivering", Delivering, leaves, "stop settle:lost", textLostAfter, true},
		{"lost, chunks", Chunks, leaves, "stop settle:lost", textLostAfter, true},
		{"aborted, dispatched", Dispatched, sends(failed("i", "x")), "abort@P stop settle:lost",
			"Client Capability provider disconnected before accepting the call", false},
		{"aborted, awaiting", Awaiting, sends(accepted("i")), "abort@P close:provider_disconnected settle:lost", textLostAfter, true},
		{"superseded, dispatched", Dispatched, superseded, "stop settle:superseded",
			"Client Capability provider disconnected before accepting the call", false},
		{"superseded, awaiting", Awaiting, superseded, "close:provider_disconnected settle:superseded", textLostAfter, true},
		{"superseded, delivering", Delivering, superseded, "stop settle:superseded", textLostAfter, true},
		{"failed while awaiting", Awaiting, sends(failed("i", "stale_binding: The tool changed.")),
			"close:producer_cancelled CapabilityRelease@P settle:failed", "stale_binding: The tool changed.", false},
		{"failed while opening", Opening, sends(failed("i", "It broke")),
			"close:producer_cancelled stop CapabilityRelease@P settle:failed", "It broke", false},
		{"result while awaiting", Awaiting, sends(result("i", "x")), "close:producer_cancelled " + cancel + " settle:inconsistent", textInconsistent, false},
		{"result_start while awaiting", Awaiting, sends(&protocol.CapabilityResultStart{InvocationID: "i", ByteLength: 1, ChunkCount: 1}),
			"close:producer_cancelled " + cancel + " settle:inconsistent", textInconsistent, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := running(t, tc.phase)
			r.do(tc.do(r))
			r.want(tc.effects)
			r.wantFailure("i", tc.text, tc.uncertain)
			if r.b.Active() != 0 {
				t.Error("the invocation is still there")
			}
		})
	}
}

func sends(f protocol.ClientFrame) func(*rig) []Effect {
	return func(r *rig) []Effect { return r.b.Frame("P", f) }
}

func stops(r *rig) []Effect    { return r.b.StopTurn(t1) }
func endsTurn(r *rig) []Effect { return r.b.EndTurn(t1) }
func drains(r *rig) []Effect   { return r.b.DrainTurn(t1) }
func expires(r *rig) []Effect  { return r.b.Deadline("i", r.timers["i"]) }

func leaves(r *rig) []Effect {
	delete(r.conns, "P")
	return r.b.Disconnect("P")
}

func superseded(r *rig) []Effect {
	r.connect(Conn{ID: "P2", Principal: "p-P", Instance: "inst-P", Publish: true})
	_, fx, err := r.b.Replace("P2", &protocol.CapabilityReplaceInput{RegistrationID: "reg-2", Offers: []protocol.Offer{offerOf("wire-offer", "wire", "echo")}})
	if err != nil {
		r.t.Fatalf("%v", err)
	}
	return fx
}

func TestResult(t *testing.T) {
	for _, p := range []Phase{Accepted, Admitted, Delivering} {
		r := running(t, p)
		r.frame("P", result("i", "hi"))
		r.want("stop CapabilityRelease@P settle:result")
		out := r.settled["i"]
		if out.Result == nil || out.Result.Content[0].Text != "hi" || out.Uncertain || out.Message != "" {
			t.Errorf("%v: %+v", p, out)
		}
	}
}

// The texts that clients know from other Hosts are spelt as those spell them.
func TestTexts(t *testing.T) {
	for text, want := range map[string]string{
		textCancelled:  "outcome_unknown: Client Capability invocation was cancelled after provider acceptance",
		textLateAfter:  "outcome_unknown: Client Capability invocation timed out after provider acceptance",
		textLostAfter:  "outcome_unknown: Client Capability provider disconnected after accepting the call",
		textTooMany:    "Client Capability provider has too many active invocations",
		textBypass:     "Client Capability tools require the Bypass execution boundary because their client-side effects cannot be sandboxed by the Host. Switch this Session to Bypass and retry.",
		textLateBefore: "Client Capability invocation timed out before provider acceptance",
	} {
		if text != want {
			t.Errorf("%q", text)
		}
	}
}

// After an invocation ended nothing about it has any effect.
func TestLateInputs(t *testing.T) {
	r := running(t, Awaiting)
	gen := uint64(1)
	r.do(r.b.StopTurn(t1))
	for name, fx := range map[string][]Effect{
		"stop":       r.b.StopTurn(t1),
		"committed":  r.commit(Ask{"i", 1}, forms.Result{Action: forms.ActionDecline}),
		"delivered":  r.b.Delivered(Ask{"i", 1}),
		"stored":     r.b.Stored(Ask{"i", 1}),
		"refused":    r.b.Refused(Ask{"i", 1}, "x"),
		"unanswered": r.b.Unanswered(Ask{"i", 1}),
		"deadline":   r.b.Deadline("i", gen),
		"admit":      r.b.Admit("i"),
		"result":     r.b.Frame("P", result("i", "late")),
	} {
		if len(fx) != 0 {
			t.Errorf("%s: %s", name, show(fx))
		}
	}
	r.do(r.b.EndTurn(t1))
	r.want("")
}

// The deadline runs from dispatch, rests exactly while a form is pending, and starts in full at commit and at hand-over.
func TestDeadline(t *testing.T) {
	r := running(t, Dispatched)
	step := func(what string, fx []Effect, wantArmed int, wantRunning bool) {
		t.Helper()
		r.do(fx)
		if _, on := r.timers["i"]; r.armed["i"] != wantArmed || on != wantRunning {
			t.Errorf("%s: armed %d times, runs %v", what, r.armed["i"], on)
		}
	}
	r.deliver = false
	step("dispatch", nil, 1, true)
	step("accepted", r.b.Frame("P", accepted("i")), 1, true)
	step("progress", r.b.Frame("P", &protocol.CapabilityProgress{InvocationID: "i", Current: 0, Total: 2}), 1, true)
	step("request", r.b.Frame("P", request("i", "n1")), 1, true)
	stale := r.timers["i"]
	step("stored", r.b.Stored(Ask{"i", 1}), 1, false)
	step("a deadline that fired just before", r.b.Deadline("i", stale), 1, false)
	step("progress while pending", r.b.Frame("P", &protocol.CapabilityProgress{InvocationID: "i", Current: 1, Total: 2}), 1, false)
	step("committed", r.commit(Ask{"i", 1}, forms.Result{Action: forms.ActionDecline}), 2, true)
	first := r.timers["i"]
	step("delivered", r.b.Delivered(Ask{"i", 1}), 3, true)
	step("the deadline of before", r.b.Deadline("i", first), 3, true)
	step("delivered again", r.b.Delivered(Ask{"i", 1}), 3, true)
	step("second request", r.b.Frame("P", request("i", "n2")), 3, true)
	step("second stored", r.b.Stored(Ask{"i", 2}), 3, false)
	step("second committed", r.commit(Ask{"i", 2}, forms.Result{Action: forms.ActionCancel}), 4, true)
	step("third request proves delivery", r.b.Frame("P", request("i", "n3")), 4, true)
	step("third stored", r.b.Stored(Ask{"i", 3}), 4, false)
	step("report of the second, late", r.b.Delivered(Ask{"i", 2}), 4, false)
	step("third committed", r.commit(Ask{"i", 3}, forms.Result{Action: forms.ActionCancel}), 5, true)
	step("result_start before the report", r.b.Frame("P", &protocol.CapabilityResultStart{InvocationID: "i", ByteLength: 10, ChunkCount: 1}), 5, true)
	step("report while chunks come", r.b.Delivered(Ask{"i", 3}), 6, true)
	step("expiry", r.b.Deadline("i", r.timers["i"]), 6, false)
	r.wantFailure("i", textLateAfter, true)
}

func TestRefusedFormDoesNotSuspend(t *testing.T) {
	r := running(t, Opening)
	if r.timers["i"] == 0 {
		t.Fatal("the deadline rests before the form is stored")
	}
	r.do(r.b.Refused(Ask{"i", 1}, "limit_exceeded: no"))
	if r.b.Active() != 0 {
		t.Error("the call goes on")
	}
}

// A committed answer goes to the invocation, the registration and the connection that asked, or to nobody.
func TestHandOver(t *testing.T) {
	accept := forms.Result{Action: forms.ActionAccept, Values: forms.Values{}}
	answered := func(r *rig) (conn string, f *protocol.InteractionResult) {
		for c, frames := range r.sent {
			for _, fr := range frames {
				if x, ok := fr.(*protocol.InteractionResult); ok {
					conn, f = c, x
				}
			}
		}
		return conn, f
	}
	t.Run("plain", func(t *testing.T) {
		r := running(t, Awaiting)
		r.do(r.commit(Ask{"i", 1}, accept))
		conn, f := answered(r)
		if conn != "P" || f.InvocationID != "i" || f.InteractionID != "n1" || f.Result.Action != forms.ActionAccept {
			t.Errorf("%s %+v", conn, f)
		}
		r.do(r.commit(Ask{"i", 1}, accept))
		if n := slices.IndexFunc(r.last, func(Effect) bool { return true }); n >= 0 {
			t.Errorf("committed twice: %s", show(r.last))
		}
	})
	t.Run("another question's answer", func(t *testing.T) {
		r := running(t, Awaiting)
		r.do(r.commit(Ask{"i", 2}, accept))
		r.do(r.commit(Ask{"j", 1}, accept))
		if _, f := answered(r); f != nil {
			t.Errorf("handed over: %+v", f)
		}
	})
	t.Run("replaced on the same connection", func(t *testing.T) {
		r := running(t, Awaiting)
		r.replace("P", "reg-new", offerOf("other", "o", "x"))
		if r.b.PhaseOf("i") != Awaiting || len(r.closed) != 0 {
			t.Fatal("replace touched a pending form")
		}
		r.do(r.commit(Ask{"i", 1}, accept))
		if conn, f := answered(r); conn != "P" || f == nil {
			t.Error("not handed over")
		}
		r.frame("P", result("i", "ok"))
		r.do(r.b.EndTurn(t1))
		r.want("RegistrationRelease@P")
	})
	t.Run("unregistered", func(t *testing.T) {
		r := running(t, Awaiting)
		r.unregister("P", "reg-P")
		r.want("")
		r.do(r.commit(Ask{"i", 1}, accept))
		if _, f := answered(r); f == nil {
			t.Error("not handed over")
		}
	})
	t.Run("superseded", func(t *testing.T) {
		r := running(t, Awaiting)
		r.do(superseded(r))
		r.do(r.commit(Ask{"i", 1}, accept))
		if conn, f := answered(r); f != nil {
			t.Errorf("handed to %s: %+v", conn, f)
		}
	})
	t.Run("provider back under the same identity", func(t *testing.T) {
		r := running(t, Awaiting)
		r.do(leaves(r))
		r.do(superseded(r))
		r.do(r.commit(Ask{"i", 1}, accept))
		if conn, f := answered(r); f != nil {
			t.Errorf("handed to %s: %+v", conn, f)
		}
	})
}

func TestRequester(t *testing.T) {
	r := newRig(t)
	r.connect(Conn{ID: "P", Publish: true, Credential: "dev-box"})
	o := offerOf("o", "deploy", "run")
	o.Label = strings.Repeat("é", 128)
	o.Tools = append(o.Tools, protocol.Tool{ServerID: strings.Repeat("界", 128), Name: strings.Repeat("長", 128), InputSchema: []byte(`{}`)})
	r.replace("P", "reg", o)
	r.bind(t1, "P")
	call := func(id, server, tool string) forms.Requester {
		r.callTool(Call{InvocationID: id, Turn: t1, ToolCallID: "c", Server: server, Tool: tool, Bypass: true})
		r.to("P", id, Admitted)
		return r.opened[r.ask("P", id, "n")].Form.Requester
	}
	if got := call("i", "deploy", "run"); got != (forms.Requester{Name: "run", Source: "deploy · via " + o.Label + " · dev-box"}) {
		t.Errorf("%+v", got)
	}
	got := call("j", o.Tools[1].ServerID, o.Tools[1].Name)
	if len(got.Name) > protocol.MaxRequesterNameBytes || len(got.Source) > protocol.MaxRequesterSourceBytes ||
		!strings.HasSuffix(got.Name, "長…") || !strings.HasPrefix(got.Source, "界界") || !strings.HasSuffix(got.Source, "…") {
		t.Errorf("%+v", got)
	}
}

func TestFit(t *testing.T) {
	for _, tc := range []struct {
		in   string
		n    int
		want string
	}{
		{"short", 10, "short"},
		{"exactly-10", 10, "exactly-10"},
		{"one too long", 10, "one too…"},
		{"aé̂éé", 8, "aé̂…"},
		{"👩‍👩‍👧‍👦x", 12, "👩…"},
	} {
		if got := fit(tc.in, tc.n); got != tc.want || len(got) > tc.n {
			t.Errorf("%q in %d: %q", tc.in, tc.n, got)
		}
	}
}

// One call with a form, from beginning to end, in the order in which the owner gets it.
func TestOrderOfOneCall(t *testing.T) {
	r := newRig(t)
	r.deliver = false
	r.provider(Conn{ID: "P"})
	r.bind(t1, "P")
	for _, step := range []struct {
		fx   func() []Effect
		want string
	}{
		{func() []Effect { return r.call(t1, "i") }, "CapabilityCall@P arm"},
		{func() []Effect { return r.frame("P", accepted("i")) }, "admit? CapabilityAdmitted@P"},
		{func() []Effect { return r.frame("P", request("i", "n1")) }, "open1"},
		{func() []Effect { return r.do(r.b.Stored(Ask{"i", 1})) }, "stop"},
		{func() []Effect { return r.do(r.commit(Ask{"i", 1}, forms.Result{Action: forms.ActionCancel})) }, "arm InteractionResult@P"},
		{func() []Effect { return r.frame("P", request("i", "n2")) }, "open2"},
		{func() []Effect { return r.do(r.b.Delivered(Ask{"i", 2})) }, ""}, // not committed, so not delivered
		{func() []Effect { return r.do(r.b.Stored(Ask{"i", 2})) }, "stop"},
		{func() []Effect { return r.do(r.b.Delivered(Ask{"i", 2})) }, ""},
		{func() []Effect { return r.do(r.commit(Ask{"i", 2}, forms.Result{Action: forms.ActionCancel})) }, "arm InteractionResult@P"},
		{func() []Effect { return r.do(r.b.Delivered(Ask{"i", 2})) }, "arm"},
		{func() []Effect { return r.frame("P", result("i", "x")) }, "stop CapabilityRelease@P settle:result"},
	} {
		step.fx()
		r.want(step.want)
	}
}

// A Turn's calls end in the order in which they were sent.
func TestOrderOfSeveralCalls(t *testing.T) {
	r := newRig(t)
	r.provider(Conn{ID: "P"})
	r.bind(t1, "P")
	var want []string
	for _, id := range []string{"z", "a", "m", "b", "y", "c"} {
		r.call(t1, id)
		want = append(want, id)
	}
	r.do(r.b.StopTurn(t1))
	var got []string
	for _, e := range r.last {
		if s, ok := e.(Settle); ok {
			got = append(got, s.Invocation)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s, wanted %s", strings.Join(got, " "), strings.Join(want, " "))
	}
}
