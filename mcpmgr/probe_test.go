package mcpmgr

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"askback/mcpmgr/config"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"
)

// TestProbeMachine checks, over all sequences of events, that a probe decides at most once, never
// speaks to a child that is not there, and always ends.
func TestProbeMachine(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		pin := rapid.SampledFrom([]Era{"", EraModern, EraLegacy}).Draw(rt, "pin")
		p := newProbe(pin)
		alive := [2]bool{true, false}
		asked := [2]childState{p.state[first], absent}
		decided := 0
		for i := range 12 {
			e := probeEvent{kind: probeKind(rapid.IntRange(0, int(sawDeadline)).Draw(rt, fmt.Sprint("kind", i))), err: fmt.Errorf("e")}
			e.who = who(rapid.IntRange(0, 1).Draw(rt, "who"))
			e.version, e.era = modernVersions[0], EraModern
			if rapid.Bool().Draw(rt, "legacy") {
				e.version, e.era = legacyVersions[0], EraLegacy
			}
			switch e.kind { // only what can happen
			case sawVersions, sawModern, sawNone, sawError, sawBroken:
				if e.who = first; asked[first] != discovering || !alive[first] {
					continue
				}
				asked[first] = absent
			case sawInit, sawInitError:
				if asked[e.who] != initializing || !alive[e.who] {
					continue
				}
			case sawExit:
				if !alive[e.who] {
					continue
				}
			}
			for _, a := range p.on(e) {
				switch a.verb {
				case doStart:
					if alive[a.who] {
						rt.Fatal("a child is started twice")
					}
					alive[a.who], asked[a.who] = true, initializing
				case doInitialize:
					if !alive[a.who] {
						rt.Fatal("a dead child is asked")
					}
					asked[a.who] = initializing
				case doEnd:
					alive[a.who] = false
				case doFail:
					decided++
					if alive[first] && asked[first] != absent && e.kind != sawExit || a.err == nil {
						if alive[first] {
							rt.Fatal("a failed probe leaves a child")
						}
						rt.Fatal("a failure without a reason")
					}
				default:
					decided++
					if !alive[a.who] {
						rt.Fatal("a dead child wins")
					}
					if a.verb == doModern && pin == EraLegacy || a.verb != doModern && pin == EraModern {
						rt.Fatal("the pin is broken")
					}
					if a.verb != doProvisional && alive[1-a.who] {
						rt.Fatal("the loser runs on")
					}
				}
			}
		}
		if decided > 1 {
			rt.Fatal("decided twice")
		}
		p.on(probeEvent{kind: sawDeadline})
		if !p.done {
			rt.Fatal("the deadline does not end it")
		}
	})
}

// TestSilenceWithNoise: a server that prints something else than answers is told from a silent one.
func TestSilenceWithNoise(t *testing.T) {
	a := newProbe("").on(probeEvent{kind: sawDeadline, reason: "; it printed x"})
	if err := a[len(a)-1].err; err == nil || err.Error() != "the server did not answer within 60 seconds; it printed x" {
		t.Fatal(err)
	}
}

// stdioEra runs peers as the children of one server, in order, in a bubble of fake time.
type stdioEra struct {
	name     string
	pin      config.Protocol
	children []func(*peer) // each shapes one child
	after    time.Duration // when the outcome is looked at
	era      Era           // "" is failed
	says     string        // in EraReason, or in the reason of the failure
	starts   int
}

