package host

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"askback/host/access"
	"askback/internal/memnet"
	"askback/protocol"
)

func TestMain(m *testing.M) {
	if runAsChild() {
		return
	}
	goleak.VerifyTestMain(m)
}

// rig is a Host on an in-memory network with one token a role.
type rig struct {
	t      testing.TB
	h      *Host
	opt    Options
	net    *memnet.Listener
	tokens map[access.Role]string
	log    *syncBuffer
	serve  chan error
}

type syncBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func newRig(t testing.TB, change func(*Options)) *rig {
	t.Helper()
	r := &rig{t: t, tokens: map[access.Role]string{}, log: &syncBuffer{}}
	store := access.Ephemeral()
	for _, role := range []access.Role{access.RoleClient, access.RoleProvider, access.RoleBoth} {
		token, err := store.Add("the-"+string(role), role, 0)
		if err != nil {
			t.Fatal(err)
		}
		r.tokens[role] = token
	}
	r.opt = Options{
		Dir: t.TempDir(), Access: store, WorkDir: "/srv/project", DrainGrace: -1,
		Logger: slog.New(slog.NewJSONHandler(r.log, nil)),
	}
	if change != nil {
		change(&r.opt)
	}
	r.start()
	t.Cleanup(r.stop)
	return r
}

func (r *rig) start() {
	r.t.Helper()
	h, err := Open(r.opt)
	if err != nil {
		r.t.Fatal(err)
	}
	r.h, r.net, r.serve = h, memnet.Listen("host"), make(chan error, 1)
	go func() { r.serve <- h.Serve(r.net) }()
}

func (r *rig) stop() {
	if r.h == nil {
		return
	}
	if err := r.h.Close(); err != nil {
		r.t.Error(err)
	}
	if err := <-r.serve; err != nil && !errors.Is(err, ErrClosed) {
		r.t.Error(err)
	}
	r.h = nil
}

// peer is a raw WebSocket client.
type peer struct {
	t      testing.TB
	ws     *websocket.Conn
	raw    net.Conn
	epoch  int
	next   int
	queued []frame // read while waiting for something else
	rootID string
	hostID string
}

type frame map[string]any

func (f frame) text(path string) string {
	s, _ := f.at(path).(string)
	return s
}

func (f frame) at(path string) any {
	var v any = map[string]any(f)
	for key := range strings.SplitSeq(path, ".") {
		switch m := v.(type) {
		case map[string]any:
			v = m[key]
		case []any:
			var i int
			if _, err := fmt.Sscan(key, &i); err != nil || i >= len(m) {
				return nil
			}
			v = m[i]
		default:
			return nil
		}
	}
	return v
}

func (r *rig) dial(role access.Role) *websocket.Conn {
	r.t.Helper()
	d := websocket.Dialer{NetDialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return r.net.Dial(ctx) }}
	ws, _, err := d.Dial("ws://host"+protocol.WebSocketPath, http.Header{"Authorization": {"Bearer " + r.tokens[role]}})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { ws.NetConn().Close() })
	return ws
}

func (r *rig) connect(role access.Role, epoch int, instance string) *peer {
	r.t.Helper()
	p := &peer{t: r.t, ws: r.dial(role), epoch: epoch}
	p.raw = p.ws.NetConn()
	p.send(frame{"kind": "hello", "clientInstanceId": instance, "protocolMin": 0, "protocolMax": 0, "compatibilityEpoch": epoch})
	f := p.read()
	if f.text("kind") != "accepted" {
		r.t.Fatalf("not accepted: %v", f)
	}
	p.rootID, p.hostID = f.text("rootId"), f.text("hostEpoch")
	return p
}

func (p *peer) send(f any) {
	p.t.Helper()
	if err := p.ws.WriteJSON(f); err != nil {
		p.t.Fatalf("send: %v", err)
	}
}

func (p *peer) tryRead() (frame, error) {
	_, data, err := p.ws.ReadMessage()
	if err != nil {
		return nil, err
	}
	var f frame
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, err
	}
	return f, nil
}

