package mcpmgr

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"askback/mcpmgr/config"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func toolJSON(name string) string { return `{"name":"` + name + `","inputSchema":{"type":"object"}}` }

// TestLists: pages, cursors and what cannot be a list, each ending as documented.
func TestLists(t *testing.T) {
	page := func(items, next string) string {
		if next != "" {
			next = `,"nextCursor":` + next
		}
		return `{"tools":[` + items + `]` + next + `}`
	}
	names := func(m *Manager) string {
		var out []string
		for _, tl := range m.Tools() {
			out = append(out, tl.Name)
		}
		return strings.Join(out, " ")
	}
	many := func(n int) string {
		all := make([]string, n)
		for i := range all {
			all[i] = toolJSON(fmt.Sprint("t", i))
		}
		return strings.Join(all, ",")
	}
	cases := []struct {
		name  string
		list  func(cursor string, n int) string // cursor is the raw JSON, "" where absent; n counts from 0
		tools string                            // names, or
		fails string                            // part of the reason
		pages int
	}{
		{name: "one page", list: func(string, int) string { return page(toolJSON("a"), "") }, tools: "a", pages: 1},
		{name: "an empty cursor is a cursor", list: func(c string, n int) string {
			return []string{page(toolJSON("a"), `""`), page(toolJSON("b"), "")}[n]
		}, tools: "a b", pages: 2},
		{name: "cursors go back as they came", list: func(c string, n int) string {
			if n == 1 && c != `"\u00e9\/"` {
				return `{}`
			}
			return []string{page(toolJSON("a"), `"\u00e9\/"`), page(toolJSON("b"), "null")}[n]
		}, tools: "a b", pages: 2},
		{name: "endless pages", list: func(string, int) string { return page("", `"again"`) }, fails: "more than 100 pages", pages: 100},
		{name: "100 pages", list: func(_ string, n int) string {
			if n == 99 {
				return page(toolJSON("z"), "")
			}
			return page("", `"n"`)
		}, tools: "z", pages: 100},
		{name: "too many items", list: func(string, int) string { return page(many(6000), `"n"`) }, fails: "more than 10000 items", pages: 2},
		{name: "cursor a number", list: func(string, int) string { return page("", `7`) }, fails: "nextCursor", pages: 1},
		{name: "no list", list: func(string, int) string { return `{}` }, fails: `no list "tools"`, pages: 1},
		{name: "null for an empty list", list: func(_ string, n int) string {
			return []string{`{"tools":null,"nextCursor":"n"}`, page(toolJSON("a"), "")}[n]
		}, tools: "a", pages: 2},
		{name: "list an object", list: func(string, int) string { return `{"tools":{}}` }, fails: `no list`, pages: 1},
		{name: "unknown resultType", list: func(string, int) string { return `{"resultType":"odd","tools":[]}` }, fails: `unknown type "odd"`, pages: 1},
		{name: "input_required", list: func(string, int) string { return `{"resultType":"input_required","requestState":"s"}` }, fails: "allows none", pages: 1},
		{name: "tools that are none are left out", list: func(string, int) string {
			return page(`null,{"inputSchema":{}},{"name":"n"},{"name":"n","inputSchema":[]},`+toolJSON("a")+`,`+toolJSON("a")+`,{"name":7,"inputSchema":{}}`, "")
		}, tools: "a", pages: 1},
	}
	for _, kind := range []string{"pipe", "json"} {
		for _, c := range cases {
			t.Run(kind+"/"+c.name, func(t *testing.T) {
				p := newPeer()
				n := 0
				p.handle("tools/list", func(r *preq) {
					p.mu.Lock()
					i := n
					n++
					p.mu.Unlock()
					r.result(c.list(r.raw("cursor"), i))
				})
				m, err := tryManage(t, kind, p, Options{})
				st, _ := m.Server("s")
				if c.fails != "" {
					if err == nil || !strings.Contains(st.Reason, c.fails) {
						t.Fatalf("%v %+v", err, st)
					}
				} else if err != nil || names(m) != c.tools {
					t.Fatalf("%v %q", err, names(m))
				}
				if got := len(p.by("tools/list")); got != c.pages {
					t.Fatalf("%d pages", got)
				}
			})
		}
	}
	t.Run("no tools capability", func(t *testing.T) {
		p := newPeer()
		p.caps = `{"prompts":{}}`
		m := manage(t, "pipe", p, Options{})
		if len(p.by("tools/list")) != 0 || len(m.Tools()) != 0 {
			t.Fatal("tools were asked for")
		}
	})
}

