package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"askback/host"
	"askback/host/access"
	"askback/internal/memnet"
)

// The tests in the files wire_*_test.go know the Host by its WebSocket alone: raw messages in, raw messages out, in a
// bubble of fake time, where settle means that the Host has done all that it can do.

// obj is a JSON object.
type obj = map[string]any

// wire is a Host and the raw clients of one test.
type wire struct {
	*testing.T
	opt    host.Options
	h      *host.Host
	net    *memnet.Listener
	store  *access.Store
	tokens map[string]string // by name
	log    *lockedBuffer
	served chan error
	peers  []*peer
	ids    int
}

type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// bubble runs a test against a fresh Host in fake time. It has the tokens "client", "provider" and "both", each of the
// role of its name. change may be nil.
func bubble(t *testing.T, change func(*host.Options), test func(w *wire)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := &wire{T: t, store: access.Ephemeral(), tokens: map[string]string{}, log: &lockedBuffer{}}
		for _, role := range []access.Role{access.RoleClient, access.RoleProvider, access.RoleBoth} {
			w.token(string(role), role, 0)
		}
		w.opt = host.Options{
			Dir: dir, Access: w.store, WorkDir: "/srv/project", AllowOrigins: []string{"https://ok.example"},
			Logger: slog.New(slog.NewJSONHandler(w.log, nil)),
		}
		if change != nil {
			change(&w.opt)
		}
		w.open()
		defer w.shut()
		test(w)
	})
}

func (w *wire) token(name string, role access.Role, life time.Duration) string {
	w.Helper()
	tok, err := w.store.Add(name, role, life)
	if err != nil {
		w.Fatal(err)
	}
	w.tokens[name] = tok
	return tok
}

func (w *wire) open() {
	w.Helper()
	h, err := host.Open(w.opt)
	if err != nil {
		w.Fatal(err)
	}
	w.h, w.net, w.served = h, memnet.Listen("host"), make(chan error, 1)
	go func() { w.served <- h.Serve(w.net) }()
	synctest.Wait()
}

// shut ends the Host and the clients.
func (w *wire) shut() {
	w.Helper()
	if err := w.h.Close(); err != nil {
		w.Error(err)
	}
	if err := <-w.served; err != nil {
		w.Error(err)
	}
	w.net.Close()
	for _, p := range w.peers {
		p.ws.NetConn().Close()
		<-p.done
	}
	w.peers = nil
}

// restart ends the Host and opens its store again.
func (w *wire) restart() {
	w.Helper()
	w.shut()
	w.open()
}

func settle() { synctest.Wait() }

// id returns a fresh entity id.
func (w *wire) id(prefix string) string {
	w.ids++
	return fmt.Sprint(prefix, w.ids)
}

// dial opens a WebSocket; status is that of a refused upgrade.
func (w *wire) dial(url string, header http.Header) (ws *websocket.Conn, status *http.Response) {
	w.Helper()
	d := websocket.Dialer{NetDialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return w.net.Dial(ctx) }, EnableCompression: true}
	ws, resp, err := d.Dial(url, header)
	if err != nil && !errors.Is(err, websocket.ErrBadHandshake) {
		w.Fatal(err)
	}
	return ws, resp
}

// peer is a raw client. Its reader collects whatever the Host sends.
type peer struct {
	w     *wire
	name  string
	epoch int
	ws    *websocket.Conn
	done  chan struct{} // closed when the connection ended
	next  int

	mu    sync.Mutex
	got   []obj // not taken yet
	raw   []string
	ended error
}

// raw opens a connection that has not said hello.
func (w *wire) raw(token string) *peer {
	w.Helper()
	p := w.deaf(token)
	go p.collect()
	return p
}

// deaf opens a connection whose client reads nothing until somebody runs collect.
func (w *wire) deaf(token string) *peer {
	w.Helper()
	ws, resp := w.dial("ws://host/runtime-host", http.Header{"Authorization": {"Bearer " + w.tokens[token]}})
	if ws == nil {
		w.Fatalf("upgrade refused: %d", resp.StatusCode)
	}
	p := &peer{w: w, name: token, epoch: 81, ws: ws, done: make(chan struct{})}
	w.peers = append(w.peers, p)
	return p
}

func (p *peer) collect() {
	defer close(p.done)
	for {
		kind, data, err := p.ws.ReadMessage()
		p.mu.Lock()
		if err != nil {
			p.ended = err
			p.mu.Unlock()
			return
		}
		var o obj
		if kind != websocket.TextMessage || json.Unmarshal(data, &o) != nil {
			o = obj{"not JSON": string(data)}
		}
		p.got = append(p.got, o)
		p.raw = append(p.raw, string(data))
		p.mu.Unlock()
	}
}

// connect says hello and is accepted.
func (w *wire) connect(token, instance string, epoch int) *peer {
	w.Helper()
	p := w.raw(token)
	p.epoch = epoch
	p.send(hello(instance, epoch))
	settle()
	f := p.take()
	if len(f) != 1 || f[0]["kind"] != "accepted" {
		w.Fatalf("not accepted: %v", f)
	}
	return p
}

func hello(instance string, epoch int) obj {
	return obj{"kind": "hello", "clientInstanceId": instance, "protocolMin": 0, "protocolMax": 0, "compatibilityEpoch": epoch, "compositionId": "maka.interactive"}
}

