package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"askback/host"
)

// Every sentence of the forms dialect, by raw WebSocket clients. One subtest or one function for each.

// One form, there and back, with everything that its two sides see.
func TestWireForm(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		s := w.newStage(81)
		s.admit()
		s.view.take()
		s.prov.cap("interaction_request", s.inv, obj{"interactionId": "provider-own-id", "request": form()})
		settle()
		var shown obj
		for _, f := range pick(s.view.take(), "subscription.session_projection") {
			if list, _ := dig(f, "snapshot", "interactions", "pending").([]any); len(list) == 1 {
				shown, _ = list[0].(obj)
			}
		}
		id := text(shown, "interactionId")
		want := obj{
			"schemaVersion": 1.0, "interactionId": id, "sessionId": s.session, "turnId": s.turn, "runId": s.run, "revision": 1.0, "status": "pending", "outcome": nil,
			"request": obj{
				"kind": "form", "toolUseId": s.toolCall, "message": "Which colour?", "requester": obj{"name": "echo", "source": "wire · via Wire tools · provider"},
				"fields": []any{
					obj{"kind": "string", "name": "colour", "label": "Colour", "required": true, "maxLength": 20.0},
					obj{"kind": "integer", "name": "count", "label": "Count", "required": false, "minimum": 1.0, "maximum": 5.0},
				},
			},
		}
		if got, want := jsonOf(shown), jsonOf(want); got != want {
			t.Errorf("pending\n got %s\nwant %s", got, want)
		}
		if got := s.query(id); jsonOf(got) != jsonOf(want) {
			t.Errorf("queried %s", jsonOf(got))
		}
		if id == "provider-own-id" || id == "" {
			t.Errorf("the canonical id is %q", id)
		}
		s.wantTurn("waiting_for_user")

		answer := obj{"kind": "form", "action": "accept", "values": obj{"colour": "dark red", "count": 3}}
		done := s.view.ok("interaction.answer", s.answerInput(id, answer))
		at := time.Now().UnixMilli()
		want["revision"], want["status"] = 2.0, "answered"
		want["outcome"] = obj{"kind": "form_answer", "action": "accept", "values": obj{"colour": "dark red", "count": 3.0}, "committedAt": float64(at)}
		if got := jsonOf(done); got != jsonOf(want) {
			t.Errorf("answered\n got %s\nwant %s", got, jsonOf(want))
		}
		settle()
		got := s.prov.take()
		if kinds(got) != "interaction_result" || jsonOf(got[0]) != jsonOf(obj{
			"kind": "client.capability.interaction_result", "invocationId": s.inv, "interactionId": "provider-own-id",
			"result": obj{"action": "accept", "values": obj{"colour": "dark red", "count": 3.0}},
		}) {
			t.Errorf("handed over: %v", got)
		}
		if len(s.pending()) != 0 {
			t.Error("still pending")
		}
		s.wantTurn("running")
		s.prov.cap("result", s.inv, textResult("painted"))
		settle()
		if got := kinds(s.prov.take()); got != "release" {
			t.Errorf("the provider saw %q", got)
		}
		s.wantTurn("completed")
		s.wantCall(false, "painted", false)
		s.wantNowhere(id, "dark red", "provider-own-id", "Which colour?")
	})
}

func jsonOf(v any) string { b, _ := json.Marshal(v); return string(b) }

// wantNowhere wants control facts in no row, event or log, and the provider's own id in no frame to a surface.
func (s *stage) wantNowhere(interaction, answer, nested, message string) {
	s.Helper()
	rows := jsonOf(s.rows(s.session, ""))
	for what, secret := range map[string]string{"answer": answer, "the provider's id": nested, "message": message} {
		if contains(rows, secret) {
			s.Errorf("the transcript has the %s", what)
		}
		if contains(s.log.String(), secret) {
			s.Errorf("the log has the %s", what)
		}
	}
	for _, raw := range s.view.raw {
		if contains(raw, nested) {
			s.Errorf("a surface got the provider's id: %.200s", raw)
		}
		if contains(raw, `"subscription.session_event"`) && (contains(raw, answer) || contains(raw, message)) {
			s.Errorf("an event has form text: %s", raw)
		}
	}
	for _, raw := range s.prov.raw {
		if contains(raw, interaction) {
			s.Errorf("the provider got the canonical id: %.200s", raw)
		}
	}
	for _, r := range s.rows(s.session, "") {
		if (r["type"] == "user" && r["text"] != "/call wire/echo {}") || r["type"] == "assistant" {
			s.Errorf("a row that nobody said: %v", r)
		}
	}
}

