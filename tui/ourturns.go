package tui

import (
	"context"
	"sync"

	"askback/tui/hostview"
)

// ourTurns are the Turns that this run has started and that have not ended. A start that is under way when
// the program ends is waited for, so that no Turn is left behind unknown. All methods may be called from any
// goroutine.
type ourTurns struct {
	mu       sync.Mutex
	starting int
	idle     chan struct{} // closed when nothing is starting
	live     map[string]hostview.Turn
	ended    map[string]bool // ended before its start was answered
}

func newOurTurns() *ourTurns {
	idle := make(chan struct{})
	close(idle)
	return &ourTurns{idle: idle, live: map[string]hostview.Turn{}, ended: map[string]bool{}}
}

// start runs a start and keeps its Turn.
func (o *ourTurns) start(f func() (hostview.Turn, error)) (hostview.Turn, error) {
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

// saw takes what the Host tells of a Turn.
func (o *ourTurns) saw(t hostview.Turn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if t.Terminal() {
		delete(o.live, t.TurnID)
		if o.starting > 0 {
			o.ended[t.TurnID] = true
		}
		return
	}
	if _, ok := o.live[t.TurnID]; ok {
		o.live[t.TurnID] = t
	}
}

func (o *ourTurns) busy() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.starting > 0 || len(o.live) > 0
}

// stop stops every Turn that is left, at once, and returns those.
func (o *ourTurns) stop(ctx context.Context, b hostview.Turns) []hostview.Turn {
	o.mu.Lock()
	idle := o.idle
	o.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
	}
	o.mu.Lock()
	var left []hostview.Turn
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
