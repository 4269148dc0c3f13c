package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"askback/host"
)

// servedInputs is a well-formed input of every served operation, about things that do not exist.
var servedInputs = map[string]obj{
	"host.status":                        {},
	"session.catalog.query":              {"kind": "list_start"},
	"session.create":                     {"sessionId": "fresh", "workspace": obj{"kind": "project", "projectId": "default"}, "modelTarget": obj{"kind": "default"}},
	"session.metadata.update":            {"sessionId": "none", "expectedRevision": 1, "patch": obj{"name": "x"}},
	"session.remove":                     {"sessionId": "none", "expectedRevision": 1},
	"project.catalog.query":              {"kind": "list_start", "view": "summary"},
	"connection.catalog.query":           {"kind": "start"},
	"session.execution_boundary.query":   {"sessionId": "none"},
	"subscription.open":                  {"sessionId": "none", "transcript": obj{"kind": "none"}},
	"subscription.close":                 {"subscriptionId": "none"},
	"session.transcript.page":            {"subscriptionId": "none", "source": "durable", "direction": "older", "throughSequence": 1, "cursor": nil, "anchorSequence": nil, "maxBytes": 100},
	"session.transcript.overlay.release": {"subscriptionId": "none"},
	"turn.start":                         {"sessionId": "none", "turnId": "t", "content": obj{"text": "x"}},
	"turn.query":                         {"sessionId": "none", "turnId": "t"},
	"turn.stop":                          {"sessionId": "none", "turnId": "t", "runId": "r"},
	"turn.message.submit":                {"originHostEpoch": "e", "sessionId": "none", "messageId": "m", "content": obj{"text": "x"}, "placement": "next_turn"},
	"interaction.query":                  {"sessionId": "none", "interactionId": "i"},
	"interaction.answer":                 {"sessionId": "none", "interactionId": "i", "answer": obj{"kind": "form", "action": "decline"}},
	"client.capability.replace":          {"registrationId": "r", "offers": []any{offer("o", "wire", "echo")}},
	"client.capability.unregister":       {"registrationId": "none"},
}

// unserved is what else the protocol names.
var unserved = []string{"session.configuration.update", "turn.interrupt", "queue.retract", "host.diagnostics.query", "access.credential.revoke",
	"access.credential.issue", "access.credential.prepare", "access.credential.finalize", "credential.vault.query", "runtime.policy.query", "skill.catalog.invocable.query"}

var unservedInputs = map[string]obj{
	"session.configuration.update": {"sessionId": "s", "expectedRevision": 1, "configuration": obj{"modelTarget": obj{"kind": "default"}, "thinkingLevel": nil, "permissionMode": "ask", "collaborationMode": "agent", "orchestrationMode": "default"}},
	"turn.interrupt":               {"originHostEpoch": "e", "sessionId": "s", "interruptId": "i", "turnId": "t", "runId": "r"},
	"queue.retract":                {"originHostEpoch": "e", "sessionId": "s", "retractId": "r"},
}

// Every served operation answers; what the protocol names and we do not serve answers operation_unavailable and keeps the
// connection; any other name ends it (wire protocol, 4).
func TestWireOperations(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		p := w.connect("both", "term", 81)
		for _, op := range slices.Sorted(maps.Keys(servedInputs)) {
			f := p.ask(op, servedInputs[op])
			if f == nil || f["operation"] != op || (f["ok"] == true) == (f["error"] != nil) {
				t.Errorf("%s: %v (%d)", op, f, p.code())
			}
			if f["ok"] == false && text(f, "error", "code") == "operation_unavailable" {
				t.Errorf("%s is not served", op)
			}
		}
		for _, op := range unserved {
			in := unservedInputs[op]
			if in == nil {
				in = obj{}
			}
			p.refused("operation_unavailable", op, in)
		}
		view := w.connect("client", "term", 81)
		view.refused("operation_unavailable", "access.credential.revoke", obj{"credentialId": "x"})
	})
	for _, op := range []string{"nope.op", "", "host.Status", "host.status ", "session.open"} {
		bubble(t, nil, func(w *wire) {
			p := w.connect("client", "term", 81)
			p.request(op, obj{})
			p.wantAborted()
		})
	}
}

