package tui

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"askback/forms"
	"askback/tui/hostview"
	"askback/tui/kit"
)

// past is more than the time that things ignore keys for.
const past = 450 * time.Millisecond

// fillDeploy answers the deploy form up to its review.
func fillDeploy(d *driver) *driver {
	return d.tick(past).press("down", "down", "enter", "down", "enter").typing("hi").press("ctrl+s").tick(past)
}

func TestFormOpensOverWhatIsThere(t *testing.T) {
	d := calling(t, 80, 24)
	d.typing("half a tho")
	d.tell(hostview.Projection{SessionID: "s1", Turn: turn("waiting_for_user"), Pending: []hostview.Interaction{interaction("i1", "call1", deployForm())}})
	d.want("deploy · demo · via askback on devbox", "! Never enter passwords, API keys, access tokens or payment data here.", "Choose the deployment target")
	if d.term.bells != 1 {
		t.Errorf("%d bells", d.term.bells)
	}
	// What is typed on is ignored for a moment.
	d.typing("ught").press("enter", "ctrl+s")
	d.tick(past).press("ctrl+f")
	d.want("> half a tho", "ctrl+f form (1)", "waiting for you")
	d.press("ctrl+f").want("Choose the deployment target")
	// The same list again is no news.
	d.tell(hostview.Projection{SessionID: "s1", Turn: turn("waiting_for_user"), Pending: []hostview.Interaction{interaction("i1", "call1", deployForm())}})
	if d.term.bells != 1 {
		t.Errorf("%d bells after a repeat", d.term.bells)
	}
	if len(d.host.answers) != 0 {
		t.Errorf("answers: %v", d.host.answers)
	}
}

func TestFormOpensOverDialogs(t *testing.T) {
	for _, open := range []string{"ctrl+t", "ctrl+g", "ctrl+r", "ctrl+o", "ctrl+y", "f1", "tab"} {
		t.Run(open, func(t *testing.T) {
			d := calling(t, 80, 24)
			d.press(open)
			before := d.frame()
			d.tell(hostview.Projection{SessionID: "s1", Turn: turn("waiting_for_user"), Pending: []hostview.Interaction{interaction("i1", "call1", deployForm())}})
			d.want("Choose the deployment target")
			d.tick(past).press("ctrl+f")
			if got := d.frame(); !strings.Contains(got, strings.Split(before, "\n")[1]) {
				t.Errorf("what was there is gone:\n%s", got)
			}
		})
	}
}

func TestSubmitWaitsForTheCanonicalAnswer(t *testing.T) {
	d := asking(t, 80, 24)
	fillDeploy(d).want("production", "hi")
	d.hold = true
	d.press("s").want("Sending your answer")
	d.hold = false
	for len(d.held) > 0 {
		d.release()
	}
	if len(d.host.answers) != 1 {
		t.Fatalf("answers: %v", d.host.answers)
	}
	r := d.host.answers[0].a.Form
	if r.Action != forms.ActionAccept || r.Values["environment"].Text() != "production" || r.Values["note"].Text() != "hi" {
		t.Errorf("answer: %+v", r)
	}
	d.wantNot("Choose the deployment target")
	// The Settled event that tells the same comes afterwards and changes nothing.
	d.tell(hostview.Settled{SessionID: "s1", InteractionID: "i1", Outcome: hostview.Outcome{Status: hostview.StatusAnswered, Answer: d.host.answers[0].a}})
	d.wantNot("lsewhere")
}

func TestSettledBeforeTheAnswerReturns(t *testing.T) {
	d := asking(t, 80, 24)
	fillDeploy(d)
	d.hold = true
	d.press("s")
	a := hostview.Answer{Kind: hostview.KindForm, Form: forms.Accept(forms.Values{"environment": forms.TextValue("production"), "confirm": forms.BoolValue(true), "note": forms.TextValue("hi")})}
	d.hold = false
	d.tell(hostview.Settled{SessionID: "s1", InteractionID: "i1", Outcome: hostview.Outcome{Status: hostview.StatusAnswered, Answer: a}})
	for len(d.held) > 0 {
		d.release()
	}
	d.wantNot("lsewhere", "Choose the deployment target")
}

func TestRefusalKeepsTheForm(t *testing.T) {
	d := asking(t, 80, 24)
	fillDeploy(d)
	d.host.fail["answer"] = &hostview.Error{Code: hostview.CodeOperationConflict, Message: "\"note\": must be\x1b[2J nicer"}
	d.press("s").want("not sent", `must be\x1b[2J nicer`, "hi")
	d.tick(past).press("s")
	if len(d.host.answers) != 1 {
		t.Errorf("answers: %v", d.host.answers)
	}
}

func TestAnsweredElsewhere(t *testing.T) {
	other := hostview.Outcome{Status: hostview.StatusAnswered, Answer: hostview.Answer{Kind: hostview.KindForm, Form: forms.Decline()}}
	t.Run("while it is filled", func(t *testing.T) {
		d := asking(t, 80, 24)
		d.tick(past).press("down", "enter")
		d.tell(hostview.Projection{SessionID: "s1", Turn: turn("running")}, hostview.Settled{SessionID: "s1", InteractionID: "i1", Outcome: other})
		d.want("Answered elsewhere: declined")
		d.tick(past).press("esc").want("deploy: answered elsewhere (declined)").wantNot("form (1)")
	})
	t.Run("while ours is under way", func(t *testing.T) {
		d := asking(t, 80, 24)
		fillDeploy(d)
		d.host.fail["answer"] = &hostview.Error{Code: hostview.CodeAlreadyResolved, Message: "it was answered"}
		d.press("s")
		d.tell(hostview.Settled{SessionID: "s1", InteractionID: "i1", Outcome: other})
		d.want("Answered elsewhere: declined", "hi")
	})
	t.Run("before it was seen", func(t *testing.T) {
		d := asking(t, 80, 24)
		d.tell(hostview.Projection{SessionID: "s1", Turn: turn("waiting_for_user"), Pending: []hostview.Interaction{interaction("i1", "call1", deployForm()), interaction("i2", "call2", deployForm())}})
		d.want("form 1 of 2")
		d.tell(hostview.Projection{SessionID: "s1", Turn: turn("waiting_for_user"), Pending: []hostview.Interaction{interaction("i1", "call1", deployForm())}},
			hostview.Settled{SessionID: "s1", InteractionID: "i2", Outcome: other})
		d.want("Choose the deployment target").wantNot("form 1 of 2", "lsewhere")
		d.tick(past).press("ctrl+f").want("deploy: answered elsewhere (declined)", "form (1)")
	})
}

