// Package testhost39 is a Runtime Host of compatibility epoch 39 for tests: it
// does what a real one was recorded doing, down to its error texts, and drops a
// connection where the real one drops it. It knows no forms.
//
// Its model is scripted. The text of a Turn is what it does:
//
//	/call SERVER/TOOL {json}   one to eight lines: loads the groups and calls, together
//	/ask N                     asks a question of N options (2 or 3)
//	anything else              is echoed
//
// and, as in the recordings, [[call NAME {json}]], [[calls NAME N]],
// [[call AskUserQuestion {json}]], [[call request_sandbox_boundary {json}]],
// [[think]], [[fail]] and [[hang]], where NAME may be the end of a tool's name.
package testhost39

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"askback/protocol"
)

// Kind is what a credential is for.
type Kind int

const (
	// RemoteOwner is an ordinary client's.
	RemoteOwner Kind = iota
	// CapabilityProvider may publish session offers and nothing else; its tools
	// run in every session.
	CapabilityProvider
)

// Credential is what a bearer token stands for.
type Credential struct {
	Principal string
	Kind      Kind
	Publish   bool // may publish capabilities; a CapabilityProvider always may
	HostPaths bool // may name folders of the Host
}

// Options configure a Host. They are copied.
type Options struct {
	Tokens       map[string]Credential
	Path         string // of the WebSocket; protocol.WebSocketPath
	AllowOrigins []string
	RootID       string
	ProjectID    string        // the only project; "project"
	ProjectName  string        // "project"
	HostCwd      string        // "/srv/project"
	CallDeadline time.Duration // protocol.InvocationTimeout
	// Recovering makes the Host start in that state, until Recovered is called.
	Recovering bool
}

// Host is a running test Host. All methods may be called concurrently.
type Host struct {
	opt    Options
	epoch  string
	server *http.Server

	mu           sync.Mutex // guards everything below, and everything of conns, sessions and turns
	state        protocol.HostState
	tokens       map[string]Credential
	conns        map[*conn]bool
	sessions     map[string]*session
	order        []string // session ids by creation
	providers    map[identity]*conn
	catalog      int64 // revision of the session catalog
	capabilities int64 // revision of the registry
	calls        int   // counts model tool calls
	closed       bool
	wg           sync.WaitGroup
}

// identity is a provider's: principal and clientInstanceId.
type identity struct{ principal, instance string }

// New makes a Host; Serve runs it.
func New(opt Options) *Host {
	set := func(s *string, otherwise string) {
		if *s == "" {
			*s = otherwise
		}
	}
	set(&opt.Path, protocol.WebSocketPath)
	set(&opt.ProjectID, "project")
	set(&opt.ProjectName, "project")
	set(&opt.HostCwd, "/srv/project")
	if opt.RootID == "" {
		sum := sha256.Sum256([]byte(newID()))
		opt.RootID = hex.EncodeToString(sum[:])
	}
	if opt.CallDeadline == 0 {
		opt.CallDeadline = protocol.InvocationTimeout
	}
	h := &Host{
		opt: opt, epoch: newID(), state: protocol.HostReady, tokens: make(map[string]Credential),
		conns: make(map[*conn]bool), sessions: make(map[string]*session), providers: make(map[identity]*conn),
		catalog: 1, capabilities: 1,
	}
	for token, c := range opt.Tokens {
		c.Publish = c.Publish || c.Kind == CapabilityProvider
		h.tokens[token] = c
	}
	if opt.Recovering {
		h.state = protocol.HostRecovering
	}
	h.server = &http.Server{Handler: http.HandlerFunc(h.serveHTTP), ReadHeaderTimeout: 10 * time.Second}
	return h
}

// RootID is what the handshake says.
func (h *Host) RootID() string { return h.opt.RootID }

// Epoch is the hostEpoch of this start.
func (h *Host) Epoch() string { return h.epoch }

// Serve accepts connections until Close or Drain.
func (h *Host) Serve(l net.Listener) error {
	err := h.server.Serve(floodListener{l})
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Recovered ends the recovery that Options.Recovering began.
func (h *Host) Recovered() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state == protocol.HostRecovering {
		h.state = protocol.HostReady
	}
}

// Revoke takes a token back and drops its connections.
func (h *Host) Revoke(token string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.tokens, token)
	for c := range h.conns {
		if c.token == token {
			c.drop()
		}
	}
}

// What the real Host was seen to do on SIGTERM: running Turns go on for
// drainGrace, and their ends are told before the sockets die drainRest later.
const (
	drainGrace = time.Second
	drainRest  = 600 * time.Millisecond
)

// Drain does what the real Host does on SIGTERM, and returns when all is over.
func (h *Host) Drain() {
	h.mu.Lock()
	h.state = protocol.HostDraining
	h.mu.Unlock()
	_ = h.server.Close() // the listener; upgraded connections are ours
	time.Sleep(drainGrace)
	h.mu.Lock()
	var running []*turn
	for _, s := range h.sessions {
		if s.turn != nil {
			s.turn.stop(protocol.AbortUserStop)
			running = append(running, s.turn)
		}
	}
	h.mu.Unlock()
	for _, t := range running {
		<-t.done
	}
	time.Sleep(drainRest)
	h.Close()
}

// Close drops every connection and waits for what runs.
func (h *Host) Close() {
	h.mu.Lock()
	h.closed = true
	for _, s := range h.sessions {
		if s.turn != nil {
			s.turn.stop(protocol.AbortUserStop)
		}
	}
	for c := range h.conns {
		c.drop()
	}
	h.mu.Unlock()
	_ = h.server.Close()
	h.wg.Wait()
}

// newID is a random UUID.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func now() int64 { return time.Now().UnixMilli() }

// broadcast sends a hint to every connection that may query catalogs.
func (h *Host) broadcast(f protocol.HostFrame) {
	for c := range h.conns {
		if c.accepted && c.cred.Kind == RemoteOwner {
			c.send(f)
		}
	}
}

// sessionChanged counts and tells a change of a session. h.mu is held.
func (h *Host) sessionChanged(id string) {
	h.catalog++
	h.broadcast(&protocol.SessionCatalogChanged{Revision: h.catalog, SessionID: id})
}

// goroutine runs f until it returns; Close waits for it.
func (h *Host) goroutine(f func()) { h.wg.Go(f) }

// background is the context of what outlives a request.
func background() (context.Context, context.CancelCauseFunc) {
	return context.WithCancelCause(context.Background())
}
