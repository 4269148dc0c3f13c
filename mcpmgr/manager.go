package mcpmgr

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"askback/mcpmgr/config"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// Manager holds the configured servers. All methods are safe for concurrent use.
type Manager struct {
	opt   Options
	log   *slogger
	gens  atomic.Uint64 // generations, counted over all servers
	calls atomic.Uint64 // logical calls
	auths *authStore
	grace graces

	apply sync.Mutex // one Apply or Close at a time

	mu      sync.Mutex
	order   []string // of the configuration
	servers map[string]*server
	closed  bool

	note chan struct{}
}

// New returns a Manager without servers.
func New(opt Options) *Manager {
	opt.Rounds = clamp(opt.Rounds, DefaultRounds, 1, MaxRounds)
	opt.LegTimeout = orDefault(opt.LegTimeout, DefaultLegTimeout)
	opt.StatePause = orDefault(opt.StatePause, 250*time.Millisecond)
	opt.StatePauseMax = max(orDefault(opt.StatePauseMax, 2*time.Second), opt.StatePause)
	if opt.Name == "" {
		opt.Name = "askback"
	}
	if opt.Version == "" {
		opt.Version = "0"
	}
	m := &Manager{opt: opt, log: newSlogger(opt.Logger), servers: map[string]*server{}, note: make(chan struct{}, 1), grace: usualGraces}
	m.auths = newAuthStore(opt.TokenFile)
	return m
}

func clamp(v, def, low, high int) int {
	if v == 0 {
		v = def
	}
	return min(max(v, low), high)
}

func orDefault(v, def time.Duration) time.Duration {
	if v <= 0 {
		return def
	}
	return v
}

// Apply makes the configured servers the ones that run: new ones are started, gone ones ended,
// changed ones replaced, and the rest left alone. It returns when what had to end has ended; new
// servers connect in the background. Tools keep the order of servers.
func (m *Manager) Apply(servers []config.Server) {
	m.apply.Lock()
	defer m.apply.Unlock()
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return
	}
	actions := config.Reconcile(servers, m.running())
	var ending []*server
	for _, a := range actions {
		if a.Verb == config.Stop || a.Verb == config.Replace {
			ending = append(ending, m.servers[a.Name])
			delete(m.servers, a.Name)
		}
	}
	m.order = m.order[:0:0]
	m.mu.Unlock()

	closeAll(ending, &endCause{kind: endReplaced, msg: "the server's configuration changed"})

	m.mu.Lock()
	for _, a := range actions {
		if a.Verb == config.Stop || slices.Contains(m.order, a.Name) {
			continue // gone, or a second entry of one name: the first counts
		}
		if m.servers[a.Name] == nil {
			v := newServer(m, a.Server)
			m.servers[a.Name] = v
			go v.run() // ends with the server; close waits for it
		}
		m.order = append(m.order, a.Name)
	}
	m.mu.Unlock()
	m.changed()
}

// Running are the entries of the servers, in order, as Apply was given them.
func (m *Manager) Running() []config.Server {
	m.apply.Lock() // an Apply under way has no order
	defer m.apply.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.running()
}

// running is Running with m.mu held.
func (m *Manager) running() []config.Server {
	all := make([]config.Server, 0, len(m.order))
	for _, name := range m.order {
		all = append(all, m.servers[name].cfg)
	}
	return all
}

func closeAll(vs []*server, cause *endCause) {
	var wg sync.WaitGroup
	for _, v := range vs {
		wg.Go(func() { v.close(cause) })
	}
	wg.Wait()
}

