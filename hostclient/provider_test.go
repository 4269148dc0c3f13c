package hostclient_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"askback/forms"
	"askback/hostclient"
	"askback/protocol"
)

func offer(tools ...string) []hostclient.Offer {
	o := hostclient.Offer{OfferID: "offer", Version: "1", Affinity: protocol.AffinitySession, HostPathAccess: protocol.HostPathNone, Label: "askback"}
	for _, name := range tools {
		o.Tools = append(o.Tools, hostclient.Tool{ServerID: "srv", Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)})
	}
	return []hostclient.Offer{o}
}

// serving hands each invocation to the test.
type serving chan *served

type served struct {
	*hostclient.Invocation
	ctx  context.Context
	done chan struct{} // closed by the test to let Serve return
}

func (s serving) Serve(ctx context.Context, inv *hostclient.Invocation) {
	v := &served{inv, ctx, make(chan struct{})}
	s <- v
	select {
	case <-v.done:
	case <-ctx.Done():
	}
}

func newProvider(t *testing.T, opts hostclient.Options) (*hostclient.Provider, serving) {
	s := make(serving, 64)
	p := hostclient.NewProvider(opts, s)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		p.Close(ctx)
	})
	return p, s
}

func (p *peer) registers() string {
	p.t.Helper()
	in, id := request[*protocol.CapabilityReplaceInput](p)
	p.answer(id, in.Operation(), &protocol.CapabilityReplaceResult{RegistrationID: in.RegistrationID, Revision: 1})
	return in.RegistrationID
}

// published is a provider of the tools one and two, with the registration that the returned peer holds.
func published(t *testing.T, h *scripted, opts hostclient.Options) (*hostclient.Provider, serving, *peer, string) {
	t.Helper()
	prov, s := newProvider(t, opts)
	p := h.accepted()
	done := make(chan error, 1)
	go func() { done <- prov.Publish(t.Context(), offer("one", "two")) }()
	reg := p.registers()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return prov, s, p, reg
}

func (p *peer) calls(reg, id, tool string) {
	p.t.Helper()
	p.send(&protocol.CapabilityCall{InvocationID: id, RegistrationID: reg, OfferID: "offer", ServerID: "srv", ToolName: tool,
		Arguments: json.RawMessage(`{"n":9007199254740993}`), SessionID: "s1", TurnID: "t1", ToolCallID: "functions.one:2.0"})
}

// runs is a call up to the tool's start.
func (p *peer) runs(s serving, reg, id string) *served {
	p.t.Helper()
	p.calls(reg, id, "one")
	if f := expect[*protocol.CapabilityAccepted](p); f.InvocationID != id {
		p.t.Fatalf("accepted %s", f.InvocationID)
	}
	p.send(&protocol.CapabilityAdmitted{InvocationID: id})
	return <-s
}

func text(s string) hostclient.ToolResult {
	return hostclient.ToolResult{Content: []hostclient.ContentBlock{{Type: protocol.BlockText, Text: s}}}
}

func dialect39(o hostclient.Options) hostclient.Options {
	o.Dialects = []protocol.Dialect{protocol.Dialect39}
	return o
}

func TestServesACall(t *testing.T) {
	for _, forms := range []bool{true, false} {
		bubble(t, func(t *testing.T) {
			h := newScripted(t)
			opts := h.options()
			if !forms {
				opts = dialect39(opts)
			}
			prov, s, p, reg := published(t, h, opts)
			if prov.CanAsk() != forms {
				t.Errorf("CanAsk %v", prov.CanAsk())
			}
			p.calls(reg, "i1", "one")
			m, _ := p.next(time.Second)
			if m.err != nil || bytes.Contains(m.data, []byte(`"admissionEvidence":{"kind":"none"}`)) != forms {
				t.Errorf("accepted is %s (%v)", m.data, m.err)
			}
			time.Sleep(5 * time.Second)
			if len(s) != 0 {
				t.Fatal("the tool runs before it is admitted")
			}
			p.send(&protocol.CapabilityAdmitted{InvocationID: "i1"})
			inv := <-s
			if c := inv.Call(); string(c.Arguments) != `{"n":9007199254740993}` || c.ToolCallID != "functions.one:2.0" || c.HostEpoch != "epoch-1" || inv.CanAsk() != forms {
				t.Errorf("call %+v", c)
			}
			inv.Progress(1, 2)
			if f := expect[*protocol.CapabilityProgress](p); f.Current != 1 || f.Total != 2 {
				t.Errorf("%+v", f)
			}
			if err := inv.Result(text("done")); err != nil {
				t.Fatal(err)
			}
			if f := expect[*protocol.CapabilityResult](p); f.Result.Content[0].Text != "done" {
				t.Errorf("%+v", f)
			}
			for what, err := range map[string]error{"Result": inv.Result(text("again")), "Fail": inv.Fail("again")} {
				if hostclient.CodeOf(err) != hostclient.CodeRetired {
					t.Errorf("%s after the result: %v", what, err)
				}
			}
			p.send(&protocol.CapabilityRelease{InvocationID: "i1"})
			<-inv.ctx.Done()
			if hostclient.CodeOf(context.Cause(inv.ctx)) != hostclient.CodeReleased {
				t.Error(context.Cause(inv.ctx))
			}
			p.silent()
		})
	}
}

