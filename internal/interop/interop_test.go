//go:build interop

package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"askback/forms"
	"askback/mcpmgr"
	"askback/mcpmgr/config"
)

// everything answers all five kinds of requests.
func everything(seen *[]string) mcpmgr.Handlers {
	h := answering()
	form := h.Form
	h.Form = func(ctx context.Context, q mcpmgr.FormRequest) (forms.Result, error) {
		*seen = append(*seen, "form")
		return form(ctx, q)
	}
	h.URL = func(_ context.Context, q mcpmgr.URLRequest) (forms.Action, error) {
		*seen = append(*seen, q.URL)
		return forms.ActionAccept, nil
	}
	h.Sampling = func(context.Context, mcpmgr.SamplingRequest) (json.RawMessage, error) {
		*seen = append(*seen, "sampling")
		return json.RawMessage(`{"role":"assistant","content":{"type":"text","text":"hello"},"model":"askback","stopReason":"endTurn"}`), nil
	}
	h.Roots = func(context.Context, mcpmgr.RootsRequest) ([]mcpmgr.Root, error) {
		*seen = append(*seen, "roots")
		return []mcpmgr.Root{{URI: "file:///tmp", Name: "tmp"}}, nil
	}
	return h
}

func TestTypeScriptFixture(t *testing.T) {
	dir := packages(t)
	fixture := filepath.Join(dir, "fixture")
	servers := map[string]func(t *testing.T) config.Server{
		"stdio": func(*testing.T) config.Server {
			s := stdio("node", "server.mjs")
			s.Dir = fixture
			return s
		},
		"http": func(t *testing.T) config.Server {
			return httpServer(listening(t, fixture, "node", "server.mjs", "PORT") + "/mcp")
		},
	}
	for name, server := range servers {
		t.Run(name, func(t *testing.T) {
			m := start(t, mcpmgr.Options{Rounds: 10}, server(t))
			if st, _ := m.Server("s"); st.Era != mcpmgr.EraModern {
				t.Fatalf("%+v", st)
			}
			res, err := call(t, m, "all_kinds", `{}`, answering())
			if err != nil || res.Forms != 1 || !strings.Contains(string(res.Raw), "accept") {
				t.Fatal(res, err)
			}
			res, err = call(t, m, "all_kinds", `{}`, mcpmgr.Handlers{Form: func(context.Context, mcpmgr.FormRequest) (forms.Result, error) { return forms.Decline(), nil }})
			if err != nil || !strings.Contains(string(res.Raw), "decline") {
				t.Fatal(err)
			}
			if res, err = call(t, m, "poll", `{"n":3}`, answering()); err != nil || res.Legs != 4 || !strings.Contains(string(res.Raw), "3 empty rounds") {
				t.Fatal(res, err)
			}
			if res, err = call(t, m, "all_requests", `{"only":"a,b"}`, answering()); err != nil || res.Forms != 2 {
				t.Fatal(res, err)
			}
			for _, only := range []string{"u", "s", "r"} {
				// A server that keeps to the capabilities refuses by itself, one that does not is refused.
				_, err := call(t, m, "all_requests", `{"only":"`+only+`"}`, answering())
				if c := mcpmgr.CodeOf(err); c != mcpmgr.CodeUnsupportedInput && c != mcpmgr.CodeServerError {
					t.Errorf("%s: %v", only, err)
				}
			}
		})
		t.Run(name+" inspected", func(t *testing.T) {
			m := start(t, mcpmgr.Options{Inspect: &mcpmgr.Inspect{}, Rounds: 10}, server(t))
			var seen []string
			h := everything(&seen)
			res, err := call(t, m, "all_requests", `{"only":"a,b,u,s,r"}`, h)
			if err != nil || fmt.Sprint(seen) != "[form form https://example.com/auth?x=1 sampling roots]" {
				t.Fatal(res, err, seen)
			}
			if _, err := m.GetPrompt(t.Context(), "s", "ask_prompt", json.RawMessage(`{"lang":"go"}`), h); err != nil {
				t.Fatal(err)
			}
			for range 2 { // twice asks twice
				n := len(seen)
				res, err := m.ReadResource(t.Context(), "s", "demo://secret", h)
				if err != nil || !strings.Contains(string(res.Raw), "unlocked") || len(seen) != n+1 {
					t.Fatal(res, err)
				}
			}
		})
	}
}

