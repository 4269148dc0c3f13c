package acceptance

import (
	"strings"
	"testing"

	"askback/forms"
	"askback/protocol"
)

// 4. accept, decline, and cancel remain distinct end to end.
func TestAC04_three_answers_stay_three(t *testing.T) { ac04(live{t}) }

func ac04(t T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer  forms.Result
		wire    string
		text    string
		isError bool
	}{
		"accept":  {accept("environment", "production", "confirm", true), `{"target":{"action":"accept","content":{"environment":"production","confirm":true}}}`, "Deployed build-42 to production.", false},
		"decline": {forms.Decline(), `{"target":{"action":"decline"}}`, "declined", true},
		"cancel":  {forms.Cancel(), `{"target":{"action":"cancel"}}`, "dismissed", true},
	} {
		t.Run(name, func(t T) {
			r := start(t, rigOptions{})
			tn := r.call(deploy)
			in, _ := tn.form()
			tn.answer(in, c.answer)
			o, ok := tn.settled(in).(*protocol.FormOutcome)
			if !ok || o.Result.Action != c.answer.Action {
				t.Errorf("outcome: %+v", o)
			}
			_, results := tn.end()
			if len(results) != 1 || results[0].isError != c.isError || !strings.Contains(results[0].text, c.text) {
				t.Errorf("%+v", results)
			}
			legs := r.messages("tools/call")
			if len(legs) != 2 || string(legs[1].Params.InputResponses) != c.wire {
				t.Errorf("the server saw %s", legs[len(legs)-1].Params.InputResponses)
			}
			r.clean(2, tn)
		})
	}
}
