package mcpmgr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mux is a link over one shared stream: a child's pipes, or any mcp.Transport.
//
// One goroutine reads, one writes. A write to a pipe cannot be interrupted, so a request that is
// not with the writer yet can be withdrawn without a trace, and one that is counts as sent.
type mux struct {
	conn   mcp.Connection
	filter *lineFilter       // nil for a transport of the caller's
	why    func(error) error // nil, or turns the end of the stream into its reason
	ev     peerEvents
	cancel context.CancelFunc // ends the answers to the server's own requests
	ctx    context.Context

	mu      sync.Mutex
	pending map[int64]*flight
	queue   []*outgoing
	wake    chan struct{}
	err     error // why it is dead
	gone    chan struct{}

	closeOnce sync.Once
	wg        sync.WaitGroup
	workers   sync.WaitGroup // answers to the server's requests
	answering atomic.Int32
}

// What a peer can make us hold for it: answers being worked out, and messages that it does not read.
const (
	maxAnswering = 16
	maxQueued    = 1024
)

// flight is a request that waits for its reply.
type flight struct {
	req   *request
	reply chan flightReply
}

type flightReply struct {
	result json.RawMessage
	err    error
}

// outgoing is one message for the writer. taken is set, under mu, when the writer has it.
type outgoing struct {
	msg   jsonrpc.Message
	ctx   context.Context // of a request: not written when it has ended
	taken bool
}

func newMux(conn mcp.Connection, filter *lineFilter, why func(error) error, ev peerEvents) *mux {
	m := &mux{conn: conn, filter: filter, why: why, ev: ev, pending: map[int64]*flight{}, wake: make(chan struct{}, 1), gone: make(chan struct{})}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.wg.Go(m.read)
	m.wg.Go(m.write)
	return m
}

func rpcID(n int64) jsonrpc.ID {
	id, err := jsonrpc.MakeID(float64(n))
	if err != nil {
		panic(err) // a float64 is always an id
	}
	return id
}

func (m *mux) do(ctx context.Context, req *request) (json.RawMessage, error) {
	f := &flight{req: req, reply: make(chan flightReply, 1)}
	out := &outgoing{msg: &jsonrpc.Request{ID: rpcID(req.id), Method: req.method, Params: req.params}, ctx: ctx}
	m.mu.Lock()
	if m.err != nil {
		err := m.err
		m.mu.Unlock()
		return nil, &errNotSent{&errConn{err}}
	}
	if ctx.Err() != nil {
		m.mu.Unlock()
		return nil, &errNotSent{context.Cause(ctx)}
	}
	m.pending[req.id] = f
	m.push(out)
	m.mu.Unlock()
	select {
	case r := <-f.reply:
		return r.result, r.err
	case <-ctx.Done():
		return m.abandon(ctx, f, out)
	}
}

// abandon ends a request whose context ended. A reply that is already here wins.
func (m *mux) abandon(ctx context.Context, f *flight, out *outgoing) (json.RawMessage, error) {
	m.mu.Lock()
	delete(m.pending, f.req.id)
	taken := out.taken
	if taken && m.err == nil && f.req.method != "initialize" { // which must not be cancelled
		p, _ := json.Marshal(mcp.CancelledParams{RequestID: f.req.id, Reason: "the client ended the call"})
		m.push(&outgoing{msg: &jsonrpc.Request{Method: "notifications/cancelled", Params: p}, ctx: context.Background()})
	}
	m.mu.Unlock()
	select {
	case r := <-f.reply:
		return r.result, r.err
	default:
	}
	if !taken {
		return nil, &errNotSent{context.Cause(ctx)}
	}
	return nil, &errLost{context.Cause(ctx)}
}

// notify queues a notification. It goes out even if ctx ends meanwhile: it belongs to the
// connection, not to whoever caused it.
func (m *mux) notify(ctx context.Context, method string, params json.RawMessage) error {
	return m.send(context.WithoutCancel(ctx), &jsonrpc.Request{Method: method, Params: params})
}

