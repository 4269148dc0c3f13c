package screen

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"askback/internal/inspect"
	"askback/internal/inspect/peer"
	"askback/tui/kit"
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

// Nor does what goes on behind the first moment decide anything: each ignored key starts it anew.
func TestPanelIgnoresWhatGoesOn(t *testing.T) {
	for tool, server := range map[string]func() *peer.Server{
		"mrtr_confirm": demoServer, "mrtr_sample": demoServer,
		"t": func() *peer.Server { return asksURL("https://example.com/login") },
	} {
		bubble(t, server, wide, func(r *rig) {
			r.tool(tool)
			for _, k := range strings.Split("they say so yes yes r r s y s", "") {
				time.Sleep(100 * time.Millisecond)
				r.now(k)
			}
			if got := r.frame(); len(r.srv.Got("tools/call")) != 1 || strings.Contains(got, "say so") || strings.Contains(got, "opened by") {
				t.Errorf("%s: %d requests\n%s", tool, len(r.srv.Got("tools/call")), got)
			}
		})
	}
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
	t.Run("SE-07/asked whether to dismiss while the browser starts", func(t *testing.T) {
		bubble(t, server, wide, func(r *rig) {
			r.tool("t")
			r.press("y") // without a browser it is over at once
			p := r.m.up.(*urlPanel)
			p.stage = urlOpening
			r.press("esc")
			r.send(opened{p.id(), nil})
			r.wants("Dismiss this without an answer?")
			r.press("n")
			r.wants("opened by $BROWSER", "Nothing is fetched from here.")
			r.press("esc", "y")
			r.wants("signed in")
		})
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
			time.Sleep(kit.Pause)
			r.wants("copy the address")
		})
	})
}

// SE-05: a host that is longer than a row is shown to its end, which says whose it is.
func TestLongHostIsShownToItsEnd(t *testing.T) {
	host := strings.Repeat("accounts.example.com.", 9) + "evil.example"
	for _, s := range sizes {
		bubble(t, func() *peer.Server { return asksURL("https://" + host + ":8443/x") }, setup{w: s[0], h: s[1]}, func(r *rig) {
			r.tool("t")
			r.press("end")
			r.wants("evil.example\n port  8443")
			var rows []string
			for _, row := range r.m.up.(*urlPanel).hostRows(r.m) {
				if ansi.StringWidth(row) > s[0] {
					t.Errorf("%v: a row of %d cells", s, ansi.StringWidth(row))
				}
				rows = append(rows, strings.TrimSpace(ansi.Strip(row)))
			}
			if got := strings.Join(rows, ""); got != "host  "+host+"port  8443" {
				t.Errorf("%v: %s", s, got)
			}
		})
	}
}

// FX-17: what was typed into a form is there to copy when its server goes away, and not when the person has aborted.
func TestTypedTextSurvivesItsForm(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(*rig)
		kept bool
	}{
		{"connection lost", func(r *rig) { _ = r.ins.Reconnect(peer.Name); r.settle() }, true},
		{"aborted", func(r *rig) { r.press("ctrl+c", "ctrl+c") }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, demoServer, wide, func(r *rig) {
				r.tool("mrtr_two_step")
				r.press("precious")
				c.end(r)
				if len(r.m.panels) != 0 {
					t.Fatal("the form still waits")
				}
				if !c.kept {
					r.wantsNot("precious")
					return
				}
				r.wants("Closed without an answer:", "Word: precious")
				r.press("c")
				r.wants("given to the terminal to copy: what you typed")
				if !strings.Contains(r.clip, "precious") {
					t.Errorf("copied %q", r.clip)
				}
				r.press("esc")
				r.wants("the server was connected anew")
			})
			bubble(t, demoServer, wide, func(r *rig) {
				r.tool("mrtr_sample")
				r.press("a", "precious")
				c.end(r)
				if !c.kept {
					r.wantsNot("precious")
					return
				}
				r.press("c")
				r.wants("given to the terminal to copy: what you typed", "precious")
				if r.clip != "precious" {
					t.Errorf("copied %q", r.clip)
				}
			})
		})
	}
}

// What was typed into a panel that closes meanwhile outlives typing on, and the second ctrl+c for its call.
func TestClosedPanelOutlivesItsKeys(t *testing.T) {
	for tool, to := range map[string][]string{"mrtr_two_step": nil, "mrtr_sample": {"a"}} {
		for _, on := range map[string]func(r *rig){
			"typing": func(r *rig) { r.going("quick, and down"); r.now("enter"); r.now("esc") },
			"ctrl+c": func(r *rig) { r.now("ctrl+c"); r.now("ctrl+c") },
		} {
			bubble(t, demoServer, wide, func(r *rig) {
				r.tool(tool)
				r.press(append(to, "precious")...)
				r.send(told{inspect.Withdrawn{Ask: r.m.up.id(), Why: "the server has gone"}})
				r.wants("precious")
				on(r)
				r.wants("precious")
				r.press("esc")
				r.wantsNot("precious")
			})
		}
	}
}

