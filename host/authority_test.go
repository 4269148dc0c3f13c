package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"askback/host/access"
	"askback/protocol"
)

// TestEveryExitCloses: whatever ends a call, its form is closed with the right reason
// before the call settles, no answer is made up, and a late answer is already_resolved.
func TestEveryExitCloses(t *testing.T) {
	for _, c := range []struct {
		name, reason string
		cancelled    bool // the provider is told to stop
		gone         bool // the provider hears nothing
		uncertain    bool
		text         string
		end          func(s *scene)
	}{
		{name: "stop", reason: "turn_stopped", cancelled: true, uncertain: true, text: "cancelled after provider acceptance", end: func(s *scene) {
			end := s.view.ok("turn.stop", frame{"sessionId": s.session, "turnId": s.turn, "runId": s.run})
			if end.text("status") != "cancelled" || end.text("abortSource") != "renderer.stop_button" {
				s.t.Errorf("stopped: %v", end)
			}
		}},
		{name: "failed", reason: "producer_cancelled", text: "connection_lost: the server died", end: func(s *scene) {
			s.provider.tell("failed", s.call, frame{"message": "connection_lost: the server died"})
		}},
		{name: "failed_unknown", reason: "producer_cancelled", uncertain: true, text: "outcome_unknown: sent, no response", end: func(s *scene) {
			s.provider.tell("failed", s.call, frame{"message": "outcome_unknown: sent, no response"})
		}},
		{name: "result", reason: "producer_cancelled", cancelled: true, text: "protocol_error: ", end: func(s *scene) {
			s.provider.tell("result", s.call, frame{"result": frame{"content": []frame{}}})
		}},
		{name: "result_start", reason: "producer_cancelled", cancelled: true, text: "protocol_error: ", end: func(s *scene) {
			s.provider.tell("result_start", s.call, frame{"byteLength": 10, "chunkCount": 1})
		}},
		{name: "disconnect", reason: "provider_disconnected", gone: true, uncertain: true, text: "disconnected after accepting", end: func(s *scene) {
			s.provider.raw.Close()
		}},
		{name: "violation", reason: "provider_disconnected", gone: true, uncertain: true, text: "disconnected after accepting", end: func(s *scene) {
			s.provider.tell("interaction_request", s.call, frame{"interactionId": "second", "request": colour()})
		}},
		{name: "supersede", reason: "provider_disconnected", gone: true, uncertain: true, text: "disconnected after accepting", end: func(s *scene) {
			s.connect(access.RoleProvider, 81, "terminal").publish("srv", "tool", "other")
		}},
		{name: "revoked", reason: "provider_disconnected", gone: true, uncertain: true, text: "disconnected after accepting", end: func(s *scene) {
			if err := s.opt.Access.Revoke("the-provider"); err != nil {
				s.t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t, nil)
			form := s.begin().form("f")
			c.end(s)
			if !c.gone {
				if got := s.released(); got != c.cancelled {
					t.Errorf("cancelled: %v", got)
				}
			}
			s.view.terminal(s.turn)
			if got := s.closure(form); got != c.reason {
				t.Errorf("closed as %q, want %q", got, c.reason)
			}
			row := s.result()
			if !strings.Contains(row.Content.Text, c.text) || (row.Content.UncertainOutcome != nil) != c.uncertain {
				t.Errorf("%s", row.Raw)
			}
			code, _ := s.view.refused("interaction.answer", frame{"sessionId": s.session, "interactionId": form.text("interactionId"), "answer": accepting("red")})
			if code != "already_resolved" {
				t.Errorf("late answer: %s", code)
			}
			for _, f := range s.provider.queued {
				if f.text("kind") == "client.capability.interaction_result" {
					t.Error("an answer was made up")
				}
			}
		})
	}
}

