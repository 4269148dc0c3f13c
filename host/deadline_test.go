package host

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"askback/host/access"
	"askback/protocol"
)

// scene is a Host with a terminal, its provider, and one call that is admitted.
type scene struct {
	*rig
	view, provider *peer
	session        string
	turn, run      string
	call           frame
}

func newScene(t *testing.T, change func(*Options)) *scene {
	t.Helper()
	s := &scene{rig: newRig(t, change)}
	s.view = s.connect(access.RoleClient, 81, "terminal")
	s.provider = s.connect(access.RoleProvider, 81, "terminal")
	s.provider.publish("srv", "tool", "other")
	s.session = s.view.newSession("ask")
	s.view.subscribe(s.session)
	return s
}

func (s *scene) begin() *scene {
	s.turn, s.run = s.view.start(s.session, "/call srv/tool")
	s.call = s.provider.accept()
	return s
}

func (s *scene) form(id string) frame {
	s.t.Helper()
	s.provider.tell("interaction_request", s.call, frame{"interactionId": id, "request": colour()})
	return s.view.pending(1)[0]
}

func (s *scene) reply(form frame, answer frame) frame {
	s.t.Helper()
	return s.view.ok("interaction.answer", frame{"sessionId": s.session, "interactionId": form.text("interactionId"), "answer": answer})
}

// released waits for the end of the call at the provider and says whether it was cancelled.
func (s *scene) released() (cancelled bool) {
	s.t.Helper()
	for {
		f := s.provider.await("release", func(f frame) bool {
			return f.text("kind") == "client.capability.cancel" || f.text("kind") == "client.capability.release"
		})
		if f.text("kind") == "client.capability.release" {
			return cancelled
		}
		cancelled = true
	}
}

// result is the tool_result row of the only call of the newest Turn.
func (s *scene) result() *protocol.Row {
	s.t.Helper()
	for _, row := range s.rows() {
		if row.Type == protocol.RowToolResult && row.TurnID == s.turn {
			return row
		}
	}
	s.t.Fatal("no tool_result row")
	return nil
}

func (s *scene) rows() []*protocol.Row {
	s.t.Helper()
	return s.view.rows(s.session)
}

func (s *scene) closure(form frame) string {
	s.t.Helper()
	return s.view.ok("interaction.query", frame{"sessionId": s.session, "interactionId": form.text("interactionId")}).text("outcome.reason")
}

func TestDeadline(t *testing.T) {
	const deadline = protocol.InvocationTimeout
	for _, c := range []struct {
		name string
		run  func(t *testing.T, s *scene)
	}{
		{"thinking_is_free", func(t *testing.T, s *scene) {
			s.begin()
			time.Sleep(deadline - time.Second)
			form := s.form("f")
			time.Sleep(time.Hour)
			s.reply(form, accepting("red"))
			s.provider.kind("client.capability.interaction_result")
			time.Sleep(deadline - time.Second) // armed again in full
			if n := s.h.Active(); n != 1 {
				t.Errorf("%d invocations", n)
			}
			s.provider.tell("result", s.call, frame{"result": frame{"content": []frame{}}})
			s.view.terminal(s.turn)
			if row := s.result(); *row.IsError {
				t.Errorf("the call failed: %s", row.Raw)
			}
		}},
		{"not_accepted", func(t *testing.T, s *scene) {
			s.turn, _ = s.view.start(s.session, "/call srv/tool")
			began := time.Now()
			s.provider.kind("client.capability.call")
			if !s.released() || time.Since(began) != deadline {
				t.Errorf("released after %v", time.Since(began))
			}
			s.view.terminal(s.turn)
			if row := s.result(); row.Content.UncertainOutcome != nil || !strings.Contains(row.Content.Text, "timed out before provider acceptance") {
				t.Errorf("%s", row.Raw)
			}
		}},
		{"accepted", func(t *testing.T, s *scene) {
			began := time.Now()
			s.begin()
			time.Sleep(time.Minute)
			s.provider.tell("progress", s.call, frame{"current": 1, "total": 2}) // extends nothing
			if !s.released() || time.Since(began) != deadline {
				t.Errorf("released after %v", time.Since(began))
			}
			s.view.terminal(s.turn)
			if row := s.result(); row.Content.UncertainOutcome == nil || row.Content.UncertainOutcome.Code != "outcome_unknown" {
				t.Errorf("%s", row.Raw)
			}
		}},
		{"hung_after_answer_expires", func(t *testing.T, s *scene) {
			form := s.begin().form("f")
			time.Sleep(time.Hour)
			s.reply(form, accepting("red"))
			began := time.Now()
			if !s.released() || time.Since(began) != deadline {
				t.Errorf("released after %v", time.Since(began))
			}
			s.view.terminal(s.turn)
			if row := s.result(); row.Content.UncertainOutcome == nil {
				t.Errorf("%s", row.Raw)
			}
		}},
		{"second_form_suspends_again", func(t *testing.T, s *scene) {
			form := s.begin().form("one")
			time.Sleep(time.Hour)
			s.reply(form, accepting("red"))
			s.provider.kind("client.capability.interaction_result")
			form = s.form("two")
			time.Sleep(time.Hour)
			s.reply(form, frame{"kind": "form", "action": "decline"})
			if f := s.provider.kind("client.capability.interaction_result"); f.text("interactionId") != "two" || f.text("result.action") != "decline" {
				t.Errorf("%v", f)
			}
			s.provider.tell("failed", s.call, frame{"message": "declined"})
			s.view.terminal(s.turn)
			if row := s.result(); row.Content.Text != "declined" {
				t.Errorf("%s", row.Raw)
			}
		}},
		{"nobody_answers", func(t *testing.T, s *scene) {
			form := s.begin().form("f")
			began := time.Now()
			if !s.released() || time.Since(began) != protocol.InteractionTimeout {
				t.Errorf("released after %v", time.Since(began))
			}
			if got := s.closure(form); got != "timed_out" {
				t.Errorf("closed as %q", got)
			}
			s.view.terminal(s.turn)
			if row := s.result(); !strings.HasPrefix(row.Content.Text, "timeout: ") {
				t.Errorf("%s", row.Raw)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.run(t, newScene(t, nil)) })
		})
	}
}

// TestCommitWithoutDelivery: an answer that is committed and not handed over does not
// stop the clock, and is not handed over once the call is lost.
func TestCommitWithoutDelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		s := newScene(t, func(o *Options) { o.BeforeHandOver = func(string) { <-hold } })
		form := s.begin().form("f")
		time.Sleep(time.Hour)
		began := time.Now()
		s.reply(form, accepting("red"))
		if !s.released() || time.Since(began) != protocol.InvocationTimeout {
			t.Errorf("released after %v", time.Since(began))
		}
		close(hold)
		s.view.terminal(s.turn)
		synctest.Wait()
		s.provider.ok("host.status", frame{})
		for _, f := range s.provider.queued {
			if f.text("kind") == "client.capability.interaction_result" {
				t.Error("the answer was handed over to a call that had ended")
			}
		}
	})
}

func TestHelloLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		p := &peer{t: t, ws: r.dial(access.RoleClient)}
		p.raw = p.ws.NetConn()
		began := time.Now()
		if err := p.ended(); err == nil || time.Since(began) != protocol.HelloTimeout {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}
