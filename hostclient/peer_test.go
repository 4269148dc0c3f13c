package hostclient_test

import (
	"context"
	"errors"
	"flag"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"askback/hostclient"
	"askback/internal/memnet"
	"askback/protocol"
)

func TestMain(m *testing.M) {
	// The command line overrides both.
	flag.Set("rapid.nofailfile", "true")
	flag.Set("rapid.checks", "500")
	goleak.VerifyTestMain(m)
}

const (
	rootA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	rootB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	token = "askb_rh_0123456789012345678901234567890123456789012"
)

// scripted is a Host whose every move the test makes. It serves WebSocket over an in-memory network; the test takes each
// connection with next and then reads and sends frames on it.
type scripted struct {
	t     *testing.T
	net   *memnet.Listener
	conns chan *peer
	root  string
	epoch string
	dials chan http.Header
	// status, when not 0, is what upgrades are answered with.
	status int
}

func newScripted(t *testing.T) *scripted {
	h := &scripted{t: t, net: memnet.Listen("host"), conns: make(chan *peer, 64), root: rootA, epoch: "epoch-1", dials: make(chan http.Header, 1024)}
	srv := &http.Server{Handler: h}
	go srv.Serve(h.net)
	t.Cleanup(func() {
		srv.Close()
		h.net.Close()
		for {
			select {
			case p := <-h.conns:
				p.ws.Close()
			default:
				return
			}
		}
	})
	return h
}

func (h *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.dials <- r.Header.Clone()
	if h.status != 0 {
		w.WriteHeader(h.status)
		return
	}
	up := websocket.Upgrader{ReadBufferSize: 64 << 10, WriteBufferSize: 64 << 10}
	ws, err := up.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	h.conns <- &peer{t: h.t, h: h, ws: ws, messages: make(chan message, 4096)}
}

func (h *scripted) options() hostclient.Options {
	return hostclient.Options{
		URL:        "ws://host",
		Token:      func() (string, error) { return token, nil },
		NetDial:    h.net.DialContext,
		InstanceID: "instance",
	}
}

// next is the next connection.
func (h *scripted) next() *peer {
	h.t.Helper()
	select {
	case p := <-h.conns:
		h.t.Cleanup(func() { p.ws.Close() })
		return p
	case <-time.After(10 * time.Minute):
		h.t.Fatal("nobody connected")
		return nil
	}
}

// accepted is the next connection, after its handshake in the first dialect that it offers.
func (h *scripted) accepted() *peer {
	h.t.Helper()
	p := h.next()
	p.accept()
	return p
}

// peer is the Host's end of one connection.
type peer struct {
	t       *testing.T
	h       *scripted
	ws      *websocket.Conn
	dialect protocol.Dialect
	hello   *protocol.Hello

	writing  sync.Mutex
	reading  sync.Once
	messages chan message
}

type message struct {
	data []byte
	err  error
}

func (p *peer) accept() {
	p.t.Helper()
	p.acceptState(protocol.HostReady)
}

func (p *peer) acceptState(state protocol.HostState) {
	p.t.Helper()
	p.hello = expect[*protocol.Hello](p)
	p.dialect = protocol.Dialect(p.hello.CompatibilityEpoch)
	p.send(&protocol.Accepted{
		RootID: p.h.root, HostEpoch: p.h.epoch, ConnectionID: "connection", CompatibilityEpoch: p.dialect,
		CompositionID: protocol.CompositionID, CompositionRevision: "test", State: state,
	})
}

// next is the client's next message within a time. From the first call on, messages are read as they come, so that
// pings are answered while the test waits.
func (p *peer) next(within time.Duration) (message, bool) {
	p.reading.Do(func() {
		go func() {
			for {
				_, data, err := p.ws.ReadMessage()
				p.messages <- message{data, err}
				if err != nil {
					return
				}
			}
		}()
	})
	select {
	case m := <-p.messages:
		return m, true
	case <-time.After(within):
		return message{}, false
	}
}

// read is the client's next frame, or why there is none.
func (p *peer) read() (protocol.ClientFrame, error) {
	m, ok := p.next(10 * time.Minute)
	switch {
	case !ok:
		return nil, errors.New("the client sends nothing")
	case m.err != nil:
		p.messages <- m // it stays the last word
		return nil, m.err
	}
	return protocol.DecodeClientFrame(m.data, p.dialect)
}

// silent checks that the client sends nothing for an hour.
func (p *peer) silent() {
	p.t.Helper()
	if m, ok := p.next(time.Hour); ok && m.err == nil {
		p.t.Errorf("the client sent %.200s", m.data)
	}
}

