package host

import (
	"sync"

	"askback/forms"
	"askback/host/broker"
	"askback/protocol"
)

// The gate holds the broker. Every input to it goes through do, which performs the
// effects that touch a connection or a timer before it lets the next input in, so that
// frames reach a connection in the order in which the broker decided them. What touches
// a session (its forms, its calls) is queued for that session in the same order and
// carried out beside the gate, since it waits for the disk.
//
// A caller may hold a session's mu; the gate never takes one.
type gate struct {
	mu     sync.Mutex
	broker *broker.Broker
	conns  map[string]*conn
	timers map[string]Timer          // execution deadlines by invocation
	owners map[string]*session       // of invocations
	queues map[*session]*effectQueue // of effects that wait for their session

	// closing is why forms close that still stand in their session's list, since their calls have ended first.
	closing map[broker.Ask]protocol.ClosureReason
}

// effectQueue is what waits for one session; running while a goroutine works on it.
type effectQueue struct {
	waiting []broker.Effect
}

func (g *gate) init() {
	g.broker = broker.New()
	g.conns = map[string]*conn{}
	g.timers = map[string]Timer{}
	g.owners = map[string]*session{}
	g.queues = map[*session]*effectQueue{}
	g.closing = map[broker.Ask]protocol.ClosureReason{}
}

func (g *gate) connect(c *conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.conns[c.id] = c
	g.broker.Connect(broker.Conn{
		ID: c.id, Principal: c.cred.ID, Instance: c.instance, Credential: c.cred.Name, Dialect: c.dialect,
		Publish: c.cred.Grants.Publish, Trusted: c.cred.Grants.Trusted, HostPaths: c.cred.Grants.HostPaths,
	})
}

// disconnect tells the broker that a connection ended.
func (g *gate) disconnect(h *Host, c *conn) {
	g.do(h, func(b *broker.Broker) []broker.Effect { return b.Disconnect(c.id) })
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.conns, c.id)
}

// frame gives the broker a capability frame of a connection.
func (g *gate) frame(h *Host, c *conn, f protocol.ClientFrame) {
	g.do(h, func(b *broker.Broker) []broker.Effect { return b.Frame(c.id, f) })
}

// do gives the broker one input and carries out what follows.
func (g *gate) do(h *Host, input func(*broker.Broker) []broker.Effect) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.perform(h, input(g.broker))
}

// perform runs with the gate held.
func (g *gate) perform(h *Host, effects []broker.Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case broker.Send:
			g.send(h, e)
		case broker.Abort:
			if c := g.conns[e.Conn]; c != nil {
				c.violation(e.Reason)
			}
		case broker.ArmDeadline:
			g.arm(h, e)
		case broker.StopDeadline:
			g.stop(e.Invocation)
		case broker.AdmitInvocation:
			h.log.Info("invocation accepted", "invocation", e.Invocation)
			g.perform(h, g.broker.Admit(e.Invocation))
		case broker.OpenInteraction:
			g.later(h, e.Invocation, e)
		case broker.CloseInteraction:
			g.closing[e.Ask] = e.Reason
			g.later(h, e.Invocation, e)
		case broker.Progress:
			g.later(h, e.Invocation, e)
		case broker.Settle:
			g.stop(e.Invocation)
			g.later(h, e.Invocation, e)
			delete(g.owners, e.Invocation)
		}
	}
}

func (g *gate) send(h *Host, e broker.Send) {
	c := g.conns[e.Conn]
	if c == nil {
		return
	}
	if e.Written == nil {
		c.send(e.Frame, nil)
		return
	}
	ask := *e.Written
	written := func() {
		g.do(h, func(b *broker.Broker) []broker.Effect { return b.Delivered(ask) })
	}
	if h.opt.BeforeHandOver == nil {
		c.send(e.Frame, written)
		return
	}
	// Held outside the gate, and sent only to a call that has not ended meanwhile.
	h.wg.Go(func() {
		h.opt.BeforeHandOver(ask.Invocation)
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.broker.PhaseOf(ask.Invocation) != broker.Retired {
			c.send(e.Frame, written)
		}
	})
}

func (g *gate) arm(h *Host, e broker.ArmDeadline) {
	g.stop(e.Invocation)
	g.timers[e.Invocation] = h.opt.Clock.AfterFunc(h.opt.ExecutionDeadline, func() {
		g.do(h, func(b *broker.Broker) []broker.Effect { return b.Deadline(e.Invocation, e.Generation) })
	})
}

