package mcpmgr

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"askback/forms"
	"askback/mcpmgr/config"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sdkServer is an ordinary go-sdk server: "plain" answers at once, "ask" after one form.
func sdkServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
	schema := json.RawMessage(`{"type":"object"}`)
	text := func(t string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: t}}}
	}
	s.AddTool(&mcp.Tool{Name: "plain", InputSchema: schema}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text("done"), nil
	})
	s.AddTool(&mcp.Tool{Name: "ask", InputSchema: schema}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if len(r.Params.InputResponses) == 0 {
			return &mcp.CallToolResult{RequestState: "state-0123456789", InputRequests: mcp.InputRequestMap{"k": &mcp.ElicitParams{Message: "Sure?",
				RequestedSchema: json.RawMessage(`{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`)}}}, nil
		}
		return text("done"), nil
	})
	return s
}

func init() {
	childMains["sdk"] = func() { _ = sdkServer().Run(context.Background(), &mcp.StdioTransport{}) }
}

// sides are the two clients under comparison, each calling one tool once.
type sides struct{ ours, theirs func() }

func bothSides(tb testing.TB, transport string) map[string]sides {
	tb.Helper()
	cfg := childServer("sdk")
	var theirT mcp.Transport
	if transport == "http" {
		srv := sdkServer()
		h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}))
		tb.Cleanup(h.Close)
		cfg = config.Server{Name: "s", Transport: config.HTTP, URL: h.URL, Protocol: config.Auto}
		theirT = &mcp.StreamableClientTransport{Endpoint: h.URL}
	} else {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "ASKBACK_TEST_PEER=sdk")
		theirT = &mcp.CommandTransport{Command: cmd}
	}
	m := startServers(tb, Options{}, cfg)
	waitReady(tb, m, "s")
	c := mcp.NewClient(&mcp.Implementation{Name: "bare", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"ok": true}}, nil
		}})
	cs, err := c.Connect(context.Background(), theirT, nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { cs.Close() })
	out := map[string]sides{}
	for _, tool := range []string{"plain", "ask"} {
		b := bind(tb, m, tool)
		h := Handlers{}
		if tool == "ask" {
			h = accept(yes)
		}
		out[tool] = sides{
			ours: func() {
				if _, err := m.CallTool(context.Background(), b, json.RawMessage(`{}`), h); err != nil {
					tb.Fatal(err)
				}
			},
			theirs: func() {
				if _, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(`{}`)}); err != nil {
					tb.Fatal(err)
				}
			},
		}
	}
	return out
}

// BenchmarkCall compares one call, without and with an answered form, with a bare go-sdk client
// doing the same.
func BenchmarkCall(b *testing.B) {
	for _, transport := range []string{"stdio", "http"} {
		for tool, s := range bothSides(b, transport) {
			for name, f := range map[string]func(){"ours": s.ours, "go-sdk": s.theirs} {
				b.Run(transport+"/"+tool+"/"+name, func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						f()
					}
				})
			}
		}
	}
}

// TestOverhead holds the comparison against its bounds. Timing wants a quiet machine, so it runs
// only when ASKBACK_OVERHEAD names the number of calls in one run (500 is a good one).
func TestOverhead(t *testing.T) {
	if os.Getenv("ASKBACK_OVERHEAD") == "" {
		t.Skip("set ASKBACK_OVERHEAD=500 to compare with a bare go-sdk client")
	}
	calls := count(t, "ASKBACK_OVERHEAD", 500)
	median := func(all []float64) float64 { slices.Sort(all); return all[len(all)/2] }
	for transport, most := range map[string]struct{ time, allocs float64 }{"stdio": {1.5, 3}, "http": {1.3, 0}} {
		for tool, s := range bothSides(t, transport) {
			var times, allocs [2][]float64
			for i := range 20 { // alternating, ten each
				f := []func(){s.ours, s.theirs}[i%2]
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				began := time.Now()
				for range calls {
					f()
				}
				took := time.Since(began)
				runtime.ReadMemStats(&after)
				times[i%2] = append(times[i%2], float64(took)/float64(calls))
				allocs[i%2] = append(allocs[i%2], float64(after.Mallocs-before.Mallocs)/float64(calls))
			}
			dt, da := median(times[0])/median(times[1]), median(allocs[0])/median(allocs[1])
			t.Logf("%s %s: %.0f µs against %.0f µs (%.2f), %.0f allocations against %.0f (%.2f)", transport, tool,
				median(times[0])/1e3, median(times[1])/1e3, dt, median(allocs[0]), median(allocs[1]), da)
			if dt > most.time || most.allocs > 0 && da > most.allocs {
				t.Errorf("%s %s is over the bound", transport, tool)
			}
		}
	}
}

