package acceptance

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"askback/internal/acceptance/peer"
	"askback/mcpmgr"
	"askback/mcpmgr/config"
	"askback/protocol"
)

const capabilitiesKey = "io.modelcontextprotocol/clientCapabilities"

// declared is what a recorded message says that its client can do; "" where it says nothing.
func declared(t T, raw string) (method, caps string) {
	t.Helper()
	var m struct {
		Method string
		Params struct {
			Meta         map[string]json.RawMessage `json:"_meta"`
			Capabilities json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(raw), &m); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	if m.Method == "initialize" {
		return m.Method, string(m.Params.Capabilities)
	}
	return m.Method, string(m.Params.Meta[capabilitiesKey])
}

const formOnly = `{"elicitation":{"form":{}}}`

// 15. A dual-era auto connection advertises form elicitation on eligible modern Tool calls but never advertises legacy
// push elicitation after falling back.
func TestAC15_who_is_told_that_forms_can_be_shown(t *testing.T) { ac15(live{t}) }

func ac15(t T) {
	t.Parallel()
	recorded := func(t T, r *rig) []string {
		data, err := os.ReadFile(r.record)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(string(data)), "\n")
	}
	t.Run("modern_form", func(t T) {
		for _, transport := range []string{"stdio", "http_json", "http_sse"} {
			r := start(t, rigOptions{transport: transport})
			tn := r.call("/call demo/wizard {}")
			answerWizard(tn)
			tn.end()
			for _, line := range recorded(t, r) {
				method, caps := declared(t, line)
				want := "{}"
				if method == "tools/call" {
					want = formOnly
				}
				if caps != want && !strings.HasPrefix(method, "notifications/") {
					t.Errorf("%s: %s declares %s, want %s", transport, method, caps, want)
				}
			}
			r.clean(3, tn)
		}
	})
	t.Run("modern_without_handler", func(t T) {
		r := start(t, rigOptions{})
		tool, err := r.mgr.Tool("demo", "deploy")
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.mgr.CallTool(r.ctx(), tool.Binding, json.RawMessage(`{"artifact":"a"}`), mcpmgr.Handlers{})
		if mcpmgr.CodeOf(err) != mcpmgr.CodeNoHandler {
			t.Errorf("got %v", err)
		}
		for _, line := range recorded(t, r) {
			if method, caps := declared(t, line); caps != "{}" && !strings.HasPrefix(method, "notifications/") {
				t.Errorf("%s declares %s", method, caps)
			}
		}
		r.clean(1)
	})
	t.Run("legacy_after_fallback", func(t T) {
		r := start(t, rigOptions{})
		s := peer.New(peer.Done)
		s.Tamper = tamperOf(t)
		r.peers = append(r.peers, config.Server{Name: "old", Transport: config.HTTP, URL: s.StartLegacy(t), Protocol: config.Auto})
		r.mgr.Apply(append([]config.Server{r.server()}, r.peers...))
		if err := r.mgr.Wait(r.ctx(), "old"); err != nil {
			t.Fatal(err)
		}
		r.awaitPublished()
		if st, _ := r.mgr.Server("old"); st.Era != mcpmgr.EraLegacy {
			t.Errorf("era %s", st.Era)
		}
		tn := r.call("/call old/ask {}")
		if _, results := tn.end(); len(results) != 1 || results[0].isError {
			t.Errorf("%+v", results)
		}
		for _, body := range s.Bodies() {
			method, caps := declared(t, body)
			switch {
			case method == "server/discover" || method == "initialize":
				if caps != "{}" {
					t.Errorf("%s declares %s", method, caps)
				}
			case caps != "" || strings.Contains(body, `"_meta"`):
				t.Errorf("%s: %s", method, body)
			}
		}
		r.clean(0, tn)
	})
	t.Run("epoch_39_host", func(t T) {
		r := start(t, rigOptions{dialects: []protocol.Dialect{protocol.Dialect39}})
		tn := r.call(deploy)
		_, results := tn.end()
		if len(results) != 1 || !results[0].isError || !strings.HasPrefix(results[0].text, "no_handler: ") {
			t.Errorf("%+v", results)
		}
		for _, line := range recorded(t, r) {
			if method, caps := declared(t, line); caps != "{}" && !strings.HasPrefix(method, "notifications/") {
				t.Errorf("%s declares %s", method, caps)
			}
		}
		r.never(tn)
		r.clean(1, tn)
	})
	t.Run("inspector_open_beside", func(t T) {
		r := start(t, rigOptions{transport: "http_sse"})
		inspector := mcpmgr.New(mcpmgr.Options{Name: "inspector", Version: "1", Inspect: &mcpmgr.Inspect{Push: noForm(t)}})
		defer inspector.Close()
		inspector.Apply([]config.Server{r.server()})
		if err := inspector.Wait(r.ctx(), "demo"); err != nil {
			t.Fatal(err)
		}
		before := len(recorded(t, r))
		tn := r.call(deploy)
		in, _ := tn.form()
		tn.answer(in, accept("environment", "staging", "confirm", true))
		tn.end()
		for _, line := range recorded(t, r)[before:] {
			if method, caps := declared(t, line); method == "tools/call" && caps != formOnly {
				t.Errorf("%s declares %s", method, caps)
			}
		}
		r.clean(2, tn)
	})
}
