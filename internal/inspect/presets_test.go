package inspect

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"askback/forms"
	"askback/internal/inspect/peer"
	"askback/mcpmgr"
	"askback/mcpmgr/config"
)

var yes = Reply{Result: forms.Accept(forms.Values{"confirm": forms.BoolValue(true)})}

func says(s string) Reply {
	return Reply{Result: forms.Accept(forms.Values{"word": forms.TextValue(s)})}
}

// onlyRound says that a retry is the original with this round's answers and state, under a new id.
func onlyRound(t *testing.T, first, retry peer.Message, keys ...string) {
	t.Helper()
	if string(first.ID) == string(retry.ID) {
		t.Errorf("the retry has the original's id %s", retry.ID)
	}
	for _, k := range []string{"name", "uri", "arguments"} {
		if param(first, k) != param(retry, k) {
			t.Errorf("%s: %s became %s", k, param(first, k), param(retry, k))
		}
	}
	answers, err := members(get(retry.Params, "inputResponses"))
	var got []string
	for _, a := range answers {
		got = append(got, a.key)
	}
	if fmt.Sprint(got) != fmt.Sprint(keys) || (err != nil) != (len(keys) == 0) {
		t.Errorf("the retry answers %v, want %v (%s)", got, keys, retry.Params)
	}
}

func TestConfirmPausesAndRetries(t *testing.T) {
	bubble(t, demoServer, nil, func(r *rig) {
		run := r.call("tools/call", "mrtr_confirm", "{}")
		a := r.asks[0]
		if a.Note() != OriginNote || a.Origin.Round != 1 || a.Run != run || len(r.legs("tools/call")) != 1 {
			t.Fatalf("%+v, %d legs", a, len(r.legs("tools/call")))
		}
		time.Sleep(time.Hour) // a person's time is no leg's
		r.answer(yes)
		if got := r.text(run); got != `MRTR complete: accept {"confirm":true}` {
			t.Error(got)
		}
		legs := r.legs("tools/call")
		if len(legs) != 2 {
			t.Fatal(len(legs))
		}
		onlyRound(t, legs[0], legs[1], "confirm")
		c := r.log.OfRun(run)
		if len(c.Legs) != 2 || !c.Legs[0].InputRequired() || c.Legs[1].InputRequired() || !c.Legs[1].Request.Echoed {
			t.Errorf("%+v", c)
		}
		qs := c.Questions(0)
		if len(qs) != 1 || qs[0].Key != "confirm" || qs[0].Message != "Please confirm." || string(qs[0].Answer) != `{"action":"accept","content":{"confirm":true}}` {
			t.Errorf("%+v", qs)
		}
	})
}

func TestDeclineAndCancelAreEchoed(t *testing.T) {
	for _, res := range []forms.Result{forms.Decline(), forms.Cancel()} {
		bubble(t, demoServer, nil, func(r *rig) {
			run := r.call("tools/call", "mrtr_confirm", "{}")
			r.answer(Reply{Result: res})
			if got := r.text(run); got != "MRTR complete: "+string(res.Action) {
				t.Error(got)
			}
			if got := param(r.legs("tools/call")[1], "inputResponses", "confirm"); got != `{"action":"`+string(res.Action)+`"}` {
				t.Error(got)
			}
		})
	}
}

func TestTwoStepsSendOnlyTheirRound(t *testing.T) {
	bubble(t, demoServer, nil, func(r *rig) {
		run := r.call("tools/call", "mrtr_two_step", "{}")
		r.answer(says("one"))
		if r.asks[0].Origin.Round != 2 {
			t.Error(r.asks[0].Origin)
		}
		r.answer(says("two"))
		if got := r.text(run); got != `MRTR complete: accept {"word":"one"}, then accept {"word":"two"}` {
			t.Error(got)
		}
		legs := r.legs("tools/call")
		onlyRound(t, legs[0], legs[1], "first")
		onlyRound(t, legs[0], legs[2], "second")
		if param(legs[1], "requestState") == param(legs[2], "requestState") {
			t.Error("the second retry bears the first round's state")
		}
	})
}

