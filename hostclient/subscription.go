package hostclient

import (
	"context"
	"time"

	"askback/protocol"
)

// subPhase is where a shown session is: subIdle → subOpening → subOpen → subOpening (gap, slow, lagging) …; any → subIdle
// when the connection ends.
type subPhase int

const (
	subIdle    subPhase = iota // no connection
	subOpening                 // subscription.open is asked or about to be
	subOpen
)

// ShowOptions say how a session is shown.
type ShowOptions struct {
	// Rows wants the transcript: its newest rows at each open, then what is added.
	Rows bool
	// TailBytes is how much transcript comes with an open, at most protocol.MaxTailBytes, which 0 means.
	TailBytes int
}

// subscription is a session that is shown, over all connections. The View's lock guards it.
type subscription struct {
	session string
	opts    ShowOptions
	phase   subPhase
	id      string // of the present subscription, in subOpen
	next    int64  // the sequence that must come next
	attempt int    // numbers the opens, so that a late answer to an older one is known as such
	opened  bool   // SessionOpened was told before
	lagging bool   // live events are dropped until the next open
	stormy  int    // opens in a row that did not last
	since   time.Time

	result chan error // of the first open; one slot, nil once used
	rows   *rowFeed   // in subOpen, with opts.Rows
}

func (s *subscription) request() protocol.TranscriptRequest {
	if !s.opts.Rows {
		return protocol.TranscriptRequest{Kind: protocol.TranscriptNone}
	}
	tail := s.opts.TailBytes
	if tail == 0 {
		tail = protocol.MaxTailBytes
	}
	return protocol.TranscriptRequest{Kind: protocol.TranscriptTail, MaxBytes: tail}
}

func (s *subscription) lost() {
	s.phase, s.id = subIdle, ""
	s.attempt++
	s.rows.stop()
	s.rows = nil
}

func (s *subscription) settleFirst(err error) {
	if s.result != nil {
		s.result <- err
		s.result = nil
	}
}

// Show opens a session and keeps it open: SessionOpened is told now and after each loss. It returns when the session is
// open, or why it cannot be; a session that is shown already stays as it is. A connection holds
// protocol.MaxSubscriptions. When ctx ends before the session is open, it is not shown.
func (v *View) Show(ctx context.Context, sessionID string, opts ShowOptions) error {
	if !validID(sessionID) {
		return errorf(CodeTooLarge, "a session id is 1 to 128 letters, digits, dashes and underscores")
	}
	result := make(chan error, 1)
	v.mu.Lock()
	switch {
	case v.closed:
		v.mu.Unlock()
		return errorf(CodeClosed, "the connection was closed")
	case v.sessions[sessionID] != nil:
		v.mu.Unlock()
		return nil
	}
	s := &subscription{session: sessionID, opts: opts, result: result}
	v.sessions[sessionID] = s
	if v.link != nil {
		v.open(s, 0)
	}
	v.mu.Unlock()
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		v.drop(s)
		return context.Cause(ctx)
	case <-v.ctx.Done():
		return errorf(CodeClosed, "the connection was closed")
	}
}

// Hide closes a session that is shown. What waits of its events may still come.
func (v *View) Hide(sessionID string) {
	v.mu.Lock()
	s := v.sessions[sessionID]
	v.mu.Unlock()
	if s != nil {
		v.drop(s)
	}
}

func (v *View) drop(s *subscription) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.sessions[s.session] != s {
		return
	}
	v.abandon(s)
	v.remove(s)
	v.tracker.forget(s.session)
}

// remove takes a subscription out of the View. v.mu is held.
func (v *View) remove(s *subscription) {
	delete(v.sessions, s.session)
	delete(v.byID, s.id)
	s.lost()
}

// abandon gives the present subscription back to the Host, which holds few a connection. v.mu is held.
func (v *View) abandon(s *subscription) {
	if s.phase == subOpen && v.link != nil {
		delete(v.byID, s.id)
		v.giveBack(v.link, s.id)
	}
}

// giveBack closes a subscription at the Host without waiting. v.mu is held.
func (v *View) giveBack(l *link, id string) {
	v.spawn(func() { l.do(v.ctx, &protocol.SubscriptionCloseInput{SubscriptionID: id}, nil) })
}

// open asks for a subscription after a pause. v.mu is held, and there is a link.
func (v *View) open(s *subscription, pause time.Duration) {
	s.phase, s.id = subOpening, ""
	s.attempt++
	s.rows.stop()
	s.rows = nil
	attempt, l, ctx := s.attempt, v.link, v.linkCtx
	v.spawn(func() {
		if pause > 0 {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return
			}
		}
		in := &protocol.SubscriptionOpenInput{SessionID: s.session, Transcript: s.request()}
		_, err := l.do(ctx, in, func(r protocol.Result) { v.arrived(l, s, attempt, r.(*protocol.SubscriptionOpenResult)) })
		if err != nil {
			v.openFailed(ctx, s, attempt, err)
		}
	})
}

// reopen replaces a subscription, more slowly the shorter the last ones lived. v.mu is held.
func (v *View) reopen(s *subscription) {
	if v.link == nil {
		return
	}
	v.abandon(s)
	v.open(s, s.pause(time.Now()))
}

func (s *subscription) pause(now time.Time) time.Duration {
	if now.Sub(s.since) > 10*time.Second {
		s.stormy = 0
		return 0
	}
	s.stormy++
	if s.stormy == 1 {
		return 0
	}
	return min(250*time.Millisecond<<min(s.stormy, 6), 10*time.Second)
}

