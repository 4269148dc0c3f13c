package screen

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"askback/internal/inspect"
	"askback/internal/inspect/peer"
	"askback/mcpmgr"
	"askback/mcpmgr/config"
	"askback/tui/kit"
)

func TestReplayWithEditedArguments(t *testing.T) {
	bubble(t, demoServer, wide, func(r *rig) {
		r.m.call(inspect.Request{Server: peer.Name, Method: "tools/call", Name: "plain", Arguments: []byte(`{"text":"one"}`)})
		r.settle()
		r.wants("result   │ one")
		r.press("e")
		r.wants(`"text": "one"`)
		r.press("up", "end", "left", "two", "ctrl+s")
		r.wants("result   │ onetwo")
		got := r.srv.Got("tools/call")
		if len(got) != 2 || string(inspect.Member(got[1].Params, "arguments")) != `{"text":"onetwo"}` {
			t.Errorf("%s", got[1].Params)
		}
		r.press("5")
		if n := len(r.m.log.Conversations); n != 2 {
			t.Error(n)
		}
	})
}

func TestExportFromTheScreen(t *testing.T) {
	bubble(t, demoServer, wide, func(r *rig) {
		r.tool("mrtr_two_step")
		r.press("marker-one", "ctrl+s", "s", "ctrl+s", "s")
		r.press("6", "/", "method:tools/call", "enter", "E")
		r.wants("exported to")
		files, err := filepath.Glob(filepath.Join(r.m.opt.Folder, "*.jsonl"))
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		info, err := os.Stat(files[0])
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Error(info.Mode(), err)
		}
		b, err := os.ReadFile(files[0])
		if err != nil || strings.Contains(string(b), "marker-one") || strings.Count(string(b), "\n") != 6 {
			t.Errorf("%v\n%s", err, b)
		}
	})
}

// Of the list of calls those that fit the filter are exported, of a call its own messages, a legacy server's requests
// among them.
func TestExportOfCalls(t *testing.T) {
	for name, options := range map[string]func(*inspect.Options){"modern": nil, "legacy": legacy} {
		t.Run(name, func(t *testing.T) {
			bubble(t, demoServer, setup{w: 80, h: 24, options: options}, func(r *rig) {
				exported := func() string {
					time.Sleep(time.Second) // the name is the time
					r.press("E")
					r.wants("exported to")
					files, _ := filepath.Glob(filepath.Join(r.m.opt.Folder, "*.jsonl"))
					if len(files) != 1 {
						t.Fatal(files)
					}
					b, err := os.ReadFile(files[0])
					if err != nil || os.Remove(files[0]) != nil {
						t.Fatal(err)
					}
					return string(b)
				}
				r.m.call(inspect.Request{Server: peer.Name, Method: "tools/call", Name: "plain", Arguments: []byte("{}")})
				r.settle()
				r.tool("mrtr_confirm")
				r.press("y", "s")
				if got := exported(); strings.Count(got, "\n") != 4 || !strings.Contains(got, "mrtr_confirm") || strings.Contains(got, "plain") {
					t.Errorf("of the call:\n%s", got)
				}
				r.press("5", "/", "plain", "enter")
				if got := exported(); strings.Count(got, "\n") != 2 || !strings.Contains(got, "plain") {
					t.Errorf("of the calls that fit:\n%s", got)
				}
				r.press("esc")
				if got := exported(); !strings.Contains(got, "tools/list") {
					t.Errorf("of all:\n%s", got)
				}
			})
		})
	}
}

func TestSearchAndCopy(t *testing.T) {
	bubble(t, demoServer, wide, func(r *rig) {
		r.tool("mrtr_confirm")
		r.press("y", "s")
		r.press("6", "/", "id:"+string(r.srv.Got("tools/call")[1].ID)+" sent", "enter", "enter")
		r.wants("echoed exactly")
		r.press("/", "requeststate", "enter")
		r.wants(`"requestState": "[58 bytes]"`)
		r.press("/", "n0where", "enter")
		r.wants("not found")
		r.press("c")
		state := string(inspect.Member(r.srv.Got("tools/call")[1].Params, "requestState"))
		if !strings.Contains(r.clip, `"[58 bytes]"`) || len(state) < 20 || strings.Contains(r.clip, strings.Trim(state, `"`)) {
			t.Errorf("%s", r.clip)
		}
		r.press("d")
		r.wants("leg 2 against leg 1", `+     "requestState": "[58 bytes]"`)
	})
}

