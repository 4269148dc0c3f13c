package hostclient

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"askback/protocol"
)

// State is where a connection that makes itself again is in its life:
// connecting → starting → ready → waiting → connecting …; connecting or starting → waiting or refused; any → closed.
type State string

const (
	StateConnecting State = "connecting" // dialing, or shaking hands
	StateStarting   State = "starting"   // accepted by a Host that is not ready yet
	StateReady      State = "ready"
	StateWaiting    State = "waiting" // for the next attempt, at RetryAt
	StateRefused    State = "refused" // no further attempt before Retry: trying again by itself is useless
	StateClosed     State = "closed"  // by Close; nothing follows
)

// Connection is the state of a connection.
type Connection struct {
	State   State
	Host    HostInfo           // of the present connection; zero unless StateStarting or StateReady
	Wait    protocol.HostState // what a Host in StateStarting says it is doing
	Cause   *Error             // why the last connection or attempt ended; nil at first and while ready
	Attempt int                // attempts since the last steady connection
	RetryAt time.Time          // in StateWaiting
}

// keeper makes one connection, serves it, and makes it again, with backoff. Hooks run on its goroutine, but for receive.
type keeper struct {
	dialer *dialer
	hooks  hooks

	cancel context.CancelFunc
	done   chan struct{}
	retry  chan struct{} // one slot

	mu      sync.Mutex
	now     Connection
	changed chan struct{} // closed and replaced at every change of now
	link    *link         // while StateReady
}

type hooks interface {
	receiver
	changed(Connection)        // in order
	up(context.Context, *link) // the link is ready; must not wait; ctx ends with the link
	down(*link, *Error)
}

func newKeeper(opts Options, h hooks) *keeper {
	k := &keeper{hooks: h, done: make(chan struct{}), retry: make(chan struct{}, 1), changed: make(chan struct{})}
	d, bad := newDialer(opts)
	k.dialer = d
	ctx, cancel := context.WithCancel(context.Background())
	k.cancel = cancel
	if bad != nil {
		k.now = Connection{State: StateRefused, Cause: bad}
	} else {
		k.now = Connection{State: StateConnecting}
	}
	return k.start(ctx)
}

func (k *keeper) start(ctx context.Context) *keeper {
	first := k.now
	go func() {
		defer close(k.done)
		k.hooks.changed(first)
		if k.dialer == nil {
			<-ctx.Done()
		} else {
			k.run(ctx)
		}
		k.set(Connection{State: StateClosed, Cause: errorf(CodeClosed, "the connection was closed")}, nil)
	}()
	return k
}

func (k *keeper) run(ctx context.Context) {
	for attempt := 0; ctx.Err() == nil; {
		readyFor, cause := k.once(ctx, attempt)
		if ctx.Err() != nil {
			return
		}
		k.dialer.log.Info("host connection ended", "host", k.dialer.endpoint.url, "code", string(cause.Code), "ready_for", readyFor)
		if readyFor >= steadyAfter {
			attempt = 0
		}
		attempt++
		tried, ok := k.pause(ctx, cause, attempt)
		if !ok {
			return
		}
		if tried {
			attempt = 0
		}
		k.set(Connection{State: StateConnecting, Cause: cause, Attempt: attempt}, nil)
	}
}

// pause waits until the next attempt is due. asked is whether a person asked for it.
func (k *keeper) pause(ctx context.Context, cause *Error, attempt int) (asked, ok bool) {
	select { // a wish from before this failure has been granted
	case <-k.retry:
	default:
	}
	next := Connection{State: StateRefused, Cause: cause, Attempt: attempt}
	var due <-chan time.Time
	if !cause.Permanent() {
		wait := backoff(attempt-1, rand.Float64())
		next.State, next.RetryAt = StateWaiting, time.Now().Add(wait)
		timer := time.NewTimer(wait)
		defer timer.Stop()
		due = timer.C
	}
	k.set(next, nil)
	select {
	case <-due:
		return false, true
	case <-k.retry:
		return true, true
	case <-ctx.Done():
		return false, false
	}
}

