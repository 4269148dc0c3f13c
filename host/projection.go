package host

import (
	"fmt"

	"askback/protocol"
)

// snapshot is the complete state of the session as watchers see it, forms included. mu
// is held. The slices are new; what they hold is never changed.
func (s *session) snapshot() protocol.Snapshot {
	v := s.view.Load()
	snap := protocol.Snapshot{
		SchemaVersion: protocol.SnapshotSchemaVersion,
		Session: protocol.SnapshotSession{
			SessionID: s.id, MetadataRevision: s.rec.Revision, Status: v.status(),
			CreatedAt: s.rec.CreatedAt, LastUsedAt: s.rec.LastUsedAt,
		},
		ProjectionRevision: s.revision,
		Queue:              s.queue.show(s.host.epoch),
		Interactions:       protocol.Interactions{Pending: []protocol.Interaction{}},
	}
	if s.turn != nil {
		t := s.turnSnapshot()
		snap.RootTurn = &t
	}
	for _, in := range s.pending {
		snap.Interactions.Pending = append(snap.Interactions.Pending, in.shown)
	}
	return snap
}

// turnSnapshot shows the newest Turn; one with an open form waits for a person.
func (s *session) turnSnapshot() protocol.TurnSnapshot {
	t := s.turn.rec.snapshot(s.id)
	if t.Status == protocol.TurnRunning && len(s.pending) > 0 {
		t.Status = protocol.TurnWaitingForUser
	}
	return t
}

// snapshotBase is more than a snapshot takes without its queue and Interactions.
const snapshotBase = 2 << 10

// snapshotSize is about the JSON size of the snapshot, never less. mu is held.
func (s *session) snapshotSize() int {
	n := snapshotBase + s.queue.bytes
	for _, in := range s.pending {
		n += in.size + 1
	}
	return n
}

// sameProjection is the key under which a newer projection replaces one that waits.
const sameProjection = "projection"

// publishProjection shows the state to every watcher. mu is held.
func (s *session) publishProjection() {
	s.revision++
	if len(s.subs) == 0 {
		return
	}
	full, size := s.snapshot(), s.snapshotSize()
	for sub := range s.subs {
		snap := full.For(sub.conn.dialect)
		s.publish(sub, &protocol.SessionProjection{SubscriptionHeader: sub.header(), Snapshot: snap}, size, sameProjection)
	}
}

// eventSize is about what a small frame takes in a queue.
const eventSize = 512

// publishEvent shows tool activity to every watcher. mu is held. A later progress of the
// same call replaces one that waits.
func (s *session) publishEvent(runID string, event protocol.ToolEvent) {
	same := ""
	if event.Type == protocol.EventToolProgress {
		same = "progress " + event.ToolUseID
	}
	for sub := range s.subs {
		s.publish(sub, &protocol.SessionEvent{SubscriptionHeader: sub.header(), SessionID: s.id, RunID: runID, Event: event}, eventSize, same)
	}
}

// publishRows tells watchers of the transcript that rows are durable. mu is held.
func (s *session) publishRows() {
	through := s.through()
	if through == nil {
		return
	}
	for sub := range s.subs {
		if sub.tail {
			s.publish(sub, &protocol.TranscriptAdvanced{SubscriptionHeader: sub.header(), SessionID: s.id, ThroughSequence: *through}, eventSize, "")
		}
	}
}

// through is the sequence of the last durable row, nil before the first.
func (s *session) through() *int64 {
	if s.rec.Rows == 0 {
		return nil
	}
	n := s.rec.Rows - 1
	return &n
}

func stepsChunk(current, total int) string { return fmt.Sprintf("steps:%d/%d", current, total) }
