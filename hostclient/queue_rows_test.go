package hostclient

import (
	"strings"
	"testing"

	"askback/protocol"
)

// A row may be as large as the largest result, and nobody can take it faster than it comes: it is no overflow by
// itself. What waits beside it is bounded as always, and so are the rows.
func TestQueueHoldsTheLargestRow(t *testing.T) {
	rows := func(bytes int) TranscriptRows {
		r := TranscriptRows{SessionID: "s"}
		r.Rows = append(r.Rows, Row{Row: protocol.Row{Raw: []byte(strings.Repeat("x", bytes))}})
		return r
	}
	q := newQueue()
	if q.push(rows(maxRowBytes)) {
		t.Fatal("the largest row alone overflows")
	}
	if q.push(SessionChanged{SessionID: "s"}) || q.push(rows(1000)) {
		t.Fatal("what comes beside it overflows")
	}
	if !q.push(rows(maxWaitingRows - maxRowBytes)) {
		t.Fatal("rows have no bound")
	}
	q = newQueue()
	for range 3 {
		if q.push(rows(maxRowBytes / 2)) {
			t.Fatal("overflow though the rows are taken")
		}
		if e, _, _ := q.take(); e == nil {
			t.Fatal("nothing to take")
		}
	}
	if w := q.sessions["s"]; w != nil && (w.rows != 0 || w.live != 0) {
		t.Fatalf("%+v", w)
	}
}
