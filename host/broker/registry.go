package broker

import (
	"slices"

	"askback/protocol"
)

// identity is a provider across its connections.
type identity struct{ principal, instance string }

// provider is one identity that has published on a connection that still lives.
type provider struct {
	identity
	conns   map[*conn]bool // those that have published
	current *registration
}

// regState is where a registration is.
type regState uint8

const (
	regCurrent  regState = iota // offered to new Turns. replace, unregister → regReplaced; else → regRetired
	regReplaced                 // kept for Turns that use it. The last one leaves → regReleased; else → regRetired
	regRetired                  // its connection ended or was superseded: no call, no answer any more
	regReleased                 // nobody uses it
)

// registration is one published manifest.
type registration struct {
	id       string
	conn     *conn
	provider *provider
	state    regState
	users    int // Turns and invocations
	offers   []*offer
}

// retiredNow reports whether a committed answer may no longer be handed over to the registration.
func (r *registration) retiredNow() bool { return r.state == regRetired || r.state == regReleased }

// Refusals of publication, spelt as a Host spells them.
var (
	errUnauthorized = &protocol.Error{Code: protocol.CodeUnauthorized, Message: "Runtime Host operation is not authorized"}
	errSuperseded   = &protocol.Error{Code: protocol.CodeInvalidRequest, Message: "Client Capability connection has been superseded"}
	errRepeated     = &protocol.Error{Code: protocol.CodeInvalidRequest, Message: "Client Capability registration identity already exists"}
	errNotCurrent   = &protocol.Error{Code: protocol.CodeInvalidRequest, Message: "Client Capability registration is not current"}
	errTrusted      = &protocol.Error{Code: protocol.CodeInvalidRequest, Message: "A trusted capability provider may publish only path-independent session capabilities"}
)

// Replace publishes all that a connection offers, in place of what it or another connection of its identity offered. A
// refusal changes nothing. The result goes out after the effects.
func (b *Broker) Replace(connID string, in *protocol.CapabilityReplaceInput) (*protocol.CapabilityReplaceResult, []Effect, *protocol.Error) {
	c := b.conns[connID]
	if c == nil || !c.Publish {
		return nil, nil, errUnauthorized
	}
	if err := b.mayPublish(c, in); err != nil {
		return nil, nil, err
	}
	p := b.identify(c)
	r := &registration{id: in.RegistrationID, conn: c, provider: p, offers: offersOf(in)}
	old := p.current
	if old != nil {
		b.uncurrent(old)
	}
	p.current = r
	c.registrations[r] = true
	b.current = append(b.current, r)
	b.changed()
	b.supersede(p, c)
	if old != nil {
		b.maybeRelease(old)
	}
	b.unbindMissing(p)
	b.revision++
	return &protocol.CapabilityReplaceResult{RegistrationID: r.id, Revision: b.revision}, b.take(), nil
}

// mayPublish reports why a manifest is refused. Shape and limits are the decoder's.
func (b *Broker) mayPublish(c *conn, in *protocol.CapabilityReplaceInput) *protocol.Error {
	if c.superseded {
		return errSuperseded
	}
	if p := b.identities[identity{c.Principal, c.Instance}]; p != nil && p.holds(in.RegistrationID) {
		return errRepeated
	}
	if c.Trusted && !pathIndependent(in) {
		return errTrusted
	}
	if !c.HostPaths && slices.ContainsFunc(in.Offers, func(o protocol.Offer) bool { return o.HostPathAccess != protocol.HostPathNone }) {
		return errUnauthorized
	}
	return collision(in.Offers)
}

// pathIndependent reports whether a manifest is one that a capability provider may publish.
func pathIndependent(in *protocol.CapabilityReplaceInput) bool {
	return len(in.Services) == 0 && !slices.ContainsFunc(in.Offers, func(o protocol.Offer) bool {
		return o.Affinity != protocol.AffinitySession || o.HostPathAccess != protocol.HostPathNone
	})
}