func TestClosuresSayWhy(t *testing.T) {
	for reason, want := range map[string]string{
		"turn_stopped": "the Turn was stopped", "turn_terminal": "the Turn has ended", "timed_out": "nobody answered in time",
		"host_restarted": "the Host was restarted", "producer_cancelled": "its tool call waits for it no more",
		"provider_disconnected": "the provider of the tool was lost", "because\x1b]0;x\a": `because\x1b]0;x\x07`,
	} {
		t.Run(reason, func(t *testing.T) {
			d := asking(t, 80, 24)
			d.tick(past).press("down", "enter", "down", "enter").typing("typed by hand")
			d.tell(hostview.Projection{SessionID: "s1", Turn: turn("running")},
				hostview.Settled{SessionID: "s1", InteractionID: "i1", Outcome: hostview.Outcome{Status: hostview.StatusClosed, Reason: reason}})
			d.want(want, "typed by hand", "copy")
			d.tick(past).press("c").want("given to the terminal to copy")
			if len(d.term.copied) != 1 || !strings.Contains(d.term.copied[0], "typed by hand") {
				t.Errorf("copied %q", d.term.copied)
			}
			if len(d.host.answers) != 0 {
				t.Errorf("answers: %v", d.host.answers)
			}
			d.press("esc").wantNot("typed by hand")
		})
	}
}

func TestLostViewKeepsTheDraft(t *testing.T) {
	d := asking(t, 80, 24)
	d.tick(past).press("down", "enter", "down", "enter").typing("keep me")
	d.tell(hostview.Connection{Link: hostview.LinkView, State: hostview.StateReconnecting, Detail: "the connection was dropped", Retry: d.clock.now.Add(5 * time.Second)})
	d.want("reconnecting", "keep me")
	d.tell(hostview.Connection{Link: hostview.LinkView, State: hostview.StateRefused, Detail: "another Host"})
	d.want("not connected", "keep me").wantNot("reconnecting")
	d.press("ctrl+s").tick(past).press("s")
	if d.host.count("answer") != 0 {
		t.Fatal("an answer went out over a lost connection")
	}
	d.tell(ready(oursAt("wss://devbox:7443"))[0], hostview.Projection{SessionID: "s1", Turn: turn("waiting_for_user"), Pending: []hostview.Interaction{interaction("i1", "call1", deployForm())}})
	d.want("keep me").wantNot("reconnecting")
	d.tick(past).press("s")
	if d.host.count("answer") != 1 {
		t.Errorf("calls: %v", d.host.calls)
	}
}

func TestQueueKeepsTheHostsOrderAndDrafts(t *testing.T) {
	d := asking(t, 80, 24)
	second := deployForm()
	second.Message = "The second one"
	pend := []hostview.Interaction{interaction("i1", "call1", deployForm()), interaction("i2", "call2", second)}
	d.tell(hostview.Projection{SessionID: "s1", Turn: turn("waiting_for_user"), Pending: pend})
	d.want("form 1 of 2", "Choose the deployment target")
	d.tick(past).press("down", "enter", "down", "enter").typing("first")
	d.press("ctrl+n").want("form 2 of 2", "The second one").wantNot("first")
	d.tick(past).press("down", "enter", "down", "enter").typing("other")
	d.press("ctrl+p").tick(past).want("form 1 of 2", "first").wantNot("other")
	d.press("ctrl+f").want("form (2)").press("ctrl+f").want("first")
	d.tick(past).press("ctrl+s").tick(past).press("s")
	d.want("The second one", "other").wantNot("form 2 of 2", "first")
	if d.host.answers[0].in.ID != "i1" {
		t.Errorf("answered %s", d.host.answers[0].in.ID)
	}
}

func TestReAsk(t *testing.T) {
	asks := func(d *driver, id, call string, f forms.Form) {
		d.tell(hostview.Projection{SessionID: "s1", Turn: turn("waiting_for_user"), Pending: []hostview.Interaction{interaction(id, call, f)}})
	}
	withKey := deployForm()
	withKey.Fields = append(withKey.Fields, forms.Field{Kind: forms.KindString, Name: "api_key", Label: "API key"})
	start := func(t *testing.T) *driver {
		d := calling(t, 80, 24)
		asks(d, "i1", "call1", withKey)
		d.tick(past).press("down", "enter", "down", "enter").typing("note one").press("enter").typing("s3cret").press("ctrl+s").tick(past).press("s")
		if len(d.host.answers) != 1 {
			t.Fatalf("answers: %v", d.host.answers)
		}
		return d
	}
	t.Run("the same call starts from its last answers", func(t *testing.T) {
		d := start(t)
		asks(d, "i2", "call1", withKey)
		d.want("production", "note one").wantNot("s3cret")
	})
	t.Run("another call does not", func(t *testing.T) {
		d := start(t)
		asks(d, "i2", "call2", withKey)
		d.wantNot("note one", "s3cret")
	})
	t.Run("nor the call after it has settled", func(t *testing.T) {
		for name, end := range map[string]hostview.Event{
			"by its event": hostview.ToolEvent{SessionID: "s1", TurnID: "t1", ToolUseID: "call1", Phase: hostview.PhaseEnd},
			"by its row":   hostview.Rows{SessionID: "s1", Rows: []hostview.Row{{Key: "r1", Kind: hostview.RowToolResult, ToolUseID: "call1", Text: "x"}}},
			"by its Turn":  hostview.Projection{SessionID: "s1", Turn: turn("completed")},
		} {
			t.Run(name, func(t *testing.T) {
				d := start(t)
				d.tell(end)
				asks(d, "i2", "call1", withKey)
				d.wantNot("note one", "s3cret")
			})
		}
	})
}

