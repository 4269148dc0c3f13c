package screen

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"askback/internal/inspect"
	"askback/internal/inspect/peer"
	"askback/mcpmgr"
	"askback/mcpmgr/config"
)

var wide = setup{w: 80, h: 24}

// A panel that opens by itself ignores keys for a moment, and rings once.
func TestPanelIgnoresWhatWasTypedForSomethingElse(t *testing.T) {
	bubble(t, demoServer, wide, func(r *rig) {
		r.tool("mrtr_confirm")
		for _, k := range []string{"y", "s", "y", "s"} {
			r.now(k)
		}
		r.wants("no answer yet")
		if len(r.srv.Got("tools/call")) != 1 || r.bells != 1 {
			t.Errorf("%d requests, %d bells", len(r.srv.Got("tools/call")), r.bells)
		}
	})
}

// The note is there exactly where the answer goes back as a retry.
func TestOriginNote(t *testing.T) {
	for _, c := range []struct {
		options func(*inspect.Options)
		tool    string
		note    bool
	}{
		{nil, "mrtr_confirm", true}, {nil, "mrtr_sample", true},
		{legacy, "mrtr_confirm", false}, {legacy, "mrtr_sample", false},
	} {
		for _, s := range sizes {
			bubble(t, demoServer, setup{w: s[0], h: s[1], options: c.options}, func(r *rig) {
				r.tool(c.tool)
				f := strings.Join(strings.Fields(r.frame()), " ")
				if strings.Contains(f, inspect.OriginNote) != c.note || strings.Contains(f, "input_required") != c.note {
					t.Errorf("%s, note %v:\n%s", c.tool, c.note, r.frame())
				}
			})
		}
	}
}

func TestAbortFromThePanel(t *testing.T) {
	for _, tool := range []string{"mrtr_confirm", "mrtr_sample"} {
		bubble(t, demoServer, wide, func(r *rig) {
			r.tool(tool)
			before := r.sent()
			r.press("ctrl+c")
			r.wants("again to abort the call")
			time.Sleep(3 * time.Second) // too late to count
			r.press("ctrl+c")
			if len(r.m.panels) != 1 {
				t.Fatal("one key has aborted the call")
			}
			r.press("ctrl+c")
			r.wants("the call was aborted")
			time.Sleep(10 * time.Second)
			r.settle()
			if after := r.sent(); after != before || len(r.m.panels) != 0 {
				t.Errorf("%s\n%s", before, after)
			}
		})
	}
}

func TestAbortDuringALeg(t *testing.T) {
	bubble(t, demoServer, wide, func(r *rig) {
		r.m.call(inspect.Request{Server: peer.Name, Method: "tools/call", Name: "slow", Arguments: []byte(`{"steps":50,"every":1000}`)})
		time.Sleep(2500 * time.Millisecond)
		r.settle()
		r.wants("leg 1 on the wire · 2/50 step 3 of 50")
		r.press("x")
		r.wants("Abort slow?")
		r.press("y")
		cs := r.srv.Got("notifications/cancelled")
		if len(cs) != 1 || string(inspect.Member(cs[0].Params, "requestId")) != string(r.srv.Got("tools/call")[0].ID) {
			t.Errorf("%v", cs)
		}
		r.wants("sent     notifications/cancelled", "ended: the call was aborted")
	})
}

