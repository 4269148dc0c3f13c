package host_test

import (
	"context"
	"testing"
	"time"
)

const (
	lostBefore = "Client Capability provider disconnected before accepting the call"
	lostAfter  = "outcome_unknown: Client Capability provider disconnected after accepting the call"
	lateBefore = "Client Capability invocation timed out before provider acceptance"
	lateAfter  = "outcome_unknown: Client Capability invocation timed out after provider acceptance"
	cancelled  = "outcome_unknown: Client Capability invocation was cancelled after provider acceptance"
)

// What the provider sees and what the transcript keeps when a call goes wrong (wire protocol, 7.3). A Turn goes on to its
// end, unless it was stopped.
func TestWireFailures(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name      string
		phase     string // dispatched, admitted, chunks
		do        func(s *stage)
		sees      string
		text      string
		uncertain bool
		turn      string
	}{
		{"rejected", "dispatched", func(s *stage) { s.prov.cap("rejected", s.inv, obj{"message": "I do not want to"}) },
			"release", "I do not want to", false, "completed"},
		{"failed", "admitted", func(s *stage) { s.prov.cap("failed", s.inv, obj{"message": "It broke"}) },
			"release", "It broke", false, "completed"},
		{"failed with a code", "admitted", func(s *stage) { s.prov.cap("failed", s.inv, obj{"message": "stale_binding: The tool changed."}) },
			"release", "stale_binding: The tool changed.", false, "completed"},
		{"failed outcome_unknown", "admitted", func(s *stage) { s.prov.cap("failed", s.inv, obj{"message": "outcome_unknown: The server went away."}) },
			"release", "outcome_unknown: The server went away.", true, "completed"},
		{"failed between chunks", "chunks", func(s *stage) { s.prov.cap("failed", s.inv, obj{"message": "It broke"}) },
			"release", "It broke", false, "completed"},
		{"stopped, not accepted", "dispatched", (*stage).stop, "cancel release", "This operation was aborted", false, "cancelled"},
		{"stopped, accepted", "admitted", (*stage).stop, "cancel release", cancelled, true, "cancelled"},
		{"stopped between chunks", "chunks", (*stage).stop, "cancel release", cancelled, true, "cancelled"},
		{"deadline, not accepted", "dispatched", func(s *stage) { time.Sleep(151 * time.Second) }, "cancel release", lateBefore, false, "completed"},
		{"deadline, accepted", "admitted", func(s *stage) { time.Sleep(151 * time.Second) }, "cancel release", lateAfter, true, "completed"},
		{"lost, not accepted", "dispatched", func(s *stage) { s.prov.ws.NetConn().Close() }, "", lostBefore, false, "completed"},
		{"lost, accepted", "admitted", func(s *stage) { s.prov.ws.NetConn().Close() }, "", lostAfter, true, "completed"},
		{"lost between chunks", "chunks", func(s *stage) { s.prov.ws.NetConn().Close() }, "", lostAfter, true, "completed"},
		{"aborted, not accepted", "dispatched", func(s *stage) { s.prov.send("[]") }, "", lostBefore, false, "completed"},
		{"aborted, accepted", "admitted", func(s *stage) { s.prov.send("[]") }, "", lostAfter, true, "completed"},
		{"revoked, accepted", "admitted", func(s *stage) { s.store.Revoke("provider") }, "", lostAfter, true, "completed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, nil, func(w *wire) {
				s := w.newStage(39)
				if tc.phase != "dispatched" {
					s.admit()
				}
				if tc.phase == "chunks" {
					s.prov.cap("result_start", s.inv, obj{"byteLength": 40000, "chunkCount": 2})
				}
				settle()
				tc.do(s)
				settle()
				if got := kinds(s.prov.take()); got != tc.sees {
					t.Errorf("the provider saw %q, wanted %q", got, tc.sees)
				}
				s.wantTurn(tc.turn)
				s.wantCall(true, tc.text, tc.uncertain)
				s.wantErrored()
				s.view.wantAlive()
			})
		})
	}
}

func (s *stage) stop() {
	s.view.ok("turn.stop", obj{"sessionId": s.session, "turnId": s.turn, "runId": s.run})
}

// wantErrored wants surfaces to have seen the call start and end as errored, without its arguments or its text.
func (s *stage) wantErrored() {
	s.Helper()
	var starts, ends []obj
	for _, f := range pick(s.view.take(), "subscription.session_event") {
		e, _ := f["event"].(obj)
		switch e["type"] {
		case "tool_start":
			starts = append(starts, e)
		case "tool_result":
			ends = append(ends, e)
		}
	}
	if len(starts) != 1 || starts[0]["args"] != nil || starts[0]["arguments"] != nil {
		s.Errorf("tool_start events %v", starts)
	}
	if len(ends) != 1 || ends[0]["status"] != "errored" || ends[0]["content"] != nil || ends[0]["message"] != nil {
		s.Errorf("tool_result events %v", ends)
	}
}

func TestWireSuperseded(t *testing.T) {
	t.Parallel()
	for phase, text := range map[string]string{"dispatched": lostBefore, "admitted": lostAfter} {
		t.Run(phase, func(t *testing.T) {
			bubble(t, nil, func(w *wire) {
				s := w.newStage(81)
				if phase == "admitted" {
					s.admit()
				}
				newer := w.connect("provider", "term", 81)
				newer.publish(offer("wire-offer", "wire", "echo"))
				settle()
				if got := kinds(s.prov.take()); got != "registration_release" {
					t.Errorf("the provider saw %q", got)
				}
				s.prov.cap("result", s.inv, textResult("late"))
				s.prov.wantAlive()
				if m := s.prov.refused("invalid_request", "client.capability.replace", obj{"registrationId": "again", "offers": []any{offer("o", "s", "t")}}); m != "Client Capability connection has been superseded" {
					t.Errorf("%q", m)
				}
				s.wantTurn("completed")
				s.wantCall(true, text, phase == "admitted")
				if got := kinds(newer.take()); got != "" {
					t.Errorf("the newer connection saw %q", got)
				}
			})
		})
	}
}

