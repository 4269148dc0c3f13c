package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"askback/host"
)

func TestWireClosures(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		do     func(s *stage)
		reason string
		sees   string
		text   string // "" is any failure of the Host's own
		turn   string
	}{
		{"provider lost", func(s *stage) { s.prov.ws.NetConn().Close() }, "provider_disconnected", "", lostAfter, "completed"},
		{"provider malformed", func(s *stage) { s.prov.send("{") }, "provider_disconnected", "", lostAfter, "completed"},
		{"provider revoked", func(s *stage) { s.store.Revoke("provider") }, "provider_disconnected", "", lostAfter, "completed"},
		{"superseded", func(s *stage) {
			s.connect("provider", "term", 81).publish(offer("wire-offer", "wire", "echo"))
		}, "provider_disconnected", "registration_release", lostAfter, "completed"},
		{"failed", func(s *stage) { s.prov.cap("failed", s.inv, obj{"message": "connection_lost: The server died."}) },
			"producer_cancelled", "release", "connection_lost: The server died.", "completed"},
		{"result", func(s *stage) { s.prov.cap("result", s.inv, textResult("unused")) }, "producer_cancelled", "cancel release", "", "completed"},
		{"result_start", func(s *stage) { s.prov.cap("result_start", s.inv, obj{"byteLength": 10, "chunkCount": 1}) },
			"producer_cancelled", "cancel release", "", "completed"},
		{"turn.stop", (*stage).stop, "turn_stopped", "cancel release", cancelled, "cancelled"},
		{"24 hours", func(s *stage) { time.Sleep(24*time.Hour + time.Second) }, "timed_out", "cancel release", "", "completed"},
		{"Host drains", func(s *stage) {
			go s.h.Shutdown(context.Background())
			settle()
			time.Sleep(10 * time.Millisecond)
		}, "host_restarted", "cancel release", cancelled, "cancelled"},
		{"Host closes", func(s *stage) { s.h.Close() }, "host_restarted", "", cancelled, "cancelled"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, nil, func(w *wire) {
				s := w.newStage(81)
				s.admit()
				id := s.askForm("n1")
				s.prov.take()
				tc.do(s)
				settle()
				got := kinds(s.prov.take())
				if strings.HasPrefix(tc.name, "Host") {
					time.Sleep(3 * time.Second)
					w.restart()
					s.view = w.connect("client", "term", 81)
				}
				if tc.name != "Host closes" && got != tc.sees {
					t.Errorf("the provider saw %q, wanted %q", got, tc.sees)
				}
				s.wantOutcome(id, tc.reason)
				s.wantTurn(tc.turn)
				s.wantClosedFirst(id, tc.text)
				if len(s.pending()) != 0 {
					t.Error("still pending")
				}
				for _, a := range []obj{accept("red"), {"kind": "form", "action": "cancel"}, {"kind": "form", "action": "accept", "values": obj{"wrong": 1}}} {
					s.view.refused("already_resolved", "interaction.answer", s.answerInput(id, a))
				}
				s.wantOutcome(id, tc.reason)
			})
		})
	}
}

func (s *stage) wantClosedFirst(id, text string) {
	s.Helper()
	rows := s.rows(s.session, "tool_result")
	if len(rows) != 1 || rows[0]["isError"] != true {
		s.Fatalf("rows %v", rows)
	}
	got, _ := dig(rows[0], "content", "text").(string)
	if text != "" && got != text || got == "" {
		s.Errorf("the call failed with %q, wanted %q", got, text)
	}
	closedAt, _ := dig(s.query(id), "outcome", "committedAt").(float64)
	if at, _ := rows[0]["ts"].(float64); at < closedAt {
		s.Errorf("the call settled at %v, the form closed at %v", at, closedAt)
	}
}

