package mcpmgr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"askback/forms"
	"askback/mcpmgr/config"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var documented = map[Code]bool{
	CodeServerError: true, CodeUnsupportedInput: true, CodeInvalidForm: true, CodeInvalidAnswer: true, CodeLimitExceeded: true, CodeRoundLimit: true,
	CodeNoHandler: true, CodeStaleBinding: true, CodeConnectionLost: true, CodeOutcomeUnknown: true, CodeTimeout: true, CodeCancelled: true,
	CodeUnsupportedResult: true, CodeProtocolError: true,
}

// chaosPeer does something else with every leg, and notes what it was sent.
type chaosPeer struct {
	*peer
	r    *rand.Rand
	rmu  sync.Mutex
	t    *testing.T
	last map[int]string // by call: the state that was sent last, "" for none
	over map[int]bool   // by call: nothing may come any more
	seen map[string]bool
}

func (c *chaosPeer) roll(n int) int {
	c.rmu.Lock()
	defer c.rmu.Unlock()
	return c.r.IntN(n)
}

func (c *chaosPeer) token() string {
	c.rmu.Lock()
	defer c.rmu.Unlock()
	return randomToken(c.r)
}

func (c *chaosPeer) call(q *preq) {
	var args struct{ I int }
	_ = json.Unmarshal([]byte(q.raw("arguments")), &args)
	c.mu.Lock()
	if c.over[args.I] {
		c.t.Errorf("call %d: a leg after the end", args.I)
	}
	if got, want := q.raw("requestState"), c.last[args.I]; got != want {
		c.t.Errorf("call %d: state %q, want %q", args.I, got, want)
	}
	if id := string(q.ID); c.seen[id] {
		c.t.Errorf("the id %s was used twice", id)
	} else {
		c.seen[id] = true
	}
	c.mu.Unlock()
	round := func(requests, state string) {
		c.mu.Lock()
		c.last[args.I] = state
		c.mu.Unlock()
		q.result(inputRequired(requests, state))
	}
	end := func(f func()) {
		c.mu.Lock()
		c.over[args.I] = true
		c.mu.Unlock()
		f()
	}
	if sleep(q.ctx, time.Duration(c.roll(3000))*time.Millisecond) != nil {
		return
	}
	switch c.roll(16) {
	case 0, 1, 2:
		end(func() { q.result(complete) })
	case 3, 4, 5:
		round(`{"k":`+yesForm+`}`, c.token())
	case 6, 7:
		round("", c.token())
	case 8:
		round(`{}`, "")
	case 9:
		round(`{"a":`+yesForm+`,"b":`+yesForm+`}`, "")
	case 10:
		end(func() { q.fail(-32000, "no") })
	case 11:
		end(func() { q.result(`{"resultType":"hologram"}`) })
	case 12:
		end(func() { q.result(inputRequired(`{"k":{"method":"vendor/x"}}`, c.token())) })
	case 13:
		end(func() { q.silent() })
	case 14:
		c.setTools(fmt.Sprintf(`[{"name":"t","description":"%d","inputSchema":{"type":"object"}}]`, c.roll(2)))
		c.push(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		if l := c.by("subscriptions/listen"); len(l) > 0 {
			c.push(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + string(l[len(l)-1].ID) + `}}}`)
		}
		end(func() { q.silent() })
	default:
		end(c.hangUp)
	}
}

// TestChaos lets servers, people and callers do whatever they can, and wants every call to end as
// documented, in time, with nothing sent twice or after the end. ASKBACK_CHAOS sets how many seeds.
func TestChaos(t *testing.T) {
	for seed := range count(t, "ASKBACK_CHAOS", 8) {
		synctest.Test(t, func(t *testing.T) { chaos(t, uint64(seed)) })
	}
}

func chaos(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 7))
	var mu sync.Mutex
	var peers []*chaosPeer
	over := map[int]time.Time{} // when calls came back; what was written before may arrive with it
	open := func(ctx context.Context) (mcp.Transport, error) {
		mu.Lock()
		defer mu.Unlock()
		c := &chaosPeer{peer: newPeer(), r: rand.New(rand.NewPCG(seed, uint64(len(peers)))), t: t, last: map[int]string{}, over: map[int]bool{}, seen: map[string]bool{}}
		c.caps = `{"tools":{"listChanged":true}}`
		c.handle("tools/call", func(q *preq) {
			var args struct{ I int }
			_ = json.Unmarshal([]byte(q.raw("arguments")), &args)
			mu.Lock()
			if at, ok := over[args.I]; ok && time.Now().After(at) {
				t.Errorf("seed %d, call %d: a leg %v after the call came back", seed, args.I, time.Since(at))
			}
			mu.Unlock()
			c.call(q)
		})
		peers = append(peers, c)
		return c.pipe(ctx)
	}
	m := New(Options{Transports: map[string]func(context.Context) (mcp.Transport, error){"s": open}, LegTimeout: 20 * time.Second})
	defer m.Close()
	m.Apply([]config.Server{{Name: "s", Transport: config.Stdio}})
	synctest.Wait()
	var wg sync.WaitGroup
	for i := range 40 {
		pause := time.Duration(r.IntN(60_000)) * time.Millisecond
		thinks, does, gives := r.IntN(20), r.IntN(10), time.Duration(1+r.IntN(40))*time.Second
		wg.Go(func() {
			time.Sleep(pause)
			tl, err := m.Tool("s", "t")
			if err != nil {
				return // not connected just now
			}
			ctx, cancel := context.WithTimeoutCause(t.Context(), gives, errors.New("the caller has had enough"))
			defer cancel()
			began := time.Now()
			_, err = m.CallTool(ctx, tl.Binding, json.RawMessage(fmt.Sprintf(`{"i":%d}`, i)), Handlers{Form: func(ctx context.Context, _ FormRequest) (forms.Result, error) {
				if sleep(ctx, time.Duration(thinks)*time.Second) != nil && does < 8 {
					return forms.Result{}, context.Cause(ctx)
				}
				switch does {
				case 0:
					return forms.Decline(), nil
				case 1:
					return forms.Accept(forms.Values{"nope": forms.TextValue("x")}), nil
				case 2:
					return forms.Result{}, errors.New("broken")
				}
				return forms.Accept(yes), nil
			}})
			mu.Lock()
			over[i] = time.Now()
			mu.Unlock()
			if e, ok := errors.AsType[*ToolCallError](err); err != nil && (!ok || !documented[e.Code] || e.Server != "s" || e.Message == "" || strings.Contains(e.Message, "%!")) {
				t.Errorf("seed %d, call %d: %v", seed, i, err)
			}
			if d := time.Since(began); d > gives {
				t.Errorf("seed %d, call %d: ended after %v of %v", seed, i, d, gives)
			}
		})
	}
	wg.Wait()
	time.Sleep(2 * time.Second)
	synctest.Wait()
}
