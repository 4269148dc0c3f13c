package hostclient

import "time"

// A Host aborts a connection that has more than 64 unprocessed messages, and small frames that arrive in one read all
// count at once. So small frames are paced; large ones fill the transport's own windows first.
const (
	pacedBelow = 8 << 10
	paceFrames = 32
	paceWindow = 20 * time.Millisecond
)

// pacer says when the next small frame may be written: in no span of paceWindow are there more than paceFrames.
type pacer struct {
	sent [paceFrames]time.Time // a ring, oldest at next
	next int
}

// reserve records a frame of size bytes that is to be written at or after now, and returns how long to wait first.
func (p *pacer) reserve(size int, now time.Time) time.Duration {
	if size >= pacedBelow {
		return 0
	}
	at := now
	if free := p.sent[p.next].Add(paceWindow); !p.sent[p.next].IsZero() && free.After(now) {
		at = free
	}
	p.sent[p.next] = at
	p.next = (p.next + 1) % paceFrames
	return at.Sub(now)
}
