package mcpmgr

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"askback/mcpmgr/config"
)

// TestHeaders: every leg bears the headers of the protocol, retries too (TR-03, TR-04).
func TestHeaders(t *testing.T) {
	t.Run("TR-03 TR-04", testHeaders)
}

func testHeaders(t *testing.T) {
	p := newPeer().handle("tools/call", askOnce(`{"k":`+yesForm+`}`, `"s"`))
	p.tools = `[{"name":"café","inputSchema":{"type":"object","properties":{
		"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"},
		"o":{"type":"object","properties":{"flag":{"type":"boolean","x-mcp-header":"Flag"}}},
		"gone":{"type":"string","x-mcp-header":"Gone"},"nil":{"type":"string","x-mcp-header":"Nil"},"big":{"type":"integer","x-mcp-header":"Big"}}}},
		{"name":"bad","inputSchema":{"type":"object","properties":{"x":{"type":"number","x-mcp-header":"X"}}}},
		{"name":"twice","inputSchema":{"type":"object","properties":{"x":{"type":"string","x-mcp-header":"X"},"y":{"type":"string","x-mcp-header":"x"}}}},
		{"name":"inject","inputSchema":{"type":"object","properties":{"x":{"type":"string","x-mcp-header":"A\r\nB"}}}}]`
	m := manage(t, "json", p, Options{Name: "me", Version: "2"}, func(c *config.Server) { c.Headers = []config.Pair{{Name: "X-Team", Value: "blue"}} })
	st, _ := m.Server("s")
	if st.Tools != 1 || len(st.Warnings) != 3 || !strings.Contains(st.Warnings[0], `"bad"`) {
		t.Fatalf("%+v", st)
	}
	_, err := m.CallTool(t.Context(), bind(t, m, "café"), json.RawMessage(`{"region":"us-west1 é","n":42.0,"o":{"flag":true},"nil":null,"big":9007199254740993}`), accept(yes))
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range p.by("tools/call") {
		for k, want := range map[string]string{
			"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "=?base64?Y2Fmw6k=?=",
			"Mcp-Param-Region": "=?base64?dXMtd2VzdDEgw6k=?=", "Mcp-Param-N": "42", "Mcp-Param-Flag": "true",
			"Mcp-Param-Gone": "", "Mcp-Param-Nil": "", "Mcp-Param-Big": "", "X-Team": "blue",
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Session-Id": "",
		} {
			if got := l.Header.Get(k); got != want {
				t.Errorf("TR-03: leg %d: %s is %q, want %q", i+1, k, got, want)
			}
		}
		if got := l.raw("_meta", "io.modelcontextprotocol/clientCapabilities"); got != `{"elicitation":{"form":{}}}` {
			t.Errorf("TR-04: %s", got)
		}
		if got := l.raw("_meta", "io.modelcontextprotocol/clientInfo"); got != `{"name":"me","version":"2"}` {
			t.Error(got)
		}
	}
	for _, method := range []string{"server/discover", "tools/list"} {
		l := p.by(method)[0]
		if l.Header.Get("Mcp-Method") != method || l.Header.Get("Mcp-Name") != "" || l.raw("_meta", "io.modelcontextprotocol/clientCapabilities") != `{}` {
			t.Errorf("%s: %v %s", method, l.Header, l.Params)
		}
	}
}

func TestHeaderValue(t *testing.T) {
	for in, want := range map[string]string{
		"us-west1": "us-west1", "a b": "a b", "": "", " x": "=?base64?IHg=?=", "x ": "=?base64?eCA=?=", "a\r\nEvil: 1": "=?base64?YQ0KRXZpbDogMQ==?=",
		"=?base64?literal?=": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=", "tab\t": "=?base64?dGFiCQ==?=", "oni://测试": "=?base64?b25pOi8v5rWL6K+V?=",
	} {
		if got := headerValue(in); got != want {
			t.Errorf("TR-03: %q is %q, want %q", in, got, want)
		}
	}
}