// TestResultSizes: up to 32 KiB a result goes inline, beyond in chunks of exactly 36,864 bytes, beyond 24 MiB not at all.
func TestResultSizes(t *testing.T) {
	const frame = len(`{"content":[{"type":"text","text":""}]}`)
	for _, size := range []int{frame, 32 << 10, 32<<10 + 1, protocol.ChunkBytes, protocol.ChunkBytes + 1, 2 * protocol.ChunkBytes, 1 << 20} {
		bubble(t, func(t *testing.T) {
			h := newScripted(t)
			_, s, p, reg := published(t, h, h.options())
			inv := p.runs(s, reg, "i1")
			want := strings.Repeat("x", size-frame)
			if err := inv.Result(text(want)); err != nil {
				t.Fatal(err)
			}
			var got []byte
			switch f, err := p.read(); f := f.(type) {
			case *protocol.CapabilityResult:
				if size > protocol.ChunkThresholdBytes {
					t.Errorf("%d bytes inline", size)
				}
				got, _ = protocol.EncodeToolResult(&f.Result)
			case *protocol.CapabilityResultStart:
				if size <= protocol.ChunkThresholdBytes || f.ByteLength != size {
					t.Errorf("%d bytes: start %+v", size, f)
				}
				for i := range f.ChunkCount {
					c := expect[*protocol.CapabilityResultChunk](p)
					if c.Index != i || i < f.ChunkCount-1 && len(c.Data) != protocol.ChunkBytes {
						t.Errorf("chunk %d has %d bytes", c.Index, len(c.Data))
					}
					got = append(got, c.Data...)
				}
			default:
				t.Fatalf("%d bytes: %T, %v", size, f, err)
			}
			if len(got) != size || !bytes.Contains(got, []byte(want)) {
				t.Errorf("%d bytes arrived as %d", size, len(got))
			}
			p.silent()
		})
	}
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		_, s, p, reg := published(t, h, h.options())
		inv := p.runs(s, reg, "i1")
		if err := inv.Result(text(strings.Repeat("x", protocol.MaxResultBytes))); hostclient.CodeOf(err) != hostclient.CodeTooLarge {
			t.Error(err)
		}
		if err := inv.Result(hostclient.ToolResult{Content: []hostclient.ContentBlock{{Type: "video"}}}); hostclient.CodeOf(err) != hostclient.CodeTooLarge {
			t.Error(err)
		}
		if err := inv.Fail("limit_exceeded: too large"); err != nil {
			t.Error(err)
		}
		if f := expect[*protocol.CapabilityFailed](p); f.Message != "limit_exceeded: too large" {
			t.Errorf("%+v", f)
		}
	})
}

// TestProgressIsPaced: a thousand reports become a frame each 100 ms, ending with the last one.
func TestProgressIsPaced(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		_, s, p, reg := published(t, h, h.options())
		inv := p.runs(s, reg, "i1")
		go func() {
			for i := range 1000 {
				inv.Progress(float64(i), 1000)
				time.Sleep(time.Millisecond)
			}
			inv.Progress(1000, 1000)
			inv.Result(text("done"))
		}()
		frames, last := 0, -1
		for {
			f, err := p.read()
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := f.(*protocol.CapabilityResult); ok {
				break
			}
			step := f.(*protocol.CapabilityProgress)
			if step.Current <= last || step.Total != 1000 {
				t.Fatalf("%+v after %d", step, last)
			}
			last = step.Current
			frames++
		}
		if frames > 12 || last != 1000 {
			t.Errorf("%d frames, the last %d", frames, last)
		}
	})
}

