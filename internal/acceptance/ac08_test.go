package acceptance

import (
	"context"
	"strings"
	"testing"
	"time"

	"askback/forms"
	"askback/host"
	"askback/hostclient"
	"askback/internal/acceptance/peer"
	"askback/protocol"
	"askback/provider"
)

// 8. Provider disconnect, registration replacement, MCP reconnect, and stale Tool binding cannot receive a previously
// committed answer.
func TestAC08_an_answer_reaches_only_who_asked(t *testing.T) { ac08(live{t}) }

func ac08(t T) {
	t.Parallel()
	// What happens to the provider, by hand; the second provider, if there is one, must never see the answer.
	for name, c := range map[string]struct {
		do    func(*rig, *rawProvider) *rawProvider
		loses bool // the call is lost, and the form closed
	}{
		"disconnect": {func(r *rig, p *rawProvider) *rawProvider {
			p.hangUp()
			return r.rawProvide("hand-made")
		}, true},
		"supersede": {func(r *rig, p *rawProvider) *rawProvider { return r.rawProvide("hand-made") }, true},
		"replace_same_connection": {func(r *rig, p *rawProvider) *rawProvider {
			p.publish("other")
			time.Sleep(20 * time.Millisecond)
			return r.rawProvide("another")
		}, false},
		"unregister": {func(r *rig, p *rawProvider) *rawProvider {
			p.unregister()
			time.Sleep(20 * time.Millisecond)
			return r.rawProvide("another")
		}, false},
	} {
		t.Run(name, func(t T) {
			t.Run("pending", func(t T) {
				r := start(t, rigOptions{})
				p := r.rawProvide("hand-made")
				tn := r.call("/call hand/ask {}")
				id := p.ask()
				in, _ := tn.form()
				later := c.do(r, p)
				if c.loses {
					if o, ok := tn.settled(in).(*protocol.Closure); !ok || o.Reason != protocol.ClosedProviderDisconnected {
						t.Errorf("outcome %+v", o)
					}
				}
				finish(t, r, p, later, tn, in, id, c.loses)
			})
			t.Run("committed", func(t T) {
				reached, held := make(chan struct{}, 1), make(chan struct{})
				r := start(t, rigOptions{host: func(o *host.Options) {
					o.BeforeHandOver = func(string) { reached <- struct{}{}; <-held }
				}})
				p := r.rawProvide("hand-made")
				tn := r.call("/call hand/ask {}")
				id := p.ask()
				in, _ := tn.form()
				answered := make(chan error, 1)
				go func() {
					_, err := r.view.Answer(context.Background(), in.SessionID, in.InteractionID, &protocol.FormAnswer{Result: accept()})
					answered <- err
				}()
				<-reached
				later := c.do(r, p)
				if c.loses {
					waitFor(t, "the call's end", func() bool { return r.host.Active() == 0 })
				}
				close(held)
				if err := <-answered; err != nil {
					t.Errorf("the answer was committed, and its surface hears %v", err)
				}
				finish(t, r, p, later, tn, in, id, c.loses)
			})
		})
	}
	// What happens to the MCP server, while the form is open and just after its answer came back.
	for name, upset := range map[string]func(*rig, *peer.Server){
		"mcp_reconnect": func(r *rig, _ *peer.Server) { r.mgr.Reconnect("peer1") },
		"stale_binding": func(r *rig, s *peer.Server) {
			before, err := r.mgr.Tool("peer1", "ask")
			if err != nil {
				r.t.Fatal(err)
			}
			s.ChangeTool()
			waitFor(r.t, "the changed definition", func() bool {
				now, err := r.mgr.Tool("peer1", "ask")
				return err == nil && now.Binding != before.Binding
			})
		},
	} {
		t.Run(name, func(t T) {
			for _, when := range []string{"pending", "committed"} {
				t.Run(when, func(t T) {
					var r *rig
					s := peer.New(peer.Round(`"s"`, peer.Form("k", "v")), peer.Done)
					after := func() {}
					r = start(t, rigOptions{tools: func(in provider.Tools) provider.Tools { return seam{in, func() { after() }} }})
					tn := r.call("/call " + r.addServer(s) + "/ask {}")
					in, _ := tn.form()
					if when == "pending" {
						upset(r, s)
						if o, ok := tn.settled(in).(*protocol.Closure); !ok || o.Reason != protocol.ClosedProducerCancelled {
							t.Errorf("outcome %+v", o)
						}
					} else {
						after = func() { upset(r, s) }
						tn.answer(in, accept("v", "x"))
					}
					_, results := tn.end()
					if len(results) != 1 || !results[0].isError || !strings.HasPrefix(results[0].text, "stale_binding: ") {
						t.Errorf("%+v", results)
					}
					if n := len(s.Calls()); n != 1 {
						t.Errorf("the server saw %d legs", n)
					}
					r.clean(0, tn)
				})
			}
		})
	}
}

// finish ends a call whose provider was upset, and wants the answer nowhere but with the invocation that asked.
func finish(t T, r *rig, p, later *rawProvider, tn *turn, in protocol.Interaction, id string, loses bool) {
	t.Helper()
	if loses {
		_, err := r.view.Answer(r.ctx(), in.SessionID, in.InteractionID, &protocol.FormAnswer{Result: forms.Decline()})
		if hostclient.CodeOf(err) != hostclient.CodeAlreadyResolved {
			t.Errorf("an answer afterwards: %v", err)
		}
		p.quiet()
	} else {
		r.view.Answer(r.ctx(), in.SessionID, in.InteractionID, &protocol.FormAnswer{Result: accept()})
		if got := p.expect("interaction_result"); got != id {
			t.Errorf("the answer went to %s", got)
		}
		p.result(id)
	}
	if later != nil {
		later.quiet()
	}
	_, results := tn.end()
	if len(results) != 1 || results[0].isError != loses || results[0].uncertain != loses {
		t.Errorf("%+v", results)
	}
	r.clean(0, tn)
}

func waitFor(t T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waiting for %s", what)
		}
	}
}

// seam runs something between an answer's arrival and the retry.
type seam struct {
	inner
	after func()
}

type inner = interface{ provider.Tools }

func (s seam) Call(ctx context.Context, req provider.CallRequest) (provider.CallResult, error) {
	if form := req.Form; form != nil {
		req.Form = func(ctx context.Context, f forms.Form) (forms.Result, error) {
			res, err := form(ctx, f)
			if err == nil {
				s.after()
			}
			return res, err
		}
	}
	return s.inner.Call(ctx, req)
}

func (p *rawProvider) unregister() {
	p.send(`{"requestId":"u","operation":"client.capability.unregister","input":{"registrationId":%q}}`, p.registration)
}