// What each operation answers about things that are not there.
func TestWireNotThere(t *testing.T) {
	t.Parallel()
	for op, code := range map[string]string{
		"session.metadata.update": "not_found", "session.remove": "not_found", "subscription.open": "internal_failure",
		"session.transcript.page": "not_found", "turn.start": "not_found", "turn.query": "not_found", "turn.stop": "not_found",
		"interaction.query": "not_found", "interaction.answer": "not_found", "client.capability.unregister": "invalid_request",
	} {
		bubble(t, nil, func(w *wire) {
			w.connect("both", "term", 81).refused(code, op, servedInputs[op])
		})
	}
	bubble(t, nil, func(w *wire) {
		p := w.connect("client", "term", 81)
		if r := p.ok("session.catalog.query", obj{"kind": "get", "sessionId": "none"}); r["kind"] != "session" || r["session"] != nil {
			t.Errorf("%v", r)
		}
		if r := p.ok("subscription.close", obj{"subscriptionId": "none"}); r["subscriptionId"] != "none" {
			t.Errorf("%v", r)
		}
	})
}

// An unknown key, a missing one, a wrong type and a wrong case end the connection, in every operation and without an answer.
func TestWireMalformedInputs(t *testing.T) {
	t.Parallel()
	for _, op := range slices.Sorted(maps.Keys(servedInputs)) {
		good := servedInputs[op]
		bad := map[string]any{"unknown key": with(good, "extra", 1), "array": []any{}, "null": nil, "text": "x"}
		for key := range good {
			bad["without "+key] = with(good, key, nil, true)
			bad["wrong type of "+key] = with(good, key, []any{[]any{}})
			bad["wrong case of "+key] = with(with(good, key, nil, true), strings.ToUpper(key), good[key])
			if sub, ok := good[key].(obj); ok {
				bad["unknown key in "+key] = with(good, key, with(sub, "extra", 1))
			}
			if strings.HasSuffix(key, "Id") && key != "subscriptionId" {
				for what, id := range map[string]string{"empty": "", "dot": "a.b", "blank": "a b", "129": strings.Repeat("x", 129), "slash": "a/b", "umlaut": "ä"} {
					bad[what+" "+key] = with(good, key, id)
				}
			}
		}
		bubble(t, nil, func(w *wire) {
			for _, name := range slices.Sorted(maps.Keys(bad)) {
				p := w.connect("both", "term", 81)
				p.request(op, bad[name])
				settle()
				if p.code() != 1006 || len(p.take()) != 0 {
					t.Errorf("%s, %s: ended with %d", op, name, p.code())
				}
			}
		})
	}
}

// with returns a copy of o with a key set, or removed.
func with(o obj, key string, v any, remove ...bool) obj {
	c := maps.Clone(o)
	if c[key] = v; len(remove) > 0 {
		delete(c, key)
	}
	return c
}

