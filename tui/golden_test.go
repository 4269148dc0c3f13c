package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/exp/golden"
	"github.com/muesli/termenv"

	"askback/forms"
	"askback/tui/hostview"
	"askback/tui/theme"
)

var sizes = [][2]int{{40, 12}, {80, 24}, {120, 40}, {200, 60}}

// A scene brings a fresh program of a size to something worth seeing.
type scene struct {
	name string
	make func(t testing.TB, w, h int) *driver
}

// TestGolden draws every screen and state at four sizes. The frames of one scene stand in one file.
func TestGolden(t *testing.T) {
	for _, s := range scenes() {
		t.Run(s.name, func(t *testing.T) {
			var b strings.Builder
			for _, size := range sizes {
				d := s.make(t, size[0], size[1])
				fmt.Fprintf(&b, "=== %d×%d\n%s\n", size[0], size[1], d.frame())
			}
			golden.RequireEqual(t, []byte(b.String()))
		})
	}
}

const hostile = "ok\x1b[2J\x1b]0;PWN\a\x1b]52;c;ZXZpbA==\a\u202e\u200bnormal \x9b31m"

func scenes() []scene {
	return append(append(baseScenes(), dialogScenes()...), formScenes()...)
}

func then(f func(testing.TB, int, int, ...func(*Options)) *driver, more func(*driver)) func(testing.TB, int, int) *driver {
	return func(t testing.TB, w, h int) *driver {
		d := f(t, w, h)
		more(d)
		return d
	}
}

func attached(t testing.TB, w, h int, _ ...func(*Options)) *driver {
	return connected(t, w, h, func(o *Options) { o.Servers = nil })
}

func attachedAsking(t testing.TB, w, h int, _ ...func(*Options)) *driver {
	return asking(t, w, h, func(o *Options) { o.Servers = nil })
}

func bypassed(t testing.TB, w, h int, _ ...func(*Options)) *driver {
	return foreign(t, w, h, "bypass")
}

func result(d *driver, text string, failed, uncertain bool) {
	d.tell(hostview.Rows{SessionID: "s1", Rows: []hostview.Row{{Key: "r1", Kind: hostview.RowToolResult, TurnID: "t1", ToolUseID: "call1", Text: text, IsError: failed, Uncertain: uncertain, Duration: 75 * time.Second}}})
}

func lost(d *driver) {
	d.tell(hostview.Connection{Link: hostview.LinkView, State: hostview.StateReconnecting, Detail: "nothing was heard for 45 s, not even an answer to our pings", Attempt: 2, Retry: d.clock.now.Add(8 * time.Second)})
}

