package mcpmgr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"askback/forms"
)

// TestHostPathMethods: with the Host path's handlers, rounds of prompts/get and resources/read,
// and requests other than forms, are unsupported input, and nothing of them is shown (AC11).
func TestHostPathMethods(t *testing.T) {
	for _, kind := range kinds {
		round := func(r *preq) { r.result(inputRequired(`{"k":`+yesForm+`}`, `"s"`)) }
		p := newPeer().handle("prompts/get", round).handle("resources/read", round)
		m := manage(t, kind, p, Options{})
		h := Handlers{Form: func(context.Context, FormRequest) (forms.Result, error) { t.Error("shown"); return forms.Cancel(), nil }}
		_, err := m.GetPrompt(t.Context(), "s", "p", nil, h)
		wantCode(t, err, CodeUnsupportedInput)
		_, err = m.ReadResource(t.Context(), "s", "x://y", h)
		wantCode(t, err, CodeUnsupportedInput)
		for _, method := range []string{"prompts/get", "resources/read"} {
			rs := p.by(method)
			if len(rs) != 1 || rs[0].raw("_meta", "io.modelcontextprotocol/clientCapabilities") != "{}" {
				t.Fatalf("%s: %d requests, %s", method, len(rs), rs[0].Params)
			}
		}
		p.handle("prompts/get", func(r *preq) { r.result(`{"messages":[]}`) })
		if res, err := m.GetPrompt(t.Context(), "s", "p", json.RawMessage(`{"a":"b"}`), h); err != nil || string(res.Raw) != `{"messages":[]}` {
			t.Fatal(err)
		}
	}
}

var allRequests = strings.Join(strings.Fields(`{
	"a":{"method":"elicitation/create","params":{"message":"A","requestedSchema":{"type":"object","properties":{}}}},
	"u":{"method":"elicitation/create","params":{"mode":"url","message":"U","url":"https://x.example/c?d=1","elicitationId":"e1"}},
	"s":{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":5}},
	"r":{"method":"roots/list"},
	"b":{"method":"elicitation/create","params":{"mode":"form","message":"B","requestedSchema":{"type":"object","properties":{}}}}}`), "")

// everyHandler answers all kinds of requests and records them.
func everyHandler(seen *[]string) Handlers {
	var mu sync.Mutex
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		*seen = append(*seen, fmt.Sprintf(format, args...))
	}
	return Handlers{
		Form: func(_ context.Context, q FormRequest) (forms.Result, error) {
			say("form %s %d/%d pushed %v", q.Form.Message, q.Index, q.Total, q.Pushed)
			return forms.Decline(), nil
		},
		URL: func(_ context.Context, q URLRequest) (forms.Action, error) {
			say("url %s %s %s", q.Message, q.URL, q.ElicitationID)
			return forms.ActionAccept, nil
		},
		Sampling: func(_ context.Context, q SamplingRequest) (json.RawMessage, error) {
			say("sampling %s", q.Params)
			return json.RawMessage(`{"role":"assistant","content":{"type":"text","text":"yo"},"model":"me"}`), nil
		},
		Roots: func(context.Context, RootsRequest) ([]Root, error) {
			say("roots")
			return []Root{{URI: "file:///tmp", Name: "t"}}, nil
		},
	}
}