func TestWireClosedBeforeSettled(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		s := w.newStage(81)
		s.admit()
		s.askForm("n1")
		s.view.take()
		s.prov.cap("failed", s.inv, obj{"message": "x"})
		settle()
		closed := false
		for _, f := range s.view.take() {
			if list, ok := dig(f, "snapshot", "interactions", "pending").([]any); ok && len(list) == 0 {
				closed = true
			}
			if dig(f, "event", "type") == "tool_result" && !closed {
				t.Error("the call ended first")
			}
		}
		if !closed {
			t.Error("never closed")
		}
	})
}

func TestWireTimer(t *testing.T) {
	t.Parallel()
	alive := func(s *stage, what string) {
		s.Helper()
		settle()
		if s.prov.code() != 0 || contains(kinds(s.prov.take()), "cancel") {
			s.Errorf("%s: the call was cut off", what)
		}
		if len(s.rows(s.session, "tool_result")) != 0 {
			s.Errorf("%s: the call has ended", what)
		}
	}
	over := func(s *stage, what string) {
		s.Helper()
		settle()
		if got := kinds(s.prov.take()); !strings.HasSuffix(got, "cancel release") {
			s.Errorf("%s: the provider saw %q", what, got)
		}
		s.wantCall(true, lateAfter, true)
	}
	t.Run("thinking is free, then a full deadline", func(t *testing.T) {
		bubble(t, nil, func(w *wire) {
			s := w.newStage(81)
			s.admit()
			time.Sleep(140 * time.Second)
			id := s.askForm("n1")
			time.Sleep(time.Hour)
			alive(s, "an hour of thinking")
			s.view.ok("interaction.answer", s.answerInput(id, accept("red")))
			time.Sleep(149 * time.Second)
			alive(s, "149 s after the answer")
			time.Sleep(2 * time.Second)
			over(s, "151 s after the answer")
		})
	})
	t.Run("a second form rests it again", func(t *testing.T) {
		bubble(t, nil, func(w *wire) {
			s := w.newStage(81)
			s.admit()
			id := s.askForm("n1")
			time.Sleep(time.Hour)
			s.view.ok("interaction.answer", s.answerInput(id, accept("red")))
			time.Sleep(100 * time.Second)
			id = s.askForm("n2")
			time.Sleep(time.Hour)
			alive(s, "an hour of thinking")
			s.view.ok("interaction.answer", s.answerInput(id, accept("red")))
			time.Sleep(100 * time.Second)
			alive(s, "a full deadline again")
			time.Sleep(51 * time.Second)
			over(s, "hung after the answer")
		})
	})
	t.Run("progress and a refused request do not touch it", func(t *testing.T) {
		bubble(t, nil, func(w *wire) {
			s := w.newStage(81)
			s.admit()
			id := s.askForm("n1")
			time.Sleep(time.Hour)
			s.prov.cap("progress", s.inv, obj{"current": 0, "total": 9})
			time.Sleep(time.Hour)
			alive(s, "progress while pending")
			s.view.ok("interaction.answer", s.answerInput(id, accept("red")))
			for i := range 5 {
				time.Sleep(29 * time.Second)
				s.prov.cap("progress", s.inv, obj{"current": i + 1, "total": 9})
			}
			alive(s, "145 s after the answer")
			time.Sleep(6 * time.Second)
			over(s, "progress after the answer")
		})
	})
	t.Run("a provider that does not read is cut off after the commit", func(t *testing.T) {
		bubble(t, nil, func(w *wire) {
			s := w.newStage(81)
			s.admit()
			id := s.askForm("n1")
			silence(s.prov)
			s.view.ok("interaction.answer", s.answerInput(id, accept("red")))
			time.Sleep(151 * time.Second)
			settle()
			s.wantCall(true, lateAfter, true)
			s.wantOutcome(id, "accept")
			s.view.wantAlive()
		})
	})
}

func silence(p *peer) { p.ws.NetConn().(interface{ Silence() }).Silence() }

