package acceptance

import (
	"strings"
	"testing"

	"askback/protocol"
)

// 3. A two-round Tool preserves one logical Runtime Tool call and produces one final Tool result.
func TestAC03_two_rounds_are_one_call(t *testing.T) { ac03(live{t}) }

func ac03(t T) {
	t.Parallel()
	t.Run("one_call_one_result", func(t T) {
		r := start(t, rigOptions{})
		tn := r.call("/call demo/wizard {}")
		first, _ := tn.form()
		tn.answer(first, accept("name", "askback", "kind", "service"))
		second, form := tn.form()
		if !strings.Contains(form.Message, "service askback") {
			t.Errorf("the second form does not know the first: %q", form.Message)
		}
		a, b := first.Request.(*protocol.FormRequest), second.Request.(*protocol.FormRequest)
		if a.ToolUseID == "" || a.ToolUseID != b.ToolUseID || first.InteractionID == second.InteractionID {
			t.Errorf("tool use %q and %q, interactions %q and %q", a.ToolUseID, b.ToolUseID, first.InteractionID, second.InteractionID)
		}
		tn.answer(second, accept("port", 7443))
		snap, results := tn.end()
		if snap.Status != protocol.TurnCompleted || len(results) != 1 || !strings.Contains(results[0].text, "Created the service askback on port 7443.") {
			t.Errorf("%s %+v", snap.Status, results)
		}
		calls := 0
		for _, row := range tn.rows() {
			if row.Type == protocol.RowToolCall {
				calls++
			}
		}
		if calls != 1 {
			t.Errorf("%d tool_call rows", calls)
		}
		r.clean(3, tn)
	})
}
