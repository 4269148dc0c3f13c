package screen

import (
	"strings"
	"testing"

	"askback/internal/inspect"
	"askback/internal/inspect/peer"
)

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