// TestHeaderMismatch: on -32020 the tools are listed once and the same leg goes out once more,
// with a new id; a tool that changed ends the call (TR-01).
func TestHeaderMismatch(t *testing.T) {
	mismatch := func(r *preq) { r.fail(-32020, "Mcp-Param-Region is missing") }
	for _, on := range []string{"first leg", "retry"} {
		t.Run("TR-01 "+on, func(t *testing.T) {
			var n atomic.Int32
			p := newPeer()
			p.handle("tools/call", func(r *preq) {
				first := r.raw("requestState") == ""
				if (on == "first leg") == first && n.Add(1) == 1 {
					mismatch(r)
					return
				}
				askOnce(`{"k":`+yesForm+`}`, `"s"`)(r)
			})
			m := manage(t, "json", p, Options{})
			lists := len(p.by("tools/list"))
			if _, err := callT(t, m, `{"a":1}`, accept(yes)); err != nil {
				t.Fatal(err)
			}
			legs := p.by("tools/call")
			if len(legs) != 3 || len(p.by("tools/list")) != lists+1 {
				t.Fatalf("%d legs, %d lists", len(legs), len(p.by("tools/list"))-lists)
			}
			a, b := legs[0], legs[1]
			if on == "retry" {
				a, b = legs[1], legs[2]
			}
			if string(a.ID) == string(b.ID) || string(a.Params) != string(b.Params) {
				t.Fatalf("%s %s\n%s %s", a.ID, a.Params, b.ID, b.Params)
			}
		})
		t.Run("TR-01 again, "+on, func(t *testing.T) {
			p := newPeer()
			p.handle("tools/call", func(r *preq) {
				if on == "retry" && r.raw("requestState") == "" {
					askOnce(`{"k":`+yesForm+`}`, `"s"`)(r)
					return
				}
				mismatch(r)
			})
			m := manage(t, "json", p, Options{})
			_, err := callT(t, m, `{}`, accept(yes))
			if e := wantCode(t, err, CodeServerError); e.RPCCode != -32020 {
				t.Fatal(e)
			}
			if n, want := len(p.by("tools/call")), map[string]int{"first leg": 2, "retry": 3}[on]; n != want {
				t.Fatalf("%d legs", n)
			}
		})
	}
	t.Run("the list does not come", func(t *testing.T) {
		p := newPeer()
		p.handle("tools/call", func(r *preq) {
			p.handle("tools/list", func(r *preq) { r.silent() })
			mismatch(r)
		})
		began := time.Now()
		m := manage(t, "json", p, Options{}, func(s *config.Server) { s.Timeout = time.Second })
		_, err := callT(t, m, `{}`, Handlers{})
		wantCode(t, err, CodeTimeout)
		if d := time.Since(began); d > 20*time.Second {
			t.Errorf("the entry's timeout does not count: %v", d)
		}
	})
	t.Run("TR-01 new header in the same breath", func(t *testing.T) {
		p := newPeer()
		p.handle("tools/call", func(r *preq) {
			p.setTools(`[{"name":"t","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}]`)
			mismatch(r)
		})
		m := manage(t, "json", p, Options{})
		_, err := callT(t, m, `{"region":"eu"}`, Handlers{})
		wantCode(t, err, CodeStaleBinding)
		if len(p.by("tools/call")) != 1 {
			t.Fatal("a leg was sent under a changed definition")
		}
	})
}

func TestMissingCapability(t *testing.T) {
	for _, kind := range kinds {
		t.Run("HL-12/"+kind, func(t *testing.T) {
			p := newPeer().handle("tools/call", func(r *preq) { r.failData(-32021, "needs a form", `{"requiredCapabilities":{}}`) })
			m := manage(t, kind, p, Options{})
			_, err := callT(t, m, `{}`, Handlers{})
			wantCode(t, err, CodeNoHandler)
			if got := p.by("tools/call")[0].raw("_meta", "io.modelcontextprotocol/clientCapabilities"); got != `{}` {
				t.Fatal(got)
			}
			_, err = callT(t, m, `{}`, accept(yes))
			wantCode(t, err, CodeServerError)
		})
	}
}

