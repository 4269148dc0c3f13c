package acceptance

import (
	"strings"
	"testing"

	"askback/internal/acceptance/peer"
)

// 6. A result containing only requestState can retry, but the round cap still terminates a non-progressing server.
func TestAC06_state_alone(t *testing.T) { ac06(live{t}) }

func ac06(t T) {
	t.Parallel()
	t.Run("state_only_completes", func(t T) {
		r := start(t, rigOptions{})
		tn := r.call(`/call demo/wait {"rounds":3}`)
		_, results := tn.end()
		if len(results) != 1 || results[0].isError || !strings.Contains(results[0].text, "Done after 3 rounds.") {
			t.Errorf("%+v", results)
		}
		for i, l := range r.messages("tools/call") {
			if (i == 0) == (l.Params.RequestState != nil) || l.Params.InputResponses != nil {
				t.Errorf("leg %d: state %s, answers %s", i+1, l.Params.RequestState, l.Params.InputResponses)
			}
		}
		r.never(tn)
		r.clean(4, tn)
	})
	t.Run("state_only_capped", func(t T) {
		r := start(t, rigOptions{rounds: 5})
		tn := r.call(`/call demo/never {}`)
		_, results := tn.end()
		if len(results) != 1 || !results[0].isError || !strings.HasPrefix(results[0].text, "round_limit: ") {
			t.Errorf("%+v", results)
		}
		r.never(tn)
		r.clean(6, tn)
	})
	t.Run("mixed_rounds_count_together", func(t T) {
		r := start(t, rigOptions{rounds: 2})
		s := peer.New(peer.Round(`"1"`), peer.Round(`"2"`, peer.Form("k", "v")), peer.Round(`"3"`))
		tn := r.call("/call " + r.addServer(s) + "/ask {}")
		in, _ := tn.form()
		tn.answer(in, accept("v", "x"))
		_, results := tn.end()
		if len(results) != 1 || !strings.HasPrefix(results[0].text, "round_limit: ") || len(s.Calls()) != 3 {
			t.Errorf("%+v, %d legs", results, len(s.Calls()))
		}
		r.clean(0, tn)
	})
}
