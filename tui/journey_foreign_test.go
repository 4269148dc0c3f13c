package tui_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"askback/hostclient"
	"askback/internal/memnet"
	"askback/internal/testhost39"
)

// A Host of another program: what it asks is shown and answered, our tools run there only after the question about
// bypass, and a /call line is asked about before its agent gets it.
func TestJourneyForeignHost(t *testing.T) {
	t.Parallel()
	w := newForeignWorld(t)
	s := w.open(true)
	s.see("allow everything in this session?", "where they are refused").pause().keys("y").see("mode bypass now")

	s.typing("//ask 3").keys("enter").see("question · the agent of host", "! Never enter passwords", "Pick?", "Three")
	s.pause().keys("down", "down", "enter").see("field 2 of 2").keys("ctrl+s").see("Pick?: Two").pause().keys("s")
	s.see("enter send")

	s.typing(`[[call request_sandbox_boundary {"justification":"needs it","expansion":{"network":{"enabled":true}}}]]`).keys("enter")
	s.see("sandbox boundary", "needs it", "use the network").pause().keys("ctrl+x").see("y").pause().keys("y").gone("use the network")
	s.see("enter send")

	s.typing("/call demo/plain").keys("enter").see("send this to an agent?").pause().keys("y")
	s.see("demo · done", "Plain text.").see("enter send")
	if w.called() != 1 {
		t.Errorf("%d calls", w.called())
	}
	s.keys("ctrl+q")
	if out := <-s.out; len(out.Stopped) != 0 {
		t.Errorf("outcome %+v", out)
	}
}

// newForeignWorld is a world on a Host of an older epoch, which knows no forms.
func newForeignWorld(t *testing.T) *world {
	w := &world{t: t, net: memnet.Listen("host"), owner: "maka_rh_owner", kill: make(chan struct{})}
	h := testhost39.New(testhost39.Options{Tokens: map[string]testhost39.Credential{w.owner: {Principal: "owner", Publish: true}}})
	var wg sync.WaitGroup
	wg.Go(func() { _ = h.Serve(w.net) })
	w.tools = &line{l: w.net}
	w.provider = hostclient.NewProvider(w.dialing(w.tools, "", "inst"), hostclient.HandlerFunc(func(ctx context.Context, inv *hostclient.Invocation) {
		w.mu.Lock()
		w.calls = append(w.calls, inv.Call().ToolName)
		w.mu.Unlock()
		_ = inv.Result(hostclient.ToolResult{Content: []hostclient.ContentBlock{{Type: "text", Text: "Plain text."}}})
	}))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	offer := hostclient.Offer{OfferID: "tools", Version: "1", Affinity: "session", HostPathAccess: "none", Label: "rig",
		Tools: []hostclient.Tool{{ServerID: "demo", Name: "plain", InputSchema: []byte(`{"type":"object"}`)}}}
	if err := w.provider.Publish(ctx, []hostclient.Offer{offer}); err != nil {
		t.Fatal(fmt.Errorf("publish: %w", err))
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = w.provider.Close(ctx)
		h.Close()
		w.net.Close()
		wg.Wait()
	})
	return w
}
