package mcpmgr

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"askback/forms"
)

// TestReflectedStates: a state that a server reflects is not in a result, an error, a message of
// progress or a log, whichever round it was of and however it is spelt (SE-04).
func TestReflectedStates(t *testing.T) {
	const first = `"tok-\u00e9-FIRST-0123456789\/"` // as written
	const meant = `tok-é-FIRST-0123456789/`         // as meant
	const second = `"SECOND-abcdefghijklmnop"`      // of the next round
	const short = `"ordinary-12b"`                  // under 16 bytes
	leaks := []string{"FIRST", "SECOND", "0123456789", "abcdefghij"}
	reflect := map[string]string{
		"text":         `{"content":[{"type":"text","text":"I have tok-\u00e9-FIRST-0123456789/ and SECOND-abcdefghijklmnop, ordinary-12b"}]}`,
		"other escape": `{"content":[{"type":"text","text":"\u0074ok-é-\u0046IRST-0123456789\/ \u0053ECOND-abcdefghijklmnop"}]}`,
		"as JSON":      `{"content":[{"type":"text","text":"{\"s\":\"tok-\\u00e9-FIRST-0123456789\\/\"}"}]}`,
		"structured":   `{"content":[],"structuredContent":{"a":["SECOND-abcdefghijklmnop"],"tok-é-FIRST-0123456789/":1}}`,
		"meta":         `{"content":[],"_meta":{"x":"SECOND-abcdefghijklmnop"}}`,
	}
	run := func(t *testing.T, last func(r *preq), check func(res *Result, err error, said string)) {
		n := 0
		p := newPeer().handle("tools/call", func(r *preq) {
			switch n++; n {
			case 1:
				r.result(inputRequired("", first))
			case 2:
				r.result(inputRequired("", second))
			case 3:
				r.result(inputRequired("", short))
			default:
				last(r)
			}
		})
		var log syncBuffer
		var mu sync.Mutex
		said := ""
		say := func(s string) { mu.Lock(); defer mu.Unlock(); said += s + "\n" }
		opt := Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
			Tap: func(e TapEvent) { say(string(e.Raw)) }}
		m := manage(t, "sse", p, opt)
		h := accept(yes)
		h.Progress = func(p Progress) { say(p.Message) }
		h.Log = func(l LogMessage) { say(string(l.Data)) }
		res, err := callT(t, m, `{}`, h)
		m.Close()
		mu.Lock()
		defer mu.Unlock()
		all := said + log.String()
		for _, leak := range leaks {
			if strings.Contains(all, leak) {
				t.Errorf("SE-04: %q is in the protocol view, the log or a notification:\n%.2000s", leak, all)
			}
		}
		check(res, err, said)
	}
	for name, body := range reflect {
		t.Run("SE-04/"+name, func(t *testing.T) {
			run(t, func(r *preq) {
				r.notify("notifications/progress", `{"progressToken":`+r.raw("_meta", "progressToken")+`,"progress":1,"message":"SECOND-abcdefghijklmnop"}`)
				r.notify("notifications/message", `{"level":"info","data":"tok-é-FIRST-0123456789/"}`)
				r.result(body)
			}, func(res *Result, err error, _ string) {
				if err != nil {
					t.Fatal(err)
				}
				text := string(res.Raw) + string(res.Structured) + fmt.Sprintf("%s", res.Content)
				for _, leak := range leaks {
					if strings.Contains(text, leak) {
						t.Errorf("SE-04: %q in %s", leak, text)
					}
				}
				if !strings.Contains(text, redacted) || name == "text" && !strings.Contains(text, "ordinary-12b") {
					t.Fatal(text)
				}
				if !json.Valid(res.Raw) {
					t.Fatalf("%s", res.Raw)
				}
			})
		})
	}
	t.Run("SE-04/error", func(t *testing.T) {
		run(t, func(r *preq) { r.failData(-32000, "bad state "+meant, `"SECOND-abcdefghijklmnop"`) }, func(_ *Result, err error, _ string) {
			if e := wantCode(t, err, CodeServerError); !strings.Contains(e.Message, redacted) || strings.Contains(e.Message, "FIRST") {
				t.Fatal(e)
			}
		})
	})
	t.Run("result without any", func(t *testing.T) {
		body := `{"content":[{"type":"text","text":"ordinary-12b \u0041 <&>"}],  "x":1e5}`
		run(t, func(r *preq) { r.result(body) }, func(res *Result, err error, _ string) {
			if err != nil || string(res.Raw) != body {
				t.Fatalf("%v %s", err, res.Raw)
			}
		})
	})
	t.Run("number", func(t *testing.T) {
		n := 0
		p := newPeer().handle("tools/call", func(r *preq) {
			if n++; n == 1 {
				r.result(inputRequired("", `"12345678901234567890"`))
				return
			}
			r.result(`{"content":[],"structuredContent":{"n":12345678901234567890,"m":1234567890123456789}}`)
		})
		m := manage(t, "pipe", p, Options{})
		res, err := callT(t, m, `{}`, accept(yes))
		if err != nil || string(res.Structured) != `{"n":"[redacted]","m":1234567890123456789}` {
			t.Fatalf("%v %s", err, res.Structured)
		}
	})
}

