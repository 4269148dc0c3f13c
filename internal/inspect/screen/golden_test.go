package screen

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/exp/golden"

	"askback/internal/inspect"
	"askback/internal/inspect/peer"
	"askback/mcpmgr/config"
)

var sizes = [][2]int{{40, 12}, {80, 24}, {120, 40}}

// film is a sequence of frames under one golden.
type film struct {
	*rig
	out strings.Builder
}

func (f *film) shot(name string) {
	f.t.Helper()
	fmt.Fprintf(&f.out, "=== %s\n%s", name, f.frame())
}

// even makes the ids of what follows the same in every run: how many requests a connection makes by itself depends on
// whether the list of tools or the subscription is answered first.
func (f *film) even() {
	for last := ""; last < "5"; f.settle() {
		for _, m := range f.m.log.Messages {
			if m.Sent && m.ID != "" {
				last = m.ID
			}
		}
		if last < "5" {
			_, _ = f.ins.Request(f.t.Context(), f.ins.Names()[0], "ping", nil) // whatever comes of it, an id is used
		}
	}
}

// open brings the form to the screen where a small one shows its note first.
func (f *film) open() {
	f.t.Helper()
	f.shot("asked")
	if strings.Contains(f.frame(), "open the form") {
		f.press("enter")
		f.shot("form")
	}
}

// begin opens the form without a frame.
func (f *film) begin() {
	f.t.Helper()
	if strings.Contains(f.frame(), "open the form") {
		f.press("enter")
	}
}

func legacy(o *inspect.Options) { o.Servers[0].Protocol = config.Legacy }