func TestEraStdio(t *testing.T) {
	legacy := func(p *peer) { p.legacyOnly = true }
	modern := func(*peer) {}
	quiet := func(p *peer) { p.on["server/discover"] = func(r *preq) { r.silent() } }
	mute := func(p *peer) { quiet(p); p.on["initialize"] = func(r *preq) { r.silent() } }
	dies := func(p *peer) { p.on["server/discover"] = func(r *preq) { p.hangUp() } }
	failWith := func(code int, data string) func(*peer) {
		return func(p *peer) { p.on["server/discover"] = func(r *preq) { r.failData(code, "x", data) } }
	}
	late := func(d time.Duration) func(*peer) {
		return func(p *peer) {
			p.on["server/discover"] = func(r *preq) {
				select {
				case <-time.After(d):
					r.result(`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)
				case <-r.ctx.Done():
				}
			}
		}
	}
	lists := func(v string) func(*peer) { return func(p *peer) { p.versions = v } }
	result := func(js string) func(*peer) {
		return func(p *peer) { p.on["server/discover"] = func(r *preq) { r.result(js) } }
	}
	cases := []stdioEra{
		{name: "modern", children: []func(*peer){modern}, era: EraModern, starts: 1},
		{name: "method not found", children: []func(*peer){legacy}, era: EraLegacy, says: "-32601", starts: 1},
		{name: "any other error", children: []func(*peer){failWith(-32000, "")}, era: EraLegacy, says: "-32000", starts: 1},
		{name: "invalid params", children: []func(*peer){failWith(-32602, "")}, era: EraLegacy, starts: 1},
		{name: "header mismatch is modern", children: []func(*peer){failWith(-32020, "")}, era: EraModern, starts: 1},
		{name: "missing capability is modern", children: []func(*peer){failWith(-32021, "")}, era: EraModern, starts: 1},
		{name: "version error lists legacy", children: []func(*peer){failWith(-32022, `{"supported":["2025-06-18"],"requested":"2026-07-28"}`)}, era: EraLegacy, starts: 1},
		{name: "version error lists nothing of ours", children: []func(*peer){failWith(-32022, `{"supported":["2031-01-01"],"requested":"2026-07-28"}`)}, says: "2031-01-01", starts: 1},
		{name: "version error names what it refused", children: []func(*peer){failWith(-32022, `{"supported":["2026-07-28"]}`)}, says: "no common", starts: 1},
		{name: "discover lists legacy", children: []func(*peer){lists(`["2025-11-25"]`)}, era: EraLegacy, starts: 1},
		{name: "discover lists both", children: []func(*peer){lists(`["2025-11-25","2026-07-28"]`)}, era: EraModern, starts: 1},
		{name: "discover lists nothing of ours", children: []func(*peer){lists(`["2031-01-01","2032-02-02"]`)}, says: "2026-07-28, 2025-11-25", starts: 1},
		{name: "discover lists nothing", children: []func(*peer){result(`{}`)}, says: "no common", starts: 1},
		{name: "discover with an odd type", children: []func(*peer){result(`{"resultType":"odd","supportedVersions":["2026-07-28"]}`)}, says: "odd", starts: 1},
		{name: "discover asks for input", children: []func(*peer){result(`{"resultType":"input_required","requestState":"s"}`)}, says: "allows none", starts: 1},
		{name: "exit, then legacy", children: []func(*peer){dies, legacy}, era: EraLegacy, says: "exits", starts: 2},
		{name: "exit twice", children: []func(*peer){dies, func(p *peer) { p.on["initialize"] = func(*preq) { p.hangUp() } }}, says: "EOF", starts: 2, after: time.Second / 2},
		{name: "silence, then the second child", children: []func(*peer){quiet, legacy}, after: 6 * time.Second, era: EraLegacy, says: "does not answer", starts: 2},
		{name: "still silent at 4 s", children: []func(*peer){quiet, legacy}, after: 4 * time.Second, says: "connecting", starts: 1},
		{name: "slow modern beats a second that is silent", children: []func(*peer){late(20 * time.Second), mute}, after: 21 * time.Second, era: EraModern, starts: 2},
		{name: "late modern wins over an unused legacy", children: []func(*peer){late(20 * time.Second), legacy}, after: 21 * time.Second, era: EraModern, starts: 2},
		{name: "before it does", children: []func(*peer){late(20 * time.Second), legacy}, after: 19 * time.Second, era: EraLegacy, starts: 2},
		{name: "too late to win", children: []func(*peer){late(70 * time.Second), legacy}, after: 75 * time.Second, era: EraLegacy, starts: 2},
		{name: "late error changes nothing", children: []func(*peer){func(p *peer) {
			p.on["server/discover"] = func(r *preq) { sleep(r.ctx, 10*time.Second); r.fail(-32601, "x") }
		}, legacy}, after: 15 * time.Second, era: EraLegacy, starts: 2},
		{name: "second fails, first is legacy after all", children: []func(*peer){func(p *peer) {
			p.on["server/discover"] = func(r *preq) { sleep(r.ctx, 10*time.Second); r.fail(-32601, "x") }
		}, func(p *peer) { p.on["initialize"] = func(r *preq) { r.fail(-32603, "busy") } }}, after: 15 * time.Second, era: EraLegacy, starts: 2},
		{name: "silence of both", children: []func(*peer){mute, mute}, after: 60*time.Second + time.Second/2, says: "60 seconds", starts: 2},
		{name: "pinned legacy", pin: config.Legacy, children: []func(*peer){modern}, era: EraLegacy, starts: 1},
		{name: "pinned modern", pin: config.Modern, children: []func(*peer){modern}, era: EraModern, starts: 1},
		{name: "pinned modern, legacy server", pin: config.Modern, children: []func(*peer){legacy}, says: "not modern", starts: 1},
		{name: "pinned modern, lists legacy", pin: config.Modern, children: []func(*peer){lists(`["2025-11-25"]`)}, says: "no modern version", starts: 1},
		{name: "pinned modern, slow", pin: config.Modern, children: []func(*peer){late(30 * time.Second)}, after: 31 * time.Second, era: EraModern, starts: 1},
		{name: "legacy answers an unknown version", pin: config.Legacy, children: []func(*peer){func(p *peer) {
			p.on["initialize"] = func(r *preq) { r.result(`{"protocolVersion":"1999-01-01","capabilities":{}}`) }
		}}, says: "1999-01-01", starts: 1},
		{name: "initialize answered with a version without it", pin: config.Legacy, children: []func(*peer){func(p *peer) {
			p.on["initialize"] = func(r *preq) { r.result(`{"protocolVersion":"2026-07-28","capabilities":{}}`) }
		}}, says: "answers initialize with the version 2026-07-28, which begins with server/discover", starts: 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var starts atomic.Int32
				open := func(ctx context.Context) (mcp.Transport, error) {
					i := int(starts.Add(1)) - 1
					p := newPeer()
					c.children[min(i, len(c.children)-1)](p)
					return p.pipe(ctx)
				}
				m := New(Options{Transports: map[string]func(context.Context) (mcp.Transport, error){"s": open}})
				defer m.Close()
				m.Apply([]config.Server{{Name: "s", Transport: config.Stdio, Protocol: c.pin}})
				time.Sleep(max(c.after, 100*time.Millisecond))
				synctest.Wait()
				st, _ := m.Server("s")
				if c.era != "" {
					if st.State != StateReady || st.Era != c.era || !strings.Contains(st.EraReason, c.says) || st.Tools != 1 {
						t.Fatalf("%+v", st)
					}
				} else if c.says == "connecting" {
					if st.State != StateConnecting {
						t.Fatalf("%+v", st)
					}
				} else if st.State != StateFailed || !strings.Contains(st.Reason, c.says) {
					t.Fatalf("%+v", st)
				}
				if n := int(starts.Load()); n != c.starts {
					t.Fatalf("%d children started, want %d", n, c.starts)
				}
			})
		})
	}
}

// TestLateModernAfterACall: once a call was made on the legacy session, nothing replaces it.
func TestLateModernAfterACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		firstChild, secondChild := newPeer(), newPeer()
		firstChild.handle("server/discover", func(r *preq) {
			if sleep(r.ctx, 20*time.Second) == nil {
				r.result(`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)
			}
		})
		secondChild.legacyOnly = true
		peers := []*peer{firstChild, secondChild}
		m := New(Options{Transports: map[string]func(context.Context) (mcp.Transport, error){"s": func(ctx context.Context) (mcp.Transport, error) {
			p := peers[0]
			peers = peers[1:]
			return p.pipe(ctx)
		}}})
		defer m.Close()
		m.Apply([]config.Server{{Name: "s", Transport: config.Stdio}})
		time.Sleep(10 * time.Second)
		synctest.Wait()
		b, err := m.Tool("s", "t")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.CallTool(t.Context(), b.Binding, nil, Handlers{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		synctest.Wait()
		st, _ := m.Server("s")
		if st.Era != EraLegacy || st.Generation != b.Binding.Generation {
			t.Fatalf("%+v", st)
		}
	})
}

// TestRetry: a failed server is tried again with growing pauses; a reason that only a person can
// change waits for one.
func TestRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		began := time.Now()
		up := false
		m := New(Options{Transports: map[string]func(context.Context) (mcp.Transport, error){"s": func(ctx context.Context) (mcp.Transport, error) {
			at = append(at, time.Since(began))
			if !up {
				return nil, fmt.Errorf("not there")
			}
			return newPeer().pipe(ctx)
		}}})
		defer m.Close()
		m.Apply([]config.Server{{Name: "s", Transport: config.Stdio}})
		time.Sleep(3500 * time.Millisecond)
		synctest.Wait()
		if !slices.Equal(at, []time.Duration{0, time.Second, 3 * time.Second}) {
			t.Fatal(at)
		}
		st, _ := m.Server("s")
		if st.State != StateFailed || st.Reason != "not there" || st.Retry.Sub(began) != 7*time.Second {
			t.Fatalf("%+v", st)
		}
		up = true
		_ = m.Reconnect("s")
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if st, _ := m.Server("s"); st.State != StateReady {
			t.Fatalf("%+v", st)
		}
	})
}