func (v *View) reopenAll(sessions []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, id := range sessions {
		if s := v.sessions[id]; s != nil && s.lagging && s.phase == subOpen {
			v.reopen(s)
		}
	}
}

// arrived takes the answer to an open in, on the reader's goroutine: the next frame may be the subscription's.
func (v *View) arrived(l *link, s *subscription, attempt int, r *protocol.SubscriptionOpenResult) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case r.HostEpoch != l.host.HostEpoch:
		l.end(violation("the Host opened a subscription in another epoch than it accepted us in"))
		return
	case r.Snapshot.Session.SessionID != s.session:
		l.end(violation("the Host opened another session than was asked for"))
		return
	case v.link != l:
		return
	case v.sessions[s.session] != s || s.attempt != attempt:
		v.giveBack(l, r.SubscriptionID)
		return
	}
	s.phase, s.id, s.next, s.lagging, s.since = subOpen, r.SubscriptionID, r.NextSequence, false, time.Now()
	v.byID[s.id] = s
	again := s.opened
	s.opened = true
	tell, ask := v.tracker.snapshot(s.session, &r.Snapshot.Interactions.Pending, true)
	v.push(s, SessionOpened{SessionID: s.session, HostEpoch: r.HostEpoch, Snapshot: r.Snapshot, Streams: r.ActiveAssistantStreams, Again: again})
	v.tell(tell, ask)
	if s.opts.Rows && r.Transcript != nil {
		s.rows = v.feed(s, r.Transcript)
	}
	s.settleFirst(nil)
}

// openFailed decides what a refused open means. An unknown session is not_found in one Host and internal_failure in
// another, so the latter is believed at once only for a session that never was open.
func (v *View) openFailed(ctx context.Context, s *subscription, attempt int, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if lost(err) || ctx.Err() != nil || v.sessions[s.session] != s || s.attempt != attempt || v.link == nil {
		return // the next connection opens it
	}
	passing := false
	switch RefusalOf(err) {
	case protocol.CodeHostNotReady, protocol.CodeHostDraining, protocol.CodeProjectionIncomplete:
		passing = true
	case protocol.CodeInternalFailure, protocol.CodePersistenceFailed, protocol.CodeOperationConflict:
		passing = s.opened && s.stormy < 6
	}
	if passing {
		s.stormy++
		v.open(s, min(250*time.Millisecond<<min(s.stormy, 6), 10*time.Second))
		return
	}
	if s.opened {
		v.events.push(SessionClosed{SessionID: s.session, Err: err})
		v.ended(s)
	} else {
		v.remove(s)
	}
	s.settleFirst(err)
}

// ended removes a session that the Host shows no more, and asks about what was pending in it. v.mu is held.
func (v *View) ended(s *subscription) {
	v.remove(s)
	v.tell(nil, v.tracker.missing(s.session, nil))
}

// receiveSubscription is on the reader's goroutine.
func (v *View) receiveSubscription(f protocol.SubscriptionFrame) *Error {
	h := f.Header()
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.byID[h.SubscriptionID]
	if s == nil {
		return nil // one that we have given back: its last frames may be under way
	}
	if h.HostEpoch != v.link.host.HostEpoch {
		return violation("the Host sent a frame of another epoch")
	}
	if h.Sequence != s.next {
		v.keeper.dialer.log.Warn("subscription lost frames", "expected", s.next, "got", h.Sequence)
		v.reopen(s)
		return nil
	}
	s.next++
	return v.apply(s, f)
}

func (v *View) apply(s *subscription, f protocol.SubscriptionFrame) *Error {
	switch f := f.(type) {
	case *protocol.SessionProjection:
		if f.Snapshot.Session.SessionID != s.session {
			return violation("the Host sent the snapshot of another session")
		}
		tell, ask := v.tracker.snapshot(s.session, &f.Snapshot.Interactions.Pending, false)
		v.push(s, SessionChanged{s.session, f.Snapshot})
		v.tell(tell, ask)
	case *protocol.SessionDelta:
		v.push(s, SessionDelta{s.session, f.Delta})
	case *protocol.SessionEvent:
		v.push(s, ToolActivity{s.session, f.RunID, f.Event})
	case *protocol.TranscriptAdvanced:
		s.rows.advance(f.ThroughSequence)
	case *protocol.SessionDomainChanged:
		v.push(s, DomainChanged{s.session, f.Domain})
	case *protocol.SubscriptionClosed:
		delete(v.byID, s.id)
		s.phase = subIdle // nothing to give back
		if f.Reason == protocol.ClosedSessionRemoved {
			v.events.push(SessionClosed{SessionID: s.session, Reason: f.Reason})
			v.ended(s)
		} else {
			v.reopen(s)
		}
	}
	return nil
}

// push queues an event of a session, unless the session waits to be opened anew. v.mu is held.
func (v *View) push(s *subscription, e Event) {
	if s.lagging {
		return
	}
	if v.events.push(e) {
		v.keeper.dialer.log.Warn("events are not taken; the session will be opened again")
		s.lagging = true
	}
}

// tell queues what is pending and asks the Host about what no longer is. v.mu is held.
func (v *View) tell(pending []InteractionPending, ask []string) {
	for _, p := range pending {
		v.events.push(p)
	}
	for _, id := range ask {
		v.resolve(id)
	}
}
