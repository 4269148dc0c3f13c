package hostclient

import (
	"context"
	"slices"
	"sync"

	"askback/protocol"
)

// What a session may have waiting for a user of this package who does not take it, beyond what coalesces.
const (
	maxWaitingEvents = 1024
	maxWaitingText   = 1 << 20
	maxWaitingRows   = maxRowBytes + 1<<20 // one row may be a result of the largest size
)

// queue is the ordered events that wait to be taken. push never waits. What only shows coalesces: a newer snapshot, tool
// progress or hint replaces the older one that waits, text is joined. What is left of a session's live events is bounded;
// past the bound they are dropped together and the session is opened anew once the rest has been taken (overflow). Facts
// about Interactions are never dropped: a session holds at most 16.
type queue struct {
	mu     sync.Mutex
	items  []*item
	dead   int // items without event, at most half
	wake   chan struct{}
	closed bool

	sessions map[string]*waiting
}

type item struct {
	event   Event // nil: replaced or dropped
	session string
	key     coalesceKey
	live    bool // counted by its session, dropped on overflow
}

// waiting is what a session has in the queue.
type waiting struct {
	last       *item // the newest, for joining text
	byKey      map[coalesceKey]*item
	live       int
	text, rows int // bytes
	overflowed bool
}

// coalesceKey names what replaces what; the zero key replaces nothing.
type coalesceKey struct{ kind, id string }

func newQueue() *queue {
	return &queue{wake: make(chan struct{}, 1), sessions: make(map[string]*waiting)}
}

// describe says how an event coalesces.
func describe(e Event) (session string, key coalesceKey, live bool) {
	switch e := e.(type) {
	case Connection:
		return "", coalesceKey{"connection", ""}, false
	case CatalogChanged:
		return "", coalesceKey{"catalog/" + string(e.Catalog), e.SessionID}, false
	case SessionOpened:
		return e.SessionID, coalesceKey{}, false
	case SessionChanged:
		return e.SessionID, coalesceKey{"snapshot", ""}, true
	case SessionDelta:
		return e.SessionID, coalesceKey{}, true
	case ToolActivity:
		if e.Event.Type == protocol.EventToolProgress {
			return e.SessionID, coalesceKey{"progress", e.Event.ToolUseID}, true
		}
		return e.SessionID, coalesceKey{}, true
	case DomainChanged:
		return e.SessionID, coalesceKey{"domain", e.Domain}, true
	case TranscriptRows:
		return e.SessionID, coalesceKey{}, true
	case InteractionPending:
		return e.SessionID, coalesceKey{}, false
	case InteractionSettled:
		return e.SessionID, coalesceKey{}, false
	case SessionClosed:
		return e.SessionID, coalesceKey{}, false
	}
	return "", coalesceKey{}, false
}

// push appends an event. It reports true once when its session has overflowed: nothing live of it is taken until reopen.
func (q *queue) push(e Event) (overflow bool) {
	session, key, live := describe(e)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	w := q.of(session)
	switch e.(type) {
	case SessionOpened: // makes all earlier live events of its session void
		q.dropLive(w, session)
		w.overflowed = false
	case SessionClosed:
		w.overflowed = false
	}
	if live && w.overflowed {
		return false
	}
	if d, ok := e.(SessionDelta); ok && q.join(w, d) {
		return q.check(w, session)
	}
	defer q.compact()
	if old := w.byKey[key]; old != nil && key != (coalesceKey{}) {
		q.kill(w, old)
	}
	it := &item{event: e, session: session, key: key, live: live}
	q.items = append(q.items, it)
	w.last = it
	if key != (coalesceKey{}) {
		w.byKey[key] = it
	}
	if live {
		w.live++
		w.text += textOf(e)
		w.rows += rowsOf(e)
	}
	q.signal()
	return q.check(w, session)
}

func (q *queue) of(session string) *waiting {
	w := q.sessions[session]
	if w == nil {
		w = &waiting{byKey: make(map[coalesceKey]*item)}
		q.sessions[session] = w
	}
	return w
}

