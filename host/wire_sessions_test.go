package host_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Sessions, Turns and subscriptions as the wire protocol's sections 5 and 6 tell them.

func createInput(id string, more obj) obj {
	in := obj{"sessionId": id, "workspace": obj{"kind": "project", "projectId": "default"}, "modelTarget": obj{"kind": "default"}}
	for k, v := range more {
		in[k] = v
	}
	return in
}

func TestWireSessionCreate(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		p := w.connect("client", "term", 81)
		item := p.ok("session.create", createInput("s", nil))
		for _, key := range []string{"id", "revision", "workspace", "createdAt", "lastUsedAt", "name", "isFlagged", "isArchived", "labels", "labelsTruncated", "hasUnread", "status",
			"backend", "llmConnectionSlug", "connectionLocked", "model", "permissionMode", "collaborationMode", "orchestrationMode"} {
			if _, ok := item[key]; !ok {
				t.Errorf("the item has no %s", key)
			}
		}
		if item["name"] != "New Chat" || item["permissionMode"] != "ask" || item["revision"] != 1.0 || item["liveRunState"] != nil ||
			text(item, "workspace", "hostCwd") != "/srv/project" || text(item, "workspace", "target", "projectId") != "default" {
			t.Errorf("%v", item)
		}
		if again := p.ok("session.create", createInput("s", nil)); jsonOf(again) != jsonOf(item) {
			t.Errorf("again: %v", again)
		}
		p.refused("operation_conflict", "session.create", createInput("s", obj{"name": "other"}))
		p.refused("operation_conflict", "session.create", createInput("x", obj{"workspace": obj{"kind": "project", "projectId": "nope"}}))
		p.refused("invalid_request", "session.create", createInput("x", obj{"modelTarget": obj{"kind": "explicit", "connectionSlug": "nope", "model": "m"}}))
		p.ok("session.create", createInput("named", obj{"name": "N", "permissionMode": "bypass", "labels": []any{"l"}, "modelTarget": obj{"kind": "explicit", "connectionSlug": "none", "model": "none"}}))
		got := dig(p.ok("session.catalog.query", obj{"kind": "get", "sessionId": "named"}), "session")
		if text(got, "name") != "N" || text(got, "permissionMode") != "bypass" || text(got, "labels", 0) != "l" || dig(got, "liveRunState", "schemaVersion") != 1.0 {
			t.Errorf("%v", got)
		}
		w.restart()
		p = w.connect("client", "term", 81)
		if again := p.ok("session.create", createInput("s", nil)); again["createdAt"] != item["createdAt"] {
			t.Errorf("after a restart: %v", again)
		}
	})
}

func TestWireSessionCatalog(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		p := w.connect("client", "term", 81)
		for i := range 70 {
			p.ok("session.create", createInput(fmt.Sprint("s", i), nil))
		}
		page := p.ok("session.catalog.query", obj{"kind": "list_start"})
		seen := map[any]bool{}
		for n := 0; ; n++ {
			list, _ := page["sessions"].([]any)
			if len(list) > 32 || len(jsonOf(list)) > 48<<10 || n > 10 {
				t.Fatalf("a page of %d items and %d bytes", len(list), len(jsonOf(list)))
			}
			for _, s := range list {
				seen[dig(s, "id")] = true
			}
			if page["nextCursor"] == nil {
				break
			}
			page = p.ok("session.catalog.query", obj{"kind": "list_continue", "revision": page["revision"], "cursor": page["nextCursor"]})
		}
		if len(seen) != 70 {
			t.Errorf("%d sessions", len(seen))
		}
		page = p.ok("session.catalog.query", obj{"kind": "list_start"})
		if !strings.HasPrefix(text(page, "revision"), "sha256:") {
			t.Errorf("revision %v", page["revision"])
		}
		p.refused("invalid_request", "session.catalog.query", obj{"kind": "list_continue", "revision": page["revision"], "cursor": "nonsense"})
		p.ok("session.create", createInput("late", nil))
		changed := p.ok("session.catalog.query", obj{"kind": "list_continue", "revision": page["revision"], "cursor": page["nextCursor"]})
		if changed["kind"] != "revision_changed" || changed["expectedRevision"] != page["revision"] || changed["actualRevision"] == page["revision"] {
			t.Errorf("%v", changed)
		}
	})
}

