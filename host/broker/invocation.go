package broker

import (
	"encoding/json"

	"askback/forms"
	"askback/protocol"
)

// Call is a tool call of a Turn. The ids are the owner's: InvocationID is new, ToolCallID whatever the executor uses.
type Call struct {
	InvocationID string
	Turn         Turn
	ToolCallID   string
	Server, Tool string
	Arguments    json.RawMessage // a JSON object; its content is the provider's business
	Bypass       bool            // whether the session has the bypass boundary
	Cwd          string          // the session's folder, for an offer that is told it
}

// invocation is a call that a provider was sent and that has not ended.
type invocation struct {
	id     string
	seq    uint64 // order of dispatch
	turn   *turn
	conn   *conn
	reg    *registration
	offer  *offer
	call   Call
	phase  Phase
	timers uint64 // generation of the deadline; odd while it runs
	steps  steps
	asks   asks
	chunks *assembly
}

// asks is what an invocation has asked.
type asks struct {
	count  int
	seen   map[string]bool        // the provider's ids
	nested string                 // the provider's id of the last one
	unsent bool                   // the last one's answer has not been reported as written
	held   []protocol.ClientFrame // what the provider said while the answer was being stored
}

// steps is the progress of an invocation; total 0 is none yet.
type steps struct{ current, total int }

// StartCall sends a call to the provider to which its Turn is bound, or settles it at once. The Turn must be bound.
func (b *Broker) StartCall(c Call) []Effect {
	tn := b.turns[c.Turn]
	inv, refusal := b.dispatch(tn, c)
	if inv == nil {
		b.emit(Settle{Invocation: c.InvocationID, Turn: c.Turn, ToolCallID: c.ToolCallID, Outcome: failure(ExitNotStarted, Retired, refusal)})
		return b.take()
	}
	frame := &protocol.CapabilityCall{
		InvocationID: inv.id, RegistrationID: inv.reg.id, OfferID: inv.offer.OfferID,
		ServerID: c.Server, ToolName: c.Tool, Arguments: c.Arguments,
		SessionID: c.Turn.Session, TurnID: c.Turn.ID, ToolCallID: c.ToolCallID,
	}
	if inv.offer.HostPathAccess == protocol.HostPathCwd {
		frame.Cwd = c.Cwd
	}
	b.emit(Send{Conn: inv.conn.ID, Frame: frame})
	b.arm(inv)
	return b.take()
}

// dispatch makes the invocation of a call, or says why there is none.
func (b *Broker) dispatch(tn *turn, c Call) (*invocation, string) {
	if tn == nil {
		return nil, textNotOffered
	}
	slot, ok := tn.catalog.index[toolKey{c.Server, c.Tool}]
	if !ok {
		return nil, textNotOffered
	}
	g := tn.catalog.groups[slot.group]
	reg, refusal := b.callee(tn, slot.group)
	switch {
	case reg == nil:
		return nil, refusal
	case !c.Bypass && !reg.conn.Trusted:
		return nil, textBypass
	case len(reg.conn.active) >= protocol.MaxActiveInvocations:
		return nil, textTooMany
	}
	b.dispatched++
	inv := &invocation{id: c.InvocationID, seq: b.dispatched, turn: tn, conn: reg.conn, reg: reg, offer: reg.offering(g.contract), call: c}
	inv.call.Arguments = nil // sent; a call may stay for days
	b.invocations[inv.id] = inv
	inv.conn.active[inv.id] = inv
	tn.calls[inv.id] = inv
	b.use(reg)
	return inv, ""
}

// callee returns the registration that serves a group for a Turn.
func (b *Broker) callee(tn *turn, i int) (*registration, string) {
	if r := tn.chosen[i]; r != nil {
		if r.retiredNow() {
			return nil, textLostBefore
		}
		return r, ""
	}
	for _, g := range b.catalogNow().groups {
		if g.contract != tn.catalog.groups[i].contract {
			continue
		}
		if r := g.pick(tn.initiator); r != nil {
			return r, ""
		}
		return nil, textAmbiguous
	}
	return nil, textNotOfferedNow
}

func (r *registration) offering(contract string) *offer {
	for _, o := range r.offers {
		if o.contract == contract {
			return o
		}
	}
	return nil
}

// Admit lets an accepted call run. Anything else is nothing.
func (b *Broker) Admit(invocation string) []Effect {
	if inv := b.invocations[invocation]; inv != nil && inv.phase == Accepted {
		inv.phase = Admitted
		b.emit(Send{Conn: inv.conn.ID, Frame: &protocol.CapabilityAdmitted{InvocationID: inv.id}})
	}
	return b.take()
}

// Deadline is the passing of an execution deadline that was armed with that generation.
func (b *Broker) Deadline(invocation string, generation uint64) []Effect {
	if inv := b.invocations[invocation]; inv != nil && inv.running() && inv.timers == generation {
		b.end(inv, ExitDeadline, "")
	}
	return b.take()
}

func (inv *invocation) running() bool { return inv.timers%2 == 1 }

func (b *Broker) arm(inv *invocation) {
	inv.timers += 1 + inv.timers%2
	b.emit(ArmDeadline{Invocation: inv.id, Generation: inv.timers})
}

func (b *Broker) disarm(inv *invocation) {
	if inv.running() {
		inv.timers++
		b.emit(StopDeadline{Invocation: inv.id})
	}
}

// end ends an invocation by one of the exits that bring no result. The form closes first, then the provider hears of it,
// then the call settles.
func (b *Broker) end(inv *invocation, exit Exit, message string) {
	b.settle(inv, exit, failure(exit, inv.phase, message))
}

func (b *Broker) settle(inv *invocation, exit Exit, out Outcome) {
	if inv.phase.Asking() {
		b.emit(CloseInteraction{Ask: inv.ask(), Reason: exit.closureOf()})
	}
	b.disarm(inv)
	inv.phase = Retired
	delete(b.invocations, inv.id)
	delete(inv.conn.active, inv.id)
	delete(inv.turn.calls, inv.id)
	inv.conn.retired.add(inv.id)
	if !exit.silent() {
		if exit.cancels() {
			b.emit(Send{Conn: inv.conn.ID, Frame: &protocol.CapabilityCancel{InvocationID: inv.id}})
		}
		b.emit(Send{Conn: inv.conn.ID, Frame: &protocol.CapabilityRelease{InvocationID: inv.id}})
	}
	b.emit(Settle{Invocation: inv.id, Turn: inv.turn.Turn, ToolCallID: inv.call.ToolCallID, Outcome: out})
	b.unuse(inv.reg)
}

func (inv *invocation) ask() Ask { return Ask{inv.id, inv.asks.count} }

// requester is who asks, as far as the Host itself knows; the provider's claim is not used.
func (inv *invocation) requester() forms.Requester {
	return forms.Requester{
		Name:   fit(inv.call.Tool, protocol.MaxRequesterNameBytes),
		Source: fit(inv.call.Server+" · via "+inv.offer.Label+" · "+inv.conn.Credential, protocol.MaxRequesterSourceBytes),
	}
}