// SE-05, SE-07, ML-26: nothing is opened before y, y opens without answering, and accept is sent by r alone.
func TestAddressPanel(t *testing.T) {
	dir := t.TempDir()
	script, out := filepath.Join(dir, "browser"), filepath.Join(dir, "out")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nprintf '%s\\n' \"$@\" >> "+out+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	ran := func() string { b, _ := os.ReadFile(out); return string(b) }
	const address = "https://accounts.example.com@xn--80ak6aa92e.com/login"
	server := func() *peer.Server { return asksURL(address) }
	t.Run("ML-26/opened by the browser", func(t *testing.T) {
		// A child process is none of the bubble's business: what it does is waited for outside of its clock.
		bubble(t, server, setup{w: 80, h: 24, screen: func(o *Options) { o.Browser = inspect.Browser(script) }}, func(r *rig) {
			r.tool("t")
			r.wants(address, "xn--80ak6aa92e.com", "! what stands before the @", "! the host holds letters", "nothing is opened yet", inspect.OriginNote)
			for _, k := range []string{"r", "o", "enter", "s", "space"} {
				r.press(k)
			}
			if ran() != "" || len(r.srv.Got("tools/call")) != 1 {
				t.Fatalf("%q before the consent", ran())
			}
			r.press("y")
			r.wants("opened by $BROWSER", "I am done: retry")
			if got := ran(); got != address+"\n" || len(r.srv.Got("tools/call")) != 1 {
				t.Fatalf("%q, %d requests", got, len(r.srv.Got("tools/call")))
			}
			r.press("y", "enter")
			if got := ran(); got != address+"\n" {
				t.Fatalf("opened again: %q", got)
			}
			r.press("r")
			legs := r.srv.Got("tools/call")
			if len(legs) != 2 || string(inspect.Member(legs[1].Params, "inputResponses")) != `{"k":{"action":"accept"}}` {
				t.Errorf("%d legs", len(legs))
			}
			r.wants("signed in")
		})
	})
	t.Run("SE-07/no browser", func(t *testing.T) {
		for _, b := range []inspect.Browser{"", "false", "/does/not/exist"} {
			bubble(t, server, setup{w: 80, h: 24, screen: func(o *Options) { o.Browser = b }}, func(r *rig) {
				r.tool("t")
				r.press("y")
				r.wants("copy the address and open it yourself")
				if len(r.srv.Got("tools/call")) != 1 || r.clip != "" {
					t.Fatal("an answer was sent, or the clipboard set, without the person")
				}
				r.press("c")
				if r.clip != address {
					t.Errorf("copied %q", r.clip)
				}
				r.press("r")
				r.wants("signed in")
			})
		}
	})
	t.Run("SE-05/declined and dismissed", func(t *testing.T) {
		for key, action := range map[string]string{"ctrl+x": "decline", "esc": "cancel"} {
			bubble(t, server, wide, func(r *rig) {
				r.tool("t")
				r.press(key)
				if len(r.srv.Got("tools/call")) != 1 {
					t.Fatal("not asked once more")
				}
				r.press("n", key, "y")
				legs := r.srv.Got("tools/call")
				if got := string(inspect.Member(legs[1].Params, "inputResponses")); got != `{"k":{"action":"`+action+`"}}` {
					t.Error(got)
				}
			})
		}
	})
	t.Run("SE-06/http to elsewhere", func(t *testing.T) {
		bubble(t, func() *peer.Server { return asksURL("http://x.example/a") }, setup{w: 80, h: 24, screen: func(o *Options) { o.Browser = inspect.Browser(script) }}, func(r *rig) {
			before := ran()
			r.tool("t")
			r.press("y", "o", "r", "y")
			if len(r.srv.Got("tools/call")) != 1 || ran() != before {
				t.Error("an address was opened or accepted that must not be")
			}
			r.wants("not opened from here")
			r.press("ctrl+x", "y")
			r.wants("signed in")
		})
	})
	t.Run("SE-05/all of it is read before the consent counts", func(t *testing.T) {
		bubble(t, func() *peer.Server { return asksURL("https://x.example/" + strings.Repeat("a", 900)) }, setup{w: 40, h: 12}, func(r *rig) {
			r.tool("t")
			r.press("y")
			r.wantsNot("open it yourself")
			for range 8 {
				r.press("y")
			}
			r.wants("copy the address")
		})
	})
}

// Several calls wait at once; each panel goes to its own call.
func TestSeveralPanels(t *testing.T) {
	bubble(t, demoServer, wide, func(r *rig) {
		r.tool("mrtr_confirm")
		r.press("ctrl+f")
		r.tool("mrtr_two_step")
		r.press("ctrl+f")
		r.tool("mrtr_sample")
		r.wants("What is the capital")
		r.press("ctrl+f")
		r.wants("3 questions wait")
		r.press("5")
		r.wants("mrtr_confirm  waits for you: form", "mrtr_two_step  waits for you: form", "mrtr_sample  waits for you: sampling")
		r.press("home", "down", "f")
		r.wants("Step 1 of 2")
		r.press("word", "ctrl+s", "s")
		r.wants("Please confirm.") // what waits longest comes next
		r.press("y", "s")
		r.wants("What is the capital")
		r.press("ctrl+x", "y")
		r.wants("Step 2 of 2")
		r.press("ctrl+s", "s", "5")
		r.wants("mrtr_confirm  done", "mrtr_two_step  done", "mrtr_sample  ended: the sampling request was rejected")
	})
}

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