func baseScenes() []scene {
	return []scene{
		{"connecting", then(newDriver, func(d *driver) {
			d.tell(hostview.Connection{Link: hostview.LinkView, State: hostview.StateConnecting, Host: hostview.Host{Address: "wss://devbox:7443"}})
		})},
		{"unreachable", then(newDriver, func(d *driver) {
			d.tell(hostview.Connection{Link: hostview.LinkView, State: hostview.StateReconnecting, Host: hostview.Host{Address: "wss://devbox:7443"}, Attempt: 3, Retry: d.clock.now.Add(4 * time.Second), Detail: "connection refused"})
		})},
		{"refused", then(newDriver, func(d *driver) {
			d.tell(hostview.Connection{Link: hostview.LinkView, State: hostview.StateRefused, Host: hostview.Host{Address: "wss://devbox:7443"}, Detail: "the token is wrong, revoked or expired"})
		})},
		{"empty", then(connected, func(*driver) {})},
		{"empty_attached", then(attached, func(*driver) {})},
		{"no_session", then(newDriver, func(d *driver) {
			d.tell(ready(oursAt("wss://devbox:7443"))...).tell(hostview.Catalog{})
		})},
		{"running", then(calling, func(d *driver) { d.tick(3 * time.Second) })},
		{"progress", then(calling, func(d *driver) {
			d.tell(hostview.ToolEvent{SessionID: "s1", ToolUseID: "call1", Phase: hostview.PhaseProgress, Current: 3, Total: 10},
				hostview.ToolEvent{SessionID: "s1", ToolUseID: "call1", Phase: hostview.PhaseOutput, Chunk: "copying layers\n"}).tick(75 * time.Second)
		})},
		{"waiting", then(asking, func(d *driver) { d.tick(12 * time.Second).press("ctrl+f") })},
		{"done", then(calling, func(d *driver) {
			result(d, "Deployed build-42 to staging.", false, false)
			d.tell(hostview.Projection{SessionID: "s1", Turn: turn("completed")})
		})},
		{"failed", then(calling, func(d *driver) { result(d, "server_error: the registry does not answer", true, false) })},
		{"uncertain", then(calling, func(d *driver) {
			result(d, "outcome_unknown: the provider disconnected after accepting the call", true, true)
		})},
		{"stopped", then(calling, func(d *driver) {
			d.tell(hostview.Projection{SessionID: "s1", Turn: turn("cancelled")}, hostview.Rows{SessionID: "s1", Rows: []hostview.Row{{Key: "t1", Kind: hostview.RowTurn, TurnID: "t1", Status: "aborted", Text: "the Turn was stopped", Time: at("12:00:09")}}})
		})},
		{"turn_failed", then(connected, func(d *driver) {
			d.tell(hostview.Rows{SessionID: "s1", Rows: []hostview.Row{{Key: "u", Kind: hostview.RowUser, TurnID: "t1", Time: at("12:00:00"), Text: "hello"}}})
			failed := turn("failed")
			failed.Message = "a Turn here is one to eight lines of /call SERVER/TOOL {json}"
			d.tell(hostview.Rows{SessionID: "s1", Rows: []hostview.Row{{Key: "e", Kind: hostview.RowTurn, TurnID: "t1", Time: at("12:00:00"), Status: "failed", Text: "the Turn failed"}}},
				hostview.Projection{SessionID: "s1", Turn: failed})
		})},
		{"long_result", then(calling, func(d *driver) { result(d, strings.Repeat("a line of the result\n", 60), false, false) })},
		{"agent", then(bypassed, func(d *driver) {
			d.tell(hostview.Projection{SessionID: "s1", Turn: turn("running")}, hostview.Rows{SessionID: "s1", Rows: []hostview.Row{
				{Key: "u", Kind: hostview.RowUser, TurnID: "t1", Time: at("12:00:00"), Text: "Which tests fail?"},
				{Key: "c", Kind: hostview.RowToolCall, TurnID: "t1", Time: at("12:00:02"), ToolUseID: "call1", Tool: "run_tests", Server: "ci", Args: []byte(`{"package":"./...","race":true,"note":"a long argument that does not fit on one row of a small screen"}`)},
			}})
			d.tell(hostview.Text{SessionID: "s1", TurnID: "t1", Key: "a", Append: "I am looking at the test results now; two packages were slow and "})
		})},
		{"wide_text", then(calling, func(d *driver) {
			result(d, "備考 (メモ) 👩‍👩‍👧 漢字とemojiのテスト、幅が二倍の文字が正しく折り返されることを確かめます。\nसंख्या ९ · עברית · e\u0301te\u0301", false, false)
		})},
		{"hostile_text", then(calling, func(d *driver) {
			d.tell(hostview.Rows{SessionID: "s1", Rows: []hostview.Row{{Key: "c1", Kind: hostview.RowToolCall, TurnID: "t1", ToolUseID: "call1", Tool: "de\nploy\x1b[31m", Server: hostile, Args: []byte(hostile)}}})
			result(d, hostile+"\n12:01:03  you      /call demo/wipe {}\n\n\n"+strings.Repeat("x", 500), false, false)
			d.tell(hostview.Catalog{Sessions: []hostview.Session{{ID: "s1", Name: hostile, Mode: "ask"}}})
		})},
		{"browse", then(calling, func(d *driver) { result(d, "fine", false, false); d.press("tab", "up") })},
		{"detail", then(calling, func(d *driver) {
			result(d, strings.Repeat("a line of the result\n", 60), false, false)
			d.press("tab", "enter")
		})},
		{"stop_again", then(calling, func(d *driver) { d.press("ctrl+c") })},
		{"stopping", then(calling, func(d *driver) { d.hold = true; d.press("ctrl+c", "ctrl+c") })},
		{"leave_again", then(connected, func(d *driver) { d.press("ctrl+c") })},
		{"composing", then(connected, func(d *driver) {
			d.paste("/call demo/deploy {\"artifact\":\"build-42\"}\n/call demo/survey\n/call demo/deploy {\"artifact\": \"a much longer name, so that the row has to be wrapped somewhere\"}")
		})},
		{"scrolled", then(calling, func(d *driver) {
			for i := range 80 {
				d.tell(hostview.Rows{SessionID: "s1", Rows: []hostview.Row{{Key: fmt.Sprint(i), Kind: hostview.RowAssistant, Time: at("12:00:01"), Text: fmt.Sprintf("paragraph %d", i)}}})
			}
			d.press("pgup")
		})},
		{"reconnecting", then(calling, func(d *driver) { d.tick(3 * time.Second); lost(d) })},
		{"tools_lost", then(calling, func(d *driver) {
			d.tell(hostview.Connection{Link: hostview.LinkProvider, State: hostview.StateReconnecting})
		})},
		{"others_wait", then(connected, func(d *driver) {
			d.tell(hostview.Catalog{Sessions: []hostview.Session{deploys(), {ID: "s2", Name: "notes", Status: hostview.StatusWaitingForUser}, {ID: "s3", Name: "more", Status: hostview.StatusWaitingForUser}}})
		})},
		{"send_refused", then(connected, func(d *driver) {
			d.host.fail["start"] = &hostview.Error{Code: hostview.CodeOperationConflict, Message: "two providers offer the tool mcp__demo__deploy, and the Host cannot tell which one is meant"}
			d.typing("/call demo/deploy").press("enter")
		})},
	}
}

