package broker

import (
	"slices"
	"testing"

	"askback/protocol"
)

// where reports which connection gets a call of wire/echo in a new Turn that init starts in a session.
func (r *rig) where(session, turn, init string) string {
	r.t.Helper()
	t := turnOf(session, turn)
	if err := r.b.BindTurn(t, "run", Initiator{"p-" + init, "inst-" + init}); err != nil {
		return string(err.Code)
	}
	defer func() { r.do(r.b.EndTurn(t)) }()
	id := session + "-" + turn
	r.call(t, id)
	for _, e := range r.last {
		if s, ok := e.(Send); ok {
			return s.Conn
		}
	}
	return r.settled[id].Message
}

func TestAffinitySession(t *testing.T) {
	r := newRig(t)
	expect := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %s, wanted %s", what, got, want)
		}
	}
	r.provider(Conn{ID: "P1"})
	expect("the only one", r.where("s1", "a", "someone"), "P1")
	r.provider(Conn{ID: "P2"})
	expect("several, a third client", r.where("s2", "a", "someone"), "operation_conflict")
	expect("own first", r.where("s2", "b", "P2"), "P2")
	expect("own other", r.where("s3", "a", "P1"), "P1")
	expect("bound before there were several", r.where("s1", "b", "someone"), "P1")
	expect("bound, although another's own", r.where("s1", "c", "P2"), "P1")
	expect("bound, a third client", r.where("s2", "c", "someone"), "P2")

	// A binding ends with its provider's connection; other sessions are not blocked by it.
	r.disconnect("P1")
	expect("after its provider left", r.where("s1", "d", "someone"), "P2")
	r.provider(Conn{ID: "P1"})
	expect("the old provider is back", r.where("s1", "e", "P1"), "P2")
	expect("the other session too", r.where("s3", "b", "someone"), "operation_conflict")

	// Unregistering ends a binding, and so does a changed contract.
	r.unregister("P2", "reg-P2")
	expect("after unregister", r.where("s1", "f", "someone"), "P1")
	r.replace("P2", "reg-P2b", offerOf("wire-offer", "wire", "echo"))
	expect("bound to the new one", r.where("s1", "g", "P2"), "P1")
	changed := offerOf("wire-offer", "wire", "echo")
	changed.Version = "2"
	r.replace("P1", "reg-P1b", changed)
	expect("different contracts of one model name", r.where("s1", "h", "P2"), "operation_conflict")
	expect("everywhere", r.where("s9", "a", "P1"), "operation_conflict")
	r.disconnect("P2")
	expect("one of them left", r.where("s1", "i", "someone"), "P1")

	// A newer connection of the identity takes the bindings over.
	r.provider(Conn{ID: "P3"})
	r.unregister("P3", "reg-P3")
	r.connect(Conn{ID: "P1'", Principal: "p-P1", Instance: "inst-P1", Publish: true})
	r.replace("P1'", "reg-new", changed)
	r.disconnect("P1")
	r.replace("P3", "reg-P3b", changed)
	expect("superseded", r.where("s1", "j", "someone"), "P1'")
	r.b.ForgetSession("s1")
	expect("a forgotten session", r.where("s1", "k", "someone"), "operation_conflict")
	for _, session := range []string{"s1", "s9"} {
		if p := r.b.bindings[session][ContractOf(changed)]; p != nil {
			t.Errorf("a Turn that could not start bound %s to %v", session, p.identity)
		}
	}
}

// The view and the provider connection of one client have different credentials and share the instance.
func TestOwnByInstance(t *testing.T) {
	r := newRig(t)
	r.provider(Conn{ID: "P1", Principal: "prov-token", Instance: "laptop", Trusted: true})
	r.provider(Conn{ID: "P2", Principal: "prov-token", Instance: "desk", Trusted: true})
	for instance, want := range map[string]string{"laptop": "P1", "desk": "P2"} {
		tn := turnOf("s-"+instance, "t")
		if err := r.b.BindTurn(tn, "run", Initiator{"view-token", instance}); err != nil {
			t.Fatal(err)
		}
		r.call(tn, "i-"+instance)
		if s := r.last[0].(Send); s.Conn != want {
			t.Errorf("%s calls %s", instance, s.Conn)
		}
	}
	// Two providers of the instance: the very principal is own, otherwise it cannot be decided.
	r.provider(Conn{ID: "P3", Principal: "other-token", Instance: "laptop"})
	if err := r.b.BindTurn(turnOf("s5", "t"), "run", Initiator{"view-token", "laptop"}); err == nil {
		t.Error("a choice between two own offers was made")
	}
	if err := r.b.BindTurn(turnOf("s5", "t"), "run", Initiator{"other-token", "laptop"}); err != nil {
		t.Error(err)
	}
}

func TestAffinityTurn(t *testing.T) {
	offer := offerOf("o", "wire", "echo")
	offer.Affinity = protocol.AffinityTurn
	r := newRig(t)
	for _, id := range []string{"P1", "P2"} {
		r.connect(Conn{ID: id, Publish: true})
	}
	r.replace("P1", "reg-1", offer)
	if got := r.where("s1", "a", "someone"); got != "P1" {
		t.Errorf("the only one: %s", got)
	}
	r.replace("P2", "reg-2", offer)
	if got := r.where("s1", "b", "P2"); got != "P2" {
		t.Errorf("chosen anew at each start: %s", got)
	}
	if got := r.where("s1", "c", "someone"); got != "operation_conflict" {
		t.Errorf("several: %s", got)
	}
	r.disconnect("P1")
	r.disconnect("P2")
	if got := r.where("s1", "d", "someone"); got != textNotOffered {
		t.Errorf("nobody left: %s", got)
	}
}

