package hostview

import (
	"context"
	"sync"
)

// Started are the Turns that this run has started and that have not ended. A start that is under way when
// the program ends is waited for, so that no Turn is left behind unknown. All methods may be called from any
// goroutine.
type Started struct {
	mu       sync.Mutex
	starting int
	idle     chan struct{} // closed when nothing is starting
	live     map[string]Turn
	ended    map[string]bool // ended before its start was answered
	busy     map[string]bool // live ones whose session was said to be at work
}

// NewStarted returns an empty one.
func NewStarted() *Started {
	idle := make(chan struct{})
	close(idle)
	return &Started{idle: idle, live: map[string]Turn{}, ended: map[string]bool{}, busy: map[string]bool{}}
}

// Start runs a start and keeps its Turn.
func (o *Started) Start(f func() (Turn, error)) (Turn, error) {
	o.mu.Lock()
	if o.starting == 0 {
		o.idle = make(chan struct{})
	}
	o.starting++
	o.mu.Unlock()
	t, err := f()
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil && !t.Terminal() && !o.ended[t.TurnID] {
		o.live[t.TurnID] = t
	}
	if o.starting--; o.starting == 0 {
		clear(o.ended)
		close(o.idle)
	}
	return t, err
}

// Saw takes what the Host tells of a Turn.
func (o *Started) Saw(t Turn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if t.Terminal() {
		delete(o.live, t.TurnID)
		delete(o.busy, t.TurnID)
		if o.starting > 0 {
			o.ended[t.TurnID] = true
		}
		return
	}
	if _, ok := o.live[t.TurnID]; ok {
		o.live[t.TurnID] = t
	}
}

// SawSessions takes the Host's list of sessions, for those that are not open: nothing else tells that a Turn in one of
// them has ended. A list may be older than the Turn, so only what was said to be at work once can have ended.
func (o *Started) SawSessions(list []Session, open string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	atWork := map[string]bool{}
	for _, s := range list {
		atWork[s.ID] = s.Status == StatusRunning || s.Status == StatusWaitingForUser
	}
	for id, t := range o.live {
		switch {
		case t.SessionID == open:
		case atWork[t.SessionID]:
			o.busy[id] = true
		case o.busy[id]:
			delete(o.live, id)
			delete(o.busy, id)
		}
	}
}

// Busy says whether a Turn of ours runs or is being started.
func (o *Started) Busy() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.starting > 0 || len(o.live) > 0
}

// Elsewhere says whether a Turn of ours runs in another session than the open one.
func (o *Started) Elsewhere(open string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, t := range o.live {
		if t.SessionID != open {
			return true
		}
	}
	return false
}

// StopAll stops every Turn that is left, at once, and returns those.
func (o *Started) StopAll(ctx context.Context, b Turns) []Turn {
	o.mu.Lock()
	idle := o.idle
	o.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
	}
	o.mu.Lock()
	var left []Turn
	for _, t := range o.live {
		left = append(left, t)
	}
	o.mu.Unlock()
	var wg sync.WaitGroup
	for _, t := range left {
		wg.Go(func() { _, _ = b.Stop(ctx, t) }) // what cannot be stopped now ends with its provider
	}
	wg.Wait()
	return left
}
