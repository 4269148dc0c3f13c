package testhost39

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"

	"askback/protocol"
)

// subscription is one open session on one connection.
type subscription struct {
	id      string
	conn    *conn
	session *session
	tail    bool // opened with transcript; only then told of new rows
	next    int64
}

// header takes the next place in the sequence.
func (s *subscription) header() protocol.SubscriptionHeader {
	h := protocol.SubscriptionHeader{HostEpoch: s.conn.h.epoch, SubscriptionID: s.id, Sequence: s.next}
	s.next++
	return h
}

func (s *subscription) send(f protocol.HostFrame) { s.conn.send(f) }

func (c *conn) open(in *protocol.SubscriptionOpenInput) (protocol.Result, *protocol.Error) {
	s := c.h.sessions[in.SessionID]
	switch {
	case s == nil:
		return nil, errInternal // not not_found, which one might expect
	case len(c.subscriptions) >= protocol.MaxSubscriptions:
		return nil, refusal(protocol.CodeOperationConflict, "Runtime Host connection subscription limit reached")
	}
	sub := &subscription{id: newID(), conn: c, session: s, tail: in.Transcript.Kind == protocol.TranscriptTail, next: 1}
	c.subscriptions[sub.id] = sub
	s.subscriptions = append(s.subscriptions, sub)
	out := &protocol.SubscriptionOpenResult{
		HostEpoch: c.h.epoch, SubscriptionID: sub.id, NextSequence: 1, Snapshot: s.snapshot(),
		ActiveAssistantStreams: []protocol.AssistantStream{},
	}
	if s.turn != nil && s.turn.streaming != "" {
		out.ActiveAssistantStreams = append(out.ActiveAssistantStreams, protocol.AssistantStream{
			Kind: protocol.DeltaText, TurnID: s.turn.id, MessageID: s.turn.streaming,
		})
	}
	if in.Transcript.Kind == protocol.TranscriptTail {
		out.Transcript = &protocol.SubscriptionTranscript{
			ThroughSequence:     s.through(),
			OverlayMessageCount: int64(len(s.overlay)),
			Durable:             s.pageOf(protocol.SourceDurable, sub.id, spot{len(s.rows), -1}, protocol.DirectionOlder, in.Transcript.MaxBytes),
			Overlay:             s.pageOf(protocol.SourceOverlay, sub.id, spot{len(s.overlay), -1}, protocol.DirectionOlder, in.Transcript.MaxBytes),
		}
	}
	return out, nil
}

func (c *conn) close(id string) {
	if sub := c.subscriptions[id]; sub != nil {
		delete(c.subscriptions, id)
		sub.session.forget(sub)
	}
}

func (s *session) forget(sub *subscription) {
	s.subscriptions = slices.DeleteFunc(s.subscriptions, func(o *subscription) bool { return o == sub })
}

func (s *session) through() *int64 {
	if len(s.rows) == 0 {
		return nil
	}
	n := int64(len(s.rows))
	return &n
}

// spot is a place in the rows: row counts from 1, end is how many of its bytes
// are still to come (older) or have come (newer); -1 is the whole row.
type spot struct{ row, end int }

func (s *session) cursor(sub, source, direction string, at spot) *string {
	c := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%s %s %s %d %d", sub, source, direction, at.row, at.end))
	return &c
}

func (c *conn) page(in *protocol.TranscriptPageInput) (protocol.Result, *protocol.Error) {
	sub := c.subscriptions[in.SubscriptionID]
	if sub == nil {
		return nil, refusal(protocol.CodeNotFound, "Session subscription was not found")
	}
	errCursor := refusal(protocol.CodeInvalidRequest, "Invalid transcript cursor")
	s := sub.session
	rows := len(s.rowsOf(in.Source))
	if in.Cursor != nil && in.AnchorSequence != nil {
		return nil, errCursor
	}
	at := spot{min(rows, int(in.ThroughSequence)), -1}
	if in.Direction == protocol.DirectionNewer {
		at = spot{1, 0}
	}
	switch {
	case in.Cursor != nil:
		var id, source, direction string
		data, err := base64.RawURLEncoding.DecodeString(*in.Cursor)
		if _, scan := fmt.Sscanf(string(data), "%s %s %s %d %d", &id, &source, &direction, &at.row, &at.end); err != nil || scan != nil ||
			id != sub.id || source != in.Source || direction != in.Direction || at.row < 1 || at.row > rows {
			return nil, errCursor
		}
	case in.AnchorSequence != nil && in.Direction == protocol.DirectionNewer:
		at = spot{int(*in.AnchorSequence) + 1, 0}
	case in.AnchorSequence != nil:
		at = spot{min(rows, int(*in.AnchorSequence)-1), -1}
	}
	page := s.pageOf(in.Source, sub.id, at, in.Direction, in.MaxBytes)
	through := in.ThroughSequence
	page.ThroughSequence = &through
	return &page, nil
}