func TestWireSessionUpdate(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		p := w.connect("client", "term", 81)
		id := p.session("ask")
		r := p.ok("session.metadata.update", obj{"sessionId": id, "expectedRevision": 1, "patch": obj{"name": "N", "labels": []any{"a"}, "isFlagged": true}})
		if r["kind"] != "committed" || text(r, "session", "name") != "N" || dig(r, "session", "revision") != 2.0 || dig(r, "session", "isFlagged") != true {
			t.Errorf("%v", r)
		}
		r = p.ok("session.metadata.update", obj{"sessionId": id, "expectedRevision": 1, "patch": obj{"name": "M"}})
		if r["kind"] != "revision_conflict" || r["expectedRevision"] != 1.0 || r["actualRevision"] != 2.0 {
			t.Errorf("%v", r)
		}
		r = p.ok("session.remove", obj{"sessionId": id, "expectedRevision": 1})
		if r["kind"] != "revision_conflict" {
			t.Errorf("%v", r)
		}
		if r = p.ok("session.remove", obj{"sessionId": id, "expectedRevision": 2}); r["kind"] != "removed" || r["sessionId"] != id {
			t.Errorf("%v", r)
		}
	})
}

func TestWireTurns(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		s := w.newStage(81)
		in := obj{"sessionId": s.session, "turnId": s.turn, "content": obj{"text": "/call wire/echo {}"}}
		if r := s.view.ok("turn.start", in); r["kind"] != "started" || text(r, "turn", "runId") != s.run || jsonOf(r["skillInvocation"]) != `{"failed":[],"loaded":[],"receipts":[]}` {
			t.Errorf("again: %v", r)
		}
		s.view.refused("operation_conflict", "turn.start", with(in, "content", obj{"text": "/call wire/echo {\"a\":1}"}))
		s.view.refused("session_busy", "turn.start", with(in, "turnId", "another"))
		s.view.refused("operation_conflict", "turn.stop", obj{"sessionId": s.session, "turnId": s.turn, "runId": "nope"})
		s.view.refused("not_found", "turn.stop", obj{"sessionId": s.session, "turnId": "nope", "runId": s.run})
		s.view.refused("not_found", "turn.query", obj{"sessionId": s.session, "turnId": "nope"})
		s.stop()
		s.stop()
		end := s.wantTurn("cancelled")
		if end["abortSource"] != "renderer.stop_button" || end["terminalEventId"] == nil || end["sessionId"] != s.session || end["runId"] != s.run {
			t.Errorf("%v", end)
		}
		if r := s.view.ok("turn.start", in); text(r, "turn", "status") != "cancelled" {
			t.Errorf("again after its end: %v", r)
		}
		s.view.refused("operation_conflict", "turn.start", with(in, "content", obj{"text": "other"}))
		for _, other := range []string{"Hello", "/call", "/call x", "/call wire/echo nonsense", "/call wire/echo []", "/call wire/echo {}\nplease", "/callwire/echo {}"} {
			s.turn, _ = s.view.start(s.session, other)
			turn := s.wantTurn("failed")
			if m, _ := turn["failureMessage"].(string); m == "" || len(m) > 256 || turn["failureClass"] == nil || turn["terminalEventId"] == nil {
				t.Errorf("%q: %v", other, turn)
			}
		}
		if got := kinds(s.prov.take()); got != "cancel release" {
			t.Errorf("the provider saw %q", got)
		}
	})
}