func TestSampling(t *testing.T) {
	msg, err := SamplingAnswer("Paris")
	if err != nil {
		t.Fatal(err)
	}
	bubble(t, demoServer, nil, func(r *rig) {
		run := r.call("tools/call", "mrtr_sample", "{}")
		a := r.asks[0]
		if a.Kind != AskSampling || a.Note() != OriginNote {
			t.Fatalf("%+v", a)
		}
		s := ReadSampling(a.Sampling.Params)
		if s.System != "Answer in one word." || len(s.Messages) != 1 || s.Messages[0].Text != "What is the capital of France?" || s.Speed != "0.9" || s.Hints[0] != "small" {
			t.Errorf("%+v", s)
		}
		r.answer(Reply{Message: msg})
		if got := r.text(run); got != "MRTR complete: sampled Paris" {
			t.Error(got)
		}
	})
	bubble(t, demoServer, nil, func(r *rig) { // rejected: no retry, and the call fails
		run := r.call("tools/call", "mrtr_sample", "{}")
		before := len(r.srv.Got(""))
		r.answer(Reply{Reject: true})
		if e := r.ended(run); e.Err == nil || !strings.Contains(e.Err.Message, "rejected") {
			t.Errorf("%+v", e)
		}
		if n := len(r.srv.Got("")); n != before {
			t.Errorf("%d messages were sent after the rejection", n-before)
		}
	})
}

// Roots are answered from the configuration without asking; without any, the server sees no such capability.
func TestRoots(t *testing.T) {
	roots := []config.Root{{URI: "file:///srv/a", Name: "a"}}
	caps := func(m peer.Message) string {
		return param(m, "_meta", "io.modelcontextprotocol/clientCapabilities", "roots")
	}
	bubble(t, demoServer, func(o *Options) { o.Servers[0].Roots = roots }, func(r *rig) {
		run := r.call("tools/call", "mrtr_roots", "{}")
		if got := r.text(run); got != `MRTR complete: 1 roots ["file:///srv/a"]` {
			t.Error(got)
		}
		legs := r.legs("tools/call")
		if len(legs) != 2 || caps(legs[0]) != "{}" {
			t.Errorf("%d legs, %q", len(legs), caps(legs[0]))
		}
	})
	bubble(t, demoServer, nil, func(r *rig) {
		run := r.call("tools/call", "mrtr_roots", "{}")
		legs := r.legs("tools/call")
		if len(legs) != 1 || caps(legs[0]) != "" || r.code(run) != mcpmgr.CodeServerError {
			t.Errorf("%d legs, %q", len(legs), caps(legs[0]))
		}
	})
	for name, want := range map[string][]config.Root{"some": roots, "none": nil} {
		bubble(t, demoServer, func(o *Options) {
			o.Servers[0].Protocol, o.Servers[0].Roots = config.Legacy, want
		}, func(r *rig) {
			if got := param(r.legs("initialize")[0], "capabilities", "roots"); (got != "") != (want != nil) {
				t.Errorf("%s: a legacy server sees roots %q", name, got)
			}
		})
	}
}

// One round without a state, then one with a state alone.
func TestEdgeShapes(t *testing.T) {
	bubble(t, demoServer, nil, func(r *rig) {
		run := r.call("tools/call", "mrtr_edge", "{}")
		r.answer(yes)
		time.Sleep(time.Second)
		r.settle()
		if got := r.text(run); got != "MRTR complete: both shapes of a round" {
			t.Error(got)
		}
		legs := r.legs("tools/call")
		if len(legs) != 3 {
			t.Fatal(len(legs))
		}
		onlyRound(t, legs[0], legs[1], "only")
		onlyRound(t, legs[0], legs[2])
		if param(legs[1], "requestState") != "" || param(legs[2], "requestState") == "" || param(legs[2], "inputResponses") != "" {
			t.Errorf("%s\n%s", legs[1].Params, legs[2].Params)
		}
		c := r.log.OfRun(run)
		if len(c.Questions(0)) != 1 || len(c.Questions(1)) != 0 || !c.Legs[1].InputRequired() || c.Legs[2].Request.StateBytes <= 0 || !c.Legs[2].Request.Echoed {
			t.Errorf("%+v", c.Legs)
		}
	})
}