func dialogScenes() []scene {
	sessions := func(d *driver) {
		d.tell(hostview.Catalog{Sessions: []hostview.Session{
			deploys(),
			{ID: "s2", Name: "notes about the release of the next version", Status: hostview.StatusWaitingForUser, LastUsed: at("09:00:00")},
			{ID: "s3", Name: hostile, Status: "running", Mode: "bypass", LastUsed: at("11:59:30")},
			{ID: "s4", Name: "備考 (メモ)", Status: "blocked", LastUsed: at("01:00:00")},
		}})
	}
	return []scene{
		{"tools", then(connected, func(d *driver) { d.press("ctrl+t") })},
		{"tools_filtered", then(connected, func(d *driver) { d.press("ctrl+t").typing("ne d") })},
		{"tools_no_match", then(connected, func(d *driver) { d.press("ctrl+t").typing("zzz") })},
		{"tools_attached", then(attached, func(d *driver) { d.press("ctrl+t") })},
		{"arguments", then(connected, func(d *driver) { d.press("ctrl+t", "enter") })},
		{"arguments_none", then(connected, func(d *driver) { d.press("ctrl+t", "down", "enter") })},
		{"arguments_raw", then(connected, func(d *driver) { d.press("ctrl+t", "end", "enter") })},
		{"arguments_wrong", then(connected, func(d *driver) { d.press("ctrl+t", "ctrl+r").typing(`"a": }`).press("ctrl+s") })},
		{"sessions", then(connected, func(d *driver) { sessions(d); d.press("ctrl+g", "down") })},
		{"sessions_no_match", then(connected, func(d *driver) { sessions(d); d.press("ctrl+g").typing("zzz") })},
		{"session_new", then(connected, func(d *driver) { d.press("ctrl+g", "ctrl+t").typing("my session") })},
		{"session_remove", then(connected, func(d *driver) { sessions(d); d.press("ctrl+g", "down", "ctrl+x") })},
		{"servers", then(connected, func(d *driver) { d.press("ctrl+r") })},
		{"server_failed", then(connected, func(d *driver) { d.press("ctrl+r", "down") })},
		{"server_restart", then(calling, func(d *driver) { d.press("ctrl+r", "r") })},
		{"servers_attached", then(attached, func(d *driver) { d.press("ctrl+r") })},
		{"host", then(connected, func(d *driver) { d.press("ctrl+o") })},
		{"host_foreign", then(bypassed, func(d *driver) { d.press("ctrl+o") })},
		{"host_lost", then(connected, func(d *driver) { lost(d); d.press("ctrl+o") })},
		{"log", then(connected, func(d *driver) {
			for i := range 70 {
				d.tell(hostview.Logged{Entry: hostview.LogEntry{Time: at("12:00:00").Add(time.Duration(i) * time.Second), Level: "INFO", Text: fmt.Sprintf("line %d of the log, which says something that is a little longer", i)}})
			}
			d.tell(hostview.Logged{Entry: hostview.LogEntry{Time: at("12:02:00"), Level: "WARN", Text: hostile}})
			d.press("ctrl+y")
		})},
		{"log_empty", then(connected, func(d *driver) { d.press("ctrl+y") })},
		{"help", then(connected, func(d *driver) { d.press("?") })},
		{"help_end", then(connected, func(d *driver) { d.press("f1", "G") })},
		{"quit", then(asking, func(d *driver) { d.press("ctrl+q") })},
		{"quit_attached", then(attachedAsking, func(d *driver) { d.press("ctrl+q") })},
		{"foreign_call", then(bypassed, func(d *driver) { d.typing(`/call demo/deploy {"artifact":"build-42"}`).press("enter") })},
		{"bypass", func(t testing.TB, w, h int) *driver { return foreign(t, w, h, "ask") }},
	}
}

