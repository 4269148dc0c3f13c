package host_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"askback/host"
	"askback/host/access"
)

// The table of the wire protocol's section 6.1, for forms.
func TestWireAnswers(t *testing.T) {
	t.Parallel()
	asked := func(t *testing.T, test func(s *stage, id string)) {
		bubble(t, nil, func(w *wire) {
			s := w.newStage(81)
			s.admit()
			id := s.askForm("n1")
			s.prov.take()
			test(s, id)
		})
	}
	handed := func(s *stage) int {
		settle()
		return len(pick(s.prov.take(), "client.capability.interaction_result"))
	}
	t.Run("same answer again", func(t *testing.T) {
		asked(t, func(s *stage, id string) {
			first := s.view.ok("interaction.answer", s.answerInput(id, obj{"kind": "form", "action": "accept", "values": obj{"colour": "red", "count": 5}}))
			time.Sleep(time.Second)
			again := s.view.ok("interaction.answer", s.answerInput(id, obj{"kind": "form", "action": "accept", "values": obj{"count": 5, "colour": "red"}}))
			if jsonOf(first) != jsonOf(again) {
				t.Errorf("%v, then %v", first, again)
			}
			// 5.0 is 5.
			s.view.send(fmt.Sprintf(`{"requestId":"eq","operation":"interaction.answer","input":{"sessionId":%q,"interactionId":%q,"answer":{"kind":"form","action":"accept","values":{"colour":"red","count":5.0}}}}`, s.session, id))
			if f := s.view.answer("eq"); f == nil || jsonOf(f["result"]) != jsonOf(first) {
				t.Errorf("5.0: %v", f)
			}
			if n := handed(s); n != 1 {
				t.Errorf("handed over %d times", n)
			}
		})
	})
	t.Run("different answer", func(t *testing.T) {
		asked(t, func(s *stage, id string) {
			s.view.ok("interaction.answer", s.answerInput(id, accept("red")))
			for _, a := range []obj{accept("blue"), {"kind": "form", "action": "decline"}, {"kind": "form", "action": "accept", "values": obj{"colour": "red", "count": 1}},
				{"kind": "form", "action": "accept", "values": obj{"nonsense": true}}} {
				s.view.refused("already_resolved", "interaction.answer", s.answerInput(id, a))
			}
			if n := handed(s); n != 1 {
				t.Errorf("handed over %d times", n)
			}
			s.wantOutcome(id, "accept")
		})
	})
	t.Run("other kind after the answer", func(t *testing.T) {
		asked(t, func(s *stage, id string) {
			s.view.ok("interaction.answer", s.answerInput(id, accept("red")))
			s.view.refused("already_resolved", "interaction.answer", s.answerInput(id, obj{"kind": "question", "answers": []any{"red"}}))
		})
	})
	t.Run("other kind while pending", func(t *testing.T) {
		asked(t, func(s *stage, id string) {
			for _, a := range []obj{{"kind": "question", "answers": []any{"red"}}, {"kind": "sandbox_boundary", "decision": "allow"}, {"kind": "permission", "decision": "deny", "rememberForTurn": false}} {
				if m := s.view.refused("operation_conflict", "interaction.answer", s.answerInput(id, a)); m != "Interaction answer does not match the pending request" {
					t.Errorf("%q", m)
				}
			}
			if len(s.pending()) != 1 || handed(s) != 0 {
				t.Error("it is not pending any more")
			}
		})
	})
	t.Run("wrong, then corrected", func(t *testing.T) {
		asked(t, func(s *stage, id string) {
			for name, values := range map[string]obj{
				"colour": {}, `"colour"`: {"count": 2}, "count": {"colour": "red", "count": 6}, `"count"`: {"colour": "red", "count": 1.5},
				"20": {"colour": strings.Repeat("x", 21)}, "colour\"": {"colour": true}, "shade": {"colour": "red", "shade": "dark"},
			} {
				m := s.view.refused("operation_conflict", "interaction.answer", s.answerInput(id, obj{"kind": "form", "action": "accept", "values": values}))
				if !contains(m, name) {
					t.Errorf("%v: %q does not name %s", values, m, name)
				}
			}
			if len(s.pending()) != 1 || handed(s) != 0 {
				t.Error("it is not pending any more")
			}
			s.view.ok("interaction.answer", s.answerInput(id, accept("red")))
			if handed(s) != 1 {
				t.Error("not handed over")
			}
		})
	})
	t.Run("the first offending field is named", func(t *testing.T) {
		asked(t, func(s *stage, id string) {
			m := s.view.refused("operation_conflict", "interaction.answer", s.answerInput(id, obj{"kind": "form", "action": "accept", "values": obj{"count": 9}}))
			if !strings.HasPrefix(m, `"colour":`) {
				t.Errorf("%q", m)
			}
		})
	})
	t.Run("after turn.stop", func(t *testing.T) {
		asked(t, func(s *stage, id string) {
			s.stop()
			if m := s.view.refused("already_resolved", "interaction.answer", s.answerInput(id, accept("red"))); !contains(m, "closed") {
				t.Errorf("%q", m)
			}
			s.wantOutcome(id, "turn_stopped")
		})
	})
	t.Run("unknown", func(t *testing.T) {
		asked(t, func(s *stage, id string) {
			for _, in := range []obj{s.answerInput("nope", accept("red")), {"sessionId": "nope", "interactionId": id, "answer": accept("red")}} {
				s.view.refused("not_found", "interaction.answer", in)
				delete(in, "answer")
				s.view.refused("not_found", "interaction.query", in)
			}
		})
	})
	t.Run("known under another session", func(t *testing.T) {
		asked(t, func(s *stage, id string) {
			other := s.view.session("ask")
			s.view.refused("not_found", "interaction.answer", obj{"sessionId": other, "interactionId": id, "answer": accept("red")})
			if len(s.pending()) != 1 || handed(s) != 0 {
				t.Error("it is not pending any more")
			}
			s.view.ok("interaction.answer", s.answerInput(id, accept("red")))
			s.view.refused("not_found", "interaction.answer", obj{"sessionId": other, "interactionId": id, "answer": accept("red")})
			s.view.refused("not_found", "interaction.query", obj{"sessionId": other, "interactionId": id})
		})
	})
	t.Run("any connection may answer, all see it leave", func(t *testing.T) {
		asked(t, func(s *stage, id string) {
			a, b := s.connect("both", "other", 81), s.connect("client", "third", 81)
			for _, p := range []*peer{a, b} {
				p.ok("subscription.open", obj{"sessionId": s.session, "transcript": obj{"kind": "none"}})
			}
			a.ok("interaction.answer", s.answerInput(id, accept("red")))
			settle()
			for _, p := range []*peer{s.view, a, b} {
				frames := pick(p.take(), "subscription.session_projection")
				if len(frames) == 0 || len(dig(frames[len(frames)-1], "snapshot", "interactions", "pending").([]any)) != 0 {
					t.Errorf("%s saw %v", p.name, frames)
				}
			}
		})
	})
	t.Run("a provider's credential may not", func(t *testing.T) {
		asked(t, func(s *stage, id string) {
			s.prov.refused("unauthorized", "interaction.answer", s.answerInput(id, accept("red")))
			s.prov.refused("unauthorized", "interaction.query", obj{"sessionId": s.session, "interactionId": id})
		})
	})
	for name, answer := range map[string]string{
		"not an object": `"accept"`, "more keys": `{"kind":"form","action":"decline","reason":"x"}`, "values beside decline": `{"kind":"form","action":"decline","values":{}}`,
		"accept without values": `{"kind":"form","action":"accept"}`, "other action": `{"kind":"form","action":"submit","values":{}}`, "null value": `{"kind":"form","action":"accept","values":{"colour":null}}`,
		"object value": `{"kind":"form","action":"accept","values":{"colour":{}}}`, "list of numbers": `{"kind":"form","action":"accept","values":{"colour":[1]}}`,
		"duplicate": `{"kind":"form","action":"accept","values":{"colour":"a","colour":"b"}}`, "empty question": `{"kind":"question","answers":[]}`,
		"65 KiB": `{"kind":"form","action":"accept","values":{"colour":["` + strings.Repeat("x", 65<<10) + `"]}}`, "no kind": `{"action":"decline"}`,
	} {
		t.Run("malformed/"+name, func(t *testing.T) {
			asked(t, func(s *stage, id string) {
				bad := s.connect("client", "bad", 81)
				bad.send(fmt.Sprintf(`{"requestId":"x","operation":"interaction.answer","input":{"sessionId":%q,"interactionId":%q,"answer":%s}}`, s.session, id, answer))
				bad.wantAborted()
				if len(s.pending()) != 1 || handed(s) != 0 {
					t.Error("it is not pending any more")
				}
			})
		})
	}
}