func TestCtrlC(t *testing.T) {
	t.Run("clears the composer", func(t *testing.T) {
		d := calling(t, 80, 24)
		d.typing("abc").press("ctrl+c").wantNot("abc", "again")
		if d.host.count("stop") != 0 || d.quit {
			t.Error("it did more")
		}
	})
	t.Run("twice stops the Turn", func(t *testing.T) {
		d := calling(t, 80, 24)
		d.press("ctrl+c").want("ctrl+c again to stop the Turn")
		d.hold = true
		d.press("ctrl+c").want("stopping the Turn")
		d.hold = false
		for len(d.held) > 0 {
			d.release()
		}
		if d.host.count("stop") != 1 {
			t.Errorf("calls: %v", d.host.calls)
		}
		d.wantNot("stopping")
	})
	t.Run("only within two seconds", func(t *testing.T) {
		d := calling(t, 80, 24)
		d.press("ctrl+c").tick(2100 * time.Millisecond).wantNot("again").press("ctrl+c")
		if d.host.count("stop") != 0 {
			t.Error("stopped")
		}
	})
	t.Run("another key in between disarms", func(t *testing.T) {
		d := calling(t, 80, 24)
		d.press("ctrl+c", "x", "backspace", "ctrl+c")
		if d.host.count("stop") != 0 {
			t.Error("stopped")
		}
	})
	t.Run("in a form", func(t *testing.T) {
		d := asking(t, 80, 24)
		d.tick(past).press("ctrl+c").want("ctrl+c again to stop the Turn", "Choose the deployment target")
		d.press("ctrl+c")
		if d.host.count("stop") != 1 || d.host.count("answer") != 0 {
			t.Errorf("calls: %v", d.host.calls)
		}
	})
	t.Run("without a Turn it leaves", func(t *testing.T) {
		d := connected(t, 80, 24)
		d.press("ctrl+c").want("ctrl+c again to leave").press("ctrl+c")
		if !d.quit || d.m.outcome.Reason != ReasonQuit {
			t.Error("still there")
		}
	})
	t.Run("too small", func(t *testing.T) {
		d := asking(t, 30, 5)
		d.want("too small")
		d.press("x", "ctrl+q", "ctrl+s", "y")
		d.press("ctrl+c").want("again to leave").press("ctrl+c")
		if !d.quit || d.host.count("answer")+d.host.count("stop") != 0 {
			t.Errorf("quit %v, calls %v", d.quit, d.host.calls)
		}
	})
}

func TestQuit(t *testing.T) {
	for _, by := range []string{"ctrl+q", "/quit"} {
		leave := func(d *driver) {
			if by == "/quit" {
				d.typing("/quit").press("enter")
				return
			}
			d.press(by)
		}
		t.Run(by+" at once", func(t *testing.T) {
			d := connected(t, 80, 24)
			leave(d)
			if !d.quit {
				t.Error(d.frame())
			}
		})
		t.Run(by+" asks while a call is open", func(t *testing.T) {
			d := calling(t, 80, 24)
			leave(d)
			d.want("leave askback?", "Its tools run in this program")
			d.press("y") // too early
			if d.quit {
				t.Fatal("left within the pause")
			}
			d.tick(past).press("n").wantNot("leave askback?")
			leave(d)
			d.tick(past).press("y")
			if !d.quit || d.host.count("answer") != 0 {
				t.Errorf("quit %v, calls %v", d.quit, d.host.calls)
			}
		})
	}
	t.Run("under attach", func(t *testing.T) {
		d := asking(t, 80, 24, func(o *Options) { o.Servers = nil })
		d.press("ctrl+q").want("It goes on without this program", "A form that waits goes on waiting")
	})
}

func TestSend(t *testing.T) {
	t.Run("a Turn", func(t *testing.T) {
		d := connected(t, 80, 24)
		d.typing(`/call demo/deploy {"artifact":"a"}`).press("enter")
		if d.host.count("start /call demo/deploy") != 1 {
			t.Errorf("calls: %v", d.host.calls)
		}
		d.wantNot("artifact").press("up").want(`> /call demo/deploy {"artifact":"a"}`)
	})
	t.Run("a paste keeps its lines and sends nothing", func(t *testing.T) {
		d := connected(t, 80, 24)
		d.paste("/call demo/a\n/call demo/b\r\n")
		if d.host.count("start") != 0 {
			t.Fatal("sent")
		}
		d.press("enter")
		if d.host.count("start /call demo/a\n/call demo/b") != 1 {
			t.Errorf("calls: %q", d.host.calls)
		}
	})
	t.Run("what a failed start had is not lost", func(t *testing.T) {
		d := connected(t, 80, 24)
		d.host.fail["start"] = &hostview.Error{Code: hostview.CodeSessionBusy, Message: "the session is busy"}
		d.typing("hello").press("enter").want("> hello", "not sent: the session is busy (session_busy)")
	})
	t.Run("while a Turn runs", func(t *testing.T) {
		d := calling(t, 80, 24)
		d.typing("hello").press("enter").want("> hello", "a Turn is running")
		if d.host.count("start") != 0 {
			t.Error("sent")
		}
	})
	t.Run("without a connection", func(t *testing.T) {
		d := connected(t, 80, 24)
		d.tell(hostview.Connection{Link: hostview.LinkView, State: hostview.StateReconnecting})
		d.typing("hello").press("enter").want("> hello", "not reachable")
	})
	t.Run("unknown commands stay here", func(t *testing.T) {
		d := connected(t, 80, 24)
		d.typing("/frobnicate").press("enter").want("unknown command /frobnicate")
		if d.host.count("start") != 0 {
			t.Error("sent")
		}
	})
	t.Run("two slashes send a text with one", func(t *testing.T) {
		d := connected(t, 80, 24)
		d.typing("//ask 3").press("enter").wantNot("//ask")
		if d.host.count("start /ask 3") != 1 {
			t.Errorf("calls: %v", d.host.calls)
		}
		d.press("up").want("> //ask 3")
	})
	t.Run("a question mark in a text is one", func(t *testing.T) {
		d := connected(t, 80, 24)
		d.typing("why?").want("> why?")
	})
}

func foreignHost() hostview.Host {
	return hostview.Host{Address: "wss://agent:1", RootID: strings.Repeat("cd", 32), Epoch: "e", Dialect: 39, Revision: "3"}
}

func foreign(t testing.TB, w, h int, mode string, set ...func(*Options)) *driver {
	d := newDriver(t, w, h, set...)
	d.tell(ready(foreignHost())...)
	s := deploys()
	s.Mode = mode
	d.tell(hostview.Catalog{Sessions: []hostview.Session{s}})
	d.tell(hostview.Projection{SessionID: "s1"}, hostview.Rows{SessionID: "s1", Reset: true, Start: true})
	return d
}

func TestForeignHostIsAskedAboutCalls(t *testing.T) {
	d := foreign(t, 80, 24, "bypass")
	d.typing("/call demo/deploy").press("enter").want("send this to an agent?", "/call demo/deploy")
	d.tick(past).press("n").want("> /call demo/deploy")
	if d.host.count("start") != 0 {
		t.Fatal("sent")
	}
	d.press("enter").tick(past).press("y")
	if d.host.count("start") != 1 {
		t.Errorf("calls: %v", d.host.calls)
	}
	d = foreign(t, 80, 24, "bypass")
	d.typing("hello agent").press("enter").wantNot("send this")
	if d.host.count("start hello agent") != 1 {
		t.Error("an ordinary text is not sent at once")
	}
}