func TestWireTurnContent(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		content string
		ok      bool
	}{
		"text":            {`{"text":"x"}`, true},
		"displayText":     {`{"text":"x","displayText":"shown"}`, true},
		"48 KiB":          {`{"text":"` + strings.Repeat("x", 48<<10) + `"}`, true},
		"over 48 KiB":     {`{"text":"` + strings.Repeat("x", 48<<10+1) + `"}`, false},
		"over in UTF-8":   {`{"text":"` + strings.Repeat("é", 24<<10+1) + `"}`, false},
		"empty":           {`{"text":""}`, false},
		"no text":         {`{}`, false},
		"unknown key":     {`{"text":"x","foo":1}`, false},
		"52 KiB in all":   {`{"text":"` + strings.Repeat("x", 47<<10) + `","displayText":"` + strings.Repeat("y", 6<<10) + `"}`, false},
		"text as list":    {`{"text":["x"]}`, false},
		"9 attachments":   {`{"text":"x","attachments":[{},{},{},{},{},{},{},{},{}]}`, false},
		"unsteady quotes": {`{"text":"x","quotes":{}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, nil, func(w *wire) {
				p := w.connect("client", "term", 81)
				id := p.session("ask")
				p.send(fmt.Sprintf(`{"requestId":"x","operation":"turn.start","input":{"sessionId":%q,"turnId":"t","content":%s}}`, id, tc.content))
				settle()
				if !tc.ok {
					p.wantAborted()
					return
				}
				if f := p.answer("x"); f == nil || f["ok"] != true {
					t.Errorf("%v (%d) %s", f, p.code(), lastLine(w.log))
				}
			})
		})
	}
}

func TestWireMessages(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		s := w.newStage(81)
		epoch := w.h.Epoch()
		message := func(id, text, placement string) obj {
			return obj{"originHostEpoch": epoch, "sessionId": s.session, "messageId": id, "content": obj{"text": text}, "placement": placement}
		}
		first := s.view.ok("turn.message.submit", message("m1", `/call wire/echo {"n":1}`, "next_turn"))
		if first["disposition"] != "followup" {
			t.Errorf("%v", first)
		}
		// There is no model to steer: a message for the current Turn follows it.
		second := s.view.ok("turn.message.submit", message("m2", `/call wire/echo {"n":2}`, "current_turn"))
		if second["disposition"] != "followup" || second["queueRevision"].(float64) <= first["queueRevision"].(float64) {
			t.Errorf("%v", second)
		}
		if again := s.view.ok("turn.message.submit", message("m1", `/call wire/echo {"n":1}`, "next_turn")); jsonOf(again) != jsonOf(first) {
			t.Errorf("again: %v", again)
		}
		s.view.refused("operation_conflict", "turn.message.submit", message("m1", "other", "next_turn"))
		s.view.refused("outcome_unknown", "turn.message.submit", with(message("m9", "x", "next_turn"), "originHostEpoch", "an-older-one"))
		sub := s.view.ok("subscription.open", obj{"sessionId": s.session, "transcript": obj{"kind": "none"}})
		queue := dig(sub, "snapshot", "queue")
		if text(queue, "followup", 0, "messageId") != "m1" || text(queue, "followup", 1, "messageId") != "m2" || text(queue, "followup", 0, "state") != "queued" || text(queue, "hostEpoch") != epoch {
			t.Errorf("queue %v", queue)
		}
		for n := range 3 {
			s.prov.cap("rejected", s.inv, obj{"message": "no"})
			settle()
			calls := pick(s.prov.take(), "client.capability.call")
			if n == 2 {
				if len(calls) != 0 {
					t.Errorf("after the last: %v", calls)
				}
				break
			}
			if len(calls) != 1 || dig(calls[0], "arguments", "n") != float64(n+1) {
				t.Fatalf("follow-up %d: %v", n+1, calls)
			}
			s.inv = text(calls[0], "invocationId")
		}
		if again := s.view.ok("turn.message.submit", message("m1", `/call wire/echo {"n":1}`, "next_turn")); jsonOf(again) != jsonOf(first) {
			t.Errorf("again after it ran: %v", again)
		}
		idle := s.view.ok("turn.message.submit", message("m3", "/call wire/echo {}", "next_turn"))
		if idle["disposition"] != "turn_started" || idle["turnId"] == nil {
			t.Errorf("%v", idle)
		}
	})
}

func TestWireSubscriptions(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		s := w.newStage(81)
		p := w.connect("client", "other", 81)
		open := func() obj {
			return p.ok("subscription.open", obj{"sessionId": s.session, "transcript": obj{"kind": "none"}})
		}
		first := open()
		for _, key := range []string{"hostEpoch", "subscriptionId", "nextSequence", "snapshot", "activeAssistantStreams", "transcript"} {
			if _, ok := first[key]; !ok {
				t.Errorf("no %s in %v", key, first)
			}
		}
		snap, _ := first["snapshot"].(obj)
		for _, key := range []string{"schemaVersion", "session", "projectionRevision", "rootTurn", "goal", "queue", "interactions"} {
			if _, ok := snap[key]; !ok {
				t.Errorf("no %s in the snapshot", key)
			}
		}
		if snap["schemaVersion"] != 4.0 || first["transcript"] != nil || first["nextSequence"] != 1.0 || text(snap, "rootTurn", "turnId") != s.turn {
			t.Errorf("%v", first)
		}
		for range 15 {
			open()
		}
		p.refused("operation_conflict", "subscription.open", obj{"sessionId": s.session, "transcript": obj{"kind": "none"}})
		for range 2 {
			if r := p.ok("subscription.close", obj{"subscriptionId": first["subscriptionId"]}); r["subscriptionId"] != first["subscriptionId"] {
				t.Errorf("%v", r)
			}
		}
		tail := p.ok("subscription.open", obj{"sessionId": s.session, "transcript": obj{"kind": "tail", "maxBytes": 2}})
		p.take()
		s.prov.cap("rejected", s.inv, obj{"message": "no"})
		settle()
		frames := p.take()
		gapless(t, frames)
		perSub := map[any]string{}
		for _, f := range frames {
			if f["hostEpoch"] != w.h.Epoch() {
				t.Errorf("a frame of epoch %v", f["hostEpoch"])
			}
			perSub[f["subscriptionId"]] += strings.TrimPrefix(text(f, "kind"), "subscription.") + " "
		}
		if len(perSub) != 16 {
			t.Errorf("%d subscriptions got frames", len(perSub))
		}
		for id, got := range perSub {
			if contains(got, "transcript_advanced") != (id == tail["subscriptionId"]) {
				t.Errorf("%v got %s", id, got)
			}
			if !contains(got, "session_event") || !contains(got, "session_projection") {
				t.Errorf("%v got %s", id, got)
			}
		}
		if perSub[first["subscriptionId"]] != "" {
			t.Error("a closed subscription got frames")
		}
		for _, max := range []int{1, 16385, 0, -1} {
			bad := w.connect("client", "bad", 81)
			bad.request("subscription.open", obj{"sessionId": s.session, "transcript": obj{"kind": "tail", "maxBytes": max}})
			bad.wantAborted()
		}
	})
}

// A row that does not fit a page comes as its tail first and goes on with the next page.
func TestWirePaging(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		s := w.newStage(81)
		s.admit()
		s.prov.send(fmt.Sprintf(`{"kind":"client.capability.result","invocationId":%q,"result":%s}`, s.inv, padded(40000)))
		s.wantTurn("completed")
		p := w.connect("client", "other", 81)
		open := p.ok("subscription.open", obj{"sessionId": s.session, "transcript": obj{"kind": "tail", "maxBytes": 1000}})
		through := dig(open, "transcript", "throughSequence")
		page, _ := dig(open, "transcript", "durable").(obj)
		input := func(cursor, anchor any, direction string, max int) obj {
			return obj{"subscriptionId": open["subscriptionId"], "source": "durable", "direction": direction, "throughSequence": through, "cursor": cursor, "anchorSequence": anchor, "maxBytes": max}
		}
		var order []float64
		split := false
		total := 0
		for n := 0; ; n++ {
			raw := 0
			for _, f := range page["fragments"].([]any) {
				data, _ := base64.StdEncoding.DecodeString(text(f, "data"))
				raw += len(data)
				order = append(order, dig(f, "sequence").(float64))
				if dig(f, "byteOffset").(float64) > 0 {
					split = true
				}
			}
			if page["rawBytes"] != float64(raw) || raw > 1000 {
				t.Fatalf("a page of %d bytes says %v", raw, page["rawBytes"])
			}
			total += raw
			if page["kind"] != "page" || page["source"] != "durable" || page["direction"] != "older" || page["sessionId"] != s.session {
				t.Fatalf("%v", page)
			}
			if page["nextCursor"] == nil {
				break
			}
			page = p.ok("session.transcript.page", input(page["nextCursor"], nil, "older", 1000))
			if n > 100 {
				t.Fatal("no end")
			}
		}
		if !split || total < 40000 || !slices.IsSortedFunc(order, func(a, b float64) int { return int(b - a) }) {
			t.Errorf("split %v, %d bytes, order %v", split, total, order)
		}
		p.refused("invalid_request", "session.transcript.page", input("nonsense", nil, "older", 1000))
		p.refused("invalid_request", "session.transcript.page", input("c", 1, "older", 1000)) // they exclude each other
		p.refused("not_found", "session.transcript.page", with(input(nil, nil, "older", 1000), "subscriptionId", s.sub))
		for name, in := range map[string]obj{"over 512 KiB": input(nil, nil, "older", 512<<10+1), "six keys": with(input(nil, nil, "older", 9), "anchorSequence", nil, true)} {
			bad := w.connect("client", "bad", 81)
			bad.request("session.transcript.page", in)
			settle()
			if bad.code() != 1006 {
				t.Errorf("%s: %d", name, bad.code())
			}
		}
		newer := p.ok("session.transcript.page", input(nil, 0, "newer", 512<<10))
		if newer["direction"] != "newer" || len(newer["fragments"].([]any)) == 0 {
			t.Errorf("newer: %v", newer)
		}
		if r := p.ok("session.transcript.overlay.release", obj{"subscriptionId": open["subscriptionId"]}); r["subscriptionId"] != open["subscriptionId"] {
			t.Errorf("%v", r)
		}
	})
}

// A subscriber that does not read loses its subscription with the next sequence; the connection stays usable.
func TestWireSlowConsumer(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		s := w.newStage(81)
		s.admit()
		s.bigRow()
		slow, sub := s.stopsReading()
		for range 4 { // calls begin and end, which cannot be merged away as progress can
			s.view.start(s.session, strings.TrimSpace(strings.Repeat("/call wire/echo {}\n", 8)))
			settle()
			for _, c := range pick(s.prov.take(), "client.capability.call") {
				s.prov.cap("rejected", text(c, "invocationId"), obj{"message": "no"})
			}
			settle()
			s.prov.take()
		}
		go slow.collect()
		settle()
		frames := slow.take()
		var mine []obj
		for _, f := range frames {
			if f["subscriptionId"] == sub {
				mine = append(mine, f)
			}
		}
		gapless(t, mine)
		if len(mine) == 0 || mine[len(mine)-1]["kind"] != "subscription.closed" || mine[len(mine)-1]["reason"] != "slow_consumer" || mine[len(mine)-1]["hostEpoch"] != w.h.Epoch() {
			t.Fatalf("its frames: %v", mine)
		}
		if len(mine) > 40 {
			t.Errorf("%d frames waited", len(mine))
		}
		slow.wantAlive()
		slow.ok("subscription.open", obj{"sessionId": s.session, "transcript": obj{"kind": "none"}})
		gapless(t, s.view.take()) // the others lost nothing
	})
}

// bigRow ends the stage's call, which is admitted, with a result of 600 KiB.
func (s *stage) bigRow() {
	s.Helper()
	data := padded(600 << 10)
	s.prov.cap("result_start", s.inv, obj{"byteLength": len(data), "chunkCount": (len(data) + 36863) / 36864})
	for i := 0; len(data) > 0; i++ {
		n := min(len(data), 36864)
		s.prov.cap("result_chunk", s.inv, obj{"index": i, "data": base64.StdEncoding.EncodeToString(data[:n])})
		data = data[n:]
		settle()
	}
	s.wantTurn("completed")
	s.prov.take()
}

// stopsReading returns a client that has a subscription to the stage's session and whose Host cannot write to it any more:
// pages that nobody reads have filled the network's buffer.
func (s *stage) stopsReading() (p *peer, sub string) {
	s.Helper()
	p = s.deaf("client")
	p.send(hello("slow", 81))
	p.request("subscription.open", obj{"sessionId": s.session, "transcript": obj{"kind": "tail", "maxBytes": 2}})
	settle()
	var open obj
	for open["requestId"] == nil {
		_, raw, err := p.ws.ReadMessage()
		if err != nil {
			s.Fatal(err)
		}
		open = nil
		json.Unmarshal(raw, &open)
	}
	sub = text(open, "result", "subscriptionId")
	for range 2 {
		p.request("session.transcript.page", obj{"subscriptionId": sub, "source": "durable", "direction": "older",
			"throughSequence": dig(open, "result", "transcript", "throughSequence"), "cursor": nil, "anchorSequence": nil, "maxBytes": 512 << 10})
	}
	settle()
	return p, sub
}
