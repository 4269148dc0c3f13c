package testhost39

import (
	"errors"
	"net"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"

	"askback/protocol"
)

// conn is one connection. The Host's lock guards it, but for the queue.
type conn struct {
	h        *Host
	ws       *websocket.Conn
	token    string
	cred     Credential
	id       string
	instance string
	accepted bool
	gone     bool

	requests      map[string]protocol.Operation // in flight
	subscriptions map[string]*subscription
	registrations map[string]*registration // not released yet
	current       *registration
	superseded    bool
	invocations   map[string]*invocation
	retired       []string

	out queue
}

// queue is what waits to be written.
type queue struct {
	mu     sync.Mutex
	cond   *sync.Cond
	frames [][]byte
	ended  bool
}

var errDropped = errors.New("dropped")

// serve runs a connection to its end.
func (h *Host) serve(ws *websocket.Conn, token string, cred Credential) {
	c := &conn{
		h: h, ws: ws, token: token, cred: cred, id: newID(),
		requests: map[string]protocol.Operation{}, subscriptions: map[string]*subscription{},
		registrations: map[string]*registration{}, invocations: map[string]*invocation{},
	}
	c.out.cond = sync.NewCond(&c.out.mu)
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		_ = ws.Close()
		return
	}
	h.conns[c] = true
	h.wg.Add(1)
	h.mu.Unlock()
	defer h.wg.Done()
	written := make(chan struct{})
	go func() { defer close(written); c.writeLoop() }()
	code := c.readLoop()
	h.mu.Lock()
	c.leave()
	h.mu.Unlock()
	if code != 0 {
		c.out.end()
		<-written // the answer goes before the close frame
		_ = ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""), time.Now().Add(time.Second))
	}
	_ = ws.Close()
	c.out.end()
	<-written
}

// readLoop returns the code to close with, 0 for none.
func (c *conn) readLoop() int {
	// A little over the limit, so that the limit itself decides and not the
	// library, whose close frame would come with it.
	c.ws.SetReadLimit(protocol.MaxFrameBytes + 1)
	_ = c.ws.SetReadDeadline(time.Now().Add(protocol.HelloTimeout))
	for first := true; ; first = false {
		kind, data, err := c.ws.ReadMessage()
		if errors.Is(err, websocket.ErrReadLimit) {
			return websocket.CloseMessageTooBig
		}
		if err != nil {
			return 0
		}
		if len(data) > protocol.MaxFrameBytes {
			return websocket.CloseMessageTooBig
		}
		if kind != websocket.TextMessage {
			return 0
		}
		if !utf8.Valid(data) {
			return websocket.CloseInvalidFramePayloadData
		}
		frame, err := protocol.DecodeClientFrame(data, protocol.Dialect39)
		if err != nil {
			return 0
		}
		hello, isHello := frame.(*protocol.Hello)
		if isHello != first {
			return 0
		}
		if first {
			_ = c.ws.SetReadDeadline(time.Time{})
			if !c.handshake(hello) {
				return websocket.CloseNormalClosure
			}
			continue
		}
		c.h.mu.Lock()
		if c.gone {
			err = errDropped
		} else {
			err = c.receive(frame)
		}
		c.h.mu.Unlock()
		if err != nil {
			return 0
		}
	}
}

func (c *conn) handshake(hello *protocol.Hello) bool {
	h := c.h
	h.mu.Lock()
	defer h.mu.Unlock()
	composition := hello.CompositionID
	if composition == "" {
		composition = protocol.CompositionID
	}
	if hello.CompatibilityEpoch != int(protocol.Dialect39) || hello.ProtocolMin > 0 || composition != protocol.CompositionID {
		c.send(&protocol.Incompatible{
			HostEpoch: h.epoch, CompatibilityEpoch: int(protocol.Dialect39), CompositionID: protocol.CompositionID,
			CompositionRevision: "3", State: h.state, Replacement: protocol.ReplacementBlocked,
		})
		return false
	}
	c.accepted, c.instance = true, hello.ClientInstanceID
	c.send(&protocol.Accepted{
		RootID: h.opt.RootID, HostEpoch: h.epoch, ConnectionID: c.id, CompatibilityEpoch: protocol.Dialect39,
		CompositionID: protocol.CompositionID, CompositionRevision: "3", State: h.state,
	})
	return true
}

func (c *conn) identity() identity { return identity{c.cred.Principal, c.instance} }

// receive acts on a frame; an error ends the connection. h.mu is held.
func (c *conn) receive(f protocol.ClientFrame) error {
	switch f := f.(type) {
	case *protocol.Request:
		return c.request(f)
	case *protocol.CapabilityAccepted, *protocol.CapabilityRejected, *protocol.CapabilityProgress, *protocol.CapabilityResult,
		*protocol.CapabilityResultStart, *protocol.CapabilityResultChunk, *protocol.CapabilityFailed:
		return c.capability(f)
	}
	return errDropped
}

// send queues a frame. What this Host made itself always encodes.
func (c *conn) send(f protocol.HostFrame) {
	data, err := protocol.Encode(f, protocol.Dialect39)
	if err != nil {
		panic("testhost39: " + err.Error())
	}
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	if !c.out.ended {
		c.out.frames = append(c.out.frames, data)
		c.out.cond.Signal()
	}
}

func (q *queue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	q.cond.Broadcast()
}

func (c *conn) writeLoop() {
	for {
		c.out.mu.Lock()
		for len(c.out.frames) == 0 && !c.out.ended {
			c.out.cond.Wait()
		}
		frames := c.out.frames
		c.out.frames = nil
		ended := c.out.ended
		c.out.mu.Unlock()
		for _, data := range frames {
			if err := c.ws.WriteMessage(websocket.TextMessage, data); err != nil {
				_ = c.ws.Close()
				return
			}
		}
		if ended {
			return
		}
	}
}

// drop ends the connection as the real Host does: the socket is destroyed, and
// there is no close frame. h.mu is held.
func (c *conn) drop() {
	c.gone = true
	raw := c.ws.NetConn()
	if watched, ok := raw.(*floodConn); ok {
		raw = watched.Conn
	}
	if tcp, ok := raw.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = raw.Close()
}

// leave takes a connection out of everything. h.mu is held.
func (c *conn) leave() {
	delete(c.h.conns, c)
	for _, s := range c.subscriptions {
		s.session.forget(s)
	}
	c.disconnected()
}