func formScenes() []scene {
	two := func(d *driver) {
		second := deployForm()
		second.Message = "The second one"
		d.tell(hostview.Projection{SessionID: "s1", Turn: turn("waiting_for_user"), Pending: []hostview.Interaction{interaction("i1", "call1", deployForm()), interaction("i2", "call2", second)}})
		d.tick(past)
	}
	ask := func(d *driver, in hostview.Interaction) {
		in.SessionID, in.ID, in.TurnID, in.RunID, in.ToolUseID = "s1", "i1", "t1", "r1", "call1"
		d.tell(hostview.Projection{SessionID: "s1", Turn: turn("waiting_for_user"), Pending: []hostview.Interaction{in}}).tick(past)
	}
	settled := func(d *driver, o hostview.Outcome) {
		d.tell(hostview.Projection{SessionID: "s1", Turn: turn("running")}, hostview.Settled{SessionID: "s1", InteractionID: "i1", Outcome: o})
	}
	return []scene{
		{"form", then(asking, func(*driver) {})},
		{"form_review", then(asking, func(d *driver) { fillDeploy(d) })},
		{"form_stop_again", then(asking, func(d *driver) { d.tick(past).press("ctrl+c") })},
		{"form_stopping", then(asking, func(d *driver) { d.tick(past); d.hold = true; d.press("ctrl+c", "ctrl+c") })},
		{"form_queue", then(asking, two)},
		{"form_queue_second", then(asking, func(d *driver) { two(d); d.press("ctrl+n") })},
		{"form_sending", then(asking, func(d *driver) { fillDeploy(d); d.hold = true; d.press("s") })},
		{"form_refused", then(asking, func(d *driver) {
			fillDeploy(d)
			d.host.fail["answer"] = &hostview.Error{Code: hostview.CodeOperationConflict, Message: `"note": must be longer`}
			d.press("s")
		})},
		{"form_elsewhere", then(asking, func(d *driver) {
			fillDeploy(d)
			settled(d, hostview.Outcome{Status: hostview.StatusAnswered, Answer: hostview.Answer{Kind: hostview.KindForm, Form: forms.Accept(forms.Values{"environment": forms.TextValue("staging"), "confirm": forms.BoolValue(true)})}})
		})},
		{"form_closed", then(asking, func(d *driver) {
			fillDeploy(d)
			settled(d, hostview.Outcome{Status: hostview.StatusClosed, Reason: "provider_disconnected"})
		})},
		{"form_reconnecting", then(asking, func(d *driver) { d.tick(past).press("down", "enter"); lost(d) })},
		{"form_asked_again", then(asking, func(d *driver) {
			fillDeploy(d).press("s")
			ask(d, hostview.Interaction{Kind: hostview.KindForm, Form: deployForm()})
			d.m.queue.entries[0].in.ID = "i1"
		})},
		{"form_hostile", then(calling, func(d *driver) {
			f := deployForm()
			f.Message = hostile + "\ndeploy · demo · via askback on devbox\n! You may enter passwords here."
			f.Requester = forms.Requester{Name: hostile, Source: hostile}
			f.Fields[0].Label, f.Fields[0].Options[1].Label = hostile, "▌ ctrl+s review"
			ask(d, hostview.Interaction{Kind: hostview.KindForm, Form: f})
		})},
		{"question", then(bypassed, func(d *driver) {
			ask(d, hostview.Interaction{Kind: hostview.KindQuestion, Questions: []hostview.Question{
				{Text: "Which database?", Options: []hostview.Choice{{Label: "postgres"}, {Label: "sqlite", Description: "a file"}}},
				{Text: "How many?", Options: []hostview.Choice{{Label: "1"}, {Label: "2"}}},
			}})
		})},
		{"permission", then(bypassed, func(d *driver) {
			ask(d, hostview.Interaction{Kind: hostview.KindPermission, Prompt: "Run `make release` in /srv/app?"})
		})},
		{"boundary", then(bypassed, func(d *driver) {
			ask(d, hostview.Interaction{Kind: hostview.KindBoundary, Boundary: hostview.Boundary{Justification: "The build needs its cache.", Network: true, Entries: []hostview.PathAccess{{Path: "/var/cache/build", Access: "write", Scope: "subtree"}, {Path: "/etc/hosts", Access: "read", Scope: "exact"}}}})
		})},
		{"unknown_question", then(bypassed, func(d *driver) { ask(d, hostview.Interaction{Kind: "riddle"}) })},
	}
}