// TestInspectorRounds: the same driver with all handlers, on all three methods.
func TestInspectorRounds(t *testing.T) {
	for _, kind := range kinds {
		for _, method := range []string{"tools/call", "prompts/get", "resources/read"} {
			t.Run("ML-20 ML-26/"+kind+"/"+method, func(t *testing.T) {
				p := newPeer().handle(method, askOnce(allRequests, `"S"`))
				m := manage(t, kind, p, Options{Inspect: &Inspect{}, Rounds: 10})
				var seen []string
				h := everyHandler(&seen)
				call := func() (err error) {
					switch method {
					case "tools/call":
						_, err = callT(t, m, `{"x":1}`, h)
					case "prompts/get":
						_, err = m.GetPrompt(t.Context(), "s", "p", json.RawMessage(`{"l":"é"}`), h)
					default:
						_, err = m.ReadResource(t.Context(), "s", "oni://测试", h)
					}
					return err
				}
				for range 2 { // twice asks twice: nothing is cached
					if err := call(); err != nil {
						t.Fatal(err)
					}
				}
				want := []string{"form A 1/5 pushed false", "url U https://x.example/c?d=1 e1", `sampling {"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":5}`, "roots", "form B 5/5 pushed false"}
				if fmt.Sprint(seen) != fmt.Sprint(append(want, want...)) {
					t.Fatalf("%q", seen)
				}
				legs := p.by(method)
				if len(legs) != 4 || legs[1].raw("inputResponses") != `{"a":{"action":"decline"},"u":{"action":"accept"},"s":{"role":"assistant","content":{"type":"text","text":"yo"},"model":"me"},"r":{"roots":[{"uri":"file:///tmp","name":"t"}]},"b":{"action":"decline"}}` {
					t.Fatalf("ML-26: %s", legs[1].Params)
				}
				if caps := legs[0].raw("_meta", "io.modelcontextprotocol/clientCapabilities"); caps != `{"elicitation":{"form":{},"url":{}},"roots":{},"sampling":{"tools":{}}}` {
					t.Fatal(caps)
				}
				if kind != "pipe" && method == "resources/read" && legs[1].Header.Get("Mcp-Name") != "=?base64?b25pOi8v5rWL6K+V?=" {
					t.Fatal(legs[1].Header)
				}
			})
		}
	}
}

func TestInspectorRefusals(t *testing.T) {
	one := func(q string) *peer { return newPeer().handle("tools/call", askOnce(`{"k":`+q+`}`, "")) }
	url := func(u string) string {
		return `{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"` + u + `"}}`
	}
	sampling := `{"method":"sampling/createMessage","params":{"messages":[]}}`
	var seen []string
	base := everyHandler(&seen)
	cases := []struct {
		name string
		p    *peer
		edit func(*Handlers)
		code Code
	}{
		{"no address", one(url("")), nil, CodeInvalidForm},
		{"an address without end", one(url("https://x/" + strings.Repeat("x", maxAddress))), nil, CodeInvalidForm},
		{"unknown key", one(`{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://x/","requestedSchema":{}}}`), nil, CodeInvalidForm},
		{"sampling without messages", one(`{"method":"sampling/createMessage","params":{}}`), nil, CodeInvalidForm},
		{"sampling rejected", one(sampling), func(h *Handlers) {
			h.Sampling = func(context.Context, SamplingRequest) (json.RawMessage, error) {
				return nil, errors.New("the person rejected it")
			}
		}, CodeCancelled},
		{"sampling answer is no JSON", one(sampling), func(h *Handlers) {
			h.Sampling = func(context.Context, SamplingRequest) (json.RawMessage, error) { return json.RawMessage(`{oops`), nil }
		}, CodeInvalidAnswer},
		{"sampling answer without model", one(sampling), func(h *Handlers) {
			h.Sampling = func(context.Context, SamplingRequest) (json.RawMessage, error) {
				return json.RawMessage(`{"role":"assistant","content":[]}`), nil
			}
		}, CodeInvalidAnswer},
		{"a code of the handler's own", one(sampling), func(h *Handlers) {
			h.Sampling = func(context.Context, SamplingRequest) (json.RawMessage, error) {
				return nil, &ToolCallError{Code: "input_required", Message: "nobody is there"}
			}
		}, "input_required"},
		{"url answer is none", one(url("https://x/")), func(h *Handlers) {
			h.URL = func(context.Context, URLRequest) (forms.Action, error) { return "", nil }
		}, CodeInvalidAnswer},
		{"roots without handler", one(`{"method":"roots/list"}`), func(h *Handlers) { h.Roots = nil }, CodeUnsupportedInput},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := manage(t, "json", c.p, Options{Inspect: &Inspect{}})
			h := base
			if c.edit != nil {
				c.edit(&h)
			}
			_, err := callT(t, m, `{}`, h)
			wantCode(t, err, c.code)
			if n := len(c.p.by("tools/call")); n != 1 {
				t.Fatalf("%d requests: a retry was sent", n)
			}
			if h.Roots == nil && strings.Contains(c.p.by("tools/call")[0].raw("_meta"), "roots") {
				t.Fatal("roots are declared without roots")
			}
		})
	}
}