// TestOddHTTP: replies that are none end their own call and nothing else.
func TestOddHTTP(t *testing.T) {
	id := func(r *preq, s string) string { return strings.ReplaceAll(s, "$ID", string(r.ID)) }
	event := func(s string) string { return "event: message\ndata: " + s + "\n\n" }
	ok := `{"jsonrpc":"2.0","id":$ID,"result":` + complete + `}`
	cases := []struct {
		name   string
		status int
		typ    string
		body   string
		code   Code
		says   string
	}{
		{"200 html", 200, "text/html", "<html>", CodeProtocolError, "text/html"},
		{"200 without type", 200, "", "", CodeProtocolError, ""},
		{"200 empty", 200, "application/json", "\n", CodeProtocolError, "empty"},
		{"200 garbage", 200, "application/json", "{oops", CodeProtocolError, "not JSON"},
		{"200 a request", 200, "application/json", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, CodeProtocolError, ""},
		{"200 a batch", 200, "application/json", `[` + ok + `]`, CodeProtocolError, ""},
		{"200 foreign id", 200, "application/json", `{"jsonrpc":"2.0","id":99999,"result":{}}`, CodeProtocolError, "another request"},
		{"200 string id", 200, "application/json", strings.Replace(ok, "$ID", `"$ID"`, 1), "", ""},
		{"200 float id", 200, "application/json", strings.Replace(ok, "$ID", "$ID.0", 1), "", ""},
		{"200 byte order mark", 200, "application/json; charset=utf-8", string(bom) + ok, "", ""},
		{"200 error without id", 200, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"bad request"}}`, CodeServerError, "bad request"},
		{"400 byte order mark", 400, "application/json", string(bom) + `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"bad args"}}`, CodeServerError, "bad args"},
		{"200 no id", 200, "application/json", `{"jsonrpc":"2.0","result":{}}`, CodeProtocolError, ""},
		{"200 deep", 200, "application/json", `{"jsonrpc":"2.0","id":$ID,"result":{"x":` + strings.Repeat("[", 1500) + strings.Repeat("]", 1500) + `}}`, CodeProtocolError, "nested"},
		{"200 error", 200, "application/json", `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32099,"message":"boom"}}`, CodeServerError, "boom"},
		{"400 error", 400, "application/json", `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"bad args"}}`, CodeServerError, "bad args"},
		{"400 error without id", 400, "application/json", `{"jsonrpc":"2.0","error":{"code":-32602,"message":"bad args"}}`, CodeServerError, "bad args"},
		{"400 error under another id", 400, "application/json", `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32602,"message":"missing x"}}`, CodeServerError, "missing x"},
		{"400 error as an event", 400, "text/event-stream", event(`{"jsonrpc":"2.0","id":"server-error","error":{"code":-32602,"message":"missing x"}}`), CodeServerError, "missing x"},
		{"200 error beside a null", 200, "application/json", `{"jsonrpc":"2.0","id":$ID,"result":null,"error":{"code":-32602.0,"message":"missing x"}}`, CodeServerError, "missing x"},
		{"200 error that is a text", 200, "application/json", `{"jsonrpc":"2.0","id":$ID,"error":"boom"}`, CodeServerError, "cannot be read"},
		{"200 version escaped", 200, "application/json", strings.Replace(ok, `"2.0"`, `"2\u002e0"`, 1), "", ""},
		{"500 error", 500, "application/json", `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32603,"message":"inner"}}`, CodeServerError, "inner"},
		{"429 error", 429, "application/json", `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32000,"message":"slower"}}`, CodeServerError, "slower"},
		{"400 plain", 400, "text/plain", "x", CodeServerError, "400 Bad Request"},
		{"401", 401, "text/plain", "x", CodeServerError, "authorization"},
		{"403", 403, "application/json", `{"jsonrpc":"2.0","error":{"code":-32000,"message":"origin"}}`, CodeServerError, "origin"},
		{"404", 404, "text/plain", "x", CodeServerError, "404"},
		{"503", 503, "text/plain", "x", CodeServerError, "503"},
		{"202", 202, "", "", CodeProtocolError, "no reply"},
		{"sse complete", 200, "text/event-stream", ": hi\n\n" + event(ok), "", ""},
		{"sse crlf and ids", 200, "text/event-stream; charset=utf-8", "id: 1\r\nretry: 9\r\ndata: " + strings.Replace(ok, `"result"`, "\r\ndata:"+` "result"`, 1) + "\r\n\r\n", "", ""},
		{"sse byte order mark and carriage returns", 200, "text/event-stream", string(bom) + strings.ReplaceAll(event(ok), "\n", "\r"), "", ""},
		{"sse ping events", 200, "text/event-stream", "event: ping\ndata: 2026-01-01\n\n" + event(ok), "", ""},
		{"sse ends early", 200, "text/event-stream", event(`{"jsonrpc":"2.0","method":"notifications/progress","params":{}}`), CodeOutcomeUnknown, ""},
		{"sse broken off", 200, "text/event-stream", "data: " + ok, CodeOutcomeUnknown, ""},
		{"sse empty", 200, "text/event-stream", "", CodeOutcomeUnknown, ""},
		{"sse garbage", 200, "text/event-stream", event("garbage"), CodeProtocolError, "not JSON"},
		{"sse garbage lines", 200, "text/event-stream", "garbage\n\n", CodeOutcomeUnknown, ""},
		{"sse foreign id", 200, "text/event-stream", event(`{"jsonrpc":"2.0","id":99999,"result":{}}`), CodeProtocolError, "another request"},
		{"sse garbage before the reply", 200, "text/event-stream", event("garbage") + event(`{"jsonrpc":"2.0","id":99999,"result":{}}`) + event(ok), "", ""},
		{"sse a garbled reply", 200, "text/event-stream", event(`{"jsonrpc":"2.0","id":$ID,"result":{"x":NaN}}`) + event(ok), CodeProtocolError, "not JSON"},
		{"sse server request", 200, "text/event-stream", event(`{"jsonrpc":"2.0","id":5,"method":"elicitation/create","params":{}}`) + event(ok), "", ""},
		{"sse second reply ignored", 200, "text/event-stream", event(ok) + event(`{"jsonrpc":"2.0","id":$ID,"error":{"code":1,"message":"late"}}`), "", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := newPeer()
			p.handle("tools/call", func(r *preq) { r.http(c.status, c.typ, id(r, c.body)) })
			m := manage(t, "json", p, Options{})
			gen := bind(t, m, "t").Generation
			_, err := callT(t, m, `{}`, accept(yes))
			if c.code == "" {
				if err != nil {
					t.Fatal(err)
				}
			} else if e := wantCode(t, err, c.code); !strings.Contains(e.Message, c.says) || strings.Contains(e.Message, "http://") {
				t.Fatal(e)
			}
			if n := len(p.by("tools/call")); n != 1 {
				t.Fatal("the leg was repeated")
			}
			p.handle("tools/call", func(r *preq) { r.result(complete) })
			if _, err := callT(t, m, `{}`, accept(yes)); err != nil || bind(t, m, "t").Generation != gen {
				t.Fatal("one odd reply spoilt the session:", err)
			}
		})
	}
}

func TestEndlessHTTP(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{"application/json", "text/event-stream"} {
		t.Run(typ, func(t *testing.T) {
			p := newPeer()
			h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Mcp-Method") != "tools/call" {
					p.ServeHTTP(w, r)
					return
				}
				w.Header().Set("Content-Type", typ)
				_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","id":3,"result":{"x":"`)
				chunk := []byte(strings.Repeat("x", 1<<20))
				for {
					if _, err := w.Write(chunk); err != nil {
						return
					}
				}
			}))
			defer h.Close()
			m := startServers(t, Options{}, config.Server{Name: "s", Transport: config.HTTP, URL: h.URL})
			waitReady(t, m, "s")
			_, err := callT(t, m, `{}`, accept(yes))
			wantCode(t, err, CodeLimitExceeded)
		})
	}
}

