package hostclient_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"askback/hostclient"
	"askback/protocol"
)

// pages is a transcript that answers pages as a Host does.
type pages struct {
	rows    []string // durable
	overlay []string
}

func newLog(n, size int) *pages {
	l := &pages{}
	for i := range n {
		l.add(i, size)
	}
	return l
}

func (l *pages) add(i, size int) {
	l.rows = append(l.rows, fmt.Sprintf(`{"type":"user","id":"m%d","turnId":"t","ts":%d,"text":"%s","extra":{"n":1}}`, i, i, strings.Repeat("x", size)))
}

// page cuts rows[from:to) into at most max bytes, continuing at cursor ("index/done").
func (l *pages) page(rows []string, source, direction, cursor string, from, to, max int) *protocol.TranscriptPage {
	page := &protocol.TranscriptPage{Kind: protocol.KindPage, SessionID: "s1", Source: source, Direction: direction, Fragments: []protocol.Fragment{}}
	through := int64(len(l.rows) - 1)
	page.ThroughSequence = &through
	older := direction == protocol.DirectionOlder
	i, done := from, 0
	if older {
		i = to - 1
	}
	if cursor != "" {
		fmt.Sscanf(cursor, "%d/%d", &i, &done)
	}
	for i >= from && i < to && max > 0 {
		n := min(max, len(rows[i])-done)
		at := done
		if older {
			at = len(rows[i]) - done - n
		}
		f := protocol.Fragment{Kind: source, ByteOffset: int64(at), TotalBytes: int64(len(rows[i])), Data: []byte(rows[i][at : at+n])}
		if source == protocol.SourceOverlay {
			f.MessageIndex = int64(i)
		} else {
			f.Sequence = int64(i)
		}
		page.Fragments = append(page.Fragments, f)
		page.RawBytes += int64(n)
		max -= n
		if done += n; done < len(rows[i]) {
			break
		}
		done = 0
		if older {
			i--
		} else {
			i++
		}
	}
	if i >= from && i < to {
		next := fmt.Sprintf("%d/%d", i, done)
		page.NextCursor = &next
	}
	return page
}

// serve answers transcript requests until the connection ends.
func (l *pages) serve(p *peer) {
	for {
		f, err := p.read()
		if err != nil {
			return
		}
		r := f.(*protocol.Request)
		switch in := r.Input.(type) {
		case *protocol.TranscriptPageInput:
			rows, from, to, cursor := l.rows, 0, int(in.ThroughSequence)+1, ""
			if in.Source == protocol.SourceOverlay {
				rows, to = l.overlay, len(l.overlay)
			}
			if in.AnchorSequence != nil {
				from = int(*in.AnchorSequence) + 1
			}
			if in.Cursor != nil {
				cursor = *in.Cursor
			}
			if max := 700; in.MaxBytes > max {
				in.MaxBytes = max // a Host may send less than is asked for
			}
			p.answer(r.RequestID, r.Operation, l.page(rows, in.Source, in.Direction, cursor, from, to, in.MaxBytes))
		case *protocol.TranscriptOverlayReleaseInput:
			l.overlay = nil
			p.answer(r.RequestID, r.Operation, &protocol.TranscriptOverlayReleaseResult{SubscriptionID: in.SubscriptionID})
		default:
			p.t.Errorf("unexpected %s", r.Operation)
		}
	}
}

func (p *peer) opensWithRows(subscription string, l *pages) protocol.SubscriptionHeader {
	p.t.Helper()
	in, id := request[*protocol.SubscriptionOpenInput](p)
	if in.Transcript.Kind != protocol.TranscriptTail {
		p.t.Fatalf("opened %+v", in)
	}
	tail := &protocol.SubscriptionTranscript{
		OverlayMessageCount: int64(len(l.overlay)),
		Durable:             *l.page(l.rows, protocol.SourceDurable, protocol.DirectionOlder, "", 0, len(l.rows), in.Transcript.MaxBytes),
		Overlay:             *l.page(l.overlay, protocol.SourceOverlay, protocol.DirectionOlder, "", 0, len(l.overlay), in.Transcript.MaxBytes),
	}
	if n := int64(len(l.rows)); n > 0 {
		n--
		tail.ThroughSequence = &n
	} else {
		tail.Durable.ThroughSequence, tail.Overlay.ThroughSequence = nil, nil
	}
	p.answer(id, in.Operation(), &protocol.SubscriptionOpenResult{HostEpoch: p.h.epoch, SubscriptionID: subscription, NextSequence: 1,
		Snapshot: snapshot("s1"), ActiveAssistantStreams: []protocol.AssistantStream{}, Transcript: tail})
	return protocol.SubscriptionHeader{HostEpoch: p.h.epoch, SubscriptionID: subscription, Sequence: 1}
}

