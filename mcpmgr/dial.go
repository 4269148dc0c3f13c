package mcpmgr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"askback/mcpmgr/config"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// How long a stdio server may be silent: before a second child is asked as a legacy server is, and
// before it is given up. Slow package runners are common.
const (
	probeQuiet    = 5 * time.Second
	probeDeadline = 60 * time.Second
)

// dialed is a connection that found its era. late, where it is not nil, may still deliver a modern
// session of the same server, which wins while the first has had no call; dropLate ends the wait.
type dialed struct {
	s        *session
	late     <-chan *session
	dropLate func()
}

// newSession makes a session for one connection; it has no link yet.
func (v *server) newSession() *session {
	s := &session{
		server: v.cfg.Name, opt: &v.mgr.opt, log: v.mgr.log, stderr: v.stderr, recent: &v.recent,
		legTimeout: v.mgr.opt.LegTimeout, onChange: v.mgr.changed, gen: v.mgr.gens.Add(1), suspect: make(chan struct{}, 1), stale: make(chan struct{}, 1), firstDone: make(chan struct{}), refreshing: make(chan struct{}, 1),
	}
	if v.cfg.Timeout > 0 {
		s.legTimeout = v.cfg.Timeout
	}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	return s
}

// spawn starts a child, or what stands for one, and connects a session to it.
func (v *server) spawn(ctx context.Context) (*session, error) {
	s := v.newSession()
	if open := v.mgr.opt.Transports[v.cfg.Name]; open != nil {
		t, err := open(ctx)
		if err != nil {
			return nil, err
		}
		conn, err := t.Connect(ctx)
		if err != nil {
			return nil, err
		}
		s.start(newMux(conn, nil, nil, nil, s.events()))
		return s, nil
	}
	c, err := startChild(v.cfg, v.stderr, v.mgr.grace)
	if err != nil {
		return nil, &permanent{err}
	}
	s.child = c
	var m *mux
	ready := make(chan struct{})
	filter := newLineFilter(c, MaxMessage, func(line []byte, why error) {
		text := v.noise(line)
		s.log.Warn("a line of the server's output is no message", "server", s.server, "why", why.Error(), "line", text)
		s.noise.Store(&text)
		s.noises.Add(1)
	}, func(id int64, why error) {
		<-ready
		m.failOne(id, why)
	})
	filter.alone = func(e *jsonrpc.Error) bool {
		<-ready
		return m.settleOne(e)
	}
	filter.asked = func(a *asking) {
		<-ready
		m.asked(a)
	}
	t := &mcp.IOTransport{Reader: readCloser{filter, c}, Writer: c, MaxLineLength: MaxMessage + 2}
	conn, err := t.Connect(ctx)
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	m = newMux(conn, filter, c, func(err error) error { return v.obituary(c, err) }, s.events())
	close(ready)
	s.start(m)
	return s, nil
}

// noise is what the log says of a line that is no message. One with JSON in it, or with a piece of JSON that was set on
// several lines, may be a message gone wrong, with a requestState in it, so only its size is told.
func (v *server) noise(line []byte) string {
	t := bytes.TrimSpace(line)
	if at := pieceOfJSON.FindIndex(t); at != nil {
		before := t[:max(0, bytes.IndexAny(t, `{["`))] // such as what a logger puts before a reply
		if len(before) > 60 || at[0] < len(before) || t[len(before)] == '"' {
			before = nil
		}
		return fmt.Sprintf("%s(%d bytes that look like JSON)", v.recent.text(string(before)), len(t)-len(before))
	}
	return clipText(v.recent.text(string(line[:min(len(line), stderrScan)])), 200)
}

// pieceOfJSON finds a line that begins as JSON does, or holds a string beside JSON's punctuation, or the word itself.
var pieceOfJSON = regexp.MustCompile(`(?i)^[{}\[\]"]|"\s*[:,}\]]|[:,{\[]\s*"|request[_-]?state`)

// readCloser reads lines and closes the child.
type readCloser struct {
	*lineFilter
	c *child
}

func (r readCloser) Close() error { return r.c.Close() }

// obituary turns the end of a child's output into what happened to it, with its last words.
func (v *server) obituary(c *child, err error) error {
	if _, ok := errors.AsType[*errTooLarge](err); ok {
		return err
	}
	msg := "the server closed its output"
	timer := time.NewTimer(2 * graceTail)
	defer timer.Stop()
	select {
	case <-c.exited:
		msg = "the server " + c.state
	case <-timer.C:
	}
	if tail := v.stderr.report(); tail != "" {
		msg += "; its last words:\n" + tail
	}
	return errors.New(msg)
}

// dialStdio starts a stdio server and finds out what it speaks.
func (v *server) dialStdio(ctx context.Context) (*dialed, error) {
	d := &stdioDial{v: v, p: newProbe(pinOf(v.cfg)), events: make(chan probeEvent, 8), began: time.Now()}
	d.ctx, d.cancel = context.WithCancel(ctx)
	return d.run(ctx)
}

// pinOf is the era that an entry insists on, or "".
func pinOf(cfg config.Server) Era {
	switch cfg.Protocol {
	case config.Modern:
		return EraModern
	case config.Legacy:
		return EraLegacy
	}
	return ""
}

// stdioDial acts for one probe. Requests run in goroutines of their session and report as events.
type stdioDial struct {
	v        *server
	p        *probe
	ctx      context.Context
	cancel   context.CancelFunc
	events   chan probeEvent
	began    time.Time
	children [2]*session
}

