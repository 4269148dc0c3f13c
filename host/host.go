// Package host is a Runtime Host: sessions and their Turns, the client capabilities that
// run in them, and the forms that those ask of a person. It speaks the wire protocol of
// package protocol over WebSocket, in both compatibility epochs.
//
// A Host keeps what must survive in one bbolt file. What a surface sees as pending is on
// disk before it sees it, an answer is on disk before a provider gets it, and what a
// start finds unfinished is ended, not repeated.
//
// Locks, in the order in which they may be taken together: a session's mu, the broker's
// gate, then the small ones of the catalog, the list of connections and an outbox.
package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"askback/host/access"
	"askback/protocol"
)

// ErrClosed is returned by Serve on a Host that was shut down.
var ErrClosed = errors.New("the Host is closed")

// CompositionRevision says that this Host runs Turns of /call lines itself.
const CompositionRevision = "askback-1"

// Options configure a Host. Dir and Access are required.
type Options struct {
	// Dir is the store's folder; it is created with mode 0700.
	Dir string
	// Access holds the credentials. The Host watches it for revocations.
	Access *access.Store
	// WorkDir is the folder that the only project, "default", stands for.
	WorkDir string
	// AllowOrigins lists the Origin headers that may connect, compared exactly. A
	// request without one is always allowed.
	AllowOrigins []string
	// Logger gets one record an event: ids, names and actions, never arguments,
	// values, form texts or tokens. Nil discards.
	Logger *slog.Logger
	// Executor runs Turns; nil is CallExecutor.
	Executor Executor
	// CompositionRevision is what the handshake says; empty is CompositionRevision.
	CompositionRevision string
	// ExecutionDeadline bounds a capability call, not counting the time that a person
	// thinks; zero is protocol.InvocationTimeout.
	ExecutionDeadline time.Duration
	// InteractionTimeout closes a form that nobody answers; zero is
	// protocol.InteractionTimeout.
	InteractionTimeout time.Duration
	// Retain drops the values of settled forms after this time and keeps their action;
	// zero keeps them as long as their session.
	Retain time.Duration
	// DrainGrace is how long a running Turn may go on after Shutdown began; zero is one
	// second, negative none.
	DrainGrace time.Duration
	// Clock tells the time and runs the timers; nil is the real one.
	Clock Clock
	// NewID mints ids, which must be entity ids and never repeat; nil mints UUIDs.
	NewID func() string
	// BeforeHandOver, when set, is called between the commit of an answer and its
	// hand-over to the provider, on a goroutine of its own, with the invocation. The
	// execution deadline runs meanwhile. A seam for tests.
	BeforeHandOver func(invocationID string)
}

func (o *Options) setDefaults() {
	o.CompositionRevision = orElse(o.CompositionRevision, CompositionRevision)
	o.ExecutionDeadline = orElse(o.ExecutionDeadline, protocol.InvocationTimeout)
	o.InteractionTimeout = orElse(o.InteractionTimeout, protocol.InteractionTimeout)
	o.DrainGrace = max(0, orElse(o.DrainGrace, time.Second))
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = realClock{}
	}
	if o.NewID == nil {
		o.NewID = newID
	}
	if o.Executor == nil {
		o.Executor = CallExecutor{}
	}
}

func (o *Options) projectName() string {
	if name := filepath.Base(o.WorkDir); o.WorkDir != "" && name != "." && name != string(filepath.Separator) {
		return name
	}
	return projectID
}