func TestWireFormActions(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer, result obj
	}{
		"accept":  {accept("red"), obj{"action": "accept", "values": obj{"colour": "red"}}},
		"decline": {obj{"kind": "form", "action": "decline"}, obj{"action": "decline"}},
		"cancel":  {obj{"kind": "form", "action": "cancel"}, obj{"action": "cancel"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, nil, func(w *wire) {
				s := w.newStage(81)
				s.admit()
				id := s.askForm("n1")
				s.view.ok("interaction.answer", s.answerInput(id, tc.answer))
				settle()
				got := s.prov.take()
				if len(got) != 1 || jsonOf(got[0]["result"]) != jsonOf(tc.result) {
					t.Errorf("handed over: %v", got)
				}
				s.wantOutcome(id, name)
			})
		})
	}
}

// A connection of epoch 39 never sees a form and may not send or answer one.
func TestWireEpoch39(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		s := w.newStage(81)
		old := w.connect("client", "old", 39)
		sub := old.ok("subscription.open", obj{"sessionId": s.session, "transcript": obj{"kind": "none"}})
		if n := len(dig(sub, "snapshot", "interactions", "pending").([]any)); n != 0 {
			t.Errorf("%d pending", n)
		}
		s.admit()
		id := s.askForm("n1")
		if got := s.pendingOf(old, s.session); len(got) != 0 {
			t.Errorf("a snapshot of epoch 39 has %v", got)
		}
		old.refused("not_found", "interaction.query", obj{"sessionId": s.session, "interactionId": id})
		s.view.ok("interaction.answer", s.answerInput(id, accept("red")))
		settle()
		for _, raw := range old.raw {
			if contains(raw, "form") && !contains(raw, "performed") || contains(raw, id) {
				t.Errorf("epoch 39 got %s", raw)
			}
		}
		old.send(obj{"requestId": "x", "operation": "interaction.answer", "input": s.answerInput(id, accept("red"))})
		old.wantAborted()
	})
	bubble(t, nil, func(w *wire) {
		s := w.newStage(39)
		s.admit()
		s.prov.cap("interaction_request", s.inv, obj{"interactionId": "n1", "request": form()})
		s.prov.wantAborted()
		s.wantCall(true, lostAfter, true)
		if len(s.pending()) != 0 {
			t.Error("a form is pending")
		}
	})
}

// Duplicate keys end the connection in both dialects.
func TestWireDuplicateKeys(t *testing.T) {
	t.Parallel()
	for _, epoch := range []int{39, 81} {
		bubble(t, nil, func(w *wire) {
			s := w.newStage(epoch)
			s.prov.send(fmt.Sprintf(`{"kind":"client.capability.rejected","invocationId":%q,"message":"a","message":"b"}`, s.inv))
			s.prov.wantAborted()
			s.view.send(`{"requestId":"x","operation":"session.catalog.query","input":{"kind":"list_start","kind":"list_start"}}`)
			s.view.wantAborted()
		})
	}
}

func TestWireAdmissionEvidence(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		epoch int
		more  string
		ok    bool
	}{
		"39 without": {39, ``, true}, "39 with": {39, `,"admissionEvidence":{"kind":"none"}`, false},
		"81 without": {81, ``, false}, "81 with": {81, `,"admissionEvidence":{"kind":"none"}`, true},
		"81 other kind": {81, `,"admissionEvidence":{"kind":"x"}`, false}, "81 more keys": {81, `,"admissionEvidence":{"kind":"none","a":1}`, false}, "81 null": {81, `,"admissionEvidence":null`, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, nil, func(w *wire) {
				s := w.newStage(tc.epoch)
				s.prov.send(fmt.Sprintf(`{"kind":"client.capability.accepted","invocationId":%q%s}`, s.inv, tc.more))
				settle()
				if !tc.ok {
					s.prov.wantAborted()
					return
				}
				if got := kinds(s.prov.take()); got != "admitted" {
					t.Errorf("saw %q", got)
				}
			})
		})
	}
}