// Ten retries, eleven requests; the eleventh input_required is the error.
func TestLoopIsBounded(t *testing.T) {
	bubble(t, demoServer, nil, func(r *rig) {
		run := r.call("tools/call", "mrtr_loop", "{}")
		for i := range Rounds {
			if n := r.asks[0].Origin.Round; n != i+1 {
				t.Fatalf("round %d, want %d", n, i+1)
			}
			r.answer(yes)
		}
		if r.code(run) != mcpmgr.CodeRoundLimit || len(r.legs("tools/call")) != 11 {
			t.Errorf("%v after %d requests", r.ended(run).Err, len(r.legs("tools/call")))
		}
	})
}

// prompts/get and resources/read are driven like tools/call, and nothing is remembered between two of them.
func TestPromptsAndResources(t *testing.T) {
	bubble(t, demoServer, nil, func(r *rig) {
		t.Run("ML-20/prompts/get", func(t *testing.T) {
			run := r.call("prompts/get", "briefing", `{"topic":"tests"}`)
			if r.asks[0].Note() != OriginNote {
				t.Error(r.asks[0].Note())
			}
			r.answer(Reply{Result: forms.Accept(forms.Values{"audience": forms.TextValue("team")})})
			if got := r.text(run); got != "user: Brief the team on tests." {
				t.Error(got)
			}
			onlyRound(t, r.legs("prompts/get")[0], r.legs("prompts/get")[1], "audience")
		})
		t.Run("ML-20/resources/read", func(t *testing.T) {
			for range 2 { // twice asks twice
				run := r.call("resources/read", "demo://note", "")
				r.answer(Reply{Result: forms.Accept(forms.Values{"reason": forms.TextValue("why not")})})
				if got := r.text(run); got != "The note, read because: why not" {
					t.Error(got)
				}
			}
			if n := len(r.legs("resources/read")); n != 4 {
				t.Error(n)
			}
		})
	})
}

func TestAbort(t *testing.T) {
	sent := func(r *rig) string {
		var out []string
		for _, m := range r.srv.Got("") {
			out = append(out, m.Method)
		}
		return strings.Join(out, " ")
	}
	t.Run("with a panel open nothing more is sent", func(t *testing.T) {
		for _, tool := range []string{"mrtr_confirm", "mrtr_sample"} {
			bubble(t, demoServer, nil, func(r *rig) {
				run := r.call("tools/call", tool, "{}")
				before := sent(r)
				r.ins.Abort(run)
				r.settle()
				if r.code(run) != mcpmgr.CodeCancelled || len(r.asks) != 0 {
					t.Errorf("%+v, %d asks", r.ended(run), len(r.asks))
				}
				time.Sleep(10 * time.Second)
				if after := sent(r); after != before {
					t.Errorf("sent after the abort: %s", strings.TrimPrefix(after, before))
				}
			})
		}
	})
	t.Run("during a leg one cancellation for that leg's id", func(t *testing.T) {
		bubble(t, demoServer, nil, func(r *rig) {
			run := r.call("tools/call", "slow", `{"steps":100,"every":10000}`)
			leg := r.legs("tools/call")[0]
			r.ins.Abort(run)
			r.settle()
			cs := r.srv.Got("notifications/cancelled")
			if len(cs) != 1 || param(cs[0], "requestId") != string(leg.ID) {
				t.Errorf("%d cancellations, leg %s: %v", len(cs), leg.ID, cs)
			}
			if e := r.ended(run); e.Err.Code != mcpmgr.CodeCancelled || e.Err.Message != "the call was aborted" {
				t.Error(e.Err)
			}
			if !r.log.OfRun(run).Legs[0].Cancelled() {
				t.Error("the conversation does not show the cancellation")
			}
		})
	})
	t.Run("in the second leg it is that one's", func(t *testing.T) {
		n := 0
		srv := peer.Scripted(map[string]peer.Reply{"tools/call": func(peer.Message, func(string)) string {
			if n++; n == 1 {
				return `{"resultType":"input_required","requestState":"abcdefghijklmnopqrst"}`
			}
			return ""
		}})
		bubble(t, func() *peer.Server { return srv }, nil, func(r *rig) {
			run := r.call("tools/call", "t", "{}")
			time.Sleep(time.Second)
			r.settle()
			legs := r.legs("tools/call")
			if len(legs) != 2 {
				t.Fatal(len(legs))
			}
			r.ins.Abort(run)
			r.settle()
			cs := srv.Got("notifications/cancelled")
			if len(cs) != 1 || param(cs[0], "requestId") != string(legs[1].ID) {
				t.Errorf("%v for leg %s", cs, legs[1].ID)
			}
		})
	})
	t.Run("in a pause nothing", func(t *testing.T) {
		bubble(t, demoServer, func(o *Options) { o.StatePause = time.Second }, func(r *rig) {
			run := r.call("tools/call", "wait", `{"rounds":3}`)
			before := sent(r)
			r.ins.Abort(run)
			time.Sleep(10 * time.Second)
			r.settle()
			if after := sent(r); r.code(run) != mcpmgr.CodeCancelled || after != before {
				t.Errorf("sent: %s", after)
			}
		})
	})
	t.Run("the answer comes too late", func(t *testing.T) {
		bubble(t, demoServer, nil, func(r *rig) {
			run := r.call("tools/call", "mrtr_confirm", "{}")
			ask := r.asks[0]
			r.ins.Abort(run)
			r.settle()
			if r.ins.Answer(ask.ID, yes) {
				t.Error("an answer was taken after the end")
			}
		})
	})
}

