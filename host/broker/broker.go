package broker

import (
	"askback/protocol"
)

// A Conn is what the Broker knows of a connection. It never changes.
type Conn struct {
	ID         string
	Principal  string // of the credential
	Instance   string // clientInstanceId; with Principal the provider identity
	Credential string // its name, which the person may see
	Dialect    protocol.Dialect
	Publish    bool // may publish at all
	Trusted    bool // a capability provider: its tools run in any session
	HostPaths  bool // may be told paths of the Host
}

// Turn names a Turn. Turn ids are the clients' own, so they are unique in their session only.
type Turn struct{ Session, ID string }

// A Broker holds the capability registry and all invocations. The zero value is not usable; see New.
type Broker struct {
	revision    int64
	conns       map[string]*conn
	identities  map[identity]*provider
	current     []*registration // in order of publication
	catalog     *catalog        // of current; nil when it must be made again
	bindings    map[string]map[string]*provider
	turns       map[Turn]*turn
	invocations map[string]*invocation
	dispatched  uint64

	out []Effect // of the input that is being worked on
}

// New returns an empty Broker.
func New() *Broker {
	return &Broker{
		conns:       map[string]*conn{},
		identities:  map[identity]*provider{},
		bindings:    map[string]map[string]*provider{},
		turns:       map[Turn]*turn{},
		invocations: map[string]*invocation{},
	}
}

// conn is a live connection.
type conn struct {
	Conn
	provider   *provider // nil until it first publishes
	superseded bool
	active     map[string]*invocation
	retired    retired
	// registrations are those that are current or still have users.
	registrations map[*registration]bool
}

// retired remembers the last ids of ended invocations.
type retired struct {
	ids  map[string]bool
	ring []string
	next int
}

func (r *retired) add(id string) {
	if r.ids == nil {
		r.ids = map[string]bool{}
	}
	if len(r.ring) < protocol.MaxRetiredInvocations {
		r.ring = append(r.ring, id)
	} else {
		delete(r.ids, r.ring[r.next])
		r.ring[r.next] = id
		r.next = (r.next + 1) % len(r.ring)
	}
	r.ids[id] = true
}

// Connect adds a connection that finished its handshake.
func (b *Broker) Connect(c Conn) {
	b.conns[c.ID] = &conn{Conn: c, active: map[string]*invocation{}, registrations: map[*registration]bool{}}
}

// Disconnect removes a connection that ended, for whatever reason: it left, broke, was aborted, or its credential was
// revoked. Its calls fail, its open forms close, its registrations retire, and bindings to it end. An unknown connection
// is nothing.
func (b *Broker) Disconnect(id string) []Effect {
	if c := b.conns[id]; c != nil {
		b.drop(c)
	}
	return b.take()
}

// drop ends a connection and all that depends on it.
func (b *Broker) drop(c *conn) {
	delete(b.conns, c.ID)
	p := c.provider
	if p == nil {
		return
	}
	if r := p.current; r != nil && r.conn == c {
		b.uncurrent(r)
		b.unbind(p)
		b.revision++
	}
	b.retire(c, ExitLost)
	delete(p.conns, c)
	if len(p.conns) == 0 {
		delete(b.identities, p.identity)
	}
}

// violate destroys a connection that broke the protocol.
func (b *Broker) violate(c *conn, reason string) {
	b.emit(Abort{Conn: c.ID, Reason: reason})
	b.drop(c)
}

// Revision counts the changes of the registry since the Broker was made.
func (b *Broker) Revision() int64 { return b.revision }

// Active returns the number of invocations that have not ended.
func (b *Broker) Active() int { return len(b.invocations) }

// PhaseOf returns the phase of an invocation that was started; it is Retired for any that ended or never was.
func (b *Broker) PhaseOf(invocation string) Phase {
	if inv := b.invocations[invocation]; inv != nil {
		return inv.phase
	}
	return Retired
}

func (b *Broker) emit(e ...Effect) { b.out = append(b.out, e...) }

// take returns the effects of the current input.
func (b *Broker) take() []Effect {
	out := b.out
	b.out = nil
	return out
}