func TestLegacySessions(t *testing.T) {
	dir := packages(t)
	url := listening(t, filepath.Join(dir, "fixture"), "node", "legacy-sessionful.mjs", "PORT")
	var seen []string
	push := everything(&seen)
	m := start(t, mcpmgr.Options{Inspect: &mcpmgr.Inspect{Push: push}}, httpServer(url))
	if st, _ := m.Server("s"); st.Era != mcpmgr.EraLegacy {
		t.Fatalf("%+v", st)
	}
	res, err := call(t, m, "hi", `{}`, mcpmgr.Handlers{})
	if err != nil || fmt.Sprint(seen) != "[form]" {
		t.Fatal(res, err, seen)
	}
	host := start(t, mcpmgr.Options{}, httpServer(url))
	res, err = call(t, host, "hi", `{}`, answering())
	if err == nil && !res.IsError {
		t.Fatalf("a form opened outside the inspector: %s", res.Raw)
	}
}

func TestEverythingServers(t *testing.T) {
	dir := packages(t)
	t.Run("typescript", func(t *testing.T) {
		server := stdio("node", filepath.Join(dir, "suite", "node_modules", "@modelcontextprotocol", "server-everything", "dist", "index.js"), "stdio")
		m := start(t, mcpmgr.Options{}, server)
		st, _ := m.Server("s")
		if st.Era != mcpmgr.EraLegacy || st.Tools < 5 {
			t.Fatalf("%+v", st)
		}
		res, err := call(t, m, "echo", `{"message":"hello"}`, answering())
		if err != nil || !strings.Contains(string(res.Raw), "hello") {
			t.Fatal(res, err)
		}
		var seen []string
		push := everything(&seen)
		im := start(t, mcpmgr.Options{Inspect: &mcpmgr.Inspect{Push: push}}, server)
		res, err = call(t, im, "trigger-elicitation-request", `{}`, mcpmgr.Handlers{})
		if err != nil || res.IsError || !slices.Contains(seen, "form") {
			t.Fatal(res, err, seen)
		}
	})
	t.Run("go", func(t *testing.T) {
		bin := filepath.Join(t.TempDir(), "everything")
		if out, err := exec.Command("go", "build", "-o", bin, "github.com/modelcontextprotocol/go-sdk/conformance/everything-server").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for name, server := range map[string]config.Server{"stdio": stdio(bin), "http": httpServer(listening(t, "", bin, "-http", "ADDR"))} {
			t.Run(name, func(t *testing.T) {
				m := start(t, mcpmgr.Options{}, server)
				if st, _ := m.Server("s"); st.Era != mcpmgr.EraModern {
					t.Fatalf("%+v", st)
				}
				for tool, forms := range map[string]int{"test_simple_text": 0, "test_multiple_content_types": 0, "test_input_required_result_elicitation": 1,
					"test_input_required_result_request_state": 1, "test_input_required_result_multi_round": 2} {
					res, err := call(t, m, tool, `{}`, answering())
					if err != nil || res.IsError || res.Forms != forms {
						t.Errorf("%s: %+v %v", tool, res, err)
					}
				}
				if res, err := call(t, m, "test_error_handling", `{}`, answering()); err != nil || !res.IsError {
					t.Error(res, err)
				}
				_, err := call(t, m, "test_missing_capability", `{}`, mcpmgr.Handlers{})
				if c := mcpmgr.CodeOf(err); c != mcpmgr.CodeNoHandler {
					t.Error(err)
				}
				var seen []string
				im := start(t, mcpmgr.Options{Inspect: &mcpmgr.Inspect{}}, server)
				if res, err := call(t, im, "test_input_required_result_multiple_inputs", `{}`, everything(&seen)); err != nil || res.IsError || len(seen) != 3 {
					t.Error(res, err, seen)
				}
			})
		}
	})
}

// TestConformance runs the suite's client scenarios and counts their checks: a client that does
// nothing passes some of them with none.
func TestConformance(t *testing.T) {
	dir := packages(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for scenario, checks := range map[string]int{
		"sep-2322-client-request-state": 5, "tools_call": 2, "request-metadata": 5, "http-standard-headers": 9, "http-custom-headers": 18,
		"http-invalid-tool-headers": 12, "json-schema-ref-no-deref": 1, "json-schema-2020-12-preservation": 9,
		"initialize": 1, "elicitation-sep1034-client-defaults": 5, "sse-retry": 3, "auth/metadata-default": 18,
	} {
		t.Run(scenario, func(t *testing.T) {
			cmd := exec.Command(filepath.Join(dir, "suite", "node_modules", ".bin", "conformance"), "client", "--command", self, "--scenario", scenario, "-o", t.TempDir())
			cmd.Env = nodeEnv(dir)
			out, err := cmd.CombinedOutput()
			want := fmt.Sprintf("Passed: %d/%d, 0 failed", checks, checks)
			if err != nil || !strings.Contains(string(out), want) {
				t.Fatalf("%v; want %q, got %q\n%s", err, want, regexp.MustCompile(`Passed:.*`).Find(out), out)
			}
		})
	}
}
