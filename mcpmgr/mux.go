package mcpmgr

import (
	"bytes"
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
	raw    io.Writer         // beneath conn, for what the SDK would change; nil for a transport of the caller's
	ev     peerEvents
	cancel context.CancelFunc // ends the answers to the server's own requests
	ctx    context.Context

	mu      sync.Mutex
	pending map[int64]*flight
	queue   []*outgoing
	wake    chan struct{}
	err     error // why it is dead
	gone    chan struct{}
	written int // messages that the writer has taken
	mute    int // the last of them that has no reply, while no request after it has been answered; else 0

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
	out   *outgoing
	reply chan flightReply
}

type flightReply struct {
	result json.RawMessage
	err    error
}

// outgoing is one message for the writer. taken is set, under mu, when the writer has it.
type outgoing struct {
	msg   jsonrpc.Message
	id    json.RawMessage // of an answer whose id the SDK would change; nil: the one in msg
	ctx   context.Context // of a request: not written when it has ended
	taken int             // how many messages the writer had taken with it; 0: not taken
}

// asking is a request of the server's own.
type asking struct {
	id     jsonrpc.ID
	raw    json.RawMessage // the id where the SDK would change it, else nil
	method string
	params json.RawMessage
}

func (a *asking) idText() string {
	if a.raw != nil {
		return string(a.raw)
	}
	return idText(a.id)
}

func newMux(conn mcp.Connection, filter *lineFilter, raw io.Writer, why func(error) error, ev peerEvents) *mux {
	m := &mux{conn: conn, filter: filter, raw: raw, why: why, ev: ev, pending: map[int64]*flight{}, wake: make(chan struct{}, 1), gone: make(chan struct{})}
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
	out := &outgoing{msg: &jsonrpc.Request{ID: rpcID(req.id), Method: req.method, Params: req.params}, ctx: ctx}
	f := &flight{req: req, out: out, reply: make(chan flightReply, 1)}
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
		return m.abandon(ctx, f)
	}
}

// abandon ends a request whose context ended. A reply that is already here wins.
func (m *mux) abandon(ctx context.Context, f *flight) (json.RawMessage, error) {
	m.mu.Lock()
	delete(m.pending, f.req.id)
	taken := f.out.taken > 0
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
	return m.send(&outgoing{msg: &jsonrpc.Request{Method: method, Params: params}, ctx: context.WithoutCancel(ctx)})
}

func (m *mux) send(o *outgoing) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return &errNotSent{&errConn{m.err}}
	}
	if len(m.queue) >= maxQueued {
		return &errNotSent{&errConn{errors.New("the server reads nothing")}}
	}
	m.push(o)
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
			m.take(next)
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
		if err := m.put(next); err != nil {
			m.writeFailed(err)
			return
		}
	}
}

// take notes that the writer has a message; m.mu is held.
func (m *mux) take(o *outgoing) {
	m.written++
	o.taken = m.written
	if r, ok := o.msg.(*jsonrpc.Request); !ok || !r.IsCall() {
		m.mute = m.written
	}
}

// put writes one message. An answer whose id the SDK would change goes around it.
func (m *mux) put(o *outgoing) error {
	resp, ok := o.msg.(*jsonrpc.Response)
	if !ok || o.id == nil {
		m.tapOut(o.msg)
		return m.conn.Write(context.Background(), o.msg)
	}
	if m.ev.tap != nil {
		m.tapAnswer(Sent, nil, string(o.id), resp)
	}
	var b builder
	b.add("jsonrpc", []byte(`"2.0"`)).add("id", o.id)
	if resp.Error != nil {
		e, _ := json.Marshal(resp.Error)
		b.add("error", e)
	} else {
		b.add("result", resp.Result)
	}
	var line bytes.Buffer
	if err := json.Compact(&line, b.bytes()); err != nil { // a line break in it would end the message
		return err
	}
	line.WriteByte('\n')
	_, err := m.raw.Write(line.Bytes())
	return err
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
			a := &asking{id: msg.ID, method: msg.Method, params: msg.Params}
			if msg.IsCall() {
				m.asked(a)
				continue
			}
			m.tapIn(a)
			m.ev.note(nil, msg.Method, msg.Params)
		}
	}
}

