package host

import (
	"encoding/json"

	"askback/host/broker"
	"askback/protocol"
)

// messageQueue is what waits in a session behind a running Turn. It belongs to this
// Host's life: its messages are named with the epoch, and a restart leaves none.
type messageQueue struct {
	revision int64
	entries  []queuedMessage
	bytes    int                        // about the JSON size of the entries
	known    map[string]submittedRecord // by message id, to recognise a repeat
	order    []string                   // of known
}

type queuedMessage struct {
	shown protocol.QueueEntry
	by    broker.Initiator
	size  int
}

type submittedRecord struct {
	payload string
	result  protocol.TurnMessageSubmitResult
}

func (q *messageQueue) show(epoch string) protocol.Queue {
	out := protocol.Queue{HostEpoch: epoch, QueueRevision: q.revision, Steering: []protocol.QueueEntry{}, Followup: []protocol.QueueEntry{}}
	for _, e := range q.entries {
		out.Followup = append(out.Followup, e.shown)
	}
	return out
}

// maxKnown bounds how many messages of a session are recognised when they are repeated.
const maxKnown = 4096

func (q *messageQueue) remember(id, payload string, result protocol.TurnMessageSubmitResult) {
	if q.known == nil {
		q.known = map[string]submittedRecord{}
	}
	q.known[id] = submittedRecord{payload, result}
	q.order = append(q.order, id)
	if len(q.order) > maxKnown {
		delete(q.known, q.order[0])
		q.order = q.order[1:]
	}
}

func (q *messageQueue) push(m queuedMessage) {
	q.entries = append(q.entries, m)
	q.bytes += m.size
	q.revision++
}

func (q *messageQueue) pop() (queuedMessage, bool) {
	if len(q.entries) == 0 {
		return queuedMessage{}, false
	}
	m := q.entries[0]
	q.entries = q.entries[1:]
	q.bytes -= m.size
	q.revision++
	return m, true
}

// clear drops what waits: who stops a Turn does not want the next one to start.
func (q *messageQueue) clear() {
	if len(q.entries) > 0 {
		q.entries, q.bytes = nil, 0
		q.revision++
	}
}

// turnMessageSubmit starts a Turn when the session is idle, else queues the message for
// its end. A Turn of /call lines cannot be steered, so a message for the current Turn
// follows it too.
func (h *Host) turnMessageSubmit(c *conn, in *protocol.TurnMessageSubmitInput) (protocol.Result, error) {
	if in.OriginHostEpoch != h.epoch {
		return nil, refusal(protocol.CodeOutcomeUnknown, "Message disposition cannot be proven in this Host Epoch")
	}
	s, err := h.lockSession(in.SessionID)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	payload := digest([]byte(contentDigest(in.Content)), []byte(in.Placement))
	if known, ok := s.queue.known[in.MessageID]; ok {
		if known.payload != payload {
			return nil, refusal(protocol.CodeOperationConflict, "Message identity has a different payload")
		}
		return &known.result, nil
	}
	var result protocol.TurnMessageSubmitResult
	if s.turn == nil || !s.turn.live() {
		id := h.id()
		if err := s.startTurn(id, in.Content, c.initiator(), false); err != nil {
			return nil, err
		}
		result = protocol.TurnMessageSubmitResult{Disposition: protocol.DispositionTurnStarted, TurnID: id}
	} else {
		m := h.newQueued(in, c.initiator())
		if len(s.queue.entries) >= protocol.MaxQueueEntries || s.snapshotSize()+m.size > protocol.MaxSnapshotBytes {
			return nil, refusal(protocol.CodeOperationConflict, "The session's queue is full")
		}
		s.queue.push(m)
		h.log.Info("message queued", "session", s.id, "message", in.MessageID)
		result = protocol.TurnMessageSubmitResult{Disposition: protocol.DispositionFollowup, QueueRevision: s.queue.revision}
		s.publishProjection()
	}
	s.queue.remember(in.MessageID, payload, result)
	return &result, nil
}

func (h *Host) newQueued(in *protocol.TurnMessageSubmitInput, by broker.Initiator) queuedMessage {
	m := queuedMessage{by: by, shown: protocol.QueueEntry{
		EntryID: h.id(), MessageID: in.MessageID, Content: in.Content, Placement: protocol.PlaceNextTurn, State: queueQueued,
	}}
	data, _ := json.Marshal(m.shown)
	m.size = len(data) + 1
	return m
}

const queueQueued = "queued"

// startQueued starts the next message's Turn, if one waits and the Host still serves.
// mu is held.
func (s *session) startQueued() {
	m, ok := s.queue.pop()
	if !ok {
		return
	}
	if err := s.startTurn(s.host.id(), m.shown.Content, m.by, true); err != nil {
		s.host.log.Warn("queued message dropped", "session", s.id, "message", m.shown.MessageID, "error", err.Error())
		s.publishProjection()
	}
}
