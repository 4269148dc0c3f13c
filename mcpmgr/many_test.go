package mcpmgr

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"askback/forms"
	"askback/mcpmgr/config"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// count is a test's size: def, or what the environment variable says.
func count(t testing.TB, name string, def int) int {
	t.Helper()
	if s := os.Getenv(name); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			t.Fatalf("%s=%q is no count", name, s)
		}
		return n
	}
	return def
}

// randomToken is any JSON string token that can be a state.
func randomToken(r *rand.Rand) string {
	var b strings.Builder
	b.WriteByte('"')
	for range r.IntN(60) {
		switch r.IntN(8) {
		case 0:
			fmt.Fprintf(&b, `\u%04x`, r.IntN(1<<16))
		case 1:
			b.WriteString([]string{`\"`, `\\`, `\/`, `\b`, `\f`, `\n`, `\r`, `\t`}[r.IntN(8)])
		case 2:
			b.WriteRune([]rune{'é', 0x2028, 0x1F600, '<', '&', 0x7f}[r.IntN(6)])
		default:
			b.WriteByte("abcdefghij0123456789{}[]:, '"[r.IntN(28)])
		}
	}
	b.WriteByte('"')
	return b.String()
}

// TestManyCalls runs many calls at once over four connections, each with a form and states of its
// own; no answer, state or argument crosses. ASKBACK_CALLS sets how many (1000 in the full run).
func TestManyCalls(t *testing.T) {
	t.Run("HL-13", testManyCalls)
}

func testManyCalls(t *testing.T) {
	calls := count(t, "ASKBACK_CALLS", 120)
	var wrong atomic.Int64
	report := func(format string, args ...any) {
		if wrong.Add(1) < 10 {
			t.Errorf(format, args...)
		}
	}
	states := make([][2]string, calls)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range states {
		states[i] = [2]string{randomToken(r), randomToken(r)}
	}
	handler := func(name string) func(*preq) {
		var mu sync.Mutex
		leg := map[int]int{}
		return func(q *preq) {
			i, _ := strconv.Atoi(q.raw("arguments", "i"))
			if got, want := q.raw("arguments"), fmt.Sprintf(`{"i":%d,"secret":"s%d","server":%q}`, i, i, name); got != want {
				report("arguments %s, want %s", got, want)
			}
			mu.Lock()
			n := leg[i]
			leg[i]++
			mu.Unlock()
			field := func(round int) string { return fmt.Sprintf("f%d_%d", i, round) }
			form := fmt.Sprintf(`{"key%d":{"method":"elicitation/create","params":{"message":"m%d","requestedSchema":{"type":"object","properties":{%q:{"type":"string"}},"required":[%q]}}}}`, i, i, field(n), field(n))
			if n > 0 {
				want := fmt.Sprintf(`{"key%d":{"action":"accept","content":{%q:"answer %d/%d"}}}`, i, field(n-1), i, n-1)
				if got := q.raw("inputResponses"); got != want {
					report("leg %d: responses %s, want %s", n+1, got, want)
				}
				if got := q.raw("requestState"); got != states[i][n-1] {
					report("leg %d: state %s, want %s", n+1, got, states[i][n-1])
				}
			} else if q.raw("inputResponses") != "" || q.raw("requestState") != "" {
				report("leg 1 bears %s", q.Params)
			}
			if n == 2 {
				q.result(fmt.Sprintf(`{"content":[{"type":"text","text":"done %d"}]}`, i))
				return
			}
			q.result(inputRequired(form, states[i][n]))
		}
	}
	opt := Options{Transports: map[string]func(context.Context) (mcp.Transport, error){}}
	var servers []config.Server
	for _, name := range []string{"pipe1", "pipe2", "json", "sse"} {
		p := newPeer().handle("tools/call", handler(name))
		cfg := config.Server{Name: name, Transport: config.Stdio}
		if strings.HasPrefix(name, "pipe") {
			opt.Transports[name] = p.pipe
		} else {
			p.sse = name == "sse"
			h := httptest.NewServer(p)
			defer h.Close()
			cfg = config.Server{Name: name, Transport: config.HTTP, URL: h.URL}
		}
		servers = append(servers, cfg)
	}
	m := startServers(t, opt, servers...)
	var bindings []Binding
	for _, s := range servers {
		waitReady(t, m, s.Name)
		tl, err := m.Tool(s.Name, "t")
		if err != nil {
			t.Fatal(err)
		}
		bindings = append(bindings, tl.Binding)
	}
	var wg sync.WaitGroup
	for i := range calls {
		wg.Go(func() {
			b := bindings[i%len(bindings)]
			args := fmt.Sprintf(`{"i":%d,"secret":"s%d","server":%q}`, i, i, b.Server)
			res, err := m.CallTool(t.Context(), b, json.RawMessage(args), Handlers{Form: func(_ context.Context, q FormRequest) (forms.Result, error) {
				name := q.Form.Fields[0].Name
				if q.Form.Message != fmt.Sprintf("m%d", i) || name != fmt.Sprintf("f%d_%d", i, q.Round-1) {
					report("call %d is shown the form %q with %q", i, q.Form.Message, name)
				}
				time.Sleep(time.Duration(i%7) * time.Millisecond)
				return forms.Accept(forms.Values{name: forms.TextValue(fmt.Sprintf("answer %d/%d", i, q.Round-1))}), nil
			}})
			if err != nil {
				report("call %d: %v", i, err)
				return
			}
			if got := string(res.Content[0]); got != fmt.Sprintf(`{"type":"text","text":"done %d"}`, i) || res.Legs != 3 {
				report("call %d: %s", i, got)
			}
		})
	}
	wg.Wait()
}