// once is one attempt and, when it succeeds, the life of its connection.
func (k *keeper) once(ctx context.Context, attempt int) (readyFor time.Duration, cause *Error) {
	l, bad := k.dialer.connect(ctx)
	if bad != nil {
		return 0, bad
	}
	linkCtx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-ctx.Done():
			closing := errorf(CodeClosed, "the connection was closed")
			closing.close = 1000
			l.end(closing)
		case <-l.ended:
		}
	})
	var since time.Time
	wg.Go(func() {
		if k.awaitReady(linkCtx, l, attempt) {
			since = time.Now()
			k.set(Connection{State: StateReady, Host: l.host}, l)
			k.hooks.up(linkCtx, l)
		}
	})
	cause = l.run(k.hooks)
	cancel(cause)
	wg.Wait()
	if !since.IsZero() {
		k.mu.Lock()
		k.link = nil
		k.mu.Unlock()
		k.hooks.down(l, cause)
		readyFor = time.Since(since)
	}
	return readyFor, cause
}

// awaitReady waits until the link's Host is ready. It reports false when the link ended first, or ends it.
func (k *keeper) awaitReady(ctx context.Context, l *link, attempt int) bool {
	if l.state == protocol.HostReady {
		return true
	}
	err := l.pollReady(ctx, func(state protocol.HostState) {
		k.set(Connection{State: StateStarting, Host: l.host, Wait: state, Attempt: attempt}, nil)
	})
	switch {
	case err == nil:
		return true
	case ctx.Err() != nil || lost(err):
	case CodeOf(err) == CodeDraining:
		l.end(causeOf(err))
	default:
		l.end(violation("the Host does not say whether it is ready: %v", err))
	}
	return false
}

// pollReady asks host.status until the Host is ready, and tells each other state once in a row.
func (l *link) pollReady(ctx context.Context, tell func(protocol.HostState)) error {
	pause := 100 * time.Millisecond
	for said := protocol.HostState(""); ; {
		r, err := l.do(ctx, &protocol.HostStatusInput{}, nil)
		if err != nil {
			return err
		}
		state := r.(*protocol.HostStatusResult).State
		switch {
		case state == protocol.HostReady:
			return nil
		case state == protocol.HostDraining:
			return errorf(CodeDraining, "the Host is shutting down")
		case state != said && tell != nil:
			tell(state)
		}
		said = state
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		pause = min(2*pause, 2*time.Second)
	}
}

func (k *keeper) set(c Connection, l *link) {
	k.mu.Lock()
	k.now, k.link = c, l
	close(k.changed)
	k.changed = make(chan struct{})
	k.mu.Unlock()
	k.hooks.changed(c)
}

// current is the ready link, or why there is none.
func (k *keeper) current() (*link, *Error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.link == nil {
		return nil, notConnected(k.now.Cause)
	}
	return k.link, nil
}

func (k *keeper) connection() Connection {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now
}

// ready waits while an attempt runs, and gives its link or why it failed. With patient it also waits for the next
// attempts, unless the connection is refused or closed.
func (k *keeper) ready(ctx context.Context, patient bool) (*link, error) {
	for {
		k.mu.Lock()
		now, l, changed := k.now, k.link, k.changed
		k.mu.Unlock()
		switch now.State {
		case StateReady:
			if l != nil {
				return l, nil
			}
		case StateRefused, StateClosed:
			return nil, now.Cause
		case StateWaiting:
			if !patient {
				return nil, now.Cause
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// after waits for the end of a link and for the next one.
func (k *keeper) after(ctx context.Context, l *link) (*link, error) {
	select {
	case <-l.ended:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	for {
		next, err := k.ready(ctx, true)
		if err != nil || next != l {
			return next, err
		}
		select { // the keeper has not taken notice yet
		case <-k.goneFrom(l):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// goneFrom is closed when l is not the ready link any more, or may be.
func (k *keeper) goneFrom(l *link) <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.link == l {
		return k.changed
	}
	gone := make(chan struct{})
	close(gone)
	return gone
}

// tryNow cuts a pause short, or tries again after a refusal.
func (k *keeper) tryNow() {
	select {
	case k.retry <- struct{}{}:
	default:
	}
}

// close ends the connection and waits until everything of it has ended.
func (k *keeper) close() {
	k.cancel()
	<-k.done
}