// Several calls wait at once, each with its own conversation.
func TestSeveralPendingCalls(t *testing.T) {
	bubble(t, demoServer, nil, func(r *rig) {
		var runs []uint64
		for range 3 {
			runs = append(runs, r.call("tools/call", "mrtr_two_step", "{}"))
		}
		if len(r.asks) != 3 {
			t.Fatalf("%d asks", len(r.asks))
		}
		asks := r.asks
		for i, a := range []*Ask{asks[2], asks[0], asks[1]} {
			r.asks = nil
			r.ins.Answer(a.ID, says(fmt.Sprintf("first of %d", a.Run)))
			r.settle()
			if len(r.asks) != 1 || r.asks[0].Run != a.Run {
				t.Fatalf("%d: %+v", i, r.asks)
			}
			r.answer(says("second"))
			if got, want := r.text(a.Run), fmt.Sprintf(`MRTR complete: accept {"word":"first of %d"}, then accept {"word":"second"}`, a.Run); got != want {
				t.Error(got)
			}
		}
		for _, run := range runs {
			if c := r.log.OfRun(run); len(c.Legs) != 3 || c.Run.ID != run {
				t.Errorf("run %d: %d legs", run, len(c.Legs))
			}
		}
	})
}

// A legacy server asks by itself: the same questions, without the note, and the answer is the response.
func TestLegacyPushes(t *testing.T) {
	legacy := func(o *Options) {
		o.Servers[0].Protocol = config.Legacy
		o.Servers[0].Roots = []config.Root{{URI: "file:///srv/a"}}
	}
	bubble(t, demoServer, legacy, func(r *rig) {
		if st := r.ins.Status(peer.Name); st.Era != mcpmgr.EraLegacy {
			t.Fatal(st.Era)
		}
		caps := r.legs("initialize")[0]
		for _, c := range []string{"elicitation", "sampling", "roots"} {
			if param(caps, "capabilities", c) == "" {
				t.Errorf("%s is not declared: %s", c, caps.Params)
			}
		}
		run := r.call("tools/call", "mrtr_confirm", "{}")
		a := r.asks[0]
		if a.Note() != "" || !a.Origin.Pushed || a.Run != 0 {
			t.Errorf("%+v", a)
		}
		r.answer(yes)
		if got := r.text(run); got != `MRTR complete: accept {"confirm":true}` {
			t.Error(got)
		}
		if n := len(r.legs("tools/call")); n != 1 {
			t.Errorf("%d requests", n)
		}
		msg, _ := SamplingAnswer("Paris")
		run = r.call("tools/call", "mrtr_sample", "{}")
		if r.asks[0].Note() != "" {
			t.Error(r.asks[0].Note())
		}
		r.answer(Reply{Message: msg})
		if got := r.text(run); got != "MRTR complete: sampled Paris" {
			t.Error(got)
		}
		run = r.call("tools/call", "mrtr_roots", "{}")
		if got := r.text(run); !strings.Contains(got, "1 roots") {
			t.Error(got)
		}
		// Our answers are known by the method of the request that they answer.
		var methods []string
		for _, m := range r.log.Messages {
			if m.answer() {
				methods = append(methods, m.Method)
			}
		}
		if fmt.Sprint(methods) != "[elicitation/create sampling/createMessage roots/list]" {
			t.Error(methods)
		}
	})
}

