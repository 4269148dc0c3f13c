package hostclient

import (
	"context"
	"slices"
	"sync"

	"askback/protocol"
)

// Provider is a connection that publishes offers and serves the calls that come for them. It makes itself again until
// Close, and then publishes its offers again. The loss of a connection ends the invocations that it carried.
//
// All methods may be called concurrently, but Next from one goroutine at a time.
type Provider struct {
	keeper  *keeper
	events  *queue
	handler Handler

	calls sync.WaitGroup // one for each running Serve
	wg    sync.WaitGroup // of the publisher

	mu      sync.Mutex
	link    *link
	linkCtx context.Context
	leaving bool // no further calls are taken
	closed  bool

	publications                        // what is to be offered, and what is
	live         map[string]*Invocation // of the present link, from call to cancel or release
	retired      *recent                // ids that have left live, so that their late frames are known as such
}

// NewProvider starts connecting and returns at once, as NewView does.
func NewProvider(opts Options, h Handler) *Provider {
	p := &Provider{events: newQueue(), handler: h, live: make(map[string]*Invocation), retired: newRecent(protocol.MaxRetiredInvocations)}
	p.changed = make(chan struct{})
	p.keeper = newKeeper(opts, (*providerHooks)(p))
	return p
}

// Next waits for the next event: Connection, Published, PublishFailed, CatalogChanged. They coalesce and need not be taken.
func (p *Provider) Next(ctx context.Context) (Event, error) {
	return p.events.next(ctx, func([]string) {})
}

// Ready waits while the present attempt to connect runs: nil when the connection is ready, else why the attempt failed.
func (p *Provider) Ready(ctx context.Context) error {
	_, err := p.keeper.ready(ctx, false)
	return err
}

// Connection is the present state.
func (p *Provider) Connection() Connection { return p.keeper.connection() }

// Retry makes the next attempt to connect at once, also after a refusal.
func (p *Provider) Retry() { p.keeper.tryNow() }

// CanAsk reports whether a form can reach a person over the present connection; false when there is none.
func (p *Provider) CanAsk() bool {
	l, none := p.keeper.current()
	return none == nil && l.host.Forms()
}

// Do asks for any operation that the provider's credential allows.
func (p *Provider) Do(ctx context.Context, in protocol.Input) (protocol.Result, error) {
	return p.keeper.do(ctx, in)
}

// StartTurn starts a Turn on the provider's connection where there is one whose credential allows that, since some Hosts
// bind the offers of the connection that starts it, and else on the view's. p may be nil. An error with CodeRequestLost
// says that the Turn may have started all the same.
func StartTurn(ctx context.Context, v *View, p *Provider, in protocol.TurnStartInput) (*protocol.TurnStartResult, error) {
	var first error
	if p != nil {
		r, err := ask[*protocol.TurnStartResult](ctx, p.keeper, &in)
		refusal := RefusalOf(err)
		// Starting the same Turn again after a loss is idempotent.
		if !lost(err) && refusal != protocol.CodeUnauthorized && refusal != protocol.CodeOperationUnavailable {
			return r, err
		}
		first = err
	}
	r, err := v.StartTurn(ctx, in)
	if CodeOf(err) == CodeNotConnected && CodeOf(first) == CodeRequestLost {
		err = first // which went out
	}
	return r, err
}

// Close takes the offers back and lets results leave that are on their way (both bounded by ctx), ends the connection,
// which ends the invocations that still run, and waits for their Serve to return.
func (p *Provider) Close(ctx context.Context) error {
	p.mu.Lock()
	p.leaving = true
	p.mu.Unlock()
	err := p.withdraw(ctx)
	p.awaitSent(ctx)
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.keeper.close()
	p.calls.Wait()
	p.wg.Wait()
	p.events.close()
	return err
}

// awaitSent waits until the Host has what is being sent in chunks: the tool has done its work, and all but its result
// would be lost with the connection. What goes in one frame went before the offers were taken back.
func (p *Provider) awaitSent(ctx context.Context) {
	p.mu.Lock()
	var sending []*Invocation
	for _, inv := range p.live {
		if inv.machine.inChunks {
			sending = append(sending, inv)
		}
	}
	p.mu.Unlock()
	for _, inv := range sending {
		select {
		case <-inv.ctx.Done(): // released, or lost
		case <-ctx.Done():
			return
		}
	}
}

type providerHooks Provider

func (h *providerHooks) changed(c Connection) { h.events.push(c) }

func (h *providerHooks) up(ctx context.Context, l *link) {
	p := (*Provider)(h)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.link, p.linkCtx = l, ctx
	p.linkUp()
	p.publishSoon()
}

func (h *providerHooks) down(_ *link, cause *Error) {
	p := (*Provider)(h)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.link, p.linkCtx = nil, nil
	for _, inv := range p.live {
		p.retire(inv, cause)
	}
	p.retired = newRecent(protocol.MaxRetiredInvocations)
}

// retire ends an invocation. p.mu is held.
func (p *Provider) retire(inv *Invocation, cause *Error) {
	inv.machine.retire()
	if inv.stepTime != nil {
		inv.stepTime.Stop()
	}
	delete(p.live, inv.call.InvocationID)
	p.retired.add(inv.call.InvocationID)
	inv.cancel(cause)
}