var films = []struct {
	name    string
	server  func() *peer.Server
	options func(*inspect.Options)
	run     func(f *film)
}{
	{"confirm", demoServer, nil, func(f *film) {
		f.shot("tools")
		f.tool("mrtr_confirm")
		f.open()
		f.press("y", "s")
		f.shot("done")
		f.press("d")
		f.shot("diff")
	}},
	{"declined", demoServer, nil, func(f *film) {
		f.tool("mrtr_confirm")
		f.begin()
		f.press("ctrl+x", "y")
		f.shot("done")
	}},
	{"two_step", demoServer, nil, func(f *film) {
		f.tool("mrtr_two_step")
		f.begin()
		f.press("one", "ctrl+s", "s")
		f.open()
		f.press("two", "ctrl+s", "s")
		f.shot("done")
	}},
	{"sample", demoServer, nil, func(f *film) {
		f.tool("mrtr_sample")
		f.shot("asked")
		f.press("a", "Paris")
		f.shot("writing")
		f.press("ctrl+s")
		f.shot("review")
		f.press("pgdown", "s")
		f.shot("done")
	}},
	{"sample_rejected", demoServer, nil, func(f *film) {
		f.tool("mrtr_sample")
		f.press("ctrl+x")
		f.shot("sure")
		f.press("y")
		f.shot("failed")
	}},
	{"roots", demoServer, func(o *inspect.Options) { o.Servers[0].Roots = []config.Root{{URI: "file:///srv/a", Name: "a"}} }, func(f *film) {
		f.tool("mrtr_roots")
		f.shot("done")
	}},
	{"edge", demoServer, nil, func(f *film) {
		f.tool("mrtr_edge")
		f.begin()
		f.press("y", "s")
		f.shot("pause")
		time.Sleep(time.Second)
		f.settle()
		f.shot("done")
	}},
	{"loop", demoServer, nil, func(f *film) {
		f.tool("mrtr_loop")
		for range inspect.Rounds {
			f.begin()
			f.press("y", "s")
		}
		f.shot("failed")
	}},
	{"aborted", demoServer, nil, func(f *film) {
		f.tool("mrtr_confirm")
		f.begin()
		f.press("ctrl+c")
		f.shot("once")
		f.press("ctrl+c")
		f.shot("twice")
	}},
	{"aborted_leg", slow, nil, func(f *film) {
		f.m.call(inspect.Request{Server: peer.Name, Method: "tools/call", Name: "t"})
		f.settle()
		f.shot("on the wire")
		f.press("ctrl+c")
		f.shot("once")
		f.press("ctrl+c")
		f.shot("twice")
	}},
	{"legacy", demoServer, legacy, func(f *film) {
		f.tool("mrtr_confirm")
		f.open()
		f.press("y", "s")
		f.shot("done")
		f.tool("mrtr_sample")
		f.shot("sampling")
		f.press("a", "Paris", "ctrl+s", "pgdown", "s")
		f.press("esc", "6", "/", "-initialize -tools/list -ping -subscriptions", "enter")
		f.shot("messages")
	}},
	{"url", func() *peer.Server {
		return asksURL("https://accounts.example.com@xn--80ak6aa92e.com/login?state=" + strings.Repeat("x", 60))
	}, nil, func(f *film) {
		f.tool("t")
		f.shot("asked")
		f.press("pgdown", "pgdown", "y")
		f.shot("agreed, no browser")
		f.press("esc")
		f.shot("dismiss")
		f.press("n", "r")
		f.shot("done")
	}},
	{"url_refused", func() *peer.Server { return asksURL("http://example.com/login") }, nil, func(f *film) {
		f.tool("t")
		f.shot("asked")
	}},
	{"url_scheme", func() *peer.Server { return asksURL("file:///etc/passwd ; https://x.example/$(touch /var/p)") }, nil, func(f *film) {
		f.tool("t")
		f.shot("asked")
		f.press("y", "o", "p", "r")
		f.shot("still asked")
		f.press("ctrl+x", "y")
		f.shot("declined")
	}},
	{"lists", demoServer, nil, func(f *film) {
		f.press("1")
		f.shot("servers")
		f.press("enter")
		f.shot("server")
		f.press("esc", "l")
		f.shot("levels")
		f.press("esc", "3")
		f.shot("prompts")
		f.press("enter", "r", "ctrl+t")
		f.shot("completion")
		f.press("enter", "ctrl+s")
		f.begin()
		f.press("down", "ctrl+f")
		f.shot("left")
		f.press("esc", "4")
		f.shot("resources")
		f.press("end", "enter", "rain")
		f.shot("template")
		f.press("ctrl+s")
		f.shot("read")
		f.press("esc", "6", "/", "-discover -/list -ping -subscriptions", "enter")
		f.shot("messages")
		f.press("esc", "/", "method:prompts", "enter")
		f.shot("filtered")
		f.press("enter")
		f.shot("message")
		f.press("esc", "7")
		f.shot("news")
		f.press("?")
		f.shot("help")
	}},
	{"describe", demoServer, nil, func(f *film) {
		f.press("down", "d")
		f.shot("deploy")
		f.press("esc", "e")
		f.shot("as JSON")
		f.press("x", "ctrl+s")
		f.shot("wrong")
	}},
}

// slow is a server that answers no call.
func slow() *peer.Server {
	return peer.Scripted(map[string]peer.Reply{"tools/call": func(peer.Message, func(string)) string { return "" }})
}

// asksURL is a server that asks to visit an address once.
func asksURL(address string) *peer.Server {
	return peer.Scripted(map[string]peer.Reply{"tools/call": func(m peer.Message, _ func(string)) string {
		if inspect.Member(m.Params, "inputResponses") != nil {
			return `{"content":[{"type":"text","text":"signed in"}]}`
		}
		return `{"resultType":"input_required","requestState":"abcdefghijklmnopqrstuvwxyz","inputRequests":{"k":{"method":"elicitation/create","params":{"mode":"url","message":"Sign in to go on.","url":"` + address + `"}}}}`
	}})
}

func TestFilms(t *testing.T) {
	for _, s := range sizes {
		for _, fl := range films {
			t.Run(fmt.Sprintf("%s_%dx%d", fl.name, s[0], s[1]), func(t *testing.T) {
				f := &film{}
				bubble(t, fl.server, setup{w: s[0], h: s[1], options: fl.options}, func(r *rig) {
					f.rig = r
					f.even()
					fl.run(f)
				})
				golden.RequireEqual(t, []byte(f.out.String()))
			})
		}
	}
}