// What a server writes cannot leave its place or reach the terminal.
func TestHostileTexts(t *testing.T) {
	evil := `\u001b]0;x\u0007\u001b[2J\u202e! Never enter\r\ny agree\n\n\n`
	server := func() *peer.Server {
		return peer.Scripted(map[string]peer.Reply{
			"server/discover": func(peer.Message, func(string)) string {
				return `{"resultType":"complete","supportedVersions":["2026-07-28"],"instructions":"` + evil + `","capabilities":{"tools":{},"prompts":{},"resources":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"` + evil + `","version":"` + evil + `"}}}`
			},
			"tools/list": func(peer.Message, func(string)) string {
				return `{"resultType":"complete","tools":[{"name":"t","title":"` + evil + `","description":"` + evil + `","inputSchema":{"type":"object"}}]}`
			},
			"prompts/list": func(peer.Message, func(string)) string {
				return `{"resultType":"complete","prompts":[{"name":"p` + evil + `","description":"` + evil + `","arguments":[{"name":"a` + evil + `","description":"` + evil + `"}]}]}`
			},
			"resources/list": func(peer.Message, func(string)) string {
				return `{"resultType":"complete","resources":[{"uri":"x://` + evil + `","name":"` + evil + `"}]}`
			},
			"tools/call": func(m peer.Message, _ func(string)) string {
				if inspect.Member(m.Params, "inputResponses") != nil {
					return `{"content":[{"type":"text","text":"` + evil + `"}]}`
				}
				return `{"resultType":"input_required","inputRequests":{"` + evil + `":{"method":"sampling/createMessage","params":{"systemPrompt":"` + evil + `","messages":[{"role":"` + evil + `","content":{"type":"text","text":"` + evil + `"}}]}},"u":{"method":"elicitation/create","params":{"mode":"url","message":"` + evil + `","url":"https://x.example/"}}}}`
			},
		})
	}
	for _, s := range sizes {
		bubble(t, server, setup{w: s[0], h: s[1]}, func(r *rig) {
			check := func() {
				t.Helper()
				v := r.m.View()
				if strings.ContainsAny(v, "\a\r\u202e") || strings.Contains(v, "\x1b]") || strings.Contains(v, "\x1b[2J") {
					t.Fatalf("%q", v)
				}
				for _, row := range strings.Split(r.frame(), "\n") {
					if strings.HasPrefix(row, "y agree") && !strings.Contains(row, "y agree and open") {
						t.Fatalf("a row of the server's own:\n%s", r.frame())
					}
				}
			}
			for _, k := range []string{"1", "enter", "esc", "2", "d", "end", "3", "d", "esc", "enter", "esc", "4", "d", "5", "6", "7"} {
				r.press(k)
				check()
			}
			r.tool("t")
			check()
			r.press("a", "x", "ctrl+s", "s")
			check()
			r.press("pgdown", "pgdown", "y", "r")
			check()
			r.press("enter")
			check()
			r.press("esc", "5", "6", "enter")
			check()
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

func TestRootsAreSaid(t *testing.T) {
	bubble(t, demoServer, setup{w: 80, h: 24, options: func(o *inspect.Options) { o.Servers[0].Roots = []config.Root{{URI: "file:///srv/a"}} }}, func(r *rig) {
		r.press("1", "enter")
		r.wants("file:///srv/a")
		r.tool("mrtr_roots")
		r.wants(`answered roots: {"roots":[{"uri":"file:///srv/a"}]}`, `1 roots ["file:///srv/a"]`)
	})
}

// An authorization is shown as an address is; the page answers by itself, and the person may give it up.
func TestAuthorizationPanel(t *testing.T) {
	bubble(t, demoServer, wide, func(r *rig) {
		r.press("1", "a")
		r.wants("is a local process, which takes no authorization")
		show := func() (visit, *bool) {
			gave := false
			v := visit{peer.Name, "https://auth.example/authorize?x=1", make(chan error, 1), func() { gave = true }}
			r.send(v)
			return v, &gave
		}
		v, gave := show()
		r.wants("auth.example", "nothing is opened yet", "authorization")
		r.wantsNot(inspect.OriginNote, "decline")
		r.press("r", "o", "ctrl+x")
		r.press("n")
		if len(v.agreed) != 0 {
			t.Fatal("agreed to without y")
		}
		r.press("y")
		if err := <-v.agreed; err != nil || *gave {
			t.Error(err, *gave)
		}
		r.wants("open it yourself")
		r.send(authorized{peer.Name, nil})
		r.wants("demo is authorized")
		_, gave = show()
		r.press("esc", "y")
		if !*gave {
			t.Error("not given up")
		}
		r.send(authorized{peer.Name, errGivenUp})
		r.wants("the authorization was given up")
		if len(r.m.panels) != 0 {
			t.Error("the panel stays")
		}
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

// The text of a requestState, and what a server reflects of it, is in no view and on no clipboard.
func TestStateIsInNoView(t *testing.T) {
	const state = "STATE-0123456789-abcdefghij"
	n := 0
	server := func() *peer.Server {
		return peer.Scripted(map[string]peer.Reply{"tools/call": func(m peer.Message, send func(string)) string {
			if n++; n == 1 {
				return `{"resultType":"input_required","requestState":"` + state + `","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}}}`
			}
			send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"the state was ` + state + `"}}`)
			return `{"content":[{"type":"text","text":"you sent ` + state + ` back"}],"structuredContent":{"` + state + `":1}}`
		}})
	}
	bubble(t, server, setup{w: 200, h: 60}, func(r *rig) {
		check := func() {
			t.Helper()
			for _, s := range []string{r.frame(), r.clip} {
				if strings.Contains(s, "STATE-0123") {
					t.Fatal(s)
				}
			}
		}
		r.tool("t")
		check()
		r.press("s")
		r.wants("you sent [redacted] back", "27 bytes, echoed exactly")
		r.press("c")
		check()
		r.press("d", "c")
		check()
		r.press("6", "home")
		for range len(r.m.log.Messages) {
			r.press("enter", "c")
			check()
			r.press("esc", "down")
			check()
		}
		for _, k := range []string{"5", "7", "enter"} {
			r.press(k)
			check()
		}
		if got := string(inspect.Member(r.srv.Got("tools/call")[1].Params, "requestState")); got != `"`+state+`"` {
			t.Error(got)
		}
	})
}
