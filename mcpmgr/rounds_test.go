package mcpmgr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"askback/forms"
)

// script is a peer whose tools/call answers with these results, one after the other; the last
// one repeats.
func script(results ...string) *peer {
	n := 0
	p := newPeer()
	return p.handle("tools/call", func(r *preq) {
		p.mu.Lock()
		i := min(n, len(results)-1)
		n++
		p.mu.Unlock()
		r.result(results[i])
	})
}

const complete = `{"resultType":"complete","content":[{"type":"text","text":"done"}]}`

// TestOddResults is the table of what a server can answer a call with. Each row ends in its code,
// over every transport, without a form shown unless it says so.
func TestOddResults(t *testing.T) {
	big := func(n int) string { return strings.Repeat("x", n) }
	form := func(schema string) string {
		return `{"k":{"method":"elicitation/create","params":{"message":"m","requestedSchema":` + schema + `}}}`
	}
	many := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"k%d":%s`, i, yesForm))
		}
		return "{" + strings.Join(all, ",") + "}"
	}
	formOnly := accept(yes)
	cases := []struct {
		name   string
		result string
		h      Handlers
		code   Code // "" is success
		says   string
		calls  int // tools/call received
		shown  int // forms shown
	}{
		{name: "ML-01 input_required is no result", result: inputRequired(`{"k":`+yesForm+`}`, ""), h: formOnly, calls: 2, shown: 1},
		{name: "ML-19 unknown resultType", result: `{"resultType":"hologram","content":[]}`, h: formOnly, code: CodeUnsupportedResult, says: "hologram", calls: 1},
		{name: "task result", result: `{"resultType":"task","task":{"taskId":"1"}}`, h: formOnly, code: CodeUnsupportedResult, calls: 1},
		{name: "a form without params", result: inputRequired(`{"k":{"method":"elicitation/create"}}`, ""), h: formOnly, code: CodeInvalidForm, says: "no params", calls: 1},
		{name: "resultType null", result: `{"resultType":null,"content":[]}`, h: formOnly, code: CodeUnsupportedResult, calls: 1},
		{name: "resultType absent", result: `{"content":[]}`, h: formOnly, calls: 1},
		{name: "neither requests nor state", result: `{"resultType":"input_required"}`, h: formOnly, code: CodeProtocolError, says: "neither", calls: 1},
		{name: "inputRequests null", result: `{"resultType":"input_required","inputRequests":null}`, h: formOnly, code: CodeProtocolError, calls: 1},
		{name: "inputRequests a list", result: `{"resultType":"input_required","inputRequests":[]}`, h: formOnly, code: CodeProtocolError, calls: 1},
		{name: "state not a string", result: inputRequired("", "7"), h: formOnly, code: CodeProtocolError, calls: 1},
		{name: "state null", result: inputRequired("", "null"), h: formOnly, code: CodeProtocolError, calls: 1},
		{name: "state twice", result: `{"resultType":"input_required","requestState":"a","requestState":"b"}`, h: formOnly, code: CodeProtocolError, calls: 1},
		{name: "state twice, spelt differently", result: `{"resultType":"input_required","requestState":"a","request\u0053tate":"b"}`, h: formOnly, code: CodeProtocolError, calls: 1},
		{name: "state of 16 KiB", result: inputRequired(`{"k":`+yesForm+`}`, `"`+big(MaxState)+`"`), h: formOnly, calls: 2, shown: 1},
		{name: "state over 16 KiB", result: inputRequired(`{"k":`+yesForm+`}`, `"`+big(MaxState+1)+`"`), h: formOnly, code: CodeLimitExceeded, calls: 1},
		{name: "eight requests", result: inputRequired(many(8), ""), h: formOnly, calls: 2, shown: 8},
		{name: "nine requests", result: inputRequired(many(9), ""), h: formOnly, code: CodeLimitExceeded, calls: 1},
		{name: "requests over 64 KiB", result: inputRequired(form(`{"type":"object","properties":{},"description":"`+big(64<<10)+`"}`), ""), h: formOnly, code: CodeLimitExceeded, calls: 1},
		{name: "duplicate keys of requests", result: inputRequired(`{"k":`+yesForm+`,"\u006b":`+yesForm+`}`, ""), h: formOnly, code: CodeProtocolError, calls: 1},
		{name: "content null beside requests", result: `{"resultType":"input_required","content":null,"ttlMs":0,"cacheScope":"private","_meta":{},"inputRequests":{"k":` + yesForm + `}}`, h: formOnly, calls: 2, shown: 1},
		{name: "content beside requests is not shown", result: `{"resultType":"input_required","content":[{"type":"text","text":"x"}],"isError":true,"inputRequests":{"k":` + yesForm + `}}`, h: formOnly, calls: 2, shown: 1},
		{name: "entry no object", result: inputRequired(`{"k":1}`, ""), h: formOnly, code: CodeProtocolError, calls: 1},
		{name: "entry without method", result: inputRequired(`{"k":{}}`, ""), h: formOnly, code: CodeProtocolError, calls: 1},
		{name: "entry with unknown key", result: inputRequired(`{"k":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}},"x":1}}`, ""), h: formOnly, code: CodeProtocolError, calls: 1},
		{name: "entry with params list", result: inputRequired(`{"k":{"method":"elicitation/create","params":[]}}`, ""), h: formOnly, code: CodeProtocolError, calls: 1},
		{name: "unknown method", result: inputRequired(`{"k":{"method":"vendor/ask","params":{}}}`, ""), h: formOnly, code: CodeUnsupportedInput, says: "vendor/ask", calls: 1},
		{name: "unknown mode", result: inputRequired(`{"k":{"method":"elicitation/create","params":{"mode":"voice","message":"m"}}}`, ""), h: formOnly, code: CodeUnsupportedInput, calls: 1},
		{name: "url without handler", result: inputRequired(`{"k":{"method":"elicitation/create","params":{"mode":"url","url":"https://x.example/","message":"m"}}}`, ""), h: formOnly, code: CodeUnsupportedInput, calls: 1},
		{name: "ML-18 sampling beside a form", result: inputRequired(`{"a":`+yesForm+`,"b":{"method":"sampling/createMessage","params":{"messages":[]}}}`, ""), h: formOnly, code: CodeUnsupportedInput, calls: 1},
		{name: "roots without params", result: inputRequired(`{"a":{"method":"roots/list"}}`, ""), h: formOnly, code: CodeUnsupportedInput, calls: 1},
		{name: "form of a kind we refuse", result: inputRequired(form(`{"type":"object","properties":{"p":{"type":"string","pattern":"x"}}}`), ""), h: formOnly, code: CodeInvalidForm, says: "pattern", calls: 1},
		{name: "bad form after a good one", result: inputRequired(`{"a":`+yesForm+`,"b":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"p":{"type":"object"}}}}}}`, ""), h: formOnly, code: CodeInvalidForm, calls: 1},
		{name: "form without schema", result: inputRequired(`{"k":{"method":"elicitation/create","params":{"message":"m"}}}`, ""), h: formOnly, code: CodeInvalidForm, calls: 1},
		{name: "form params with unknown key", result: inputRequired(`{"k":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}},"task":{}}}}`, ""), h: formOnly, code: CodeInvalidForm, calls: 1},
		{name: "no handler, form", result: inputRequired(`{"k":`+yesForm+`}`, ""), code: CodeNoHandler, calls: 1},
		{name: "no handler, state alone", result: inputRequired("", `"s"`), code: CodeNoHandler, calls: 1},
		{name: "result no object", result: `[1]`, h: formOnly, code: CodeProtocolError, calls: 1},
		{name: "content no list", result: `{"content":{}}`, h: formOnly, code: CodeProtocolError, calls: 1},
		{name: "unknown content type", result: `{"content":[{"type":"hologram","v":9007199254740993}],"x":1}`, h: formOnly, calls: 1},
		{name: "tool's own failure", result: `{"content":[{"type":"text","text":"no"}],"isError":true}`, h: formOnly, calls: 1},
	}
	for _, kind := range kinds {
		for _, c := range cases {
			t.Run(kind+"/"+c.name, func(t *testing.T) {
				p := script(c.result, complete)
				m := manage(t, kind, p, Options{})
				shown := 0
				h := c.h
				if h.Form != nil {
					inner := h.Form
					h.Form = func(ctx context.Context, q FormRequest) (forms.Result, error) { shown++; return inner(ctx, q) }
				}
				res, err := callT(t, m, `{}`, h)
				if c.code != "" {
					e := wantCode(t, err, c.code)
					if !strings.Contains(e.Message, c.says) || e.Server != "s" || e.Tool != "t" {
						t.Fatalf("%+v", e)
					}
				} else if err != nil {
					t.Fatal(err)
				} else if res.Content == nil && c.name != "resultType absent" {
					t.Fatalf("%+v", res)
				}
				if n := len(p.by("tools/call")); n != c.calls || shown != c.shown {
					t.Fatalf("%d calls, %d forms shown", n, shown)
				}
			})
		}
	}
}

func TestUnknownContentSurvives(t *testing.T) {
	p := script(`{"content":[{"type":"hologram","v":9007199254740993}],"structuredContent":{"n":9007199254740993},"x":1e400}`)
	m := manage(t, "pipe", p, Options{})
	res, err := callT(t, m, `{}`, Handlers{})
	if err != nil {
		t.Fatal(err)
	}
	if string(res.Content[0]) != `{"type":"hologram","v":9007199254740993}` || string(res.Structured) != `{"n":9007199254740993}` || !strings.Contains(string(res.Raw), `"x":1e400`) {
		t.Fatalf("%s", res.Raw)
	}
}

// TestStates: every state comes back as the bytes it came in, absent stays absent, and only the
// latest round's is echoed (ML-03, ML-04).
func TestStates(t *testing.T) {
	states := []string{`""`, `"a"`, `"\u0000"`, `"\ud800"`, `"\/\u0041\n\t"`, `"{\"b\":1, \"a\":\"\\u00e9\"}\n"`, `"é\u00e9 \u2028"`, "\"raw\u2028sep\"",
		`"<&>\u003c"`, `"` + strings.Repeat("é", MaxState/2) + `"`, `"` + strings.Repeat(`\u0000`, 2000) + `"`}
	for _, kind := range kinds {
		for i, st := range states {
			id := "ML-03"
			if st == `""` {
				id = "ML-04"
			}
			t.Run(fmt.Sprintf("%s/%s/%d", id, kind, i), func(t *testing.T) {
				p := script(inputRequired(`{"k":`+yesForm+`}`, st), inputRequired(`{"k":`+yesForm+`}`, ""), complete)
				m := manage(t, kind, p, Options{})
				if _, err := callT(t, m, `{}`, accept(yes)); err != nil {
					t.Fatal(err)
				}
				legs := p.by("tools/call")
				if got := legs[0].raw("requestState") + legs[2].raw("requestState"); got != "" {
					t.Fatalf("a state where none is due: %s", got)
				}
				if got := legs[1].raw("requestState"); got != st {
					t.Fatalf("got  %.200q\nwant %.200q", got, st)
				}
			})
		}
	}
}

func TestRounds(t *testing.T) {
	name := `{"method":"elicitation/create","params":{"message":"name?","requestedSchema":{"type":"object","properties":{"n":{"type":"string"}},"required":["n"]}}}`
	t.Run("ML-06 only this round's answers", func(t *testing.T) {
		p := script(inputRequired(`{"name":`+name+`}`, ""), inputRequired(`{"confirm":`+yesForm+`}`, ""), complete)
		m := manage(t, "json", p, Options{})
		_, err := callT(t, m, `{"x": [1,  2]}`, Handlers{Form: func(_ context.Context, q FormRequest) (forms.Result, error) {
			if q.Form.Fields[0].Name == "n" {
				return forms.Accept(forms.Values{"n": forms.TextValue("Ann")}), nil
			}
			return forms.Accept(yes), nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		legs := p.by("tools/call")
		if legs[1].raw("inputResponses") != `{"name":{"action":"accept","content":{"n":"Ann"}}}` || legs[2].raw("inputResponses") != `{"confirm":{"action":"accept","content":{"ok":true}}}` {
			t.Fatalf("%s\n%s", legs[1].Params, legs[2].Params)
		}
		for _, l := range legs {
			if l.raw("arguments") != `{"x": [1,  2]}` {
				t.Fatalf("%s", l.Params)
			}
		}
	})
	t.Run("ML-16 one at a time, in wire order, under exact keys", func(t *testing.T) {
		q := func(m string) string {
			return `{"method":"elicitation/create","params":{"message":"` + m + `","requestedSchema":{"type":"object","properties":{}}}}`
		}
		p := script(inputRequired(`{"z":`+q("1")+`,"":`+q("2")+`,"__proto__":`+q("3")+`,"a.b":`+q("4")+`,"\ud800":`+q("5")+`,"\u0061":`+q("6")+`}`, ""), complete)
		m := manage(t, "pipe", p, Options{})
		var order []string
		open := 0
		_, err := callT(t, m, `{}`, Handlers{Form: func(_ context.Context, f FormRequest) (forms.Result, error) {
			if open++; open != 1 {
				t.Error("two at once")
			}
			order = append(order, fmt.Sprintf("%s %d/%d", f.Form.Message, f.Index, f.Total))
			open--
			return forms.Accept(forms.Values{}), nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(order, []string{"1 1/6", "2 2/6", "3 3/6", "4 4/6", "5 5/6", "6 6/6"}) {
			t.Fatal(order)
		}
		ok := `{"action":"accept","content":{}}`
		want := `{"z":` + ok + `,"":` + ok + `,"__proto__":` + ok + `,"a.b":` + ok + `,"\ud800":` + ok + `,"\u0061":` + ok + `}`
		if got := p.by("tools/call")[1].raw("inputResponses"); got != want {
			t.Fatal(got)
		}
	})
	t.Run("ML-09 decline and cancel go back", func(t *testing.T) {
		for _, res := range []forms.Result{forms.Decline(), forms.Cancel()} {
			p := script(inputRequired(`{"k":`+yesForm+`}`, `"s"`), complete)
			m := manage(t, "pipe", p, Options{})
			if _, err := callT(t, m, `{}`, Handlers{Form: func(context.Context, FormRequest) (forms.Result, error) { return res, nil }}); err != nil {
				t.Fatal(err)
			}
			leg := p.by("tools/call")[1]
			if got := leg.raw("inputResponses"); got != `{"k":{"action":"`+string(res.Action)+`"}}` || leg.raw("requestState") != `"s"` {
				t.Fatalf("%s", leg.Params)
			}
		}
	})
	t.Run("ML-02 state alone: no responses, no form", func(t *testing.T) {
		p := script(inputRequired("", `"S1"`), inputRequired("", `"S2"`), complete)
		m := manage(t, "sse", p, Options{})
		res, err := callT(t, m, `{}`, accept(nil))
		if err != nil || res.Forms != 0 || res.Legs != 3 {
			t.Fatal(res, err)
		}
		for i, want := range []string{"", `"S1"`, `"S2"`} {
			if l := p.by("tools/call")[i]; l.raw("requestState") != want || l.raw("inputResponses") != "" {
				t.Fatalf("%s", l.Params)
			}
		}
	})
	t.Run("ML-02 empty inputRequests: empty responses", func(t *testing.T) {
		p := script(inputRequired(`{}`, ""), inputRequired(`{ }`, `"S"`), complete)
		m := manage(t, "pipe", p, Options{})
		if _, err := callT(t, m, `{}`, accept(nil)); err != nil {
			t.Fatal(err)
		}
		legs := p.by("tools/call")
		if legs[1].raw("inputResponses") != `{}` || legs[1].raw("requestState") != "" || legs[2].raw("inputResponses") != `{}` || legs[2].raw("requestState") != `"S"` {
			t.Fatalf("%s\n%s", legs[1].Params, legs[2].Params)
		}
	})
	t.Run("ML-11 rounds are capped", func(t *testing.T) {
		for _, rounds := range []int{0, 1, 10, 99} {
			p := script(inputRequired(`{"k":`+yesForm+`}`, ""))
			q := script(inputRequired("", `"s"`))
			want := map[int]int{0: 9, 1: 2, 10: 11, 99: 33}[rounds]
			for _, p := range []*peer{p, q} {
				m := manage(t, "pipe", p, Options{Rounds: rounds})
				_, err := callT(t, m, `{}`, accept(yes))
				wantCode(t, err, CodeRoundLimit)
				if n := len(p.by("tools/call")); n != want {
					t.Fatalf("rounds %d: %d requests, want %d", rounds, n, want)
				}
			}
		}
	})
	t.Run("ML-11 seven forms", func(t *testing.T) {
		var all []string
		for range 7 {
			all = append(all, inputRequired(`{"k":`+yesForm+`}`, ""))
		}
		m := manage(t, "json", script(append(all, complete)...), Options{})
		if res, err := callT(t, m, `{}`, accept(yes)); err != nil || res.Forms != 7 {
			t.Fatal(err)
		}
	})
	t.Run("HL-03 a handler's error is never an answer", func(t *testing.T) {
		p := script(inputRequired(`{"k":`+yesForm+`}`, ""), complete)
		m := manage(t, "pipe", p, Options{})
		_, err := callT(t, m, `{}`, Handlers{Form: func(context.Context, FormRequest) (forms.Result, error) {
			return forms.Result{}, errors.New("nobody there")
		}})
		wantCode(t, err, CodeCancelled)
		if n := len(p.by("tools/call")); n != 1 {
			t.Fatal("something was sent")
		}
	})
}

// TestInvalidAnswers: what does not fit the server's schema is not sent, whoever let it through.
func TestInvalidAnswers(t *testing.T) {
	schema := `{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"s":{"type":"string","maxLength":3},"n":{"type":"integer"},"e":{"type":"string","enum":["a","b"]}},"required":["s"]}}}`
	num, _ := forms.ParseNumber("1.5")
	for name, res := range map[string]forms.Result{
		"wrong type":       forms.Accept(forms.Values{"s": forms.BoolValue(true)}),
		"undeclared name":  forms.Accept(forms.Values{"s": forms.TextValue("x"), "zz": forms.TextValue("SECRET-ANSWER")}),
		"unknown option":   forms.Accept(forms.Values{"s": forms.TextValue("x"), "e": forms.TextValue("c")}),
		"required missing": forms.Accept(forms.Values{}),
		"too long":         forms.Accept(forms.Values{"s": forms.TextValue("SECRET-ANSWER")}),
		"not an integer":   forms.Accept(forms.Values{"s": forms.TextValue("x"), "n": forms.NumberValue(num)}),
		"no action":        {},
		"unknown action":   {Action: "maybe"},
	} {
		t.Run("HL-02/"+name, func(t *testing.T) {
			p := script(inputRequired(`{"k":`+schema+`}`, `"st"`), complete)
			m := manage(t, "pipe", p, Options{})
			_, err := callT(t, m, `{}`, Handlers{Form: func(context.Context, FormRequest) (forms.Result, error) { return res, nil }})
			e := wantCode(t, err, CodeInvalidAnswer)
			if strings.Contains(e.Message, "SECRET-ANSWER") {
				t.Fatal("the answer is in the message:", e.Message)
			}
			if n := len(p.by("tools/call")); n != 1 {
				t.Fatalf("%d tools/call", n)
			}
		})
	}
}

func TestAnswerText(t *testing.T) {
	schema := `{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"b":{"type":"integer"},"a":{"type":"number"},"__proto__":{"type":"string"},"m":{"type":"array","items":{"type":"string","enum":["x","y"]}},"left":{"type":"string"}}}}}`
	p := script(inputRequired(`{"k":`+schema+`}`, ""), complete)
	m := manage(t, "json", p, Options{})
	n, _ := forms.ParseNumber("5.0")
	f, _ := forms.ParseNumber("0.10")
	if _, err := callT(t, m, `{}`, accept(forms.Values{"a": forms.NumberValue(f), "b": forms.NumberValue(n), "__proto__": forms.TextValue(""), "m": forms.ListValue([]string{"y", "x"})})); err != nil {
		t.Fatal(err)
	}
	if got := p.by("tools/call")[1].raw("inputResponses", "k", "content"); got != `{"b":5,"a":0.10,"__proto__":"","m":["y","x"]}` {
		t.Fatal(got)
	}
}

// TestParamsAreTheCallers: nothing of one call reaches another or the caller's own values (ML-07).
func TestParamsAreTheCallers(t *testing.T) {
	t.Run("ML-07 ML-08", testParamsAreTheCallers)
}

func testParamsAreTheCallers(t *testing.T) {
	p := newPeer().handle("tools/call", askOnce(`{"k":`+yesForm+`}`, `"S1"`))
	m := manage(t, "json", p, Options{})
	args := json.RawMessage(`{"a":1}`)
	for range 2 {
		if _, err := m.CallTool(t.Context(), bind(t, m, "t"), args, accept(yes)); err != nil {
			t.Fatal(err)
		}
	}
	if string(args) != `{"a":1}` {
		t.Fatal("ML-07: the arguments changed")
	}
	legs := p.by("tools/call")
	if legs[2].raw("requestState") != "" || legs[2].raw("inputResponses") != "" {
		t.Fatalf("ML-07: %s", legs[2].Params)
	}
	ids := map[string]bool{}
	for _, r := range p.got {
		if r.ID != nil && ids[string(r.ID)] {
			t.Fatalf("ML-08: the id %s was used twice", r.ID)
		}
		ids[string(r.ID)] = true
	}
}

// TestThinkingIsFree: the time that a person takes counts against no leg (ML-12, HL-07).
func TestThinkingIsFree(t *testing.T) {
	t.Run("ML-12 HL-07", func(t *testing.T) { synctest.Test(t, testThinkingIsFree) })
}

func testThinkingIsFree(t *testing.T) {
	p := script(inputRequired(`{"k":`+yesForm+`}`, ""), complete)
	m := manage(t, "pipe", p, Options{LegTimeout: 60 * time.Millisecond})
	_, err := callT(t, m, `{}`, Handlers{Form: func(context.Context, FormRequest) (forms.Result, error) {
		time.Sleep(150 * time.Millisecond)
		return forms.Accept(yes), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// TestEscapedWords: a word of the protocol is the same however its characters are spelt.
func TestEscapedWords(t *testing.T) {
	round := strings.Replace(inputRequired(`{"k":`+yesForm+`}`, `"s"`), "input_required", `input\u005frequired`, 1)
	done := strings.Replace(complete, `"complete"`, `"c\u006fmplete"`, 1)
	if done == complete {
		done = `{"resultType":"c\u006fmplete",` + complete[1:]
	}
	if res, err := callT(t, manage(t, "pipe", script(round, done), Options{}), `{}`, accept(yes)); err != nil || res.Legs != 2 {
		t.Errorf("%v %+v", err, res)
	}
}
