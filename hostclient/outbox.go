package hostclient

import (
	"slices"
	"sync"
	"time"
)

// source makes frames one at a time, when the writer has room for one. next is called on the writer's goroutine and may
// return nil when there is nothing more.
type source interface{ next() []byte }

// outbox is what waits for the writer: frames in order, and sources, which have their turn, one frame each, when no frame
// waits. put never waits. What is in it is bounded by what may be in flight: 64 requests, a few control frames and one
// coalesced progress for each of 8 invocations, one source for each.
type outbox struct {
	mu      sync.Mutex
	frames  [][]byte
	sources []source
	control []control     // at most one ping and one pong
	wake    chan struct{} // one slot: something was put
	pace    pacer
	head    []byte // taken, waiting for its moment
	headAt  time.Time
}

// control is a ping or pong; it goes before every frame.
type control struct {
	kind int // websocket.PingMessage or PongMessage
	data []byte
}

func newOutbox() *outbox { return &outbox{wake: make(chan struct{}, 1)} }

func (o *outbox) put(frame []byte) {
	o.mu.Lock()
	o.frames = append(o.frames, frame)
	o.mu.Unlock()
	o.signal()
}

func (o *outbox) putSource(s source) {
	o.mu.Lock()
	o.sources = append(o.sources, s)
	o.mu.Unlock()
	o.signal()
}

// putControl queues a ping or pong in place of one of its kind that still waits: the newest is the one that counts.
func (o *outbox) putControl(c control) {
	o.mu.Lock()
	o.control = append(slices.DeleteFunc(o.control, func(old control) bool { return old.kind == c.kind }), c)
	o.mu.Unlock()
	o.signal()
}

// takeControl is only called by the writer.
func (o *outbox) takeControl() (control, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.control) == 0 {
		return control{}, false
	}
	c := o.control[0]
	o.control = slices.Delete(o.control, 0, 1)
	return c, true
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// take returns the next frame to write now; or how long to wait until there may be one; or zeros, to wait for wake.
// Only the writer calls it.
func (o *outbox) take(now time.Time) (frame []byte, wait time.Duration) {
	if o.head == nil {
		o.mu.Lock()
		if len(o.frames) > 0 {
			o.head, o.frames[0] = o.frames[0], nil
			o.frames = o.frames[1:]
		}
		o.mu.Unlock()
		if o.head == nil {
			if o.head = o.fromSource(); o.head == nil {
				return nil, 0
			}
		}
		o.headAt = now.Add(o.pace.reserve(len(o.head), now))
	}
	if wait = o.headAt.Sub(now); wait <= 0 {
		frame, o.head = o.head, nil
		return frame, 0
	}
	return nil, wait
}

// fromSource lets the first source make a frame and sends it to the end of the line.
func (o *outbox) fromSource() []byte {
	for {
		o.mu.Lock()
		if len(o.sources) == 0 {
			o.mu.Unlock()
			return nil
		}
		s := o.sources[0]
		o.sources[0] = nil
		o.sources = o.sources[1:]
		o.mu.Unlock()
		if frame := s.next(); frame != nil { // without our lock: it takes the lock of whoever owns it
			o.mu.Lock()
			o.sources = append(o.sources, s)
			o.mu.Unlock()
			return frame
		}
	}
}