// TestCorrections: wrong answers name the field and leave the form pending.
func TestCorrections(t *testing.T) {
	s := newScene(t, nil)
	form := s.begin().form("f")
	other := s.view.newSession("ask")
	id := form.text("interactionId")
	for name, c := range map[string]struct {
		session, code, says string
		answer              frame
	}{
		"missing":       {s.session, "operation_conflict", `"colour"`, frame{"kind": "form", "action": "accept", "values": frame{}}},
		"too_long":      {s.session, "operation_conflict", `"colour"`, accepting(strings.Repeat("x", 65))},
		"unknown":       {s.session, "operation_conflict", `"size"`, frame{"kind": "form", "action": "accept", "values": frame{"colour": "red", "size": "L"}}},
		"wrong_type":    {s.session, "operation_conflict", `"colour"`, frame{"kind": "form", "action": "accept", "values": frame{"colour": 3}}},
		"half_a_pair":   {s.session, "operation_conflict", `"colour"`, frame{"kind": "form", "action": "accept", "values": json.RawMessage(`{"colour":"\ud83d"}`)}},
		"other_kind":    {s.session, "operation_conflict", "", frame{"kind": "question", "answers": []any{"red"}}},
		"cross_session": {other, "not_found", "", accepting("red")},
		"no_session":    {"nowhere", "not_found", "", accepting("red")},
	} {
		code, message := s.view.refused("interaction.answer", frame{"sessionId": c.session, "interactionId": id, "answer": c.answer})
		if code != c.code || !strings.Contains(message, c.says) {
			t.Errorf("%s: %s %q", name, code, message)
		}
	}
	if in := s.view.ok("interaction.query", frame{"sessionId": s.session, "interactionId": id}); in.text("status") != "pending" {
		t.Errorf("no longer pending: %v", in)
	}
	s.reply(form, accepting("red"))
	if f := s.provider.kind("client.capability.interaction_result"); f.text("result.values.colour") != "red" {
		t.Errorf("%v", f)
	}
}

// TestOneWinner: of many surfaces that answer at once exactly one wins, and all learn the
// same outcome.
func TestOneWinner(t *testing.T) {
	s := newScene(t, nil)
	form := s.begin().form("f")
	var wg sync.WaitGroup
	var mu sync.Mutex
	codes := map[string]int{}
	for i := range 8 {
		p := s.connect(access.RoleClient, 81, fmt.Sprint("surface", i))
		wg.Go(func() {
			f := p.answer(p.ask("interaction.answer", frame{"sessionId": s.session, "interactionId": form.text("interactionId"), "answer": accepting(fmt.Sprint("v", i%4))}))
			mu.Lock()
			defer mu.Unlock()
			if f["ok"] == true {
				codes["ok "+f.text("result.outcome.values.colour")]++
			} else {
				codes[f.text("error.code")]++
			}
		})
	}
	wg.Wait()
	won := s.provider.kind("client.capability.interaction_result").text("result.values.colour")
	if codes["ok "+won] != 2 || codes["already_resolved"] != 6 {
		t.Errorf("%s won: %v", won, codes)
	}
	s.provider.tell("result", s.call, frame{"result": frame{"content": []frame{}}})
	s.view.terminal(s.turn)
	for _, f := range s.provider.queued {
		if f.text("kind") == "client.capability.interaction_result" {
			t.Error("handed over twice")
		}
	}
}

// TestBounds: a form that may not be published fails its own call and nothing else.
func TestBounds(t *testing.T) {
	big := colour()
	big["message"] = strings.Repeat("m", 8192)
	big["fields"] = []frame{}
	for i := range 12 { // about 15 KiB
		big["fields"] = append(big["fields"].([]frame), frame{"kind": "string", "name": fmt.Sprint("f", i), "label": fmt.Sprint(i), "required": false, "maxLength": 1, "description": strings.Repeat("d", 500)})
	}
	s := newScene(t, nil)
	s.turn, s.run = s.view.start(s.session, strings.Repeat("/call srv/tool\n", 5))
	var calls []frame
	for range 5 {
		calls = append(calls, s.provider.accept())
	}
	for i, call := range calls[:4] {
		s.provider.tell("interaction_request", call, frame{"interactionId": "f", "request": big})
		if i < 3 {
			s.view.pending(i + 1)
		} else if !s.released() {
			t.Error("refused without a cancel")
		}
	}
	snap := s.view.ok("subscription.open", frame{"sessionId": s.session, "transcript": frame{"kind": "none"}})["snapshot"]
	if data, _ := json.Marshal(snap); len(data) > protocol.MaxSnapshotBytes {
		t.Errorf("a snapshot of %d bytes", len(data))
	}
	// The others go on, and a small form still fits.
	s.provider.tell("interaction_request", calls[4], frame{"interactionId": "f", "request": colour()})
	for _, form := range s.view.pending(4) {
		s.reply(form, frame{"kind": "form", "action": "cancel"})
		s.provider.kind("client.capability.interaction_result")
	}
	for _, call := range append(calls[:3:3], calls[4]) {
		s.provider.tell("result", call, frame{"result": frame{"content": []frame{}}})
	}
	s.view.terminal(s.turn)
	failed := 0
	for _, row := range s.rows() {
		if row.Type == protocol.RowToolResult && *row.IsError {
			failed++
			if row.Content.Text != refusedTooLarge {
				t.Errorf("%s", row.Raw)
			}
		}
	}
	if failed != 1 {
		t.Errorf("%d calls failed", failed)
	}
}

