package conformance

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// suite is a server that stands in for the one of the suite and records what it was asked.
type suite struct {
	*httptest.Server
	mu  sync.Mutex
	got []string
}

func (s *suite) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, what)
}

func newSuite(t *testing.T, tools ...string) *suite {
	s := &suite{}
	srv := mcp.NewServer(&mcp.Implementation{Name: "suite", Version: "1"}, nil)
	for _, name := range tools {
		srv.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object","$comment":"kept"}`)}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			call := name + " " + string(r.Params.Arguments)
			if a, ok := r.Params.InputResponses["k"].(*mcp.ElicitResult); ok {
				answer, _ := json.Marshal(a.Content)
				call += " " + a.Action + " " + string(answer) + " " + r.Params.RequestState
			}
			s.note(call)
			if name == "test_mrtr_echo_state" && len(r.Params.InputResponses) == 0 {
				return &mcp.CallToolResult{RequestState: "state", InputRequests: mcp.InputRequestMap{"k": &mcp.ElicitParams{Message: "m",
					RequestedSchema: json.RawMessage(`{"type":"object","properties":{"confirmed":{"type":"boolean"},"n":{"type":"integer","default":3},"s":{"type":"string"}},"required":["s"]}`)}}}, nil
			}
			return &mcp.CallToolResult{}, nil
		})
	}
	srv.AddPrompt(&mcp.Prompt{Name: "p"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		s.note("prompt")
		return &mcp.GetPromptResult{}, nil
	})
	srv.AddResource(&mcp.Resource{URI: "x://y", Name: "r"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		s.note("resource")
		return &mcp.ReadResourceResult{}, nil
	})
	s.Server = httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(s.Close)
	return s
}

func (s *suite) run(t *testing.T, scenario, context string) []string {
	t.Helper()
	var log strings.Builder
	if err := Run(t.Context(), Options{URL: s.URL, Scenario: scenario, Context: context, Client: "0", Log: &log}); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got
}

func TestScenarios(t *testing.T) {
	for scenario, want := range map[string][]string{
		"tools_call":                       {`add_numbers {"a":5,"b":3}`},
		"http-standard-headers":            {`add_numbers {}`, "resource", "prompt"},
		"http-custom-headers":              {`add_numbers {"big":9007199254740993}`, `add_numbers {}`},
		"sep-2322-client-request-state":    {`test_mrtr_echo_state {}`, `test_mrtr_echo_state {} accept {"confirmed":true,"n":3,"s":"askback"} state`},
		"json-schema-2020-12-preservation": {`json_schema_echo {"schema":{"type":"object","$comment":"kept"}}`},
		"http-invalid-tool-headers":        {`a {"region":"us-west1"}`, `b {"region":"us-west1"}`},
		"initialize":                       nil,
	} {
		t.Run(scenario, func(t *testing.T) {
			tools := map[string][]string{
				"sep-2322-client-request-state": {"test_mrtr_echo_state"}, "json-schema-2020-12-preservation": {"json_schema_2020_12_tool", "json_schema_echo"},
				"http-invalid-tool-headers": {"a", "b"},
			}[scenario]
			if tools == nil {
				tools = []string{"add_numbers"}
			}
			got := newSuite(t, tools...).run(t, scenario, `{"toolCalls":[{"name":"add_numbers","arguments":{"big":9007199254740993}},{"name":"add_numbers"},{"name":"not there"}]}`)
			if !slices.Equal(got, want) {
				t.Fatalf("got  %q\nwant %q", got, want)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	var log strings.Builder
	if err := Run(t.Context(), Options{Scenario: "no such", Log: &log}); err == nil || !strings.Contains(err.Error(), "sep-2322-client-request-state") {
		t.Fatal(err)
	}
	if err := Run(t.Context(), Options{Scenario: "initialize", Context: "{", Log: &log}); err == nil {
		t.Fatal("a context that is no JSON is taken")
	}
	if err := Run(t.Context(), Options{Scenario: "initialize", URL: "http://127.0.0.1:1/", Log: &log}); err == nil {
		t.Fatal("a server that is not there is reached")
	}
}