// Two surfaces answering at once: one wins, both learn the canonical outcome, and it is handed over once.
func TestWireAnswerRace(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		s := w.newStage(81)
		s.admit()
		for round := range 30 {
			id := s.askForm(fmt.Sprint("n", round))
			s.prov.take()
			var peers []*peer
			for i := range 4 {
				peers = append(peers, s.connect("client", fmt.Sprint("p", i), 81))
			}
			var wg sync.WaitGroup
			for i, p := range peers {
				wg.Go(func() { p.request("interaction.answer", s.answerInput(id, accept(fmt.Sprint("colour", i)))) })
			}
			wg.Wait()
			settle()
			won := ""
			for i, p := range peers {
				switch f := p.answer("r1"); {
				case f["ok"] == true && won == "":
					won = fmt.Sprint("colour", i)
				case f["ok"] == true || text(f, "error", "code") != "already_resolved":
					t.Errorf("answer %d: %v", i, f)
				}
			}
			in := s.query(id)
			if got := text(in, "outcome", "values", "colour"); got != won {
				t.Errorf("%s won, the outcome is %v", won, in["outcome"])
			}
			got := s.prov.take()
			if kinds(got) != "interaction_result" || text(got[0], "result", "values", "colour") != won {
				t.Errorf("%s won, handed over %v", won, got)
			}
			for _, p := range peers {
				p.ws.NetConn().Close()
			}
			if t.Failed() {
				return
			}
		}
	})
}