// TestGoldenThemes keeps the escapes: what a theme does must be seen, and NO_COLOR must still show the cursor
// and the focus.
func TestGoldenThemes(t *testing.T) {
	for _, tc := range []struct {
		name string
		th   func() *theme.Theme
	}{
		{"dark", func() *theme.Theme { return theme.New(theme.Dark) }},
		{"light", func() *theme.Theme { return theme.New(theme.Light) }},
		{"attributes", func() *theme.Theme { return theme.New(theme.Attributes) }},
		{"ascii", func() *theme.Theme { return theme.New(theme.Attributes).WithASCII() }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			lipgloss.SetColorProfile(termenv.ANSI)
			set := func(o *Options) { o.Theme = tc.th() }
			var b strings.Builder
			for _, d := range []*driver{
				calling(t, 60, 14, set).typing("hello"),
				calling(t, 60, 14, set).press("tab"),
				connected(t, 60, 14, set).press("ctrl+t"),
				asking(t, 60, 14, set),
				asking(t, 60, 14, set).press("ctrl+q"),
			} {
				fmt.Fprintf(&b, "%s\n===\n", strings.ReplaceAll(d.m.View(), "\x1b", "␛"))
			}
			if tc.name == "ascii" {
				for _, r := range b.String() {
					if r > 0x7f && r != '␛' && r != '·' { // the requester's own
						t.Fatalf("%q is in an ASCII frame", r)
					}
				}
			}
			if tc.name == "attributes" {
				for _, color := range []string{"␛[3", "␛[9", ";3", ";9"} {
					if strings.Contains(b.String(), color) {
						t.Errorf("a colour under NO_COLOR: %q", color)
					}
				}
			}
			golden.RequireEqual(t, []byte(b.String()))
		})
	}
}

func TestGoldenTooSmall(t *testing.T) {
	var b strings.Builder
	for _, size := range [][2]int{{39, 12}, {40, 11}, {20, 5}, {10, 3}, {1, 1}, {200, 2}} {
		d := asking(t, size[0], size[1])
		fmt.Fprintf(&b, "=== %d×%d\n%s\n", size[0], size[1], d.frame())
		d.press("ctrl+c")
		fmt.Fprintf(&b, "--- ctrl+c\n%s\n", d.frame())
	}
	golden.RequireEqual(t, []byte(b.String()))
}