// Unregister takes the current registration of a connection back; running Turns keep it. The effects may go out before or
// after the result.
func (b *Broker) Unregister(connID, registrationID string) (*protocol.CapabilityUnregisterResult, []Effect, *protocol.Error) {
	c := b.conns[connID]
	if c == nil || !c.Publish {
		return nil, nil, errUnauthorized
	}
	p := c.provider
	if p == nil || p.current == nil || p.current.conn != c || p.current.id != registrationID {
		return nil, nil, errNotCurrent
	}
	r := p.current
	b.uncurrent(r)
	b.unbind(p)
	b.maybeRelease(r)
	b.revision++
	return &protocol.CapabilityUnregisterResult{RegistrationID: r.id, Revision: b.revision}, b.take(), nil
}

// identify returns the provider of a connection that publishes.
func (b *Broker) identify(c *conn) *provider {
	key := identity{c.Principal, c.Instance}
	p := b.identities[key]
	if p == nil {
		p = &provider{identity: key, conns: map[*conn]bool{}}
		b.identities[key] = p
	}
	p.conns[c] = true
	c.provider = p
	return p
}

// holds reports whether a live connection of the provider has a registration of that id.
func (p *provider) holds(id string) bool {
	for c := range p.conns {
		for r := range c.registrations {
			if r.id == id {
				return true
			}
		}
	}
	return false
}

// supersede ends the part of every other connection of p: its calls fail, its registrations retire.
func (b *Broker) supersede(p *provider, by *conn) {
	for _, c := range sortedConns(p.conns) {
		if c == by || c.superseded {
			continue
		}
		c.superseded = true
		held := sortedRegistrations(c.registrations)
		b.retire(c, ExitSuperseded)
		for _, r := range held {
			b.maybeRelease(r)
		}
	}
}

// retire retires the registrations of a connection, none of which is current any more, and ends its calls.
func (b *Broker) retire(c *conn, exit Exit) {
	for r := range c.registrations {
		r.state = regRetired
	}
	for _, inv := range sortedInvocations(c.active) {
		b.end(inv, exit, "")
	}
}

// uncurrent takes a registration out of what new Turns see.
func (b *Broker) uncurrent(r *registration) {
	if r.state == regCurrent {
		r.state = regReplaced
	}
	if r.provider.current == r {
		r.provider.current = nil
	}
	b.current = slices.DeleteFunc(b.current, func(o *registration) bool { return o == r })
	b.changed()
}

// maybeRelease tells the provider that nobody uses a registration any more. A superseded connection is told too.
func (b *Broker) maybeRelease(r *registration) {
	if r.state == regCurrent || r.state == regReleased || r.users > 0 {
		return
	}
	r.state = regReleased
	delete(r.conn.registrations, r)
	if b.conns[r.conn.ID] == r.conn {
		b.emit(Send{Conn: r.conn.ID, Frame: &protocol.RegistrationRelease{RegistrationID: r.id}})
	}
}

func (b *Broker) use(r *registration) { r.users++ }

func (b *Broker) unuse(r *registration) {
	r.users--
	b.maybeRelease(r)
}

// unbind ends every session's binding to a provider.
func (b *Broker) unbind(p *provider) {
	for session, bound := range b.bindings {
		for contract, to := range bound {
			if to == p {
				delete(bound, contract)
			}
		}
		if len(bound) == 0 {
			delete(b.bindings, session)
		}
	}
}

// unbindMissing ends the bindings to contracts that a provider no longer offers.
func (b *Broker) unbindMissing(p *provider) {
	offers := map[string]bool{}
	for _, o := range p.current.offers {
		offers[o.contract] = true
	}
	for session, bound := range b.bindings {
		for contract, to := range bound {
			if to == p && !offers[contract] {
				delete(bound, contract)
			}
		}
		if len(bound) == 0 {
			delete(b.bindings, session)
		}
	}
}

// ForgetSession drops the bindings of a session that was removed.
func (b *Broker) ForgetSession(session string) { delete(b.bindings, session) }

func (b *Broker) changed() { b.catalog = nil }
