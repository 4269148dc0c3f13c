package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"askback/forms"
	"askback/hostclient"
	"askback/protocol"
)

// TestCases are known ways in which a client gets calls and forms wrong, by the
// names under which they are listed.
func TestCases(t *testing.T) {
	t.Run("VP-04_large_integers_pass_unchanged", func(t *testing.T) {
		const args = `{"a":"x","id":9007199254740993,"f":0.10000000000000000001}`
		tools := newFake()
		got := make(chan string, 1)
		tools.add(tool("demo", "exact"), func(_ context.Context, req CallRequest) (CallResult, error) {
			got <- string(req.Arguments)
			return CallResult{Content: blocks(`{"type":"text","text":"ok"}`), Structured: json.RawMessage(`{"id":9007199254740993}`)}, nil
		})
		r := newRig(t, tools)
		row := r.results("/call demo/exact "+args, 1)[0]
		if g := <-got; g != args {
			t.Errorf("the server got %s", g)
		}
		if !strings.Contains(string(row.Content.Value), `"structuredContent":{"id":9007199254740993}`) {
			t.Errorf("the result is %s", row.Content.Value)
		}
	})
	t.Run("HL-12_no_form_where_none_can_be_shown", func(t *testing.T) {
		tools := newFake()
		tools.add(tool("demo", "t"), func(_ context.Context, req CallRequest) (CallResult, error) {
			if req.Form != nil {
				t.Error("a form could be asked")
			}
			return textResult("ok"), nil
		})
		r := newRig(t, tools, protocol.Dialect39)
		r.results("/call demo/t", 1)
	})
	t.Run("SE-01_requester_is_safe_to_show", func(t *testing.T) {
		got := Requester("se\x1b[2Jrver", "to\u202eol\n", "l\x00")
		if got != (forms.Requester{Name: `to\u{202e}ol `, Source: `se\x1b[2Jrver · via l\x00`}) {
			t.Errorf("%q", got)
		}
		long := Requester(strings.Repeat("s", 64), strings.Repeat("工", 128), strings.Repeat("\x01", 128))
		lim := forms.OurLimits()
		if len(long.Name) > lim.Requester || len(long.Source) > lim.Source || !strings.HasSuffix(long.Name, "…") || !strings.HasSuffix(long.Source, "…") {
			t.Errorf("%d and %d bytes", len(long.Name), len(long.Source))
		}
	})
	t.Run("SE-04_nothing_of_a_call_is_logged", func(t *testing.T) {
		const secret = "hunter2hunter2"
		var log lockedBuffer
		tools := newFake()
		tools.add(tool("demo", "ask"), func(ctx context.Context, req CallRequest) (CallResult, error) {
			got, err := req.Form(ctx, forms.Form{Message: secret, Fields: []forms.Field{{Kind: forms.KindString, Name: "p", Label: "P", Required: true}}})
			if err != nil {
				return CallResult{}, err
			}
			return textResult(secret + got.Values["p"].Text()), nil
		})
		tools.log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		r := newRig(t, tools)
		r.start(`/call demo/ask {"a":"` + secret + `"}`)
		p := next(r, func(hostclient.InteractionPending) bool { return true }).Interaction
		_, err := r.view.Answer(t.Context(), r.session, p.InteractionID, &protocol.FormAnswer{Result: forms.Result{Action: forms.ActionAccept, Values: forms.Values{"p": forms.TextValue(secret)}}})
		if err != nil {
			t.Fatal(err)
		}
		if row := r.rows(1)[0]; rowText(row) != secret+secret {
			t.Errorf("the result is %s", rowText(row))
		}
		r.results(`/call demo/ask {"a":["`+secret+`"]}`, 1) // does not fit
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log holds a value:\n%s", log.String())
		}
	})
	t.Run("SD-24_hostile_property_names_survive", func(t *testing.T) {
		i := tool("s", "t")
		i.InputSchema = json.RawMessage(`{"type":"object","properties":{"__proto__":{"type":"string"},"a.b":{"type":"number"},"constructor":{},"a/b":{}},"required":["__proto__"]}`)
		plan := NewPlan([]ToolInfo{i}, "l")
		acceptable(t, plan)
		if got := string(plan.Offers[0].Tools[0].InputSchema); got != string(i.InputSchema) {
			t.Error(got)
		}
	})
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