// TestLongStateInAnError: a state is kept out of an error also where it is longer than what is shown of one.
func TestLongStateInAnError(t *testing.T) {
	secret := strings.Repeat("abcdefghijklmnop", 500)
	for name, answer := range map[string]func(*preq){
		"error":           func(r *preq) { r.fail(-32000, "you sent "+secret) },
		"unknown type":    func(r *preq) { r.result(`{"resultType":"` + secret + `"}`) },
		"refused headers": func(r *preq) { r.fail(codeHeaderMismatch, "you sent "+secret) },
	} {
		n := 0
		p := newPeer()
		p.handle("tools/call", func(r *preq) {
			if n++; n == 1 {
				r.result(inputRequired("", `"`+secret+`"`))
				return
			}
			p.handle("tools/list", func(r *preq) { r.fail(-32000, "you sent "+secret) })
			r.notify("notifications/progress", `{"progressToken":`+r.raw("_meta", "progressToken")+`,"progress":1,"message":"you sent `+secret+`"}`)
			answer(r)
		})
		h := accept(yes)
		progress := "none"
		h.Progress = func(p Progress) { progress = p.Message } // none comes after the call
		_, err := callT(t, manage(t, "pipe", p, Options{}), `{}`, h)
		if err == nil || strings.Contains(err.Error(), "abcdef") || !strings.Contains(err.Error(), redacted) {
			t.Errorf("%s: %v", name, err)
		}
		if progress != "you sent [redacted]" {
			t.Errorf("%s: progress %.40q", name, progress)
		}
	}
}

// TestStateInARefusedRound: an error that names what is wrong with a round names no state by it, not even the beginning
// of a long one, be it of this round or of one before.
func TestStateInARefusedRound(t *testing.T) {
	secret := strings.Repeat("abcdefghijklmnop", 20)
	for name, requests := range map[string]string{
		"method":      `{"k":{"method":"` + secret + `"}}`,
		"mode":        `{"k":{"method":"elicitation/create","params":{"mode":"` + secret + `"}}}`,
		"unknown key": `{"k":{"method":"roots/list","` + secret + `":1}}`,
		"key twice":   `{"` + secret + `":{"method":"roots/list"},"` + secret + `":{"method":"roots/list"}}`,
	} {
		for when, results := range map[string][]string{
			"now":    {inputRequired(requests, `"`+secret+`"`)},
			"before": {inputRequired("", `"`+secret+`"`), inputRequired(requests, `"other"`)},
		} {
			_, err := callT(t, manage(t, "pipe", script(results...), Options{}), `{}`, accept(yes))
			if err == nil || strings.Contains(err.Error(), "abcdef") || !strings.Contains(err.Error(), redacted) {
				t.Errorf("%s, %s: %v", name, when, err)
			}
		}
	}
}