// TestAnyAddress: an address that nobody should open is put to the person all the same, as it is, and what they make of
// it goes back (SE-06).
func TestAnyAddress(t *testing.T) {
	for _, address := range []string{"javascript:alert(1)", "file:///etc/passwd ; https://x.example/$(touch /var/p)", "zoommtg://x.example/join", "//x", "x y", "https://%"} {
		for _, action := range []forms.Action{forms.ActionDecline, forms.ActionCancel} {
			p := newPeer().handle("tools/call", askOnce(`{"k":{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"`+address+`"}}}`, ""))
			shown := ""
			h := Handlers{URL: func(_ context.Context, q URLRequest) (forms.Action, error) {
				shown = q.URL
				return action, nil
			}}
			_, err := callT(t, manage(t, "pipe", p, Options{Inspect: &Inspect{}}), `{}`, h)
			if err != nil || shown != address {
				t.Fatalf("SE-06: %q was shown as %q: %v", address, shown, err)
			}
			if got := p.by("tools/call")[1].raw("inputResponses"); got != `{"k":{"action":"`+string(action)+`"}}` {
				t.Errorf("SE-06: %s", got)
			}
		}
	}
}

// TestPush: a legacy server's own requests are answered for an inspector that declared them, and
// nowhere else.
func TestPush(t *testing.T) {
	for _, kind := range []string{"pipe", "sse"} {
		t.Run(kind, func(t *testing.T) {
			p := newPeer()
			p.legacyOnly = true
			p.handle("tools/call", func(r *preq) {
				r.out(`{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"message":"A","requestedSchema":{"type":"object","properties":{}}}}`)
				r.out(`{"jsonrpc":"2.0","id":"q2","method":"roots/list"}`)
				r.out(`{"jsonrpc":"2.0","id":"q3","method":"sampling/createMessage","params":{"messages":[]}}`)
				r.out(`{"jsonrpc":"2.0","id":"q4","method":"elicitation/create","params":{"message":"A","requestedSchema":{"type":"object","properties":{"p":{"type":"object"}}}}}`)
				r.out(`{"jsonrpc":"2.0","id":"q5","method":"vendor/x"}`)
				eventually(t, "the answers", func() bool { return len(p.by("")) == 5 })
				r.result(complete)
			})
			var seen []string
			push := everyHandler(&seen)
			push.Sampling = nil
			m := manage(t, kind, p, Options{Inspect: &Inspect{Push: push}})
			if _, err := callT(t, m, `{}`, Handlers{}); err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, r := range p.by("") {
				res, _ := lookup(r.Body, "result")
				e, _ := lookup(r.Body, "error")
				code, _ := lookup(e, "code")
				got[string(r.ID)] = string(res) + string(code)
			}
			want := map[string]string{`"q1"`: `{"action":"decline"}`, `"q2"`: `{"roots":[{"uri":"file:///tmp","name":"t"}]}`, `"q3"`: "-32601", `"q4"`: "-32602", `"q5"`: "-32601"}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatal(got)
			}
			if caps := p.by("initialize")[0].raw("capabilities"); caps != `{"elicitation":{"form":{},"url":{}},"roots":{}}` {
				t.Fatal(caps)
			}
			if fmt.Sprint(seen) != "[form A 1/1 pushed true roots]" && fmt.Sprint(seen) != "[roots form A 1/1 pushed true]" {
				t.Fatalf("%q", seen)
			}
		})
	}
}

// TestPushRejected: a sampling request that the person rejects is answered in the protocol's own words, and the call
// goes on; one that failed for another reason is not called rejected.
func TestPushRejected(t *testing.T) {
	for want, fails := range map[string]error{
		`{"code":-1,"message":"User rejected sampling request"}`:   &ToolCallError{Code: CodeCancelled, Message: "rejected"},
		`{"code":-32603,"message":"the request was not answered"}`: &ToolCallError{Code: CodeInvalidAnswer, Message: "none"},
	} {
		for _, kind := range []string{"pipe", "sse"} {
			p := newPeer()
			p.legacyOnly = true
			p.handle("tools/call", func(r *preq) {
				r.out(`{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"messages":[]}}`)
				eventually(t, "the answer", func() bool { return len(p.by("")) == 1 })
				r.result(complete)
			})
			push := Handlers{Sampling: func(context.Context, SamplingRequest) (json.RawMessage, error) { return nil, fails }}
			if _, err := callT(t, manage(t, kind, p, Options{Inspect: &Inspect{Push: push}}), `{}`, Handlers{}); err != nil {
				t.Fatal(err)
			}
			if got, _ := lookup(p.by("")[0].Body, "error"); string(got) != want {
				t.Errorf("%s: %s, want %s", kind, got, want)
			}
		}
	}
}