// TestLingeringStream: a server that leaves the stream open after its reply costs a moment, and
// no goroutine.
func TestLingeringStream(t *testing.T) {
	p := newPeer()
	m := manage(t, "sse", p, Options{})
	p.mu.Lock()
	p.linger = true
	p.mu.Unlock()
	began := time.Now()
	if _, err := callT(t, m, `{}`, accept(yes)); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(began); d > 10*time.Second {
		t.Fatal(d)
	}
	base := runtime.NumGoroutine()
	for range 3 {
		if _, err := callT(t, m, `{}`, accept(yes)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "no goroutine left", func() bool { return runtime.NumGoroutine() <= base+2 })
}

// TestRedirects: a leg is never taken to another host; within one host it may be.
func TestRedirects(t *testing.T) {
	var strayed atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed.Add(1) }))
	defer other.Close()
	p := newPeer()
	to := ""
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") == "tools/call" && r.URL.Path == "/" {
			http.Redirect(w, r, to, 307)
			return
		}
		p.ServeHTTP(w, r)
	}))
	defer front.Close()
	m := startServers(t, Options{}, config.Server{Name: "s", Transport: config.HTTP, URL: front.URL + "/"})
	waitReady(t, m, "s")
	to = other.URL + "/secret-path"
	_, err := callT(t, m, `{}`, Handlers{})
	if e := wantCode(t, err, CodeServerError); !strings.Contains(e.Message, "redirects to http://127.0.0.1") || strings.Contains(e.Message, "secret-path") {
		t.Fatal(e)
	}
	to = "/mcp/"
	if _, err := callT(t, m, `{}`, Handlers{}); err != nil {
		t.Fatal(err)
	}
	if strayed.Load() != 0 {
		t.Fatal("the other host was asked")
	}
}

