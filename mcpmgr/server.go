package mcpmgr

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"askback/mcpmgr/config"
)

// Pauses before a server that failed or was lost is connected again.
const (
	retryMin   = time.Second
	retryMax   = 60 * time.Second
	retryReset = 60 * time.Second // a connection that lasted this long was a good one
	healthTime = 10 * time.Second // for the answer of a server that may be gone
	healthRest = 5 * time.Second  // between two such questions
)

// server supervises one configured server: it is the only one that connects it, publishes its
// session and takes it away again.
//
//	connecting ── session and tools ─▶ ready ── lost, replaced, reconnected ─▶ connecting
//	connecting ── error ─▶ failed ── retry, reconnected ─▶ connecting
type server struct {
	mgr    *Manager
	cfg    config.Server
	stderr *stderrRing
	recent recentStates

	ctx    context.Context
	cancel context.CancelCauseFunc
	done   chan struct{}
	again  chan struct{} // the user wants it connected anew

	leaving sync.WaitGroup // connections that are being closed; run waits for them

	challenged atomic.Pointer[errAuth] // the last 401 or 403

	lastEra Era // of an HTTP origin; run's own
	lastWhy string

	mu      sync.Mutex
	state   State
	reason  string
	auth    bool
	retry   time.Time
	sess    *session // of StateReady
	last    *session // the one before, for the panel
	settled chan struct{}
}

func newServer(m *Manager, cfg config.Server) *server {
	v := &server{mgr: m, cfg: cfg, state: StateConnecting, done: make(chan struct{}), again: make(chan struct{}, 1), settled: make(chan struct{})}
	v.ctx, v.cancel = context.WithCancelCause(context.Background())
	v.stderr = &stderrRing{redact: v.recent.text, log: func(line string) {
		m.log.Info("stderr", "server", cfg.Name, "line", line)
	}}
	return v
}

// run is the supervisor's loop; it ends with v.ctx.
func (v *server) run() {
	defer close(v.done)
	defer v.leaving.Wait()
	pause := retryMin
	for v.ctx.Err() == nil {
		v.set(StateConnecting, "", false, time.Time{}, nil)
		d, err := v.connect()
		if err != nil {
			if v.ctx.Err() != nil {
				break
			}
			pause = v.fail(err, pause)
			continue
		}
		began := time.Now()
		lost := v.hold(d)
		if time.Since(began) >= retryReset {
			pause = retryMin
		}
		if lost != nil {
			pause = v.fail(lost, pause)
		}
	}
	v.set(StateFailed, "closed", false, time.Time{}, nil)
}

// connect makes one attempt, up to a session that is ready. A token that is refused before its time
// is renewed, where that can be done without a person, and the attempt made once more.
func (v *server) connect() (*dialed, error) {
	d, err := v.attempt()
	if e, ok := errors.AsType[*errAuth](err); ok && e.kept && e.status == http.StatusUnauthorized && v.mgr.auths.renew(v.cfg) {
		return v.attempt()
	}
	return d, err
}

func (v *server) attempt() (*dialed, error) {
	var d *dialed
	var err error
	if v.cfg.Transport == config.HTTP {
		d, err = v.dialHTTP(v.ctx, v.lastEra)
	} else {
		d, err = v.dialStdio(v.ctx)
	}
	if err != nil {
		v.lastEra = ""
		return nil, err
	}
	v.lastEra, v.lastWhy = d.s.eraNow(), d.s.why
	if err := v.open(d.s); err != nil {
		d.dropLate()
		d.s.close()
		return nil, err
	}
	return d, nil
}

// open brings a session of known era to where it can be used.
func (v *server) open(s *session) error {
	ctx, cancel := context.WithCancelCause(v.ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(context.Cause(s.ctx)) })()
	s.wg.Go(s.refresher)
	s.watch()
	err := s.refreshTools(ctx)
	_, auth := errors.AsType[*errAuth](err)
	if err == nil || v.mgr.opt.Inspect == nil || isGone(err) || auth {
		return err
	}
	s.publish(&toolList{byName: map[string]*toolEntry{}, warnings: []string{"the tools could not be listed: " + v.recent.describe(err)}})
	return nil // an inspector looks at what else there is
}

// fail reports a failed attempt and waits for the time of the next; it returns the pause after that.
func (v *server) fail(err error, pause time.Duration) time.Duration {
	reason := v.recent.describe(err)
	_, perm := errors.AsType[*permanent](err)
	_, auth := errors.AsType[*errAuth](err)
	v.mgr.log.Warn("server failed", "server", v.cfg.Name, "why", reason)
	if perm || auth {
		v.set(StateFailed, reason, auth, time.Time{}, nil)
		select {
		case <-v.again:
		case <-v.ctx.Done():
		}
		return retryMin
	}
	wait := max(pause, waitAsked(err))
	v.set(StateFailed, reason, false, time.Now().Add(wait), nil)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return min(2*pause, retryMax)
	case <-v.again:
		return retryMin
	case <-v.ctx.Done():
		return pause
	}
}