// countingContext counts what is registered on it and not gone yet: derived contexts and AfterFuncs.
type countingContext struct {
	context.Context
	live *atomic.Int64
}

func (c countingContext) AfterFunc(f func()) func() bool {
	c.live.Add(1)
	stop := context.AfterFunc(c.Context, f)
	return func() bool { c.live.Add(-1); return stop() }
}

// TestRoundsLeaveNothing: at round 31 of a call there is as much of everything as at round 3, and
// a round allocates as much.
func TestRoundsLeaveNothing(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			p := newPeer()
			var legs atomic.Int64
			p.handle("tools/call", func(r *preq) {
				p.mu.Lock()
				p.got = p.got[:0] // the peer must not grow either
				p.mu.Unlock()
				if legs.Add(1) == 33 {
					r.result(complete)
					return
				}
				r.result(inputRequired(`{"k":`+yesForm+`}`, `"one state of one size"`))
			})
			m := manage(t, kind, p, Options{Rounds: 32})
			type sample struct {
				goroutines int
				live       int64
				mallocs    uint64
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			cc := countingContext{ctx, new(atomic.Int64)}
			samples := map[int]sample{}
			_, err := m.CallTool(cc, bind(t, m, "t"), nil, Handlers{Form: func(_ context.Context, q FormRequest) (forms.Result, error) {
				time.Sleep(2 * time.Millisecond) // what ends a moment after its leg may do so
				var mem runtime.MemStats
				runtime.ReadMemStats(&mem)
				samples[q.Round] = sample{runtime.NumGoroutine(), cc.live.Load(), mem.Mallocs}
				return forms.Accept(yes), nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			a, b := samples[3], samples[31]
			if a.goroutines != b.goroutines || a.live != b.live {
				t.Fatalf("round 3: %+v, round 31: %+v", a, b)
			}
			early, late := samples[8].mallocs-samples[3].mallocs, samples[31].mallocs-samples[26].mallocs
			if late > early+early/5+50 {
				t.Fatalf("rounds 3 to 8 allocate %d, rounds 26 to 31 %d", early, late)
			}
			if cc.live.Load() != 0 {
				t.Fatalf("%d registrations are left after the call", cc.live.Load())
			}
		})
	}
}

// TestThousandTools: a long list is read at once.
func TestThousandTools(t *testing.T) {
	p := newPeer()
	n := 0
	p.handle("tools/list", func(r *preq) {
		all := ""
		for i := range 100 {
			if i > 0 {
				all += ","
			}
			all += fmt.Sprintf(`{"name":"tool-%d","description":"d","inputSchema":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}}}}`, n+i)
		}
		n += 100
		next := ""
		if n < 1000 {
			next = fmt.Sprintf(`,"nextCursor":"%d"`, n)
		}
		r.result(`{"tools":[` + all + `]` + next + `}`)
	})
	m := manage(t, "pipe", p, Options{})
	if tools := m.Tools(); len(tools) != 1000 || tools[999].Name != "tool-999" {
		t.Fatal(len(tools))
	}
}