func (m *mux) send(ctx context.Context, msg jsonrpc.Message) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return &errNotSent{&errConn{m.err}}
	}
	if len(m.queue) >= maxQueued {
		return &errNotSent{&errConn{errors.New("the server reads nothing")}}
	}
	m.push(&outgoing{msg: msg, ctx: ctx})
	return nil
}

// push adds to the writer's queue; m.mu is held.
func (m *mux) push(o *outgoing) {
	m.queue = append(m.queue, o)
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

func (m *mux) write() {
	for {
		m.mu.Lock()
		var next *outgoing
		for len(m.queue) > 0 && next == nil {
			next = m.queue[0]
			m.queue[0] = nil
			m.queue = m.queue[1:]
			if next.ctx.Err() != nil {
				next = nil // withdrawn: checked immediately before the send
				continue
			}
			next.taken = true
		}
		m.mu.Unlock()
		if next == nil {
			select {
			case <-m.wake:
				continue
			case <-m.gone:
				return
			}
		}
		m.tapOut(next.msg)
		if err := m.conn.Write(context.Background(), next.msg); err != nil {
			m.writeFailed(err)
			return
		}
	}
}

// writeFailed leaves the last word to the reader, who knows what the server still said and how it ended.
func (m *mux) writeFailed(err error) {
	timer := time.NewTimer(4 * graceTail)
	defer timer.Stop()
	select {
	case <-m.gone:
	case <-timer.C: // it lives and has closed its input
		m.fail(fmt.Errorf("the server cannot be written to: %w", err))
	}
}

func (m *mux) read() {
	for {
		msg, err := m.conn.Read(m.ctx)
		if err != nil {
			if m.filter != nil && m.ctx.Err() == nil && !errors.Is(err, io.EOF) {
				end := m.filter.end()
				if end == nil {
					m.ev.drop("a message that cannot be decoded", "error", err.Error())
					continue // one bad message; the stream goes on
				}
				err = end
			}
			if m.why != nil && m.ctx.Err() == nil {
				err = m.why(err)
			}
			m.fail(err)
			return
		}
		switch msg := msg.(type) {
		case *jsonrpc.Response:
			m.settle(msg)
		case *jsonrpc.Request:
			m.tapIn(msg)
			if !msg.IsCall() {
				m.ev.note(nil, msg.Method, msg.Params)
				continue
			}
			if m.answering.Add(1) > maxAnswering {
				m.answering.Add(-1)
				m.ev.drop("a request of the server: too many of them wait", "method", msg.Method)
				continue
			}
			ctx, done := m.ev.arrived(m.ctx, idText(msg.ID))
			m.workers.Go(func() {
				defer m.answering.Add(-1)
				defer done()
				m.answer(ctx, msg)
			})
		}
	}
}

func (m *mux) settle(r *jsonrpc.Response) {
	id, ok := r.ID.Raw().(int64)
	if !ok {
		id, ok = idNumber(json.RawMessage(idText(r.ID)))
	}
	m.mu.Lock()
	f := m.pending[id]
	if ok && f != nil {
		delete(m.pending, id)
	}
	m.mu.Unlock()
	if !ok || f == nil {
		m.tapReply(nil, r)
		m.ev.drop("a reply to no request that waits", "id", fmt.Sprint(r.ID.Raw()))
		return
	}
	m.tapReply(f.req, r)
	switch {
	case r.Error != nil:
		f.reply <- flightReply{err: r.Error}
	default:
		f.reply <- flightReply{result: r.Result}
	}
}

// failOne ends one request whose reply cannot be used.
func (m *mux) failOne(id int64, why error) {
	m.mu.Lock()
	f := m.pending[id]
	delete(m.pending, id)
	m.mu.Unlock()
	if f != nil {
		f.reply <- flightReply{err: unusable("the server's reply", why)}
	}
}

// settleOne gives an error without an id to the one request that waits: a server that cannot use a request may not know
// its id. Where none or several wait it is nobody's.
func (m *mux) settleOne(e *jsonrpc.Error) bool {
	m.mu.Lock()
	var f *flight
	n := 0
	for _, p := range m.pending {
		if p.req.method != "subscriptions/listen" { // it waits for as long as the connection lives
			f = p
			n++
		}
	}
	if n == 1 {
		delete(m.pending, f.req.id)
	}
	m.mu.Unlock()
	if n != 1 {
		return false
	}
	m.tapReply(f.req, &jsonrpc.Response{ID: rpcID(f.req.id), Error: e})
	f.reply <- flightReply{err: e}
	return true
}

// answer handles a request of the server's own.
func (m *mux) answer(ctx context.Context, r *jsonrpc.Request) {
	result, code, msg, answer := m.ev.uninvited(ctx, nil, r.Method, r.Params)
	if !answer {
		return
	}
	resp := &jsonrpc.Response{ID: r.ID, Result: result}
	if code != 0 {
		resp = &jsonrpc.Response{ID: r.ID, Error: &jsonrpc.Error{Code: code, Message: msg}}
	}
	_ = m.send(m.ctx, resp)
}

// fail makes the link dead: every waiting request learns of it, the reader and writer end.
func (m *mux) fail(err error) {
	m.mu.Lock()
	if m.err != nil {
		m.mu.Unlock()
		return
	}
	m.err = err
	all := m.pending
	m.pending = map[int64]*flight{}
	queued := map[jsonrpc.ID]bool{}
	for _, o := range m.queue {
		if r, ok := o.msg.(*jsonrpc.Request); ok && r.IsCall() {
			queued[r.ID] = true
		}
	}
	m.queue = nil
	m.mu.Unlock()
	close(m.gone)
	m.cancel()
	for id, f := range all {
		var e error = &errLost{&errConn{err}}
		if queued[rpcID(id)] {
			e = &errNotSent{&errConn{err}}
		}
		f.reply <- flightReply{err: e}
	}
}

func (m *mux) dead() <-chan struct{} { return m.gone }

func (m *mux) lost() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

var errLinkClosed = &errConn{errors.New("the connection was closed")}

func (m *mux) close() {
	m.closeOnce.Do(func() {
		m.fail(errLinkClosed)
		_ = m.conn.Close()
	})
	m.wg.Wait()
	m.workers.Wait()
}

func (m *mux) tapOut(msg jsonrpc.Message) {
	if m.ev.tap == nil {
		return
	}
	switch msg := msg.(type) {
	case *jsonrpc.Request:
		var req *request
		id := ""
		if n, ok := msg.ID.Raw().(int64); ok {
			id = strconv.FormatInt(n, 10)
			m.mu.Lock()
			if f := m.pending[n]; f != nil {
				req = f.req
			}
			m.mu.Unlock()
		}
		m.ev.tap(Sent, req, id, msg.Method, false, msg.Params, nil, nil)
	case *jsonrpc.Response:
		m.tapAnswer(Sent, nil, msg)
	}
}

func (m *mux) tapIn(msg *jsonrpc.Request) {
	if m.ev.tap != nil {
		m.ev.tap(Received, nil, idText(msg.ID), msg.Method, false, msg.Params, nil, nil)
	}
}

func (m *mux) tapReply(req *request, r *jsonrpc.Response) {
	if m.ev.tap != nil {
		m.tapAnswer(Received, req, r)
	}
}

func (m *mux) tapAnswer(dir Direction, req *request, r *jsonrpc.Response) {
	var errRaw json.RawMessage
	if r.Error != nil {
		errRaw, _ = json.Marshal(r.Error)
	}
	method := ""
	if req != nil {
		method = req.method
	}
	m.ev.tap(dir, req, idText(r.ID), method, true, nil, r.Result, errRaw)
}

func idText(id jsonrpc.ID) string {
	if !id.IsValid() {
		return ""
	}
	b, _ := json.Marshal(id.Raw())
	return string(b)
}