// TestRefusedCalls: what is not offered, or too much, is rejected before it is accepted, and the connection goes on.
func TestRefusedCalls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		_, s, p, reg := published(t, h, h.options())
		rejected := func(id, why string) {
			t.Helper()
			f := expect[*protocol.CapabilityRejected](p)
			if f.InvocationID != id || !strings.Contains(f.Message, why) {
				t.Errorf("%+v", f)
			}
			p.send(&protocol.CapabilityRelease{InvocationID: id})
		}
		p.calls("other-registration", "i1", "one")
		rejected("i1", "does not offer")
		p.calls(reg, "i2", "three")
		rejected("i2", "does not offer")
		p.send(&protocol.CapabilityServiceCall{InvocationID: "i3", RegistrationID: reg, ServiceID: "s", Version: "1", Method: "m", Input: json.RawMessage(`{}`)})
		rejected("i3", "services")
		var running []*served
		for i := range protocol.MaxActiveInvocations {
			running = append(running, p.runs(s, reg, fmt.Sprint("run-", i)))
		}
		p.calls(reg, "i9", "two")
		rejected("i9", "as many")
		running[3].Result(text("x"))
		expect[*protocol.CapabilityResult](p)
		p.send(&protocol.CapabilityRelease{InvocationID: "run-3"})
		p.runs(s, reg, "i10")
	})
}

func TestServeThatReturnsWithoutAResult(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		_, s, p, reg := published(t, h, h.options())
		inv := p.runs(s, reg, "i1")
		close(inv.done)
		if f := expect[*protocol.CapabilityFailed](p); !strings.HasPrefix(f.Message, "server_error: ") {
			t.Errorf("%+v", f)
		}
	})
}

// TestCallsThatTheHostEnds is the provider's side of the table of failures: in every phase a cancel, a deadline (which
// looks the same) or a release stops the tool with its cause, and nothing more goes out for the call.
func TestCallsThatTheHostEnds(t *testing.T) {
	big := text(strings.Repeat("x", 8<<20))
	phases := map[string]func(*peer, serving, string) *served{
		"dispatched": func(p *peer, s serving, reg string) *served {
			p.calls(reg, "i1", "one")
			return nil
		},
		"accepted": func(p *peer, s serving, reg string) *served {
			p.calls(reg, "i1", "one")
			expect[*protocol.CapabilityAccepted](p)
			return nil
		},
		"admitted": func(p *peer, s serving, reg string) *served { return p.runs(s, reg, "i1") },
		"awaiting": func(p *peer, s serving, reg string) *served {
			inv := p.runs(s, reg, "i1")
			go inv.Ask(context.Background(), theForm())
			expect[*protocol.InteractionRequest](p)
			return inv
		},
		"chunks": func(p *peer, s serving, reg string) *served {
			inv := p.runs(s, reg, "i1")
			inv.Result(big)
			expect[*protocol.CapabilityResultStart](p)
			return inv
		},
		"settled": func(p *peer, s serving, reg string) *served {
			inv := p.runs(s, reg, "i1")
			inv.Fail("no")
			expect[*protocol.CapabilityFailed](p)
			return inv
		},
	}
	for phase, upTo := range phases {
		for _, cancels := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/cancel=%v", phase, cancels), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					h := newScripted(t)
					_, s, p, reg := published(t, h, h.options())
					inv := upTo(p, s, reg)
					want := hostclient.CodeReleased
					if cancels {
						want = hostclient.CodeCancelled
						p.send(&protocol.CapabilityCancel{InvocationID: "i1"})
					}
					p.send(&protocol.CapabilityRelease{InvocationID: "i1"})
					if inv != nil {
						<-inv.ctx.Done()
						if got := hostclient.CodeOf(context.Cause(inv.ctx)); got != want {
							t.Errorf("cause %s, want %s", got, want)
						}
						for what, err := range map[string]error{"Result": inv.Result(text("x")), "Fail": inv.Fail("x")} {
							if hostclient.CodeOf(err) != hostclient.CodeRetired || hostclient.CodeOf(errors.Unwrap(err)) != want {
								t.Errorf("%s: %v", what, err)
							}
						}
						if _, err := inv.Ask(t.Context(), theForm()); hostclient.CodeOf(err) != hostclient.CodeRetired {
							t.Errorf("Ask: %v", err)
						}
						inv.Progress(1, 2)
					}
					// Late frames of the Host are ignored, and what was under way to it may still arrive.
					p.send(&protocol.CapabilityAdmitted{InvocationID: "i1"})
					p.send(&protocol.InteractionResult{InvocationID: "i1", InteractionID: "whatever", Result: forms.Result{Action: forms.ActionDecline}})
					p.send(&protocol.CapabilityCancel{InvocationID: "i1"})
					p.send(&protocol.CapabilityRelease{InvocationID: "i1"})
					time.Sleep(time.Second)
					if len(s) != 0 {
						t.Error("the tool was started")
					}
					p.calls(reg, "i2", "one") // the connection lives
					for late := 0; ; late++ {
						f, err := p.read()
						if err != nil {
							t.Fatal(err)
						}
						if a, ok := f.(*protocol.CapabilityAccepted); ok && a.InvocationID == "i2" {
							if _, chunked := phases[phase]; phase == "chunks" && late > 60 {
								t.Errorf("%d chunks after the end (%v)", late, chunked)
							}
							break
						}
					}
				})
			})
		}
	}
}