// bubble starts one server inside a bubble of fake time.
func bubble(p *peer, opt Options) *Manager {
	opt.Transports = map[string]func(context.Context) (mcp.Transport, error){"s": p.pipe}
	m := New(opt)
	m.Apply([]config.Server{{Name: "s", Transport: config.Stdio}})
	synctest.Wait()
	return m
}

func notices(m *Manager) string { st, _ := m.Server("s"); return st.Notices }

// TestSubscription: change notices count only under the acknowledged subscription.
func TestSubscription(t *testing.T) {
	changed := func(id string) string {
		return `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + id + `}}}`
	}
	ack := func(r *preq, id, what string) {
		r.notify("notifications/subscriptions/acknowledged", `{"_meta":{"io.modelcontextprotocol/subscriptionId":`+id+`},"notifications":`+what+`}`)
	}
	lists := func(p *peer) int { return len(p.by("tools/list")) }
	listener := func(f func(*preq)) *peer {
		p := newPeer().handle("subscriptions/listen", f)
		p.caps = `{"tools":{"listChanged":true}}`
		return p
	}
	t.Run("notices count after the acknowledgment", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := listener(func(r *preq) {
				r.out(changed(string(r.ID))) // too early
				time.Sleep(time.Second)
				ack(r, string(r.ID), `{"toolsListChanged":true}`)
				r.silent()
			})
			m := bubble(p, Options{})
			defer m.Close()
			synctest.Wait()
			if n := lists(p); n != 1 {
				t.Fatalf("a notice before the acknowledgment counted: %d lists", n)
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if n := lists(p); n != 2 || notices(m) != "" { // what was missed is listed
				t.Fatalf("%d lists, %q", n, notices(m))
			}
			p.setTools(`[` + toolJSON("x") + `]`)
			p.push(changed("99"))                                                                // a foreign subscription
			p.push(changed(`"` + string(p.by("subscriptions/listen")[0].ID) + `"`))              // another type of id
			p.push(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)              // none
			p.push(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":[1]}`) // nonsense
			time.Sleep(time.Second)
			synctest.Wait()
			if n := lists(p); n != 2 {
				t.Fatalf("a foreign notice counted: %d lists", n)
			}
			for range 5 { // a burst is one refresh
				p.push(changed(string(p.by("subscriptions/listen")[0].ID)))
			}
			time.Sleep(time.Second)
			synctest.Wait()
			if n := lists(p); n != 3 || m.Tools()[0].Name != "x" {
				t.Fatalf("%d lists", n)
			}
		})
	})
	t.Run("never acknowledged", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := listener(func(r *preq) {
				ack(r, "99", `{"toolsListChanged":true}`)
				r.silent()
			})
			m := bubble(p, Options{})
			defer m.Close()
			time.Sleep(11 * time.Second)
			synctest.Wait()
			if !strings.Contains(notices(m), "does not acknowledge") {
				t.Fatal(notices(m))
			}
		})
	})
	t.Run("granted less", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := listener(func(r *preq) { ack(r, string(r.ID), `{}`); r.silent() })
			m := bubble(p, Options{})
			defer m.Close()
			time.Sleep(time.Second)
			synctest.Wait()
			before := lists(p)
			p.push(changed(string(p.by("subscriptions/listen")[0].ID)))
			time.Sleep(time.Second)
			synctest.Wait()
			if !strings.Contains(notices(m), "refuses") || lists(p) != before {
				t.Fatal(notices(m), lists(p)-before)
			}
		})
	})
	t.Run("refused", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := listener(func(r *preq) { r.fail(-32601, "no") })
			m := bubble(p, Options{})
			defer m.Close()
			time.Sleep(time.Minute)
			synctest.Wait()
			if !strings.Contains(notices(m), "refuses") || len(p.by("subscriptions/listen")) != 1 {
				t.Fatal(notices(m))
			}
		})
	})
	t.Run("not declared", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newPeer()
			m := bubble(p, Options{})
			defer m.Close()
			if !strings.Contains(notices(m), "does not announce") || len(p.by("subscriptions/listen")) != 0 {
				t.Fatal(notices(m))
			}
		})
	})
	for _, how := range []string{"result", "cancelled"} {
		t.Run("ends by "+how+" and is opened again", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var p *peer
				p = listener(func(r *preq) {
					ack(r, string(r.ID), `{"toolsListChanged":true}`)
					if len(p.by("subscriptions/listen")) < 3 {
						time.Sleep(5 * time.Second)
						if how == "result" {
							r.result(`{"resultType":"complete"}`)
						} else {
							r.notify("notifications/cancelled", `{"requestId":`+string(r.ID)+`}`)
						}
						return
					}
					r.silent()
				})
				m := bubble(p, Options{})
				defer m.Close()
				time.Sleep(5*time.Second + time.Second/2)
				synctest.Wait()
				if !strings.Contains(notices(m), "being opened again") {
					t.Fatal(notices(m))
				}
				time.Sleep(20 * time.Second)
				synctest.Wait()
				if n := len(p.by("subscriptions/listen")); n != 3 || notices(m) != "" {
					t.Fatalf("%d subscriptions, %q", n, notices(m))
				}
				if n := lists(p); n < 3 {
					t.Fatalf("the tools were not listed again: %d", n)
				}
			})
		})
	}
}