func (h *providerHooks) receive(f protocol.HostFrame) *Error {
	p := (*Provider)(h)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch f := f.(type) {
	case *protocol.CapabilityCall:
		return p.called(f)
	case *protocol.CapabilityServiceCall:
		return p.serviceCalled(f)
	case *protocol.CapabilityAdmitted:
		return p.admitted(f)
	case *protocol.InteractionResult:
		return p.answered(f)
	case *protocol.CapabilityCancel:
		p.over(f.InvocationID, errorf(CodeCancelled, "the Host cancelled the call"))
	case *protocol.CapabilityRelease:
		p.over(f.InvocationID, errorf(CodeReleased, "the Host released the call"))
	case *protocol.RegistrationRelease:
		p.released(f.RegistrationID)
	case *protocol.SessionCatalogChanged:
		p.events.push(CatalogChanged{CatalogSessions, f.SessionID})
	}
	return nil
}

// newInvocation enters a call. p.mu is held, on the reader's goroutine.
func (p *Provider) newInvocation(c Call) (*Invocation, *Error) {
	if p.link == nil {
		return nil, violation("the Host called before it was ready")
	}
	if p.live[c.InvocationID] != nil || p.retired.has(c.InvocationID) {
		return nil, violation("the Host used an invocation id twice")
	}
	c.HostEpoch = p.link.host.HostEpoch
	inv := &Invocation{call: c, p: p, link: p.link}
	inv.ctx, inv.cancel = context.WithCancelCause(context.Background())
	inv.machine = machine{id: c.InvocationID, forms: p.link.host.Forms()}
	p.live[c.InvocationID] = inv
	return inv, nil
}

func (p *Provider) called(f *protocol.CapabilityCall) *Error {
	inv, bad := p.newInvocation(Call{
		InvocationID: f.InvocationID, RegistrationID: f.RegistrationID, OfferID: f.OfferID, ServerID: f.ServerID,
		ToolName: f.ToolName, Arguments: f.Arguments, SessionID: f.SessionID, TurnID: f.TurnID, ToolCallID: f.ToolCallID, Cwd: f.Cwd,
	})
	if bad != nil {
		return bad
	}
	switch {
	case p.leaving:
		return p.refuse(inv, "the provider is leaving")
	case !p.offers(f):
		return p.refuse(inv, "the provider does not offer this tool")
	case p.active() > protocol.MaxActiveInvocations:
		return p.refuse(inv, "the provider serves as many calls as it may already")
	}
	return sent(inv.link.send(inv.machine.accept()))
}

// sent makes the end of a connection of a frame of our own making that is not sendable.
func sent(err error) *Error {
	if err == nil {
		return nil
	}
	return violation("no answer to the Host's frame can be made: %v", err)
}

func (p *Provider) serviceCalled(f *protocol.CapabilityServiceCall) *Error {
	inv, bad := p.newInvocation(Call{InvocationID: f.InvocationID, RegistrationID: f.RegistrationID})
	if bad != nil {
		return bad
	}
	return p.refuse(inv, "the provider offers no services")
}

func (p *Provider) refuse(inv *Invocation, message string) *Error {
	return sent(inv.link.send(inv.machine.reject(message)))
}

// active counts the invocations that are neither settled nor ended.
func (p *Provider) active() (n int) {
	for _, inv := range p.live {
		if inv.machine.phase < settled {
			n++
		}
	}
	return n
}

// find is the live invocation of an id; nil and no error when it has ended.
func (p *Provider) find(id string) (*Invocation, *Error) {
	if inv := p.live[id]; inv != nil {
		return inv, nil
	}
	if p.retired.has(id) {
		return nil, nil
	}
	return nil, violation("the Host sent a frame for a call that it never made")
}

func (p *Provider) admitted(f *protocol.CapabilityAdmitted) *Error {
	inv, bad := p.find(f.InvocationID)
	if inv == nil {
		return bad
	}
	run, bad := inv.machine.admit()
	if run {
		p.calls.Go(func() {
			p.handler.Serve(inv.ctx, inv)
			inv.Fail("server_error: the provider gave no result") // does nothing when the call is settled
		})
	}
	return bad
}

func (p *Provider) answered(f *protocol.InteractionResult) *Error {
	inv, bad := p.find(f.InvocationID)
	if inv == nil {
		if bad != nil {
			bad.Code = CodeInteraction
		}
		return bad
	}
	deliver, bad := inv.machine.answer(f.InteractionID)
	if deliver {
		inv.answer <- f.Result // one slot, one answer a form
	}
	return bad
}

// over ends an invocation on the Host's word. One that is not known needs no ending: a cancel is followed by a release.
func (p *Provider) over(id string, cause *Error) {
	if inv := p.live[id]; inv != nil {
		p.retire(inv, cause)
	}
}

// recent remembers the last ids that were added.
type recent struct {
	ids  map[string]bool
	ring []string
	next int
}

func newRecent(n int) *recent {
	return &recent{ids: make(map[string]bool), ring: make([]string, 0, n)}
}

func (r *recent) has(id string) bool { return r.ids[id] }

func (r *recent) add(id string) {
	if len(r.ring) < cap(r.ring) {
		r.ring = append(r.ring, id)
	} else {
		delete(r.ids, r.ring[r.next])
		r.ring[r.next] = id
		r.next = (r.next + 1) % len(r.ring)
	}
	r.ids[id] = true
}

// offers reports whether a call names a tool of a registration that this connection made and still holds.
func (p *Provider) offers(f *protocol.CapabilityCall) bool {
	return slices.ContainsFunc(p.registrations[f.RegistrationID], func(o Offer) bool {
		return o.OfferID == f.OfferID && slices.ContainsFunc(o.Tools, func(t Tool) bool {
			return t.ServerID == f.ServerID && t.Name == f.ToolName
		})
	})
}
