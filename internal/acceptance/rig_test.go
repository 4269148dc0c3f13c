package acceptance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"askback/forms"
	"askback/host"
	"askback/host/access"
	"askback/hostclient"
	"askback/internal/acceptance/peer"
	"askback/internal/bridge"
	"askback/internal/memnet"
	"askback/mcpmgr"
	"askback/mcpmgr/config"
	"askback/protocol"
	"askback/provider"
)

// patience bounds every wait of these tests; nothing here depends on how long it is.
const patience = 20 * time.Second

// rig is one whole program: the demo server as a process, the manager, the provider, a Host and a view.
type rig struct {
	t      T
	opts   rigOptions
	record string // what the server was sent
	url    string // of a server over HTTP
	peers  []config.Server

	host     *host.Host
	listener *memnet.Listener
	served   chan error
	store    string
	tokens   *access.Store
	client   string // tokens
	provider string

	mgr  *mcpmgr.Manager
	prov *provider.Provider
	conn *hostclient.Provider
	view *hostclient.View
	pubs chan provider.Publication
	stop context.CancelFunc
	ran  chan struct{}
	seen []hostclient.Event
	busy atomic.Int64 // calls at the manager

	relay *relay // between the clients and the Host, where something there is broken
}

type rigOptions struct {
	transport string // of the MCP server; "" is stdio
	protocol  config.Protocol
	rounds    int
	host      func(*host.Options)
	manager   func(*mcpmgr.Options)
	dialects  []protocol.Dialect
	tools     func(provider.Tools) provider.Tools // a seam between manager and provider
}

func start(t T, o rigOptions) *rig {
	t.Helper()
	r := &rig{t: t, opts: o, record: filepath.Join(t.TempDir(), "record.jsonl"), store: t.TempDir(), tokens: access.Ephemeral()}
	var err error
	if r.client, err = r.tokens.Add("terminal", access.RoleClient, 0); err != nil {
		t.Fatal(err)
	}
	if r.provider, err = r.tokens.Add("tools", access.RoleProvider, 0); err != nil {
		t.Fatal(err)
	}
	r.startHost()
	r.startTools()
	r.startView()
	t.Cleanup(r.close)
	return r
}

func (r *rig) startHost() {
	o := host.Options{Dir: r.store, Access: r.tokens, WorkDir: r.t.TempDir()}
	if r.opts.host != nil {
		r.opts.host(&o)
	}
	if f := r.t.Fault(); f != nil && f.host != nil {
		f.host(&o)
	}
	h, err := host.Open(o)
	if err != nil {
		r.t.Fatal(err)
	}
	r.host, r.listener, r.served = h, memnet.Listen("host"), make(chan error, 1)
	go func() { r.served <- h.Serve(r.listener) }()
	if f := r.t.Fault(); f != nil && f.frames != nil {
		r.relay = startRelay(memnet.Listen("relay"), "ws://host/runtime-host", overMemory(r.listener.Dial), map[string]string{r.client: asView, r.provider: asProvider}, f.frames())
	}
}

// dial is the way to the Host.
func (r *rig) dial(ctx context.Context) (net.Conn, error) {
	if r.relay != nil {
		return r.relay.front.(*memnet.Listener).Dial(ctx)
	}
	return r.listener.Dial(ctx)
}

func (r *rig) options(token string) hostclient.Options {
	return hostclient.Options{URL: "ws://host", InstanceID: "acceptance", Dialects: r.opts.dialects,
		Token:   func() (string, error) { return token, nil },
		NetDial: func(ctx context.Context, _, _ string) (net.Conn, error) { return r.dial(ctx) }}
}

