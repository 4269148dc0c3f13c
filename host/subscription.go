package host

import (
	bolt "go.etcd.io/bbolt"

	"askback/protocol"
)

// A subscription is one connection's watch on one session. The session's mu guards its
// place in the session; its queue belongs to the connection's outbox.
type subscription struct {
	id      string
	session *session
	conn    *conn
	tail    bool // has a transcript, so it hears when that advances
	queue   subQueue
}

func (s *subscription) header() protocol.SubscriptionHeader {
	return protocol.SubscriptionHeader{HostEpoch: s.session.host.epoch, SubscriptionID: s.id}
}

// subscriptionOpen answers with the session's state and adds the watcher in one step, so
// that the response precedes every frame and no change falls between them.
func (h *Host) subscriptionOpen(c *conn, req *protocol.Request) (protocol.Result, error) {
	in, ok := req.Input.(*protocol.SubscriptionOpenInput)
	if !ok {
		return nil, errMalformed
	}
	s, err := h.lockSession(in.SessionID)
	if err != nil {
		return nil, refusal(protocol.CodeInternalFailure, "Runtime Host operation failed") // as the protocol has it for an unknown session
	}
	defer s.mu.Unlock()
	sub := &subscription{id: h.id(), session: s, conn: c, tail: in.Transcript.Kind == protocol.TranscriptTail, queue: subQueue{next: 1}}
	sub.queue.header = sub.header()
	result := &protocol.SubscriptionOpenResult{
		HostEpoch: h.epoch, SubscriptionID: sub.id, NextSequence: 1,
		Snapshot: s.snapshot().For(c.dialect), ActiveAssistantStreams: []protocol.AssistantStream{},
	}
	if sub.tail {
		if result.Transcript, err = s.openTranscript(sub, in.Transcript.MaxBytes); err != nil {
			return nil, err
		}
	}
	if !c.remember(sub) {
		return nil, refusal(protocol.CodeOperationConflict, "Runtime Host connection subscription limit reached")
	}
	c.respond(req, result, nil)
	if s.subs == nil {
		s.subs = map[*subscription]struct{}{}
	}
	s.subs[sub] = struct{}{}
	return nil, errAnswered
}

func (s *session) openTranscript(sub *subscription, maxBytes int) (*protocol.SubscriptionTranscript, error) {
	through := s.through()
	out := &protocol.SubscriptionTranscript{
		ThroughSequence: through,
		Durable:         emptyPage(s.id, protocol.SourceDurable, protocol.DirectionOlder, through),
		Overlay:         emptyPage(s.id, protocol.SourceOverlay, protocol.DirectionOlder, through),
	}
	if through == nil {
		return out, nil
	}
	err := s.host.store.read(func(tx *bolt.Tx) error {
		var err error
		out.Durable, err = s.page(tx, sub, &protocol.TranscriptPageInput{
			Source: protocol.SourceDurable, Direction: protocol.DirectionOlder, ThroughSequence: *through, MaxBytes: maxBytes,
		})
		return err
	})
	if err != nil {
		return nil, s.host.unreadable("subscription.open", err)
	}
	return out, nil
}

func (h *Host) subscriptionClose(c *conn, in *protocol.SubscriptionCloseInput) (protocol.Result, error) {
	if sub := c.subscription(in.SubscriptionID); sub != nil {
		sub.session.mu.Lock()
		delete(sub.session.subs, sub)
		sub.session.mu.Unlock()
		c.out.drop(&sub.queue)
		c.forget(sub)
	}
	return &protocol.SubscriptionCloseResult{SubscriptionID: in.SubscriptionID}, nil
}

// remember adds a subscription to its connection, within the limit.
func (c *conn) remember(sub *subscription) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.subs) >= protocol.MaxSubscriptions {
		return false
	}
	c.subs[sub.id] = sub
	return true
}

func (c *conn) forget(sub *subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.subs, sub.id)
}

func (c *conn) subscription(id string) *subscription {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.subs[id]
}

// unsubscribe takes an ended connection's subscriptions out of their sessions.
func (c *conn) unsubscribe() {
	c.mu.Lock()
	subs := c.subs
	c.subs = map[string]*subscription{}
	c.mu.Unlock()
	for _, sub := range subs {
		sub.session.mu.Lock()
		delete(sub.session.subs, sub)
		sub.session.mu.Unlock()
	}
}

// publish queues a frame for one watcher; one that does not keep up is cut off, and its
// connection goes on. mu is held.
func (s *session) publish(sub *subscription, frame protocol.SubscriptionFrame, size int, same string) {
	if !sub.conn.out.publish(&sub.queue, frame, size, same) {
		delete(s.subs, sub)
		sub.conn.forget(sub)
		sub.conn.log.Info("subscription ended", "subscription", sub.id, "session", s.id, "reason", protocol.ClosedSlowConsumer)
	}
}
