package broker

import (
	"askback/protocol"
)

// Frame is a capability frame of a provider that decoded cleanly. One from a connection that is gone is nothing; one that
// its phase does not allow, or about an invocation that is not the connection's, destroys the connection.
func (b *Broker) Frame(connID string, f protocol.ClientFrame) []Effect {
	c := b.conns[connID]
	if c == nil {
		return nil
	}
	b.frame(c, f)
	return b.take()
}

func (b *Broker) frame(c *conn, f protocol.ClientFrame) {
	kind, id, ok := kindOf(f)
	if !ok {
		b.violate(c, "not a capability frame")
		return
	}
	if kind == kindRequest && !c.Dialect.Forms() {
		b.violate(c, "a form in a dialect without forms")
		return
	}
	inv := c.active[id]
	if inv == nil {
		if !c.retired.ids[id] {
			b.violate(c, "frame for an invocation that is not the connection's")
		}
		return
	}
	v := verdicts[inv.phase][kind]
	if len(inv.asks.held) > 0 {
		v = hold // behind one that waits
	}
	if v == abort {
		b.violate(c, "frame out of place in phase "+inv.phase.String())
		return
	}
	if inv.phase == Delivering {
		inv.phase = Admitted // it can only follow the answer
	}
	b.act(inv, v, f)
}

// act does what the table says.
func (b *Broker) act(inv *invocation, v verdict, f protocol.ClientFrame) {
	switch v {
	case take:
		inv.phase = Accepted
		b.emit(AdmitInvocation{Invocation: inv.id})
	case reject:
		b.end(inv, ExitRejected, f.(*protocol.CapabilityRejected).Message)
	case fail:
		b.end(inv, ExitFailed, f.(*protocol.CapabilityFailed).Message)
	case inconsistent:
		b.end(inv, ExitInconsistent, "")
	case finish:
		b.finish(inv, &f.(*protocol.CapabilityResult).Result)
	case progress:
		b.progress(inv, f.(*protocol.CapabilityProgress))
	case start:
		b.start(inv, f.(*protocol.CapabilityResultStart))
	case chunk:
		b.chunk(inv, f.(*protocol.CapabilityResultChunk))
	case ask:
		b.request(inv, f.(*protocol.InteractionRequest))
	case hold:
		b.hold(inv, f)
	}
}

func (b *Broker) finish(inv *invocation, r *protocol.ToolResult) {
	b.settle(inv, ExitResult, Outcome{Result: r, Reason: ExitResult})
}

func (b *Broker) progress(inv *invocation, f *protocol.CapabilityProgress) {
	now := steps{f.Current, f.Total}
	switch before := inv.steps; {
	case now.current < 0 || now.current > now.total || now.total < 1 || now.total > protocol.MaxProgressTotal:
		b.violate(inv.conn, "progress out of range")
	case before.total != 0 && (now.total != before.total || now.current < before.current):
		b.violate(inv.conn, "progress that goes back or changes its total")
	case now != before:
		inv.steps = now
		b.emit(Progress{Invocation: inv.id, Turn: inv.turn.Turn, ToolCallID: inv.call.ToolCallID, Current: now.current, Total: now.total})
	}
}