func TestEraHTTP(t *testing.T) {
	errBody := func(code int, data string) string {
		if data != "" {
			data = `,"data":` + data
		}
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":"x"%s}}`, code, data)
	}
	cases := []struct {
		name      string
		status    int
		typ, body string
		pin       config.Protocol
		era       Era
		says      string
		auth      bool
	}{
		{name: "404 method not found", status: 404, typ: "application/json", body: errBody(-32601, ""), era: EraLegacy},
		{name: "200 method not found", status: 200, typ: "application/json", body: `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"x"}}`, era: EraLegacy},
		{name: "400 plain", status: 400, typ: "text/plain", body: "bad", era: EraLegacy},
		{name: "400 empty", status: 400, era: EraLegacy},
		{name: "405", status: 405, typ: "text/plain", body: "no", era: EraLegacy},
		{name: "404 html", status: 404, typ: "text/html", body: "<html>", era: EraLegacy},
		{name: "400 legacy error", status: 400, typ: "application/json", body: errBody(-32000, ""), era: EraLegacy},
		{name: "400 header mismatch", status: 400, typ: "application/json", body: errBody(-32020, ""), era: EraModern},
		{name: "400 with an id of the transport's own", status: 400, typ: "application/json", body: `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32021,"message":"x"}}`, era: EraModern},
		{name: "400 lists versions under an id of its own", status: 400, typ: "application/json", body: `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32022,"message":"x","data":{"supported":["2031-01-01"]}}}`, says: "2031-01-01"},
		{name: "400 modern error as an event", status: 400, typ: "text/event-stream", body: "id: 1\ndata:\n\ndata: " + errBody(-32021, "") + "\n\n", era: EraModern},
		{name: "400 modern error with a float", status: 400, typ: "application/json", body: strings.Replace(errBody(-32021, ""), "-32021", "-32021.0", 1), era: EraModern},
		{name: "400 legacy error as an event", status: 400, typ: "text/event-stream", body: "data: " + errBody(-32000, "") + "\n\n", era: EraLegacy},
		{name: "200 error beside a null", status: 200, typ: "application/json", body: `{"jsonrpc":"2.0","id":null,"result":null,"error":{"code":-32601,"message":null}}`, era: EraLegacy},
		{name: "200 error that is a text", status: 200, typ: "application/json", body: `{"jsonrpc":"2.0","id":null,"error":"no such method"}`, era: EraLegacy},
		{name: "400 missing capability", status: 400, typ: "application/json", body: errBody(-32021, ""), era: EraModern},
		{name: "200 error without id", status: 200, typ: "application/json", body: errBody(-32600, ""), era: EraLegacy},
		{name: "400 lists no versions", status: 400, typ: "application/json", body: errBody(-32022, ""), says: "none that it names"},
		{name: "400 lists legacy", status: 400, typ: "application/json", body: errBody(-32022, `{"supported":["2025-11-25"]}`), era: EraLegacy},
		{name: "400 lists nothing of ours", status: 400, typ: "application/json", body: errBody(-32022, `{"supported":["2031-01-01"]}`), says: "2031-01-01"},
		{name: "401", status: 401, typ: "text/plain", body: "no", says: "authorization", auth: true},
		{name: "403", status: 403, typ: "text/plain", body: "no", says: "403", auth: true},
		{name: "403 with an error", status: 403, typ: "application/json", body: errBody(-32001, ""), says: "403", auth: true},
		{name: "401 with an error", status: 401, typ: "application/json", body: errBody(-32001, ""), says: "it says: x", auth: true},
		{name: "403 with a modern error", status: 403, typ: "application/json", body: errBody(-32020, ""), era: EraModern},
		{name: "429", status: 429, typ: "text/plain", body: "slow down", says: "429"},
		{name: "429 with an error", status: 429, typ: "application/json", body: errBody(-32000, ""), says: "-32000"},
		{name: "500", status: 500, typ: "text/plain", body: "oops", says: "500"},
		{name: "503 with a modern error", status: 503, typ: "application/json", body: errBody(-32020, ""), says: "-32020"},
		{name: "502 html", status: 502, typ: "text/html", body: "<html>", says: "502"},
		{name: "200 html", status: 200, typ: "text/html", body: "<html>", says: "text/html"},
		{name: "200 garbage", status: 200, typ: "application/json", body: "{oops", says: "not JSON"},
		{name: "202", status: 202, says: "no reply"},
		{name: "204", status: 204, says: "no reply"},
		{name: "307 elsewhere", status: 307, says: "redirects"},
		{name: "pinned modern, 404", status: 404, typ: "text/plain", body: "x", pin: config.Modern, says: "not modern"},
		{name: "foreign id", status: 200, typ: "application/json", body: `{"jsonrpc":"2.0","id":99,"result":{}}`, says: "another request"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := newPeer().handle("server/discover", func(r *preq) { r.http(c.status, c.typ, c.body) })
			m, err := tryManage(t, "json", p, Options{}, func(s *config.Server) {
				if c.pin != "" {
					s.Protocol = c.pin
				}
			})
			st, _ := m.Server("s")
			if c.era != "" {
				if err != nil || st.Era != c.era || c.era == EraLegacy && st.EraReason == "" {
					t.Fatalf("%v %+v", err, st)
				}
				return
			}
			if err == nil || !strings.Contains(st.Reason, c.says) || st.NeedsAuth != c.auth {
				t.Fatalf("%v %+v", err, st)
			}
			if n := len(p.by("initialize")); n != 0 {
				t.Fatal("a failure changed the era")
			}
		})
	}
	t.Run("silent", func(t *testing.T) {
		p := newPeer().handle("server/discover", func(r *preq) { r.silent() })
		began := time.Now()
		m, err := tryManage(t, "json", p, Options{}, func(s *config.Server) { s.Timeout = 200 * time.Millisecond })
		if d := time.Since(began); err == nil || d > 5*time.Second {
			t.Fatal(err, d, "the entry's timeout does not count")
		}
		if st, _ := m.Server("s"); len(p.by("initialize")) != 0 || !strings.Contains(st.Reason, "does not answer") {
			t.Fatal("silence changed the era", st.Reason)
		}
	})
	t.Run("asks to be left alone", func(t *testing.T) {
		ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "90")
			w.WriteHeader(503)
		}))
		defer ts.Close()
		m := startServers(t, Options{}, config.Server{Name: "s", Transport: config.HTTP, URL: ts.URL})
		_ = m.Wait(t.Context(), "s")
		if st, _ := m.Server("s"); time.Until(st.Retry) < time.Minute || !strings.Contains(st.Reason, "503 Service Unavailable and asks to wait 1m30s") {
			t.Fatalf("%+v", st)
		}
		for in, want := range map[string]time.Duration{"": 0, "7": 7 * time.Second, "-1": 0, "x": 0, "9999999": time.Hour, "99999999999": 0,
			"Thu, 01 Jan 1970 00:00:00 GMT": 0, time.Now().Add(time.Minute).UTC().Format(http.TimeFormat): time.Minute} {
			if got := retryAfter(http.Header{"Retry-After": {in}}); (got - want).Abs() > 2*time.Second {
				t.Errorf("%q: %v", in, got)
			}
		}
	})
	t.Run("refused", func(t *testing.T) {
		m := startServers(t, Options{}, config.Server{Name: "s", Transport: config.HTTP, URL: "http://127.0.0.1:1/"})
		if err := m.Wait(t.Context(), "s"); err == nil || !strings.Contains(err.Error(), "cannot be reached") {
			t.Fatal(err)
		}
	})
}

