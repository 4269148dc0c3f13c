package protocol

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// plant puts an unknown key into every object of a JSON value.
func plant(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, m := range v {
			v[k] = plant(m)
		}
		v["x-unknown"] = map[string]any{"deep": []any{json.Number("1")}}
	case []any:
		for i := range v {
			v[i] = plant(v[i])
		}
	}
	return v
}

// TestUnknownKeys plants unknown keys into recorded Host frames: what is only
// shown takes them, what is acted on ends the connection.
func TestUnknownKeys(t *testing.T) {
	shown, acted := 0, 0
	for file, lines := range readTranscripts(t) {
		seen := map[string]int{}
		for _, r := range lines {
			if r.Dir != "h2c" || r.Frame == nil {
				continue
			}
			frame, err := DecodeHostFrame(r.Frame, Dialect39)
			if err != nil {
				continue // in skip.json
			}
			var kind struct{ Kind string }
			json.Unmarshal(r.Frame, &kind)
			if seen[kind.Kind]++; kind.Kind == "" || seen[kind.Kind] > 5 {
				continue
			}
			v, _ := anyJSON(r.Frame)
			planted, _ := json.Marshal(plant(v))
			_, err = DecodeHostFrame(planted, Dialect39)
			strict := strings.HasPrefix(kind.Kind, capabilityPrefix) || kind.Kind == "accepted"
			switch {
			case strict && err == nil:
				t.Errorf("%s:%d %T takes an unknown key", file, r.line, frame)
			case strict:
				if _, ok := errors.AsType[*DecodeError](err); !ok {
					t.Errorf("error is a %T", err)
				}
				acted++
			case err != nil:
				t.Errorf("%s:%d %T: %v", file, r.line, frame, err)
			default:
				shown++
			}
		}
	}
	if shown < 100 || acted < 50 {
		t.Errorf("%d shown, %d acted on", shown, acted)
	}
}

const pendingForm = `{"schemaVersion":1,"interactionId":"i","sessionId":"s","turnId":"t","runId":"r","request":{"kind":"form","toolUseId":"u","message":"m","requester":{"name":"n"},"fields":[]},"revision":1,"status":"pending","outcome":null}`

func projection(pending string) string {
	return `{"kind":"subscription.session_projection","hostEpoch":"h","subscriptionId":"s","sequence":1,"snapshot":{"schemaVersion":4,"session":{"sessionId":"s","metadataRevision":1,"status":"weird","createdAt":1,"lastUsedAt":1,"isArchived":false},"projectionRevision":1,"rootTurn":{"sessionId":"s","turnId":"t","runId":"r","status":"dreaming"},"goal":{"any":1},"queue":{"hostEpoch":"h","queueRevision":0,"steering":[],"followup":[]},"interactions":{"pending":[` + pending + `]}}}`
}

