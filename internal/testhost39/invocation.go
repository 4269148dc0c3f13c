package testhost39

import (
	"time"

	"askback/protocol"
)

// phase is where an invocation is: dispatched → accepted → chunks, and out of
// each to retired, when it leaves the connection's map.
type phase int

const (
	dispatched phase = iota
	accepted
	chunks
)

// invocation is one call on its way. The Host's lock guards it, but for done.
type invocation struct {
	id       string
	t        *turn
	conn     *conn
	callID   string
	phase    phase
	current  int
	total    int // 0 before the first progress
	expect   protocol.CapabilityResultStart
	got      []byte
	received int
	deadline *time.Timer
	outcome  outcome
	done     chan struct{}
}

// outcome is what the model gets of a call.
type outcome struct {
	result    *protocol.ToolResult // nil: failed
	message   string
	uncertain bool
}

const unknownPrefix = "outcome_unknown: "

// uncertain is a failure after acceptance.
func uncertain(message string) outcome {
	return outcome{message: unknownPrefix + message, uncertain: true}
}

// call dispatches a call, or says at once how it fails. h.mu is held.
func (t *turn) call(b *bound, arguments protocol.RawMessage, callID string) (*invocation, outcome) {
	c := b.reg.conn
	switch {
	case t.s.item.PermissionMode != protocol.PermissionBypass && c.cred.Kind == RemoteOwner:
		return nil, outcome{message: "Client Capability tools require the Bypass execution boundary because their client-side effects cannot be sandboxed by the Host. Switch this Session to Bypass and retry."}
	case c.gone || c.superseded || c.h.conns[c] == false:
		return nil, outcome{message: "Client Capability provider disconnected before accepting the call"}
	case len(c.invocations) >= protocol.MaxActiveInvocations:
		return nil, outcome{message: "Client Capability provider has too many active invocations"}
	}
	inv := &invocation{id: newID(), t: t, conn: c, callID: callID, done: make(chan struct{})}
	c.invocations[inv.id] = inv
	f := &protocol.CapabilityCall{
		InvocationID: inv.id, RegistrationID: b.reg.id, OfferID: b.offer.OfferID, ServerID: b.tool.ServerID, ToolName: b.tool.Name,
		Arguments: arguments, SessionID: t.s.item.ID, TurnID: t.id, ToolCallID: callID,
	}
	if b.offer.HostPathAccess == protocol.HostPathCwd {
		f.Cwd = t.s.item.Workspace.HostCwd
	}
	c.send(f)
	inv.deadline = time.AfterFunc(t.s.h.opt.CallDeadline, func() {
		c.h.mu.Lock()
		defer c.h.mu.Unlock()
		inv.abandon("Client Capability invocation timed out before provider acceptance", "Client Capability invocation timed out after provider acceptance")
	})
	return inv, outcome{}
}

// retire takes an invocation out of the map; whoever does settles it.
func (inv *invocation) retire(o outcome) {
	c := inv.conn
	if c.invocations[inv.id] != inv {
		return
	}
	delete(c.invocations, inv.id)
	c.retired = append(c.retired, inv.id)
	if len(c.retired) > protocol.MaxRetiredInvocations {
		c.retired = c.retired[1:]
	}
	inv.deadline.Stop()
	inv.outcome = o
	close(inv.done)
}

// finish ends an invocation that the provider ended.
func (inv *invocation) finish(o outcome) {
	inv.retire(o)
	inv.conn.send(&protocol.CapabilityRelease{InvocationID: inv.id})
}

// abandon ends an invocation from the Host's side.
func (inv *invocation) abandon(before, after string) {
	if inv.conn.invocations[inv.id] != inv {
		return
	}
	inv.conn.send(&protocol.CapabilityCancel{InvocationID: inv.id})
	inv.conn.send(&protocol.CapabilityRelease{InvocationID: inv.id})
	if inv.phase == dispatched {
		inv.retire(outcome{message: before})
		return
	}
	inv.retire(uncertain(after))
}

// failAll ends what a connection ran that is lost.
func (c *conn) failAll() {
	for _, inv := range c.invocations {
		if inv.phase == dispatched {
			inv.retire(outcome{message: "Client Capability provider disconnected before accepting the call"})
			continue
		}
		inv.retire(uncertain("Client Capability provider disconnected after accepting the call"))
	}
}

// capability acts on a provider's frame; an error drops the connection.
func (c *conn) capability(f protocol.ClientFrame) error {
	id := invocationOf(f)
	inv := c.invocations[id]
	if inv == nil {
		for _, old := range c.retired {
			if old == id {
				return nil // late, and known to be
			}
		}
		return errDropped
	}
	switch f := f.(type) {
	case *protocol.CapabilityAccepted:
		if inv.phase != dispatched {
			return errDropped
		}
		inv.phase = accepted
		c.send(&protocol.CapabilityAdmitted{InvocationID: id})
		return nil
	case *protocol.CapabilityRejected:
		if inv.phase != dispatched {
			return errDropped
		}
		inv.finish(outcome{message: f.Message})
		return nil
	}
	if inv.phase == dispatched {
		return errDropped
	}
	switch f := f.(type) {
	case *protocol.CapabilityProgress:
		return inv.progress(f)
	case *protocol.CapabilityFailed:
		inv.finish(outcome{message: f.Message})
		return nil
	case *protocol.CapabilityResult:
		if inv.phase == chunks {
			return errDropped
		}
		result := f.Result
		inv.finish(outcome{result: &result})
		return nil
	case *protocol.CapabilityResultStart:
		if inv.phase == chunks {
			return errDropped
		}
		inv.phase, inv.expect = chunks, *f
		return nil
	case *protocol.CapabilityResultChunk:
		return inv.chunk(f)
	}
	return errDropped
}

func invocationOf(f protocol.ClientFrame) string {
	switch f := f.(type) {
	case *protocol.CapabilityAccepted:
		return f.InvocationID
	case *protocol.CapabilityRejected:
		return f.InvocationID
	case *protocol.CapabilityProgress:
		return f.InvocationID
	case *protocol.CapabilityFailed:
		return f.InvocationID
	case *protocol.CapabilityResult:
		return f.InvocationID
	case *protocol.CapabilityResultStart:
		return f.InvocationID
	case *protocol.CapabilityResultChunk:
		return f.InvocationID
	}
	return ""
}

func (inv *invocation) progress(f *protocol.CapabilityProgress) error {
	if (inv.total != 0 && f.Total != inv.total) || f.Current < inv.current {
		return errDropped
	}
	if inv.total == 0 || f.Current > inv.current {
		inv.t.toolProgress(inv.callID, f.Current, f.Total)
	}
	inv.total, inv.current = f.Total, f.Current
	return nil
}

func (inv *invocation) chunk(f *protocol.CapabilityResultChunk) error {
	if inv.phase != chunks || f.Index != inv.received {
		return errDropped
	}
	last := f.Index == inv.expect.ChunkCount-1
	want := protocol.ChunkBytes
	if last {
		want = inv.expect.ByteLength - f.Index*protocol.ChunkBytes
	}
	if len(f.Data) != want {
		return errDropped
	}
	inv.got = append(inv.got, f.Data...)
	inv.received++
	if !last {
		return nil
	}
	result, err := protocol.DecodeToolResult(inv.got)
	if err != nil {
		return errDropped
	}
	inv.finish(outcome{result: result})
	return nil
}
