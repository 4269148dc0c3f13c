package host

import (
	"sync"

	"askback/protocol"
)

// An outbox holds what waits to be written to one connection, in order. Three kinds
// of things wait in it, each with its own bound:
//
//   - answers and capability frames, at most protocol.MaxOutboundFrames and
//     MaxOutboundBytes: one more ends the connection;
//   - the frames of a subscription, at most MaxSubscriberFrames and
//     MaxSubscriberBytes each: one more ends that subscription, not the connection;
//   - hints to query again, of which only the newest of a subject waits.
//
// A frame of a subscription gets its sequence number when it is taken for writing, so
// that what is superseded while it waits (an older projection, an older progress) can
// be left out without a gap. That happens once half of the subscription's bound is used:
// a watcher that keeps up sees every state.
type outbox struct {
	mu     sync.Mutex
	items  []*outItem
	frames int // answers and capability frames waiting
	bytes  int
	hints  map[string]*outItem
	closed bool
	finish bool // close once empty
	wake   chan struct{}
	room   chan struct{} // closed and renewed whenever something was taken
}

type outItem struct {
	data    []byte                     // encoded frame, of an answer or a hint
	frame   protocol.SubscriptionFrame // or a subscription's frame, encoded when taken
	sub     *subQueue
	size    int
	dead    bool
	hint    string
	same    string // key under which a newer frame of sub replaces this one
	written func()
}

// subQueue is one subscription's share of its connection's outbox. The outbox's lock
// guards it.
type subQueue struct {
	header protocol.SubscriptionHeader // of its frames, but for the sequence
	next   int64                       // sequence of the next frame that is taken
	frames int
	bytes  int
	same   map[string]*outItem
	ended  bool // closed frame queued; nothing more is taken in
}

// maxHints bounds the hints of one connection; beyond it new subjects are left out,
// which a client cannot tell from a hint that crossed its query.
const maxHints = 4096

func newOutbox() *outbox {
	return &outbox{wake: make(chan struct{}, 1), room: make(chan struct{}), hints: map[string]*outItem{}}
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// put queues an encoded answer or capability frame; written, if not nil, is called on
// the writer's goroutine once it was handed to the network. It reports false when the
// bound is exceeded, after which the connection must end.
func (o *outbox) put(data []byte, written func()) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return true // the connection is ending for another reason
	}
	if o.frames+1 > protocol.MaxOutboundFrames || (o.frames > 0 && o.bytes+len(data) > protocol.MaxOutboundBytes) {
		return false
	}
	o.frames++
	o.bytes += len(data)
	o.items = append(o.items, &outItem{data: data, size: len(data), written: written})
	o.signal()
	return true
}

// hint queues an encoded broadcast, replacing one that still waits about the same subject.
func (o *outbox) hint(subject string, data []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || o.finish {
		return
	}
	if old := o.hints[subject]; old != nil {
		old.data = data
		return
	}
	if len(o.hints) >= maxHints {
		return
	}
	item := &outItem{data: data, hint: subject}
	o.hints[subject] = item
	o.items = append(o.items, item)
	o.signal()
}

// publish queues a subscription's frame of about size bytes. Where room runs short it
// supersedes the last frame with the same key that still waits; "" supersedes nothing.
// It reports false once the subscription has ended as a slow consumer.
func (o *outbox) publish(sub *subQueue, frame protocol.SubscriptionFrame, size int, same string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || sub.ended {
		return !sub.ended
	}
	if same != "" && (sub.frames >= protocol.MaxSubscriberFrames/2 || sub.bytes+size > protocol.MaxSubscriberBytes/2) {
		o.kill(sub.same[same])
	}
	if sub.frames+1 > protocol.MaxSubscriberFrames || sub.bytes+size > protocol.MaxSubscriberBytes {
		o.endSub(sub, protocol.ClosedSlowConsumer)
		return false
	}
	item := &outItem{frame: frame, sub: sub, size: size, same: same}
	sub.frames++
	sub.bytes += size
	if same != "" {
		if sub.same == nil {
			sub.same = map[string]*outItem{}
		}
		sub.same[same] = item
	}
	o.items = append(o.items, item)
	o.signal()
	return true
}

// end closes a subscription with a reason; frames that wait are still delivered unless
// the reason is that they were not taken.
func (o *outbox) end(sub *subQueue, reason string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed && !sub.ended {
		o.endSub(sub, reason)
	}
}

// drop forgets a subscription that its client closed.
func (o *outbox) drop(sub *subQueue) {
	o.mu.Lock()
	defer o.mu.Unlock()
	sub.ended = true
	o.killAll(sub)
}

func (o *outbox) endSub(sub *subQueue, reason string) {
	sub.ended = true
	if reason == protocol.ClosedSlowConsumer {
		o.killAll(sub)
	}
	o.items = append(o.items, &outItem{frame: &protocol.SubscriptionClosed{SubscriptionHeader: sub.header, Reason: reason}, sub: sub})
	o.signal()
}

func (o *outbox) killAll(sub *subQueue) {
	for _, item := range o.items {
		if item.sub == sub {
			o.kill(item)
		}
	}
}

func (o *outbox) kill(item *outItem) {
	if item == nil || item.dead {
		return
	}
	item.dead = true
	o.forget(item)
}

// forget takes an item out of the accounts.
func (o *outbox) forget(item *outItem) {
	switch {
	case item.sub != nil:
		if item.size > 0 {
			item.sub.frames--
			item.sub.bytes -= item.size
		}
		if item.same != "" && item.sub.same[item.same] == item {
			delete(item.sub.same, item.same)
		}
	case item.hint != "":
		delete(o.hints, item.hint)
	default:
		o.frames--
		o.bytes -= item.size
	}
}

// take removes the next item, or reports what to wait for. done means that nothing
// will come any more.
func (o *outbox) take() (item *outItem, done bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil, true
	}
	for len(o.items) > 0 {
		item = o.items[0]
		o.items[0] = nil
		o.items = o.items[1:]
		if item.dead {
			continue
		}
		item.dead = true // taken: nothing can supersede it
		o.forget(item)
		if item.sub != nil {
			h := item.frame.Header()
			h.Sequence = item.sub.next
			item.sub.next++
		}
		close(o.room)
		o.room = make(chan struct{})
		return item, false
	}
	return nil, o.finish
}

// roomFor returns nil when n more bytes fit beside what waits, else a channel that is
// closed when it is worth asking again.
func (o *outbox) roomFor(n int) <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || o.frames == 0 || (o.frames < protocol.MaxOutboundFrames/2 && o.bytes+n <= protocol.MaxOutboundBytes) {
		return nil
	}
	return o.room
}

// finishSoon lets the writer end once it has written what waits.
func (o *outbox) finishSoon() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.finish = true
	o.signal()
}

// close drops everything and ends the writer.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	o.closed = true
	o.items, o.hints = nil, nil
	close(o.room)
	o.room = make(chan struct{})
	o.signal()
}