func (g *gate) stop(invocation string) {
	if t := g.timers[invocation]; t != nil {
		t.Stop()
		delete(g.timers, invocation)
	}
}

// later queues an effect for the session of its invocation and sees to it that somebody
// works on the queue.
func (g *gate) later(h *Host, invocation string, e broker.Effect) {
	s := g.owners[invocation]
	if s == nil {
		return
	}
	q := g.queues[s]
	if q == nil {
		q = &effectQueue{}
		g.queues[s] = q
		h.wg.Go(func() { g.work(h, s) })
	}
	if p, ok := e.(broker.Progress); ok && len(q.waiting) > 0 {
		// Of several advances of one call only the last is worth showing.
		if last, ok := q.waiting[len(q.waiting)-1].(broker.Progress); ok && last.Invocation == p.Invocation {
			q.waiting[len(q.waiting)-1] = p
			return
		}
	}
	q.waiting = append(q.waiting, e)
}

// work carries out a session's effects in order until none is left.
func (g *gate) work(h *Host, s *session) {
	for {
		g.mu.Lock()
		q := g.queues[s]
		if len(q.waiting) == 0 {
			delete(g.queues, s)
			g.mu.Unlock()
			return
		}
		e := q.waiting[0]
		q.waiting = q.waiting[1:]
		g.mu.Unlock()
		s.carryOut(e)
	}
}

// carryOut performs one effect on the session, waiting for the disk where it must.
func (s *session) carryOut(e broker.Effect) {
	switch e := e.(type) {
	case broker.OpenInteraction:
		s.openInteraction(e)
	case broker.CloseInteraction:
		s.closeInteraction(e.Ask, e.Reason)
	case broker.Progress:
		s.showProgress(e)
	case broker.Settle:
		s.settleCall(e)
	}
}

// startCall gives the broker a call of a Turn of session s.
func (g *gate) startCall(s *session, call broker.Call) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.owners[call.InvocationID] = s
	g.perform(s.host, g.broker.StartCall(call))
}

// reserve keeps a call from ending as one with an open form while an answer to that form is being stored. When the call
// has ended already it reports why the form closes.
func (g *gate) reserve(ask broker.Ask) (ok bool, closes protocol.ClosureReason) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.broker.Reserve(ask) {
		return true, ""
	}
	return false, orElse(g.closing[ask], protocol.ClosedProducerCancelled)
}

// commit hands a committed answer over, if the one who asked still waits for it.
func (g *gate) commit(h *Host, ask broker.Ask, result forms.Result) {
	g.do(h, func(b *broker.Broker) []broker.Effect { return b.Committed(ask, result) })
}

// keepOpen gives a reservation back whose answer could not be stored.
func (g *gate) keepOpen(h *Host, ask broker.Ask) {
	g.do(h, func(b *broker.Broker) []broker.Effect { return b.NotCommitted(ask) })
}

// closed forgets why a form closes, once it is settled.
func (g *gate) closed(ask broker.Ask) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.closing, ask)
}

// connectionEnded cleans up after a connection whose frames are all worked on.
func (h *Host) connectionEnded(c *conn) {
	c.unsubscribe()
	h.gate.disconnect(h, c)
}

func (h *Host) capabilityReplace(c *conn, req *protocol.Request) (protocol.Result, error) {
	in, ok := req.Input.(*protocol.CapabilityReplaceInput)
	if !ok {
		return nil, errMalformed
	}
	g := &h.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	result, effects, refused := g.broker.Replace(c.id, in)
	if refused != nil {
		return nil, refused
	}
	tools := 0
	for _, o := range in.Offers {
		tools += len(o.Tools)
	}
	c.log.Info("capabilities published", "registration", in.RegistrationID, "offers", len(in.Offers), "tools", tools)
	g.perform(h, effects)
	c.respond(req, result, nil)
	return nil, errAnswered
}

func (h *Host) capabilityUnregister(c *conn, req *protocol.Request) (protocol.Result, error) {
	in, ok := req.Input.(*protocol.CapabilityUnregisterInput)
	if !ok {
		return nil, errMalformed
	}
	g := &h.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	result, effects, refused := g.broker.Unregister(c.id, in.RegistrationID)
	if refused != nil {
		return nil, refused
	}
	c.log.Info("capabilities withdrawn", "registration", in.RegistrationID)
	c.respond(req, result, nil) // the release follows the answer
	g.perform(h, effects)
	return nil, errAnswered
}