// ctrl+c twice aborts a call on its own page as it does in its panel. One that was meant for something else does not
// count, and when the call has ended it goes back.
func TestAbortOnThePageOfACall(t *testing.T) {
	for _, s := range sizes {
		bubble(t, slow, setup{w: s[0], h: s[1]}, func(r *rig) {
			cancelled := func() int { return len(r.srv.Got("notifications/cancelled")) }
			r.press("ctrl+c")
			r.wants("again to leave")
			r.m.call(inspect.Request{Server: peer.Name, Method: "tools/call", Name: "t"})
			r.settle()
			r.now("ctrl+c")
			r.wants("again to abort the call", "tools/call t", "c abort")
			time.Sleep(again)
			r.press("ctrl+c")
			r.wants("again to abort the call")
			if cancelled() != 0 {
				t.Fatal("aborted by one key")
			}
			r.press("ctrl+c")
			if got := r.m.outcome(r.conversation().Run); got != "ended: the call was aborted" || cancelled() != 1 {
				t.Errorf("%s, %d cancellations", got, cancelled())
			}
			r.wantsNot("c abort")
			r.press("ctrl+c")
			if r.wantsNot("tools/call t"); r.quit || r.m.top() != nil {
				t.Error("not back")
			}
		})
	}
}

// On every screen the list of messages has the time of each, its direction, id, method and size.
func TestMessagesHaveTheirTimes(t *testing.T) {
	for _, s := range sizes {
		bubble(t, demoServer, setup{w: s[0], h: s[1]}, func(r *rig) {
			r.tool("mrtr_confirm")
			r.press("ctrl+f", "6", "/", "method:tools/call", "enter")
			for _, msg := range r.m.log.Messages {
				if msg.Method != "tools/call" {
					continue
				}
				want := regexp.MustCompile(msg.Time.Format("04:05") + `\S* [←→] ` + msg.ID + ` .*tools/call.* ` + size(msg.Size))
				if !want.MatchString(r.frame()) {
					t.Errorf("%v: no %s on\n%s", s, want, r.frame())
				}
			}
		})
	}
}

// A variable of a template that may be left out says so, and one that may not is asked for.
func TestTemplateArguments(t *testing.T) {
	for _, s := range sizes {
		bubble(t, slow, setup{w: s[0], h: s[1]}, func(r *rig) {
			item := inspect.ReadItem(json.RawMessage(`{"name":"t","uriTemplate":"x://t/{id}{?q}"}`))
			r.m.push(newTextArgs(inspect.Request{Server: peer.Name, Method: "resources/read"}, item))
			r.wants("id (required)", "q (optional)")
			r.press("ctrl+s")
			r.wants("id is required")
			r.press("7", "ctrl+s")
			if got := r.conversation().Name; got != "x://t/7" {
				t.Errorf("%s was read", got)
			}
		})
	}
}