// SE-07: where the clipboard is out of reach the address is on rows that hold nothing else.
func TestAddressAlone(t *testing.T) {
	address := "https://x.example/" + strings.Repeat("0123456789", 60)
	for _, s := range sizes {
		bubble(t, func() *peer.Server { return asksURL(address) }, setup{w: s[0], h: s[1]}, func(r *rig) {
			r.tool("t")
			r.press("p")
			rows := strings.Split(r.frame(), "\n")
			from := slices.IndexFunc(rows, func(row string) bool { return strings.HasPrefix(row, "https") })
			if from < 0 || !strings.HasPrefix(address, strings.Join(rows[from:from+4], "")) {
				t.Fatalf("%v:\n%s", s, r.frame())
			}
			r.press("y", "o", "r", "ctrl+x", "esc")
			if p := r.m.up.(*urlPanel); p.alone || p.stage != urlAsking {
				t.Errorf("%+v", p)
			}
			r.wants("Sign in to go on.", "x.example")
		})
	}
}

// A sampling request is answered as a text or as JSON, each by its own key.
func TestSamplingAnsweredAsJSON(t *testing.T) {
	bubble(t, demoServer, wide, func(r *rig) {
		r.tool("mrtr_sample")
		r.press("j")
		r.wants(`"role": "assistant"`, `"text": "…"`)
		r.press("esc", "a", "esc", "j", "ctrl+s", "e", "ctrl+s", "s")
		r.wants("sampled …")
	})
}

// a is the way to a text and j the way to JSON, whichever was taken before, and nothing typed is lost between them.
func TestSamplingTextAfterJSON(t *testing.T) {
	area := func(r *rig) string { return r.m.up.(*samplingPanel).edit.Value() }
	bubble(t, demoServer, wide, func(r *rig) {
		r.tool("mrtr_sample")
		r.press("j", "esc", "a")
		if got := area(r); got != "" {
			t.Fatalf("a opened %q", got)
		}
		r.press("Paris", "esc", "j")
		r.wants(`"text": "Paris"`)
		r.press("esc", "enter") // as it was
		r.wants(`"text": "Paris"`)
		r.press("esc", "a")
		if got := area(r); got != "Paris" {
			t.Fatalf("a opened %q", got)
		}
		r.press("esc", "j", "x") // no JSON any more
		broken := area(r)
		r.press("esc", "a")
		if got := area(r); got != "Paris" {
			t.Fatalf("a opened %q", got)
		}
		r.press("esc", "j")
		if got := area(r); got != broken {
			t.Fatalf("j opened %q", got)
		}
		r.press("backspace", "esc", "a", "ctrl+s", "s")
		r.wants("sampled Paris")
	})
}

// What is wrong with an answer can be read whole on a small screen.
func TestSamplingProblemIsWhole(t *testing.T) {
	for _, s := range sizes {
		bubble(t, demoServer, setup{w: s[0], h: s[1]}, func(r *rig) {
			r.tool("mrtr_sample")
			r.press("a", `{"role":"assistant"} and more`, "ctrl+s")
			_, err := inspect.SamplingAnswer(r.m.up.(*samplingPanel).edit.Value())
			if got := strings.Join(strings.Fields(r.frame()), " "); err == nil || !strings.Contains(got, err.Error()) {
				t.Errorf("%v: %v is not whole:\n%s", s, err, r.frame())
			}
		})
	}
}

// f1 lists the keys over every panel, and the panel is there again afterwards.
func TestHelpOverAPanel(t *testing.T) {
	for _, s := range sizes {
		bubble(t, asksEverything, setup{w: s[0], h: s[1]}, func(r *rig) {
			r.m.call(inspect.Request{Server: peer.Name, Method: "tools/call", Name: "t"})
			r.settle()
			for range 3 {
				up := r.m.up
				r.press("f1")
				r.wants("everywhere")
				r.press("pgdown", "esc")
				r.wantsNot("everywhere")
				if r.m.up != up || len(r.m.panels) != 1 {
					t.Fatal("the panel has gone")
				}
				if strings.Contains(r.frame(), "open the form") {
					r.press("enter")
				}
				r.press("ctrl+x", "y") // the next
			}
			if got := r.m.outcome(r.conversation().Run); got != "ended: the sampling request was rejected" {
				t.Error(got)
			}
		})
	}
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
		r.press("ctrl+c")
		r.wants("esc gives the authorization up")
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

// going types on, as somebody does who has not looked at the screen.
func (r *rig) going(text string) {
	r.t.Helper()
	for _, c := range text {
		time.Sleep(100 * time.Millisecond)
		r.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{c}})
	}
}

