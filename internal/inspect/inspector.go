package inspect

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"askback/mcpmgr"
	"askback/mcpmgr/config"
)

// Options configure an Inspector. Servers are needed.
type Options struct {
	Servers       []config.Server
	Name, Version string // the clientInfo that servers see
	Logger        *slog.Logger
	TokenFile     string
	// Tell hears every Event. It is called from many goroutines and must not block. nil hears nothing.
	Tell func(Event)
	// Now is time.Now where it is nil.
	Now func() time.Time
	// StatePause is that of the Manager: how long a round with a state alone waits.
	StatePause time.Duration
	LegTimeout time.Duration
	// Transports replaces, per server name, how a stdio server is started. For tests.
	Transports map[string]func(ctx context.Context) (mcp.Transport, error)
}

// Inspector holds open servers, each with connections of its own that no provider shares. All methods are safe for
// concurrent use.
type Inspector struct {
	opt    Options
	order  []*server
	byName map[string]*server
	ctx    context.Context
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup

	mu               sync.Mutex
	lastRun, lastAsk uint64
	runs             map[uint64]*running
	asks             map[uint64]*waiting
}

// server is one open server. Its calls begin one after the other, so that each run learns which logical call it is;
// they may all be pending at once.
type server struct {
	cfg   config.Server
	mgr   *mcpmgr.Manager
	start chan struct{} // holds one token: whoever has it begins a call

	mu       sync.Mutex
	starting *running
	watched  map[string]watch // resources that are subscribed to
}

// watch is a subscription of one connection.
type watch struct {
	generation uint64
	stop       func()
}

// Open connects the servers. It returns at once; Changed tells how they fare.
func Open(opt Options) *Inspector {
	if opt.Tell == nil {
		opt.Tell = func(Event) {}
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	i := &Inspector{opt: opt, byName: map[string]*server{}, runs: map[uint64]*running{}, asks: map[uint64]*waiting{}}
	i.ctx, i.cancel = context.WithCancelCause(context.Background())
	for _, cfg := range opt.Servers {
		s := &server{cfg: cfg, start: make(chan struct{}, 1), watched: map[string]watch{}}
		s.mgr = mcpmgr.New(i.managerOptions(s))
		i.order = append(i.order, s)
		i.byName[cfg.Name] = s
	}
	for _, s := range i.order {
		s.mgr.Apply([]config.Server{s.cfg})
	}
	return i
}

func (i *Inspector) managerOptions(s *server) mcpmgr.Options {
	return mcpmgr.Options{
		Logger: i.opt.Logger, Name: i.opt.Name, Version: i.opt.Version, Rounds: Rounds, TokenFile: i.opt.TokenFile,
		StatePause: i.opt.StatePause, LegTimeout: i.opt.LegTimeout, Transports: i.opt.Transports,
		OnChange: func() { i.opt.Tell(Changed{s.cfg.Name}) },
		Tap:      func(e mcpmgr.TapEvent) { i.tap(s, e) },
		Inspect: &mcpmgr.Inspect{
			Push:  i.handlers(s, 0),
			Event: func(e mcpmgr.Event) { i.opt.Tell(Noticed{Event: e}) },
		},
	}
}

// tap tells a message, and before the first of a call which run it belongs to.
func (i *Inspector) tap(s *server, e mcpmgr.TapEvent) {
	if e.Call != 0 && e.Leg == 1 && e.Direction == mcpmgr.Sent {
		if r := s.started(); r != nil {
			i.opt.Tell(Bound{r.id, e.Call})
			r.free()
		}
	}
	i.opt.Tell(Tapped{e})
}

// begin waits until no other call of the server is about to send its first leg.
func (s *server) begin(ctx context.Context, r *running) error {
	select {
	case s.start <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	r.free = sync.OnceFunc(func() {
		s.mu.Lock()
		s.starting = nil
		s.mu.Unlock()
		<-s.start
	})
	s.mu.Lock()
	s.starting = r
	s.mu.Unlock()
	return nil
}

func (s *server) started() *running {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.starting
}

func (i *Inspector) spawn(f func()) { i.wg.Go(f) }

// Close ends all calls, as Abort does, and all servers, and waits for them.
func (i *Inspector) Close() {
	i.cancel(errClosed)
	i.wg.Wait()
	var wg sync.WaitGroup
	for _, s := range i.order {
		wg.Go(func() { _ = s.mgr.Close() })
	}
	wg.Wait()
}