// Arguments that were typed stay until they are sent, however they are typed and left.
func TestArgumentsAreKept(t *testing.T) {
	for _, leave := range []string{"esc", "ctrl+c"} {
		for name, open := range map[string][]string{
			"a form": {"2", "/", "plain", "enter", "enter"}, "JSON": {"2", "/", "plain", "enter", "e"}, "a prompt": {"3", "home", "enter"},
			"a prompt as JSON": {"3", "home", "e"}, "a template": {"4", "end", "enter"}, "a call again": {"5", "home", "e"},
		} {
			bubble(t, demoServer, wide, func(r *rig) {
				r.m.call(inspect.Request{Server: peer.Name, Method: "tools/call", Name: "plain"})
				r.settle()
				typed := "some text"
				if strings.Contains(name, "JSON") || name == "a call again" {
					typed = `"text":"some text"`
				}
				r.press(open...)
				r.press(leave)
				r.wantsNot(argsKept)
				r.press(open[len(open)-1], typed, leave)
				r.wants(argsKept)
				r.press(open[len(open)-1])
				r.wants("some text")
				r.press("f1", "1") // another list, over the help and the page
				r.press(open[0], open[len(open)-1])
				r.wants("some text")
				before := len(r.m.log.Conversations)
				if r.press("ctrl+s"); name == "a form" {
					r.press("s")
				}
				if n := len(r.m.log.Conversations); n != before+1 || len(r.m.unsent) != 0 {
					t.Errorf("%s, %s: %d calls, %d drafts\n%s", name, leave, n, len(r.m.unsent), r.frame())
				}
				if r.m.up != nil { // what the call asks
					r.press("ctrl+f")
				}
				at := "home"
				if name == "a template" {
					at = "end"
				}
				r.press(open[0], at, open[len(open)-1])
				if _, ok := r.m.top().(argsPage); !ok {
					t.Errorf("%s: no page for arguments\n%s", name, r.frame())
				}
				r.wantsNot("some text", "as you left it")
			})
		}
	}
	bubble(t, demoServer, wide, func(r *rig) { // a tool that asks for something else by now is asked for that
		tool := mcpmgr.Tool{Server: peer.Name, Name: "t", InputSchema: []byte(`{"type":"object","properties":{"a":{"type":"string"}}}`)}
		r.m.askTool(tool)
		r.press("some text", "esc")
		tool.InputSchema = []byte(`{"type":"object","properties":{"a":{"type":"integer"}}}`)
		r.m.askTool(tool)
		r.wantsNot("some text", "as you left it")
	})
}

// TM-09: the enter that confirms what an input method commits sends nothing; the person's own does.
func TestComposedArgumentIsNotSent(t *testing.T) {
	bubble(t, demoServer, wide, func(r *rig) {
		r.m.ask(newTextArgs(inspect.Request{Server: peer.Name, Method: "prompts/get", Name: "briefing"}, inspect.Item{Name: "briefing", Arguments: []inspect.Argument{{Name: "topic"}}}))
		r.now("日本語")
		r.now("enter")
		if r.wants("日本語", "composed text"); len(r.m.log.Conversations) != 0 {
			t.Error("sent half of it")
		}
		if r.press("enter"); len(r.m.log.Conversations) != 1 {
			t.Errorf("not sent\n%s", r.frame())
		}
	})
}

// What a server suggests belongs to the argument that it was asked for, and to nothing that is typed since.
func TestSuggestionsComeLate(t *testing.T) {
	item := func(name string) inspect.Item {
		return inspect.Item{Name: name, Arguments: []inspect.Argument{{Name: "first"}, {Name: "second"}}}
	}
	for name, meanwhile := range map[string][]string{"another argument": {"tab"}, "typing on": {"x"}, "another prompt": {"esc"}} {
		bubble(t, demoServer, wide, func(r *rig) {
			p := newTextArgs(inspect.Request{Server: peer.Name, Method: "prompts/get", Name: "one"}, item("one"))
			r.m.ask(p)
			_ = p.complete(r.m)
			late := completed{p, p.asked, []string{"suggested"}, nil}
			r.press(meanwhile...)
			if name == "another prompt" {
				other := newTextArgs(inspect.Request{Server: peer.Name, Method: "prompts/get", Name: "two"}, item("two"))
				r.m.ask(other)
				_ = other.complete(r.m)
			}
			r.send(late)
			if r.wantsNot("suggested"); name == "typing on" && p.waiting {
				t.Error("still waits")
			}
		})
	}
	bubble(t, demoServer, wide, func(r *rig) { // under the help
		p := newTextArgs(inspect.Request{Server: peer.Name, Method: "prompts/get", Name: "one"}, item("one"))
		r.m.ask(p)
		_ = p.complete(r.m)
		r.press("f1")
		r.send(completed{p, p.asked, []string{"suggested"}, nil})
		r.press("esc")
		r.wants("suggested")
		r.wantsNot("asking the server")
	})
}

