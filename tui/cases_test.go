package tui

import (
	"errors"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/tui/hostview"
)

// TestCases are things that went wrong in other terminals, as far as they can happen around a form; what can
// happen inside of one is tested there.
func TestCases(t *testing.T) {
	pend := func(d *driver, in ...hostview.Interaction) {
		status := "running"
		if len(in) > 0 {
			status = "waiting_for_user"
		}
		d.tell(hostview.Projection{SessionID: "s1", Turn: turn(status), Pending: in})
	}
	for _, c := range []struct {
		id  string
		run func(t *testing.T)
	}{
		{"FX-01 what cannot be asked has no accept", func(t *testing.T) {
			d := foreign(t, 80, 24, "bypass")
			pend(d, hostview.Interaction{SessionID: "s1", ID: "i1", Kind: "riddle"})
			d.tick(past).press("s", "enter", "y", "ctrl+s").tick(past).press("s", "y")
			if d.host.count("answer") != 0 {
				t.Error("it was answered")
			}
		}},
		{"FX-07 the keys and the field stay on a small screen", func(t *testing.T) {
			f := deployForm()
			f.Message = strings.Repeat("a line of the message\n", 40)
			d := calling(t, 80, 15)
			pend(d, interaction("i1", "call1", f))
			d.tick(past).want("ctrl+s review", "▌ Environment").press("ctrl+g").want("a line of the message")
		}},
		{"FX-09 a long list of tools follows the cursor", func(t *testing.T) {
			s := demoServers()
			for i := range 30 {
				s.tools = append(s.tools, hostview.Tool{Server: "demo", Name: "tool" + itoa(i)})
			}
			d := connected(t, 80, 12, func(o *Options) { o.Servers = s })
			d.press("ctrl+t")
			for range 28 {
				d.press("down")
			}
			d.want("> demo/tool25")
		}},
		{"FX-12 letters typed into a filter are letters", func(t *testing.T) {
			d := connected(t, 80, 24)
			d.press("ctrl+t").typing("?rq").want("filter: ?rq").press("ctrl+c")
			d.press("ctrl+g").typing("jk").want("filter: jk")
		}},
		{"FX-17 what was typed outlives a refusal", func(t *testing.T) {
			d := asking(t, 80, 24)
			fillDeploy(d)
			d.host.fail["answer"] = errors.New("the connection ended before the answer")
			d.press("s").want("the connection ended before the answer", "hi")
			d.tick(past).press("s")
			if len(d.host.answers) != 1 {
				t.Error("it cannot be sent again")
			}
		}},
		{"FX-17 the next round starts from the last answers", func(t *testing.T) {
			d := asking(t, 80, 24)
			fillDeploy(d).press("s")
			f := deployForm()
			f.Message = "port in use"
			pend(d, interaction("i2", "call1", f))
			d.want("port in use", "production", "last answer")
		}},
		{"FX-18 arguments and results can be read in full", func(t *testing.T) {
			d := calling(t, 80, 24)
			result(d, "one\ntwo\n"+strings.Repeat("more of it\n", 100)+"the end", false, false)
			d.press("tab", "enter").want("│ one", "│ two").press("G").want("│ the end").wantNot(`\n`)
		}},
		{"FX-20 a key typed for one form decides nothing in the next", func(t *testing.T) {
			yes := forms.Form{Message: "Sure?", Requester: forms.Requester{Name: "a"}, Fields: []forms.Field{{Kind: forms.KindBoolean, Name: "ok", Label: "OK", Required: true}}}
			d := calling(t, 80, 24)
			pend(d, interaction("i1", "call1", yes), interaction("i2", "call2", yes))
			d.tick(past).press("y", "s", "y", "s", "y", "s")
			if len(d.host.answers) != 1 {
				t.Errorf("%d answers of one decision", len(d.host.answers))
			}
		}},
		{"TM-01 what a server writes stays in its panel", func(t *testing.T) {
			d := asking(t, 80, 24)
			before := d.frame()
			s := demoServers().servers
			for i := range 50 {
				s[0].Stderr = append(s[0].Stderr, "noise "+itoa(i)+"\x1b[2J")
			}
			d.m.servers.(*fakeServers).servers = s
			d.send(served{servers: s})
			if d.frame() != before {
				t.Error("it painted over the form")
			}
			d.tick(past).press("ctrl+f", "ctrl+r").want(`noise 49\x1b[2J`)
		}},
		{"TM-02 escape alone decides nothing", func(t *testing.T) {
			d := asking(t, 80, 24)
			d.tick(past).press("esc").want("y ")
			if d.host.count("answer") != 0 {
				t.Error("it was answered")
			}
		}},
		{"TM-04 a paste into a form decides nothing", func(t *testing.T) {
			d := asking(t, 80, 24)
			d.tick(past).paste("prod\ryes\rs\r").press("ctrl+s").tick(past).paste("s\ry\r")
			if d.host.count("answer") != 0 {
				t.Error("it was answered")
			}
		}},
		{"TM-06 ctrl+s is not the only way", func(t *testing.T) {
			d := asking(t, 80, 24)
			d.tick(past).press("down", "enter", "down", "enter", "enter").want("submit")
		}},
		{"TM-09 the enter of an input method sends nothing", func(t *testing.T) {
			d := connected(t, 80, 24)
			d.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("日本")})
			d.press("enter").want("日本")
			if d.host.count("start") != 0 {
				t.Error("it was sent")
			}
			d.tick(time.Second).press("enter")
			if d.host.count("start 日本") != 1 {
				t.Errorf("calls: %q", d.host.calls)
			}
		}},
		{"TM-10 ctrl+e is the end of the line", func(t *testing.T) {
			connected(t, 80, 24).typing("ab").press("home", "ctrl+e").typing("c").want("> abc")
		}},
		{"SE-01 nothing from elsewhere reaches the terminal", func(t *testing.T) {
			for _, s := range scenes() {
				if !strings.Contains(s.name, "hostile") && s.name != "sessions" && s.name != "log" {
					continue
				}
				frame := s.make(t, 80, 24).m.View()
				for _, bad := range []string{"\x1b[2J", "\x1b]", "\a", "\u202e", "\u200b", "\u009b"} {
					if strings.Contains(frame, bad) {
						t.Errorf("%s: %q is in the frame", s.name, bad)
					}
				}
			}
		}},
		{"SE-03 a secret that was typed is shown nowhere else", func(t *testing.T) {
			f := deployForm()
			f.Fields = append(f.Fields, forms.Field{Kind: forms.KindString, Name: "api_key", Label: "API key"})
			d := calling(t, 80, 24)
			pend(d, interaction("i1", "call1", f))
			d.tick(past).want("!! ").press("down", "enter", "down", "enter", "enter").typing("s3cret").press("ctrl+s").tick(past).press("s")
			pend(d)
			d.wantNot("s3cret").press("up").wantNot("s3cret").press("ctrl+y").wantNot("s3cret")
		}},
		{"SE-04 answers are in no transcript", func(t *testing.T) {
			d := asking(t, 80, 24)
			fillDeploy(d).press("s")
			pend(d)
			for _, it := range d.m.log.items {
				if strings.Contains(it.text+it.args+it.raw, "production") {
					t.Errorf("an answer is in the transcript: %+v", it)
				}
			}
		}},
		{"TR-09 what waited is there after a reconnect, once", func(t *testing.T) {
			d := connected(t, 80, 24)
			lost(d)
			d.tell(ready(oursAt("wss://devbox:7443"))...)
			pend(d, interaction("i1", "call1", deployForm()))
			pend(d, interaction("i1", "call1", deployForm()))
			d.want("Choose the deployment target").wantNot("1 of 2")
			if d.term.bells != 1 {
				t.Errorf("%d bells", d.term.bells)
			}
		}},
		{"TR-11 the slower surface is told", func(t *testing.T) {
			d := asking(t, 80, 24)
			fillDeploy(d)
			d.host.outcome = &hostview.Outcome{Status: hostview.StatusAnswered, Answer: hostview.Answer{Kind: hostview.KindForm, Form: forms.Decline()}}
			d.press("s").want("Answered elsewhere: declined")
		}},
		{"TR-15 stopping frees the surface at once", func(t *testing.T) {
			d := asking(t, 80, 24)
			d.hold = true
			d.tick(past).press("ctrl+c", "ctrl+c").want("stopping the Turn").press("ctrl+f").want("stopping the Turn")
			d.hold = false
			d.tell(hostview.Settled{SessionID: "s1", InteractionID: "i1", Outcome: hostview.Outcome{Status: hostview.StatusClosed, Reason: "turn_stopped"}},
				hostview.Projection{SessionID: "s1", Turn: turn("cancelled")})
			d.typing("next").want("> next").wantNot("stopping")
		}},
		{"HL-08 what waits in another session is told", func(t *testing.T) {
			d := connected(t, 40, 12)
			d.tell(hostview.Catalog{Sessions: []hostview.Session{deploys(), {ID: "s2", Name: "b", Status: hostview.StatusWaitingForUser}}})
			d.want("! 1 other session waits").press("ctrl+g").want("waits for you")
		}},
		{"HL-11 an answer that was not stored is told", func(t *testing.T) {
			d := asking(t, 80, 24)
			fillDeploy(d)
			d.host.fail["answer"] = &hostview.Error{Code: hostview.CodeNotFound, Message: "unknown interaction"}
			d.press("s").want("not sent", "unknown interaction", "hi")
		}},
	} {
		t.Run(c.id, c.run)
	}
}