// The claim of the provider is not shown; what the Host verified itself is, after the display projection.
func TestWireRequester(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		w.token("dev-box.1", access.RoleProvider, 0)
		s := &stage{wire: w, view: w.connect("client", "term", 81), prov: w.connect("dev-box.1", "term", 81)}
		o := offer("o", "ser\u202ever", "to\u001bol")
		o["label"] = "La\u0007bel"
		s.prov.publish(o)
		s.session = s.view.session("ask")
		s.turn, s.run = s.view.start(s.session, "/call ser\u202ever/to\u001bol {}")
		s.inv = s.called(s.prov)
		s.admit()
		for n, claim := range []obj{{"name": "sudo", "source": "your bank"}, {"name": "sudo"}} {
			f := form()
			f["requester"] = claim
			f["message"] = "a\u001b[31mb\u200b"
			s.prov.cap("interaction_request", s.inv, obj{"interactionId": fmt.Sprint("n", n), "request": f})
			list := s.pending()
			if len(list) != 1 {
				t.Fatalf("%d pending: %s", len(list), lastLine(w.log))
			}
			got := dig(list[0], "request", "requester")
			if text(got, "name") != `to\x1bol` || text(got, "source") != `ser\u{202e}ver · via La\x07bel · dev-box.1` {
				t.Errorf("requester %v", got)
			}
			if m := text(list[0], "request", "message"); m != `a\x1b[31mb\u{200b}` {
				t.Errorf("message %q", m)
			}
			s.view.ok("interaction.answer", s.answerInput(text(list[0], "interactionId"), obj{"kind": "form", "action": "cancel"}))
			settle()
			s.prov.take()
		}
	})
}

// The projection never touches what is sent back.
func TestWireProjectionKeepsIdentities(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		s := w.newStage(81)
		s.admit()
		f := obj{"message": "m", "requester": obj{"name": "x"}, "fields": []any{
			obj{"kind": "single_select", "name": "na\u200bme", "label": "La\u200bbel", "required": true, "options": []any{
				obj{"value": "va\u202elue", "label": "one\u202e"}, obj{"value": "other", "label": "two"},
			}},
		}}
		s.prov.cap("interaction_request", s.inv, obj{"interactionId": "n1", "request": f})
		list := s.pending()
		field := dig(list[0], "request", "fields", 0)
		if text(field, "name") != "na\u200bme" || text(field, "options", 0, "value") != "va\u202elue" {
			t.Errorf("identities were touched: %v", field)
		}
		if text(field, "label") != `La\u{200b}bel` || text(field, "options", 0, "label") != `one\u{202e}` {
			t.Errorf("texts were not projected: %v", field)
		}
		s.view.ok("interaction.answer", s.answerInput(text(list[0], "interactionId"), obj{"kind": "form", "action": "accept", "values": obj{"na\u200bme": "va\u202elue"}}))
		settle()
		got := pick(s.prov.take(), "client.capability.interaction_result")
		if len(got) != 1 || text(got[0], "result", "values", "na\u200bme") != "va\u202elue" {
			t.Errorf("handed over %v", got)
		}
	})
}

// Request, answer and closure live exactly as long as their session.
func TestWireSessionRemove(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		s := w.newStage(81)
		s.admit()
		id := s.askForm("n1")
		rev := func() any {
			return dig(s.view.ok("session.catalog.query", obj{"kind": "get", "sessionId": s.session}), "session", "revision")
		}
		s.view.refused("session_busy", "session.remove", obj{"sessionId": s.session, "expectedRevision": rev()})
		if len(s.pending()) != 1 {
			t.Fatal("the form is gone")
		}
		s.view.ok("interaction.answer", s.answerInput(id, accept("very-secret-red")))
		s.prov.cap("result", s.inv, textResult("done"))
		s.wantTurn("completed")
		w.restart()
		s.view = w.connect("client", "term", 81)
		if got := text(s.query(id), "outcome", "values", "colour"); got != "very-secret-red" {
			t.Errorf("after a restart the answer is %q", got)
		}
		sub := s.view.ok("subscription.open", obj{"sessionId": s.session, "transcript": obj{"kind": "none"}})
		if r := s.view.ok("session.remove", obj{"sessionId": s.session, "expectedRevision": rev()}); r["kind"] != "removed" {
			t.Fatalf("%v", r)
		}
		settle()
		closed := pick(s.view.take(), "subscription.closed")
		if len(closed) != 1 || closed[0]["reason"] != "session_removed" || closed[0]["subscriptionId"] != sub["subscriptionId"] {
			t.Errorf("closed %v", closed)
		}
		s.view.refused("not_found", "interaction.query", obj{"sessionId": s.session, "interactionId": id})
		s.view.refused("not_found", "interaction.answer", s.answerInput(id, accept("very-secret-red")))
		w.restart()
		s.view = w.connect("client", "term", 81)
		s.view.refused("not_found", "interaction.query", obj{"sessionId": s.session, "interactionId": id})
	})
}