func TestLeaving(t *testing.T) {
	bubble(t, demoServer, wide, func(r *rig) {
		r.tool("mrtr_confirm")
		before := r.sent()
		r.press("ctrl+q")
		r.wants("Leaving aborts 1 call that is open")
		r.now("y") // at once it is ignored
		r.press("n", "ctrl+q", "y")
		if !r.quit || r.sent() != before {
			t.Error(r.quit, r.sent())
		}
	})
	bubble(t, demoServer, wide, func(r *rig) {
		r.press("q")
		if !r.quit {
			t.Error("nothing is open, and it asks")
		}
	})
	bubble(t, demoServer, setup{w: 30, h: 8}, func(r *rig) {
		r.wants("too small")
		r.m.notice = "lost: \x1b[2J\u202e"
		if r.wants(`lost: \x1b[2J\u{202e}`); strings.Contains(r.m.View(), "\x1b[2J") {
			t.Errorf("%q", r.m.View())
		}
		r.press("q", "ctrl+c")
		if r.quit {
			t.Error("left by one key")
		}
		r.press("ctrl+c")
		if !r.quit {
			t.Error("there is no way out")
		}
	})
}

// A log level, log messages and change notices, as they come.
func TestNews(t *testing.T) {
	server := func() *peer.Server {
		return peer.Scripted(map[string]peer.Reply{"tools/call": func(m peer.Message, send func(string)) string {
			send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","logger":"db","data":{"slow":"query"}}}`)
			return `{"content":[]}`
		}})
	}
	bubble(t, server, wide, func(r *rig) {
		r.press("7", "l", "down", "down", "enter")
		r.wants("sends log messages from info on")
		r.tool("t")
		if got := string(inspect.Member(inspect.Member(r.srv.Got("tools/call")[0].Params, "_meta"), "io.modelcontextprotocol/logLevel")); got != `"info"` {
			t.Error(got)
		}
		r.press("7")
		r.wants(`[warning] db {"slow":"query"}`)
	})
}

// A server that fails says why, and connects anew.
func TestFailedServer(t *testing.T) {
	bubble(t, demoServer, wide, func(r *rig) {
		r.press("1", "r", "y")
		time.Sleep(2 * time.Second)
		r.settle()
		if st := r.m.status[peer.Name]; st.State != mcpmgr.StateReady || st.Generation < 2 {
			t.Errorf("%+v", st)
		}
		r.tool("mrtr_confirm")
		r.wants("Please confirm.")
	})
}

// ? is help wherever it is not text, and text wherever text is typed.
func TestQuestionMark(t *testing.T) {
	bubble(t, demoServer, wide, func(r *rig) {
		r.tool("mrtr_roots")
		for _, open := range [][]string{{}, {"enter"}, {"esc", "1"}, {"enter"}, {"esc", "l"}, {"esc", "2", "d"}} {
			r.press(open...)
			before := r.frame()
			r.press("?")
			r.wants("everywhere")
			r.press("?")
			if r.frame() != before {
				t.Errorf("after the help:\n%s", r.frame())
			}
		}
		r.press("esc", "e", "?")
		r.wantsNot("everywhere")
		r.press("esc", "/", "?")
		r.wants("/ ?")
	})
}

// Resizing in every state keeps the frame's size; the draft stays.
func TestResize(t *testing.T) {
	bubble(t, demoServer, wide, func(r *rig) {
		r.tool("mrtr_two_step")
		r.press("draft")
		for _, s := range [][2]int{{40, 12}, {200, 60}, {20, 5}, {40, 13}, {80, 24}} {
			r.send(tea.WindowSizeMsg{Width: s[0], Height: s[1]})
			r.frame()
		}
		r.wants("draft")
	})
}

