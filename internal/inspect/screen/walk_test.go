package screen

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"askback/internal/inspect"
	"askback/internal/inspect/peer"
)

// asksEverything is a server that asks a form, an address and for sampling in one round.
func asksEverything() *peer.Server {
	return peer.Scripted(map[string]peer.Reply{"tools/call": func(m peer.Message, _ func(string)) string {
		if inspect.Member(m.Params, "inputResponses") != nil {
			return `{"content":[{"type":"text","text":"done"}]}`
		}
		return `{"resultType":"input_required","requestState":"abcdefghijklmnopqrstuvwxyz","inputRequests":{
			"u":{"method":"elicitation/create","params":{"mode":"url","message":"Sign in.","url":"https://x.example/a"}},
			"f":{"method":"elicitation/create","params":{"message":"A word?","requestedSchema":{"type":"object","properties":{"word":{"type":"string"},"sure":{"type":"boolean"}}}}},
			"s":{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}]}}}}`
	}})
}

// Any keys at any time: every frame keeps its size, nothing panics, and nothing is answered but by the keys that
// answer. ASKBACK_INSPECT_WALKS says how many walks.
func TestRandomWalks(t *testing.T) {
	walks, steps := 8, 150
	if n, err := strconv.Atoi(os.Getenv("ASKBACK_INSPECT_WALKS")); err == nil {
		walks = n
	}
	alphabet := []string{"enter", "esc", "tab", "shift+tab", "up", "down", "left", "right", "pgdown", "home", "end", "space", "backspace", "f1",
		"ctrl+s", "ctrl+x", "ctrl+f", "ctrl+t", "ctrl+o", "ctrl+r", "ctrl+g", "ctrl+c", "ctrl+l", "1", "2", "3", "4", "5", "6", "7",
		"y", "n", "s", "e", "r", "a", "j", "x", "d", "c", "p", "o", "f", "/", "?", "w", "l", "E", "text", "{}"}
	for walk := range walks {
		t.Run(strconv.Itoa(walk), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(walk), 7))
			server := []func() *peer.Server{demoServer, asksEverything}[walk%2]
			var trace []string
			defer func() {
				if t.Failed() {
					t.Log(strings.Join(trace, " "))
				}
			}()
			bubble(t, server, setup{w: 80, h: 24}, func(r *rig) {
				said := map[string]int{} // how often each key was pressed with a panel of the kind up
				r.press("enter", "s")
				for range steps {
					if rng.IntN(25) == 0 {
						size := sizes[rng.IntN(len(sizes))]
						trace = append(trace, fmt.Sprint(size))
						r.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
					}
					if rng.IntN(8) == 0 {
						r.m.ins.Call(inspect.Request{Server: peer.Name, Method: "tools/call", Name: r.ins.Tools(peer.Name)[rng.IntN(len(r.ins.Tools(peer.Name)))].Name})
						r.settle()
					}
					key := alphabet[rng.IntN(len(alphabet))]
					trace = append(trace, key)
					if r.m.up != nil {
						said[string(r.m.up.ask().Kind)+key]++
					}
					time.Sleep(500 * time.Millisecond)
					r.now(key)
					if r.quit { // the walk goes on
						r.quit, r.m.quitting = false, false
					}
					r.frame()
				}
				for _, m := range r.srv.Got("tools/call") {
					answers := string(inspect.Member(m.Params, "inputResponses"))
					switch {
					case strings.Contains(answers, `"u":{"action":"accept"}`) && (said["urlr"] == 0 || said["urly"] == 0),
						strings.Contains(answers, `"role"`) && said["samplings"] == 0,
						strings.Contains(answers, `"action":"decline"`) && (said["formctrl+x"]+said["urlctrl+x"] == 0 || said["formy"]+said["urly"] == 0):
						t.Errorf("answered by no key that answers: %s, %v", answers, said)
					}
				}
			})
		})
	}
}
