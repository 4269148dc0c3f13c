package memnet

import (
	"context"
	"maps"
	"net"
	"slices"
	"sync"
	"syscall"
)

// backlog is how many dialed connections wait for Accept before a dial waits itself.
const backlog = 16

// Listener accepts connections that are dialed on it. All methods may be called concurrently.
type Listener struct {
	addr   Addr
	queue  chan *Conn
	closed chan struct{}

	mu      sync.Mutex
	done    bool
	refuse  bool
	dialers map[*Conn]struct{} // the dialing ends of open connections
}

// Listen returns a listener whose address has the given name. A listener used in a synctest bubble must be made there.
func Listen(name string) *Listener {
	return &Listener{
		addr:    Addr{name, lastAddr.Add(1)},
		queue:   make(chan *Conn, backlog),
		closed:  make(chan struct{}),
		dialers: make(map[*Conn]struct{}),
	}
}

// Dial connects to the listener.
func (l *Listener) Dial(ctx context.Context) (net.Conn, error) {
	fail := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: l.addr.Network(), Addr: l.addr, Err: err}
	}
	if err := ctx.Err(); err != nil {
		return fail(context.Cause(ctx))
	}
	near, far := pipe(l.addr.Name)
	near.onClose = func() { l.forget(near) }
	l.mu.Lock()
	if l.done || l.refuse {
		l.mu.Unlock()
		return fail(syscall.ECONNREFUSED)
	}
	l.dialers[near] = struct{}{}
	l.mu.Unlock()
	select {
	case l.queue <- far:
	case <-l.closed:
		near.Close()
		return fail(syscall.ECONNREFUSED)
	case <-ctx.Done():
		near.Close()
		return fail(context.Cause(ctx))
	}
	select {
	case <-l.closed: // closed while the connection was being queued; nobody may accept it any more
		l.drain()
	default:
	}
	return near, nil
}

// DialContext is Dial in the shape that http.Transport and websocket.Dialer take; network and address are ignored.
func (l *Listener) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return l.Dial(ctx)
}

// Accept waits for the next connection.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case <-l.closed:
	default:
		select {
		case c := <-l.queue:
			return c, nil
		case <-l.closed:
		}
	}
	return nil, &net.OpError{Op: "accept", Net: l.addr.Network(), Addr: l.addr, Err: net.ErrClosed}
}

// Close stops listening; connections that were accepted live on, the others are closed.
func (l *Listener) Close() error {
	l.mu.Lock()
	first := !l.done
	l.done = true
	l.mu.Unlock()
	if first {
		close(l.closed)
		l.drain()
	}
	return nil
}

func (l *Listener) drain() {
	for {
		select {
		case c := <-l.queue:
			c.Close()
		default:
			return
		}
	}
}

// Addr is the listener's address.
func (l *Listener) Addr() net.Addr { return l.addr }

// Refuse makes new dials fail with ECONNREFUSED (or succeed again).
func (l *Listener) Refuse(refuse bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refuse = refuse
}

// Conns is the dialing ends of the connections that their dialer has not closed.
func (l *Listener) Conns() []*Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.dialers))
}

// Cut cuts every open connection.
func (l *Listener) Cut() {
	for _, c := range l.Conns() {
		c.Cut()
	}
}

// Silence silences every open connection.
func (l *Listener) Silence() {
	for _, c := range l.Conns() {
		c.Silence()
	}
}

func (l *Listener) forget(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.dialers, c)
}
