package broker

import (
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"askback/forms"
	"askback/protocol"
)

// request opens the form of an invocation that runs. That its form is well-formed is the decoder's to know.
func (b *Broker) request(inv *invocation, f *protocol.InteractionRequest) {
	if inv.asks.seen[f.InteractionID] {
		b.violate(inv.conn, "interactionId used twice in one invocation")
		return
	}
	if inv.asks.count >= protocol.MaxAsksPerInvocation {
		b.end(inv, ExitAsks, "")
		return
	}
	if inv.asks.seen == nil {
		inv.asks.seen = map[string]bool{}
	}
	inv.asks.seen[f.InteractionID] = true
	inv.asks.count++
	inv.asks.nested = f.InteractionID
	inv.asks.unsent = false
	inv.phase = Opening
	form := f.Form
	form.Requester = inv.requester()
	b.emit(OpenInteraction{Ask: inv.ask(), Turn: inv.turn.Turn, RunID: inv.turn.run, ToolCallID: inv.call.ToolCallID, Form: form})
}

// asking returns the invocation that is in phase p with that question as its last.
func (b *Broker) asking(a Ask, p Phase) *invocation {
	if inv := b.invocations[a.Invocation]; inv != nil && inv.phase == p && inv.asks.count == a.N {
		return inv
	}
	return nil
}

// Stored says that a form is stored as pending. The execution deadline rests from now on.
func (b *Broker) Stored(a Ask) []Effect {
	if inv := b.asking(a, Opening); inv != nil {
		inv.phase = Awaiting
		b.disarm(inv)
	}
	return b.take()
}

// Refused says that a form was not published: the session has too many, it does not fit, or it cannot be stored. The call
// fails with that sentence and nothing else is touched.
func (b *Broker) Refused(a Ask, sentence string) []Effect {
	if inv := b.asking(a, Opening); inv != nil {
		inv.phase = Admitted // there is nothing to close
		b.end(inv, ExitRefused, sentence)
	}
	return b.take()
}

// Reserve says that an answer is about to be stored as the form's outcome, and reports whether the invocation still waits
// for exactly this one. When it does not, its call has ended and the form is being closed: the answer comes too late. After
// true the owner says Committed or NotCommitted.
func (b *Broker) Reserve(a Ask) bool {
	inv := b.asking(a, Awaiting)
	if inv == nil {
		return false
	}
	inv.phase = Committing
	return true
}

// maxHeld bounds what is held of one invocation: a whole result in chunks, with room for as many words beside it.
const maxHeld = 2 * (protocol.MaxResultBytes/protocol.ChunkBytes + 1)

// hold keeps a frame that came while an answer was being stored.
func (b *Broker) hold(inv *invocation, f protocol.ClientFrame) {
	if len(inv.asks.held) == maxHeld {
		b.violate(inv.conn, "too many frames beside an open form")
		return
	}
	inv.asks.held = append(inv.asks.held, f)
}

// resume works on the frames that were held, in the phase that the storing led to.
func (b *Broker) resume(inv *invocation) {
	held := inv.asks.held
	inv.asks.held = nil
	for _, f := range held {
		if b.conns[inv.conn.ID] != inv.conn {
			return // one of them destroyed the connection
		}
		b.frame(inv.conn, f)
	}
}

// NotCommitted says that an answer could not be stored: the form is pending as before.
func (b *Broker) NotCommitted(a Ask) []Effect {
	if inv := b.asking(a, Committing); inv != nil {
		inv.phase = Awaiting
		b.resume(inv)
	}
	return b.take()
}

// Committed says that an answer is stored as the form's outcome. It is handed over only if the invocation still waits for
// exactly this one, on the connection and the registration that asked.
func (b *Broker) Committed(a Ask, result forms.Result) []Effect {
	inv := b.asking(a, Committing)
	if inv == nil || inv.reg.retiredNow() || b.conns[inv.conn.ID] != inv.conn {
		return b.take()
	}
	inv.phase = Delivering
	inv.asks.unsent = true
	b.arm(inv)
	b.emit(Send{
		Conn:    inv.conn.ID,
		Frame:   &protocol.InteractionResult{InvocationID: inv.id, InteractionID: inv.asks.nested, Result: result},
		Written: &Ask{inv.id, a.N},
	})
	b.resume(inv)
	return b.take()
}

// Delivered says that an answer has been written to the provider's connection. The deadline starts again in full, unless
// the provider has asked again meanwhile and that form is pending.
func (b *Broker) Delivered(a Ask) []Effect {
	inv := b.invocations[a.Invocation]
	if inv == nil || inv.asks.count != a.N || !inv.asks.unsent {
		return nil
	}
	inv.asks.unsent = false
	if inv.phase == Delivering {
		inv.phase = Admitted
	}
	b.arm(inv)
	return b.take()
}

// Unanswered says that the owner closed a pending form because nobody answered in time.
func (b *Broker) Unanswered(a Ask) []Effect { return b.closed(a, ExitUnanswered) }

// HostClosing says that the owner closed a pending form because the Host drains. The call settles at once; the owner has
// marked the Turn as being cancelled, so that its end is not taken for a completion.
func (b *Broker) HostClosing(a Ask) []Effect { return b.closed(a, ExitHostClosing) }

func (b *Broker) closed(a Ask, exit Exit) []Effect {
	inv := b.asking(a, Awaiting)
	if inv == nil {
		return b.take()
	}
	out := failure(exit, inv.phase, "")
	inv.phase = Admitted // closed already
	b.settle(inv, exit, out)
	return b.take()
}

// fit cuts s on a cluster border so that it has at most n bytes.
func fit(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const dots = "…"
	cut, state := 0, -1
	rest := s
	for len(rest) > 0 {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if cut+len(cluster) > n-len(dots) {
			break
		}
		cut += len(cluster)
	}
	if cut == 0 { // one cluster longer than the limit
		_, cut = utf8.DecodeRuneInString(s)
	}
	return s[:cut] + dots
}