func (r *rig) startTools() {
	changed := &bridge.Hub{}
	mo := mcpmgr.Options{Name: "acceptance", Version: "1", Rounds: r.opts.rounds, OnChange: changed.Notify, StatePause: time.Millisecond}
	if r.opts.manager != nil {
		r.opts.manager(&mo)
	}
	if f := r.t.Fault(); f != nil && f.manager != nil {
		f.manager(&mo)
	}
	r.mgr = mcpmgr.New(mo)
	r.mgr.Apply([]config.Server{r.server()})
	if err := r.mgr.Wait(r.ctx(), "demo"); err != nil {
		r.t.Fatalf("the server: %v", err)
	}
	var tools provider.Tools = bridge.NewTools(r.mgr, changed.Listen(), forms.OurLimits)
	if r.opts.tools != nil {
		tools = r.opts.tools(tools)
	}
	if f := r.t.Fault(); f != nil && f.tools != nil {
		tools = f.tools(tools)
	}
	tools = counted{tools, &r.busy}
	r.pubs = make(chan provider.Publication, 64)
	r.prov = provider.New(provider.Options{Tools: tools, Label: "acceptance", Published: func(p provider.Publication) { r.pubs <- p }})
	r.conn = hostclient.NewProvider(r.options(r.provider), r.prov)
	ctx, cancel := context.WithCancel(context.Background())
	r.stop, r.ran = cancel, make(chan struct{})
	go func() { defer close(r.ran); r.prov.Run(ctx, r.conn) }()
	r.awaitPublished()
}

func (r *rig) awaitPublished() {
	r.t.Helper()
	for {
		select {
		case p := <-r.pubs:
			if p.Err == nil && len(p.Plan.Tools) > 0 {
				return
			}
			r.t.Logf("publication: %v", p.Err)
		case <-time.After(patience):
			r.t.Fatal("the tools were not published")
		}
	}
}

// addServer adds a hand-written server to the configuration, and returns its name once its tool is offered.
func (r *rig) addServer(s *peer.Server) string {
	r.t.Helper()
	name := fmt.Sprintf("peer%d", len(r.peers)+1)
	s.Tamper = tamperOf(r.t)
	r.peers = append(r.peers, config.Server{Name: name, Transport: config.HTTP, URL: s.Start(r.t), Protocol: config.Modern})
	r.mgr.Apply(append([]config.Server{r.server()}, r.peers...))
	if err := r.mgr.Wait(r.ctx(), name); err != nil {
		r.t.Fatal(err)
	}
	for offered := false; !offered; {
		select {
		case p := <-r.pubs:
			offered = p.Err == nil && slices.ContainsFunc(p.Plan.Tools, func(t provider.ToolInfo) bool { return t.Server == name })
		case <-time.After(patience):
			r.t.Fatal("the peer's tool was not published")
		}
	}
	return name
}

// server is the configuration of the demo server, as a child process of the manager or of the test.
func (r *rig) server() config.Server {
	s := config.Server{Name: "demo", Protocol: r.opts.protocol}
	if s.Protocol == "" {
		s.Protocol = config.Auto
	}
	mode := r.opts.transport
	if mode == "" || mode == "stdio" {
		s.Transport, s.Command = config.Stdio, os.Args[0]
		s.Env = []config.Pair{{Name: serveAs, Value: "stdio"}, {Name: recordTo, Value: r.record}, {Name: "GORACE", Value: "atexit_sleep_ms=0"}, {Name: tamperBy, Value: tamperName(r.t)}}
		return s
	}
	if r.url == "" {
		r.url = r.serveHTTP(mode)
	}
	s.Transport, s.URL = config.HTTP, r.url
	return s
}

func (r *rig) serveHTTP(mode string) string {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serveAs+"="+mode, recordTo+"="+r.record, tamperBy+"="+tamperName(r.t), "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { in.Close(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func (r *rig) startView() {
	r.view = hostclient.NewView(r.options(r.client))
	if err := r.view.Ready(r.ctx()); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) stopTools() {
	if r.conn == nil {
		return
	}
	r.stop()
	r.conn.Close(r.ctx())
	<-r.ran
	r.mgr.Close()
	r.conn = nil
}

func (r *rig) close() {
	r.view.Close()
	r.stopTools()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r.host.Shutdown(ctx)
	r.host.Close()
	if r.relay != nil {
		r.relay.close()
	}
	r.listener.Close()
	<-r.served
}

func (r *rig) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	r.t.Cleanup(cancel)
	return ctx
}

// turn is one Turn in a session of its own.
type turn struct {
	r                *rig
	session, id, run string
}

// call starts a Turn of /call lines.
func (r *rig) call(lines ...string) *turn {
	r.t.Helper()
	item, err := r.view.CreateSession(r.ctx(), protocol.SessionCreateInput{Name: "acceptance"})
	if err != nil {
		r.t.Fatal(err)
	}
	return r.callIn(item.ID, lines...)
}