// After it settles the provider may ask again; an interactionId serves once in an invocation, however the first ended.
func TestWireAskAgain(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		s := w.newStage(81)
		s.admit()
		first := s.askForm("n1")
		s.view.ok("interaction.answer", s.answerInput(first, obj{"kind": "form", "action": "decline"}))
		second := s.askForm("n2")
		if first == second {
			t.Error("the same canonical id")
		}
		s.view.ok("interaction.answer", s.answerInput(second, accept("red")))
		settle()
		if got := s.prov.take(); kinds(got) != "interaction_result interaction_result" || got[0]["interactionId"] != "n1" || got[1]["interactionId"] != "n2" {
			t.Errorf("handed over %v", got)
		}
		s.prov.cap("interaction_request", s.inv, obj{"interactionId": "n1", "request": form()})
		s.prov.wantAborted()
		s.wantCall(true, lostAfter, true)
	})
	// The same id in two invocations is no duplicate.
	bubble(t, nil, func(w *wire) {
		s := w.newStage(81)
		s.admit()
		s.askForm("n1")
		other := s.view.session("ask")
		s.view.start(other, "/call wire/echo {}")
		settle()
		inv := text(pick(s.prov.take(), "client.capability.call")[0], "invocationId")
		s.prov.cap("accepted", inv, nil)
		s.prov.cap("interaction_request", inv, obj{"interactionId": "n1", "request": form()})
		s.prov.wantAlive()
		if n := len(s.pendingOf(s.view, other)); n != 1 {
			t.Errorf("%d pending in the other session", n)
		}
	})
}

func TestWireSecondRequestAborts(t *testing.T) {
	t.Parallel()
	for _, nested := range []string{"n1", "n2"} {
		bubble(t, nil, func(w *wire) {
			s := w.newStage(81)
			s.admit()
			id := s.askForm("n1")
			s.prov.cap("interaction_request", s.inv, obj{"interactionId": nested, "request": form()})
			s.prov.wantAborted()
			s.wantOutcome(id, "provider_disconnected")
			s.wantCall(true, lostAfter, true)
		})
	}
}

// The 257th form of one invocation fails the call, and nothing else.
func TestWireAskLimit(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		s := w.newStage(81)
		s.admit()
		for n := range 256 {
			s.prov.cap("interaction_request", s.inv, obj{"interactionId": fmt.Sprint("n", n), "request": form()})
			id := s.lastPending()
			s.view.ok("interaction.answer", s.answerInput(id, obj{"kind": "form", "action": "cancel"}))
		}
		settle()
		if got := s.prov.take(); len(got) != 256 {
			t.Fatalf("%d answers", len(got))
		}
		s.prov.cap("interaction_request", s.inv, obj{"interactionId": "one-more", "request": form()})
		settle()
		if got := kinds(s.prov.take()); got != "cancel release" {
			t.Errorf("the provider saw %q", got)
		}
		s.prov.wantAlive()
		s.wantTurn("completed")
		rows := w.rows(s.session, "tool_result")
		if len(rows) != 1 || !strings.HasPrefix(text(rows[0], "content", "text"), "limit_exceeded: ") {
			t.Errorf("rows %v", rows)
		}
	})
}

// lastPending returns the id of the form that the view's projection shows.
func (s *stage) lastPending() string {
	s.Helper()
	settle()
	id := ""
	for _, f := range pick(s.view.take(), "subscription.session_projection") {
		if v := text(f, "snapshot", "interactions", "pending", -1, "interactionId"); v != "" {
			id = v
		}
	}
	if id == "" {
		s.Fatalf("nothing is pending: %s", lastLine(s.log))
	}
	return id
}

// many is an executor whose Turns call n tools at once, those of the servers in turn, and end with them.
type many struct {
	n       int
	servers []string
}

func (m many) Execute(ctx context.Context, run *host.Run) error {
	var calls []host.ToolCall
	for i := range m.n {
		calls = append(calls, host.ToolCall{Server: m.servers[i%len(m.servers)], Tool: "echo", Arguments: json.RawMessage(`{}`)})
	}
	started, err := run.Start(ctx, calls...)
	for _, c := range started {
		c.Wait()
	}
	return err
}

// The session's 17th pending form is not published: its call fails with a sentence, the others stay.
func TestWireSeventeenthForm(t *testing.T) {
	t.Parallel()
	servers := []string{"w0", "w1", "w2"} // eight calls a connection are the most
	bubble(t, func(o *host.Options) { o.Executor = many{18, servers} }, func(w *wire) {
		s := &stage{wire: w, view: w.connect("client", "term", 81)}
		s.session = s.view.session("ask")
		provs := map[string]*peer{}
		for _, name := range servers {
			provs[name] = w.connect("provider", name, 81)
			provs[name].publish(offer("o-"+name, name, "echo"))
		}
		s.turn, s.run = s.view.start(s.session, "go")
		settle()
		var seen []string
		asked := 0
		for _, name := range servers {
			for _, c := range pick(provs[name].take(), "client.capability.call") {
				inv := text(c, "invocationId")
				provs[name].cap("accepted", inv, nil)
				settle()
				provs[name].take()
				provs[name].cap("interaction_request", inv, obj{"interactionId": "n", "request": form()})
				settle()
				asked++
				if got := kinds(provs[name].take()); got != "" {
					seen = append(seen, fmt.Sprint(asked, ": ", got))
				}
			}
		}
		if got := strings.Join(seen, ", "); asked != 18 || got != "17: cancel release, 18: cancel release" {
			t.Errorf("of %d forms: %s", asked, got)
		}
		if n := len(s.pending()); n != 16 {
			t.Errorf("%d pending", n)
		}
		rows := w.rows(s.session, "tool_result")
		if len(rows) != 2 || !strings.HasPrefix(text(rows[0], "content", "text"), "limit_exceeded: ") {
			t.Errorf("rows %v", rows)
		}
		for _, p := range provs {
			p.wantAlive()
		}
		s.wantTurn("waiting_for_user")
	})
}

