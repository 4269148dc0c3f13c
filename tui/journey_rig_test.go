package tui_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"askback/forms"
	"askback/host"
	"askback/host/access"
	"askback/hostclient"
	"askback/internal/memnet"
	"askback/internal/screen"
	"askback/tui"
	"askback/tui/hostview"
	"askback/tui/theme"
)

// quick runs eight times as fast as the clock, so that the pauses a person needs cost a test little.
type quick struct{ start time.Time }

const speed = 8

func (q quick) Now() time.Time { return q.start.Add(speed * time.Since(q.start)) }
func (q quick) After(d time.Duration) <-chan time.Time {
	c := make(chan time.Time, 1)
	time.AfterFunc(d/speed, func() { c <- q.Now() })
	return c
}

// line is a way to the Host that can be cut.
type line struct {
	l     *memnet.Listener
	mu    sync.Mutex
	conns []net.Conn
	down  bool
}

func (l *line) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		return nil, fmt.Errorf("the line is down")
	}
	c, err := l.l.Dial(ctx)
	if err == nil {
		l.conns = append(l.conns, c)
	}
	return c, err
}

// cut ends every connection; down keeps new ones from being made.
func (l *line) cut(down bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = down
	for _, c := range l.conns {
		c.Close()
	}
	l.conns = nil
}

