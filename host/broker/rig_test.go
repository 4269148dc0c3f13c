package broker

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"askback/forms"
	"askback/protocol"
)

// rig is the owner of a Broker in tests. It performs effects, keeps what came of them, and holds the Broker to what it
// promises about any list of effects.
type rig struct {
	t interface {
		Helper()
		Errorf(string, ...any)
		Fatalf(string, ...any)
	}
	b *Broker

	admit   bool // answer AdmitInvocation at once
	deliver bool // report answers as written at once

	conns    map[string]bool
	sent     map[string][]protocol.HostFrame
	aborted  map[string]string
	timers   map[string]uint64 // running deadlines
	armed    map[string]int    // how often
	opened   map[Ask]OpenInteraction
	closed   map[Ask]protocol.ClosureReason
	written  []Ask
	started  map[string]bool
	settled  map[string]Outcome
	progress []Progress
	last     []Effect
}

func newRig(t *testing.T) *rig {
	return &rig{t: t, b: New(), admit: true, deliver: true,
		conns: map[string]bool{}, sent: map[string][]protocol.HostFrame{}, aborted: map[string]string{},
		timers: map[string]uint64{}, armed: map[string]int{}, opened: map[Ask]OpenInteraction{},
		closed: map[Ask]protocol.ClosureReason{}, started: map[string]bool{}, settled: map[string]Outcome{}}
}

// do performs effects and returns them with those that performing them caused.
func (r *rig) do(fx []Effect) []Effect {
	r.t.Helper()
	r.last = r.perform(fx)
	return r.last
}

func (r *rig) perform(fx []Effect) []Effect {
	r.t.Helper()
	all := slices.Clone(fx)
	for _, e := range fx {
		switch e := e.(type) {
		case Send:
			if !r.conns[e.Conn] {
				r.t.Errorf("frame %T for connection %q, which is gone", e.Frame, e.Conn)
			}
			r.sent[e.Conn] = append(r.sent[e.Conn], e.Frame)
			if e.Written != nil {
				r.written = append(r.written, *e.Written)
				if r.deliver {
					all = append(all, r.perform(r.b.Delivered(*e.Written))...)
				}
			}
		case Abort:
			if !r.conns[e.Conn] {
				r.t.Errorf("connection %q aborted twice", e.Conn)
			}
			delete(r.conns, e.Conn)
			r.aborted[e.Conn] = e.Reason
		case ArmDeadline:
			if e.Generation%2 == 0 || e.Generation < r.timers[e.Invocation] {
				r.t.Errorf("generation %d after %d", e.Generation, r.timers[e.Invocation])
			}
			r.timers[e.Invocation] = e.Generation
			r.armed[e.Invocation]++
		case StopDeadline:
			if r.timers[e.Invocation] == 0 {
				r.t.Errorf("deadline of %q stopped, none runs", e.Invocation)
			}
			delete(r.timers, e.Invocation)
		case AdmitInvocation:
			if r.admit {
				all = append(all, r.perform(r.b.Admit(e.Invocation))...)
			}
		case OpenInteraction:
			r.opened[e.Ask] = e
		case CloseInteraction:
			if _, ok := r.opened[e.Ask]; !ok {
				r.t.Errorf("a form closed that was never opened: %v", e.Ask)
			}
			if _, ok := r.closed[e.Ask]; ok {
				r.t.Errorf("a form closed twice: %v", e.Ask)
			}
			if _, ok := r.settled[e.Invocation]; ok {
				r.t.Errorf("form %v closed after its call settled", e.Ask)
			}
			r.closed[e.Ask] = e.Reason
		case Progress:
			r.progress = append(r.progress, e)
		case Settle:
			if _, ok := r.settled[e.Invocation]; ok {
				r.t.Errorf("call %q settled twice", e.Invocation)
			}
			if (e.Outcome.Result == nil) == (e.Outcome.Message == "") {
				r.t.Errorf("outcome %+v is neither a result nor a failure", e.Outcome)
			}
			if r.timers[e.Invocation] != 0 {
				r.t.Errorf("call %q settled while its deadline runs", e.Invocation)
			}
			r.settled[e.Invocation] = e.Outcome
		}
	}
	return all
}