// TestSeventeenth: two providers of eight calls fill a session's sixteen forms through an
// executor that is not bound to eight; one more is refused.
func TestSeventeenth(t *testing.T) {
	const calls = 17
	s := newScene(t, func(o *Options) { o.Executor = manyCalls(calls) })
	second := s.connect(access.RoleProvider, 81, "second")
	second.publish("two", "tool")
	third := s.connect(access.RoleProvider, 81, "third")
	third.publish("three", "tool")
	s.turn, s.run = s.view.start(s.session, "anything")
	ask := func(p *peer, n int) {
		for range n {
			p.tell("interaction_request", p.accept(), frame{"interactionId": "f", "request": colour()})
		}
	}
	ask(s.provider, 8)
	ask(second, 8)
	s.view.pending(16)
	ask(third, 1)
	third.kind("client.capability.cancel")
	third.kind("client.capability.release")
	s.view.ok("turn.stop", frame{"sessionId": s.session, "turnId": s.turn, "runId": s.run})
	refused := 0
	for _, row := range s.rows() {
		if row.Type == protocol.RowToolResult && row.Content.Text == refusedTooMany {
			refused++
		}
	}
	if refused != 1 {
		t.Errorf("%d calls were refused", refused)
	}
}

// TestUnstoredForm: a form that cannot be stored is not shown, and fails its call; an
// answer that cannot be stored leaves the form pending.
func TestUnstoredForm(t *testing.T) {
	var broken atomic.Bool
	s := newScene(t, nil)
	set := broken.Store
	s.h.store.fail = func() error {
		if broken.Load() {
			return errors.New("no space left")
		}
		return nil
	}
	form := s.begin().form("f")
	set(true)
	input := frame{"sessionId": s.session, "interactionId": form.text("interactionId"), "answer": accepting("red")}
	if code, _ := s.view.refused("interaction.answer", input); code != "persistence_failed" {
		t.Errorf("%s", code)
	}
	set(false)
	s.view.ok("interaction.answer", input)
	s.provider.kind("client.capability.interaction_result")
	set(true)
	s.provider.tell("interaction_request", s.call, frame{"interactionId": "again", "request": colour()})
	if !s.released() {
		t.Error("released without a cancel")
	}
	set(false)
	s.view.terminal(s.turn)
}

// TestUnstoredClosure: a closure that the disk refuses stands all the same.
func TestUnstoredClosure(t *testing.T) {
	var broken atomic.Bool
	s := newScene(t, nil)
	s.h.store.fail = func() error {
		if broken.Load() {
			return errors.New("no space left")
		}
		return nil
	}
	form := s.begin().form("f")
	broken.Store(true)
	s.view.ok("turn.stop", frame{"sessionId": s.session, "turnId": s.turn, "runId": s.run})
	if got := s.closure(form); got != "turn_stopped" {
		t.Errorf("closed as %q", got)
	}
	code, _ := s.view.refused("interaction.answer", frame{"sessionId": s.session, "interactionId": form.text("interactionId"), "answer": accepting("red")})
	if code != "already_resolved" {
		t.Errorf("late answer: %s", code)
	}
	dir := s.opt.Dir
	s.stop()
	after := newRig(t, func(o *Options) { o.Dir = dir })
	view := after.connect(access.RoleClient, 81, "x")
	in := view.ok("interaction.query", frame{"sessionId": s.session, "interactionId": form.text("interactionId")})
	turn := view.ok("turn.query", frame{"sessionId": s.session, "turnId": s.turn})
	if in.text("outcome.reason") != "host_restarted" || turn.text("status") != "cancelled" {
		t.Errorf("after the restart: %v %v", in, turn)
	}
}