func TestBypassQuestion(t *testing.T) {
	t.Run("asked, and done on yes alone", func(t *testing.T) {
		d := foreign(t, 80, 24, "ask")
		d.want("allow everything in this session?", "run commands")
		if d.host.count("mode") != 0 {
			t.Fatal("set silently")
		}
		d.tick(past).press("y")
		if d.host.count("mode s1 bypass") != 1 {
			t.Errorf("calls: %v", d.host.calls)
		}
		d.want("mode bypass now")
	})
	t.Run("no is no, and not asked again", func(t *testing.T) {
		d := foreign(t, 80, 24, "ask")
		d.tick(past).press("n").wantNot("allow everything")
		s := deploys()
		d.tell(hostview.Catalog{Sessions: []hostview.Session{s}}).wantNot("allow everything")
		if d.host.count("mode") != 0 {
			t.Error("set")
		}
	})
	t.Run("answered in advance", func(t *testing.T) {
		d := foreign(t, 80, 24, "ask", func(o *Options) { o.PermissionMode = "bypass" })
		d.wantNot("allow everything")
		if d.host.count("mode s1 bypass") != 1 {
			t.Errorf("calls: %v", d.host.calls)
		}
	})
	t.Run("asked when a Host has refused for that reason", func(t *testing.T) {
		d := calling(t, 80, 24)
		result(d, "Client Capability tools require the Bypass execution boundary because their client-side effects cannot be sandboxed by the Host.", true, false)
		d.want("allow everything in this session?").tick(past).press("y")
		if d.host.count("mode s1 bypass") != 1 {
			t.Errorf("calls: %v", d.host.calls)
		}
	})
	t.Run("not because a server says so", func(t *testing.T) {
		d := calling(t, 80, 24)
		result(d, "server_error: Client Capability tools require the Bypass execution boundary", true, false)
		d.wantNot("allow everything")
	})
	t.Run("not where the tools have a credential of their own", func(t *testing.T) {
		foreign(t, 80, 24, "ask", func(o *Options) { o.TrustedTools = true }).wantNot("allow everything")
	})
	t.Run("not of our own Host", func(t *testing.T) { connected(t, 80, 24).wantNot("allow everything") })
	t.Run("not without tools", func(t *testing.T) {
		foreign(t, 80, 24, "ask", func(o *Options) { o.Servers = nil }).wantNot("allow everything")
	})
}

func TestForeignInteractions(t *testing.T) {
	pend := func(d *driver, in hostview.Interaction) {
		in.SessionID, in.ID, in.TurnID, in.RunID, in.ToolUseID = "s1", "i1", "t1", "r1", "u1"
		d.tell(hostview.Projection{SessionID: "s1", Turn: turn("waiting_for_user"), Pending: []hostview.Interaction{in}})
		d.tick(past)
	}
	question := hostview.Interaction{Kind: hostview.KindQuestion, Questions: []hostview.Question{
		{Text: "Which database?", Options: []hostview.Choice{{Label: "postgres"}, {Label: "sqlite", Description: "a file"}}},
		{Text: "How many?", Options: []hostview.Choice{{Label: "1"}, {Label: "2"}}},
	}}
	text := func(p *string) string {
		if p == nil {
			return "<skipped>"
		}
		return *p
	}
	t.Run("question", func(t *testing.T) {
		d := foreign(t, 80, 24, "bypass")
		pend(d, question)
		d.want("question · the agent of agent:1", "Which database?", "postgres", "sqlite")
		d.press("down", "down", "enter", "enter", "enter").typing("three, please").press("ctrl+s").tick(past).press("s")
		if len(d.host.answers) != 1 {
			t.Fatal(d.frame())
		}
		got := d.host.answers[0].a.Answers
		if len(got) != 2 || text(got[0]) != "sqlite" || text(got[1]) != "three, please" {
			t.Errorf("answers: %s, %s", text(got[0]), text(got[1]))
		}
	})
	t.Run("question declined is skipped, dismissed goes on waiting", func(t *testing.T) {
		d := foreign(t, 80, 24, "bypass")
		pend(d, question)
		d.press("esc").tick(past).press("y")
		if d.host.count("answer") != 0 {
			t.Fatal("a dismissal was answered")
		}
		d.want("cannot be dismissed")
		d.tick(past).press("ctrl+x").tick(past).press("y")
		got := d.host.answers[0].a.Answers
		if len(got) != 2 || got[0] != nil || got[1] != nil {
			t.Errorf("answers: %v", got)
		}
	})
	for _, tc := range []struct {
		name            string
		keys            []string
		allow, remember bool
	}{
		{"allow once", []string{"down", "enter"}, true, false},
		{"allow for the Turn", []string{"down", "down", "enter"}, true, true},
		{"deny", []string{"down", "down", "down", "enter"}, false, false},
	} {
		t.Run("permission "+tc.name, func(t *testing.T) {
			d := foreign(t, 80, 24, "bypass")
			pend(d, hostview.Interaction{Kind: hostview.KindPermission, Prompt: "Run \x1b[31mrm -rf /?"})
			d.want(`\x1b[31mrm -rf /?`)
			d.press(tc.keys...).tick(past).press("s")
			if len(d.host.answers) != 1 {
				t.Fatal(d.frame())
			}
			if a := d.host.answers[0].a; a.Allow != tc.allow || a.Remember != tc.remember {
				t.Errorf("%+v", a)
			}
			d.wantNot("lsewhere")
		})
	}
	t.Run("sandbox boundary", func(t *testing.T) {
		d := foreign(t, 80, 24, "bypass")
		pend(d, hostview.Interaction{Kind: hostview.KindBoundary, Boundary: hostview.Boundary{Justification: "needs the cache", Network: true, Entries: []hostview.PathAccess{{Path: "/var/cache", Access: "write", Scope: "subtree"}}}})
		d.want("needs the cache", "write /var/cache (subtree)", "use the network")
		d.press("ctrl+x").tick(past).press("y")
		if a := d.host.answers[0].a; a.Allow || a.Kind != hostview.KindBoundary {
			t.Errorf("%+v", a)
		}
	})
	t.Run("unknown", func(t *testing.T) {
		d := foreign(t, 80, 24, "bypass")
		pend(d, hostview.Interaction{Kind: "riddle"})
		d.want("does not know (riddle)")
		d.tick(past).press("s").want("cannot be answered from here")
		if d.host.count("answer") != 0 {
			t.Error("answered")
		}
	})
}

