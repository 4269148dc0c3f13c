package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
	"pgregory.net/rapid"

	"askback/host/access"
	"askback/protocol"
)

// TestPages: whatever the rows and the page sizes, reading a transcript in either
// direction gives every row once, whole, in order, and pages keep their bounds.
func TestPages(t *testing.T) {
	r := newRig(t, nil)
	view := r.connect(access.RoleClient, 81, "x")
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		id := fmt.Sprint("s", n)
		view.ok("session.create", frame{"sessionId": id, "workspace": frame{"kind": "project", "projectId": "default"}, "modelTarget": frame{"kind": "default"}})
		s, err := r.h.lockSession(id)
		if err != nil {
			rt.Fatal(err)
		}
		var rows []row
		for i, size := range rapid.SliceOfN(rapid.IntRange(0, 400), 1, 30).Draw(rt, "rows") {
			rows = append(rows, newRow(userRow{rowHead: rowHead{Type: "user", ID: fmt.Sprint(i)}, Text: strings.Repeat("<", size)}))
		}
		if err := s.addRows(rows); err != nil {
			rt.Fatal(err)
		}
		s.mu.Unlock()
		most := rapid.IntRange(2, 1000).Draw(rt, "page")
		sub := &subscription{id: "sub"}
		for _, direction := range []string{protocol.DirectionOlder, protocol.DirectionNewer} {
			got := readAll(rt, s, sub, direction, most, int64(len(rows)-1))
			for i, want := range rows {
				if !bytes.Equal(got[int64(i)], want) {
					rt.Fatalf("%s: row %d is %q, want %q", direction, i, got[int64(i)], want)
				}
			}
		}
	})
}

func readAll(rt *rapid.T, s *session, sub *subscription, direction string, most int, through int64) map[int64][]byte {
	got := map[int64][]byte{}
	in := &protocol.TranscriptPageInput{Source: protocol.SourceDurable, Direction: direction, ThroughSequence: through, MaxBytes: most}
	last := int64(-1)
	for {
		var page protocol.TranscriptPage
		err := s.host.store.read(func(tx *bolt.Tx) (err error) {
			page, err = s.page(tx, sub, in)
			return err
		})
		if err != nil {
			rt.Fatal(err)
		}
		sum := 0
		for _, f := range page.Fragments {
			sum += len(f.Data)
			older := direction == protocol.DirectionOlder
			if last >= 0 && (older && f.Sequence > last || !older && f.Sequence < last) {
				rt.Fatalf("%s: row %d after row %d", direction, f.Sequence, last)
			}
			last = f.Sequence
			if older {
				got[f.Sequence] = append(bytes.Clone(f.Data), got[f.Sequence]...)
			} else {
				got[f.Sequence] = append(got[f.Sequence], f.Data...)
			}
		}
		if sum > most || int64(sum) != page.RawBytes || len(page.Fragments) > protocol.MaxPageRows {
			rt.Fatalf("a page of %d bytes, said %d, in %d rows", sum, page.RawBytes, len(page.Fragments))
		}
		if page.NextCursor == nil {
			return got
		}
		in.Cursor = page.NextCursor
	}
}

func TestPageRefusals(t *testing.T) {
	s := newScene(t, nil)
	s.begin()
	open := s.view.ok("subscription.open", frame{"sessionId": s.session, "transcript": frame{"kind": "tail", "maxBytes": 50}})
	sub, through := open["subscriptionId"], open.at("transcript.throughSequence")
	cursor := open.at("transcript.durable.nextCursor")
	other := s.view.subscribe(s.session)["subscriptionId"]
	page := func(changes frame) frame {
		in := frame{"subscriptionId": sub, "source": "durable", "direction": "older", "throughSequence": through, "cursor": nil, "anchorSequence": nil, "maxBytes": 100}
		for k, v := range changes {
			in[k] = v
		}
		return in
	}
	for name, c := range map[string]struct {
		code string
		in   frame
	}{
		"foreign_cursor":    {"invalid_request", page(frame{"subscriptionId": other, "cursor": cursor})},
		"other_direction":   {"invalid_request", page(frame{"direction": "newer", "cursor": cursor})},
		"made_up_cursor":    {"invalid_request", page(frame{"cursor": "bm90LW91cnM.AAAA"})},
		"cursor_and_anchor": {"invalid_request", page(frame{"cursor": cursor, "anchorSequence": 1})},
		"beyond_the_end":    {"invalid_request", page(frame{"throughSequence": 99})},
		"unknown":           {"not_found", page(frame{"subscriptionId": "nope"})},
		"overlay_cursor":    {"invalid_request", page(frame{"source": "overlay", "cursor": cursor})},
	} {
		if code, _ := s.view.refused("session.transcript.page", c.in); code != c.code {
			t.Errorf("%s: %s", name, code)
		}
	}
	if got := s.view.ok("session.transcript.page", page(frame{"anchorSequence": 1})); got.at("fragments.0.sequence") != 0.0 {
		t.Errorf("older than 1: %v", got)
	}
	if got := s.view.ok("session.transcript.page", page(frame{"direction": "newer", "anchorSequence": 0, "maxBytes": 5000})); got.at("fragments.0.sequence") != 1.0 || got["nextCursor"] != nil {
		t.Errorf("newer than 0: %v", got)
	}
	if got := s.view.ok("session.transcript.page", page(frame{"source": "overlay"})); len(got["fragments"].([]any)) != 0 {
		t.Errorf("overlay: %v", got)
	}
	s.view.ok("session.transcript.overlay.release", frame{"subscriptionId": sub})
}

// TestNoSecretInRows: forms and answers are control facts: they make no row, event or
// log line, whatever the log level.
func TestNoSecretInRows(t *testing.T) {
	const marker, question = "marker-91be", "Which colour?"
	s := newScene(t, nil)
	form := s.begin().form("provider-minted-id")
	s.reply(form, accepting(marker))
	s.provider.kind("client.capability.interaction_result")
	s.provider.tell("result", s.call, frame{"result": frame{"content": []frame{}}})
	s.view.terminal(s.turn)
	for _, row := range s.rows() {
		if data := string(row.Raw); strings.Contains(data, marker) || strings.Contains(data, question) || row.Type == protocol.RowAssistant {
			t.Errorf("row %s", data)
		}
	}
	for _, f := range s.view.queued {
		data, _ := json.Marshal(f)
		if strings.Contains(string(data), marker) || strings.Contains(string(data), "provider-minted-id") {
			t.Errorf("frame %s", data)
		}
	}
	if log := s.log.String(); strings.Contains(log, marker) || strings.Contains(log, question) || strings.Contains(log, s.tokens[access.RoleClient]) {
		t.Errorf("log %s", log)
	}
	s.h.store.read(func(tx *bolt.Tx) error {
		return tx.Bucket(bucketInteractions).ForEach(func(_, v []byte) error {
			if bytes.Contains(v, []byte("provider-minted-id")) {
				t.Errorf("record %s", v)
			}
			return nil
		})
	})
}