func (p *peer) read() frame {
	p.t.Helper()
	f, err := p.tryRead()
	if err != nil {
		p.t.Fatalf("read: %v", err)
	}
	return f
}

// await returns the first frame that matches, keeping the others for later.
func (p *peer) await(what string, match func(frame) bool) frame {
	p.t.Helper()
	for i, f := range p.queued {
		if match(f) {
			p.queued = append(p.queued[:i:i], p.queued[i+1:]...)
			return f
		}
	}
	timer := time.AfterFunc(patience(), func() { p.raw.Close() })
	defer timer.Stop()
	for {
		f, err := p.tryRead()
		if err != nil {
			p.t.Fatalf("waiting for %s: %v\nseen: %v", what, err, p.queued)
		}
		if match(f) {
			return f
		}
		p.queued = append(p.queued, f)
	}
}

func (p *peer) kind(kind string) frame {
	p.t.Helper()
	return p.await(kind, func(f frame) bool { return f.text("kind") == kind })
}

// ask sends a request without waiting.
func (p *peer) ask(op string, input any) string {
	p.t.Helper()
	p.next++
	id := fmt.Sprintf("r%d", p.next)
	p.send(frame{"requestId": id, "operation": op, "input": input})
	return id
}

func (p *peer) answer(id string) frame {
	p.t.Helper()
	return p.await("the answer to "+id, func(f frame) bool { return f.text("requestId") == id })
}

// ok sends a request and returns its result.
func (p *peer) ok(op string, input any) frame {
	p.t.Helper()
	f := p.answer(p.ask(op, input))
	if f["ok"] != true {
		p.t.Fatalf("%s: %v", op, f["error"])
	}
	m, _ := f["result"].(map[string]any)
	return m
}

// refused sends a request and returns the code of its error.
func (p *peer) refused(op string, input any) (code, message string) {
	p.t.Helper()
	f := p.answer(p.ask(op, input))
	if f["ok"] != false {
		p.t.Fatalf("%s was not refused: %v", op, f)
	}
	return f.text("error.code"), f.text("error.message")
}

// ended waits until the connection is over and returns why.
func (p *peer) ended() error {
	p.t.Helper()
	timer := time.AfterFunc(patience(), func() { p.t.Error("the connection did not end"); p.raw.Close() })
	defer timer.Stop()
	for {
		f, err := p.tryRead()
		if err != nil {
			return err
		}
		p.queued = append(p.queued, f)
	}
}

func (p *peer) newSession(mode string) string {
	p.t.Helper()
	id := newID()
	p.ok("session.create", frame{"sessionId": id, "workspace": frame{"kind": "project", "projectId": "default"},
		"modelTarget": frame{"kind": "default"}, "permissionMode": mode})
	return id
}

func (p *peer) publish(server string, tools ...string) string {
	p.t.Helper()
	id := newID()
	var list []frame
	for _, name := range tools {
		list = append(list, frame{"serverId": server, "name": name, "inputSchema": frame{"type": "object"}})
	}
	p.ok("client.capability.replace", frame{"registrationId": id, "offers": []frame{{
		"offerId": "offer", "version": "1", "affinity": "session", "hostPathAccess": "none", "label": "The label", "tools": list,
	}}})
	return id
}

func (p *peer) start(session, text string) (turn, run string) {
	p.t.Helper()
	turn = newID()
	f := p.ok("turn.start", frame{"sessionId": session, "turnId": turn, "content": frame{"text": text}})
	return turn, f.text("turn.runId")
}

// accept takes the next call on and returns its invocation once it is admitted.
func (p *peer) accept() (call frame) {
	p.t.Helper()
	call = p.kind("client.capability.call")
	p.tell("accepted", call, nil)
	p.await("admitted", func(f frame) bool {
		return f.text("kind") == "client.capability.admitted" && f.text("invocationId") == call.text("invocationId")
	})
	return call
}

// tell sends a capability frame about a call.
func (p *peer) tell(kind string, call frame, extra frame) {
	p.t.Helper()
	f := frame{"kind": "client.capability." + kind, "invocationId": call.text("invocationId")}
	if kind == "accepted" && p.epoch == 81 {
		f["admissionEvidence"] = frame{"kind": "none"}
	}
	for k, v := range extra {
		f[k] = v
	}
	p.send(f)
}