// TestConnectionBreaks: a connection that breaks under a leg is outcome_unknown, one that cannot
// be made is connection_lost, and neither is repeated (ML-24).
func TestConnectionBreaks(t *testing.T) {
	t.Parallel()
	t.Run("ML-24", testConnectionBreaks)
}

func testConnectionBreaks(t *testing.T) {
	p := newPeer()
	var legs atomic.Int32
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") != "tools/call" {
			p.ServeHTTP(w, r)
			return
		}
		legs.Add(1)
		_, _ = io.ReadAll(r.Body)
		c, _, _ := w.(http.Hijacker).Hijack()
		c.Close()
	}))
	m := startServers(t, Options{}, config.Server{Name: "s", Transport: config.HTTP, URL: h.URL})
	waitReady(t, m, "s")
	_, err := callT(t, m, `{}`, Handlers{})
	if e := wantCode(t, err, CodeOutcomeUnknown); !e.Uncertain || legs.Load() != 1 {
		t.Fatal("ML-24:", e, legs.Load())
	}
	b := bind(t, m, "t")
	eventually(t, "the server is asked, and is there", func() bool { return len(p.by("server/discover")) > 1 })
	h.CloseClientConnections()
	h.Close()
	eventually(t, "no connection", func() bool { // the end of one that was kept open is not noticed at once
		_, err = m.CallTool(t.Context(), b, nil, Handlers{})
		return CodeOf(err) != CodeOutcomeUnknown
	})
	if e := wantCode(t, err, CodeConnectionLost); e.Uncertain {
		t.Fatal(e)
	}
	eventually(t, "the server is known to be gone", func() bool { st, _ := m.Server("s"); return st.State == StateFailed })
}

