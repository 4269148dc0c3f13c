package mcpmgr

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"askback/forms"
	"askback/mcpmgr/config"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ongoing is a call that runs beside the test.
type ongoing struct {
	res  *Result
	err  error
	done chan struct{}
}

func begin(ctx context.Context, m *Manager, b Binding, h Handlers) *ongoing {
	o := &ongoing{done: make(chan struct{})}
	go func() {
		defer close(o.done)
		o.res, o.err = m.CallTool(ctx, b, nil, h)
	}()
	return o
}

func (o *ongoing) wait(t testing.TB) error {
	t.Helper()
	select {
	case <-o.done:
		return o.err
	case <-time.After(5 * time.Second):
		t.Fatal("the call hangs")
		return nil
	}
}

// openForm is a form handler that reports when it is asked and then waits for its context or an
// answer.
type openForm struct {
	asked  chan struct{}
	answer chan forms.Result
	stuck  bool // ignores its context
}

func newOpenForm() *openForm {
	return &openForm{asked: make(chan struct{}, 8), answer: make(chan forms.Result, 1)}
}

func (f *openForm) handlers() Handlers {
	return Handlers{Form: func(ctx context.Context, _ FormRequest) (forms.Result, error) {
		f.asked <- struct{}{}
		if f.stuck {
			return <-f.answer, nil
		}
		select {
		case r := <-f.answer:
			return r, nil
		case <-ctx.Done():
			return forms.Result{}, context.Cause(ctx)
		}
	}}
}