// send writes one message: a text as it is, anything else as JSON. A connection that is gone already is no failure.
func (p *peer) send(frame any) {
	p.w.Helper()
	text, ok := frame.(string)
	if !ok {
		b, err := json.Marshal(frame)
		if err != nil {
			p.w.Fatal(err)
		}
		text = string(b)
	}
	p.ws.WriteMessage(websocket.TextMessage, []byte(text))
}

// take returns what has come since the last take, hints to query again left out.
func (p *peer) take() []obj {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []obj
	for _, o := range p.got {
		if k, _ := o["kind"].(string); k != "session.catalog.changed" && k != "project.catalog.changed" {
			out = append(out, o)
		}
	}
	p.got = nil
	return out
}

// code is the close code of a connection that ended, 0 while it lives; 1006 is an end without a close frame.
func (p *peer) code() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended == nil {
		return 0
	}
	var ce *websocket.CloseError
	if errors.As(p.ended, &ce) {
		return ce.Code
	}
	return websocket.CloseAbnormalClosure
}

// wantAborted wants the connection to have ended without a close frame and without an answer.
func (p *peer) wantAborted() {
	p.w.Helper()
	settle()
	if p.code() != websocket.CloseAbnormalClosure {
		p.w.Errorf("%s: the connection ended with %d, wanted 1006", p.name, p.code())
	}
	for _, f := range p.take() {
		if f["requestId"] != nil {
			p.w.Errorf("%s: answered %v", p.name, f)
		}
	}
}

// wantAlive wants the connection to live and to answer.
func (p *peer) wantAlive() {
	p.w.Helper()
	settle()
	if p.code() != 0 {
		p.w.Errorf("%s: the connection ended with %d (%s)", p.name, p.code(), lastLine(p.w.log))
		return
	}
	p.keep(func() { p.ok("host.status", obj{}) })
}

// keep runs f and puts back what it took apart from answers.
func (p *peer) keep(f func()) {
	before := p.take()
	f()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.got = append(before, p.got...)
}

func lastLine(b *lockedBuffer) string {
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	return lines[len(lines)-1]
}

// request sends a request and returns its id.
func (p *peer) request(op string, input any) string {
	p.w.Helper()
	p.next++
	id := fmt.Sprint("r", p.next)
	p.send(obj{"requestId": id, "operation": op, "input": input})
	return id
}

// answer returns the response to a request, leaving other frames for later; nil when there is none.
func (p *peer) answer(id string) obj {
	settle()
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, f := range p.got {
		if f["requestId"] == id {
			p.got = append(p.got[:i:i], p.got[i+1:]...)
			return f
		}
	}
	return nil
}

func (p *peer) ask(op string, input any) obj { p.w.Helper(); return p.answer(p.request(op, input)) }

// ok wants a request to succeed and returns its result.
func (p *peer) ok(op string, input any) obj {
	p.w.Helper()
	f := p.ask(op, input)
	if f == nil || f["ok"] != true {
		p.w.Fatalf("%s: %s answered %v (connection: %d) %s", p.name, op, f, p.code(), lastLine(p.w.log))
	}
	r, _ := f["result"].(obj)
	return r
}

// refused wants a request to be refused with a code and returns the message. The connection lives on.
func (p *peer) refused(code, op string, input any) string {
	p.w.Helper()
	f := p.ask(op, input)
	if f == nil || f["ok"] != false || dig(f, "error", "code") != code {
		p.w.Errorf("%s: %s answered %v (connection: %d), wanted %s", p.name, op, f, p.code(), code)
		return ""
	}
	p.wantAlive()
	m, _ := dig(f, "error", "message").(string)
	return m
}

// dig follows keys and indexes into JSON.
func dig(v any, path ...any) any {
	for _, step := range path {
		switch s := step.(type) {
		case string:
			m, _ := v.(obj)
			v = m[s]
		case int:
			l, _ := v.([]any)
			if s < 0 {
				s += len(l)
			}
			if s < 0 || s >= len(l) {
				return nil
			}
			v = l[s]
		}
	}
	return v
}

func text(v any, path ...any) string {
	s, _ := dig(v, path...).(string)
	return s
}

// kinds names frames in short: capability kinds without their prefix.
func kinds(frames []obj) string {
	var words []string
	for _, f := range frames {
		k, _ := f["kind"].(string)
		if k == "" {
			k = fmt.Sprint(f["operation"])
		}
		words = append(words, strings.TrimPrefix(k, "client.capability."))
	}
	return strings.Join(words, " ")
}

// pick returns the frames of a kind.
func pick(frames []obj, kind string) (out []obj) {
	for _, f := range frames {
		if f["kind"] == kind {
			out = append(out, f)
		}
	}
	return out
}

// start starts a Turn and returns its ids.
// cap sends a capability frame.
// stage is the usual set: a view, a provider of wire/echo, a session, a Turn with one call.
// newStage sets up a stage and leaves the call dispatched. The provider speaks epoch.
// called returns the invocation of the one call that came in.
// admit accepts the call and wants it admitted.
// form is a small form.
// askForm sends a form and returns its canonical id.
// pending returns the open forms of the stage's session, from a projection of its own.
// query returns an Interaction.
// wantOutcome wants an Interaction to have ended in a way: a closure's reason, or an action.
// wantCall wants the transcript to have one result row of the stage's call: a failure with that text, or a result whose
// first text it is.
// wantTurn wants the stage's Turn to be in a state.
// rows reads a session's transcript from its end and returns the rows of a type, oldest first.
