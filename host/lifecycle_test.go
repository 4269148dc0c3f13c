package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"askback/host/access"
	"askback/protocol"
)

// TestRestart: what a Host left unfinished is ended at the next start, and nothing runs
// again.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	s := newScene(t, func(o *Options) { o.Dir = dir })
	answered := s.begin().form("one")
	s.reply(answered, accepting("red"))
	s.provider.kind("client.capability.interaction_result")
	form := s.form("two")
	root, epoch := s.view.rootID, s.view.hostID
	if err := copyStore(s.h, dir+"/copy"); err != nil { // what a power cut would leave
		t.Fatal(err)
	}
	s.stop()

	for _, c := range []struct{ name, dir, source string }{
		{"closed", dir, "user_stop"}, {"cut", dir + "/copy", "host_restarted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			after := newRig(t, func(o *Options) { o.Dir = c.dir })
			view := after.connect(access.RoleClient, 81, "terminal")
			if view.rootID != root || view.hostID == epoch {
				t.Errorf("root %s→%s, epoch %s→%s", root, view.rootID, epoch, view.hostID)
			}
			turn := view.ok("turn.query", frame{"sessionId": s.session, "turnId": s.turn})
			if turn.text("status") != "cancelled" || turn.text("abortSource") != c.source || turn.text("runId") != s.run {
				t.Errorf("%v", turn)
			}
			for id, want := range map[string]string{answered.text("interactionId"): "answered", form.text("interactionId"): "closed"} {
				in := view.ok("interaction.query", frame{"sessionId": s.session, "interactionId": id})
				if in.text("status") != want || want == "closed" && in.text("outcome.reason") != "host_restarted" {
					t.Errorf("%v", in)
				}
			}
			again := view.ok("interaction.answer", frame{"sessionId": s.session, "interactionId": answered.text("interactionId"), "answer": accepting("red")})
			if again.text("status") != "answered" {
				t.Errorf("an equivalent repeat after the restart: %v", again)
			}
			open := view.subscribe(s.session)
			if open.text("snapshot.rootTurn.status") != "cancelled" || open.text("snapshot.session.status") != "aborted" ||
				len(open.at("snapshot.interactions.pending").([]any)) != 0 {
				t.Errorf("%v", open["snapshot"])
			}
			results := 0
			for _, row := range view.rows(s.session) {
				if row.Type == protocol.RowToolResult {
					results++
					if row.Content.UncertainOutcome == nil || row.Content.UncertainOutcome.RetrySafe {
						t.Errorf("%s", row.Raw)
					}
				}
			}
			if results != 1 {
				t.Errorf("%d results of one call", results)
			}
			provider := after.connect(access.RoleProvider, 81, "terminal")
			provider.publish("srv", "tool", "other")
			next, _ := view.start(s.session, "/call srv/tool")
			call := provider.accept()
			if call.text("turnId") != next {
				t.Errorf("something was run again: %v", call)
			}
		})
	}
}

// stubborn is an executor that runs until it is let go, whatever becomes of its Turn.
type stubborn struct {
	stopped chan struct{} // closed when its Turn is being stopped
	letGo   chan struct{}
}

func (e *stubborn) Execute(ctx context.Context, _ *Run) error {
	<-ctx.Done()
	close(e.stopped)
	<-e.letGo
	return nil
}

// TestDrainAnswersFirst: what is being worked on when the writer is told to finish is answered before it does.
func TestDrainAnswersFirst(t *testing.T) {
	e := &stubborn{make(chan struct{}), make(chan struct{})}
	r := newRig(t, func(o *Options) { o.Executor = e })
	view := r.connect(access.RoleClient, 81, "terminal")
	session := view.newSession("ask")
	turn, run := view.start(session, "anything")
	stop := view.ask("turn.stop", frame{"sessionId": session, "turnId": turn, "runId": run})
	<-e.stopped
	c := r.h.connections()[0]
	c.finish()
	c.out.mu.Lock()
	if c.out.finish {
		t.Error("the writer may end before the answer")
	}
	c.out.mu.Unlock()
	close(e.letGo)
	if f := view.answer(stop); f.text("result.status") != "cancelled" {
		t.Errorf("%v", f)
	}
	<-c.writer
}

func copyStore(h *Host, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return h.store.copyTo(dir + "/" + StoreFile)
}