func TestSessions(t *testing.T) {
	second := hostview.Session{ID: "s2", Revision: "4", Name: "notes", Status: hostview.StatusWaitingForUser, LastUsed: at("11:00:00")}
	two := func(t *testing.T, set ...func(*Options)) *driver {
		d := newDriver(t, 80, 24, set...)
		d.tell(ready(oursAt("wss://devbox:7443"))...)
		d.tell(hostview.Catalog{Sessions: []hostview.Session{second, deploys()}})
		return d
	}
	t.Run("the one used last is opened", func(t *testing.T) {
		d := two(t)
		if d.host.count("open s1") != 1 {
			t.Errorf("calls: %v", d.host.calls)
		}
		d.want("deploys", "1 other session waits")
	})
	t.Run("by name", func(t *testing.T) {
		if d := two(t, func(o *Options) { o.Session = "notes" }); d.host.count("open s2") != 1 {
			t.Errorf("calls: %v", d.host.calls)
		}
	})
	t.Run("unknown name", func(t *testing.T) {
		d := two(t, func(o *Options) { o.Session = "nope" })
		d.want("sessions", "notes", "deploys").press("esc").want(`no session is called "nope"`)
	})
	t.Run("none: one is created", func(t *testing.T) {
		d := newDriver(t, 80, 24, func(o *Options) { o.NewSession = "folder" })
		d.tell(ready(oursAt("x"))...)
		d.tell(hostview.Catalog{})
		if d.host.count("create folder") != 1 || d.host.count("open s-folder") != 1 {
			t.Errorf("calls: %v", d.host.calls)
		}
	})
	t.Run("none under attach: told", func(t *testing.T) {
		d := newDriver(t, 80, 24, func(o *Options) { o.Servers = nil })
		d.tell(ready(oursAt("x"))...)
		d.tell(hostview.Catalog{}).want("No session is open")
	})
	t.Run("switch, and the draft of a form stays", func(t *testing.T) {
		d := asking(t, 80, 24)
		d.tell(hostview.Catalog{Sessions: []hostview.Session{second, deploys()}})
		d.tick(past).press("down", "enter", "down", "enter").typing("draft").press("ctrl+f", "ctrl+g").want("notes", "waits for you")
		d.press("home", "enter")
		if d.host.count("open s2") != 1 {
			t.Fatalf("calls: %v", d.host.calls)
		}
		d.tell(hostview.Projection{SessionID: "s2"}).wantNot("form (")
		d.press("ctrl+g", "end", "enter")
		d.tell(hostview.Projection{SessionID: "s1", Turn: turn("waiting_for_user"), Pending: []hostview.Interaction{interaction("i1", "call1", deployForm())}})
		d.want("draft")
	})
	t.Run("create", func(t *testing.T) {
		d := two(t)
		d.press("ctrl+g", "ctrl+t").typing("fresh one").press("enter")
		if d.host.count("create fresh one ") != 1 || d.host.count("open s-fresh one") != 1 {
			t.Errorf("calls: %q", d.host.calls)
		}
	})
	t.Run("remove asks", func(t *testing.T) {
		d := two(t)
		d.press("ctrl+g", "home", "ctrl+x").want("Remove the session \"notes\"", "cannot be undone")
		d.press("y")
		if d.host.count("remove") != 0 {
			t.Fatal("removed within the pause")
		}
		d.tick(past).press("y")
		if d.host.count("remove s2") != 1 {
			t.Errorf("calls: %v", d.host.calls)
		}
	})
	t.Run("removed by another", func(t *testing.T) {
		d := two(t)
		d.tell(hostview.Removed{SessionID: "s1"}).want("sessions").press("esc").want("this session was removed")
	})
	t.Run("cannot be opened", func(t *testing.T) {
		d := newDriver(t, 80, 24)
		d.host.fail["open"] = errors.New("no way")
		d.tell(ready(oursAt("x"))...)
		d.tell(hostview.Catalog{Sessions: []hostview.Session{deploys()}}).press("esc").want("could not be opened: no way")
	})
}

func TestPalette(t *testing.T) {
	t.Run("filter, form, call", func(t *testing.T) {
		d := connected(t, 80, 24)
		d.press("ctrl+t").typing("dep").want("demo/deploy").wantNot("demo/survey")
		d.press("enter").want("arguments · deploy · demo", "Artifact")
		d.tick(past).typing("build-42").press("ctrl+s").tick(past).press("s")
		if d.host.count(`start /call demo/deploy {"artifact":"build-42"}`) != 1 {
			t.Errorf("calls: %q\n%s", d.host.calls, d.frame())
		}
	})
	t.Run("no arguments", func(t *testing.T) {
		d := connected(t, 80, 24)
		d.press("ctrl+t").typing("survey").press("enter").tick(past).press("s")
		if d.host.count("start /call demo/survey") != 1 {
			t.Errorf("calls: %q\n%s", d.host.calls, d.frame())
		}
	})
	t.Run("what a form cannot ask is JSON, with the reason", func(t *testing.T) {
		d := connected(t, 80, 24)
		d.press("ctrl+t").typing("nested").press("enter")
		d.want(`"where"`, "{}")
		d.typing(`"where": {`).press("ctrl+s").want("! line 1")
		d.typing(`"x": 1}`).press("ctrl+s")
		if d.host.count(`start /call demo/nested {"where":{"x":1}}`) != 1 {
			t.Errorf("calls: %q\n%s", d.host.calls, d.frame())
		}
	})
	t.Run("raw on request", func(t *testing.T) {
		d := connected(t, 80, 24)
		d.press("ctrl+t", "ctrl+r").want("{}").press("esc").want("demo/deploy").press("esc").wantNot("demo/survey")
	})
	t.Run("attach has none", func(t *testing.T) {
		connected(t, 80, 24, func(o *Options) { o.Servers = nil }).press("ctrl+t").want("No tool is offered from here")
	})
}

func TestServersAndHost(t *testing.T) {
	d := connected(t, 80, 24)
	d.press("ctrl+r").want("ready · 3 tools", "MCP 2026-07-28", "demo: listening")
	d.press("r").want("Restart the server \"demo\"?").tick(past).press("y")
	s := d.m.servers.(*fakeServers)
	if len(s.begun) != 1 || s.begun[0] != "demo" {
		t.Errorf("restarted %v", s.begun)
	}
	d.press("esc", "ctrl+o").want("wss://devbox:7443", "epoch 81", "our own")
	d.press("esc", "ctrl+y").want("nothing was logged")
	d.tell(hostview.Logged{Entry: hostview.LogEntry{Time: at("12:00:00"), Level: "WARN", Text: "one\x1b[2Jtwo"}})
	d.want(`one\x1b[2Jtwo`).press("esc")
}