// TestLostProvider: the connection's end is the cause of all its calls' ends; no result of theirs goes out on the next
// connection, which gets the offers again under the same identity.
func TestLostProvider(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		prov, s, p, reg := published(t, h, h.options())
		first := p.runs(s, reg, "i1")
		asked := make(chan error, 1)
		go func() { _, err := first.Ask(context.Background(), theForm()); asked <- err }()
		expect[*protocol.InteractionRequest](p)
		second := p.runs(s, reg, "i2")
		h.epoch = "epoch-2"
		p.drop()
		for _, inv := range []*served{first, second} {
			<-inv.ctx.Done()
			if got := hostclient.CodeOf(context.Cause(inv.ctx)); got != hostclient.CodeDropped {
				t.Errorf("cause %s", got)
			}
			if err := inv.Result(text("late")); hostclient.CodeOf(err) != hostclient.CodeRetired {
				t.Error(err)
			}
		}
		if err := <-asked; hostclient.CodeOf(err) != hostclient.CodeDropped {
			t.Errorf("Ask: %v", err)
		}
		p = h.accepted()
		if p.hello.ClientInstanceID != "instance" {
			t.Errorf("hello %+v", p.hello)
		}
		again := p.registers()
		if again == reg {
			t.Error("the registration id was used twice")
		}
		await(t, prov, func(e hostclient.Published) bool { return e.RegistrationID == again && e.Offers == 1 })
		if inv := p.runs(s, again, "i1"); inv.Call().HostEpoch != "epoch-2" { // an id of the other connection
			t.Errorf("%+v", inv.Call())
		}
	})
}

// TestHostStops: cancel and release, then the end without a word, as a Host does on SIGTERM.
func TestHostStops(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		prov, s, p, reg := published(t, h, h.options())
		inv := p.runs(s, reg, "i1")
		p.send(&protocol.CapabilityCancel{InvocationID: "i1"})
		p.send(&protocol.CapabilityRelease{InvocationID: "i1"})
		p.drop()
		<-inv.ctx.Done()
		if got := hostclient.CodeOf(context.Cause(inv.ctx)); got != hostclient.CodeCancelled {
			t.Errorf("cause %s", got)
		}
		await(t, prov, state(hostclient.StateWaiting))
	})
}

// TestHostBreaksTheRulesOfCalls: the connection ends, and nothing is answered.
func TestHostBreaksTheRulesOfCalls(t *testing.T) {
	for name, c := range map[string]struct {
		send func(*peer, string)
		code hostclient.Code
	}{
		"an id twice": {func(p *peer, reg string) { p.calls(reg, "i1", "two") }, hostclient.CodeProtocol},
		"a retired id": {func(p *peer, reg string) {
			p.send(&protocol.CapabilityRelease{InvocationID: "i1"})
			p.calls(reg, "i1", "two")
		}, hostclient.CodeProtocol},
		"admitted twice":     {func(p *peer, reg string) { p.send(&protocol.CapabilityAdmitted{InvocationID: "i1"}) }, hostclient.CodeProtocol},
		"admitted, unknown":  {func(p *peer, reg string) { p.send(&protocol.CapabilityAdmitted{InvocationID: "zz"}) }, hostclient.CodeProtocol},
		"answer, none asked": {answersForm("i1", "q"), hostclient.CodeInteraction},
		"answer, unknown":    {answersForm("zz", "q"), hostclient.CodeInteraction},
		"malformed answer": {func(p *peer, reg string) {
			p.raw(`{"kind":"client.capability.interaction_result","invocationId":"i1","interactionId":"q","result":{"action":"accept"}}`)
		}, hostclient.CodeProtocol},
		"extra key in a call": {func(p *peer, reg string) {
			p.raw(`{"kind":"client.capability.cancel","invocationId":"i1","why":"because"}`)
		}, hostclient.CodeProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := newScripted(t)
				prov, s, p, reg := published(t, h, h.options())
				inv := p.runs(s, reg, "i1")
				c.send(p, reg)
				if got := await(t, prov, state(hostclient.StateWaiting)); got.Cause.Code != c.code {
					t.Errorf("%s %q", got.Cause.Code, got.Cause)
				}
				<-inv.ctx.Done()
				if f, err := p.read(); err == nil {
					t.Errorf("the client sent %+v", f)
				}
			})
		})
	}
}

func answersForm(invocation, interaction string) func(*peer, string) {
	return func(p *peer, _ string) {
		p.send(&protocol.InteractionResult{InvocationID: invocation, InteractionID: interaction, Result: says("x")})
	}
}