// TestShutdown: forms close before the Turns are cancelled, requests answer
// host_draining, and the Host ends well within its context.
func TestShutdown(t *testing.T) {
	s := newScene(t, func(o *Options) { o.DrainGrace = 300 * time.Millisecond })
	form := s.begin().form("f")
	other := s.connect(access.RoleProvider, 81, "other")
	other.publish("quiet", "tool")
	second := s.view.newSession("ask")
	s.view.subscribe(second)
	quiet, _ := s.view.start(second, "/call quiet/tool")
	other.accept()

	done := make(chan error, 1)
	go func() { done <- s.h.Shutdown(context.Background()) }()
	s.view.await("the closed form", func(f frame) bool {
		return f.text("snapshot.session.sessionId") == s.session && len(f.at("snapshot.interactions.pending").([]any)) == 0 &&
			f.at("snapshot.projectionRevision").(float64) > 5
	})
	s.view.terminal(s.turn) // the call failed with its form, which ended the Turn
	if code, _ := s.view.refused("host.status", frame{}); code != "host_draining" {
		t.Errorf("while draining: %s", code)
	}
	if end := s.view.terminal(quiet); end.text("status") != "cancelled" || end.text("abortSource") != "user_stop" {
		t.Errorf("%v", end)
	}
	other.kind("client.capability.cancel")
	other.kind("client.capability.release")
	if err := <-done; err != nil {
		t.Error(err)
	}
	s.view.ended()
	if err := s.h.Serve(s.net); !errors.Is(err, ErrClosed) {
		t.Errorf("served after Shutdown: %v", err)
	}
	dir := s.opt.Dir
	s.stop()
	after := newRig(t, func(o *Options) { o.Dir = dir })
	in := after.connect(access.RoleClient, 81, "x").ok("interaction.query", frame{"sessionId": s.session, "interactionId": form.text("interactionId")})
	if in.text("outcome.reason") != "host_restarted" {
		t.Errorf("%v", in)
	}
}

func TestQueue(t *testing.T) {
	s := newScene(t, nil)
	s.begin()
	submit := func(id, text, placement string) frame {
		return frame{"originHostEpoch": s.h.Epoch(), "sessionId": s.session, "messageId": id, "content": frame{"text": text}, "placement": placement}
	}
	first := s.view.ok("turn.message.submit", submit("m1", "/call srv/other", "current_turn"))
	if first.text("disposition") != "followup" || first.at("queueRevision") != 1.0 {
		t.Errorf("%v", first)
	}
	s.view.ok("turn.message.submit", submit("m2", "hello", "next_turn"))
	if again := s.view.ok("turn.message.submit", submit("m1", "/call srv/other", "current_turn")); again.at("queueRevision") != 1.0 {
		t.Errorf("repeat: %v", again)
	}
	for name, c := range map[string]struct {
		code  string
		input frame
	}{
		"other_payload": {"operation_conflict", submit("m1", "something else", "current_turn")},
		"old_epoch": {"outcome_unknown", frame{"originHostEpoch": "old", "sessionId": s.session, "messageId": "m3",
			"content": frame{"text": "x"}, "placement": "next_turn"}},
		"no_session": {"not_found", frame{"originHostEpoch": s.h.Epoch(), "sessionId": "nope", "messageId": "m3",
			"content": frame{"text": "x"}, "placement": "next_turn"}},
	} {
		if code, _ := s.view.refused("turn.message.submit", c.input); code != c.code {
			t.Errorf("%s: %s", name, code)
		}
	}
	s.provider.tell("result", s.call, frame{"result": frame{"content": []frame{}}})
	call := s.provider.accept() // of the first follow-up
	if call.text("toolName") != "other" {
		t.Errorf("%v", call)
	}
	s.provider.tell("result", call, frame{"result": frame{"content": []frame{}}})
	end := s.view.await("the failed follow-up", func(f frame) bool { return f.text("snapshot.rootTurn.status") == "failed" })
	if end.text("snapshot.rootTurn.failureClass") != FailureUnsupportedText || end.at("snapshot.queue.queueRevision") != 4.0 {
		t.Errorf("%v", end["snapshot"])
	}

	// Stopping a Turn drops what waits behind it.
	turn, run := s.view.start(s.session, "/call srv/tool")
	s.provider.accept()
	s.view.ok("turn.message.submit", submit("m4", "/call srv/tool", "next_turn"))
	s.view.ok("turn.stop", frame{"sessionId": s.session, "turnId": turn, "runId": run})
	open := s.view.subscribe(s.session)
	if list := open.at("snapshot.queue.followup").([]any); len(list) != 0 || open.text("snapshot.rootTurn.turnId") != turn {
		t.Errorf("%v", open["snapshot"])
	}
	if got := s.view.ok("turn.message.submit", submit("m5", "bye", "next_turn")); got.text("disposition") != "turn_started" {
		t.Errorf("%v", got)
	}
}