func TestRetry(t *testing.T) {
	d := connected(t, 80, 24)
	d.press("ctrl+o", "r")
	if d.host.count("retry") != 0 {
		t.Error("it tried again with a ready connection")
	}
	d.tell(hostview.Connection{Link: hostview.LinkView, State: hostview.StateRefused, Detail: "the token is wrong"})
	d.want("refused: the token is wrong").press("r").want("trying again")
	if d.host.count("retry") != 1 {
		t.Errorf("calls: %v", d.host.calls)
	}
}

func TestTextOverTheLimit(t *testing.T) {
	d := connected(t, 80, 24)
	d.paste(strings.Repeat("漢", 20<<10)).press("enter").want("at most 48 KiB")
	if d.host.count("start") != 0 {
		t.Error("sent")
	}
}

func TestTranscriptStates(t *testing.T) {
	d := calling(t, 80, 24)
	result := func(text string, failed, uncertain bool) {
		d.tell(hostview.Rows{SessionID: "s1", Rows: []hostview.Row{{Key: "r1", Kind: hostview.RowToolResult, TurnID: "t1", ToolUseID: "call1", Text: text, IsError: failed, Uncertain: uncertain, Duration: 75 * time.Second}}})
	}
	d.want("demo · running")
	d.tell(hostview.ToolEvent{SessionID: "s1", ToolUseID: "call1", Phase: hostview.PhaseProgress, Current: 3, Total: 10}).want("step 3 of 10")
	d.tell(hostview.ToolEvent{SessionID: "s1", ToolUseID: "call1", Phase: hostview.PhaseOutput, Chunk: "a\nlast \x1b[1mline\n"}).want(`│ last \x1b[1mline`)
	result("it\nworked", false, false)
	d.want("demo · done", "1:15", "│ it", "│ worked")
	result("server_error: no", true, false)
	d.want("demo · failed", "│ server_error: no")
	result("outcome_unknown: cut off", true, true)
	d.want("demo · outcome unknown")
	result(strings.Repeat("line\n", 50), false, false)
	d.want("│ … 44 more lines")
	d.press("tab", "enter").want("arguments", `"artifact": "build-42"`, "result").press("esc", "esc")
	d.tell(hostview.Text{SessionID: "s1", TurnID: "t1", Key: "a1", Append: "Hel"}, hostview.Text{SessionID: "s1", TurnID: "t1", Key: "a1", Append: "lo."}).want("agent    Hello.")
	d.tell(hostview.Rows{SessionID: "s1", Rows: []hostview.Row{{Key: "a1", Kind: hostview.RowAssistant, TurnID: "t1", Text: "Hello there."}}}).want("agent    Hello there.").wantNot("Hello.\n")
}

func TestOlderRows(t *testing.T) {
	d := connected(t, 80, 24)
	d.m.log = newTranscript()
	d.m.layout()
	var rows []hostview.Row
	for i := range 40 {
		rows = append(rows, hostview.Row{Key: fmt.Sprint(i), Kind: hostview.RowAssistant, Text: fmt.Sprintf("row %d", i+100), Time: at("10:00:00")})
	}
	d.tell(hostview.Rows{SessionID: "s1", Rows: rows}).want("row 139").wantNot("row 119")
	d.press("pgup", "pgup")
	if d.host.count("older s1") != 1 {
		t.Fatalf("calls: %v", d.host.calls)
	}
	before := d.frame()
	var old []hostview.Row
	for i := range 30 {
		old = append(old, hostview.Row{Key: fmt.Sprint("old", i), Kind: hostview.RowAssistant, Text: fmt.Sprintf("row %d", i+70), Time: at("09:00:00")})
	}
	d.tell(hostview.Rows{SessionID: "s1", Rows: old, Older: true, Start: true})
	if got := d.frame(); got != before {
		t.Errorf("older rows moved what is read:\n%s", got)
	}
	d.press("pgup").want("row 99").press("ctrl+home").want("row 70")
	if d.host.count("older") != 1 {
		t.Error("asked beyond the start")
	}
	d.press("ctrl+end").want("row 139")
}

// Nothing ticks while nothing waits, and what waits ticks by the second.
func TestClockwork(t *testing.T) {
	d := connected(t, 80, 24)
	d.tick(10 * time.Second)
	if len(d.clock.timers) != 0 {
		t.Fatalf("%d timers while nothing waits", len(d.clock.timers))
	}
	d = calling(t, 80, 24)
	d.tick(3 * time.Second).want("0:03")
	if len(d.clock.timers) != 1 {
		t.Fatalf("%d timers while one call runs", len(d.clock.timers))
	}
	d.press("ctrl+t").tick(5 * time.Second)
	if len(d.clock.timers) != 0 {
		t.Error("it ticks behind a dialog")
	}
	d.press("esc").want("0:08")
	d.tell(hostview.Rows{SessionID: "s1", Rows: []hostview.Row{{Key: "r1", Kind: hostview.RowToolResult, TurnID: "t1", ToolUseID: "call1"}}})
	d.tick(2 * time.Second)
	if len(d.clock.timers) != 0 {
		t.Error("it ticks after the result")
	}
}

// Events overtake rows: the person's text still stands above the call that it made.
func TestRowsThatComeAfterTheirEvents(t *testing.T) {
	d := connected(t, 80, 24)
	d.tell(hostview.Projection{SessionID: "s1", Turn: turn("running")},
		hostview.ToolEvent{SessionID: "s1", TurnID: "t1", ToolUseID: "call1", Phase: hostview.PhaseStart, Name: "deploy", Time: at("12:00:00")},
		hostview.Rows{SessionID: "s1", Rows: []hostview.Row{{Key: "u1", Kind: hostview.RowUser, TurnID: "t1", Time: at("12:00:00"), Text: "/call demo/deploy"}}},
		hostview.Rows{SessionID: "s1", Rows: []hostview.Row{{Key: "c1", Kind: hostview.RowToolCall, TurnID: "t1", ToolUseID: "call1", Tool: "deploy", Server: "demo"}}})
	f := d.frame()
	if strings.Index(f, "you ") > strings.Index(f, "demo · running") {
		t.Errorf("the call stands above the text that made it:\n%s", f)
	}
}