func (s *session) rowsOf(source string) [][]byte {
	if source == protocol.SourceOverlay {
		return s.overlay
	}
	return s.rows
}

// pageOf cuts a page of at most maxBytes. Going older, a row that does not fit
// comes as its tail first.
func (s *session) pageOf(source, sub string, at spot, direction string, maxBytes int) protocol.TranscriptPage {
	page := protocol.TranscriptPage{
		Kind: protocol.KindPage, SessionID: s.item.ID, Source: source, Direction: direction,
		ThroughSequence: s.through(), Fragments: []protocol.Fragment{},
	}
	rows := s.rowsOf(source)
	left := maxBytes
	for at.row >= 1 && at.row <= len(rows) {
		row := rows[at.row-1]
		if left == 0 || len(page.Fragments) == protocol.MaxPageRows {
			page.NextCursor = s.cursor(sub, source, direction, at)
			break
		}
		from, to := 0, len(row)
		if direction == protocol.DirectionOlder {
			if at.end >= 0 {
				to = at.end
			}
			from = max(0, to-left)
		} else {
			from = max(0, at.end)
			to = min(len(row), from+left)
		}
		f := protocol.Fragment{Kind: source, ByteOffset: int64(from), TotalBytes: int64(len(row)), Data: row[from:to]}
		if source == protocol.SourceDurable {
			f.Sequence = int64(at.row)
		} else {
			f.MessageIndex = int64(at.row - 1)
		}
		page.Fragments = append(page.Fragments, f)
		page.RawBytes += int64(to - from)
		left -= to - from
		switch {
		case direction == protocol.DirectionOlder && from > 0:
			at.end = from
		case direction == protocol.DirectionOlder:
			at = spot{at.row - 1, -1}
		case to < len(row):
			at.end = to
		default:
			at = spot{at.row + 1, 0}
		}
	}
	return page
}

// snapshot is the complete state of the session.
func (s *session) snapshot() protocol.Snapshot {
	snap := protocol.Snapshot{
		SchemaVersion: protocol.SnapshotSchemaVersion,
		Session: protocol.SnapshotSession{
			SessionID: s.item.ID, MetadataRevision: s.item.Revision, Status: s.item.Status,
			CreatedAt: s.item.CreatedAt, LastUsedAt: s.item.LastUsedAt,
		},
		ProjectionRevision: s.projection,
		Queue: protocol.Queue{
			HostEpoch: s.h.epoch, QueueRevision: s.queue,
			Steering: append([]protocol.QueueEntry{}, s.steering...), Followup: append([]protocol.QueueEntry{}, s.followup...),
		},
		Interactions: protocol.Interactions{Pending: []protocol.Interaction{}},
	}
	if t := cmp.Or(s.turn, s.lastTurn); t != nil {
		turn := t.visible()
		snap.RootTurn = &turn
	}
	for _, i := range s.pending {
		snap.Interactions.Pending = append(snap.Interactions.Pending, *i.snapshot())
	}
	return snap
}

// project sends the present state to every subscriber.
func (s *session) project() {
	s.projection++
	for _, sub := range s.subscriptions {
		sub.send(&protocol.SessionProjection{SubscriptionHeader: sub.header(), Snapshot: s.snapshot()})
	}
}

// addRow makes a row durable and tells the subscribers.
func (s *session) addRow(row *protocol.Row) {
	data, err := protocol.EncodeRow(row)
	if err != nil {
		panic("testhost39: " + err.Error())
	}
	s.rows = append(s.rows, data)
	for _, sub := range s.subscriptions {
		if sub.tail {
			sub.send(&protocol.TranscriptAdvanced{SubscriptionHeader: sub.header(), SessionID: s.item.ID, ThroughSequence: int64(len(s.rows))})
		}
	}
}

func (s *session) delta(d protocol.Delta) {
	for _, sub := range s.subscriptions {
		sub.send(&protocol.SessionDelta{SubscriptionHeader: sub.header(), SessionID: s.item.ID, Delta: d})
	}
}

func (s *session) event(run string, e protocol.ToolEvent) {
	for _, sub := range s.subscriptions {
		sub.send(&protocol.SessionEvent{SubscriptionHeader: sub.header(), SessionID: s.item.ID, RunID: run, Event: e})
	}
}
