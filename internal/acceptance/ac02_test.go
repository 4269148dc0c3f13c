package acceptance

import (
	"encoding/json"
	"strings"
	"testing"

	"askback/internal/acceptance/peer"
)

// 2. The retry uses a fresh JSON-RPC id, deep-equal original Tool name and arguments, current-round bare inputResponses,
// and byte-identical requestState.
func TestAC02_the_retry_is_the_original_with_answers(t *testing.T) { ac02(live{t}) }

func ac02(t T) {
	t.Parallel()
	t.Run("fresh_id", func(t T) {
		r := start(t, rigOptions{})
		tn := r.call("/call demo/wizard {}")
		answerWizard(tn)
		tn.end()
		seen := map[string]bool{}
		for _, l := range r.messages("tools/call") {
			if seen[string(l.ID)] {
				t.Errorf("id %s was used twice", l.ID)
			}
			seen[string(l.ID)] = true
		}
		r.clean(3, tn)
	})
	t.Run("equal_arguments", func(t T) {
		r := start(t, rigOptions{})
		const args = `{"artifact":"b-é","n":9007199254740993,"f":1e400,"deep":{"a":[1,null,"\u0000"]}}`
		// The demo's schema allows no further arguments; a raw server takes any.
		s := peer.New(peer.Round(`"opaque"`, peer.Form("k", "v")), peer.Done)
		raw := r.addServer(s)
		tn := r.call("/call " + raw + "/ask " + args)
		in, _ := tn.form()
		tn.answer(in, accept("v", "x"))
		tn.end()
		calls := s.Calls()
		if len(calls) != 2 {
			t.Fatalf("%d legs", len(calls))
		}
		for _, c := range calls {
			if string(c.Arguments) != args || c.Name != "ask" {
				t.Errorf("leg: %s %s", c.Name, c.Arguments)
			}
		}
		r.clean(0, tn)
	})
	t.Run("current_round_only", func(t T) {
		r := start(t, rigOptions{})
		tn := r.call("/call demo/wizard {}")
		answerWizard(tn)
		tn.end()
		legs := r.messages("tools/call")
		if legs[0].Params.InputResponses != nil {
			t.Errorf("first leg: %s", legs[0].Params.InputResponses)
		}
		for i, key := range []string{"project", "details"} {
			var answers map[string]json.RawMessage
			if err := json.Unmarshal(legs[i+1].Params.InputResponses, &answers); err != nil || len(answers) != 1 || answers[key] == nil {
				t.Errorf("leg %d: %s", i+2, legs[i+1].Params.InputResponses)
			}
		}
		r.clean(3, tn)
	})
	for name, state := range map[string]string{
		"state_exact":  `"\u0041\/b \ud800 \u0000 ` + strings.Repeat("é", 1000) + `"`,
		"state_empty":  `""`,
		"state_absent": ``,
	} {
		t.Run(name, func(t T) {
			r := start(t, rigOptions{})
			s := peer.New(peer.Round(state, peer.Form("k", "v")), peer.Done)
			tn := r.call("/call " + r.addServer(s) + "/ask {}")
			in, _ := tn.form()
			tn.answer(in, accept("v", "x"))
			if _, results := tn.end(); len(results) != 1 || results[0].isError {
				t.Errorf("%+v", results)
			}
			calls := s.Calls()
			if len(calls) != 2 || string(calls[1].RequestState) != state {
				t.Errorf("state came back as %q", calls[len(calls)-1].RequestState)
			}
			if calls[0].RequestState != nil {
				t.Errorf("the first leg has a state: %s", calls[0].RequestState)
			}
			r.clean(0, tn)
		})
	}
}

func answerWizard(tn *turn) {
	in, _ := tn.form()
	tn.answer(in, accept("name", "askback", "kind", "service"))
	in, _ = tn.form()
	tn.answer(in, accept("port", 7443))
}
