package host

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"

	"askback/host/access"
	"askback/protocol"
)

var writeBuffers = &sync.Pool{}

// Why a connection ended. A cause reaches the log, never the peer.
var (
	errPeerClosed   = errors.New("closed by the client")
	errProtocol     = errors.New("protocol violation")
	errOverflow     = errors.New("outbound queue full")
	errFlooded      = errors.New("inbound queue full")
	errHelloLate    = errors.New("no hello in time")
	errIncompatible = errors.New("incompatible")
	errRevoked      = errors.New("credential revoked or expired")
	errDrained      = errors.New("Host is draining")
	errTooBig       = errors.New("message too big")
	errNotUTF8      = errors.New("message is not UTF-8")
)

// lingerTime is how long a connection that gets a close frame may take to read it.
const lingerTime = time.Second

// A conn is one WebSocket connection. Three goroutines serve it: one reads messages
// into a bounded queue, one works on them in order, one writes. All three end, and the
// connection's share of the Host is cleaned up, before it leaves the Host's list.
type conn struct {
	host *Host
	id   string
	ws   *websocket.Conn
	cred access.Credential
	log  *slog.Logger
	out  *outbox

	// Set by the handshake before anything else runs.
	instance string
	dialect  protocol.Dialect
	welcome  atomic.Bool // accepted: broadcasts may follow

	ctx    context.Context // ends with the connection; its cause says why
	cancel context.CancelCauseFunc
	writer chan struct{}  // closed when the writer has ended
	async  sync.WaitGroup // requests that wait apart from the queue

	mu        sync.Mutex
	inflight  map[string]bool // request ids without an answer
	working   int             // requests whose answer is not in the outbox yet
	finishing bool            // the writer ends once none is
	inbound   [][]byte
	inBusy    bool // a message is being worked on
	inBytes   int
	inWake    chan struct{}
	inRoom    chan struct{} // a message was taken out of inbound
	inEnded   bool
	subs      map[string]*subscription
}

// adopt serves a connection that was just upgraded, until it ends.
func (h *Host) adopt(ws *websocket.Conn, cred access.Credential) {
	ctx, cancel := context.WithCancelCause(context.Background())
	c := &conn{
		host: h, id: h.id(), ws: ws, cred: cred, out: newOutbox(), ctx: ctx, cancel: cancel,
		writer: make(chan struct{}), inWake: make(chan struct{}, 1), inRoom: make(chan struct{}, 1),
		inflight: map[string]bool{}, subs: map[string]*subscription{},
	}
	c.log = h.log.With("connection", c.id)
	ws.SetReadLimit(protocol.MaxFrameBytes)
	if !h.enter(c) { // starts the writer
		c.abort(errDrained)
		return
	}
	defer h.leave(c)
	if !h.opt.Access.Live(cred.ID) { // revoked before the watcher could find the connection
		c.abort(errRevoked)
	} else if c.handshake() {
		processed := make(chan struct{})
		go func() {
			defer close(processed)
			c.processLoop()
		}()
		c.readLoop()
		c.stopInbound()
		<-processed
	}
	c.abort(errPeerClosed)
	<-c.writer
	c.async.Wait()
	if c.instance != "" {
		h.connectionEnded(c)
		c.log.Info("connection ended", "reason", context.Cause(ctx).Error())
	}
}

// abort ends the connection without a close frame. The first cause stays. It does not wait.
func (c *conn) abort(cause error) {
	c.cancel(cause)
	c.out.close()
	raw := c.network()
	if t, ok := raw.(interface{ NetConn() net.Conn }); ok {
		raw = t.NetConn() // without TLS's farewell, which may wait for the peer
	}
	raw.Close()
}

// network is the connection as the listener made it.
func (c *conn) network() net.Conn { return c.ws.NetConn().(*fragmentConn).Conn }

// closeWith sends a close frame and gives the peer a moment to read it: a socket closed
// over unread input may take the frame with it.
func (c *conn) closeWith(code int, cause error) {
	c.cancel(cause)
	deadline := time.Now().Add(lingerTime)
	c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""), deadline)
	raw := c.network()
	if half, ok := raw.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	}
	raw.SetReadDeadline(deadline)
	io.Copy(io.Discard, io.LimitReader(raw, protocol.MaxInboundBytes))
	c.abort(cause)
}

