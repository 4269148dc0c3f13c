package host

import (
	"bytes"
	"encoding/json"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"askback/protocol"
)

// row is one transcript row as it is stored: exactly the bytes that are paged out.
type row []byte

func newRow(v any) row {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("host: a row does not encode: " + err.Error())
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// rowHead is what every row starts with.
type rowHead struct {
	Type   string `json:"type"`
	ID     string `json:"id"`
	TurnID string `json:"turnId,omitempty"`
	TS     int64  `json:"ts"`
}

type userRow struct {
	rowHead
	Text        string `json:"text"`
	DisplayText string `json:"displayText,omitempty"`
}

type turnStateRow struct {
	rowHead
	Status        string `json:"status"`
	AbortedAt     int64  `json:"abortedAt,omitempty"`
	AbortSource   string `json:"abortSource,omitempty"`
	FailureClass  string `json:"failureClass,omitempty"`
	FailureText   string `json:"failureMessage,omitempty"`
	PartialOutput bool   `json:"partialOutputRetained"`
}

type noteRow struct {
	rowHead
	Kind string         `json:"kind"`
	Data map[string]any `json:"data,omitempty"`
}

type toolCallRow struct {
	rowHead
	ToolName        string          `json:"toolName"`
	Origin          string          `json:"origin"`
	ModelVisibility string          `json:"modelVisibility"`
	ActivityKind    string          `json:"activityKind,omitempty"`
	DisplayName     string          `json:"displayName,omitempty"`
	Args            json.RawMessage `json:"args"`
}

type toolResultRow struct {
	rowHead
	ToolUseID       string     `json:"toolUseId"`
	IsError         bool       `json:"isError"`
	Content         rowContent `json:"content"`
	DurationMs      *int64     `json:"durationMs,omitempty"`
	Origin          string     `json:"origin"`
	ModelVisibility string     `json:"modelVisibility"`
}

type rowContent struct {
	Kind      string            `json:"kind"`
	Text      *string           `json:"text,omitempty"`
	Uncertain *uncertainOutcome `json:"uncertainOutcome,omitempty"`
	Value     json.RawMessage   `json:"value,omitempty"`
}

type uncertainOutcome struct {
	Code      string `json:"code"`
	RetrySafe bool   `json:"retrySafe"`
}

// failureContent is the content of a call that failed.
func failureContent(message string, uncertain bool) rowContent {
	c := rowContent{Kind: protocol.RowContentText, Text: &message}
	if uncertain {
		c.Uncertain = &uncertainOutcome{Code: string(protocol.CodeOutcomeUnknown)}
	}
	return c
}

const (
	originProvider = "provider"
	visible        = "visible"
	noteAbort      = "abort"
	noteUnreadable = "row_unreadable"
)

// appendRows writes rows after the next sequences of rec and counts them in it.
func appendRows(tx *bolt.Tx, sessionID string, from int64, rows []row) error {
	b := tx.Bucket(bucketRows)
	for i, r := range rows {
		if err := b.Put(rowKey(sessionID, from+int64(i)), r); err != nil {
			return err
		}
	}
	return nil
}

// isRow reports whether stored bytes are a row. A page of the store may be whole while what it holds is not.
func isRow(data []byte) bool {
	var head rowHead
	return json.Unmarshal(data, &head) == nil && head.Type != "" && head.ID != ""
}

// unreadableRow stands in for a row that is none, so that a client learns of the gap and can show the rest.
func (s *session) unreadableRow(sequence int64) row {
	return newRow(noteRow{
		rowHead: rowHead{Type: protocol.RowSystemNote, ID: fmt.Sprintf("unreadable-%d", sequence), TS: s.view.Load().rec.CreatedAt},
		Kind:    noteUnreadable,
	})
}

// pageCursor is where the next page starts: a row, and the byte before which (older) or
// from which (newer) it is still owed. It is good for one subscription.
type pageCursor struct {
	Kind         string `json:"kind"`
	Subscription string `json:"subscriptionId"`
	Direction    string `json:"direction"`
	Through      int64  `json:"throughSequence"`
	Position     int64  `json:"position"`
	ByteOffset   int64  `json:"byteOffset"`
	Unreadable   bool   `json:"unreadable,omitempty"` // what is owed is of a note in the row's place
}

const cursorRows = "rows"

var errBadCursor = refusal(protocol.CodeInvalidRequest, "Invalid transcript cursor")

func (h *Host) transcriptPage(c *conn, in *protocol.TranscriptPageInput) (protocol.Result, error) {
	if !c.waitRoom(2 * in.MaxBytes) {
		return nil, errAnswered
	}
	sub := c.subscription(in.SubscriptionID)
	if sub == nil {
		return nil, refusal(protocol.CodeNotFound, "Session subscription was not found")
	}
	if in.Source == protocol.SourceOverlay {
		// Rows are durable before they are shown, so nothing is ever laid over them.
		if in.Cursor != nil {
			return nil, errBadCursor
		}
		page := emptyPage(sub.session.id, in.Source, in.Direction, &in.ThroughSequence)
		return &page, nil
	}
	var page protocol.TranscriptPage
	err := h.store.read(func(tx *bolt.Tx) error {
		var err error
		page, err = sub.session.page(tx, sub, in)
		return err
	})
	if err != nil {
		return nil, h.unreadable("session.transcript.page", err)
	}
	return &page, nil
}

func (h *Host) transcriptOverlayRelease(c *conn, in *protocol.TranscriptOverlayReleaseInput) (protocol.Result, error) {
	if c.subscription(in.SubscriptionID) == nil {
		return nil, refusal(protocol.CodeNotFound, "Session subscription was not found")
	}
	return &protocol.TranscriptOverlayReleaseResult{SubscriptionID: in.SubscriptionID}, nil
}

func emptyPage(sessionID, source, direction string, through *int64) protocol.TranscriptPage {
	return protocol.TranscriptPage{
		Kind: protocol.KindPage, SessionID: sessionID, Source: source, Direction: direction,
		ThroughSequence: through, Fragments: []protocol.Fragment{},
	}
}

// page cuts one page of durable rows. With direction older the newest row comes first,
// and a row that does not fit comes as its tail, its head on the next page.
func (s *session) page(tx *bolt.Tx, sub *subscription, in *protocol.TranscriptPageInput) (protocol.TranscriptPage, error) {
	page := emptyPage(s.id, in.Source, in.Direction, &in.ThroughSequence)
	older := in.Direction == protocol.DirectionOlder
	through := in.ThroughSequence
	if tx.Bucket(bucketRows).Get(rowKey(s.id, through)) == nil {
		return page, refusal(protocol.CodeInvalidRequest, "The transcript does not reach that sequence")
	}
	at := pageCursor{Kind: cursorRows, Subscription: sub.id, Direction: in.Direction, Through: through, Position: through, ByteOffset: -1}
	switch {
	case in.Cursor != nil && in.AnchorSequence != nil:
		return page, refusal(protocol.CodeInvalidRequest, "A cursor and an anchor exclude each other")
	case in.Cursor != nil:
		want := at
		if !s.host.readCursor(*in.Cursor, &at) || at.Kind != want.Kind || at.Subscription != want.Subscription ||
			at.Direction != want.Direction || at.Through != want.Through {
			return page, errBadCursor
		}
	case in.AnchorSequence != nil && older:
		at.Position = min(*in.AnchorSequence-1, through)
	case in.AnchorSequence != nil:
		at.Position = max(*in.AnchorSequence+1, 0)
	case !older:
		at.Position = 0
	}
	next, err := s.cut(tx, &page, at, in.MaxBytes)
	if err == nil && next != nil {
		cursor := s.host.signCursor(next)
		page.NextCursor = &cursor
	}
	return page, err
}

// cut fills a page from a place on and returns the place of the next one, nil at the end.
func (s *session) cut(tx *bolt.Tx, page *protocol.TranscriptPage, at pageCursor, maxBytes int) (*pageCursor, error) {
	older := at.Direction == protocol.DirectionOlder
	rows := tx.Bucket(bucketRows)
	for room := maxBytes; at.Position >= 0 && at.Position <= at.Through; {
		if room == 0 || len(page.Fragments) == protocol.MaxPageRows {
			return &at, nil
		}
		data := rows.Get(rowKey(s.id, at.Position))
		if at.ByteOffset < 0 && !isRow(data) {
			at.Unreadable = true
			s.host.unreadable("transcript", fmt.Errorf("row %d of session %s cannot be read in %s", at.Position, s.id, bucketRows))
		}
		if at.Unreadable {
			data = s.unreadableRow(at.Position)
		}
		total := int64(len(data))
		if at.ByteOffset > total {
			return nil, errBadCursor
		}
		from, to := int64(0), total // what is still owed of this row
		switch {
		case at.ByteOffset >= 0 && older:
			to = at.ByteOffset
		case at.ByteOffset >= 0:
			from = at.ByteOffset
		}
		n := min(to-from, int64(room))
		rest := n < to-from
		if older {
			from = to - n
		} else {
			to = from + n
		}
		page.Fragments = append(page.Fragments, protocol.Fragment{
			Kind: protocol.SourceDurable, Sequence: at.Position, ByteOffset: from, TotalBytes: total, Data: bytes.Clone(data[from:to]),
		})
		page.RawBytes += n
		room -= int(n)
		switch {
		case rest && older:
			at.ByteOffset = from
		case rest:
			at.ByteOffset = to
		case older:
			at.Position, at.ByteOffset, at.Unreadable = at.Position-1, -1, false
		default:
			at.Position, at.ByteOffset, at.Unreadable = at.Position+1, -1, false
		}
	}
	return nil, nil
}