func TestPendingInProjections(t *testing.T) {
	for _, c := range []struct {
		name, pending string
		dialect       Dialect
		want          InteractionBody
		problem       bool
	}{
		{"form", pendingForm, Dialect81, &FormRequest{}, false},
		{"form without the dialect", pendingForm, Dialect39, &UnknownRequest{}, false},
		{"unknown kind", strings.Replace(pendingForm, `"form"`, `"riddle"`, 1), Dialect81, &UnknownRequest{}, false},
		{"form that cannot be read", strings.Replace(pendingForm, `"fields":[]`, `"fields":7`, 1), Dialect81, &UnknownRequest{}, true},
		{"status of another time", strings.Replace(pendingForm, `"pending"`, `"dozing"`, 1), Dialect81, &FormRequest{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := DecodeHostFrame([]byte(projection(c.pending)), c.dialect)
			if err != nil {
				t.Fatal(err)
			}
			p := f.(*SessionProjection)
			got := p.Snapshot.Interactions.Pending[0].Request
			if _, unknown := c.want.(*UnknownRequest); unknown {
				u, ok := got.(*UnknownRequest)
				if !ok || (u.Problem != "") != c.problem || u.Raw == nil {
					t.Fatalf("got %#v", got)
				}
			} else if _, ok := got.(*FormRequest); !ok {
				t.Fatalf("got %#v", got)
			}
			out, err := Encode(f, c.dialect)
			if err != nil {
				t.Fatal(err)
			}
			if err := sameJSON([]byte(projection(c.pending)), out); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestFormsStayInTheirDialect wants no way for a form onto a connection of
// epoch 39.
func TestFormsStayInTheirDialect(t *testing.T) {
	f, err := DecodeHostFrame([]byte(projection(pendingForm)), Dialect81)
	if err != nil {
		t.Fatal(err)
	}
	p := f.(*SessionProjection)
	if _, err := Encode(p, Dialect39); err == nil {
		t.Error("a form was encoded for epoch 39")
	}
	p.Snapshot = p.Snapshot.For(Dialect39)
	out, err := Encode(p, Dialect39)
	if err != nil || strings.Contains(string(out), "form") {
		t.Errorf("%s, %v", out, err)
	}
	if _, err := Encode(&InteractionResult{InvocationID: "i", InteractionID: "q"}, Dialect39); err == nil {
		t.Error("interaction_result was encoded for epoch 39")
	}
}

func TestUnknownFrames(t *testing.T) {
	f, err := DecodeHostFrame([]byte(`{"kind":"subscription.runtime_resource_pty_data","hostEpoch":"h","subscriptionId":"s","sequence":7,"data":"x"}`), Dialect81)
	u, ok := f.(*UnknownFrame)
	if err != nil || !ok || !u.HasHeader() || u.Sequence != 7 {
		t.Errorf("%#v, %v", f, err)
	}
	if f, err := DecodeHostFrame([]byte(`{"kind":"weather.changed","degrees":3}`), Dialect81); err != nil || f.(*UnknownFrame).HasHeader() {
		t.Errorf("%#v, %v", f, err)
	}
	for _, bad := range []string{
		`{"kind":"client.capability.conjure","invocationId":"i"}`,
		`{"kind":"subscription.new"}`, // no place in any subscription
		`{"kind":7}`, `{}`, `null`, `"x"`, ``, `{"kind":"release"`, "\xff",
	} {
		if f, err := DecodeHostFrame([]byte(bad), Dialect81); err == nil {
			t.Errorf("%s decoded as %#v", bad, f)
		}
	}
}

func TestRows(t *testing.T) {
	row, err := DecodeRow([]byte(`{"type":"tool_result","id":"a","turnId":"t","ts":1,"toolUseId":"u","isError":true,"content":{"kind":"text","text":"outcome_unknown: x","uncertainOutcome":{"code":"outcome_unknown","retrySafe":false,"new":1}},"weird":[1]}`))
	if err != nil {
		t.Fatal(err)
	}
	if row.Content.UncertainOutcome.Code != "outcome_unknown" || !*row.IsError || !strings.Contains(string(row.Raw), "weird") {
		t.Errorf("%+v", row)
	}
	if _, err := DecodeRow([]byte(`{"type":"tool_result","content":{"kind":"diff","patch":"x"}}`)); err != nil {
		t.Errorf("a kind of content that is not known: %v", err)
	}
	if _, err := DecodeRow([]byte(`{"type":"hologram","size":1}`)); err != nil {
		t.Errorf("a row that is not known: %v", err)
	}
	if _, err := DecodeRow([]byte(`{"ts":1}`)); err == nil {
		t.Error("a row without a type was read")
	}
	text := "a"
	out, err := EncodeRow(&Row{Type: RowUser, ID: "i", TurnID: "t", TS: 5, Text: &text})
	if err != nil || string(out) != `{"type":"user","id":"i","turnId":"t","ts":5,"text":"a"}` {
		t.Errorf("%s, %v", out, err)
	}
}

func TestErrorsNameNoValues(t *testing.T) {
	const secret = "hunter2hunter2"
	for _, msg := range []string{
		request("interaction.answer", `{"sessionId":"s","interactionId":"`+secret+`.","answer":{"kind":"question","answers":["a"]}}`),
		request("interaction.answer", `{"sessionId":"s","interactionId":"i","answer":{"kind":"form","action":"`+secret+`"}}`),
		request("interaction.answer", `{"sessionId":"s","interactionId":"i","answer":{"kind":"form","action":"accept","values":{"a":{"b":"`+secret+`"}}}}`),
		request("turn.start", `{"sessionId":"s","turnId":"t","content":"`+secret+`"}`),
		`{"kind":"` + secret + `"}`,
	} {
		_, err := DecodeClientFrame([]byte(msg), Dialect81)
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", msg, err)
		}
	}
}

// TestUnknownKeysInResults does the same with results: lists, items and what a
// subscription opens with are shown; registrations and Interactions are acted on.
func TestUnknownKeysInResults(t *testing.T) {
	tolerant := map[Operation]bool{
		OpHostStatus: true, OpSessionCatalogQuery: true, OpSessionCreate: true, OpProjectCatalogQuery: true, OpSubscriptionOpen: true,
		OpTurnStart: true, OpTurnQuery: true, OpTurnStop: true, OpTranscriptPage: true, OpQueueRetract: true, OpTurnInterrupt: true,
	}
	seen := map[Operation]int{}
	for file, lines := range readTranscripts(t) {
		for _, r := range lines {
			if r.Dir != "h2c" || r.Frame == nil {
				continue
			}
			f, err := DecodeHostFrame(r.Frame, Dialect39)
			resp, ok := f.(*Response)
			if err != nil || !ok || !resp.OK || !resp.Operation.Typed() {
				continue
			}
			if seen[resp.Operation]++; seen[resp.Operation] > 20 {
				continue
			}
			v, _ := anyJSON(r.Frame)
			frame := v.(map[string]any)
			frame["result"] = plant(frame["result"])
			planted, _ := json.Marshal(frame)
			if _, err := DecodeHostFrame(planted, Dialect39); (err == nil) != tolerant[resp.Operation] {
				t.Errorf("%s:%d %s: %v", file, r.line, resp.Operation, err)
			}
		}
	}
	if len(seen) < 15 {
		t.Errorf("only %d operations", len(seen))
	}
}