// readMessage returns one text message. Any other outcome has ended the connection.
func (c *conn) readMessage() ([]byte, bool) {
	kind, data, err := c.ws.ReadMessage()
	timeout, _ := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, websocket.ErrReadLimit):
		c.closeWith(websocket.CloseMessageTooBig, errTooBig)
	case errors.Is(err, errFragments):
		c.violation(errFragments.Error())
	case timeout != nil && timeout.Timeout() && c.instance == "":
		c.abort(errHelloLate)
	case err != nil:
		// The client left: what it said before that is still worked on.
	case kind != websocket.TextMessage:
		c.abort(errProtocol)
	case !utf8.Valid(data):
		c.closeWith(websocket.CloseInvalidFramePayloadData, errNotUTF8)
	default:
		return data, true
	}
	return nil, false
}

func (c *conn) readLoop() {
	for {
		data, ok := c.readMessage()
		if !ok || !c.enqueue(data) {
			return
		}
	}
}

// largeMessage is one that waits for its turn in the network rather than in the queue: a flood is of small ones.
const largeMessage = 8 << 10

// enqueue queues a message for processLoop. One that would push the queue over its bytes waits, and so does a large one
// when the queue is full, which holds up the client; a small one that finds the queue full ends the connection.
func (c *conn) enqueue(data []byte) bool {
	for {
		c.mu.Lock()
		// The bound is for what waits beside the message that is worked on; while none is, the first that
		// waits is the one.
		full := len(c.inbound) > protocol.MaxInboundFrames || c.inBusy && len(c.inbound) == protocol.MaxInboundFrames
		heavy := len(c.inbound) > 0 && c.inBytes+len(data) > protocol.MaxInboundBytes
		if !full && !heavy {
			c.inbound = append(c.inbound, data)
			c.inBytes += len(data)
			c.mu.Unlock()
			c.wakeInbound()
			return true
		}
		c.mu.Unlock()
		if full && len(data) < largeMessage {
			c.abort(errFlooded)
			return false
		}
		select {
		case <-c.inRoom:
		case <-c.ctx.Done():
			return false
		}
	}
}

func (c *conn) wakeInbound() {
	select {
	case c.inWake <- struct{}{}:
	default:
	}
}

// stopInbound ends the queue. What waits in it is worked on, unless the connection was aborted.
func (c *conn) stopInbound() {
	c.mu.Lock()
	c.inEnded = true
	if c.ctx.Err() != nil {
		c.inbound, c.inBytes = nil, 0
	}
	c.mu.Unlock()
	c.wakeInbound()
}

// processLoop works on messages in the order in which they came.
func (c *conn) processLoop() {
	for {
		c.mu.Lock()
		if c.inBusy = len(c.inbound) > 0; !c.inBusy {
			ended := c.inEnded
			c.mu.Unlock()
			if ended {
				return
			}
			<-c.inWake
			continue
		}
		data := c.inbound[0]
		c.inbound[0] = nil
		c.inbound = c.inbound[1:]
		c.inBytes -= len(data)
		c.mu.Unlock()
		select {
		case c.inRoom <- struct{}{}:
		default:
		}
		if c.ctx.Err() != nil {
			continue // ended: what is queued is not acted on
		}
		frame, err := protocol.DecodeClientFrame(data, c.dialect)
		if err != nil {
			c.violation("malformed frame") // why is left out: it names keys, which are the peer's to choose
			continue
		}
		c.host.handle(c, frame)
	}
}

// unheard ends what is said to a client that has gone. What it said before it went, a result perhaps, may still be on its
// way through the reader, which finds its end.
func (c *conn) unheard() {
	c.out.close()
	c.ws.SetReadDeadline(time.Now().Add(lingerTime))
}

// violation ends the connection for a malformed or misplaced frame. why holds nothing
// that the peer wrote.
func (c *conn) violation(why string) {
	c.log.Warn("connection aborted", "why", why)
	c.abort(errProtocol)
}

// send queues an answer or capability frame; written may be nil.
func (c *conn) send(frame protocol.HostFrame, written func()) {
	data, err := protocol.Encode(frame, c.dialect)
	if err != nil {
		c.log.Error("frame not sendable", "error", err.Error())
		c.abort(errProtocol)
		return
	}
	if !c.out.put(data, written) {
		c.log.Warn("connection aborted", "why", errOverflow.Error())
		c.abort(errOverflow)
	}
}

func (c *conn) writeLoop() {
	defer close(c.writer)
	for {
		item, done := c.out.take()
		if done {
			return
		}
		if item == nil {
			<-c.out.wake
			continue
		}
		data := item.data
		if item.frame != nil {
			var err error
			if data, err = protocol.Encode(item.frame, c.dialect); err != nil {
				c.log.Error("frame not sendable", "error", err.Error())
				c.abort(errProtocol)
				return
			}
		}
		if err := c.ws.WriteMessage(websocket.TextMessage, data); err != nil {
			c.unheard()
			return
		}
		if item.written != nil {
			item.written()
		}
	}
}