// deciders are screens on which a letter decides, by the key that does. text would hold that letter.
var deciders = map[string]struct {
	server   func() *peer.Server
	tool     string
	to       []string
	key, alt string
	text     string
}{
	"an address":          {func() *peer.Server { return asksURL("https://x.example/a") }, "t", nil, "y", "ctrl+y", "why not say yes"},
	"the end of a visit":  {func() *peer.Server { return asksURL("https://x.example/a") }, "t", []string{"y"}, "r", "ctrl+r", "where are we"},
	"a refusal":           {func() *peer.Server { return asksURL("https://x.example/a") }, "t", []string{"ctrl+x"}, "y", "ctrl+y", "why not say yes"},
	"a review":            {demoServer, "mrtr_sample", []string{"a", "Paris", "ctrl+s"}, "s", "ctrl+s", "this is it"},
	"rejecting a request": {demoServer, "mrtr_sample", []string{"ctrl+x"}, "y", "ctrl+y", "why not say yes"},
	"leaving":             {demoServer, "mrtr_confirm", []string{"ctrl+q"}, "y", "ctrl+y", "why not say yes"},
}

// Whoever types on over a screen that asks decides nothing, and is told that keys are ignored, for as long as they are. The
// key that decides does so behind a pause, with caps lock, and by its other name, for a keyboard without Latin letters.
func TestTypingOnDecidesNothing(t *testing.T) {
	for name, c := range deciders {
		for _, key := range []string{c.key, strings.ToUpper(c.key), c.alt} {
			bubble(t, c.server, wide, func(r *rig) {
				r.tool(c.tool)
				r.press(c.to...)
				state := func() string {
					stage := urlStage(-1)
					if p, ok := r.m.up.(*urlPanel); ok {
						stage = p.stage
					}
					return fmt.Sprint(r.sent(), r.quit, stage, len(r.m.stack), r.m.up != nil)
				}
				before := state()
				for range 2 { // at once, and after a pause
					r.going(c.text)
					r.wants(kit.Ignoring)
					if got := state(); got != before {
						t.Fatalf("%s: a text did something: %s became %s\n%s", name, before, got, r.frame())
					}
					time.Sleep(time.Second)
					r.settle()
					r.wantsNot(kit.Ignoring)
				}
				r.now(key)
				if got := state(); got == before {
					t.Errorf("%s: %s does nothing\n%s", name, key, r.frame())
				}
			})
		}
	}
}

// What lies on the screen again, after the window was too small, after a shell, or from under a panel that was answered, has
// just come there.
func TestWhatComesBackIgnoresKeys(t *testing.T) {
	for name, c := range deciders {
		for way, back := range map[string]func(r *rig){
			"a small window": func(r *rig) {
				r.send(tea.WindowSizeMsg{Width: 20, Height: 5})
				r.send(tea.WindowSizeMsg{Width: 80, Height: 24})
			},
			"a shell": func(r *rig) { r.send(tea.ResumeMsg{}) },
		} {
			bubble(t, c.server, wide, func(r *rig) {
				r.tool(c.tool)
				r.press(c.to...)
				time.Sleep(time.Second)
				back(r)
				before := r.sent()
				if r.now(c.key); r.sent() != before || r.quit {
					t.Errorf("%s, after %s: %s decided\n%s", name, way, c.key, r.frame())
				}
				r.wants(kit.Ignoring)
			})
		}
	}
	bubble(t, demoServer, wide, func(r *rig) {
		r.press("1", "r") // asks whether to connect anew
		r.m.call(inspect.Request{Server: peer.Name, Method: "tools/call", Name: "mrtr_confirm"})
		r.settle()
		r.press("ctrl+f", "ctrl+q", "ctrl+f", "y", "s")
		if r.now("y"); r.quit {
			t.Error("the key behind an answer left the program")
		}
	})
}

// A review is sent when all of it was on the screen.
func TestLongSamplingReviewIsReadFirst(t *testing.T) {
	bubble(t, demoServer, wide, func(r *rig) {
		r.tool("mrtr_sample")
		r.press("a")
		r.send(tea.KeyMsg{Type: tea.KeyRunes, Paste: true, Runes: []rune(strings.Repeat("word ", 1000) + "the end")})
		before := r.sent()
		r.press("ctrl+s", "s")
		if r.wants("read on"); r.sent() != before {
			t.Fatal("sent, and never shown")
		}
		for range 20 {
			r.press("s")
		}
		if r.sent() == before {
			t.Errorf("not sent\n%s", r.frame())
		}
	})
}