func expect[F protocol.ClientFrame](p *peer) F {
	p.t.Helper()
	f, err := p.read()
	if err != nil {
		p.t.Fatalf("reading a %T: %v", *new(F), err)
	}
	got, ok := f.(F)
	if !ok {
		p.t.Fatalf("got %T %+v, want %T", f, f, *new(F))
	}
	return got
}

// request is the client's next frame, which is a request with an input of this type.
func request[I protocol.Input](p *peer) (I, string) {
	p.t.Helper()
	r := expect[*protocol.Request](p)
	in, ok := r.Input.(I)
	if !ok {
		p.t.Fatalf("got a request for %s, want a %T", r.Operation, *new(I))
	}
	return in, r.RequestID
}

func (p *peer) send(f protocol.HostFrame) {
	p.t.Helper()
	data, err := protocol.Encode(f, p.dialect)
	if err != nil {
		p.t.Fatalf("encoding %T: %v", f, err)
	}
	p.raw(string(data))
}

func (p *peer) raw(text string) {
	p.writing.Lock()
	defer p.writing.Unlock()
	p.ws.WriteMessage(websocket.TextMessage, []byte(text)) // an error is the client's end, which the test looks at
}

func (p *peer) answer(id string, op protocol.Operation, r protocol.Result) {
	p.t.Helper()
	p.send(&protocol.Response{RequestID: id, Operation: op, OK: true, Result: r})
}

func (p *peer) refuse(id string, op protocol.Operation, code protocol.ErrorCode) {
	p.t.Helper()
	p.send(&protocol.Response{RequestID: id, Operation: op, Error: &protocol.Error{Code: code, Message: "refused by the test"}})
}

// drop ends the connection as the real Host does.
func (p *peer) drop() { p.ws.NetConn().Close() }

// gone waits for the client's end of the connection and returns its close code (1006 for none).
func (p *peer) gone() int {
	p.t.Helper()
	for {
		_, err := p.read()
		if err == nil {
			continue
		}
		if c, ok := errors.AsType[*websocket.CloseError](err); ok {
			return c.Code
		}
		if strings.Contains(err.Error(), "malformed frame") {
			p.t.Errorf("the client sent an illegal frame: %v", err)
			continue
		}
		return websocket.CloseAbnormalClosure
	}
}

// snapshot is a session with these Interactions pending.
func snapshot(session string, pending ...protocol.Interaction) protocol.Snapshot {
	if pending == nil {
		pending = []protocol.Interaction{}
	}
	return protocol.Snapshot{
		SchemaVersion: protocol.SnapshotSchemaVersion,
		Session:       protocol.SnapshotSession{SessionID: session, MetadataRevision: 1, Status: protocol.SessionActive},
		Queue:         protocol.Queue{HostEpoch: "epoch-1", Steering: []protocol.QueueEntry{}, Followup: []protocol.QueueEntry{}},
		Interactions:  protocol.Interactions{Pending: pending},
	}
}

// opens answers the client's next request, a subscription.open, and returns its subscription's header for the next frame.
func (p *peer) opens(subscription string, s protocol.Snapshot) protocol.SubscriptionHeader {
	p.t.Helper()
	in, id := request[*protocol.SubscriptionOpenInput](p)
	if in.SessionID != s.Session.SessionID {
		p.t.Fatalf("opened %s, want %s", in.SessionID, s.Session.SessionID)
	}
	p.answer(id, in.Operation(), &protocol.SubscriptionOpenResult{
		HostEpoch: p.h.epoch, SubscriptionID: subscription, NextSequence: 1, Snapshot: s,
		ActiveAssistantStreams: []protocol.AssistantStream{},
	})
	return protocol.SubscriptionHeader{HostEpoch: p.h.epoch, SubscriptionID: subscription, Sequence: 1}
}

// bubble runs f in a synctest bubble.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// inBubble is a subtest in a bubble.
func inBubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { bubble(t, f) })
}

// newView is a View of h, closed with the test.
func newView(t *testing.T, opts hostclient.Options) *hostclient.View {
	v := hostclient.NewView(opts)
	t.Cleanup(func() { v.Close() })
	return v
}

// await takes events until one of type E that passes the test comes; the others are dropped.
func await[E hostclient.Event](t *testing.T, v interface {
	Next(context.Context) (hostclient.Event, error)
}, pass func(E) bool) E {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	for {
		e, err := v.Next(ctx)
		if err != nil {
			t.Fatalf("waiting for a %T: %v", *new(E), err)
		}
		if got, ok := e.(E); ok && (pass == nil || pass(got)) {
			return got
		}
	}
}

func state(s hostclient.State) func(hostclient.Connection) bool {
	return func(c hostclient.Connection) bool { return c.State == s }
}