func orElse[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// hostState is where a Host is: serving → draining → closed.
type hostState int

const (
	stateServing  hostState = iota // Shutdown → draining, Close → closed
	stateDraining                  // requests answer host_draining; Close → closed
	stateClosed
)

// A Host is a running Runtime Host. All methods may be called concurrently.
type Host struct {
	opt       Options
	log       *slog.Logger
	store     *store
	rootID    string
	epoch     string // of this start
	cursorKey [32]byte
	server    *http.Server
	catalog   catalog
	creating  sync.Mutex
	gate      gate
	aside     *SetAside

	keptValues map[string]bool // keys of kept answers that cannot be read, once told; retention's own

	background context.Context
	stopAll    context.CancelFunc
	wg         sync.WaitGroup // watchers, Turns, effect runners

	mu      sync.Mutex
	state   hostState
	conns   map[string]*conn // all that were upgraded
	idle    chan struct{}    // closed when the last connection has left a Host that no longer serves
	turns   int              // Turns that run
	drained chan struct{}    // closed when the last Turn of a draining Host ended
}

// Open opens the store, ends what a former Host left unfinished, and returns a Host that
// is ready for Serve. A store that another process holds is ErrStoreInUse. A damaged
// store is set aside, which SetAside tells.
func Open(opt Options) (*Host, error) {
	if opt.Dir == "" || opt.Access == nil {
		return nil, errors.New("host: Options need Dir and Access")
	}
	opt.setDefaults()
	st, aside, err := openStore(opt.Dir)
	if err != nil {
		return nil, fmt.Errorf("host: %w", err)
	}
	h := newHost(opt, st)
	err = h.recoverStore()
	if isDamaged(err) && aside == nil { // its pages are whole, and what is in them is not
		if st, aside, err = st.replace(err); err != nil {
			return nil, fmt.Errorf("host: %w", err)
		}
		h = newHost(opt, st)
		err = h.recoverStore()
	}
	if err != nil {
		st.close()
		return nil, fmt.Errorf("host: recover the store %s: %w", st.path, err)
	}
	if h.aside = aside; aside != nil {
		h.log.Error("store set aside", "path", aside.Path, "kept", aside.MovedTo, "reason", aside.Reason)
	}
	h.background, h.stopAll = context.WithCancel(context.Background())
	h.wg.Go(func() {
		opt.Access.Watch(h.background, h.revoke, func(err error) { h.log.Error("tokens unreadable", "error", err.Error()) })
	})
	if opt.Retain > 0 {
		h.wg.Go(h.retainLoop)
	}
	h.log.Info("Host started", "epoch", h.epoch, "sessions", len(h.catalog.sessions))
	return h, nil
}

func newHost(opt Options, st *store) *Host {
	h := &Host{opt: opt, log: opt.Logger, store: st, epoch: opt.NewID(), conns: map[string]*conn{}, keptValues: map[string]bool{}}
	rand.Read(h.cursorKey[:])
	h.catalog.sessions = map[string]*session{}
	h.gate.init()
	h.server = h.newServer()
	return h
}

// SetAside tells whether Open found a damaged store, and where it is now; else nil.
func (h *Host) SetAside() *SetAside { return h.aside }

// RootID is the identity of the store, which clients pin.
func (h *Host) RootID() string { return h.rootID }

// Epoch is the identity of this start.
func (h *Host) Epoch() string { return h.epoch }

func (h *Host) ready() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state == stateServing
}

func (h *Host) draining() bool { return !h.ready() }

// enter counts a connection in; it fails once the Host closes.
func (h *Host) enter(c *conn) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state == stateClosed {
		return false
	}
	h.conns[c.id] = c
	go c.writeLoop()
	return true
}

func (h *Host) leave(c *conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.conns, c.id)
	if len(h.conns) == 0 && h.idle != nil {
		close(h.idle)
		h.idle = nil
	}
}

// revoke drops every connection of a credential that no longer counts.
func (h *Host) revoke(cred access.Credential) {
	h.log.Info("credential ended", "credential", cred.Name)
	for _, c := range h.connections() {
		if c.cred.ID == cred.ID {
			c.abort(errRevoked)
		}
	}
}

func (h *Host) connections() []*conn {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]*conn, 0, len(h.conns))
	for _, c := range h.conns {
		list = append(list, c)
	}
	return list
}

// broadcast hints to every accepted connection whose credential may ask about the
// catalog. subject tells hints apart: a newer one replaces one that still waits.
func (h *Host) broadcast(subject string, frame protocol.HostFrame) {
	data, err := protocol.Encode(frame, protocol.Dialect81) // broadcasts are the same in both dialects
	if err != nil {
		h.log.Error("broadcast not sendable", "error", err.Error())
		return
	}
	for _, c := range h.connections() {
		if c.cred.Grants.Owner && c.welcome.Load() {
			c.out.hint(subject, data)
		}
	}
}

var discardLog = stdlog.New(io.Discard, "", 0)

// Active is the number of capability invocations that have not ended.
func (h *Host) Active() int {
	h.gate.mu.Lock()
	defer h.gate.mu.Unlock()
	return h.gate.broker.Active()
}