func (r *rig) callIn(session string, lines ...string) *turn {
	r.t.Helper()
	if err := r.view.Show(r.ctx(), session, hostclient.ShowOptions{Rows: true}); err != nil {
		r.t.Fatal(err)
	}
	tn := &turn{r: r, session: session, id: hostclient.NewID()}
	res, err := hostclient.StartTurn(r.ctx(), r.view, r.conn, protocol.TurnStartInput{SessionID: session, TurnID: tn.id,
		Content: protocol.Content{Text: strings.Join(lines, "\n")}})
	if err != nil {
		r.t.Fatal(err)
	}
	tn.run = res.Turn.RunID
	return tn
}

// until takes the view's events until ok holds for one.
func (r *rig) until(what string, ok func(hostclient.Event) bool) {
	r.t.Helper()
	for i, ev := range r.seen {
		if ok(ev) {
			r.seen = slices.Delete(r.seen, i, i+1)
			return
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		ev, err := r.view.Next(ctx)
		if err != nil {
			r.t.Fatalf("waiting for %s: %v", what, err)
		}
		if ok(ev) {
			return
		}
		r.seen = append(r.seen, ev)
	}
}

// form waits for the Turn's next pending form.
func (tn *turn) form() (protocol.Interaction, forms.Form) {
	tn.r.t.Helper()
	var in protocol.Interaction
	tn.r.until("a form", func(ev hostclient.Event) bool {
		p, ok := ev.(hostclient.InteractionPending)
		if ok && p.Interaction.TurnID == tn.id && !p.Again {
			in = p.Interaction
			return true
		}
		return false
	})
	return in, in.Request.(*protocol.FormRequest).Form
}

// answer answers a form and wants it stored.
func (tn *turn) answer(in protocol.Interaction, res forms.Result) {
	tn.r.t.Helper()
	if _, err := tn.r.view.Answer(tn.r.ctx(), in.SessionID, in.InteractionID, &protocol.FormAnswer{Result: res}); err != nil {
		tn.r.t.Fatalf("answer: %v", err)
	}
}

// settled waits for a form's canonical end.
func (tn *turn) settled(in protocol.Interaction) protocol.InteractionOutcome {
	tn.r.t.Helper()
	ctx := tn.r.ctx()
	for {
		now, err := tn.r.view.Interaction(ctx, in.SessionID, in.InteractionID)
		if err != nil {
			tn.r.t.Fatal(err)
		}
		if now.Outcome != nil {
			return now.Outcome
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// result is one tool result of a Turn.
type result struct {
	text      string
	isError   bool
	uncertain bool
	raw       json.RawMessage
}

// end waits for the Turn's end and returns it with its tool results in transcript order.
func (tn *turn) end() (*protocol.TurnSnapshot, []result) {
	tn.r.t.Helper()
	var snap *protocol.TurnSnapshot
	for late := time.Now().Add(patienceOf(tn.r.t)); ; {
		var err error
		if snap, err = tn.r.view.Turn(tn.r.ctx(), tn.session, tn.id); err != nil {
			tn.r.t.Fatal(err)
		}
		if snap.Status.Terminal() {
			break
		}
		if time.Now().After(late) {
			tn.r.t.Fatalf("the Turn does not end: %s", snap.Status)
		}
		time.Sleep(5 * time.Millisecond)
	}
	tn.r.rest()
	return snap, tn.results()
}

// rest waits until the manager works on no call that the Host has let go of, so that what servers were sent can be
// counted.
func (r *rig) rest() {
	r.t.Helper()
	waitFor(r.t, "the end of the manager's calls", func() bool { return r.busy.Load() <= int64(r.host.Active()) })
}

// results reads the transcript anew, as a surface that comes later does.
func (tn *turn) results() []result {
	tn.r.t.Helper()
	var out []result
	for _, row := range tn.rows() {
		if row.Type != protocol.RowToolResult {
			continue
		}
		res := result{isError: row.IsError != nil && *row.IsError, text: row.Content.Text, raw: json.RawMessage(row.Content.Value)}
		res.uncertain = row.Content.UncertainOutcome != nil
		if row.Content.Kind == protocol.RowContentJSON {
			res.text = string(row.Content.Value)
		}
		out = append(out, res)
	}
	return out
}

func (tn *turn) rows() []protocol.Row {
	tn.r.t.Helper()
	v := hostclient.NewView(tn.r.options(tn.r.client))
	defer v.Close()
	if err := v.Ready(tn.r.ctx()); err != nil {
		tn.r.t.Fatal(err)
	}
	if err := v.Show(tn.r.ctx(), tn.session, hostclient.ShowOptions{Rows: true}); err != nil {
		tn.r.t.Fatal(err)
	}
	var rows []protocol.Row
	for {
		ev, err := v.Next(tn.r.ctx())
		if err != nil {
			tn.r.t.Fatal(err)
		}
		if e, ok := ev.(hostclient.TranscriptRows); ok {
			for _, row := range e.Rows {
				if row.TurnID == tn.id || tn.id == "" {
					rows = append(rows, row.Row)
				}
			}
			if e.HasOlder {
				older, _, err := v.OlderRows(tn.r.ctx(), tn.session, 1<<20)
				if err != nil {
					tn.r.t.Fatal(err)
				}
				for _, row := range older {
					if row.TurnID == tn.id {
						rows = append([]protocol.Row{row.Row}, rows...)
					}
				}
			}
			return rows
		}
	}
}

// leg is one tools/call as the server received it.
type leg struct {
	ID     json.RawMessage
	Params struct {
		Meta           map[string]json.RawMessage `json:"_meta"`
		Name           string
		Arguments      json.RawMessage
		InputResponses json.RawMessage
		RequestState   json.RawMessage
	}
	raw string
}

// messages are all messages of a method that the server received.
func (r *rig) messages(method string) []leg {
	r.t.Helper()
	data, err := os.ReadFile(r.record)
	if err != nil {
		r.t.Fatal(err)
	}
	var out []leg
	for line := range bytes.Lines(data) {
		var m struct {
			leg
			Method string
		}
		if err := json.Unmarshal(line, &m); err != nil {
			r.t.Fatalf("%s: %v", line, err)
		}
		if m.Method == method {
			m.leg.raw = string(line)
			out = append(out, m.leg)
		}
	}
	return out
}

// counted knows how many calls are at the manager. The Host lets go of a call before the manager has.
type counted struct {
	inner
	n *atomic.Int64
}

func (c counted) Call(ctx context.Context, req provider.CallRequest) (provider.CallResult, error) {
	c.n.Add(1)
	defer c.n.Add(-1)
	return c.inner.Call(ctx, req)
}

// clean ends a test: the server saw so many tools/call, and nothing is left anywhere.
func (r *rig) clean(calls int, turns ...*turn) {
	r.t.Helper()
	r.rest()
	if got := len(r.messages("tools/call")); got != calls {
		r.t.Errorf("the server saw %d tools/call, want %d", got, calls)
	}
	for _, tn := range turns {
		res, err := r.view.Do(r.ctx(), &protocol.SubscriptionOpenInput{SessionID: tn.session, Transcript: protocol.TranscriptRequest{Kind: "none"}})
		if err != nil {
			r.t.Fatal(err)
		}
		if n := len(res.(*protocol.SubscriptionOpenResult).Snapshot.Interactions.Pending); n != 0 {
			r.t.Errorf("%d Interactions are still pending", n)
		}
	}
	for deadline := time.Now().Add(patience); r.host.Active() != 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Errorf("%d invocations are still live", r.host.Active())
			break
		}
	}
}

func accept(pairs ...any) forms.Result {
	vals := forms.Values{}
	for i := 0; i < len(pairs); i += 2 {
		var v forms.Value
		switch x := pairs[i+1].(type) {
		case string:
			v = forms.TextValue(x)
		case bool:
			v = forms.BoolValue(x)
		case int:
			v = forms.NumberValue(forms.NumberOf(x))
		case []string:
			v = forms.ListValue(x)
		default:
			panic("no value")
		}
		vals[pairs[i].(string)] = v
	}
	return forms.Accept(vals)
}

// never wants that no form of a Turn was ever shown.
func (r *rig) never(tn *turn) {
	r.t.Helper()
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		ev, err := r.view.Next(ctx)
		cancel()
		if err != nil {
			break
		}
		r.seen = append(r.seen, ev)
	}
	for _, ev := range r.seen {
		if p, ok := ev.(hostclient.InteractionPending); ok && p.Interaction.TurnID == tn.id {
			r.t.Errorf("a form was shown: %+v", p.Interaction)
		}
	}
}
