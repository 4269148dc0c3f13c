package hostclient

import (
	"context"
	"log/slog"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"

	"askback/protocol"
)

const (
	pingEvery    = 15 * time.Second
	silenceLimit = 45 * time.Second
	writeLimit   = 45 * time.Second
	closeLimit   = 250 * time.Millisecond
)

// receiver takes a link's frames other than responses, on the reader's goroutine: it must not wait. An error ends the
// connection.
type receiver interface {
	receive(protocol.HostFrame) *Error
}

// link is one accepted connection, from the Host's accepted to its end. end is the only closer; run returns after every
// goroutine of the link has.
type link struct {
	ws   *websocket.Conn
	conn *heardConn
	host HostInfo
	// state is what the Host said when it accepted the connection.
	state protocol.HostState
	recv  receiver
	log   *slog.Logger

	out      *outbox
	requests *inflight

	once  sync.Once
	ended chan struct{}
	cause *Error // written before ended is closed
}

func newLink(ws *websocket.Conn, conn *heardConn, host HostInfo, state protocol.HostState, log *slog.Logger) *link {
	l := &link{ws: ws, conn: conn, host: host, state: state, log: log, out: newOutbox(), ended: make(chan struct{})}
	l.requests = newInflight(func(id string, in protocol.Input) error {
		return l.send(&protocol.Request{RequestID: id, Operation: in.Operation(), Input: in})
	})
	return l
}

// run serves the connection until it ends, and returns why.
func (l *link) run(recv receiver) *Error {
	l.recv = recv
	l.ws.SetPingHandler(func(data string) error {
		l.out.putControl(control{websocket.PongMessage, []byte(data)})
		return nil
	})
	var wg sync.WaitGroup
	wg.Go(l.write)
	wg.Go(l.watch)
	l.end(l.read())
	wg.Wait()
	l.requests.end(l.cause)
	return l.cause
}

// end ends the connection; the first cause stays.
func (l *link) end(cause *Error) {
	l.once.Do(func() {
		l.cause = cause
		close(l.ended)
		if cause.close != 0 { // a courtesy: it waits neither for a stuck writer nor for the Host
			l.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(cause.close, ""), time.Now().Add(closeLimit))
		}
		l.conn.Close()
	})
}

func (l *link) read() *Error {
	for {
		kind, data, err := l.ws.ReadMessage()
		if err != nil {
			return readEnding(err)
		}
		frame, bad := decodeMessage(kind, data, l.host.Dialect)
		if bad != nil {
			return bad
		}
		if bad = l.dispatch(frame); bad != nil {
			return bad
		}
	}
}

func decodeMessage(kind int, data []byte, d protocol.Dialect) (protocol.HostFrame, *Error) {
	if kind != websocket.TextMessage {
		return nil, violation("the Host sent a binary message")
	}
	if !utf8.Valid(data) { // the library passes it on
		bad := violation("the Host sent a message that is not UTF-8")
		bad.close = websocket.CloseInvalidFramePayloadData
		return nil, bad
	}
	frame, err := protocol.DecodeHostFrame(data, d)
	if err != nil {
		return nil, violation("the Host broke the protocol: %v", err)
	}
	return frame, nil
}

func (l *link) dispatch(frame protocol.HostFrame) *Error {
	switch f := frame.(type) {
	case *protocol.Response:
		return l.requests.answer(f)
	case *protocol.Accepted, *protocol.Incompatible, *protocol.Draining:
		return violation("the Host sent a second answer to our hello")
	}
	return l.recv.receive(frame)
}

// send queues a frame for the writer. It does not wait; an error means the frame breaks the protocol and went nowhere.
func (l *link) send(f protocol.ClientFrame) error {
	data, err := protocol.Encode(f, l.host.Dialect)
	if err != nil {
		return errorf(CodeTooLarge, "not sent, since the protocol does not allow it: %v", err)
	}
	l.out.put(data)
	return nil
}

// write is the only writer of frames. When it fails because the other side has gone, the reader still has the last
// word for a moment: it may find a close frame that says why.
func (l *link) write() {
	bad := l.writeAll()
	if bad == nil {
		return
	}
	if bad.Code == CodeDropped {
		select {
		case <-l.ended:
		case <-time.After(time.Second):
		}
	}
	l.end(bad)
}

// writeAll writes until the link has ended or a write fails.
func (l *link) writeAll() *Error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-l.ended:
			return nil
		default:
		}
		if c, ok := l.out.takeControl(); ok {
			if err := l.ws.WriteControl(c.kind, c.data, time.Now().Add(writeLimit)); err != nil {
				return writeEnding(err)
			}
			continue
		}
		frame, wait := l.out.take(time.Now())
		if frame != nil {
			l.ws.SetWriteDeadline(time.Now().Add(writeLimit))
			if err := l.ws.WriteMessage(websocket.TextMessage, frame); err != nil {
				return writeEnding(err)
			}
			continue
		}
		var due <-chan time.Time
		if wait > 0 {
			timer.Reset(wait)
			due = timer.C
		}
		select {
		case <-due:
		case <-l.out.wake:
		case <-l.ended:
			return nil
		}
	}
}

// watch pings, and ends a connection on which nothing is heard any more. A Host of this protocol pings nobody and may
// have nothing to say for hours, so only the answers to our own pings tell a quiet one from a dead one.
func (l *link) watch() {
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	verdict := time.NewTimer(silenceLimit)
	defer verdict.Stop()
	for {
		select {
		case <-l.ended:
			return
		case <-ping.C:
			l.out.putControl(control{kind: websocket.PingMessage})
		case <-verdict.C:
			left := silenceLimit - l.conn.silence()
			if left <= 0 {
				l.end(errorf(CodeHalfOpen, "nothing was heard from the Host for %v, not even answers to our pings", silenceLimit))
				return
			}
			verdict.Reset(left)
		}
	}
}

// do sends a request and waits for its answer. When ctx ends first the answer is dropped when it comes.
func (l *link) do(ctx context.Context, in protocol.Input, arrived func(protocol.Result)) (protocol.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	c := &call{input: in, arrived: arrived, done: make(chan struct{})}
	l.requests.start(c)
	select {
	case <-c.done:
		return c.result, c.err
	case <-ctx.Done():
		l.requests.leave(c)
		return nil, context.Cause(ctx)
	}
}