// TestStateOfThisResult: a state is not quoted from the very result that bears it.
func TestStateOfThisResult(t *testing.T) {
	const secret = "SECRET-abcdefghijklmnop"
	for name, result := range map[string]string{
		"type":      `{"resultType":"` + secret + `","requestState":"` + secret + `"}`,
		"key twice": `{"resultType":"input_required","requestState":"` + secret + `","` + secret + `":1,"` + secret + `":2}`,
		"no round":  `{"resultType":"input_required","requestState":"` + secret + `","inputRequests":{"k":{"method":"` + secret + `"}}}`,
	} {
		_, err := callT(t, manage(t, "pipe", script(result), Options{}), `{}`, accept(yes))
		if err == nil || strings.Contains(err.Error(), "SECRET") || !strings.Contains(err.Error(), redacted) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestStatesAsKeys: keys that are replaced stay apart, and nothing beside them is lost.
func TestStatesAsKeys(t *testing.T) {
	one, two := `"SECRET-one-0123456789"`, `"SECRET-two-0123456789"`
	body := `{"content":[{"type":"text","text":"important"}],` + one + `:1,` + two + `:2,"structuredContent":{` + two + `:1,` + one + `:{}}}`
	res, err := callT(t, manage(t, "pipe", script(inputRequired("", one), inputRequired("", two), body), Options{}), `{}`, accept(yes))
	if err != nil || len(res.Content) != 1 || strings.Contains(string(res.Raw), "SECRET") {
		t.Fatalf("%v %+v", err, res)
	}
	if _, err := members(res.Raw); err != nil {
		t.Error(err)
	}
	if _, err := members(res.Structured); err != nil {
		t.Error(err)
	}
}

// TestStateInADefinition: a refreshed list tells no state, neither to the Host nor to the log.
func TestStateInADefinition(t *testing.T) {
	const secret = "SECRET-abcdefghijklmnop"
	var log syncBuffer
	p := script(inputRequired("", `"`+secret+`"`), complete)
	m := manage(t, "pipe", p, Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if _, err := callT(t, m, `{}`, accept(yes)); err != nil {
		t.Fatal(err)
	}
	p.setTools(`[{"name":"t","description":"minted ` + secret + `","inputSchema":{"type":"object"}},{"name":"` + secret + `"}]`)
	s, _, _ := m.server("s").current()
	if err := s.refreshTools(t.Context()); err != nil {
		t.Fatal(err)
	}
	e := s.toolsNow().byName["t"]
	if all := log.String() + string(e.Raw) + e.Description; strings.Contains(all, "SECRET") || e.Description != "minted [redacted]" {
		t.Error(all)
	}
}

// TestSpellingsOfAState: a state is kept out of what is said of a round however the text that tells it is spelt or cut.
func TestSpellingsOfAState(t *testing.T) {
	for name, state := range map[string]string{
		"control":        `\u0000\u0001secret-secret-secret-secret-secret-secret-secret`,
		"lone surrogate": `\ud800secret-secret-secret-secret-secret-secret-secret\ud800secret`,
		"escapes":        `\u0073ecret-\"secret\"-secret\u2028-secret-secret-secret-secret`,
	} {
		for where, requests := range map[string]string{
			"method": `{"k":{"method":"` + state + `"}}`,
			"mode":   `{"k":{"method":"elicitation/create","params":{"mode":"` + strings.ReplaceAll(state, "-", `\u002d`) + `"}}}`,
			"key":    `{"k":{"method":"roots/list","` + state + `":1}}`,
		} {
			_, err := callT(t, manage(t, "pipe", script(inputRequired(requests, `"`+state+`"`)), Options{}), `{}`, accept(yes))
			if err == nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s, %s: %v", name, where, err)
			}
		}
	}
}

// TestStateInASchemaError: what a result lacks by its schema is told without the beginning of a state.
func TestStateInASchemaError(t *testing.T) {
	secret := strings.Repeat("abcdefghijklmnop", 20)
	for name, schema := range map[string]string{
		"name":    `{"type":"object","required":["` + secret + `x"]}`,
		"path":    `{"type":"object","properties":{"` + secret + `":{"type":"string"}}}`,
		"quoted":  `{"type":"object","properties":{"` + secret + ` ":{"type":"string"}}}`,
		"pattern": `{"type":"object","properties":{"p":{"pattern":"` + secret + `"}}}`,
	} {
		p := script(inputRequired("", `"`+secret+`"`), `{"content":[],"structuredContent":{"p":"x","`+secret+`":1,"`+secret+` ":1}}`)
		p.setTools(`[{"name":"t","inputSchema":{"type":"object"},"outputSchema":` + schema + `}]`)
		_, err := callT(t, manage(t, "pipe", p, Options{}), `{}`, accept(yes))
		if err == nil || strings.Contains(err.Error(), "abcdef") || !strings.Contains(err.Error(), redacted) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLinesOfAState: a line of a state is no state in a result or a form, where it may be of use, but is in text.
func TestLinesOfAState(t *testing.T) {
	st := &states{}
	st.add(json.RawMessage(`"-----BEGIN STATE-----\nMIIBsecret0123456789\n"`))
	if raw := json.RawMessage(`{"a":"-----BEGIN STATE-----"}`); st.reflectedIn(raw) || !bytes.Equal(st.json(raw), raw) {
		t.Error("a line was taken for a state")
	}
	if got := st.text("saw MIIBsecret0123456789"); got != "saw [redacted]" {
		t.Error(got)
	}
}

// TestToolNamedAsAState: a state that is the name of the tool, as some servers have it, neither renames the tool nor ends
// its calls, and another tool of such a name is left out.
func TestToolNamedAsAState(t *testing.T) {
	const tool = `{"name":"create-an-issue-now","inputSchema":{"type":"object"}}`
	p := script(inputRequired("", `"create-an-issue-now"`), complete)
	p.setTools("[" + tool + "]")
	m := manage(t, "pipe", p, Options{})
	b := bind(t, m, "create-an-issue-now")
	if _, err := m.CallTool(t.Context(), b, nil, accept(yes)); err != nil {
		t.Fatal(err)
	}
	p.setTools("[" + tool + `,{"name":"create-an-issue-now-2","inputSchema":{"type":"object"}}]`)
	s, _, _ := m.server("s").current()
	if err := s.refreshTools(t.Context()); err != nil {
		t.Fatal(err)
	}
	if l := s.toolsNow(); len(l.all) != 1 || l.all[0].Binding != b || len(l.warnings) != 1 || strings.Contains(l.warnings[0], "issue") {
		t.Errorf("%+v %q", l.all, l.warnings)
	}
}

// TestStateInNestedJSON: a state that is JSON itself is found in a result that is JSON within a text within a text.
func TestStateInNestedJSON(t *testing.T) {
	meant := `{"step":1,"by":"SECRET-0123456789"}`
	inner := string(quoteString(`{"state":` + string(quoteString(meant)) + `}`))
	body := `{"content":[{"type":"text","text":` + string(quoteString(`{"text":`+inner+`}`)) + `}]}`
	res, err := callT(t, manage(t, "pipe", script(inputRequired("", string(quoteString(meant))), body), Options{}), `{}`, accept(yes))
	if err != nil || strings.Contains(string(res.Raw), "SECRET") || !strings.Contains(string(res.Raw), redacted) {
		t.Errorf("%v %s", err, res.Raw)
	}
}

// TestStateInAStatus: a server cannot have a state shown as the reason why it failed, not even a
// part of one that is longer than what is shown.
func TestStateInAStatus(t *testing.T) {
	const part = "SECOND-abcdefghijklmnop"
	secret := strings.Repeat(part, 20)
	refuse := func(r *preq) {
		r.http(401, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"you sent `+secret+`"}}`)
	}
	n := 0
	p := newPeer()
	p.handle("tools/call", func(r *preq) {
		if n++; n == 1 {
			r.result(inputRequired("", `"`+secret+`"`))
			return
		}
		p.handle("server/discover", refuse)
		refuse(r)
	})
	var log syncBuffer
	m := manage(t, "json", p, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	_, err := callT(t, m, `{}`, accept(yes))
	if e := wantCode(t, err, CodeServerError); !strings.Contains(e.Message, "you sent [redacted]") {
		t.Fatal(e)
	}
	eventually(t, "authorization is wanted", func() bool { st, _ := m.Server("s"); return st.NeedsAuth })
	if st, _ := m.Server("s"); strings.Contains(st.Reason+log.String(), part) || !strings.Contains(st.Reason, "you sent [redacted]") {
		t.Fatal(st.Reason, log.String())
	}
}

// TestStateInAForm: a server that puts a state into a form has the round refused before the form
// is shown.
func TestStateInAForm(t *testing.T) {
	form := func(msg, label string) string {
		return `{"k":{"method":"elicitation/create","params":{"message":"` + msg + `","requestedSchema":{"type":"object","properties":{"a":{"type":"string","title":"` + label + `"}}}}}}`
	}
	const st = `"0123456789abcdef\u0021"`
	for name, results := range map[string][]string{
		"own, in the message":   {inputRequired(form("see 0123456789abcdef!", "x"), st)},
		"own, in a label":       {inputRequired(form("m", "0123456789\\u0061bcdef!"), st)},
		"of an earlier round":   {inputRequired("", st), inputRequired(form("0123456789abcdef!", "x"), `"other-state-0123456"`)},
		"in another entry's":    {inputRequired(`{"a":`+yesForm+`,`+form("0123456789abcdef!", "x")[1:], st)},
		"in a sampling request": {inputRequired(`{"s":{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"0123456789abcdef!"}}]}}}`, st)},
	} {
		t.Run(name, func(t *testing.T) {
			p := script(append(results, complete)...)
			m := manage(t, "pipe", p, Options{})
			h := Handlers{Form: func(context.Context, FormRequest) (forms.Result, error) {
				t.Error("a form was shown")
				return forms.Cancel(), nil
			}, Sampling: func(context.Context, SamplingRequest) (json.RawMessage, error) {
				t.Error("a request was shown")
				return nil, nil
			}}
			_, err := callT(t, m, `{}`, h)
			if e := wantCode(t, err, CodeInvalidForm); strings.Contains(e.Message, "abcdef") {
				t.Fatal(e)
			}
			if n := len(p.by("tools/call")); n != len(results) {
				t.Fatal(n)
			}
		})
	}
}

// TestTap: the protocol view sees every message with its call and leg, and no state.
func TestTap(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			p := newPeer().handle("tools/call", askOnce(`{"k":`+yesForm+`}`, `"0123456789abcdef-STATE"`))
			var mu sync.Mutex
			var all []TapEvent
			m := manage(t, kind, p, Options{Tap: func(e TapEvent) { mu.Lock(); defer mu.Unlock(); all = append(all, e) }})
			if _, err := callT(t, m, `{"a":1}`, accept(yes)); err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			defer mu.Unlock()
			var legs []string
			for _, e := range all {
				if bytes.Contains(e.Raw, []byte("STATE")) || !json.Valid(e.Raw) {
					t.Fatalf("%s", e.Raw)
				}
				if e.Method == "tools/call" {
					legs = append(legs, fmt.Sprintf("%s %v leg %d state %d echoed %v", e.Direction, e.Response, e.Leg, e.StateBytes, e.Echoed))
					if e.Call == 0 || e.ID == "" || e.Server != "s" || e.Size < 20 {
						t.Fatalf("%+v", e)
					}
				}
			}
			want := []string{"sent false leg 1 state -1 echoed false", "received true leg 1 state 22 echoed false", "sent false leg 2 state 22 echoed true", "received true leg 2 state -1 echoed false"}
			if fmt.Sprint(legs) != fmt.Sprint(want) {
				t.Fatalf("%q", legs)
			}
		})
	}
}

// TestHideStates: whatever a server makes of a requestState, its text is not in what is left of the message, and what is
// none stays as it was, byte for byte.
func TestHideStates(t *testing.T) {
	deepest := strings.Repeat(`{"properties":{"requestState":`, 400) + "{}" + strings.Repeat("}}", 400)
	for name, c := range map[string]struct {
		in, want string
		size     int
	}{
		"as it should be":         {`{"resultType":"input_required", "requestState":"SECRET"}`, `{"resultType":"input_required", "requestState":"[6 bytes]"}`, 6},
		"twice":                   {`{"requestState":"SECRET","requestState":"SECRET2"}`, `{"requestState":"[6 bytes]","requestState":"[7 bytes]"}`, 7},
		"beside a key twice":      {`{"x":1,"requestState":"SECRET","x":2}`, `{"x":1,"requestState":"[6 bytes]","x":2}`, 6},
		"key escaped":             {`{"request\u0053tate":"SECRET"}`, `{"request\u0053tate":"[6 bytes]"}`, 6},
		"key of another case":     {`{"requeststate":"SECRET","REQUEST_STATE" : "SECRET"}`, `{"requeststate":"[6 bytes]","REQUEST_STATE" : "[6 bytes]"}`, -1},
		"an object":               {`{"requestState":{"a":["SECRET"]}}`, `{"requestState":"[16 bytes]"}`, 16},
		"a list":                  {`{"requestState":["SECRET"],"x":1}`, `{"requestState":"[10 bytes]","x":1}`, 10},
		"a number":                {`{"requestState":1234567890123456789}`, `{"requestState":"[19 bytes]"}`, 19},
		"deeper":                  {`{"_meta":{"requestState":"SECRET"},"l":[{"requestState":{"a":"SECRET"}}]}`, `{"_meta":{"requestState":"[6 bytes]"},"l":[{"requestState":"[14 bytes]"}]}`, -1},
		"in a state":              {`{"requestState":{"requestState":"SECRET"},"y":0}`, `{"requestState":"[25 bytes]","y":0}`, 25},
		"partial":                 {`{"requestState":"SECRET"`, `"[24 bytes, malformed]"`, -1},
		"no JSON":                 {`requestState: SECRET`, `"[20 bytes, malformed]"`, -1},
		"a property of a schema":  {`{"properties":{"requestState":{"type":"string"}}}`, `{"properties":{"requestState":{"type":"string"}}}`, -1},
		"under properties, text":  {`{"properties":{"requestState":"SECRET"}}`, `{"properties":{"requestState":"[6 bytes]"}}`, -1},
		"in a list of properties": {`{"properties":[{"requestState":{"a":"SECRET"}}]}`, `{"properties":[{"requestState":"[14 bytes]"}]}`, -1},
		"the word as a value":     {`{"required":["requestState"],"a":"requestState"}`, `{"required":["requestState"],"a":"requestState"}`, -1},
		"schemas in schemas":      {deepest, deepest, -1},
		"a list of messages":      {`[{"requestState":"SECRET"}]`, `[{"requestState":"[6 bytes]"}]`, -1},
		"a text":                  {`"requestState"`, `"requestState"`, -1},
	} {
		if h := hideStates(json.RawMessage(c.in), 1); string(h.raw) != c.want || h.size != c.size {
			t.Errorf("%s: %s became %s of size %d, want %s of %d", name, c.in, h.raw, h.size, c.want, c.size)
		}
	}
}

// TestMalformedStates: the protocol view, the errors and the log hold no state of a message that the driver refuses, and
// none that stands where it reads none.
func TestMalformedStates(t *testing.T) {
	const a, b = "SECRETSTATE-A0123456789", "SECRETSTATE-B0123456789"
	for name, c := range map[string]struct {
		answer func(r *preq)
		code   Code
	}{
		"twice": {func(r *preq) {
			r.result(`{"resultType":"input_required","requestState":"` + a + `","requestState":"` + b + `","x":"it was ` + a + `"}`)
		}, CodeProtocolError},
		"an object":  {func(r *preq) { r.result(`{"resultType":"input_required","requestState":{"a":"` + a + `"}}`) }, CodeProtocolError},
		"wrong case": {func(r *preq) { r.result(`{"resultType":"input_required","requeststate":"` + a + `"}`) }, CodeProtocolError},
		"escaped": {func(r *preq) {
			r.result(`{"resultType":"input_required","request\u0053tate":"` + a + `","inputRequests":1}`)
		}, CodeProtocolError},
		"in an error": {func(r *preq) { r.failData(-32000, "no "+a, `{"requestState":"`+a+`"}`) }, CodeServerError},
		"in a notification": {func(r *preq) {
			r.notify("notifications/message", `{"level":"info","data":{"requestState":"`+a+`"}}`)
			r.fail(-32000, "no")
		}, CodeServerError},
	} {
		for _, kind := range kinds {
			t.Run(name+"/"+kind, func(t *testing.T) {
				p := newPeer().handle("tools/call", c.answer)
				var log syncBuffer
				var mu sync.Mutex
				said := ""
				event := func(e Event) { mu.Lock(); defer mu.Unlock(); said += string(e.Log.Data) + "\n" }
				m := manage(t, kind, p, Options{Inspect: &Inspect{Event: event}, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
					Tap: func(e TapEvent) { mu.Lock(); defer mu.Unlock(); said += string(e.Raw) + "\n" }})
				h := accept(yes)
				h.Log = func(l LogMessage) { mu.Lock(); defer mu.Unlock(); said += string(l.Data) + l.Logger + "\n" }
				_, err := callT(t, m, `{}`, h)
				e := wantCode(t, err, c.code)
				mu.Lock()
				defer mu.Unlock()
				if all := said + log.String() + e.Message; strings.Contains(all, "SECRET") || kind != "json" && !strings.Contains(said, "bytes]") {
					t.Errorf("%.3000s", all)
				}
			})
		}
	}
}

// TestNoise: of a line that may be a piece of a message the size is told, of any other its text.
func TestNoise(t *testing.T) {
	for in, want := range map[string]string{
		"Server started on stdio":                  "Server started on stdio",
		"listening on [::1]:80 {fast}":             "listening on [::1]:80 {fast}",
		`it says "hello" to you`:                   `it says "hello" to you`,
		`{"requestState":"SECRET"`:                 "(24 bytes that look like JSON)",
		`  "requestState": "SECRET"`:               "(24 bytes that look like JSON)",
		`"SECRET"`:                                 "(8 bytes that look like JSON)",
		`SECRET"},`:                                "(9 bytes that look like JSON)",
		`SECRET","x":1}`:                           "(14 bytes that look like JSON)",
		`INFO reply: {"id":1,"requestState":"S"}`:  "INFO reply: (27 bytes that look like JSON)",
		`INFO reply: {"request\u0053tate": "S"}`:   "INFO reply: (26 bytes that look like JSON)",
		`DEBUG requestState=SECRET`:                "(25 bytes that look like JSON)",
		`DEBUG request_state=SECRET {"x":1}`:       "(34 bytes that look like JSON)",
		`{'requestState': 'SECRET'}`:               "(26 bytes that look like JSON)",
		`result{requestState:'SECRET', "a" : "b"}`: "result(34 bytes that look like JSON)",
	} {
		if got := (&server{}).noise([]byte(in)); got != want {
			t.Errorf("%s is told as %s, want %s", in, got, want)
		}
	}
}

// TestStateBesideCalls: what is no call shows no state either: not one that its result holds, and none of a call that
// runs meanwhile, in results, errors and lists.
func TestStateBesideCalls(t *testing.T) {
	const state = "SECRETSTATE-0123456789"
	for _, kind := range kinds {
		p := newPeer().handle("tools/call", askOnce(`{"k":`+yesForm+`}`, `"`+state+`"`))
		p.handle("odd/state", func(r *preq) {
			r.result(`{"x":1, "requestState":"` + state + `","request_state":"short","requestState":"` + state + `"}`)
		})
		p.handle("odd/single", func(r *preq) { r.result(`{"x":1, "requestState":"short","y":"` + state + `"}`) })
		p.handle("odd/error", func(r *preq) { r.fail(-32000, strings.Repeat("x", 4090)+state) })
		p.handle("prompts/list", func(r *preq) { r.result(`{"prompts":[{"name":"` + state + `"}]}`) })
		m := manage(t, kind, p, Options{Inspect: &Inspect{}})
		h := accept(yes)
		form := h.Form
		h.Form = func(ctx context.Context, q FormRequest) (forms.Result, error) {
			raw, err := m.Request(ctx, "s", "odd/single", nil)
			if err != nil || string(raw) != `{"x":1,"requestState":"[5 bytes]","y":"[redacted]"}` {
				t.Errorf("%s: %s %v", kind, raw, err)
			}
			raw, err = m.Request(ctx, "s", "odd/state", nil)
			if err == nil || strings.Contains(string(raw)+err.Error(), "SECRET") {
				t.Errorf("%s: %s %v", kind, raw, err)
			}
			if _, err = m.Request(ctx, "s", "odd/error", nil); err == nil || strings.Contains(err.Error(), "SECRET") {
				t.Errorf("%s: %v", kind, err)
			}
			if l, err := m.List(ctx, "s", "prompts/list"); err != nil || len(l) != 1 || string(l[0]) != `{"name":"[redacted]"}` {
				t.Errorf("%s: %s %v", kind, l, err)
			}
			return form(ctx, q)
		}
		if _, err := callT(t, m, `{}`, h); err != nil {
			t.Fatal(err)
		}
	}
}

// FuzzState: any string token that a server uses as its state comes back byte for byte, and is
// nowhere to be seen.
func FuzzState(f *testing.F) {
	for _, s := range []string{``, `a`, `\u0000\ud800\udc00\udfff`, `\\\/\"\b\f\n\r\t`, `é<&>'`, "\u2028", `{\"a\": 1}`, strings.Repeat("x", 17), `\u003c`,
		"\\ud869\xed\xb3\xa9", "\xed\xa9\xa9\xed\xb3\xa9\\udc00", "\xed\xa9\xa9\\udc00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, inner string) {
		token := json.RawMessage(`"` + inner + `"`)
		if !json.Valid(token) || stateSize(token) > MaxState {
			t.Skip()
		}
		text := unescape([]byte(inner))
		if again := unescape(quote(text)[1 : len(quote(text))-1]); !bytes.Equal(text, again) {
			t.Fatalf("quote and unescape disagree: %q %q", text, again)
		}
		ms, err := members([]byte(inputRequired("", string(token))))
		if err != nil {
			t.Fatal(err)
		}
		r, terr := readRound(ms)
		if terr != nil || !bytes.Equal(r.state, token) {
			t.Fatalf("%v %s", terr, r.state)
		}
		c := &call{params: []member{stringMember("name", "t")}}
		var b builder
		b.raw(c.params[0].rawKey, c.params[0].val).add("requestState", r.state)
		if got, _ := lookup(b.bytes(), "requestState"); !bytes.Equal(got, token) {
			t.Fatalf("%s", got)
		}
		st := &states{}
		st.add(token)
		body := (&builder{}).add("a", token).add("b", quote(append([]byte("x"), text...))).bytes()
		out := st.json(body)
		if !json.Valid(out) {
			t.Fatalf("not JSON any more: %q", out)
		}
		if len(text) >= minReflected && !bytes.Contains([]byte(redacted), text) {
			walkScalars(out, func(i, j int) bool {
				if tok := out[i:j]; tok[0] == '"' && bytes.Contains(unescape(tok[1:len(tok)-1]), text) {
					t.Fatalf("the state is still there: %q", out)
				}
				return true
			})
		}
		if len(text) < minReflected && len(inner) < minReflected && !bytes.Equal(out, body) {
			t.Fatal("a short state was looked for")
		}
		if h := hideStates(inputStateBody(token), 1); h.size != stateSize(token) || len(text) > 4 && bytes.Contains(h.raw, token) {
			t.Fatalf("%s", h.raw)
		}
	})
}

func inputStateBody(token json.RawMessage) json.RawMessage {
	return json.RawMessage(inputRequired("", string(token)))
}

// FuzzMessage: no bytes of a peer make the reader of messages panic, and what it accepts the
// SDK's codec accepts too.
func FuzzMessage(f *testing.F) {
	for _, s := range []string{`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","method":"x","params":[]}`, `[{}]`, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":"-1","message":null}}`, `{"jsonrpc":"2.0","id":1e999,"method":"x"}`, `{"a":"\u`, `{"a":1,"\u0061":2}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := parseMessage(raw)
		if err != nil {
			return
		}
		spelt := newLineFilter(nil, 0, func([]byte, error) {}, func(int64, error) {}).pass(raw)
		if spelt != nil {
			if _, err := decodeSDK(spelt); err != nil {
				t.Fatalf("the codec refuses %q: %v", spelt, err)
			}
		}
		for _, part := range []json.RawMessage{m.params, m.result} {
			if part == nil {
				continue
			}
			if ms, err := members(part); err == nil {
				_, _ = readRound(ms)
			}
			_, _ = elements(part)
			deep(part)
		}
	})
}
