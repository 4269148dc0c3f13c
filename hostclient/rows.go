package hostclient

import (
	"context"
	"slices"
	"sync"

	"askback/protocol"
)

// pageBytes is how much transcript one request asks for.
const pageBytes = 256 << 10

// rowFeed brings the rows of one open subscription: the tail that came with it, then what is added. One goroutine does
// that; it ends with the subscription. OlderRows reads in the other direction.
type rowFeed struct {
	link    *link
	session string
	id      string // the subscription's
	tell    func(TranscriptRows)
	ctx     context.Context
	cancel  context.CancelFunc

	mu      sync.Mutex
	through int64 // rows exist up to here; -1: none
	wake    chan struct{}

	older sync.Mutex // held while reading older rows; guards what follows
	join  *joiner
	page  *protocol.TranscriptPage // the last one read
}

// feed starts the rows of a subscription that has just been opened. v.mu is held.
func (v *View) feed(s *subscription, t *protocol.SubscriptionTranscript) *rowFeed {
	ctx, cancel := context.WithCancel(v.linkCtx)
	f := &rowFeed{
		link: v.link, session: s.session, id: s.id, ctx: ctx, cancel: cancel, through: -1,
		wake: make(chan struct{}, 1), join: newJoiner(protocol.SourceDurable, protocol.DirectionOlder),
	}
	f.tell = func(rows TranscriptRows) {
		v.mu.Lock()
		defer v.mu.Unlock()
		if s.rows == f {
			v.push(s, rows)
		}
	}
	v.spawn(func() { f.run(t) })
	return f
}

// stop ends the feed; a nil feed has nothing to end.
func (f *rowFeed) stop() {
	if f != nil {
		f.cancel()
	}
}

// advance says that rows exist up to a sequence. It does not wait.
func (f *rowFeed) advance(through int64) {
	if f == nil {
		return
	}
	f.mu.Lock()
	f.through = max(f.through, through)
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *rowFeed) run(t *protocol.SubscriptionTranscript) {
	last, err := f.start(t)
	for err == nil {
		f.mu.Lock()
		through := f.through
		f.mu.Unlock()
		if through > last {
			last, err = f.newer(last, through)
			continue
		}
		select {
		case <-f.wake:
		case <-f.ctx.Done():
			return
		}
	}
	if f.ctx.Err() == nil && !lost(err) {
		f.tell(TranscriptRows{SessionID: f.session, Err: err})
	}
}

// start tells the tail, and returns the sequence of its newest row.
func (f *rowFeed) start(t *protocol.SubscriptionTranscript) (last int64, err error) {
	f.older.Lock()
	f.page = &t.Durable
	rows, err := f.readOlder(f.ctx, &t.Durable, 0)
	more := f.page.NextCursor != nil
	f.older.Unlock()
	if err != nil {
		return -1, err
	}
	overlay, err := f.overlay(&t.Overlay)
	if err != nil {
		return -1, err
	}
	f.tell(TranscriptRows{SessionID: f.session, Rows: rows, Reset: true, HasOlder: more, Overlay: overlay})
	last = -1
	if len(rows) > 0 {
		last = rows[len(rows)-1].Index
	}
	if t.ThroughSequence != nil {
		f.advance(*t.ThroughSequence)
	}
	return last, nil
}

// readOlder takes a page in, and further ones until there is a whole row or no more to read. Oldest first.
func (f *rowFeed) readOlder(ctx context.Context, page *protocol.TranscriptPage, maxBytes int) (rows []Row, err error) {
	for {
		got, bad := f.join.add(page.Fragments)
		if bad != nil {
			return nil, bad
		}
		rows = append(rows, got...)
		f.page = page
		if page.NextCursor == nil || len(rows) > 0 {
			slices.Reverse(rows)
			return rows, nil
		}
		if page, err = f.ask(ctx, page, maxBytes); err != nil {
			return nil, err
		}
	}
}