// TestEraHolds: the era of an HTTP origin holds over a reconnect, and is probed again when it fails.
func TestEraHolds(t *testing.T) {
	p := newPeer()
	p.legacyOnly = true
	m := manage(t, "json", p, Options{})
	again := func() {
		st, _ := m.Server("s")
		_ = m.Reconnect("s")
		eventually(t, "a new generation", func() bool {
			now, _ := m.Server("s")
			return now.State == StateReady && now.Generation != st.Generation
		})
	}
	again()
	if n := len(p.by("server/discover")); n != 1 {
		t.Fatalf("probed %d times", n)
	}
	p.mu.Lock()
	p.legacyOnly = false
	p.mu.Unlock()
	p.handle("initialize", func(r *preq) { r.http(http.StatusBadRequest, "text/plain", "modern only") })
	again()
	if st, _ := m.Server("s"); st.Era != EraModern {
		t.Fatalf("%+v", st)
	}
}

// TestReconnectWhileConnecting: asking for a connection while one is being made makes no second.
func TestReconnectWhileConnecting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starts := 0
		m := New(Options{Transports: map[string]func(context.Context) (mcp.Transport, error){"s": func(ctx context.Context) (mcp.Transport, error) {
			starts++
			p := newPeer()
			p.handle("tools/list", func(r *preq) { time.Sleep(2 * time.Second); r.result(`{"tools":[]}`) })
			return p.pipe(ctx)
		}}})
		defer m.Close()
		m.Apply([]config.Server{{Name: "s", Transport: config.Stdio}, {Name: "s", Transport: config.Stdio}})
		time.Sleep(time.Second)
		_ = m.Reconnect("s")
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if st, _ := m.Server("s"); st.State != StateReady || starts != 1 || len(m.Servers()) != 1 {
			t.Fatalf("%d connections, %+v", starts, m.Servers())
		}
	})
}
