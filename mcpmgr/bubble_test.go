package mcpmgr

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"askback/forms"
	"askback/mcpmgr/config"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// inMemory starts a go-sdk server on the SDK's own in-memory transport, one for each connection.
func inMemory(srv *mcp.Server) func(context.Context) (mcp.Transport, error) {
	return func(context.Context) (mcp.Transport, error) {
		ours, theirs := mcp.NewInMemoryTransports()
		if _, err := srv.Connect(context.Background(), theirs, nil); err != nil {
			return nil, err
		}
		return ours, nil
	}
}

// TestBubble: with the server on go-sdk's in-memory transport a whole call runs in fake time. A
// person thinks for an hour, and no leg notices (ML-12).
func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Options{Transports: map[string]func(context.Context) (mcp.Transport, error){"s": inMemory(sdkServer())}})
		defer m.Close()
		m.Apply([]config.Server{{Name: "s", Transport: config.Stdio}})
		if err := m.Wait(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		tl, err := m.Tool("s", "ask")
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		res, err := m.CallTool(t.Context(), tl.Binding, json.RawMessage(`{}`), Handlers{Form: func(ctx context.Context, q FormRequest) (forms.Result, error) {
			time.Sleep(time.Hour)
			return forms.Accept(yes), ctx.Err()
		}})
		if err != nil || res.Forms != 1 || time.Since(began) < time.Hour {
			t.Fatal(res, err)
		}
	})
}

// TestPausesGrow: rounds with state alone are retried after 250 ms, doubling to 2 s, and a form
// in between starts over.
func TestPausesGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		var last time.Time
		p := newPeer().handle("tools/call", func(r *preq) {
			if !last.IsZero() {
				at = append(at, time.Since(last))
			}
			last = time.Now()
			switch len(at) {
			case 5:
				r.result(inputRequired(`{"k":`+yesForm+`}`, ""))
			case 8:
				r.result(complete)
			default:
				r.result(inputRequired("", `"s"`))
			}
		})
		m := bubble(p, Options{})
		defer m.Close()
		tl, err := m.Tool("s", "t")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.CallTool(t.Context(), tl.Binding, nil, accept(yes)); err != nil {
			t.Fatal(err)
		}
		ms := time.Millisecond
		want := []time.Duration{250 * ms, 500 * ms, 1000 * ms, 2000 * ms, 2000 * ms, 0, 250 * ms, 500 * ms}
		for i := range want {
			if at[i] != want[i] {
				t.Fatalf("ML-02: pauses %v, want %v", at, want)
			}
		}
	})
}

// TestLegBudgets: each leg has its own 120 s, whatever the legs before it took.
func TestLegBudgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		p := newPeer().handle("tools/call", func(r *preq) {
			n++
			if sleep(r.ctx, 119*time.Second) != nil {
				return
			}
			if n < 4 {
				r.result(inputRequired(`{"k":`+yesForm+`}`, ""))
				return
			}
			_ = sleep(r.ctx, 2*time.Second)
		})
		m := bubble(p, Options{})
		defer m.Close()
		tl, err := m.Tool("s", "t")
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = m.CallTool(t.Context(), tl.Binding, nil, accept(yes))
		wantCode(t, err, CodeTimeout)
		if d := time.Since(began); d != 3*119*time.Second+120*time.Second {
			t.Fatal("ML-12:", d)
		}
	})
}

// TestServerTurns: an HTTP server that becomes another one under the same address is probed again.
func TestServerTurns(t *testing.T) {
	t.Parallel()
	turn := func(t *testing.T, change func(p *peer), era Era, says string) {
		t.Helper()
		p := newPeer()
		m := manage(t, "json", p, Options{})
		gen := bind(t, m, "t").Generation
		change(p)
		_, err := callT(t, m, `{}`, Handlers{})
		wantCode(t, err, CodeServerError)
		eventually(t, "the new state", func() bool {
			st, _ := m.Server("s")
			if era == "" {
				return st.State == StateFailed && strings.Contains(st.Reason, says)
			}
			return st.State == StateReady && st.Era == era && st.Generation != gen
		})
	}
	t.Run("legacy", func(t *testing.T) {
		turn(t, func(p *peer) {
			p.handle("tools/call", func(r *preq) {
				if r.Header.Get("Mcp-Method") != "" {
					r.http(404, "text/plain", "no such page")
				}
			})
			p.handle("server/discover", func(r *preq) { r.http(404, "text/plain", "no such page") })
		}, EraLegacy, "")
	})
	t.Run("legacy by version", func(t *testing.T) {
		turn(t, func(p *peer) {
			p.mu.Lock()
			p.versions = `["2025-11-25"]`
			p.mu.Unlock()
			p.handle("tools/call", func(r *preq) { r.failData(-32022, "x", `{"supported":["2025-11-25"]}`) })
		}, EraLegacy, "")
	})
	t.Run("wants authorization", func(t *testing.T) {
		deny := func(r *preq) { r.http(401, "", "") }
		turn(t, func(p *peer) { p.handle("tools/call", deny).handle("server/discover", deny) }, "", "authorization")
	})
	t.Run("gone", func(t *testing.T) {
		gone := func(r *preq) { r.http(502, "text/html", "<html>") }
		turn(t, func(p *peer) { p.handle("tools/call", gone).handle("server/discover", gone) }, "", "502")
	})
}