// Retention drops the values of a settled form and keeps action and time.
func TestWireRetention(t *testing.T) {
	t.Parallel()
	bubble(t, func(o *host.Options) { o.Retain = time.Hour }, func(w *wire) {
		s := w.newStage(81)
		s.admit()
		id := s.askForm("n1")
		done := s.view.ok("interaction.answer", s.answerInput(id, accept("red")))
		s.prov.cap("result", s.inv, textResult("done"))
		time.Sleep(50 * time.Minute)
		if got := s.query(id); jsonOf(got) != jsonOf(done) {
			t.Errorf("too early: %v", got)
		}
		time.Sleep(3 * time.Hour)
		settle()
		got := s.query(id)
		if dig(got, "outcome", "values") != nil || text(got, "outcome", "action") != "accept" || dig(got, "outcome", "committedAt") != dig(done, "outcome", "committedAt") {
			t.Errorf("outcome %v", got["outcome"])
		}
		for _, answer := range []obj{accept("red"), accept("blue")} { // nobody can say any more whether it is the same
			if says := s.view.refused("already_resolved", "interaction.answer", s.answerInput(id, answer)); !strings.Contains(says, "kept no longer") {
				t.Errorf("%v: %s", answer, says)
			}
		}
		if says := s.view.refused("already_resolved", "interaction.answer", s.answerInput(id, obj{"kind": "form", "action": "decline"})); !strings.Contains(says, "different") {
			t.Errorf("declined: %s", says)
		}
	})
}

// An accepted form without fields has no values to drop, so its repeat converges for ever.
func TestWireRetentionOfConsent(t *testing.T) {
	t.Parallel()
	bubble(t, func(o *host.Options) { o.Retain = time.Hour }, func(w *wire) {
		s := w.newStage(81)
		s.admit()
		s.prov.cap("interaction_request", s.inv, obj{"interactionId": "n1", "request": obj{"message": "Go?", "requester": obj{"name": "echo"}, "fields": []any{}}})
		id := text(s.pending()[0], "interactionId")
		yes := s.answerInput(id, obj{"kind": "form", "action": "accept", "values": obj{}})
		done := s.view.ok("interaction.answer", yes)
		s.prov.cap("result", s.inv, textResult("done"))
		time.Sleep(3 * time.Hour)
		settle()
		if again := s.view.ok("interaction.answer", yes); jsonOf(again) != jsonOf(done) {
			t.Errorf("again: %v", again)
		}
	})
}

// The store is durable: what was pending when the Host ended is closed at its next start, and what was answered stays so.
func TestWireRestart(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		s := w.newStage(81)
		s.admit()
		answered := s.askForm("n1")
		s.view.ok("interaction.answer", s.answerInput(answered, accept("red")))
		open := s.askForm("n2")
		epoch := text(s.view.ok("host.status", obj{}), "hostEpoch")
		w.restart()
		s.view = w.connect("client", "term", 81)
		if now := text(s.view.ok("host.status", obj{}), "hostEpoch"); now == epoch {
			t.Error("the same epoch")
		}
		s.wantOutcome(answered, "accept")
		s.wantOutcome(open, "host_restarted")
		s.wantTurn("cancelled")
		s.wantCall(true, cancelled, true)
		s.view.refused("already_resolved", "interaction.answer", s.answerInput(open, accept("red")))
		s.view.ok("interaction.answer", s.answerInput(answered, accept("red")))
		if len(s.pending()) != 0 {
			t.Error("something is pending")
		}
		s.prov = w.connect("provider", "term", 81)
		s.prov.publish(offer("wire-offer", "wire", "echo"))
		settle()
		if got := s.prov.take(); len(got) != 0 {
			t.Errorf("the provider got %v", got)
		}
		s.turn, s.run = s.view.start(s.session, "/call wire/echo {}")
		s.inv = s.called(s.prov)
		s.admit()
	})
}
