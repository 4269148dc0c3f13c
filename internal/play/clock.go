package play

import (
	"sync"
	"time"
)

// Start is the time at which every scripted run begins.
var Start = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// Clock stands still until it is moved. It is safe for concurrent use.
type Clock struct {
	mu     sync.Mutex
	now    time.Time
	timers []timer
}

type timer struct {
	at  time.Time
	ch  chan time.Time // of After
	run *Timer         // of AfterFunc
}

// Timer is a call that is due when the clock was moved far enough.
type Timer struct {
	clock *Clock
	f     func()
	over  bool // called or stopped; guarded by the clock
}

// Stop prevents the call; it reports false when that was too late.
func (t *Timer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	pending := !t.over
	t.over = true
	return pending
}

// NewClock returns a clock that shows Start.
func NewClock() *Clock { return &Clock{now: Start} }

// Now is the time that the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// After receives once the clock was moved by d.
func (c *Clock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := make(chan time.Time, 1)
	if d <= 0 {
		ch <- c.now
		return ch
	}
	c.timers = append(c.timers, timer{at: c.now.Add(d), ch: ch})
	return ch
}

// AfterFunc calls f on a goroutine of its own once the clock was moved by d.
func (c *Clock) AfterFunc(d time.Duration, f func()) *Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &Timer{clock: c, f: f}
	c.timers = append(c.timers, timer{at: c.now.Add(d), run: t})
	return t
}

// Move moves the clock.
func (c *Clock) Move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	kept := c.timers[:0]
	for _, t := range c.timers {
		if t.at.After(c.now) {
			kept = append(kept, t)
			continue
		}
		switch {
		case t.ch != nil:
			t.ch <- c.now
		case !t.run.over:
			t.run.over = true
			go t.run.f()
		}
	}
	c.timers = kept
}