// asked takes a request of the server's own, from whoever reads it.
func (m *mux) asked(a *asking) {
	m.tapIn(a)
	if m.answering.Add(1) > maxAnswering {
		m.answering.Add(-1)
		m.ev.drop("a request of the server: too many of them wait", "method", a.method)
		return
	}
	ctx, done := m.ev.arrived(m.ctx, a.idText())
	answer := func() {
		defer m.answering.Add(-1)
		defer done()
		m.answer(ctx, a)
	}
	m.mu.Lock()
	dead := m.err != nil
	if !dead { // close does not wait for workers yet
		m.workers.Go(answer)
	}
	m.mu.Unlock()
	if dead {
		m.answering.Add(-1)
		done()
	}
}

func (m *mux) settle(r *jsonrpc.Response) {
	id, ok := r.ID.Raw().(int64)
	if !ok {
		id, ok = idNumber(json.RawMessage(idText(r.ID)))
	}
	var f *flight
	if ok {
		f = m.settled(id)
	}
	if f == nil {
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

// settled takes the request that a reply is to, or nil.
func (m *mux) settled(id int64) *flight {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.pending[id]
	delete(m.pending, id)
	if f != nil && f.out.taken > m.mute {
		m.mute = 0
	}
	return f
}

// failOne ends one request whose reply cannot be used.
func (m *mux) failOne(id int64, why error) {
	if f := m.settled(id); f != nil {
		f.reply <- flightReply{err: unusable("the server's reply", why)}
	}
}

// settleOne gives an error without an id to the one request that waits: a server that cannot use a request may not know
// its id. Where none or several wait it is nobody's, and where it may be the answer to a notification: a call must not
// be told to have failed while the server works on it.
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
	found := n == 1 && f.out.taken > 0 && m.mute == 0
	if found {
		delete(m.pending, f.req.id)
	}
	m.mu.Unlock()
	if !found {
		return false
	}
	m.tapReply(f.req, &jsonrpc.Response{ID: rpcID(f.req.id), Error: e})
	f.reply <- flightReply{err: e}
	return true
}

// answer handles a request of the server's own.
func (m *mux) answer(ctx context.Context, a *asking) {
	result, code, msg, answer := m.ev.uninvited(ctx, nil, a.method, a.params)
	if !answer {
		return
	}
	resp := &jsonrpc.Response{ID: a.id, Result: result}
	if code != 0 {
		resp = &jsonrpc.Response{ID: a.id, Error: &jsonrpc.Error{Code: code, Message: msg}}
	}
	_ = m.send(&outgoing{msg: resp, id: a.raw, ctx: m.ctx})
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
		m.tapAnswer(Sent, nil, idText(msg.ID), msg)
	}
}

func (m *mux) tapIn(a *asking) {
	if m.ev.tap != nil {
		m.ev.tap(Received, nil, a.idText(), a.method, false, a.params, nil, nil)
	}
}

func (m *mux) tapReply(req *request, r *jsonrpc.Response) {
	if m.ev.tap != nil {
		m.tapAnswer(Received, req, idText(r.ID), r)
	}
}

func (m *mux) tapAnswer(dir Direction, req *request, id string, r *jsonrpc.Response) {
	var errRaw json.RawMessage
	if r.Error != nil {
		errRaw, _ = json.Marshal(r.Error)
	}
	method := ""
	if req != nil {
		method = req.method
	}
	m.ev.tap(dir, req, id, method, true, nil, r.Result, errRaw)
}

func idText(id jsonrpc.ID) string {
	if !id.IsValid() {
		return ""
	}
	b, _ := json.Marshal(id.Raw())
	return string(b)
}
