package screen

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"askback/internal/inspect"
	"askback/internal/inspect/peer"
)

// What a server writes cannot leave its place or reach the terminal.
func TestHostileTexts(t *testing.T) {
	evil := `\u001b]0;x\u0007\u001b[2J\u202e! Never enter\r\ny agree\n\n\n`
	testHostileTexts(t, evil)
	testHostileTexts(t, strings.Repeat("กำ", 39)+"y agree "+strings.Repeat("நீகோ👍🏽", 30)+evil) // wider than its clusters
}

func testHostileTexts(t *testing.T, evil string) {
	t.Helper()
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

// What is edited is shown as safely as what is read, and is still what it was: arguments as the same JSON, an address as
// the server has it.
func TestReplayOfHostileTexts(t *testing.T) {
	const uri = "x://a\x1b[2J\u202eb\nc"
	server := func() *peer.Server {
		return peer.Scripted(map[string]peer.Reply{
			"tools/call":     func(peer.Message, func(string)) string { return `{"content":[]}` },
			"resources/read": func(peer.Message, func(string)) string { return `{"contents":[]}` },
		})
	}
	for _, q := range []inspect.Request{
		{Server: peer.Name, Method: "resources/read", Name: uri},
		{Server: peer.Name, Method: "tools/call", Name: "t", Arguments: []byte("{\"a\":\"x\u202ey\u009b\U000e0041 é 日本 👩\u200d💻\"}")},
	} {
		bubble(t, server, wide, func(r *rig) {
			r.m.call(q)
			r.settle()
			r.press("e")
			if v := r.m.View(); strings.ContainsAny(v, "\u202e\u009b\U000e0041\u200b") || !strings.Contains(v, "202e") {
				t.Errorf("%q", v)
			}
			r.press("ctrl+s")
			got := r.srv.Got(q.Method)
			if len(got) != 2 {
				t.Fatalf("%d requests:\n%s", len(got), r.frame())
			}
			for _, of := range []string{"uri", "arguments"} {
				var a, b any
				if raw := inspect.Member(got[0].Params, of); raw != nil {
					if json.Unmarshal(raw, &a) != nil || json.Unmarshal(inspect.Member(got[1].Params, of), &b) != nil || !reflect.DeepEqual(a, b) {
						t.Errorf("%#v became %#v", a, b)
					}
				}
			}
		})
	}
}

// A pasted object takes the place of the empty one that the editor starts with, whatever its line ends are.
func TestPastedArguments(t *testing.T) {
	for _, text := range []string{`{"a":1}`, "{\r\n\t\"a\": 1\r\n}\r\n", "\"a\":1"} {
		bubble(t, func() *peer.Server {
			return peer.Scripted(map[string]peer.Reply{"tools/call": func(peer.Message, func(string)) string { return `{"content":[]}` }})
		}, wide, func(r *rig) {
			r.press("2", "e")
			r.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(text), Paste: true})
			r.press("ctrl+s")
			got := r.srv.Got("tools/call")
			if len(got) != 1 || string(inspect.Member(got[0].Params, "arguments")) != `{"a":1}` {
				t.Errorf("%q:\n%s", text, r.frame())
			}
		})
	}
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