// TestUnstoredEnd: a Turn whose end the disk refused is over, also once another has taken its place: to stop it again
// stops nothing else.
func TestUnstoredEnd(t *testing.T) {
	var broken atomic.Bool
	s := newScene(t, nil)
	s.h.store.fail = func() error {
		if broken.Load() {
			return errors.New("no space left")
		}
		return nil
	}
	s.begin()
	stop := frame{"sessionId": s.session, "turnId": s.turn, "runId": s.run}
	broken.Store(true)
	s.view.ok("turn.stop", stop)
	broken.Store(false)
	first := s.turn
	s.begin()
	if got := s.view.ok("turn.query", frame{"sessionId": s.session, "turnId": first}); got.text("status") != "cancelled" {
		t.Errorf("the first Turn is %s", got.text("status"))
	}
	if got := s.view.ok("turn.stop", stop); got.text("turnId") != first {
		t.Errorf("stopped again: %v", got)
	}
	if got := s.view.ok("turn.query", frame{"sessionId": s.session, "turnId": s.turn}); got.text("status") != "running" {
		t.Errorf("the second Turn is %s", got.text("status"))
	}
}

// TestProjectedBeforeStored: what a surface gets is safe to show, identities untouched.
func TestProjectedBeforeStored(t *testing.T) {
	s := newScene(t, nil)
	s.begin()
	form := frame{"message": "a\x1b[31mb\u202ec", "requester": frame{"name": "root\u200b", "source": "the bank"}, "fields": []frame{
		{"kind": "single_select", "name": "pick\u202e", "label": "L\x07", "required": true, "options": []frame{
			{"value": "v\u200b", "label": "one\x9b"}, {"value": "w", "label": "two"}}},
	}}
	s.provider.tell("interaction_request", s.call, frame{"interactionId": "f", "request": form})
	got := s.view.pending(1)[0]
	for path, want := range map[string]string{
		"request.message":                  `a\x1b[31mb\u{202e}c`,
		"request.requester.name":           "tool",
		"request.requester.source":         "srv · via The label · the-provider",
		"request.fields.0.label":           `L\x07`,
		"request.fields.0.name":            "pick\u202e",
		"request.fields.0.options.0.value": "v\u200b",
	} {
		if got.text(path) != want {
			t.Errorf("%s is %q, want %q", path, got.text(path), want)
		}
	}
	s.reply(got, frame{"kind": "form", "action": "accept", "values": frame{"pick\u202e": "v\u200b"}})
	if f := s.provider.kind("client.capability.interaction_result"); f.text("result.values.pick\u202e") != "v\u200b" {
		t.Errorf("%v", f)
	}
}

// TestEpoch39SeesNoForm: a connection without forms shares the session and sees none.
func TestEpoch39SeesNoForm(t *testing.T) {
	s := newScene(t, nil)
	old := s.connect(access.RoleClient, 39, "old")
	old.subscribe(s.session)
	form := s.begin().form("f")
	snap := old.ok("subscription.open", frame{"sessionId": s.session, "transcript": frame{"kind": "none"}})
	if n := len(snap.at("snapshot.interactions.pending").([]any)); n != 0 {
		t.Errorf("%d pending", n)
	}
	if code, _ := old.refused("interaction.query", frame{"sessionId": s.session, "interactionId": form.text("interactionId")}); code != "not_found" {
		t.Errorf("query: %s", code)
	}
	s.reply(form, accepting("red"))
	old.send(frame{"requestId": "x", "operation": "interaction.answer", "input": frame{"sessionId": s.session, "interactionId": form.text("interactionId"), "answer": accepting("red")}})
	old.ended()
	for _, f := range old.queued {
		if data, _ := json.Marshal(f); strings.Contains(string(data), "colour") {
			t.Errorf("a form reached epoch 39: %s", data)
		}
	}
}
