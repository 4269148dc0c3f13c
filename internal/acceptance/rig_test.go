package acceptance

import (
	"bufio"
	"context"
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
