package mcpmgr

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"askback/forms"
	"askback/mcpmgr/config"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// This file is a hand-written MCP server for tests: it answers with exactly the bytes that a test
// wants, over in-memory pipes, as a child process, or over HTTP as JSON or as an event stream.

// preq is one message that the peer received.
type preq struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Header http.Header // HTTP only
	HTTP   string      // the HTTP method
	Body   []byte

	ctx  context.Context
	out  func(line string)                  // one more message, before the reply
	done func(line string)                  // the reply
	http func(status int, typ, body string) // a whole reply, as is; HTTP only
}

func (r *preq) result(js string) {
	r.done(`{"jsonrpc":"2.0","id":` + string(r.ID) + `,"result":` + js + `}`)
}
func (r *preq) fail(code int, msg string) { r.failData(code, msg, "") }
func (r *preq) failData(code int, msg, data string) {
	if data != "" {
		data = `,"data":` + data
	}
	line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s%s}}`, r.ID, code, quoteString(msg), data)
	if r.http != nil && code <= -32020 && code >= -32022 {
		r.http(400, "application/json", line)
		return
	}
	r.done(line)
}
func (r *preq) silent() { <-r.ctx.Done() }
func (r *preq) notify(method, params string) {
	r.out(`{"jsonrpc":"2.0","method":"` + method + `","params":` + params + `}`)
}
func (r *preq) str(path ...string) string {
	v := r.Params
	for _, p := range path {
		v, _ = lookup(v, p)
	}
	s, _ := stringValue(v)
	return s
}
func (r *preq) raw(path ...string) string {
	v := r.Params
	for _, p := range path {
		v, _ = lookup(v, p)
	}
	return string(v)
}

// peer is the server. Set what differs from an obliging modern server before it is used.
type peer struct {
	versions   string // supportedVersions
	caps       string
	tools      string
	legacyOnly bool // answers server/discover with -32601

	on      map[string]func(*preq) // by method; wins over the rest
	mu      sync.Mutex
	got     []*preq
	conns   int
	hangs   []func()
	pushers []func(string) // streams that take messages at any time
	sse     bool
	session string
	linger  bool
}

func newPeer() *peer {
	return &peer{versions: `["2026-07-28"]`, caps: `{"tools":{}}`, tools: `[{"name":"t","inputSchema":{"type":"object"}}]`, on: map[string]func(*preq){}}
}

// serve answers one message; it returns when the reply is out.
func (p *peer) serve(r *preq) {
	p.mu.Lock()
	p.got = append(p.got, r)
	h := p.on[r.Method]
	tools, versions, legacyOnly := p.tools, p.versions, p.legacyOnly
	p.mu.Unlock()
	if r.ID == nil || r.Method == "" { // a notification, or an answer to a request of ours
		return
	}
	switch {
	case h != nil:
		h(r)
	case r.Method == "server/discover" && legacyOnly:
		r.fail(-32601, "Method not found")
	case r.Method == "server/discover":
		r.result(`{"resultType":"complete","supportedVersions":` + versions + `,"capabilities":` + p.caps + `,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"peer","version":"7"}},"instructions":"be kind"}`)
	case r.Method == "initialize":
		v := r.str("protocolVersion")
		r.result(`{"protocolVersion":"` + v + `","capabilities":` + p.caps + `,"serverInfo":{"name":"peer","version":"7"}}`)
	case r.Method == "tools/list":
		r.result(`{"tools":` + tools + `}`)
	case r.Method == "ping":
		r.result(`{}`)
	case r.Method == "subscriptions/listen":
		r.notify("notifications/subscriptions/acknowledged", `{"_meta":{"io.modelcontextprotocol/subscriptionId":`+string(r.ID)+`},"notifications":`+r.raw("notifications")+`}`)
		r.silent()
	case r.Method == "tools/call", r.Method == "prompts/get", r.Method == "resources/read":
		r.result(`{"resultType":"complete","content":[{"type":"text","text":"done"}],"messages":[],"contents":[]}`)
	default:
		r.fail(-32601, "Method not found")
	}
}

func (p *peer) handle(method string, f func(*preq)) *peer {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.on[method] = f
	return p
}

func (p *peer) setTools(js string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tools = js
}

// by returns what was received of one method.
func (p *peer) by(method string) []*preq {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []*preq
	for _, r := range p.got {
		if r.Method == method {
			out = append(out, r)
		}
	}
	return out
}

// push sends a message on every stream that is open for it.
func (p *peer) push(line string) {
	p.mu.Lock()
	all := slices.Clone(p.pushers)
	p.mu.Unlock()
	for _, f := range all {
		f(line)
	}
}

func (p *peer) pusher(f func(string)) (remove func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := len(p.pushers)
	p.pushers = append(p.pushers, f)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.pushers[i] = func(string) {}
	}
}

// hangUp ends every stream, as a process that exits does.
func (p *peer) hangUp() {
	p.mu.Lock()
	all := p.hangs
	p.hangs = nil
	p.mu.Unlock()
	for _, f := range all {
		f()
	}
}

func parseReq(line []byte) *preq {
	var env struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	_ = json.Unmarshal(line, &env)
	return &preq{ID: env.ID, Method: env.Method, Params: env.Params, Body: bytes.Clone(line)}
}

// stream serves messages line by line until in ends.
func (p *peer) stream(in io.Reader, out io.Writer) {
	ctx, cancel := context.WithCancel(context.Background())
	var wmu sync.Mutex
	write := func(line string) {
		wmu.Lock()
		defer wmu.Unlock()
		_, _ = io.WriteString(out, line+"\n")
	}
	defer p.pusher(write)()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	cancels := map[string]context.CancelFunc{}
	sc := bufio.NewScanner(in)
	sc.Buffer(nil, 64<<20)
	for sc.Scan() {
		r := parseReq(sc.Bytes())
		rctx, rcancel := context.WithCancel(ctx)
		r.ctx, r.out, r.done = rctx, write, write
		if r.Method == "notifications/cancelled" {
			if c := cancels[r.raw("requestId")]; c != nil {
				c()
			}
		}
		if r.ID == nil {
			rcancel()
			p.serve(r)
			continue
		}
		cancels[string(r.ID)] = rcancel
		wg.Go(func() { p.serve(r) })
	}
}

// pipe is the peer as an mcp.Transport over in-memory pipes.
func (p *peer) pipe(context.Context) (mcp.Transport, error) {
	cr, sw := io.Pipe()
	sr, cw := io.Pipe()
	p.mu.Lock()
	p.conns++
	p.hangs = append(p.hangs, func() { sw.Close() })
	p.mu.Unlock()
	go func() {
		p.stream(sr, sw)
		sw.Close()
	}()
	return &mcp.IOTransport{Reader: cr, Writer: cw}, nil
}

// serveHTTP is the peer as an HTTP handler.
func (p *peer) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	body, _ := io.ReadAll(hr.Body)
	r := parseReq(body)
	r.Header, r.HTTP, r.ctx = hr.Header, hr.Method, hr.Context()
	switch hr.Method {
	case "GET":
		r.Method = "GET"
		p.serve(r)
		p.serveGET(w, r)
		return
	case "DELETE":
		r.Method = "DELETE"
		p.serve(r)
		return
	}
	if r.ID == nil || r.Method == "" {
		p.serve(r)
		w.WriteHeader(202)
		return
	}
	if r.Method == "initialize" && p.session != "" {
		w.Header().Set("Mcp-Session-Id", p.session)
	}
	var mu sync.Mutex
	started, over := false, false
	r.out = func(line string) {
		mu.Lock()
		defer mu.Unlock()
		if over || !p.sse && r.Method != "subscriptions/listen" {
			return
		}
		if !started {
			started = true
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(200)
		}
		_, _ = io.WriteString(w, "event: message\ndata: "+line+"\n\n")
		w.(http.Flusher).Flush()
	}
	r.done = func(line string) {
		if p.sse {
			r.out(line)
			if p.linger {
				<-r.ctx.Done()
			}
			return
		}
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, line)
	}
	r.http = func(status int, typ, body string) {
		mu.Lock()
		defer mu.Unlock()
		if typ != "" {
			w.Header().Set("Content-Type", typ)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
	if r.Method == "subscriptions/listen" {
		defer p.pusher(r.out)()
	}
	p.serve(r)
	mu.Lock()
	over = true
	mu.Unlock()
}

func (p *peer) serveGET(w http.ResponseWriter, r *preq) {
	if p.session == "" || r.Header.Get("Mcp-Session-Id") != p.session {
		w.WriteHeader(405)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(200)
	var mu sync.Mutex
	end := make(chan struct{})
	defer p.pusher(func(line string) {
		mu.Lock()
		defer mu.Unlock()
		if line == "CLOSE" {
			close(end)
			return
		}
		_, _ = io.WriteString(w, "data: "+line+"\n\n")
		w.(http.Flusher).Flush()
	})()
	mu.Lock()
	w.(http.Flusher).Flush() // the client learns of the stream when it takes messages
	mu.Unlock()
	select {
	case <-r.ctx.Done():
	case <-end:
	}
	mu.Lock()
	defer mu.Unlock()
}

// ---- fixtures ---------------------------------------------------------------

// kinds are the ways to reach a peer in tables.
var kinds = []string{"pipe", "json", "sse"}

// serverFor makes the configuration and transports that reach p in the given way.
func serverFor(t testing.TB, kind string, p *peer, opt *Options) config.Server {
	t.Helper()
	cfg := config.Server{Name: "s", Transport: config.Stdio, Command: "unused", Protocol: config.Auto}
	switch kind {
	case "pipe":
		if opt.Transports == nil {
			opt.Transports = map[string]func(context.Context) (mcp.Transport, error){}
		}
		opt.Transports["s"] = p.pipe
	case "json", "sse":
		p.sse = kind == "sse"
		h := httptest.NewServer(p)
		t.Cleanup(func() {
			h.CloseClientConnections()
			h.Close()
		})
		cfg = config.Server{Name: "s", Transport: config.HTTP, URL: h.URL, Protocol: config.Auto}
	}
	return cfg
}

// manage starts a manager with one server and waits until it is ready.
func manage(t testing.TB, kind string, p *peer, opt Options, change ...func(*config.Server)) *Manager {
	t.Helper()
	m, err := tryManage(t, kind, p, opt, change...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func tryManage(t testing.TB, kind string, p *peer, opt Options, change ...func(*config.Server)) (*Manager, error) {
	t.Helper()
	cfg := serverFor(t, kind, p, &opt)
	for _, f := range change {
		f(&cfg)
	}
	if opt.StatePause == 0 {
		opt.StatePause, opt.StatePauseMax = time.Millisecond, 2*time.Millisecond
	}
	m := New(opt)
	t.Cleanup(func() { m.Close() })
	m.Apply([]config.Server{cfg})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	return m, m.Wait(ctx, "s")
}

func bind(t testing.TB, m *Manager, tool string) Binding {
	t.Helper()
	tl, err := m.Tool("s", tool)
	if err != nil {
		t.Fatal(err)
	}
	return tl.Binding
}

// callT calls tool "t" of server "s".
func callT(t testing.TB, m *Manager, args string, h Handlers) (*Result, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return m.CallTool(ctx, bind(t, m, "t"), json.RawMessage(args), h)
}

func wantCode(t testing.TB, err error, code Code) *ToolCallError {
	t.Helper()
	if CodeOf(err) != code {
		t.Fatalf("got %v, want code %s", err, code)
	}
	var e *ToolCallError
	e, _ = err.(*ToolCallError)
	return e
}

// accept answers every form with the same values.
func accept(vals forms.Values) Handlers {
	return Handlers{Form: func(context.Context, FormRequest) (forms.Result, error) { return forms.Accept(vals), nil }}
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for range 2000 {
		if ok() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("not within time: %s", what)
}

// askOnce builds the reply of a peer that asks once with requests and state and then completes.
func askOnce(requests, state string) func(*preq) {
	return func(r *preq) {
		if r.raw("inputResponses") == "" && r.raw("requestState") == "" {
			r.result(inputRequired(requests, state))
			return
		}
		r.result(`{"resultType":"complete","content":[{"type":"text","text":"done"}]}`)
	}
}

func inputRequired(requests, state string) string {
	js := `{"resultType":"input_required"`
	if requests != "" {
		js += `,"inputRequests":` + requests
	}
	if state != "" {
		js += `,"requestState":` + state
	}
	return js + "}"
}

const yesForm = `{"method":"elicitation/create","params":{"mode":"form","message":"Sure?","requestedSchema":{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}}}`

var yes = forms.Values{"ok": forms.BoolValue(true)}

// ---- the test binary as a child process ------------------------------------------

// childPeers are the peers that the test binary can be, by name.
var childPeers = map[string]func() *peer{}

func TestMain(m *testing.M) {
	if name := os.Getenv("ASKBACK_TEST_PEER"); name != "" {
		if f := childMains[name]; f != nil {
			f()
			os.Exit(0)
		}
		p := childPeers[name]()
		in := io.Reader(os.Stdin)
		if log := os.Getenv("ASKBACK_TEST_LOG"); log != "" {
			f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err == nil {
				in = io.TeeReader(in, f)
			}
		}
		p.stream(in, os.Stdout)
		os.Exit(0)
	}
	os.Setenv("ASKBACK_TOKEN", "SECRET") // which no child may see
	goleak.VerifyTestMain(m)
}

// childMains are children that are no peers, or not only.
var childMains = map[string]func(){}

// childServer is the test binary as a stdio server.
func childServer(name string, env ...config.Pair) config.Server {
	return config.Server{Name: "s", Transport: config.Stdio, Command: os.Args[0], Protocol: config.Auto,
		Env: append([]config.Pair{{Name: "ASKBACK_TEST_PEER", Value: name}}, env...)}
}

func startServers(t testing.TB, opt Options, servers ...config.Server) *Manager {
	t.Helper()
	if opt.StatePause == 0 {
		opt.StatePause, opt.StatePauseMax = time.Millisecond, 2*time.Millisecond
	}
	m := New(opt)
	t.Cleanup(func() { m.Close() })
	m.Apply(servers)
	return m
}

func waitReady(t testing.TB, m *Manager, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	if err := m.Wait(ctx, name); err != nil {
		t.Fatal(err)
	}
}