func TestWireEnvelope(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		frame string
		ok    bool
	}{
		"plain":               {`{"requestId":"x","operation":"host.status","input":{}}`, true},
		"id of 128":           {`{"requestId":"` + strings.Repeat("x", 128) + `","operation":"host.status","input":{}}`, true},
		"id with anything":    {`{"requestId":"a b/ü.\u0000","operation":"host.status","input":{}}`, true},
		"other order":         {`{"input":{},"operation":"host.status","requestId":"x"}`, true},
		"id of 129":           {`{"requestId":"` + strings.Repeat("x", 129) + `","operation":"host.status","input":{}}`, false},
		"128 emoji":           {`{"requestId":"` + strings.Repeat("😀", 65) + `","operation":"host.status","input":{}}`, false},
		"empty id":            {`{"requestId":"","operation":"host.status","input":{}}`, false},
		"numeric id":          {`{"requestId":1,"operation":"host.status","input":{}}`, false},
		"no id":               {`{"operation":"host.status","input":{}}`, false},
		"no input":            {`{"requestId":"x","operation":"host.status"}`, false},
		"no operation":        {`{"requestId":"x","input":{}}`, false},
		"more keys":           {`{"requestId":"x","operation":"host.status","input":{},"v":1}`, false},
		"kind beside":         {`{"kind":"request","requestId":"x","operation":"host.status","input":{}}`, false},
		"a response":          {`{"requestId":"x","operation":"host.status","ok":true,"result":{}}`, false},
		"a frame of the Host": {`{"kind":"session.catalog.changed","revision":1,"sessionId":"s"}`, false},
		"unknown kind":        {`{"kind":"nonsense"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, nil, func(w *wire) {
				p := w.connect("client", "term", 81)
				p.send(tc.frame)
				settle()
				if !tc.ok {
					p.wantAborted()
					return
				}
				got := p.take()
				var sent obj
				json.Unmarshal([]byte(tc.frame), &sent)
				if len(got) != 1 || got[0]["requestId"] != sent["requestId"] || got[0]["ok"] != true {
					t.Errorf("%v (%d)", got, p.code())
				}
			})
		})
	}
}

// stuck is an executor whose Turns end when release is closed and not before, whoever stops them.
type stuck struct{ release chan struct{} }

func (s *stuck) Execute(context.Context, *host.Run) error { <-s.release; return nil }

func (s *stuck) use(o *host.Options) { s.release, o.Executor = make(chan struct{}), s }

// 64 requests may be in flight, and one host.status on top; a live id may not be used again. Other requests in flight get
// no answer when the connection ends.
func TestWireInFlight(t *testing.T) {
	t.Parallel()
	flight := func(t *testing.T, test func(w *wire, p *peer, stop obj)) {
		var ex stuck
		bubble(t, ex.use, func(w *wire) {
			defer close(ex.release)
			p := w.connect("client", "term", 81)
			session := p.session("ask")
			turn, run := p.start(session, "x")
			for i := range 64 {
				p.send(obj{"requestId": fmt.Sprint("f", i), "operation": "turn.stop", "input": obj{"sessionId": session, "turnId": turn, "runId": run}})
			}
			settle()
			if p.code() != 0 || len(pick(p.take(), "")) != 0 {
				t.Fatalf("64 in flight: %d", p.code())
			}
			test(w, p, obj{"sessionId": session, "turnId": turn, "runId": run})
		})
	}
	t.Run("65", func(t *testing.T) {
		flight(t, func(w *wire, p *peer, stop obj) {
			p.send(obj{"requestId": "more", "operation": "turn.stop", "input": stop})
			p.wantAborted()
		})
	})
	t.Run("status on top", func(t *testing.T) {
		flight(t, func(w *wire, p *peer, stop obj) {
			p.ok("host.status", obj{})
			p.ok("host.status", obj{})
			p.send(obj{"requestId": "q", "operation": "session.catalog.query", "input": obj{"kind": "list_start"}})
			p.wantAborted()
		})
	})
	t.Run("id in flight", func(t *testing.T) {
		var ex stuck
		bubble(t, ex.use, func(w *wire) {
			defer close(ex.release)
			p := w.connect("client", "term", 81)
			session := p.session("ask")
			turn, run := p.start(session, "x")
			stop := obj{"requestId": "same", "operation": "turn.stop", "input": obj{"sessionId": session, "turnId": turn, "runId": run}}
			p.send(stop)
			p.wantAlive()
			p.send(obj{"requestId": "same", "operation": "host.status", "input": obj{}})
			p.wantAborted()
		})
	})
	t.Run("id again after its answer", func(t *testing.T) {
		bubble(t, nil, func(w *wire) {
			p := w.connect("client", "term", 81)
			for range 3 {
				p.send(obj{"requestId": "same", "operation": "host.status", "input": obj{}})
				if f := p.answer("same"); f == nil || f["ok"] != true {
					t.Fatalf("%v", f)
				}
			}
		})
	})
	t.Run("released", func(t *testing.T) {
		var ex stuck
		bubble(t, ex.use, func(w *wire) {
			p := w.connect("client", "term", 81)
			session := p.session("ask")
			turn, run := p.start(session, "x")
			for i := range 64 {
				p.send(obj{"requestId": fmt.Sprint("f", i), "operation": "turn.stop", "input": obj{"sessionId": session, "turnId": turn, "runId": run}})
			}
			settle()
			close(ex.release)
			settle()
			n := 0
			for _, f := range p.take() {
				if f["operation"] == "turn.stop" && dig(f, "result", "status") == "cancelled" && dig(f, "result", "abortSource") == "renderer.stop_button" {
					n++
				}
			}
			if n != 64 {
				t.Errorf("%d of 64 stops answered", n)
			}
		})
	})
}

// unauthorized covers what a credential does not grant; the connection stays.
func TestWireUnauthorized(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		p := w.connect("client", "term", 81)
		p.refused("unauthorized", "client.capability.replace", servedInputs["client.capability.replace"])
		p.refused("unauthorized", "client.capability.unregister", servedInputs["client.capability.unregister"])
		p.refused("unauthorized", "session.create", with(servedInputs["session.create"], "workspace", obj{"kind": "host_path", "path": "/etc"}))
		p.send(`{"kind":"client.capability.rejected","invocationId":"nope","message":"m"}`)
		p.wantAborted()
	})
}
