package acceptance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"askback/internal/acceptance/peer"
	"askback/mcpmgr"
	"askback/mcpmgr/config"
)

type sum struct {
	Sum  int      `json:"sum"`
	Tags []string `json:"tags"`
}

// plainServer has tools that ask nothing. It records the bodies of tools/call.
type plainServer struct {
	mu    sync.Mutex
	calls []string
}

func (s *plainServer) start(t T, modern bool) string {
	tamper := tamperOf(t)
	srv := mcp.NewServer(&mcp.Implementation{Name: "plain", Version: "1"}, nil)
	mcp.AddTool(srv, &mcp.Tool{Name: "text"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "a\u2028b \x1b[31m"}, &mcp.ImageContent{Data: []byte{1, 2}, MIMEType: "image/png"},
			&mcp.ResourceLink{URI: "x:y", Name: "n"}, &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "x:z", Text: "t"}}}}, nil, nil
	})
	mcp.AddTool(srv, &mcp.Tool{Name: "structured"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, sum, error) {
		return nil, sum{42, []string{"x"}}, nil
	})
	mcp.AddTool(srv, &mcp.Tool{Name: "error"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New("the tool failed")
	})
	mcp.AddTool(srv, &mcp.Tool{Name: "progress"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		for i := range 3 {
			r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: 3})
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
	})
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, &mcp.StreamableHTTPOptions{Stateless: modern})
	hs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte(`"tools/call"`)) {
			heard := [][]byte{body}
			if tamper != nil {
				heard = tamper(body)
			}
			s.mu.Lock()
			for _, b := range heard {
				s.calls = append(s.calls, string(b))
			}
			s.mu.Unlock()
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		hs.CloseClientConnections()
		hs.Close()
	})
	return hs.URL
}

func (s *plainServer) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.calls
	s.calls = nil
	return c
}

// bare is what a client made of the SDK alone gets.
func bare(t T, url, version, tool string, args json.RawMessage) map[string]any {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "bare", Version: "1"}, nil)
	opts := &mcp.ClientSessionOptions{}
	if version != "" {
		opts.ProtocolVersion = version
	}
	cs, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url, MaxRetries: -1}, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer cs.Close()
	p := &mcp.CallToolParams{Name: tool, Arguments: args}
	p.SetProgressToken("p1")
	res, err := cs.CallTool(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	return essence(t, raw)
}

// essence is the part of a result that is the tool's.
func essence(t T, raw json.RawMessage) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return map[string]any{"content": v["content"], "structuredContent": v["structuredContent"], "isError": v["isError"] == true}
}

// 13. Legacy MCP behavior and a modern Tool that returns a complete result remain behaviorally unchanged at the manager
// boundary.
func TestAC13_calls_that_ask_nothing_are_unchanged(t *testing.T) { ac13(live{t}) }

func ac13(t T) {
	t.Parallel()
	try := func(t T, modern bool, tool string) {
		s := &plainServer{}
		url := s.start(t, modern)
		era, version := config.Modern, ""
		if !modern {
			era, version = config.Legacy, "2025-11-25"
		}
		m := mcpmgr.New(mcpmgr.Options{Name: "acceptance", Version: "1"})
		defer m.Close()
		m.Apply([]config.Server{{Name: "plain", Transport: config.HTTP, URL: url, Protocol: era}})
		if err := m.Wait(t.Context(), "plain"); err != nil {
			t.Fatal(err)
		}
		entry, err := m.Tool("plain", tool)
		if err != nil {
			t.Fatal(err)
		}
		args := json.RawMessage(`{}`)
		want := bare(t, url, version, tool, args)
		s.take()
		var progress []string
		res, err := m.CallTool(t.Context(), entry.Binding, args, mcpmgr.Handlers{
			Progress: func(p mcpmgr.Progress) { progress = append(progress, fmt.Sprintf("%v/%v", p.Progress, p.Total)) }})
		if err != nil {
			t.Fatal(err)
		}
		if got := essence(t, res.Raw); !reflect.DeepEqual(got, want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
		calls := s.take()
		if len(calls) != 1 || res.Legs != 1 || res.Forms != 0 {
			t.Errorf("%d requests, %d legs, %d forms", len(calls), res.Legs, res.Forms)
		}
		// A legacy call bears no _meta, so no progress token either, as a bare CallTool.
		if tool == "progress" && modern && fmt.Sprint(progress) != "[1/3 2/3 3/3]" || !modern && len(progress) != 0 {
			t.Errorf("progress %v", progress)
		}
		var body struct {
			Params struct {
				Meta json.RawMessage `json:"_meta"`
			}
		}
		if err := json.Unmarshal([]byte(calls[0]), &body); err != nil {
			t.Fatal(err)
		}
		if !modern {
			if body.Params.Meta != nil {
				t.Errorf("_meta on a legacy connection: %s", body.Params.Meta)
			}
			return
		}
		var meta map[string]json.RawMessage
		if err := json.Unmarshal(body.Params.Meta, &meta); err != nil || string(meta[mcp.MetaKeyClientCapabilities]) != "{}" {
			t.Errorf("a call without a handler declares %s (%v)", body.Params.Meta, err)
		}
	}
	t.Run("legacy_result", func(t T) { try(t, false, "text") })
	t.Run("modern_result", func(t T) { try(t, true, "text") })
	for _, tool := range []string{"structured", "error", "progress"} {
		t.Run(tool, func(t T) {
			t.Run("legacy", func(t T) { try(t, false, tool) })
			t.Run("modern", func(t T) { try(t, true, tool) })
		})
	}
	t.Run("input_required_on_legacy", func(t T) {
		s := peer.New(peer.Round(`"s"`, peer.Form("k", "v")), peer.Done)
		s.Tamper = tamperOf(t)
		m := mcpmgr.New(mcpmgr.Options{Name: "acceptance", Version: "1"})
		defer m.Close()
		m.Apply([]config.Server{{Name: "peer", Transport: config.HTTP, URL: s.StartLegacy(t), Protocol: config.Legacy}})
		if err := m.Wait(t.Context(), "peer"); err != nil {
			t.Fatal(err)
		}
		entry, err := m.Tool("peer", "ask")
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.CallTool(t.Context(), entry.Binding, json.RawMessage(`{}`), noForm(t))
		if mcpmgr.CodeOf(err) != mcpmgr.CodeUnsupportedResult || len(s.Calls()) != 1 {
			t.Errorf("%v after %d legs", err, len(s.Calls()))
		}
	})
}