// The text of a requestState is in no message, view or export.
func TestStateIsNowhere(t *testing.T) {
	state := "STATE-0123456789-abcdefghij"
	n := 0
	srv := peer.Scripted(map[string]peer.Reply{"tools/call": func(peer.Message, func(string)) string {
		if n++; n == 1 {
			return `{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}},"requestState":"` + state + `"}`
		}
		return `{"content":[{"type":"text","text":"you sent ` + state + ` back"}]}`
	}})
	bubble(t, func() *peer.Server { return srv }, nil, func(r *rig) {
		run := r.call("tools/call", "t", "{}")
		r.answer(Reply{Result: forms.Accept(forms.Values{})})
		if got := param(r.legs("tools/call")[1], "requestState"); got != `"`+state+`"` {
			t.Fatal(got)
		}
		if got := r.text(run); strings.Contains(got, state) {
			t.Error(got)
		}
		var out strings.Builder
		for _, values := range []bool{false, true} {
			if err := r.log.Export(&out, Filter{}, values); err != nil {
				t.Fatal(err)
			}
		}
		for _, m := range r.log.Messages {
			out.Write(m.Raw)
		}
		if strings.Contains(out.String(), state) || !strings.Contains(out.String(), fmt.Sprintf(`"stateBytes":%d,"stateEchoed":true`, len(state))) {
			t.Error(out.String())
		}
	})
}

// An export bears no answer, neither where it was sent nor where the server repeats it, unless it is to.
func TestExportHidesAnswers(t *testing.T) {
	for _, era := range []config.Protocol{config.Modern, config.Legacy} {
		t.Run(string(era), func(t *testing.T) {
			bubble(t, demoServer, func(o *Options) { o.Servers[0].Protocol = era }, func(r *rig) {
				run := r.call("tools/call", "mrtr_two_step", "{}")
				r.answer(says("marker-one \"quoted\""))
				r.answer(says("marker-two"))
				sample, _ := SamplingAnswer("marker-three")
				r.text(run)
				run = r.call("tools/call", "mrtr_sample", "{}")
				r.answer(Reply{Message: sample})
				r.text(run)
				var without, with strings.Builder
				if err := r.log.Export(&without, Filter{}, false); err != nil {
					t.Fatal(err)
				}
				if err := r.log.Export(&with, Filter{}, true); err != nil {
					t.Fatal(err)
				}
				if strings.Contains(without.String(), "marker-") || !strings.Contains(without.String(), `"action":"accept"`) {
					t.Error(without.String())
				}
				for _, m := range []string{"marker-one", "marker-two", "marker-three"} {
					if !strings.Contains(with.String(), m) {
						t.Errorf("%s is missing", m)
					}
				}
				for line := range strings.Lines(without.String()) {
					var l struct {
						Seq       int
						Direction string
						Message   json.RawMessage
					}
					if err := json.Unmarshal([]byte(line), &l); err != nil || l.Seq == 0 || l.Direction == "" || l.Message == nil {
						t.Errorf("%v: %s", err, line)
					}
				}
			})
		})
	}
}

// A result that holds a requestState, which none does, is given without its text, however short.
func TestNoStateInAResult(t *testing.T) {
	bubble(t, func() *peer.Server {
		return peer.Scripted(map[string]peer.Reply{"tools/call": func(peer.Message, func(string)) string {
			return `{"content":[{"type":"text","text":"done"}],"requestState":"short","structuredContent":{"requestState":"the tool's"}}`
		}})
	}, nil, func(r *rig) {
		run := r.call("tools/call", "t", `{}`)
		if got := string(r.ended(run).Result.Raw); strings.Contains(got, "short") || !strings.Contains(got, `"[5 bytes]"`) || !strings.Contains(got, "the tool's") {
			t.Error(got)
		}
	})
}