// colour is a small form.
func colour() frame {
	return frame{"message": "Which colour?", "requester": frame{"name": "claimed"}, "fields": []frame{
		{"kind": "string", "name": "colour", "label": "Colour", "required": true, "maxLength": 64},
	}}
}

func accepting(value string) frame {
	return frame{"kind": "form", "action": "accept", "values": frame{"colour": value}}
}

// pending waits until a subscription shows n open forms and returns them.
func (p *peer) pending(n int) []frame {
	p.t.Helper()
	f := p.await(fmt.Sprintf("%d pending forms", n), func(f frame) bool {
		list, ok := f.at("snapshot.interactions.pending").([]any)
		return ok && len(list) == n
	})
	var out []frame
	for _, v := range f.at("snapshot.interactions.pending").([]any) {
		out = append(out, v.(map[string]any))
	}
	return out
}

// terminal waits until a subscription shows the Turn ended.
func (p *peer) terminal(turn string) frame {
	p.t.Helper()
	f := p.await("the end of the turn", func(f frame) bool {
		return f.text("snapshot.rootTurn.turnId") == turn && f.text("snapshot.rootTurn.terminalEventId") != ""
	})
	m, _ := f.at("snapshot.rootTurn").(map[string]any)
	return m
}

func (p *peer) subscribe(session string) frame {
	p.t.Helper()
	return p.ok("subscription.open", frame{"sessionId": session, "transcript": frame{"kind": "tail", "maxBytes": 16384}})
}

// rows reads the whole transcript of a session, joining what came in pieces.
func (p *peer) rows(session string) []*protocol.Row {
	p.t.Helper()
	open := p.ok("subscription.open", frame{"sessionId": session, "transcript": frame{"kind": "tail", "maxBytes": 2}})
	defer p.ok("subscription.close", frame{"subscriptionId": open.text("subscriptionId")})
	through, ok := open.at("transcript.throughSequence").(float64)
	if !ok {
		return nil
	}
	joined := map[float64][]byte{}
	page := frame(open.at("transcript.durable").(map[string]any))
	for {
		for _, v := range page["fragments"].([]any) {
			f := frame(v.(map[string]any))
			data, err := base64.StdEncoding.DecodeString(f.text("data"))
			if err != nil {
				p.t.Fatal(err)
			}
			joined[f["sequence"].(float64)] = append(data, joined[f["sequence"].(float64)]...) // tails come first
		}
		cursor := page["nextCursor"]
		if cursor == nil {
			break
		}
		page = p.ok("session.transcript.page", frame{"subscriptionId": open.text("subscriptionId"), "source": "durable", "direction": "older",
			"throughSequence": through, "cursor": cursor, "anchorSequence": nil, "maxBytes": 1000})
	}
	var rows []*protocol.Row
	for seq := range int(through) + 1 {
		row, err := protocol.DecodeRow(joined[float64(seq)])
		if err != nil {
			p.t.Fatalf("row %d: %v", seq, err)
		}
		rows = append(rows, row)
	}
	return rows
}

// patience is how long a test waits for a frame: long in a bubble, whose clock stands at
// the turn of the century and costs nothing.
func patience() time.Duration {
	if time.Now().Year() < 2020 {
		return 30 * 24 * time.Hour
	}
	return 20 * time.Second
}

func jsonLogger(w io.Writer) *slog.Logger { return slog.New(slog.NewJSONHandler(w, nil)) }

// manyCalls is an executor that calls each tool of the Turn in turn, n times in all, as
// many as eight at each provider.
type manyCalls int

func (n manyCalls) Execute(ctx context.Context, run *Run) error {
	var calls []ToolCall
	servers := []string{"srv", "two", "three"}
	for i := range int(n) {
		calls = append(calls, ToolCall{Server: servers[i/8], Tool: "tool", Arguments: json.RawMessage("{}")})
	}
	started, err := run.Start(ctx, calls...)
	if err != nil {
		return err
	}
	for _, call := range started {
		call.Wait()
	}
	return nil
}
