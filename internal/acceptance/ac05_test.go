package acceptance

import (
	"fmt"
	"strings"
	"testing"

	"askback/internal/acceptance/peer"
)

// 5. Multiple bounded form requests in one round are collected under the exact server keys; malformed, unknown, or
// over-limit input fails before retry.
func TestAC05_a_round_is_all_or_nothing(t *testing.T) { ac05(live{t}) }

func ac05(t T) {
	t.Parallel()
	t.Run("several_forms_exact_keys", func(t T) {
		r := start(t, rigOptions{})
		keys := []string{"z", "a", "__proto__", "a.b", "", "é\u0000"}
		var requests []string
		for _, k := range keys {
			requests = append(requests, peer.Form(k, "v"))
		}
		// %q of Go is not JSON for the last key.
		requests[5] = strings.Replace(requests[5], `\x00`, `\u0000`, 1)
		s := peer.New(peer.Round(`"s"`, requests...), peer.Done)
		tn := r.call("/call " + r.addServer(s) + "/ask {}")
		for i := range keys {
			in, _ := tn.form()
			tn.answer(in, accept("v", fmt.Sprintf("answer %d", i)))
		}
		tn.end()
		calls := s.Calls()
		if len(calls) != 2 {
			t.Fatalf("%d legs", len(calls))
		}
		want := `{"z":{"action":"accept","content":{"v":"answer 0"}},"a":{"action":"accept","content":{"v":"answer 1"}},"__proto__":{"action":"accept","content":{"v":"answer 2"}},"a.b":{"action":"accept","content":{"v":"answer 3"}},"":{"action":"accept","content":{"v":"answer 4"}},"é\u0000":{"action":"accept","content":{"v":"answer 5"}}}`
		if got := string(calls[1].InputResponses); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		r.clean(0, tn)
	})
	t.Run("demo_pair_order", func(t T) {
		r := start(t, rigOptions{})
		tn := r.call("/call demo/pair {}")
		in, form := tn.form()
		if !strings.HasPrefix(form.Message, "First of two") {
			t.Errorf("first form: %q", form.Message)
		}
		tn.answer(in, accept("reviewer", "Ada"))
		in, _ = tn.form()
		tn.answer(in, accept("urgency", "high"))
		_, results := tn.end()
		if !strings.Contains(results[0].text, "Reviewer Ada, urgency high.") {
			t.Errorf("%+v", results)
		}
		r.clean(2, tn)
	})
	bad := func(name, code string, rounds map[string]string) {
		t.Run(name, func(t T) {
			r := start(t, rigOptions{})
			servers := map[string]*peer.Server{}
			for row, round := range rounds {
				s := peer.New(round, peer.Done)
				servers[row] = s
				server := r.addServer(s)
				tn := r.call("/call " + server + "/ask {}")
				_, results := tn.end()
				if len(results) != 1 || !results[0].isError || !strings.HasPrefix(results[0].text, code+": ") {
					t.Errorf("%s: %+v", row, results)
				}
				if n := len(s.Calls()); n != 1 {
					t.Errorf("%s: the server saw %d tools/call", row, n)
				}
				r.never(tn)
				r.clean(0, tn)
			}
		})
	}
	ok := peer.Form("ok", "v")
	bad("malformed", "invalid_form", map[string]string{
		"schema no object": peer.Round(`"s"`, ok, `"k":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"string"}}}`),
		"nested":           peer.Round(`"s"`, ok, `"k":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"object","properties":{}}}}}}`),
		"no schema":        peer.Round(`"s"`, ok, `"k":{"method":"elicitation/create","params":{"message":"m"}}`),
		"unanswerable":     peer.Round(`"s"`, ok, `"k":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string","minLength":5,"maxLength":4}}}}}`),
	})
	bad("unknown", "unsupported_input", map[string]string{
		"method": peer.Round(`"s"`, ok, `"k":{"method":"vendor/ask","params":{}}`),
		"mode":   peer.Round(`"s"`, ok, `"k":{"method":"elicitation/create","params":{"mode":"holo","message":"m"}}`),
	})
	nine := make([]string, 9)
	for i := range nine {
		nine[i] = peer.Form(fmt.Sprint("k", i), "v")
	}
	bad("over_limit", "limit_exceeded", map[string]string{
		"nine requests":  peer.Round(`"s"`, nine...),
		"64 KiB of JSON": peer.Round(`"s"`, ok, peer.Form("k", strings.Repeat("x", 100))+`,"p":{"method":"elicitation/create","params":{"message":"`+strings.Repeat("m", 66<<10)+`","requestedSchema":{"type":"object","properties":{}}}}`),
		"state":          peer.Round(`"`+strings.Repeat("s", 16<<10+1)+`"`, ok),
	})
}