// join appends a delta's text to the one of the same stream that is the newest event of its session.
func (q *queue) join(w *waiting, d SessionDelta) bool {
	if w.last == nil {
		return false
	}
	old, ok := w.last.event.(SessionDelta)
	if !ok || d.Delta.Reset || old.Delta.Complete || old.Delta.Kind != d.Delta.Kind || old.Delta.MessageID != d.Delta.MessageID ||
		old.Delta.RunID != d.Delta.RunID || len(old.Delta.Text)+len(d.Delta.Text) > protocol.MaxDeltaBytes || d.Delta.StartOffset != old.Delta.StartOffset+utf16Len(old.Delta.Text) {
		return false
	}
	old.Delta.Text += d.Delta.Text
	old.Delta.Complete = d.Delta.Complete
	w.last.event = old
	w.text += len(d.Delta.Text)
	return true
}

func utf16Len(s string) (n int64) {
	for _, r := range s {
		n++
		if r > 0xffff {
			n++
		}
	}
	return n
}

func textOf(e Event) int {
	switch e := e.(type) {
	case SessionDelta:
		return len(e.Delta.Text)
	case ToolActivity:
		return len(e.Event.Chunk)
	}
	return 0
}

func rowsOf(e Event) (n int) {
	if e, ok := e.(TranscriptRows); ok {
		for _, r := range e.Rows {
			n += len(r.Raw)
		}
	}
	return n
}

func (q *queue) check(w *waiting, session string) (overflow bool) {
	if w.live <= maxWaitingEvents && w.text <= maxWaitingText && w.rows <= maxWaitingRows {
		return false
	}
	q.dropLive(w, session)
	w.overflowed = true
	q.signal()
	return true
}

func (q *queue) dropLive(w *waiting, session string) {
	if w.live == 0 {
		return
	}
	for _, it := range q.items {
		if it.session == session && it.live && it.event != nil {
			q.kill(w, it)
		}
	}
}

// kill takes an item's event away; its place in items goes later.
func (q *queue) kill(w *waiting, it *item) {
	w.forget(it)
	it.event = nil
	q.dead++
}

// compact drops the items without event when they are the greater part.
func (q *queue) compact() {
	if q.dead > 64 && q.dead > len(q.items)/2 {
		q.items = slices.DeleteFunc(q.items, func(it *item) bool { return it.event == nil })
		q.dead = 0
	}
}

func (w *waiting) forget(it *item) {
	if it.live {
		w.live--
		w.text -= textOf(it.event)
		w.rows -= rowsOf(it.event)
	}
	if w.byKey[it.key] == it {
		delete(w.byKey, it.key)
	}
	if w.last == it {
		w.last = nil
	}
}

// take returns the oldest event. When there is none, it returns the sessions that overflowed, once, to be opened anew.
func (q *queue) take() (e Event, overflowed []string, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.items) > 0 {
		it := q.items[0]
		q.items[0] = nil
		q.items = q.items[1:]
		if it.event == nil {
			q.dead--
			continue
		}
		w := q.sessions[it.session]
		w.forget(it)
		if w.live == 0 && len(w.byKey) == 0 && w.last == nil && !w.overflowed {
			delete(q.sessions, it.session)
		}
		return it.event, nil, false
	}
	for id, w := range q.sessions {
		if w.overflowed {
			overflowed = append(overflowed, id)
			delete(q.sessions, id)
		}
	}
	return nil, overflowed, q.closed
}

// next waits for the oldest event. reopen gets the sessions that overflowed, when all else has been taken.
func (q *queue) next(ctx context.Context, reopen func([]string)) (Event, error) {
	for {
		e, overflowed, closed := q.take()
		if e != nil {
			return e, nil
		}
		if len(overflowed) > 0 {
			reopen(overflowed)
			continue
		}
		if closed {
			q.signal() // for the next caller
			return nil, errorf(CodeClosed, "the connection was closed")
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// close lets what waits be taken, and then nothing.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.signal()
}