// A reconnect repeats the last rows; what is read does not move, and our own lines stay where they were.
func TestResetThatGoesOn(t *testing.T) {
	d := connected(t, 80, 24)
	row := func(i int) hostview.Row {
		return hostview.Row{Key: itoa(i), Kind: hostview.RowAssistant, Text: fmt.Sprintf("row %d", i), Time: at("10:00:00").Add(time.Duration(i) * time.Second)}
	}
	var rows []hostview.Row
	for i := range 60 {
		rows = append(rows, row(i))
	}
	d.tell(hostview.Rows{SessionID: "s1", Rows: rows, Reset: true})
	d.press("pgup", "pgup")
	before := d.frame()
	d.tell(hostview.ToolEvent{SessionID: "s1", TurnID: "t", ToolUseID: "gone", Phase: hostview.PhaseStart, Name: "gone"})
	d.tell(hostview.Rows{SessionID: "s1", Rows: append(rows[50:], row(60)), Reset: true})
	if got := d.frame(); got != before {
		t.Errorf("a reconnect moved what is read:\n%s\nwas\n%s", got, before)
	}
	d.press("ctrl+end").want("row 60").wantNot("gone")
	// Rows that do not go on start over; our own line keeps its place in time.
	d.clock.now = at("10:01:30")
	d.m.say("our own line", false)
	d.tell(hostview.Rows{SessionID: "s1", Rows: []hostview.Row{row(80), row(100)}, Reset: true})
	f := d.frame()
	if strings.Contains(f, "row 60") || strings.Index(f, "row 80") > strings.Index(f, "our own line") || strings.Index(f, "our own line") > strings.Index(f, "row 100") {
		t.Error(f)
	}
}

// A call that was pasted over several lines leaves the composer when it is sent, and comes back as it was written.
func TestPastedCallIsSentOnce(t *testing.T) {
	d := connected(t, 80, 24)
	d.paste("/call demo/deploy {\n  \"artifact\": \"build-42\"\n}\n").press("enter")
	if !d.m.comp.edit.empty() || d.host.count(`start /call demo/deploy { "artifact": "build-42" }`) != 1 {
		t.Errorf("calls %q\n%s", d.host.calls, d.frame())
	}
	if d.press("up"); d.m.comp.edit.String() != "/call demo/deploy {\n  \"artifact\": \"build-42\"\n}" {
		t.Errorf("history has %q", d.m.comp.edit.String())
	}
}

// What goes wrong is told where one looks, also over the transcript.
func TestProblemsAreToldOverDialogs(t *testing.T) {
	d := connected(t, 80, 24).press("ctrl+r")
	d.send(reloaded{err: errors.New("line 3: no")})
	d.want("── the configuration was not read again: line 3: no").press("esc").want("! ").want("line 3: no")
	d = connected(t, 80, 24).press("ctrl+r", "r").tick(past).press("y")
	d.want("ready").wantNot("restarting demo")
	d.send(restarted{"demo", errors.New("no way")})
	d.want("── the server could not be restarted: no way")
}

// The session that was removed in the list leaves that list, once.
func TestRemovedSessionLeavesOneList(t *testing.T) {
	d := connected(t, 80, 24).press("ctrl+g", "ctrl+x").tick(past).press("y")
	d.want("── sessions", "the session was removed").press("esc").wantNot("── sessions").want("the session was removed")
}

// The panel shows the lines of stderr that came since the last change, and keeps up with a server that starts.
func TestServerPanelIsFresh(t *testing.T) {
	d := connected(t, 80, 24)
	s := d.m.servers.(*fakeServers)
	s.servers[0].Stderr = []string{"one more line"}
	d.press("ctrl+r").want("one more line")
	s.servers[0].Ready, s.servers[0].State, s.servers[0].Stderr = false, "connecting", []string{"downloading"}
	d.send(served{servers: slices.Clone(s.servers)})
	s.servers[0].Stderr = []string{"still downloading"}
	d.tick(2 * time.Second).want("still downloading")
	s.servers[0].Ready, s.servers[0].State = true, "ready"
	d.send(served{servers: slices.Clone(s.servers)})
	d.clock.timers = nil
	if d.tick(time.Second); len(d.clock.timers) != 0 {
		t.Error("it ticks with nothing to wait for")
	}
}

// A form that closes with its call says what the call says.
func TestClosureTellsTheCause(t *testing.T) {
	d := asking(t, 120, 24)
	d.tell(hostview.Projection{SessionID: "s1", Turn: turn("running")},
		hostview.Settled{SessionID: "s1", InteractionID: "i1", Outcome: hostview.Outcome{Status: hostview.StatusClosed, Reason: hostview.ReasonWithdrawn}})
	for range 2 {
		result(d, "connection_lost: the server exited with code 3\x1b[2J", true, false)
	}
	d.want("for it no more: connection_lost: the server exited with code 3")
	if n := strings.Count(d.frame(), "connection_lost"); n != 1 {
		t.Errorf("told %d times\n%s", n, d.frame())
	}
	d = asking(t, 120, 24) // the call's end overtakes the form's
	result(d, "connection_lost: the server is gone", true, false)
	d.tell(hostview.Projection{SessionID: "s1", Turn: turn("running")},
		hostview.Settled{SessionID: "s1", InteractionID: "i1", Outcome: hostview.Outcome{Status: hostview.StatusClosed, Reason: hostview.ReasonWithdrawn}})
	d.want("for it no more: connection_lost: the server is gone")
	d = asking(t, 120, 24)
	d.tell(hostview.Projection{SessionID: "s1", Turn: turn("running")},
		hostview.Settled{SessionID: "s1", InteractionID: "i1", Outcome: hostview.Outcome{Status: hostview.StatusClosed, Reason: "turn_stopped"}})
	result(d, "cancelled: by you", true, false)
	d.want("the Turn was stopped").wantNot("cancelled: by you")
}

// FX-17: the next form of a call may overtake the end of the one before; it starts from those answers all the same.
func TestNextFormOvertakesTheOutcome(t *testing.T) {
	d := fillDeploy(asking(t, 80, 24))
	d.hold = true
	d.press("s").want("Sending your answer")
	d.tell(hostview.Projection{SessionID: "s1", Turn: turn("waiting_for_user"), Pending: []hostview.Interaction{interaction("i2", "call1", deployForm())}})
	d.hold = false
	for len(d.held) > 0 {
		d.release()
	}
	d.want("production", "your last answer", "starts from your last answers")
	if d.tick(past).press("ctrl+f").want("form (1)"); len(d.host.answers) != 1 {
		t.Errorf("answers %v", d.host.answers)
	}
}

