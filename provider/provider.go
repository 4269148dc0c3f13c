package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	"askback/hostclient"
	"askback/internal/jsonschema"
)

// DefaultLabel is what offers are called when Options say nothing.
const DefaultLabel = "askback"

// Options say what is offered and how. They are copied.
type Options struct {
	// Tools are the tools behind the offers.
	Tools Tools
	// Label names this provider to people: forms say "SERVER · via LABEL".
	Label string
	// Published, when set, is told of each publication, in order, on the
	// goroutine of Run.
	Published func(Publication)
	// Logger gets events, never arguments, results or answers; nil discards.
	Logger *slog.Logger
}

// Publisher is the part of hostclient.Provider that Run needs.
type Publisher interface {
	Publish(ctx context.Context, offers []hostclient.Offer) error
}

// Publication is the outcome of one attempt to publish.
type Publication struct {
	Plan Plan
	// Err is why the Host does not hold the offers, nil when it does.
	Err error
}

// Provider turns tools into offers and serves their calls. It is the Handler of
// a hostclient.Provider. All methods may be called concurrently; Run once.
type Provider struct {
	opts Options
	log  *slog.Logger

	mu    sync.Mutex
	table map[identity]*entry // of what was planned last
	plan  Plan
}

type identity struct{ server, tool string }

// entry is one offered tool.
type entry struct {
	info   ToolInfo
	schema *jsonschema.Schema // of the arguments, as the server gave it
	noted  sync.Once          // that something of the schema is not checked
}

// New makes a Provider. It does nothing until Run.
func New(opts Options) *Provider {
	if opts.Label == "" {
		opts.Label = DefaultLabel
	}
	log := opts.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Provider{opts: opts, log: log, table: make(map[identity]*entry)}
}

// settle is how long changes of the tools may follow each other before they are
// published: servers start together, and each publication is a new contract.
const settle = 50 * time.Millisecond

// Run publishes the tools now and whenever they change, until ctx ends. It
// does not take the offers back; closing the hostclient.Provider does.
func (p *Provider) Run(ctx context.Context, to Publisher) {
	var (
		stop      = func() {}
		published = make(chan Publication)
		running   bool
		last      Plan // whose offers the Host holds, or is about to
		known     bool // whether it does
	)
	defer func() {
		stop()
		if running {
			<-published
		}
	}()
	publish := func() {
		plan := p.replan()
		if known && sameOffers(plan.Offers, last.Offers) {
			told := slices.Equal(plan.LeftOut, last.LeftOut)
			if last = plan; !running && !told { // the Host holds all there is, and what is left out is news
				p.report(Publication{Plan: plan})
			}
			return
		}
		if running {
			stop()
			<-published // superseded
		}
		last, known = plan, true
		var attempt context.Context
		attempt, cancel := context.WithCancel(ctx)
		stop = cancel
		running = true
		go func() { published <- Publication{Err: to.Publish(attempt, plan.Offers)} }()
	}
	publish()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.opts.Tools.Changed():
			if !pause(ctx, settle) {
				return
			}
			publish()
		case done := <-published:
			running = false
			stop()
			known, done.Plan = done.Err == nil, last // what is left out may have changed meanwhile
			p.report(done)
		}
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func sameOffers(a, b []hostclient.Offer) bool {
	return len(a) == len(b) && (len(a) == 0 || reflect.DeepEqual(a, b))
}

func (p *Provider) report(done Publication) {
	if done.Err != nil {
		p.log.Warn("offers not published", "err", done.Err)
	} else {
		p.log.Info("offers published", "tools", len(done.Plan.Tools), "left_out", len(done.Plan.LeftOut))
	}
	if p.opts.Published != nil {
		p.opts.Published(done)
	}
}

// Plan is what is offered, or is to be once there is a connection.
func (p *Provider) Plan() Plan {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.plan
}

// replan makes a plan of the present tools; calls go by it from now on.
func (p *Provider) replan() Plan {
	plan := NewPlan(p.opts.Tools.Tools(), p.opts.Label)
	p.mu.Lock()
	defer p.mu.Unlock()
	table := make(map[identity]*entry, len(plan.Tools))
	for _, t := range plan.Tools {
		id := identity{t.Server, t.Name}
		e := &entry{info: t, schema: jsonschema.New(t.InputSchema)}
		if old := p.table[id]; old != nil && bytes.Equal(old.info.InputSchema, t.InputSchema) {
			e.schema = old.schema // compiled already, if it was needed
		}
		table[id] = e
	}
	p.table, p.plan = table, plan
	for _, l := range plan.LeftOut {
		p.log.Warn("tool not offered", "server", l.Server, "tool", l.Tool, "reason", l.Reason)
	}
	return plan
}

func (p *Provider) lookup(server, tool string) *entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.table[identity{server, tool}]
}

// checkArguments holds arguments to the server's own schema.
func (p *Provider) checkArguments(e *entry, arguments json.RawMessage) error {
	e.noted.Do(func() {
		for _, what := range e.schema.Unchecked() {
			p.log.Warn("not checked before a call", "server", e.info.Server, "tool", e.info.Name, "what", what)
		}
	})
	if err := e.schema.Check(arguments); err != nil {
		return errorf(CodeProtocolError, "The arguments do not fit the tool's schema: %s. Nothing was sent to the server.", err)
	}
	return nil
}