func (d *stdioDial) run(ctx context.Context) (*dialed, error) {
	keep := false
	defer func() {
		if !keep {
			d.cancel()
			for w := range d.children {
				d.endChild(who(w))
			}
		}
	}()
	s, err := d.v.spawn(d.ctx)
	if err != nil {
		return nil, err
	}
	d.children[first] = s
	if d.p.pin == EraLegacy {
		d.ask(first, legacyVersions[0])
	} else {
		d.askDiscover()
	}
	quiet, deadline := time.NewTimer(probeQuiet), time.NewTimer(probeDeadline)
	defer quiet.Stop()
	defer deadline.Stop()
	for {
		var e probeEvent
		select {
		case e = <-d.events:
		case <-quiet.C:
			e = probeEvent{kind: sawQuiet}
		case <-deadline.C:
			e = probeEvent{kind: sawDeadline, reason: d.noise()}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		for _, a := range d.p.on(e) {
			switch a.verb {
			case doStart:
				if s, err := d.v.spawn(d.ctx); err != nil {
					d.report(probeEvent{kind: sawExit, who: a.who, err: err})
				} else {
					d.children[a.who] = s
					d.ask(a.who, legacyVersions[0])
				}
			case doInitialize:
				d.ask(a.who, a.version)
			case doEnd:
				d.endChild(a.who)
			case doFail:
				return nil, a.err
			case doModern, doLegacy:
				keep = true
				d.cancel()
				return &dialed{s: d.take(a), dropLate: func() {}}, nil
			case doProvisional:
				keep = true
				return d.provisional(a), nil
			}
		}
	}
}

// noise is what the children printed instead of an answer.
func (d *stdioDial) noise() string {
	for _, s := range d.children {
		if s != nil && s.noises.Load() > 0 {
			return s.printed()
		}
	}
	return ""
}

// take hands over the child that won, with what was found out about it.
func (d *stdioDial) take(a probeAction) *session {
	s := d.children[a.who]
	s.why = a.reason
	if a.verb == doModern {
		s.version = a.version
		s.era.Store(EraModern)
	}
	return s
}

// provisional hands over a legacy session while the first child may still answer.
func (d *stdioDial) provisional(a probeAction) *dialed {
	late := make(chan *session, 1)
	wait := time.AfterFunc(probeDeadline-time.Since(d.began), d.cancel)
	done := make(chan struct{})
	go func() { // ends when the first child answers, or by dropLate
		defer close(done)
		defer d.cancel()
		defer wait.Stop()
		select {
		case e := <-d.events:
			if s := d.children[first]; e.who == first && (e.kind == sawVersions && e.era == EraModern || e.kind == sawModern) {
				d.p.reason = ""
				late <- d.take(probeAction{verb: doModern, who: first, version: orNewest(e.version)})
				return
			} else if s != nil {
				d.endChild(first)
			}
		case <-d.ctx.Done():
			d.endChild(first)
		}
		close(late)
	}()
	return &dialed{s: d.take(a), late: late, dropLate: func() { d.cancel(); <-done }}
}

// orNewest is the version to use with a modern server that did not name any.
func orNewest(v string) string {
	if v == "" {
		return modernVersions[0]
	}
	return v
}

// endChild ends a child in the background: one that does not go when it is told must not hold up
// the one that won. The server waits for it in the end.
func (d *stdioDial) endChild(w who) {
	if s := d.children[w]; s != nil {
		s.end(&endCause{kind: endClosed, msg: "another process of this server was chosen"})
		d.v.leaving.Go(s.close)
		d.children[w] = nil
	}
}

func (d *stdioDial) report(e probeEvent) {
	select {
	case d.events <- e:
	case <-d.ctx.Done():
	}
}

func (d *stdioDial) askDiscover() {
	s := d.children[first]
	s.wg.Go(func() {
		e := discoverEvent(d.ctx, s)
		if code, ok := rpcCode(e.err); ok && code == codeUnsupportedVersion && e.era == EraModern {
			e = discoverEvent(d.ctx, s) // it names the very version that it refused: once more
			if code, ok := rpcCode(e.err); ok && code == codeUnsupportedVersion {
				e = probeEvent{kind: sawNone, err: noCommonVersion(supportedIn(e.err))}
			}
		}
		d.report(e)
	})
}

func (d *stdioDial) ask(w who, version string) {
	s := d.children[w]
	s.wg.Go(func() {
		err := s.initialize(d.ctx, version)
		switch {
		case err == nil:
			d.report(probeEvent{kind: sawInit, who: w})
		case isGone(err):
			d.report(probeEvent{kind: sawExit, who: w, err: err})
		default:
			d.report(probeEvent{kind: sawInitError, who: w, err: fmt.Errorf("initialize failed: %s", s.recent.describe(err))})
		}
	})
}

// isGone reports whether a request failed because the connection is no more.
func isGone(err error) bool {
	_, a := errors.AsType[*errLost](err)
	_, b := errors.AsType[*errNotSent](err)
	return a || b
}

// discoverEvent asks with server/discover and reads what the reply means.
func discoverEvent(ctx context.Context, s *session) probeEvent {
	supported, err := s.discover(ctx)
	if err == nil {
		return versionsEvent(supported, nil)
	}
	if code, ok := rpcCode(err); ok {
		if !modernCode(code) {
			return probeEvent{kind: sawError, err: errors.New(s.recent.describe(err)), reason: fmt.Sprintf("it answers server/discover with error %d", code)}
		}
		if list := supportedIn(err); list != nil {
			return versionsEvent(list, err)
		}
		return probeEvent{kind: sawModern, err: err}
	}
	if isGone(err) {
		return probeEvent{kind: sawExit, err: err}
	}
	return probeEvent{kind: sawBroken, err: err}
}

func versionsEvent(supported []string, err error) probeEvent {
	version, era, ok := chooseVersion(supported)
	if !ok {
		return probeEvent{kind: sawNone, err: noCommonVersion(supported)}
	}
	return probeEvent{kind: sawVersions, version: version, era: era, err: err}
}