// What is said while the Host is away is not said any more when it is there again.
func TestNoticeEndsWithTheOutage(t *testing.T) {
	d := connected(t, 80, 24)
	lost(d)
	d.typing("/call a/b").press("enter").want("not reachable now")
	d.tell(ready(oursAt("x"))...).wantNot("not reachable now").want("/call a/b")
	lost(d)
	d.press("ctrl+c", "ctrl+o", "r").want("trying again")
	d.tell(ready(oursAt("x"))...).wantNot("trying again")
	d.tell(hostview.Connection{Link: hostview.LinkProvider, State: hostview.StateReconnecting}).press("r").want("trying again")
	d.tell(hostview.Connection{Link: hostview.LinkProvider, State: hostview.StateReady}).wantNot("trying again")
}

// A notice that repeats what others said is safe wherever it stands.
func TestNoticesAreSafe(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {39, 11}} {
		d := asking(t, size[0], size[1])
		d.send(reloaded{told: "no server x\x1b[2J\u202ey"})
		if d.want(`x\x1b[2J`); strings.ContainsAny(d.m.View(), "\u202e") || strings.Contains(d.m.View(), "\x1b[2J") {
			t.Errorf("%v: %q", size, d.m.View())
		}
	}
}

// The last row names the keys as they act while a text is typed: ? is part of it, and ctrl+c clears it first.
func TestKeysOfATextAreTold(t *testing.T) {
	d := connected(t, 80, 24).want("? help").typing("a").want("f1 help").wantNot("? help")
	d.press("ctrl+c").want("? help")
	d = calling(t, 80, 24).want("ctrl+c stop").typing("a").want("ctrl+c clear").wantNot("ctrl+c stop")
	d.press("ctrl+c").want("ctrl+c stop").wantNot("again")
}

// Who leaves is told where the Turn runs that leaving would stop.
func TestQuitSaysWhereTheTurnRuns(t *testing.T) {
	d := connected(t, 80, 24)
	begun, end, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		_, _ = d.m.ours.Start(func() (hostview.Turn, error) { close(begun); <-end; return hostview.Turn{}, errors.New("no") })
	}()
	<-begun
	d.press("ctrl+q").want("A Turn is being started.")
	close(end)
	<-over
	d = calling(t, 80, 24)
	_, _ = d.m.ours.Start(func() (hostview.Turn, error) { return *turn("running"), nil })
	d.press("ctrl+q").want("A Turn is running.").tick(past).press("n")
	d.typing("/new other").press("enter", "ctrl+q").want("A Turn is running in another session.")
}

// A form that closed while it was left can be found, for what was typed in it.
func TestClosedFormIsToldOf(t *testing.T) {
	for _, w := range []int{40, 80} {
		d := asking(t, w, 24)
		d.tick(past).press("down", "enter", "down", "enter").typing("typed by hand").press("ctrl+f").wantNot("closed form")
		d.tell(hostview.Projection{SessionID: "s1", Turn: turn("completed")},
			hostview.Settled{SessionID: "s1", InteractionID: "i1", Outcome: hostview.Outcome{Status: hostview.StatusClosed, Reason: "host_restarted"}})
		d.want("closed form").press("ctrl+f").want("typed by hand").tick(past).press("esc").wantNot("closed form")
	}
}

// A Host that lists no sessions says why, and is believed when it does list them.
func TestUnlistedSessionsSayWhy(t *testing.T) {
	d := newDriver(t, 80, 24)
	d.tell(ready(oursAt("x"))...)
	d.want("Asking the Host for its sessions")
	d.tell(hostview.Unlisted{Why: "the Host refused session.catalog.query (unauthorized): no\x1b[2J"})
	d.want("does not list its sessions", `(unauthorized): no\x1b[2J`).wantNot("Asking the Host")
	d.tell(hostview.Catalog{}).want("No session is open").wantNot("unauthorized")
}

// HL-08: another session that begins to wait rings once; one that is known to wait does not.
func TestOtherSessionRings(t *testing.T) {
	d := connected(t, 80, 24)
	waits := func(status string) []hostview.Session {
		return []hostview.Session{deploys(), {ID: "s2", Name: "other", Status: status}}
	}
	for i, c := range []struct {
		status string
		bells  int
	}{{"active", 0}, {"waiting_for_user", 1}, {"waiting_for_user", 1}, {"active", 1}, {"waiting_for_user", 2}} {
		if d.tell(hostview.Catalog{Sessions: waits(c.status)}); d.term.bells != c.bells {
			t.Errorf("list %d: %d bells, want %d", i, d.term.bells, c.bells)
		}
	}
	d.want("! 1 other session waits")
	d = asking(t, 80, 24) // its form has rung
	rung := d.term.bells
	d.tick(past).press("ctrl+f").typing("/new other").press("enter")
	list := waits("active")
	list[0].Status = hostview.StatusWaitingForUser
	if d.tell(hostview.Catalog{Sessions: list}); d.term.bells != rung {
		t.Errorf("it rang %d times", d.term.bells)
	}
	d.want("1 other session waits")
}

// A terminal that tells no size gets a screen of the usual one, each row of it whole.
func TestTerminalWithoutSize(t *testing.T) {
	want := asking(t, 80, 24).frame()
	for _, size := range [][2]int{{0, 0}, {80, 0}, {0, 24}} {
		d := asking(t, size[0], size[1])
		rows := strings.Split(d.m.View(), "\n")
		for i, r := range rows {
			if kit.Width(r) != 80 {
				t.Errorf("%v: row %d has %d cells: %q", size, i+1, kit.Width(r), r)
			}
			rows[i] = strings.TrimRight(ansi.Strip(r), " ")
		}
		if got := strings.Join(rows, "\n"); got != strings.TrimRight(want, "\n") {
			t.Errorf("%v: drawn\n%s\nwant\n%s", size, got, want)
		}
		d.send(tea.WindowSizeMsg{Width: 120, Height: 40})
		if rows := strings.Split(d.m.View(), "\n"); len(rows) != 40 || strings.HasSuffix(rows[3], " ") {
			t.Errorf("%v: the size that is told later is not taken", size)
		}
	}
}

// A tool that no line can call is not asked about for nothing.
func TestToolNamesWithBlanks(t *testing.T) {
	for name, callable := range map[string]bool{"sp ace": false, "new\nline": false, "t\tab": false, "wide\u3000blank": false, "sl/ash": true, "漢字": true} {
		d := connected(t, 80, 24)
		d.m.tools = []hostview.Tool{{Server: "demo", Name: name, InputSchema: []byte(`{"type":"object"}`)}}
		d.press("ctrl+t", "enter")
		if !callable {
			d.want("its name holds a blank")
		}
		if d.tick(past).press("s"); (d.host.count("start /call demo/"+name) == 1) != callable {
			t.Errorf("%q: calls %q", name, d.host.calls)
		}
	}
}