// TestLegacySession: the session's id and version go along, its end is noticed, and it is ended.
func TestLegacySession(t *testing.T) {
	t.Parallel()
	p := newPeer()
	p.legacyOnly, p.session, p.caps = true, "sess-1", `{"tools":{"listChanged":true}}`
	m := manage(t, "json", p, Options{})
	if _, err := callT(t, m, `{"a":1}`, accept(yes)); err != nil {
		t.Fatal(err)
	}
	l := p.by("tools/call")[0]
	if l.Header.Get("Mcp-Session-Id") != "sess-1" || l.Header.Get("Mcp-Protocol-Version") != "2025-11-25" || l.Header.Get("Mcp-Method") != "" || l.raw("_meta") != "" {
		t.Fatalf("%v %s", l.Header, l.Params)
	}
	if i := p.by("initialize")[0]; i.raw("capabilities") != `{}` || i.Header.Get("Mcp-Session-Id") != "" {
		t.Fatalf("%s", i.Params)
	}
	if len(p.by("notifications/initialized")) != 1 {
		t.Fatal("initialized")
	}
	gen := bind(t, m, "t").Generation
	p.handle("tools/call", func(r *preq) {
		r.http(404, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`)
	})
	p.handle("ping", func(r *preq) { r.http(404, "", "") })
	_, err := callT(t, m, `{}`, accept(yes))
	if e := wantCode(t, err, CodeConnectionLost); e.Uncertain || !strings.Contains(e.Message, "ended the session") {
		t.Fatal(e)
	}
	eventually(t, "a new session", func() bool { st, _ := m.Server("s"); return st.State == StateReady && st.Generation != gen })
	m.Close()
	if n := len(p.by("DELETE")); n == 0 {
		t.Fatal("the session was not ended")
	}
}

// TestLegacySessionForgotten: a server that was started anew may answer 400, not 404, for a session
// that it does not know; such an answer alone ends nothing.
func TestLegacySessionForgotten(t *testing.T) {
	t.Parallel()
	p := newPeer()
	p.legacyOnly, p.session = true, "sess-1"
	m := manage(t, "json", p, Options{})
	gen := bind(t, m, "t").Generation
	forgot := func(r *preq) {
		r.http(400, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`)
	}
	p.handle("tools/call", forgot)
	p.handle("ping", func(r *preq) {
		r.http(400, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no ping"}}`)
	})
	_, err := callT(t, m, `{}`, accept(yes))
	wantCode(t, err, CodeServerError)
	eventually(t, "a ping", func() bool { return len(p.by("ping")) == 1 })
	if bind(t, m, "t").Generation != gen {
		t.Fatal("a refused call ended the session")
	}
	p = newPeer()
	p.legacyOnly, p.session = true, "sess-1"
	m = manage(t, "json", p, Options{})
	gen = bind(t, m, "t").Generation
	p.handle("tools/call", forgot)
	p.handle("ping", forgot)
	_, err = callT(t, m, `{}`, accept(yes))
	wantCode(t, err, CodeServerError)
	eventually(t, "a new session", func() bool { st, _ := m.Server("s"); return st.State == StateReady && st.Generation != gen })
}

// TestSlowNotification: how a server takes notifications/initialized does not hold up the rest.
func TestSlowNotification(t *testing.T) {
	t.Parallel()
	for _, open := range []bool{true, false} {
		p := newPeer()
		p.legacyOnly = true
		ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if !strings.Contains(string(body), "notifications/initialized") {
				r.Body = io.NopCloser(strings.NewReader(string(body)))
				p.ServeHTTP(w, r)
				return
			}
			if open { // a stream that is left open; else no word at all
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, ": hi\n\n")
				w.(http.Flusher).Flush()
			}
			<-r.Context().Done()
		}))
		defer ts.Close()
		began := time.Now()
		m := startServers(t, Options{}, config.Server{Name: "s", Transport: config.HTTP, URL: ts.URL, Timeout: 3 * time.Second})
		waitReady(t, m, "s")
		if _, err := callT(t, m, `{}`, Handlers{}); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d > 20*time.Second {
			t.Fatal(d)
		}
	}
}

func TestLegacyHasNoRounds(t *testing.T) {
	for _, kind := range kinds {
		p := script(inputRequired(`{"k":`+yesForm+`}`, ""))
		p.legacyOnly = true
		m := manage(t, kind, p, Options{})
		_, err := callT(t, m, `{}`, accept(yes))
		wantCode(t, err, CodeUnsupportedResult)
		if l := p.by("tools/call")[0]; l.raw("_meta") != "" {
			t.Fatalf("%s", l.Params)
		}
	}
}