func (r *rig) connect(c Conn) {
	if c.Instance == "" {
		c.Instance = "inst-" + c.ID
	}
	if c.Principal == "" {
		c.Principal = "p-" + c.ID
	}
	if c.Credential == "" {
		c.Credential = "laptop"
	}
	if c.Dialect == 0 {
		c.Dialect = protocol.Dialect81
	}
	r.conns[c.ID] = true
	r.b.Connect(c)
}

func (r *rig) disconnect(id string) []Effect {
	delete(r.conns, id)
	return r.do(r.b.Disconnect(id))
}

// provider connects one and publishes tool "echo" of server "wire".
func (r *rig) provider(c Conn) {
	r.t.Helper()
	c.Publish = true
	r.connect(c)
	r.replace(c.ID, "reg-"+c.ID, offerOf("wire-offer", "wire", "echo"))
}

func (r *rig) replace(conn, reg string, offers ...protocol.Offer) {
	r.t.Helper()
	res, fx, err := r.b.Replace(conn, &protocol.CapabilityReplaceInput{RegistrationID: reg, Offers: offers})
	if err != nil {
		r.t.Fatalf("replace %s: %v", reg, err)
	}
	if res.RegistrationID != reg || res.Revision != r.b.Revision() {
		r.t.Errorf("replace answered %+v", res)
	}
	r.do(fx)
}

func (r *rig) refuse(conn, reg string, code protocol.ErrorCode, offers ...protocol.Offer) {
	r.t.Helper()
	before := r.b.Revision()
	_, fx, err := r.b.Replace(conn, &protocol.CapabilityReplaceInput{RegistrationID: reg, Offers: offers})
	if err == nil || err.Code != code || len(fx) != 0 || r.b.Revision() != before {
		r.t.Errorf("replace %s: %v, %d effects, wanted %s and nothing changed", reg, err, len(fx), code)
	}
}

func (r *rig) unregister(conn, reg string) {
	r.t.Helper()
	_, fx, err := r.b.Unregister(conn, reg)
	if err != nil {
		r.t.Fatalf("unregister %s: %v", reg, err)
	}
	r.do(fx)
}

func offerOf(id, server string, tools ...string) protocol.Offer {
	o := protocol.Offer{OfferID: id, Version: "1", Affinity: protocol.AffinitySession, HostPathAccess: protocol.HostPathNone, Label: "Wire tools"}
	for _, t := range tools {
		o.Tools = append(o.Tools, protocol.Tool{ServerID: server, Name: t, Description: "Echo.", InputSchema: []byte(`{"type":"object"}`)})
	}
	return o
}

func turnOf(session, id string) Turn { return Turn{session, id} }

var t1 = turnOf("s1", "t1")

func (r *rig) bind(t Turn, conn string) {
	r.t.Helper()
	if err := r.b.BindTurn(t, "run-"+t.ID, Initiator{"p-" + conn, "inst-" + conn}); err != nil {
		r.t.Fatalf("bind: %v", err)
	}
}

// call starts a call of wire/echo in the turn.
func (r *rig) call(t Turn, id string) []Effect {
	return r.callTool(Call{InvocationID: id, Turn: t, ToolCallID: "call-" + id, Server: "wire", Tool: "echo", Arguments: json.RawMessage(`{}`), Bypass: true})
}

func (r *rig) callTool(c Call) []Effect {
	r.started[c.InvocationID] = true
	return r.do(r.b.StartCall(c))
}

func (r *rig) frame(conn string, f protocol.ClientFrame) []Effect {
	r.t.Helper()
	return r.do(r.b.Frame(conn, f))
}

func (r *rig) ask(conn, inv, nested string) Ask {
	r.t.Helper()
	r.frame(conn, request(inv, nested))
	for _, e := range r.last {
		if o, ok := e.(OpenInteraction); ok {
			return o.Ask
		}
	}
	r.t.Fatalf("nothing opened: %s", show(r.last))
	return Ask{}
}