func TestWireReplaceWhilePending(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"replace", "unregister", "both"} {
		t.Run(how, func(t *testing.T) {
			bubble(t, nil, func(w *wire) {
				s := w.newStage(81)
				s.admit()
				id := s.askForm("n1")
				if how != "replace" {
					s.prov.ok("client.capability.unregister", obj{"registrationId": s.regName})
				}
				if how != "unregister" {
					s.prov.publish(offer("wire-offer", "wire", "echo"))
				}
				settle()
				if got := kinds(s.prov.take()); got != "" {
					t.Errorf("the provider saw %q", got)
				}
				if len(s.pending()) != 1 {
					t.Fatal("the form is gone")
				}
				s.view.ok("interaction.answer", s.answerInput(id, accept("red")))
				settle()
				if got := s.prov.take(); kinds(got) != "interaction_result" || got[0]["invocationId"] != s.inv {
					t.Errorf("the provider saw %v", got)
				}
				s.prov.cap("result", s.inv, textResult("done"))
				settle()
				got := s.prov.take()
				if kinds(got) != "release registration_release" || got[1]["registrationId"] != s.regName {
					t.Errorf("the provider saw %v", got)
				}
				s.wantCall(false, "done", false)
			})
		})
	}
}

func TestWireCommittedNotDelivered(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"lost", "superseded"} {
		t.Run(how, func(t *testing.T) {
			var hold, held chan struct{}
			bubble(t, func(o *host.Options) {
				hold, held = make(chan struct{}), make(chan struct{}, 1)
				o.BeforeHandOver = func(string) { held <- struct{}{}; <-hold }
			}, func(w *wire) {
				s := w.newStage(81)
				s.admit()
				id := s.askForm("n1")
				s.prov.take()
				req := s.view.request("interaction.answer", s.answerInput(id, accept("red")))
				settle()
				select {
				case <-held:
				default:
					t.Fatal("the hand-over was not held")
				}
				newer := s.connect("provider", "term", 81)
				if how == "lost" {
					s.prov.ws.NetConn().Close()
					settle()
				}
				newer.publish(offer("wire-offer", "wire", "echo"))
				close(hold)
				settle()
				if f := s.view.answer(req); f == nil || f["ok"] != true {
					t.Errorf("the answer came to %v", f)
				}
				s.wantOutcome(id, "accept")
				s.wantCall(true, lostAfter, true)
				for _, p := range []*peer{s.prov, newer} {
					if len(pick(p.take(), "client.capability.interaction_result")) != 0 {
						t.Errorf("%s got the answer", p.name)
					}
				}
				s.view.ok("interaction.answer", s.answerInput(id, accept("red")))
				settle()
				if got := newer.take(); len(got) != 0 {
					t.Errorf("after a repeat the newer connection got %v", got)
				}
			})
		})
	}
}

type leaver struct{ leave chan struct{} }

func (l *leaver) Execute(ctx context.Context, run *host.Run) error {
	if _, err := run.Start(ctx, host.ToolCall{Server: "wire", Tool: "echo", Arguments: json.RawMessage(`{}`)}); err != nil {
		return err
	}
	<-l.leave
	return nil
}

func TestWireTurnTerminal(t *testing.T) {
	t.Parallel()
	ex := &leaver{}
	bubble(t, func(o *host.Options) { ex.leave = make(chan struct{}); o.Executor = ex }, func(w *wire) {
		s := w.newStage(81)
		s.admit()
		id := s.askForm("n1")
		s.prov.take()
		close(ex.leave)
		settle()
		if got := kinds(s.prov.take()); got != "cancel release" {
			t.Errorf("the provider saw %q", got)
		}
		s.wantOutcome(id, "turn_terminal")
		s.wantClosedFirst(id, cancelled)
		s.wantTurn("completed")
		s.view.refused("already_resolved", "interaction.answer", s.answerInput(id, accept("red")))
	})
}
