package host

import (
	"testing"

	"askback/host/access"
)

// TestFormThroughTheHost is the whole way of one form: a call, its question, the
// person's answer, the result.
func TestFormThroughTheHost(t *testing.T) {
	r := newRig(t, nil)
	view := r.connect(access.RoleClient, 81, "terminal")
	provider := r.connect(access.RoleProvider, 81, "terminal")
	provider.publish("deploy", "release")
	session := view.newSession("ask")
	view.subscribe(session)
	turn, _ := view.start(session, `/call deploy/release {"version":"1.2"}`)

	call := provider.accept()
	if got := call.text("arguments.version"); got != "1.2" {
		t.Errorf("arguments: %v", call["arguments"])
	}
	provider.tell("interaction_request", call, frame{"interactionId": "mine", "request": colour()})
	form := view.pending(1)[0]
	if got := form.text("request.requester.source"); got != "deploy · via The label · the-provider" {
		t.Errorf("source %q", got)
	}
	if got := form.text("request.requester.name"); got != "release" {
		t.Errorf("name %q", got)
	}
	input := frame{"sessionId": session, "interactionId": form.text("interactionId"), "answer": accepting("green")}
	done := view.ok("interaction.answer", input)
	if done.text("status") != "answered" || done.text("outcome.values.colour") != "green" {
		t.Errorf("answered: %v", done)
	}
	result := provider.kind("client.capability.interaction_result")
	if result.text("interactionId") != "mine" || result.text("result.values.colour") != "green" {
		t.Errorf("handed over: %v", result)
	}
	provider.tell("result", call, frame{"result": frame{"content": []frame{{"type": "text", "text": "done"}}}})
	provider.kind("client.capability.release")
	if end := view.terminal(turn); end.text("status") != "completed" {
		t.Errorf("ended: %v", end)
	}
	if again := view.ok("interaction.answer", input); again.text("status") != "answered" {
		t.Errorf("repeat: %v", again)
	}
	input["answer"] = accepting("red")
	if code, _ := view.refused("interaction.answer", input); code != "already_resolved" {
		t.Errorf("different answer: %s", code)
	}
}