// TestPushTakenBack: a legacy server that cancels a request of its own gets no answer to it, and what it asked closes.
func TestPushTakenBack(t *testing.T) {
	for _, kind := range []string{"pipe", "sse"} {
		t.Run(kind, func(t *testing.T) {
			p := newPeer()
			p.legacyOnly = true
			shown, closed := make(chan struct{}), make(chan struct{})
			p.handle("tools/call", func(r *preq) {
				r.out(`{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"A","requestedSchema":{"type":"object","properties":{}}}}`)
				<-shown
				r.notify("notifications/cancelled", `{"requestId":8}`) // another's
				r.notify("notifications/cancelled", `{"requestId":7,"reason":"enough"}`)
				<-closed
				r.out(`{"jsonrpc":"2.0","id":9,"method":"ping"}`)
				eventually(t, "the ping's answer", func() bool { return len(p.by("")) > 0 })
				r.result(complete)
			})
			m := manage(t, kind, p, Options{Inspect: &Inspect{Push: Handlers{Form: func(ctx context.Context, _ FormRequest) (forms.Result, error) {
				defer close(closed)
				close(shown)
				<-ctx.Done()
				return forms.Result{}, context.Cause(ctx)
			}}}})
			if _, err := callT(t, m, `{}`, Handlers{}); err != nil {
				t.Fatal(err)
			}
			if all := p.by(""); len(all) != 1 || string(all[0].ID) != "9" {
				t.Fatalf("%d answers, the first to %s", len(all), all[0].ID)
			}
		})
	}
}

// TestPushTakenBackAtOnce: a request is known before what follows it, however its id is spelt.
func TestPushTakenBackAtOnce(t *testing.T) {
	const n = 10
	for _, kind := range []string{"pipe", "sse"} {
		t.Run(kind, func(t *testing.T) {
			p := newPeer()
			p.legacyOnly = true
			closed := make(chan struct{}, n)
			p.handle("tools/call", func(r *preq) {
				for i := range n {
					r.out(fmt.Sprintf(`{"jsonrpc":"2.0","id":"<%d>","method":"elicitation/create","params":{"message":"A","requestedSchema":{"type":"object","properties":{}}}}`, i))
					r.notify("notifications/cancelled", fmt.Sprintf(`{"requestId":"\u003c%d>"}`, i))
				}
				for range n {
					<-closed
				}
				r.result(complete)
			})
			m := manage(t, kind, p, Options{Inspect: &Inspect{Push: Handlers{Form: func(ctx context.Context, _ FormRequest) (forms.Result, error) {
				<-ctx.Done()
				closed <- struct{}{}
				return forms.Result{}, context.Cause(ctx)
			}}}})
			if _, err := callT(t, m, `{}`, Handlers{}); err != nil {
				t.Fatal(err)
			}
			if all := p.by(""); len(all) != 0 {
				t.Fatalf("%d answers, the first to %s", len(all), all[0].ID)
			}
		})
	}
}