// ask reads the page after one.
func (f *rowFeed) ask(ctx context.Context, after *protocol.TranscriptPage, maxBytes int) (*protocol.TranscriptPage, error) {
	if maxBytes == 0 {
		maxBytes = pageBytes
	}
	in := &protocol.TranscriptPageInput{
		SubscriptionID: f.id, Source: after.Source, Direction: after.Direction, Cursor: after.NextCursor, MaxBytes: maxBytes,
	}
	if after.ThroughSequence != nil {
		in.ThroughSequence = *after.ThroughSequence
	}
	r, err := f.link.do(ctx, in, nil)
	if err != nil {
		return nil, err
	}
	return checkPage(after, r.(*protocol.TranscriptPage))
}

func checkPage(asked, got *protocol.TranscriptPage) (*protocol.TranscriptPage, error) {
	switch {
	case got.Source != asked.Source || got.Direction != asked.Direction:
		return nil, violation("the Host answered with a transcript page of another kind than was asked for")
	case len(got.Fragments) == 0 && got.NextCursor != nil:
		return nil, violation("the Host sent an empty transcript page that is not the last")
	}
	return got, nil
}

// overlay reads the rows that are not durable yet, and lets the Host free them.
func (f *rowFeed) overlay(page *protocol.TranscriptPage) (rows []Row, err error) {
	if len(page.Fragments) == 0 && page.NextCursor == nil {
		return nil, nil
	}
	join := newJoiner(protocol.SourceOverlay, page.Direction)
	for {
		got, bad := join.add(page.Fragments)
		if bad != nil {
			return nil, bad
		}
		rows = append(rows, got...)
		if page.NextCursor == nil {
			break
		}
		if page, err = f.ask(f.ctx, page, 0); err != nil {
			return nil, err
		}
	}
	if join.older {
		slices.Reverse(rows)
	}
	_, err = f.link.do(f.ctx, &protocol.TranscriptOverlayReleaseInput{SubscriptionID: f.id}, nil)
	if RefusalOf(err) != "" {
		err = nil // the Host frees it with the subscription
	}
	return rows, err
}

// newer tells the durable rows after last up to through, a page at a time.
func (f *rowFeed) newer(last, through int64) (int64, error) {
	in := &protocol.TranscriptPageInput{
		SubscriptionID: f.id, Source: protocol.SourceDurable, Direction: protocol.DirectionNewer,
		ThroughSequence: through, MaxBytes: pageBytes,
	}
	if last >= 0 {
		in.AnchorSequence = &last
	}
	r, err := f.link.do(f.ctx, in, nil)
	if err != nil {
		return last, err
	}
	page := &protocol.TranscriptPage{Source: in.Source, Direction: in.Direction}
	if page, err = checkPage(page, r.(*protocol.TranscriptPage)); err != nil {
		return last, err
	}
	join := newJoiner(protocol.SourceDurable, protocol.DirectionNewer)
	for {
		rows, bad := join.add(page.Fragments)
		if bad != nil {
			return last, bad
		}
		if len(rows) > 0 {
			if rows[0].Index <= last {
				return last, violation("the Host sent transcript rows that it sent before")
			}
			f.tell(TranscriptRows{SessionID: f.session, Rows: rows})
		}
		if page.NextCursor == nil {
			return through, nil
		}
		if page, err = f.ask(f.ctx, page, 0); err != nil {
			return last, err
		}
	}
}

// OlderRows reads rows before those that have been told or read, oldest first, about maxBytes of them (0: a default).
// more is whether there are still older ones. The session must be shown with Rows; each open starts over from the newest.
func (v *View) OlderRows(ctx context.Context, sessionID string, maxBytes int) (rows []Row, more bool, err error) {
	v.mu.Lock()
	s := v.sessions[sessionID]
	var f *rowFeed
	if s != nil {
		f = s.rows
	}
	v.mu.Unlock()
	if f == nil {
		return nil, false, errorf(CodeNotSubscribed, "the session is not open with its transcript now")
	}
	f.older.Lock()
	defer f.older.Unlock()
	if f.page == nil || f.page.NextCursor == nil {
		return nil, false, nil
	}
	page, err := f.ask(ctx, f.page, min(maxBytes, protocol.MaxPageBytes))
	if err != nil {
		return nil, true, err
	}
	if rows, err = f.readOlder(ctx, page, min(maxBytes, protocol.MaxPageBytes)); err != nil {
		return nil, true, err
	}
	return rows, f.page.NextCursor != nil, nil
}