// world is a Host with a provider, and the surfaces that look at it.
type world struct {
	t        *testing.T
	host     *host.Host
	net      *memnet.Listener
	tokens   *access.Store
	provider *hostclient.Provider
	tools    *line
	kill     chan struct{} // the server of the tool "kill" dies
	mu       sync.Mutex
	owner    string // the one token of a Host of another program
	named    int
	calls    []string
	answers  []forms.Result
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, net: memnet.Listen("host"), tokens: access.Ephemeral(), kill: make(chan struct{})}
	var err error
	if w.host, err = host.Open(host.Options{Dir: t.TempDir(), Access: w.tokens, WorkDir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- w.host.Serve(w.net) }()
	w.tools = &line{l: w.net}
	w.provider = hostclient.NewProvider(w.dialing(w.tools, access.RoleProvider, "inst"), hostclient.HandlerFunc(w.serve))
	var tools []hostclient.Tool
	for _, name := range []string{"deploy", "survey", "wizard", "kill"} {
		tools = append(tools, hostclient.Tool{ServerID: "demo", Name: name, InputSchema: []byte(`{"type":"object"}`)})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := w.provider.Publish(ctx, []hostclient.Offer{{OfferID: "tools", Version: "1", Affinity: "session", HostPathAccess: "none", Label: "rig", Tools: tools}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = w.provider.Close(ctx)
		_ = w.host.Shutdown(ctx)
		_ = w.host.Close()
		w.net.Close()
		<-served
	})
	return w
}

func (w *world) dialing(l *line, role access.Role, instance string) hostclient.Options {
	if w.owner != "" {
		return hostclient.Options{URL: "ws://host/runtime-host", NetDial: l.dial, InstanceID: instance, Token: func() (string, error) { return w.owner, nil }}
	}
	w.mu.Lock()
	w.named++
	name := fmt.Sprintf("%s-%s-%d", role, instance, w.named)
	w.mu.Unlock()
	token, err := w.tokens.Add(name, role, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	return hostclient.Options{URL: "ws://host/runtime-host", NetDial: l.dial, InstanceID: instance, Token: func() (string, error) { return token, nil }}
}

// serve is the tools.
func (w *world) serve(ctx context.Context, inv *hostclient.Invocation) {
	c := inv.Call()
	w.mu.Lock()
	w.calls = append(w.calls, c.ToolName)
	w.mu.Unlock()
	ask := func(f forms.Form) (forms.Values, bool) {
		r, err := inv.Ask(ctx, f)
		if err != nil {
			return nil, false
		}
		w.mu.Lock()
		w.answers = append(w.answers, r)
		w.mu.Unlock()
		if r.Action != forms.ActionAccept {
			_ = inv.Fail("server_error: the person " + string(r.Action) + "ed")
			return nil, false
		}
		return r.Values, true
	}
	say := func(text string) {
		_ = inv.Result(hostclient.ToolResult{Content: []hostclient.ContentBlock{{Type: "text", Text: text}}})
	}
	switch c.ToolName {
	case "deploy":
		var args struct{ Artifact string }
		_ = json.Unmarshal(c.Arguments, &args)
		if v, ok := ask(formOf("deploy", "Choose the target of "+args.Artifact, environment(), forms.Field{Kind: forms.KindBoolean, Name: "confirm", Label: "Confirm", Required: true})); ok {
			say("Deployed " + args.Artifact + " to " + v["environment"].Text() + ".")
		}
	case "survey":
		if v, ok := ask(formOf("survey", "All kinds", everyKind()...)); ok {
			say(fmt.Sprintf("Thank you for %d answers.", len(v)))
		}
	case "wizard":
		if _, ok := ask(formOf("wizard", "First step", environment(), text("note"))); !ok {
			return
		}
		if v, ok := ask(formOf("wizard", "Second step", text("note"), text("extra"))); ok {
			say("The wizard is done with " + v["note"].Text() + ".")
		}
	case "kill":
		asked := make(chan struct{})
		go func() {
			defer close(asked)
			_, _ = inv.Ask(ctx, formOf("kill", "Does not get far", text("note")))
		}()
		select {
		case <-w.kill:
			_ = inv.Fail("connection_lost: the server demo has ended")
		case <-ctx.Done():
		}
		<-asked
	}
}

func formOf(tool, message string, fields ...forms.Field) forms.Form {
	return forms.Form{Message: message, Requester: forms.Requester{Name: tool, Source: "demo"}, Fields: fields}
}

func environment() forms.Field {
	return forms.Field{Kind: forms.KindSingleSelect, Name: "environment", Label: "Environment", Required: true, Options: []forms.Option{{Value: "staging", Label: "staging"}, {Value: "production", Label: "production"}}}
}

func text(name string) forms.Field {
	return forms.Field{Kind: forms.KindString, Name: name, Label: name}
}

func everyKind() []forms.Field {
	return []forms.Field{
		text("name"),
		{Kind: forms.KindInteger, Name: "count", Label: "count", Required: true},
		{Kind: forms.KindNumber, Name: "ratio", Label: "ratio"},
		{Kind: forms.KindBoolean, Name: "sure", Label: "sure", Required: true},
		environment(),
		{Kind: forms.KindMultiSelect, Name: "tags", Label: "tags", Options: []forms.Option{{Value: "a", Label: "alpha"}, {Value: "b", Label: "beta"}}},
	}
}

// rigServers stands for the servers that run beside the terminal.
type rigServers struct{ changed chan struct{} }

func (rigServers) Servers() []hostview.Server {
	return []hostview.Server{{Name: "demo", State: "ready", Ready: true, Tools: 4}}
}
func (rigServers) Tools() []hostview.Tool {
	return []hostview.Tool{{Server: "demo", Name: "deploy", InputSchema: []byte(`{"type":"object","properties":{"artifact":{"type":"string"}},"required":["artifact"]}`)}}
}
func (rigServers) Restart(context.Context, string) error { return nil }
func (r rigServers) Changed() <-chan struct{}            { return r.changed }

// surface is one terminal of the world.
type surface struct {
	t      *testing.T
	w      *world
	view   *hostclient.View
	line   *line
	screen *screen.Screen
	in     *io.PipeWriter
	out    chan tui.Outcome
	cancel context.CancelFunc
}

// open starts a surface: with the tools of the world, or only looking.
func (w *world) open(own bool) *surface {
	s := &surface{t: w.t, w: w, line: &line{l: w.net}, screen: screen.New(80, 24), out: make(chan tui.Outcome, 1)}
	instance := "other"
	if own {
		instance = "inst"
	}
	s.view = hostclient.NewView(w.dialing(s.line, access.RoleClient, instance))
	ho := tui.HostOptions{View: s.view, Address: "ws://host"}
	o := tui.Options{NewSession: "work", Version: "test", Theme: theme.New(theme.Attributes), Clock: quick{time.Now()}}
	if own {
		ho.Provider = w.provider
		o.Servers = rigServers{make(chan struct{})}
	}
	o.Backend = tui.NewHostBackend(ho)
	in, pipe := io.Pipe()
	s.in = pipe
	o.Terminal = &tui.Terminal{Input: in, Output: s.screen, Width: 80, Height: 24}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	done := make(chan struct{})
	go func() {
		defer close(done)
		out, err := tui.Run(ctx, o)
		if err != nil {
			w.t.Errorf("the surface failed: %v", err)
		}
		s.out <- out
	}()
	w.t.Cleanup(func() {
		cancel()
		in.Close()
		<-done
		s.view.Close() // the emulator is not closed: its Close races with its own Read
	})
	return s
}

func (s *surface) see(texts ...string) *surface {
	s.t.Helper()
	for _, want := range texts {
		ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
		if err := s.screen.WaitText(ctx, want); err != nil {
			cancel()
			s.t.Fatalf("%q does not come on screen: %v\n%s", want, err, s.screen.Text())
		}
		cancel()
	}
	return s
}

// within says whether a text comes on screen in time.
func (s *surface) within(d time.Duration, want string) bool {
	ctx, cancel := context.WithTimeout(s.t.Context(), d)
	defer cancel()
	return s.screen.WaitText(ctx, want) == nil
}

func (s *surface) gone(texts ...string) *surface {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
	defer cancel()
	for _, not := range texts {
		if err := s.screen.Wait(ctx, "the end of "+not, func(text string) bool { return !strings.Contains(text, not) }); err != nil {
			s.t.Fatalf("%q stays on screen: %v\n%s", not, err, s.screen.Text())
		}
	}
	return s
}

// pause is longer than what opens by itself ignores keys.
func (s *surface) pause() *surface {
	time.Sleep(500 * time.Millisecond / speed)
	return s
}

// keys writes what keys send, one after the other.
func (s *surface) keys(keys ...string) *surface {
	s.t.Helper()
	for _, k := range keys {
		if seq, ok := sequences[k]; ok {
			k = seq
		}
		if _, err := io.WriteString(s.in, k); err != nil {
			s.t.Fatal(err)
		}
		time.Sleep(3 * time.Millisecond)
	}
	return s
}

// typing writes a text as a person types it.
func (s *surface) typing(text string) *surface { return s.keys(strings.Split(text, "")...) }

var sequences = map[string]string{
	"enter": "\r", "esc": "\x1b", "down": "\x1b[B", "up": "\x1b[A", "tab": "\t", "space": " ",
	"ctrl+c": "\x03", "ctrl+f": "\x06", "ctrl+n": "\x0e", "ctrl+q": "\x11", "ctrl+s": "\x13", "ctrl+t": "\x14", "ctrl+x": "\x18",
}

// send writes a text into the composer and sends it.
func (s *surface) send(lines ...string) *surface {
	s.keys("\x1b[200~" + strings.Join(lines, "\r") + "\x1b[201~")
	s.see("> " + lines[0])
	return s.keys("enter")
}

func (w *world) given() []forms.Result {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]forms.Result(nil), w.answers...)
}

func (w *world) called() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.calls)
}