func TestInspectorExtras(t *testing.T) {
	for _, kind := range []string{"pipe", "json"} {
		for _, legacy := range []bool{false, true} {
			t.Run(fmt.Sprint(kind, " legacy ", legacy), func(t *testing.T) {
				p := newPeer()
				p.legacyOnly, p.session = legacy, "s"
				p.caps = `{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"logging":{}}`
				p.handle("prompts/list", func(r *preq) { r.result(`{"prompts":[{"name":"p"}]}`) })
				p.handle("completion/complete", func(r *preq) { r.result(`{"completion":{"values":["a"]}}`) })
				for _, x := range []string{"logging/setLevel", "resources/subscribe", "resources/unsubscribe"} {
					p.handle(x, func(r *preq) { r.result(`{}`) })
				}
				var mu sync.Mutex
				var events []string
				m := manage(t, kind, p, Options{Inspect: &Inspect{Event: func(e Event) {
					mu.Lock()
					defer mu.Unlock()
					events = append(events, string(e.Kind)+" "+e.URI+e.Log.Level)
				}}})
				heard := func(what string) {
					t.Helper()
					eventually(t, what, func() bool { mu.Lock(); defer mu.Unlock(); return strings.Contains(fmt.Sprint(events), what) })
				}
				if l, err := m.List(t.Context(), "s", "prompts/list"); err != nil || len(l) != 1 {
					t.Fatal(l, err)
				}
				if l, err := m.List(t.Context(), "s", "resources/list"); err != nil || len(l) != 0 {
					t.Fatal(l, err)
				}
				if raw, err := m.Request(t.Context(), "s", "completion/complete", json.RawMessage(`{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}`)); err != nil || string(raw) != `{"completion":{"values":["a"]}}` {
					t.Fatal(string(raw), err)
				}
				if err := m.SetLogLevel(t.Context(), "s", "debug"); err != nil {
					t.Fatal(err)
				}
				if _, err := callT(t, m, `{}`, Handlers{}); err != nil {
					t.Fatal(err)
				}
				if !legacy && p.by("tools/call")[0].raw("_meta", "io.modelcontextprotocol/logLevel") != `"debug"` || legacy && len(p.by("logging/setLevel")) != 1 {
					t.Fatal("the log level")
				}
				stop, err := m.Subscribe(t.Context(), "s", "x://y")
				if err != nil {
					t.Fatal(err)
				}
				sub := ""
				if !legacy {
					for _, l := range p.by("subscriptions/listen") {
						if l.raw("notifications", "resourceSubscriptions") == `["x://y"]` {
							sub = `"_meta":{"io.modelcontextprotocol/subscriptionId":` + string(l.ID) + `},`
						}
					}
				}
				if legacy && kind == "json" {
					eventually(t, "a stream", func() bool { p.mu.Lock(); defer p.mu.Unlock(); return len(p.pushers) > 0 })
				}
				p.push(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{` + sub + `"uri":"x://y"}}`)
				heard("resources/updated x://y")
				stop()
				if legacy {
					eventually(t, "unsubscribe", func() bool { return len(p.by("resources/unsubscribe")) == 1 })
					p.push(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","data":1}}`)
					heard("message warning")
					p.push(`{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}`)
					heard("prompts/list_changed")
				}
				st, _ := m.Server("s")
				if st.Info.Name != "peer" || st.Info.Version != "7" || !legacy && st.Instructions != "be kind" || string(st.Capabilities) != p.caps {
					t.Fatalf("%+v", st)
				}
			})
		}
	}
}

// TestOutputSchema: checked on a final result that is no error, and on nothing else (ML-21).
func TestOutputSchema(t *testing.T) {
	tools := `[{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"id":{"type":"integer"},"o":{"type":"object","properties":{"deep":{"type":"array","items":{"type":"string"}}}}},"required":["id"]}}]`
	cases := []struct{ name, result, says string }{
		{"fits", `{"content":[],"structuredContent":{"id":1}}`, ""},
		{"does not fit", `{"content":[],"structuredContent":{"id":1,"o":{"deep":["a",7]}}}`, "o.deep[1]"},
		{"required missing", `{"content":[],"structuredContent":{}}`, "structuredContent"},
		{"absent", `{"content":[]}`, "no structuredContent"},
		{"error results are not checked", `{"content":[],"isError":true}`, ""},
	}
	for _, c := range cases {
		t.Run("ML-21/"+c.name, func(t *testing.T) {
			p := script(inputRequired("", `"S"`), c.result)
			p.tools = tools
			m := manage(t, "pipe", p, Options{})
			_, err := callT(t, m, `{}`, accept(yes))
			if c.says == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if e := wantCode(t, err, CodeProtocolError); !strings.Contains(e.Message, c.says) {
				t.Fatal(e)
			}
		})
	}
	t.Run("what cannot be compiled is not checked", func(t *testing.T) {
		p := script(`{"content":[],"structuredContent":{"id":"x"}}`)
		p.tools = `[{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"$ref":"https://elsewhere.example/schema"}}]`
		m := manage(t, "pipe", p, Options{})
		if _, err := callT(t, m, `{}`, accept(yes)); err != nil {
			t.Fatal(err)
		}
	})
}
