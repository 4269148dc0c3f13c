package hostsuite

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"askback/forms"
	"askback/hostclient"
	"askback/internal/bridge"
	"askback/internal/demo"
	"askback/internal/testhost39"
	"askback/mcpmgr"
	"askback/mcpmgr/config"
	"askback/protocol"
	"askback/provider"
)

// TestDeployOnEpoch39 runs the demo server's tools behind a Host that cannot
// show forms: no leg of any call says that the client can ask, a tool that
// insists ends in words, and one that does not works.
func TestDeployOnEpoch39(t *testing.T) {
	h := testhost39.New(testhost39.Options{Tokens: map[string]testhost39.Credential{"maka_rh_test": {Principal: "owner", Publish: true}}})
	l := serve(t, h.Serve, h.Close)
	sent := &sentMessages{}
	changed := &bridge.Hub{}
	mgr := mcpmgr.New(mcpmgr.Options{Name: "suite", Version: "1", OnChange: changed.Notify, Tap: sent.tap,
		Transports: map[string]func(context.Context) (mcp.Transport, error){"demo": inMemory(demo.New(demo.Options{Version: "1"}).MCP())}})
	t.Cleanup(func() { _ = mgr.Close() })
	mgr.Apply([]config.Server{{Name: "demo", Transport: config.Stdio}})
	if err := mgr.Wait(t.Context(), "demo"); err != nil {
		t.Fatal(err)
	}
	opts := options(l, "maka_rh_test")
	opts.InstanceID = "suite"
	published := make(chan provider.Publication, 16)
	prov := provider.New(provider.Options{Tools: bridge.NewTools(mgr, changed.Listen(), forms.ForeignLimits), Published: func(p provider.Publication) { published <- p }})
	conn := hostclient.NewProvider(opts, prov)
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan struct{})
	go func() { defer close(ran); prov.Run(ctx, conn) }()
	t.Cleanup(func() {
		cancel()
		<-ran
		_ = conn.Close(context.Background())
	})
	if p := <-published; p.Err != nil || len(p.Plan.LeftOut) > 0 || len(p.Plan.Tools) == 0 {
		t.Fatalf("published %+v", p)
	}
	s := &suite{target: Target{Options: opts}, view: watch(t, hostclient.NewView(opts)), provider: conn, server: "demo"}
	if err := s.view.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	for call, want := range map[string]string{
		`/call demo/deploy {"artifact":"build-42"}`: "no_handler: ",
		`/call demo/deploy {"artifact":7}`:          "protocol_error: ",
		`/call demo/wizard {}`:                      "no_handler: ",
	} {
		turn := s.start(t, s.session(t), call)
		find(t, s.view, "result row", func(e hostclient.TranscriptRows) bool {
			for _, row := range e.Rows {
				if row.Type != protocol.RowToolResult || row.TurnID != turn.TurnID || !*row.IsError {
					continue
				}
				if sentence, ok := strings.CutPrefix(said(row), want); !ok || len(sentence) < 20 {
					t.Errorf("%s: %q", call, said(row))
				}
				return true
			}
			return false
		})
		s.ends(t, turn, protocol.TurnCompleted)
	}
	legs := 0
	for _, m := range sent.all() {
		if m.Method == "tools/call" {
			legs++
		}
		if caps := string(m.Params.Meta[capabilities]); caps != "" && caps != "{}" {
			t.Errorf("%s declares %s", m.Method, caps)
		}
	}
	if legs != 2 {
		t.Errorf("the server got %d calls: arguments that do not fit stay here", legs)
	}
}

const capabilities = "io.modelcontextprotocol/clientCapabilities"

func inMemory(srv *mcp.Server) func(context.Context) (mcp.Transport, error) {
	return func(context.Context) (mcp.Transport, error) {
		ours, theirs := mcp.NewInMemoryTransports()
		_, err := srv.Connect(context.Background(), theirs, nil)
		return ours, err
	}
}

// sentMessages are the requests that went to servers.
type sentMessages struct {
	mu   sync.Mutex
	list []message
}

type message struct {
	Method string
	Params struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
}

func (s *sentMessages) tap(e mcpmgr.TapEvent) {
	var m message
	if e.Direction != mcpmgr.Sent || json.Unmarshal(e.Raw, &m) != nil || m.Method == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, m)
}

func (s *sentMessages) all() []message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list
}