// TestListenStreamDies: over HTTP the stream of notices may end without a word; it is noticed and
// opened again.
func TestListenStreamDies(t *testing.T) {
	t.Parallel()
	for _, legacy := range []bool{false, true} {
		t.Run(fmt.Sprint("legacy ", legacy), func(t *testing.T) {
			p := newPeer()
			p.caps, p.legacyOnly, p.session = `{"tools":{"listChanged":true}}`, legacy, "s1"
			streams := func() int { return len(p.by("subscriptions/listen")) + len(p.by("GET")) }
			drop := make(chan struct{})
			if !legacy {
				p.handle("subscriptions/listen", func(r *preq) {
					r.notify("notifications/subscriptions/acknowledged", `{"_meta":{"io.modelcontextprotocol/subscriptionId":`+string(r.ID)+`},"notifications":{"toolsListChanged":true}}`)
					if len(p.by("subscriptions/listen")) > 1 {
						r.silent()
						return
					}
					select {
					case <-drop: // the handler returns: the stream ends
					case <-r.ctx.Done():
					}
				})
			}
			m := manage(t, "json", p, Options{})
			eventually(t, "the stream", func() bool { return streams() == 1 && notices(m) == "" })
			if legacy {
				eventually(t, "a pusher", func() bool { p.mu.Lock(); defer p.mu.Unlock(); return len(p.pushers) > 0 })
				p.push("CLOSE")
			} else {
				close(drop)
			}
			eventually(t, "the stream again", func() bool { return streams() >= 2 && notices(m) == "" })
			if st, _ := m.Server("s"); st.State != StateReady {
				t.Fatalf("%+v", st)
			}
		})
	}
	t.Run("legacy without a stream", func(t *testing.T) {
		p := newPeer()
		p.caps, p.legacyOnly = `{"tools":{"listChanged":true}}`, true
		m := manage(t, "json", p, Options{})
		eventually(t, "no stream", func() bool { return strings.Contains(notices(m), "no stream") })
	})
}

// TestFailingRefresh: a refresh that fails keeps the old tools, and says so.
func TestFailingRefresh(t *testing.T) {
	p := newPeer()
	p.caps = `{"tools":{"listChanged":true}}`
	m := manage(t, "pipe", p, Options{})
	eventually(t, "the subscription", func() bool { return notices(m) == "" })
	p.handle("tools/list", func(r *preq) { r.fail(-32603, "broken") })
	p.push(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + string(p.by("subscriptions/listen")[0].ID) + `}}}`)
	eventually(t, "the warning", func() bool {
		st, _ := m.Server("s")
		return len(st.Warnings) == 1 && strings.Contains(st.Warnings[0], "broken") && st.Tools == 1
	})
}
