package hostclient

import (
	"context"
	"slices"

	"askback/protocol"
)

// publications is what a Provider wants offered, over all connections, and what the present connection has registered.
// The Provider's lock guards it.
type publications struct {
	wanted  []Offer // nil: nothing
	version int     // counts Publish
	done    int     // the version that the present connection holds
	failed  int     // the version that the Host refused
	err     error   // why
	changed chan struct{}

	running       bool               // the publisher of the present connection
	current       string             // the registration that is in force; "" none
	registrations map[string][]Offer // by id, from its replace to its registration_release
}

// Publish makes offers the whole of what this provider offers, now and after each reconnect, in place of what it
// offered before. It returns when the Host holds them, or why it refuses; while there is no connection it waits. No offer
// takes all back. Calls that run go on under the registration they came with.
func (p *Provider) Publish(ctx context.Context, offers []Offer) error {
	if _, err := protocol.Encode(replaceRequest("check", offers), protocol.Dialect81); len(offers) > 0 && err != nil {
		return errorf(CodeTooLarge, "the offers cannot be published: %v", err)
	}
	p.mu.Lock()
	p.version++
	version := p.version
	p.wanted = slices.Clone(offers)
	p.publishSoon()
	p.mu.Unlock()
	return p.awaitPublished(ctx, version)
}

func (p *Provider) awaitPublished(ctx context.Context, version int) error {
	for {
		p.mu.Lock()
		done, failed, err, changed, closed := p.done, p.failed, p.err, p.changed, p.closed
		p.mu.Unlock()
		switch {
		case done >= version:
			return nil
		case failed >= version:
			return err
		case closed:
			return errorf(CodeClosed, "the connection was closed")
		}
		select {
		case <-changed:
		case <-p.keeper.done:
			return errorf(CodeClosed, "the connection was closed")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// withdraw takes the offers back before the connection is closed, so that no Host keeps a session waiting for them.
func (p *Provider) withdraw(ctx context.Context) error {
	p.mu.Lock()
	p.version++
	version := p.version
	p.wanted = nil
	if p.link == nil {
		p.mu.Unlock()
		return nil
	}
	ended := p.linkCtx
	p.publishSoon()
	p.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(ended, func() { cancel(context.Cause(ended)) })
	defer stop()
	return p.awaitPublished(ctx, version)
}

func (p *Provider) tellPublication() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// linkUp forgets what another connection registered. p.mu is held.
func (p *Provider) linkUp() {
	p.done, p.failed, p.current, p.running = 0, 0, "", false
	p.registrations = make(map[string][]Offer)
}

// publishSoon starts the publisher where there is something to tell the Host. p.mu is held.
func (p *Provider) publishSoon() {
	if p.link == nil || p.running || p.closed || p.settled() {
		return
	}
	p.running = true
	l, ctx := p.link, p.linkCtx
	p.wg.Go(func() { p.publish(ctx, l) })
}

func (p *Provider) settled() bool { return p.done >= p.version || p.failed >= p.version }

// publish tells the Host the newest wish until it holds it or refuses it.
func (p *Provider) publish(ctx context.Context, l *link) {
	for {
		p.mu.Lock()
		if p.link != l {
			p.mu.Unlock()
			return
		}
		if p.settled() {
			p.running = false
			p.mu.Unlock()
			return
		}
		version, offers, current := p.version, p.wanted, p.current
		registration := ""
		if len(offers) > 0 {
			registration = newID("reg-")
			p.registrations[registration] = offers // a call may name it before we read that it is registered
		}
		p.mu.Unlock()
		err := tellOffers(ctx, l, registration, offers, current)
		p.mu.Lock()
		if p.link != l || lost(err) || ctx.Err() != nil {
			p.mu.Unlock()
			return
		}
		p.told(version, registration, offers, err)
		p.tellPublication()
		p.mu.Unlock()
	}
}

// told is the end of one change: the Host holds it, or refused it. p.mu is held.
func (p *Provider) told(version int, registration string, offers []Offer, err error) {
	if err != nil {
		delete(p.registrations, registration)
		p.failed, p.err = version, err
		p.events.push(PublishFailed{err})
		return
	}
	p.done, p.current = version, registration
	p.events.push(Published{RegistrationID: registration, Offers: len(offers)})
	if _, held := p.registrations[registration]; registration != "" && !held {
		p.superseded() // its release was read before this goroutine had the reply that came first
	}
}

func replaceRequest(registration string, offers []Offer) *protocol.Request {
	in := &protocol.CapabilityReplaceInput{RegistrationID: registration, Offers: offers}
	return &protocol.Request{RequestID: "check", Operation: in.Operation(), Input: in}
}

// tellOffers replaces what the Host holds, or takes it back.
func tellOffers(ctx context.Context, l *link, registration string, offers []Offer, current string) error {
	if registration != "" {
		_, err := l.do(ctx, &protocol.CapabilityReplaceInput{RegistrationID: registration, Offers: offers}, nil)
		return err
	}
	if current == "" {
		return nil
	}
	_, err := l.do(ctx, &protocol.CapabilityUnregisterInput{RegistrationID: current}, nil)
	if RefusalOf(err) == protocol.CodeInvalidRequest {
		return nil // superseded: it is not ours any more
	}
	return err
}

// released drops a registration that no Turn uses any more: one that was replaced or taken back. When it is the present
// one, and no change of ours is under way, another connection of this identity has superseded ours. What says that is the
// versions, not p.running: a publisher that has told of its success is still on its way out. p.mu is held.
func (p *Provider) released(registration string) {
	delete(p.registrations, registration)
	if registration == p.current && p.settled() {
		p.superseded()
	}
}

func (p *Provider) superseded() {
	p.current = ""
	p.events.push(PublishFailed{errorf(CodeSuperseded, "another connection of this client has published its tools in place of these")})
}