// A terminal that tells no size gets a screen of the usual one, each row of it whole.
func TestTerminalWithoutSize(t *testing.T) {
	bubble(t, demoServer, setup{w: 80, h: 24}, func(r *rig) {
		want := r.frame()
		r.send(tea.WindowSizeMsg{})
		rows := strings.Split(r.m.View(), "\n")
		for i, row := range rows {
			if kit.Width(row) != 80 {
				t.Errorf("row %d has %d cells: %q", i+1, kit.Width(row), row)
			}
			rows[i] = strings.TrimRight(ansi.Strip(row), " ")
		}
		if got := strings.Join(rows, "\n"); got != strings.TrimRight(want, "\n") {
			t.Errorf("drawn\n%s\nwant\n%s", got, want)
		}
	})
}

func TestRootsAreSaid(t *testing.T) {
	bubble(t, demoServer, setup{w: 80, h: 24, options: func(o *inspect.Options) { o.Servers[0].Roots = []config.Root{{URI: "file:///srv/a"}} }}, func(r *rig) {
		r.press("1", "enter")
		r.wants("file:///srv/a")
		r.tool("mrtr_roots")
		r.wants(`answered roots: {"roots":[{"uri":"file:///srv/a"}]}`, `1 roots ["file:///srv/a"]`)
	})
}

// Updates of a watched resource and changed lists are told as they come, and lists that were shown are asked for again.
func TestWatchedResourcesAndChangedLists(t *testing.T) {
	note := func(send func(string), id, method, more string) {
		send(`{"jsonrpc":"2.0","method":"` + method + `","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + id + `}` + more + `}}`)
	}
	lists, change := 0, func() {}
	server := func() *peer.Server {
		return peer.Scripted(map[string]peer.Reply{
			"server/discover": func(peer.Message, func(string)) string {
				return `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true}}}`
			},
			"resources/list": func(peer.Message, func(string)) string {
				lists++
				return `{"resultType":"complete","resources":[{"uri":"x://a","name":"version ` + strings.Repeat("I", lists) + `"}]}`
			},
			"subscriptions/listen": func(m peer.Message, send func(string)) string {
				wants := inspect.Member(m.Params, "notifications")
				note(send, string(m.ID), "notifications/subscriptions/acknowledged", `,"notifications":`+string(wants))
				if inspect.Member(wants, "resourceSubscriptions") != nil {
					note(send, string(m.ID), "notifications/resources/updated", `,"uri":"x://a"`)
				} else {
					change = func() { note(send, string(m.ID), "notifications/resources/list_changed", "") }
				}
				return ""
			},
		})
	}
	bubble(t, server, wide, func(r *rig) {
		r.press("4")
		r.wants("x://a", "version I")
		r.press("w")
		r.wants("watched", "updates of x://a are told under 7 news")
		change()
		r.settle()
		r.wants("version II")
		r.press("7")
		r.wants("updated: x://a", "changed: resources")
		r.press("4", "w")
		r.wantsNot("watched")
	})
}

// Calls of several servers are kept apart, though each counts its own.
func TestSeveralServers(t *testing.T) {
	bubble(t, demoServer, setup{w: 100, h: 30, options: func(o *inspect.Options) {
		s := o.Servers[0]
		s.Name, s.Protocol = "old", config.Legacy
		o.Servers = append(o.Servers, s)
		o.Transports["old"] = o.Transports[peer.Name]
	}}, func(r *rig) {
		r.wants("2 of 2 servers ready", "demo/mrtr_confirm")
		r.press("1")
		r.wants("demo  modern 2026-07-28", "old  legacy 2025-11-25")
		for _, s := range []string{"demo", "old"} {
			r.press("2", "/", s+"/mrtr_confirm", "enter", "enter", "s")
			r.wants("Please confirm.")
			r.press("ctrl+f")
			r.press("esc", "2", "esc")
		}
		r.press("5")
		r.wants("demo/mrtr_confirm  waits for you", "old/mrtr_confirm")
		r.press("ctrl+f", "y", "s", "y", "s", "5")
		r.wants("demo/mrtr_confirm  done · 2 legs", "old/mrtr_confirm  done · 1 leg")
	})
}