// Close ends all servers and their calls and waits for them.
func (m *Manager) Close() error {
	m.mu.Lock()
	m.closed = true
	all := m.inOrder()
	m.mu.Unlock()
	for _, v := range all { // calls end at once, also when an Apply is waiting
		v.cancel(&endCause{kind: endClosed, msg: "askback is closing its servers"})
	}
	m.apply.Lock()
	defer m.apply.Unlock()
	m.mu.Lock()
	for _, v := range m.servers {
		if !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	m.mu.Unlock()
	closeAll(all, &endCause{kind: endClosed, msg: "askback is closing its servers"})
	return nil
}

// inOrder lists the servers; m.mu is held.
func (m *Manager) inOrder() []*server {
	out := make([]*server, 0, len(m.order))
	for _, name := range m.order {
		if v := m.servers[name]; v != nil {
			out = append(out, v)
		}
	}
	return out
}

func (m *Manager) server(name string) *server {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.servers[name]
}

// changed tells everyone that something is different now.
func (m *Manager) changed() {
	select {
	case m.note <- struct{}{}:
	default:
	}
	if m.opt.OnChange != nil {
		m.opt.OnChange()
	}
}

// Changed returns a channel that receives after servers or tools changed; several changes may be
// one receive. There is one such channel, for one reader; Options.OnChange serves others.
func (m *Manager) Changed() <-chan struct{} { return m.note }

// Servers returns the status of every server, in the order of the configuration.
func (m *Manager) Servers() []ServerStatus {
	m.mu.Lock()
	all := m.inOrder()
	m.mu.Unlock()
	out := make([]ServerStatus, 0, len(all))
	for _, v := range all {
		out = append(out, v.status())
	}
	return out
}

// Server returns the status of one server.
func (m *Manager) Server(name string) (ServerStatus, bool) {
	v := m.server(name)
	if v == nil {
		return ServerStatus{}, false
	}
	return v.status(), true
}

// Tools returns the tools of all servers that are ready, in the order of the configuration and
// then of the server.
func (m *Manager) Tools() []Tool {
	m.mu.Lock()
	all := m.inOrder()
	m.mu.Unlock()
	var out []Tool
	for _, v := range all {
		if s, _, _ := v.current(); s != nil {
			if l := s.toolsNow(); l != nil {
				for _, e := range l.all {
					out = append(out, e.Tool)
				}
			}
		}
	}
	return out
}

// Tool returns one tool as it is now.
func (m *Manager) Tool(server, name string) (Tool, error) {
	s, err := m.session(server)
	if err != nil {
		return Tool{}, err
	}
	if l := s.toolsNow(); l != nil {
		if e := l.byName[name]; e != nil {
			return e.Tool, nil
		}
	}
	return Tool{}, &ToolCallError{Code: CodeStaleBinding, Server: server, Tool: name, Message: "the server has no such tool"}
}

// session returns the server's session, or why there is none.
func (m *Manager) session(name string) (*session, error) {
	v := m.server(name)
	if v == nil {
		return nil, &ToolCallError{Code: CodeStaleBinding, Server: name, Message: "no such server is configured"}
	}
	s, st, reason := v.current()
	if s != nil {
		return s, nil
	}
	msg := "the server is not connected"
	switch {
	case st == StateFailed && reason != "":
		msg += ": " + reason
	case st == StateConnecting:
		msg = "the server is still connecting"
	}
	return nil, &ToolCallError{Code: CodeConnectionLost, Server: name, Message: msg}
}

// Wait waits until a server is ready. The first failure is an error, with the reason; a server
// that is tried again may still become ready later.
func (m *Manager) Wait(ctx context.Context, name string) error {
	for {
		v := m.server(name)
		if v == nil {
			return &ToolCallError{Code: CodeStaleBinding, Server: name, Message: "no such server is configured"}
		}
		v.mu.Lock()
		st, reason, settled := v.state, v.reason, v.settled
		v.mu.Unlock()
		switch st {
		case StateReady:
			return nil
		case StateFailed:
			return &ToolCallError{Code: CodeConnectionLost, Server: name, Message: reason}
		}
		select {
		case <-settled:
		case <-ctx.Done():
			return fmt.Errorf("waiting for server %s: %w", name, context.Cause(ctx))
		}
	}
}

// Reconnect ends a server's connection, and with it its calls, and connects it anew; a failed one
// is tried at once.
func (m *Manager) Reconnect(name string) error {
	v := m.server(name)
	if v == nil {
		return &ToolCallError{Code: CodeStaleBinding, Server: name, Message: "no such server is configured"}
	}
	v.reconnect()
	return nil
}

func (m *Manager) authFor(cfg config.Server) auth.OAuthHandler { return m.auths.handler(cfg) }
