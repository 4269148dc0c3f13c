package acceptance

import (
	"context"
	"strings"
	"testing"

	"askback/forms"
	"askback/internal/acceptance/peer"
	"askback/mcpmgr"
)

// 11. Unsupported URL elicitation, sampling, roots, prompts/get, and resources/read fail with stable local errors and no
// partial retry.
func TestAC11_what_the_host_path_cannot_give(t *testing.T) { ac11(live{t}) }

func ac11(t T) {
	t.Parallel()
	for name, request := range map[string]string{
		"url":      `"u":{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://example.com/x","elicitationId":"e"}}`,
		"sampling": `"u":{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":10}}`,
		"roots":    `"u":{"method":"roots/list"}`,
	} {
		t.Run(name, func(t T) {
			r := start(t, rigOptions{})
			for row, round := range map[string]string{
				"alone":   peer.Round(`"s"`, request),
				"sibling": peer.Round(`"s"`, peer.Form("first", "v"), request, peer.Form("last", "v")),
			} {
				s := peer.New(round, peer.Done)
				tn := r.call("/call " + r.addServer(s) + "/ask {}")
				_, results := tn.end()
				if len(results) != 1 || !results[0].isError || !strings.HasPrefix(results[0].text, "unsupported_input: ") || results[0].uncertain {
					t.Errorf("%s: %+v", row, results)
				}
				if n := len(s.Calls()); n != 1 {
					t.Errorf("%s: %d legs", row, n)
				}
				r.never(tn)
				r.clean(0, tn)
			}
		})
	}
	// The Host calls tools alone; what it would bring to the other two methods is no form handler.
	for name, get := range map[string]func(context.Context, *mcpmgr.Manager, string) error{
		"prompts_get": func(ctx context.Context, m *mcpmgr.Manager, server string) error {
			_, err := m.GetPrompt(ctx, server, "briefing", nil, mcpmgr.Handlers{})
			return err
		},
		"resources_read": func(ctx context.Context, m *mcpmgr.Manager, server string) error {
			_, err := m.ReadResource(ctx, server, "demo://note", mcpmgr.Handlers{})
			return err
		},
		"prompts_get with the form handler": func(ctx context.Context, m *mcpmgr.Manager, server string) error {
			_, err := m.GetPrompt(ctx, server, "briefing", nil, noForm(t))
			return err
		},
		"resources_read with the form handler": func(ctx context.Context, m *mcpmgr.Manager, server string) error {
			_, err := m.ReadResource(ctx, server, "demo://note", noForm(t))
			return err
		},
	} {
		t.Run(name, func(t T) {
			r := start(t, rigOptions{})
			s := peer.New(peer.Round(`"s"`, peer.Form("k", "v")), peer.Done)
			err := get(r.ctx(), r.mgr, r.addServer(s))
			if mcpmgr.CodeOf(err) != mcpmgr.CodeUnsupportedInput {
				t.Errorf("got %v", err)
			}
			if n := len(s.Calls()); n != 1 {
				t.Errorf("%d legs", n)
			}
			r.clean(0)
		})
	}
}

// noForm is the Host path's handler, which must not be reached.
func noForm(t T) mcpmgr.Handlers {
	return mcpmgr.Handlers{Form: func(context.Context, mcpmgr.FormRequest) (forms.Result, error) {
		t.Error("a form was asked")
		return forms.Cancel(), nil
	}}
}