func TestUninvited(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"pipe", "sse"} {
		for _, legacy := range []bool{false, true} {
			t.Run(fmt.Sprint("SC-08/", kind, "/legacy ", legacy), func(t *testing.T) {
				p := newPeer()
				p.legacyOnly = legacy
				p.handle("tools/call", func(r *preq) {
					r.out(`{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}`)
					r.out(`{"jsonrpc":"2.0","id":"q2","method":"roots/list"}`)
					r.out(`{"jsonrpc":"2.0","id":"q3","method":"ping"}`)
					time.Sleep(50 * time.Millisecond)
					r.result(complete)
				})
				m := manage(t, kind, p, Options{})
				h := Handlers{Form: accept(yes).Form}
				if _, err := callT(t, m, `{}`, h); err != nil {
					t.Fatal(err)
				}
				answers := func() map[string]string {
					p.mu.Lock()
					defer p.mu.Unlock()
					out := map[string]string{}
					for _, r := range p.got {
						if r.Method == "" {
							res, _ := lookup(r.Body, "result")
							e, _ := lookup(r.Body, "error")
							code, _ := lookup(e, "code")
							out[string(r.ID)] = string(res) + string(code)
						}
					}
					return out
				}
				if !legacy {
					if got := answers(); len(got) != 0 {
						t.Fatal(got)
					}
					return
				}
				eventually(t, "the answers", func() bool {
					got := answers()
					return len(got) == 3 && got[`"q1"`] == "-32601" && got[`"q2"`] == "-32601" && got[`"q3"`] == "{}"
				})
			})
		}
	}
}

// TestLegacyResume: a legacy server may hang up before its reply and be asked to go on; the
// request itself is sent once.
func TestLegacyResume(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		rounds int  // hang-ups before the reply
		ids    bool // the events have ids
		refuse int  // the status that GET is refused with
		times  int  // how often it is
		code   Code
	}{{"once", 1, true, 0, 0, ""}, {"three times", 3, true, 0, 0, ""}, {"no ids", 1, false, 0, 0, CodeOutcomeUnknown}, {"refused", 1, true, 405, 1000, CodeOutcomeUnknown},
		{"busy for a while", 1, true, 503, 2, ""}, {"busy for good", 1, true, 503, 1000, CodeOutcomeUnknown}, {"for ever", 1000, true, 0, 0, CodeTimeout}} {
		t.Run(c.name, func(t *testing.T) {
			p := newPeer()
			p.legacyOnly = true
			var gets atomic.Int32
			var id atomic.Value
			h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == "GET" {
					n := int(gets.Add(1)) - c.times
					if n <= 0 {
						w.WriteHeader(c.refuse)
						return
					}
					if got, want := r.Header.Get("Last-Event-ID"), fmt.Sprint("ev", n); got != want {
						t.Errorf("Last-Event-ID %q, want %q", got, want)
					}
					w.Header().Set("Content-Type", "text/event-stream")
					fmt.Fprintf(w, "id: ev%d\nretry: 5\ndata:\n\n", n+1)
					if n >= c.rounds {
						fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", id.Load(), complete)
					}
					return
				}
				body, _ := io.ReadAll(r.Body)
				if q := parseReq(body); q.Method == "tools/call" {
					p.mu.Lock()
					p.got = append(p.got, q)
					p.mu.Unlock()
					id.Store(string(q.ID))
					w.Header().Set("Content-Type", "text/event-stream")
					if c.ids {
						_, _ = io.WriteString(w, "id: ev1\nretry: 5\ndata:\n\n")
					} else {
						_, _ = io.WriteString(w, ": nothing yet\n\n")
					}
					return
				}
				r.Body = io.NopCloser(strings.NewReader(string(body)))
				p.ServeHTTP(w, r)
			}))
			defer h.Close()
			legTime := 10 * time.Second
			if c.code == CodeTimeout {
				legTime = 300 * time.Millisecond
			}
			m := startServers(t, Options{LegTimeout: legTime}, config.Server{Name: "s", Transport: config.HTTP, URL: h.URL})
			waitReady(t, m, "s")
			_, err := callT(t, m, `{}`, Handlers{})
			if c.code == "" && err != nil || c.code != "" && CodeOf(err) != c.code {
				t.Fatal(err)
			}
			if n := len(p.by("tools/call")); n != 1 {
				t.Fatal("the request was sent again")
			}
		})
	}
}