// A form that would push the snapshot over 56 KiB is not published either.
func TestWireSnapshotLimit(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		s := &stage{wire: w, view: w.connect("client", "term", 81), prov: w.connect("provider", "term", 81)}
		s.prov.publish(offer("o", "wire", "echo"))
		s.session = s.view.session("ask")
		s.turn, s.run = s.view.start(s.session, strings.TrimSpace(strings.Repeat("/call wire/echo {}\n", 8)))
		settle()
		calls := pick(s.prov.take(), "client.capability.call")
		big := form()
		var fields []any
		for i := range 20 {
			fields = append(fields, obj{"kind": "string", "name": fmt.Sprint("f", i), "label": strings.Repeat("l", 200), "description": strings.Repeat("d", 220), "required": false, "maxLength": 100})
		}
		big["fields"] = fields
		refused := 0
		for i, c := range calls {
			s.inv, s.toolCall = text(c, "invocationId"), text(c, "toolCallId")
			s.prov.cap("accepted", s.inv, nil)
			settle()
			s.prov.take()
			s.prov.cap("interaction_request", s.inv, obj{"interactionId": fmt.Sprint("n", i), "request": big})
			settle()
			switch got := kinds(s.prov.take()); got {
			case "":
			case "cancel release":
				refused++
				row := w.rows(s.session, "tool_result")
				if !strings.HasPrefix(text(row[len(row)-1], "content", "text"), "limit_exceeded: ") {
					t.Errorf("row %v", row[len(row)-1])
				}
			default:
				t.Errorf("the provider saw %q", got)
			}
		}
		if refused == 0 || refused == len(calls) {
			t.Fatalf("%d of %d refused", refused, len(calls))
		}
		if n := len(s.pending()); n != len(calls)-refused {
			t.Errorf("%d pending, %d refused of %d", n, refused, len(calls))
		}
		for _, raw := range s.view.raw {
			if len(raw) > 65535 {
				t.Errorf("a frame of %d bytes", len(raw))
			}
		}
		s.prov.wantAlive()
		s.view.wantAlive()
	})
}

// A form that fails the contract ends the connection like every malformed frame, and closes what was open elsewhere on it.
func TestWireMalformedForm(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(f obj){
		"shape":      func(f obj) { f["fields"].([]any)[0].(obj)["kind"] = "text" },
		"more keys":  func(f obj) { f["title"] = "x" },
		"limits":     func(f obj) { f["message"] = strings.Repeat("x", 8193) },
		"16 KiB":     func(f obj) { f["fields"] = manyFields(32, 500) },
		"admission":  func(f obj) { f["fields"].([]any)[1].(obj)["minimum"] = 9 },
		"no message": func(f obj) { delete(f, "message") },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, nil, func(w *wire) {
				s := w.newStage(81)
				s.admit()
				f := form()
				change(f)
				s.prov.cap("interaction_request", s.inv, obj{"interactionId": "n1", "request": f})
				s.prov.wantAborted()
				s.wantCall(true, lostAfter, true)
				if len(s.pending()) != 0 {
					t.Error("it is pending")
				}
			})
		})
	}
}

func manyFields(n, size int) []any {
	var fields []any
	for i := range n {
		fields = append(fields, obj{"kind": "boolean", "name": fmt.Sprint("f", i), "label": "L", "description": strings.Repeat("d", size), "required": false})
	}
	return fields
}

// Every exit closes the form before its call settles, with its reason.
// wantClosedFirst wants one result row with that text, no later than after the closure.
// A surface sees the form leave the projection before it sees the call end.
// The timer rests exactly while a form is pending.
// silence makes a peer's connection half-open.
// replace and unregister by the same connection leave a running call, its registration and its form as they are, and what
// is published later never sees the answer.
// A committed answer is handed to nobody else: not to a newer connection of the identity, nor to another provider.
// leaver is an executor that starts one call and returns without waiting for it when leave is closed.

// The end of a Turn for any cause but turn.stop closes its forms as turn_terminal and ends its calls.