// hold publishes a session and keeps it until it ends. A loss is returned, an end on purpose is not.
func (v *server) hold(d *dialed) error {
	s := d.s
	select {
	case <-v.again: // asked for while it was connecting, which is what it did
	default:
	}
	v.set(StateReady, "", false, time.Time{}, s)
	late := d.late
	defer func() {
		d.dropLate()
		if late != nil {
			if l := <-late; l != nil { // it answered in the last moment
				l.close()
			}
		}
		s.close()
	}()
	firstCall := s.firstCall()
	var checked time.Time
	var later <-chan time.Time // the next check, when one was wanted too soon
	for {
		select {
		case <-s.ctx.Done():
			if endOf(s.ctx).kind != endReplaced {
				return context.Cause(s.ctx)
			}
			select {
			case <-v.again: // reconnect has ended the session itself
			default:
			}
			return nil
		case <-v.ctx.Done():
			s.end(endOf(v.ctx))
			return nil
		case <-v.again:
			s.end(endAnew)
			return nil
		case <-firstCall:
			firstCall = nil
			d.dropLate()
		case <-s.suspect:
			if rest := healthRest - time.Since(checked); rest <= 0 {
				checked = time.Now()
				v.health(s)
			} else if later == nil { // it was there a moment ago, and need not be any more
				later = time.After(rest)
			}
		case <-later:
			later, checked = nil, time.Now()
			v.health(s)
		case l := <-late:
			late = nil
			if l == nil || !s.supersede() {
				if l != nil {
					l.close()
				}
				continue
			}
			if err := v.open(l); err != nil {
				l.close()
				v.mgr.log.Warn("the late modern session failed", "server", v.cfg.Name, "why", v.recent.describe(err))
				s.resume()
				continue
			}
			old := s
			s = l
			v.set(StateReady, "", false, time.Time{}, s)
			old.end(&endCause{kind: endReplaced, msg: "the server turned out to be modern"})
			v.leaving.Go(old.close)
			firstCall = nil
		}
	}
}

// endAnew is the cause of a session that the user replaces.
var endAnew = &endCause{kind: endReplaced, msg: "the server was connected anew"}

func endOf(ctx context.Context) *endCause {
	if e, ok := errors.AsType[*endCause](context.Cause(ctx)); ok {
		return e
	}
	return &endCause{kind: endClosed, msg: "the connection was closed"}
}

// health asks an HTTP server that a request could not reach whether it is there. If it is not,
// the generation ends.
func (v *server) health(s *session) {
	method := "server/discover"
	if !s.modern() {
		method = "ping"
	}
	_, err := s.rpc(v.ctx, method, "", nil, healthTime)
	if err == nil || isRPC(err) && !s.forgotten(err) {
		return
	}
	s.end(&endCause{kind: endLost, msg: v.recent.describe(err)})
}

// forgotten reports whether err may be how a legacy HTTP server says that it does not know the
// session: by the protocol that is a 404 (errSessionGone), but many answer 400 with an error.
func (s *session) forgotten(err error) bool {
	e, ok := errors.AsType[*rpcStatus](err)
	return ok && !s.modern() && s.http.hasSession() && e.status >= 400 && e.status < 500 && e.err.Code != -32601
}

// set publishes a state. A state that is not connecting wakes those who wait for one.
func (v *server) set(st State, reason string, auth bool, retry time.Time, s *session) {
	v.mu.Lock()
	v.state, v.reason, v.auth, v.retry = st, reason, auth, retry
	if v.sess != nil && v.sess != s {
		v.last = v.sess
	}
	v.sess = s
	select {
	case <-v.settled:
		if st == StateConnecting {
			v.settled = make(chan struct{})
		}
	default:
		if st != StateConnecting {
			close(v.settled)
		}
	}
	v.mu.Unlock()
	v.mgr.changed()
}

// current returns the session that is ready, and the state and reason where there is none.
func (v *server) current() (*session, State, string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.sess, v.state, v.reason
}

// reconnect makes the server be connected anew.
func (v *server) reconnect() {
	v.mu.Lock()
	s := v.sess
	v.mu.Unlock()
	if s != nil {
		s.end(endAnew)
	}
	select {
	case v.again <- struct{}{}:
	default:
	}
}

// close ends the server and waits for it.
func (v *server) close(cause *endCause) {
	v.cancel(cause)
	<-v.done
}

func (v *server) status() ServerStatus {
	v.mu.Lock()
	s := v.sess
	st := ServerStatus{Name: v.cfg.Name, Transport: v.cfg.Transport, State: v.state, Reason: v.reason, NeedsAuth: v.auth, Retry: v.retry}
	v.mu.Unlock()
	st.Stderr = v.stderr.tail()
	if s == nil {
		return st
	}
	st.Generation, st.Era, st.Version, st.EraReason = s.gen, s.eraNow(), s.version, s.why
	st.Info, st.Instructions, st.Capabilities = s.info, s.instr, s.caps
	s.mu.Lock()
	defer s.mu.Unlock()
	st.Notices = s.notices
	if s.tools != nil {
		st.Tools = len(s.tools.all)
		st.Warnings = append([]string(nil), s.tools.warnings...)
	}
	return st
}

// beginCall takes part in the session: from the first call on, nothing supersedes it.
func (s *session) beginCall() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.replaced {
		return failf(CodeStaleBinding, "the server was connected anew")
	}
	if !s.called {
		s.called = true
		close(s.firstDone)
	}
	return nil
}

func (s *session) firstCall() <-chan struct{} { return s.firstDone }

// supersede closes the session to calls unless one was begun.
func (s *session) supersede() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.called {
		return false
	}
	s.replaced = true
	return true
}

func (s *session) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replaced = false
}

// doubt has the supervisor ask whether an HTTP server is still there.
func (s *session) doubt() {
	select {
	case s.suspect <- struct{}{}:
	default:
	}
}
