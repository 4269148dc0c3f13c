package acceptance

import (
	"strings"
	"testing"

	"askback/forms"
)

const deploy = `/call demo/deploy {"artifact":"build-42"}`

// 1. A modern MCP Tool can return one form elicitation, receive an accepted typed answer, and complete through a second
// tools/call.
func TestAC01_one_form_completes_through_a_second_call(t *testing.T) { ac01(live{t}) }

func ac01(t T) {
	t.Parallel()
	for name, transport := range map[string]string{"accept_stdio": "stdio", "accept_http_json": "http_json", "accept_http_sse": "http_sse"} {
		t.Run(name, func(t T) {
			r := start(t, rigOptions{transport: transport})
			tn := r.call(deploy)
			in, form := tn.form()
			if form.Message != "Choose the deployment target" || len(form.Fields) != 2 || form.Fields[0].Kind != forms.KindSingleSelect || form.Fields[1].Kind != forms.KindBoolean {
				t.Errorf("form: %+v", form)
			}
			if form.Requester.Name != "deploy" || !strings.HasPrefix(form.Requester.Source, "demo · via acceptance") {
				t.Errorf("requester: %+v", form.Requester)
			}
			tn.answer(in, accept("environment", "staging", "confirm", true))
			snap, results := tn.end()
			if snap.Status != "completed" || len(results) != 1 || results[0].isError || !strings.Contains(results[0].text, "Deployed build-42 to staging.") {
				t.Errorf("%s %+v", snap.Status, results)
			}
			legs := r.messages("tools/call")
			if len(legs) != 2 || string(legs[1].Params.InputResponses) != `{"target":{"action":"accept","content":{"environment":"staging","confirm":true}}}` {
				t.Errorf("legs: %+v", legs)
			}
			r.clean(2, tn)
		})
	}
}