// TestCancel: a cancellation takes effect at once in every state of a call.
func TestCancel(t *testing.T) {
	for _, kind := range kinds {
		t.Run("ML-14 form open/"+kind, func(t *testing.T) {
			p := script(inputRequired(`{"k":`+yesForm+`}`, `"s"`), complete)
			m := manage(t, kind, p, Options{})
			f := newOpenForm()
			ctx, cancel := context.WithCancelCause(t.Context())
			o := begin(ctx, m, bind(t, m, "t"), f.handlers())
			<-f.asked
			cancel(errors.New("the host went away"))
			if e := wantCode(t, o.wait(t), CodeCancelled); e.Uncertain {
				t.Fatal("nothing was on the wire")
			}
			time.Sleep(20 * time.Millisecond)
			if len(p.by("tools/call")) != 1 || len(p.by("notifications/cancelled")) != 0 {
				t.Fatal("something was sent")
			}
		})
		t.Run("ML-15 late answer/"+kind, func(t *testing.T) {
			p := script(inputRequired(`{"k":`+yesForm+`}`, `"s"`), complete)
			m := manage(t, kind, p, Options{})
			f := newOpenForm()
			f.stuck = true
			ctx, cancel := context.WithCancel(t.Context())
			o := begin(ctx, m, bind(t, m, "t"), f.handlers())
			<-f.asked
			cancel()
			f.answer <- forms.Accept(yes)
			wantCode(t, o.wait(t), CodeCancelled)
			if len(p.by("tools/call")) != 1 {
				t.Fatal("the answer was sent")
			}
		})
		t.Run("TR-15 on the wire/"+kind, func(t *testing.T) {
			started, ended := make(chan struct{}, 1), make(chan struct{}, 1)
			p := newPeer().handle("tools/call", func(r *preq) {
				if r.raw("requestState") == "" {
					r.result(inputRequired("", `"s"`))
					return
				}
				started <- struct{}{}
				<-r.ctx.Done()
				ended <- struct{}{}
			})
			m := manage(t, kind, p, Options{})
			ctx, cancel := context.WithCancel(t.Context())
			o := begin(ctx, m, bind(t, m, "t"), accept(yes))
			<-started
			cancel()
			if e := wantCode(t, o.wait(t), CodeCancelled); !e.Uncertain {
				t.Fatal("a request was on the wire")
			}
			<-ended // the server learnt of it
			if kind == "pipe" {
				eventually(t, "the cancellation", func() bool { return len(p.by("notifications/cancelled")) > 0 })
			}
			cs := p.by("notifications/cancelled")
			if kind == "pipe" && (len(cs) != 1 || cs[0].raw("requestId") != string(p.by("tools/call")[1].ID)) {
				t.Fatal("one cancellation, for the id of leg 2")
			}
			if kind != "pipe" && len(cs) != 0 {
				t.Fatal("closing the stream is the cancellation")
			}
		})
	}
	t.Run("in the pause", func(t *testing.T) {
		p := script(inputRequired("", `"s"`))
		m := manage(t, "pipe", p, Options{StatePause: time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		o := begin(ctx, m, bind(t, m, "t"), accept(yes))
		eventually(t, "the first leg", func() bool { return len(p.by("tools/call")) == 1 })
		time.Sleep(10 * time.Millisecond)
		cancel()
		wantCode(t, o.wait(t), CodeCancelled)
	})
	t.Run("before the first leg", func(t *testing.T) {
		p := script(complete)
		m := manage(t, "pipe", p, Options{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		wantCode(t, begin(ctx, m, bind(t, m, "t"), accept(yes)).wait(t), CodeCancelled)
		if len(p.by("tools/call")) != 0 {
			t.Fatal("a leg was sent")
		}
	})
	t.Run("legacy http", func(t *testing.T) {
		started := make(chan struct{}, 1)
		p := newPeer().handle("tools/call", func(r *preq) { started <- struct{}{}; r.silent() })
		p.legacyOnly = true
		m := manage(t, "json", p, Options{})
		ctx, cancel := context.WithCancel(t.Context())
		o := begin(ctx, m, bind(t, m, "t"), accept(yes))
		<-started
		cancel()
		wantCode(t, o.wait(t), CodeCancelled)
		eventually(t, "the cancellation", func() bool {
			cs := p.by("notifications/cancelled")
			return len(cs) == 1 && cs[0].raw("requestId") == string(p.by("tools/call")[0].ID)
		})
	})
}

func TestLegTimeout(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			p := newPeer().handle("tools/call", func(r *preq) { r.silent() })
			m := manage(t, kind, p, Options{}, func(c *config.Server) { c.Timeout = time.Second })
			_, err := callT(t, m, `{}`, Handlers{})
			if e := wantCode(t, err, CodeTimeout); !e.Uncertain {
				t.Fatal("a request was on the wire")
			}
			if kind == "pipe" {
				eventually(t, "the cancellation", func() bool { return len(p.by("notifications/cancelled")) == 1 })
			}
		})
	}
}

// TestReconnectEndsCalls: replacing the server ends its calls; an old binding is refused.
func TestReconnectEndsCalls(t *testing.T) {
	for _, kind := range kinds {
		t.Run("HL-09 form open/"+kind, func(t *testing.T) {
			p := script(inputRequired(`{"k":`+yesForm+`}`, `"s"`), complete)
			m := manage(t, kind, p, Options{})
			f := newOpenForm()
			b := bind(t, m, "t")
			o := begin(t.Context(), m, b, f.handlers())
			<-f.asked
			if err := m.Reconnect("s"); err != nil {
				t.Fatal(err)
			}
			wantCode(t, o.wait(t), CodeStaleBinding)
			eventually(t, "the new generation", func() bool {
				st, _ := m.Server("s")
				return st.State == StateReady && st.Generation != b.Generation
			})
			_, err := m.CallTool(t.Context(), b, nil, f.handlers())
			wantCode(t, err, CodeStaleBinding)
			if len(p.by("tools/call")) != 1 {
				t.Fatal("a leg was sent under the old binding")
			}
			if _, err := callT(t, m, `{}`, Handlers{}); err != nil {
				t.Fatal(err)
			}
		})
		t.Run("on the wire/"+kind, func(t *testing.T) {
			started := make(chan struct{}, 4)
			p := newPeer().handle("tools/call", func(r *preq) { started <- struct{}{}; r.silent() })
			m := manage(t, kind, p, Options{})
			o := begin(t.Context(), m, bind(t, m, "t"), Handlers{})
			<-started
			_ = m.Reconnect("s")
			if e := wantCode(t, o.wait(t), CodeOutcomeUnknown); !e.Uncertain {
				t.Fatal("uncertain")
			}
		})
		t.Run("manager closes/"+kind, func(t *testing.T) {
			p := script(inputRequired(`{"k":`+yesForm+`}`, `"s"`), complete)
			m := manage(t, kind, p, Options{})
			f := newOpenForm()
			o := begin(t.Context(), m, bind(t, m, "t"), f.handlers())
			<-f.asked
			m.Close()
			wantCode(t, o.wait(t), CodeCancelled)
		})
	}
}

// TestMetaIsNoDefinition: what a server notes in _meta about a list changes no tool.
func TestMetaIsNoDefinition(t *testing.T) {
	a := definition([]byte(`{"name":"t","inputSchema":{"type":"object"},"_meta":{"served":1}}`))
	if b := definition([]byte(`{"_meta":{"served":2},"inputSchema":{"type":"object"},"name":"t"}`)); a != b {
		t.Error("another definition")
	}
	if c := definition([]byte(`{"name":"t","inputSchema":{"type":"object","_meta":{}}}`)); a == c {
		t.Error("the same definition")
	}
}

// TestDefinitionFence: a changed or removed definition ends the calls of that tool, and of no other.
func TestDefinitionFence(t *testing.T) {
	t.Parallel()
	tool := func(name, desc string) string {
		return `{"name":"` + name + `","description":"` + desc + `","inputSchema":{"type":"object"}}`
	}
	changed := `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"%s}`
	for _, kind := range []string{"pipe", "json", "legacy pipe", "legacy http"} {
		t.Run(kind, func(t *testing.T) {
			p := newPeer().handle("tools/call", askOnce(`{"k":`+yesForm+`}`, `"s"`))
			hang := make(chan struct{}, 8)
			legacy := strings.HasPrefix(kind, "legacy")
			if legacy { // no rounds there: calls wait on the wire
				p.legacyOnly, p.session = true, "sess"
				p.handle("tools/call", func(r *preq) { hang <- struct{}{}; r.silent() })
			}
			p.caps = `{"tools":{"listChanged":true}}`
			p.tools = `[` + tool("t", "1") + `,` + tool("u", "1") + `]`
			how := strings.Replace(strings.TrimPrefix(kind, "legacy "), "http", "json", 1)
			m := manage(t, how, p, Options{})
			notice := func() {
				meta := ""
				if !legacy {
					meta = `,"params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + string(p.by("subscriptions/listen")[0].ID) + `}}`
				}
				n := len(p.by("tools/list"))
				p.push(fmt.Sprintf(changed, meta))
				eventually(t, "the refresh", func() bool { return len(p.by("tools/list")) > n })
				time.Sleep(20 * time.Millisecond)
			}
			eventually(t, "change notices", func() bool { st, _ := m.Server("s"); return st.Notices == "" })
			ft, fu := newOpenForm(), newOpenForm()
			ot := begin(t.Context(), m, bind(t, m, "t"), ft.handlers())
			ou := begin(t.Context(), m, bind(t, m, "u"), fu.handlers())
			if legacy {
				<-hang
				<-hang
			} else {
				<-ft.asked
				<-fu.asked
			}
			notice() // nothing changed: nothing ends
			p.setTools(`[{"inputSchema":{"type":"object"},"description":"1","name":"t"},` + tool("u", "1") + `]`)
			notice() // the same in another spelling
			select {
			case <-ot.done:
				t.Fatal("an unchanged refresh ended the call:", ot.err)
			case <-ou.done:
				t.Fatal("an unchanged refresh ended the call:", ou.err)
			default:
			}
			p.setTools(`[` + tool("u", "1") + `,` + tool("t", "2") + `]`)
			notice()
			if e := wantCode(t, ot.wait(t), CodeStaleBinding); e.Uncertain != legacy {
				t.Fatalf("%+v", e)
			}
			p.setTools(`[` + tool("t", "2") + `]`)
			notice()
			wantCode(t, ou.wait(t), CodeStaleBinding)
		})
	}
}

// TestOthersGoOn: what happens to one server is nothing to another's calls.
func TestOthersGoOn(t *testing.T) {
	good := script(inputRequired(`{"k":`+yesForm+`}`, `"s"`), complete)
	bad := newPeer()
	opt := Options{Transports: map[string]func(context.Context) (mcp.Transport, error){"good": good.pipe, "bad": bad.pipe}}
	m := startServers(t, opt, config.Server{Name: "good", Transport: config.Stdio}, config.Server{Name: "bad", Transport: config.Stdio})
	waitReady(t, m, "good")
	waitReady(t, m, "bad")
	tl, err := m.Tool("good", "t")
	if err != nil {
		t.Fatal(err)
	}
	f := newOpenForm()
	o := begin(t.Context(), m, tl.Binding, f.handlers())
	<-f.asked
	bad.push(`{"jsonrpc":"2.0","id":999,"result":`) // not JSON: over a caller's transport that is the end
	bad.push(`garbage`)
	_ = m.Reconnect("bad")
	m.Apply([]config.Server{{Name: "new", Transport: config.Stdio, Command: "/nowhere/at/all"}, {Name: "good", Transport: config.Stdio}})
	f.answer <- forms.Accept(yes)
	if err := o.wait(t); err != nil {
		t.Fatal(err)
	}
	if err := m.Wait(t.Context(), "new"); err == nil || !strings.Contains(err.Error(), "was not found") {
		t.Fatal(err)
	}
	if _, ok := m.Server("bad"); ok {
		t.Fatal("bad is still there")
	}
	var names []string
	for _, s := range m.Servers() {
		names = append(names, s.Name)
	}
	if fmt.Sprint(names) != "[new good]" {
		t.Fatal(names)
	}
}

func TestProgress(t *testing.T) {
	for _, kind := range []string{"pipe", "sse"} {
		t.Run("ML-23/"+kind, func(t *testing.T) {
			n := 0
			p := newPeer().handle("tools/call", func(r *preq) {
				n++
				tok := r.raw("_meta", "progressToken")
				r.notify("notifications/progress", `{"progressToken":`+tok+`,"progress":1,"total":4,"message":"half"}`)
				r.notify("notifications/progress", `{"progressToken":"leg-999999","progress":2}`) // ML-23: nobody's
				r.notify("notifications/progress", `{"progressToken":7,"progress":"x"}`)
				if n == 1 {
					r.result(inputRequired("", `"s"`))
					return
				}
				r.result(complete)
			})
			m := manage(t, kind, p, Options{})
			var got []Progress
			h := accept(yes)
			h.Progress = func(p Progress) { got = append(got, p) }
			if _, err := callT(t, m, `{}`, h); err != nil {
				t.Fatal(err)
			}
			if len(got) != 2 || got[0] != (Progress{1, 4, "half"}) {
				t.Fatalf("ML-23: %+v", got)
			}
			legs := p.by("tools/call")
			if a, b := legs[0].raw("_meta", "progressToken"), legs[1].raw("_meta", "progressToken"); a == b || a == "" || b == "" {
				t.Fatalf("tokens %s and %s", a, b)
			}
		})
	}
}
