package acceptance

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"sync/atomic"
	"time"

	"askback/forms"
	"askback/hostclient"
	"askback/protocol"
	"askback/provider"
)

// leg is one tools/call as the server received it.
type leg struct {
	ID     json.RawMessage
	Params struct {
		Meta           map[string]json.RawMessage `json:"_meta"`
		Name           string
		Arguments      json.RawMessage
		InputResponses json.RawMessage
		RequestState   json.RawMessage
	}
	raw string
}

// messages are all messages of a method that the server received.
func (r *rig) messages(method string) []leg {
	r.t.Helper()
	data, err := os.ReadFile(r.record)
	if err != nil {
		r.t.Fatal(err)
	}
	var out []leg
	for line := range bytes.Lines(data) {
		var m struct {
			leg
			Method string
		}
		if err := json.Unmarshal(line, &m); err != nil {
			r.t.Fatalf("%s: %v", line, err)
		}
		if m.Method == method {
			m.leg.raw = string(line)
			out = append(out, m.leg)
		}
	}
	return out
}

// counted knows how many calls are at the manager. The Host lets go of a call before the manager has.
type counted struct {
	inner
	n *atomic.Int64
}

func (c counted) Call(ctx context.Context, req provider.CallRequest) (provider.CallResult, error) {
	c.n.Add(1)
	defer c.n.Add(-1)
	return c.inner.Call(ctx, req)
}

// clean ends a test: the server saw so many tools/call, and nothing is left anywhere.
func (r *rig) clean(calls int, turns ...*turn) {
	r.t.Helper()
	r.rest()
	if got := len(r.messages("tools/call")); got != calls {
		r.t.Errorf("the server saw %d tools/call, want %d", got, calls)
	}
	for _, tn := range turns {
		res, err := r.view.Do(r.ctx(), &protocol.SubscriptionOpenInput{SessionID: tn.session, Transcript: protocol.TranscriptRequest{Kind: "none"}})
		if err != nil {
			r.t.Fatal(err)
		}
		if n := len(res.(*protocol.SubscriptionOpenResult).Snapshot.Interactions.Pending); n != 0 {
			r.t.Errorf("%d Interactions are still pending", n)
		}
	}
	for deadline := time.Now().Add(patience); r.host.Active() != 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Errorf("%d invocations are still live", r.host.Active())
			break
		}
	}
}

func accept(pairs ...any) forms.Result {
	vals := forms.Values{}
	for i := 0; i < len(pairs); i += 2 {
		var v forms.Value
		switch x := pairs[i+1].(type) {
		case string:
			v = forms.TextValue(x)
		case bool:
			v = forms.BoolValue(x)
		case int:
			v = forms.NumberValue(forms.NumberOf(x))
		case []string:
			v = forms.ListValue(x)
		default:
			panic("no value")
		}
		vals[pairs[i].(string)] = v
	}
	return forms.Accept(vals)
}

// never wants that no form of a Turn was ever shown.
func (r *rig) never(tn *turn) {
	r.t.Helper()
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		ev, err := r.view.Next(ctx)
		cancel()
		if err != nil {
			break
		}
		r.seen = append(r.seen, ev)
	}
	for _, ev := range r.seen {
		if p, ok := ev.(hostclient.InteractionPending); ok && p.Interaction.TurnID == tn.id {
			r.t.Errorf("a form was shown: %+v", p.Interaction)
		}
	}
}