func TestTurnRules(t *testing.T) {
	s := newScene(t, nil)
	start := func(turn, text string) frame {
		return frame{"sessionId": s.session, "turnId": turn, "content": frame{"text": text}}
	}
	s.begin()
	if code, _ := s.view.refused("turn.start", start("other", "x")); code != "session_busy" {
		t.Error(code)
	}
	if again := s.view.ok("turn.start", start(s.turn, "/call srv/tool")); again.text("turn.runId") != s.run {
		t.Errorf("repeat: %v", again)
	}
	if code, _ := s.view.refused("turn.start", start(s.turn, "/call srv/other")); code != "operation_conflict" {
		t.Error(code)
	}
	item := s.view.ok("session.catalog.query", frame{"kind": "get", "sessionId": s.session})
	if item.text("session.status") != "running" || item.at("session.liveRunState.runningTurnIds.0") != s.turn {
		t.Errorf("%v", item)
	}
	if code, _ := s.view.refused("session.remove", frame{"sessionId": s.session, "expectedRevision": item.at("session.revision")}); code != "session_busy" {
		t.Error(code)
	}
	if code, _ := s.view.refused("turn.stop", frame{"sessionId": s.session, "turnId": s.turn, "runId": "wrong"}); code != "operation_conflict" {
		t.Error(code)
	}
	if code, _ := s.view.refused("turn.stop", frame{"sessionId": s.session, "turnId": "nope", "runId": s.run}); code != "not_found" {
		t.Error(code)
	}
	s.provider.tell("failed", s.call, frame{"message": "It broke"})
	s.view.terminal(s.turn) // completed, whatever the tool said
	stop := s.view.ok("turn.stop", frame{"sessionId": s.session, "turnId": s.turn, "runId": s.run})
	if stop.text("status") != "completed" {
		t.Errorf("stopped after its end: %v", stop)
	}
	if again := s.view.ok("turn.start", start(s.turn, "/call srv/tool")); again.text("turn.status") != "completed" {
		t.Errorf("repeat after the end: %v", again)
	}
	failed := s.view.ok("turn.start", start("text", "tell me a joke"))
	if end := s.view.terminal("text"); end.text("status") != "failed" || !strings.Contains(end.text("failureMessage"), "/call SERVER/TOOL") {
		t.Errorf("%v %v", failed, end)
	}
	if open := s.view.subscribe(s.session); open.text("snapshot.session.status") != "blocked" {
		t.Errorf("%v", open["snapshot"])
	}
	unknown, _ := s.view.start(s.session, "/call srv/nothing {}")
	s.view.terminal(unknown)
	s.turn = unknown
	if row := s.result(); !*row.IsError {
		t.Errorf("%s", row.Raw)
	}
}

// TestParallelCalls: the lines of one Turn run together.
func TestParallelCalls(t *testing.T) {
	s := newScene(t, nil)
	turn, _ := s.view.start(s.session, strings.Repeat("/call srv/tool {\"n\":1}\n", 8))
	var calls []frame
	for range 8 {
		calls = append(calls, s.provider.accept())
	}
	for i, call := range calls {
		s.provider.tell("interaction_request", call, frame{"interactionId": fmt.Sprint("f", i), "request": colour()})
	}
	for i, form := range s.view.pending(8) {
		s.reply(form, accepting(fmt.Sprint("v", i)))
	}
	for range calls {
		f := s.provider.kind("client.capability.interaction_result")
		s.provider.tell("result", f, frame{"result": frame{"content": []frame{}}})
	}
	if end := s.view.terminal(turn); end.text("status") != "completed" {
		t.Errorf("%v", end)
	}
}

func TestParseCalls(t *testing.T) {
	for text, want := range map[string]string{
		"/call a/b":                           `a b {}`,
		"/call a/b {\"x\":1}":                 `a b {"x":1}`,
		"  /call\ta/b/c\t{ }  \r\n\n":         `a b/c { }`,
		"/call a b/c":                         `a b c {}`,
		"/call a/b {}\n/call c/d [1]":         "!line 2",
		"/call a/b {\"x\":1,\"x\":2}":         "!twice",
		"/call a/b {\"x\":1} trailing":        "!not JSON",
		"/call a/b 3":                         "!must be a JSON object",
		"/call":                               "!SERVER/TOOL",
		"/call a":                             "!SERVER/TOOL",
		"/call /b":                            "!SERVER/TOOL",
		"/call a/":                            "!SERVER/TOOL",
		"/callx a/b":                          "!runs no model",
		"hello":                               "!runs no model",
		"   \n":                               "!runs no model",
		strings.Repeat("/call a/b\n", 8):      strings.Repeat("a b {}", 8),
		strings.Repeat("/call a/b\n", 9):      "!at most 8",
		"/call a/" + strings.Repeat("x", 129): "!SERVER/TOOL",
	} {
		calls, err := ParseCalls(text)
		var got strings.Builder
		for _, c := range calls {
			fmt.Fprintf(&got, "%s %s %s", c.Server, c.Tool, c.Arguments)
		}
		if says, ok := strings.CutPrefix(want, "!"); ok {
			if err == nil || !strings.Contains(err.Error(), says) || calls != nil {
				t.Errorf("%q: %v, %v", text, got.String(), err)
			}
		} else if err != nil || got.String() != want {
			t.Errorf("%q: %q, %v", text, got.String(), err)
		}
	}
}