func TestAffinityCall(t *testing.T) {
	offer := offerOf("o", "wire", "echo")
	offer.Affinity = protocol.AffinityCall
	r := newRig(t)
	for _, id := range []string{"P1", "P2"} {
		r.connect(Conn{ID: id, Publish: true})
	}
	r.replace("P1", "reg-1", offer)
	r.bind(t1, "someone")
	target := func(id string) string {
		r.call(t1, id)
		if s, ok := r.last[0].(Send); ok {
			return s.Conn
		}
		return r.settled[id].Message
	}
	if got := target("i"); got != "P1" {
		t.Errorf("the only one: %s", got)
	}
	r.replace("P2", "reg-2", offer)
	if got := target("j"); got != textAmbiguous {
		t.Errorf("several: %s", got)
	}
	r.disconnect("P1")
	if got := target("k"); got != "P2" {
		t.Errorf("the one that is left, within the Turn: %s", got)
	}
	// A registration that only a call uses is kept for it and released after it.
	r.unregister("P2", "reg-2")
	r.want("")
	r.frame("P2", &protocol.CapabilityRejected{InvocationID: "k", Message: "no"})
	r.want("stop CapabilityRelease@P2 settle:rejected RegistrationRelease@P2")
	if got := target("l"); got != textNotOfferedNow {
		t.Errorf("nobody left: %s", got)
	}
	// Own comes first.
	r.provider(Conn{ID: "x"})
	r.replace("x", "reg-x2", offer)
	r.replace("P2", "reg-3", offer)
	r.do(r.b.EndTurn(t1))
	if got := r.where("s1", "own", "x"); got != "x" {
		t.Errorf("own: %s", got)
	}
}

// What a Turn may call is fixed when it starts.
func TestTurnKeepsItsTools(t *testing.T) {
	r := newRig(t)
	r.provider(Conn{ID: "P"})
	r.bind(t1, "P")
	r.replace("P", "reg-2", offerOf("other", "later", "tool"))
	r.callTool(Call{InvocationID: "new", Turn: t1, ToolCallID: "c", Server: "later", Tool: "tool", Bypass: true})
	r.wantFailure("new", textNotOffered, false)
	r.call(t1, "old")
	r.want("CapabilityCall@P arm")
	names := func(tn Turn) (list []string) {
		for _, tool := range r.b.Tools(tn) {
			list = append(list, tool.Server+"/"+tool.Name)
		}
		return list
	}
	if got := names(t1); !slices.Equal(got, []string{"wire/echo"}) {
		t.Errorf("%v", got)
	}
	r.bind(turnOf("s1", "t2"), "P")
	if got := names(turnOf("s1", "t2")); !slices.Equal(got, []string{"later/tool"}) {
		t.Errorf("%v", got)
	}
	// Binding again changes nothing.
	r.bind(t1, "nobody")
	if got := names(t1); !slices.Equal(got, []string{"wire/echo"}) {
		t.Errorf("bound again: %v", got)
	}
}

func TestDescribe(t *testing.T) {
	r := newRig(t)
	plain, rich := offerOf("plain", "a.b", "x/y"), offerOf("rich", "wire", "echo")
	rich.Tools[0].Annotations = &protocol.Annotations{Title: "Echo it"}
	rich.Tools[0].ActivityKind = "read"
	r.connect(Conn{ID: "P", Publish: true, Trusted: true})
	r.connect(Conn{ID: "Q", Publish: true})
	r.replace("P", "r1", plain, rich)
	rich.Tools = slices.Clone(rich.Tools)
	rich.Tools[0].ServerID, rich.OfferID = "untrusted", "rich2"
	r.replace("Q", "r2", rich)
	r.bind(t1, "P")
	for _, want := range []Tool{
		{"a.b", "x/y", "mcp__a_b__x_y", "x/y", "tool"},
		{"wire", "echo", "mcp__wire__echo", "Echo it", "read"},
		{"untrusted", "echo", "mcp__untrusted__echo", "Echo it", "tool"},
	} {
		if got, ok := r.b.ToolOf(t1, want.Server, want.Name); !ok || got != want {
			t.Errorf("%+v, wanted %+v", got, want)
		}
	}
	if _, ok := r.b.ToolOf(t1, "a_b", "x/y"); ok {
		t.Error("a tool by its model's word")
	}
	if _, ok := r.b.ToolOf(turnOf("s1", "none"), "wire", "echo"); ok || r.b.Tools(turnOf("s1", "none")) != nil {
		t.Error("a Turn that is not bound has tools")
	}
}

// A provider that stopped offering a contract is no longer bound to it when it offers it again.
func TestBindingEndsWithTheContract(t *testing.T) {
	v1, v2 := offerOf("wire-offer", "wire", "echo"), offerOf("wire-offer", "wire", "echo")
	v2.Version = "2"
	r := newRig(t)
	r.provider(Conn{ID: "P1"})
	r.where("s1", "a", "someone")
	r.replace("P1", "reg-2", v2)
	r.replace("P1", "reg-3", v1)
	r.provider(Conn{ID: "P2"})
	if got := r.where("s1", "b", "someone"); got != "operation_conflict" {
		t.Errorf("called %s", got)
	}
	// Publishing the same again keeps the binding.
	r.disconnect("P2")
	r.where("s1", "c", "someone")
	r.replace("P1", "reg-4", v1)
	r.provider(Conn{ID: "P3"})
	if got := r.where("s1", "d", "someone"); got != "P1" {
		t.Errorf("called %s", got)
	}
}