// commit stores an answer at once, as an owner with a fast disk does.
func (r *rig) commit(a Ask, result forms.Result) []Effect {
	r.b.Reserve(a)
	return r.b.Committed(a, result)
}

// running takes one invocation "i" of connection "P" to a phase.
func running(t *testing.T, p Phase) *rig {
	t.Helper()
	r := newRig(t)
	r.provider(Conn{ID: "P"})
	r.bind(t1, "P")
	r.call(t1, "i")
	r.to("P", "i", p)
	return r
}

func (r *rig) to(conn, inv string, p Phase) {
	r.t.Helper()
	switch p {
	case Dispatched:
	case Accepted:
		r.admit = false
		r.frame(conn, accepted(inv))
		r.admit = true
	case Admitted:
		r.frame(conn, accepted(inv))
	case Opening:
		r.to(conn, inv, Admitted)
		r.ask(conn, inv, "n1")
	case Awaiting:
		r.to(conn, inv, Opening)
		r.do(r.b.Stored(Ask{inv, 1}))
	case Committing:
		r.to(conn, inv, Awaiting)
		r.b.Reserve(Ask{inv, 1})
	case Delivering:
		r.to(conn, inv, Awaiting)
		r.deliver = false
		r.do(r.commit(Ask{inv, 1}, forms.Result{Action: forms.ActionDecline}))
	case Chunks:
		r.to(conn, inv, Admitted)
		r.frame(conn, &protocol.CapabilityResultStart{InvocationID: inv, ByteLength: 40000, ChunkCount: 2})
	case Retired:
		r.to(conn, inv, Admitted)
		r.frame(conn, result(inv, "done"))
	}
	if got := r.b.PhaseOf(inv); got != p {
		r.t.Fatalf("phase %v, wanted %v", got, p)
	}
}

func accepted(inv string) *protocol.CapabilityAccepted {
	return &protocol.CapabilityAccepted{InvocationID: inv}
}

func result(inv, text string) *protocol.CapabilityResult {
	return &protocol.CapabilityResult{InvocationID: inv, Result: protocol.ToolResult{Content: []protocol.ContentBlock{{Type: protocol.BlockText, Text: text}}}}
}

func failed(inv, message string) *protocol.CapabilityFailed {
	return &protocol.CapabilityFailed{InvocationID: inv, Message: message}
}

func request(inv, nested string) *protocol.InteractionRequest {
	return &protocol.InteractionRequest{InvocationID: inv, InteractionID: nested, Form: forms.Form{
		Message: "Which?", Requester: forms.Requester{Name: "claimed", Source: "someone else"}}}
}

// show names effects in short, for comparing with a wanted line.
func show(fx []Effect) string {
	var words []string
	for _, e := range fx {
		switch e := e.(type) {
		case Send:
			kind := strings.TrimPrefix(fmt.Sprintf("%T", e.Frame), "*protocol.")
			words = append(words, kind+"@"+e.Conn)
		case Abort:
			words = append(words, "abort@"+e.Conn)
		case ArmDeadline:
			words = append(words, "arm")
		case StopDeadline:
			words = append(words, "stop")
		case AdmitInvocation:
			words = append(words, "admit?")
		case OpenInteraction:
			words = append(words, fmt.Sprint("open", e.N))
		case CloseInteraction:
			words = append(words, "close:"+string(e.Reason))
		case Progress:
			words = append(words, fmt.Sprintf("steps:%d/%d", e.Current, e.Total))
		case Settle:
			words = append(words, "settle:"+e.Outcome.Reason.String())
		}
	}
	return strings.Join(words, " ")
}

func (r *rig) want(line string) {
	r.t.Helper()
	if got := show(r.last); got != line {
		r.t.Errorf("effects\n got %s\nwant %s", got, line)
	}
}

func (r *rig) wantFailure(inv, text string, uncertain bool) {
	r.t.Helper()
	out, ok := r.settled[inv]
	if !ok || out.Result != nil || out.Message != text || out.Uncertain != uncertain {
		r.t.Errorf("%s came to %+v\nwanted %q uncertain %v", inv, out, text, uncertain)
	}
}