func TestWireTooManyCalls(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		s := &stage{wire: w, view: w.connect("client", "term", 81), prov: w.connect("provider", "term", 81)}
		s.prov.publish(offer("wire-offer", "wire", "echo"))
		s.session = s.view.session("ask")
		calls := func() (session, turn string) {
			session = s.view.session("ask")
			turn, _ = s.view.start(session, "/call wire/echo {}\n/call wire/echo {}\n/call wire/echo {}\n/call wire/echo {}\n/call wire/echo {}")
			return session, turn
		}
		first, _ := calls()
		second, turn := calls()
		settle()
		got := pick(s.prov.take(), "client.capability.call")
		if len(got) != 8 {
			t.Fatalf("%d calls were sent", len(got))
		}
		if len(w.rows(first, "tool_result")) != 0 {
			t.Error("a call of the first five has ended")
		}
		for _, r := range w.rows(second, "tool_result") {
			if r["isError"] != true || text(r, "content", "text") != "Client Capability provider has too many active invocations" {
				t.Errorf("row %v", r)
			}
		}
		if n := len(w.rows(second, "tool_result")); n != 2 {
			t.Errorf("%d rows", n)
		}
		for _, c := range got {
			s.prov.cap("rejected", text(c, "invocationId"), obj{"message": "no"})
		}
		s.session, s.turn = second, turn
		s.wantTurn("completed")
		// The places are free again.
		calls()
		settle()
		if n := len(pick(s.prov.take(), "client.capability.call")); n != 5 {
			t.Errorf("%d calls after the others ended", n)
		}
	})
}

// The tools of a remote_owner run in bypass sessions only; those of a capability provider run in all.
func TestWireBypassBoundary(t *testing.T) {
	t.Parallel()
	const refusal = "Client Capability tools require the Bypass execution boundary because their client-side effects cannot be sandboxed by the Host. Switch this Session to Bypass and retry."
	for _, mode := range []string{"explore", "ask", "bypass"} {
		for _, token := range []string{"both", "provider"} {
			t.Run(mode+"/"+token, func(t *testing.T) {
				bubble(t, nil, func(w *wire) {
					s := &stage{wire: w, view: w.connect("client", "term", 81), prov: w.connect(token, "term", 81)}
					s.prov.publish(offer("wire-offer", "wire", "echo"))
					s.session = s.view.session(mode)
					s.turn, s.run = s.view.start(s.session, "/call wire/echo {}")
					settle()
					frames := kinds(s.prov.take())
					if token == "provider" || mode == "bypass" {
						if frames != "call" {
							t.Errorf("the provider saw %q", frames)
						}
						return
					}
					if frames != "" {
						t.Errorf("the provider saw %q", frames)
					}
					s.wantTurn("completed")
					rows := w.rows(s.session, "tool_result")
					if len(rows) != 1 || text(rows[0], "content", "text") != refusal || rows[0]["isError"] != true {
						t.Errorf("rows %v", rows)
					}
				})
			})
		}
	}
}

// Invalid arguments are the provider's business.
func TestWireArgumentsUnchecked(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		s := &stage{wire: w, view: w.connect("client", "term", 81), prov: w.connect("provider", "term", 81)}
		o := offer("wire-offer", "wire", "echo")
		o["tools"].([]any)[0].(obj)["inputSchema"] = obj{"type": "object", "properties": obj{"n": obj{"type": "string"}}, "required": []any{"n", "m"}}
		s.prov.publish(o)
		s.session = s.view.session("ask")
		s.view.start(s.session, `/call wire/echo {"n":9007199254740993,"x":[1.50,null]}`)
		settle()
		raw := s.prov.raw[len(s.prov.raw)-1]
		if want := `"arguments":{"n":9007199254740993,"x":[1.50,null]}`; !contains(raw, want) {
			t.Errorf("the call is %s", raw)
		}
	})
}

// On SIGTERM requests are refused, a running call is cancelled after the grace and its outcome is unknown.
func TestWireDrain(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		s := w.newStage(81)
		s.admit()
		done := make(chan error, 1)
		start := time.Now()
		go func() { done <- w.h.Shutdown(context.Background()) }()
		settle()
		if m := s.view.askError("turn.query", obj{"sessionId": s.session, "turnId": s.turn}); m != "host_draining" {
			t.Errorf("a request answered %q", m)
		}
		if got := kinds(s.prov.take()); got != "" {
			t.Errorf("at once the provider saw %q", got)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		settle()
		if took := time.Since(start); took < time.Second || took > 2*time.Second {
			t.Errorf("the drain took %v", took)
		}
		if got := kinds(s.prov.take()); got != "cancel release" {
			t.Errorf("the provider saw %q", got)
		}
		for _, p := range []*peer{s.prov, s.view} {
			if p.code() != 1006 {
				t.Errorf("%s ended with %d", p.name, p.code())
			}
		}
		w.restart()
		s.view = w.connect("client", "term", 81)
		turn := s.wantTurn("cancelled")
		if turn["abortSource"] != "user_stop" {
			t.Errorf("the Turn was ended by %v", turn["abortSource"])
		}
		s.wantCall(true, cancelled, true)
		if turn, _ := s.view.start(s.session, "/call wire/echo {}"); turn == "" {
			t.Error("the session is blocked")
		}
	})
}