func (l *pages) check(t *testing.T, what string, got []hostclient.Row, from int) {
	t.Helper()
	for i, r := range got {
		if r.Index != int64(from+i) || string(r.Raw) != l.rows[from+i] || r.ID != fmt.Sprintf("m%d", from+i) {
			t.Fatalf("%s: row %d is %d %.60s…", what, i, r.Index, r.Raw)
		}
	}
}

// TestRows: the tail of a transcript, what is added, and what is older, with rows that no page holds.
func TestRows(t *testing.T) {
	for name, c := range map[string]struct{ rows, size, tail int }{
		"small rows": {50, 10, 1000}, "rows over a page": {7, 3000, 600}, "one byte of the newest": {3, 100, 2}, "all of it": {3, 10, 16_000}, "none": {0, 10, 500},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := newScripted(t)
				v, p := ready(t, h)
				l := newLog(c.rows, c.size)
				go v.Show(t.Context(), "s1", hostclient.ShowOptions{Rows: true, TailBytes: c.tail})
				head := p.opensWithRows("sub-1", l)
				go l.serve(p)
				tail := await[hostclient.TranscriptRows](t, v, nil)
				from := c.rows - len(tail.Rows)
				l.check(t, "tail", tail.Rows, from)
				if tail.Err != nil || !tail.Reset || tail.HasOlder != (from > 0) || c.rows > 0 && len(tail.Rows) == 0 {
					t.Fatalf("tail: %d rows, %+v", len(tail.Rows), tail.Err)
				}
				for range 5 {
					l.add(len(l.rows), c.size)
				}
				p.send(&protocol.TranscriptAdvanced{SubscriptionHeader: head, SessionID: "s1", ThroughSequence: int64(len(l.rows) - 1)})
				for at := c.rows; at < len(l.rows); {
					e := await[hostclient.TranscriptRows](t, v, nil)
					if e.Err != nil || e.Reset {
						t.Fatalf("added: %+v", e)
					}
					l.check(t, "added", e.Rows, at)
					at += len(e.Rows)
				}
				for from > 0 {
					older, more, err := v.OlderRows(t.Context(), "s1", 0)
					if err != nil || len(older) == 0 || more != (from-len(older) > 0) {
						t.Fatalf("older than %d: %d rows, more %v, %v", from, len(older), more, err)
					}
					from -= len(older)
					l.check(t, "older", older, from)
				}
				if older, more, err := v.OlderRows(t.Context(), "s1", 0); len(older) != 0 || more || err != nil {
					t.Errorf("older than all: %v %v %v", older, more, err)
				}
			})
		})
	}
}

// TestOverlay: rows that are not durable yet come with the open, and the Host may then free them.
func TestOverlay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		v, p := ready(t, h)
		l := newLog(2, 10)
		for i := range 3 {
			l.overlay = append(l.overlay, fmt.Sprintf(`{"type":"assistant","id":"o%d","text":"%s"}`, i, strings.Repeat("y", 900)))
		}
		go v.Show(t.Context(), "s1", hostclient.ShowOptions{Rows: true, TailBytes: 1500})
		p.opensWithRows("sub-1", l)
		done := make(chan struct{})
		go func() { l.serve(p); close(done) }()
		e := await[hostclient.TranscriptRows](t, v, nil)
		var ids []string
		for _, r := range e.Overlay {
			ids = append(ids, r.ID)
		}
		if !slices.Equal(ids, []string{"o0", "o1", "o2"}) || len(e.Rows) != 2 {
			t.Errorf("overlay %v, %d rows", ids, len(e.Rows))
		}
		v.Close()
		<-done
		if l.overlay != nil {
			t.Error("the overlay was not released")
		}
	})
}

// TestABrokenTranscript ends the rows and nothing else.
func TestABrokenTranscript(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		v, p := ready(t, h)
		l := newLog(2, 10)
		go v.Show(t.Context(), "s1", hostclient.ShowOptions{Rows: true})
		head := p.opensWithRows("sub-1", l)
		await[hostclient.TranscriptRows](t, v, nil)
		p.send(&protocol.TranscriptAdvanced{SubscriptionHeader: head, SessionID: "s1", ThroughSequence: 2})
		in, id := request[*protocol.TranscriptPageInput](p)
		if in.AnchorSequence == nil || *in.AnchorSequence != 1 || in.Cursor != nil || in.ThroughSequence != 2 {
			t.Errorf("asked %+v", in)
		}
		p.answer(id, in.Operation(), l.page(l.rows, in.Source, in.Direction, "", 0, 2, 1000)) // rows that we have
		if e := await[hostclient.TranscriptRows](t, v, nil); hostclient.CodeOf(e.Err) != hostclient.CodeProtocol {
			t.Errorf("%+v", e)
		}
		head.Sequence++
		p.projects(&head, revision(9))
		await[hostclient.SessionChanged](t, v, nil)
	})
}
