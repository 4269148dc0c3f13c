package host_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"askback/host"
)

// Publication (wire protocol, 7.1).

func replaceInput(reg string, offers ...obj) obj {
	return obj{"registrationId": reg, "offers": offers}
}

func TestWirePublishRights(t *testing.T) {
	t.Parallel()
	with := func(key, value string) obj { o := offer("o", "wire", "echo"); o[key] = value; return o }
	services := obj{"registrationId": "r", "offers": []any{}, "services": []any{obj{"serviceId": "svc", "version": "1"}}}
	const trusted = "A trusted capability provider may publish only path-independent session capabilities"
	const unauthorized = "Runtime Host operation is not authorized"
	for _, tc := range []struct {
		token         string
		name          string
		input         obj
		code, message string
	}{
		{"client", "session", replaceInput("r", offer("o", "wire", "echo")), "unauthorized", unauthorized},
		{"provider", "session", replaceInput("r", offer("o", "wire", "echo")), "", ""},
		{"provider", "turn", replaceInput("r", with("affinity", "turn")), "invalid_request", trusted},
		{"provider", "call", replaceInput("r", with("affinity", "call")), "invalid_request", trusted},
		{"provider", "cwd", replaceInput("r", with("hostPathAccess", "cwd")), "invalid_request", trusted},
		{"provider", "services", services, "invalid_request", trusted},
		{"both", "session", replaceInput("r", offer("o", "wire", "echo")), "", ""},
		{"both", "turn", replaceInput("r", with("affinity", "turn")), "", ""},
		{"both", "call", replaceInput("r", with("affinity", "call")), "", ""},
		{"both", "services", services, "", ""},
		{"both", "cwd", replaceInput("r", with("hostPathAccess", "cwd")), "unauthorized", unauthorized},
	} {
		t.Run(tc.token+"/"+tc.name, func(t *testing.T) {
			bubble(t, nil, func(w *wire) {
				p := w.connect(tc.token, "term", 81)
				if tc.code == "" {
					if r := p.ok("client.capability.replace", tc.input); r["registrationId"] != "r" {
						t.Errorf("%v", r)
					}
					return
				}
				if m := p.refused(tc.code, "client.capability.replace", tc.input); m != tc.message {
					t.Errorf("%q", m)
				}
			})
		})
	}
}

// A capability provider has exactly host.status, replace and unregister.
func TestWireProviderRights(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		p := w.connect("provider", "term", 81)
		for op, input := range servedInputs {
			switch op {
			case "host.status", "client.capability.replace", "client.capability.unregister":
				continue
			}
			p.refused("unauthorized", op, input)
		}
		p.ok("host.status", obj{})
		p.publish(offer("o", "wire", "echo"))
	})
}

func TestWireManifestShape(t *testing.T) {
	t.Parallel()
	tool := func(change func(obj)) string {
		o := offer("o", "wire", "echo")
		change(o["tools"].([]any)[0].(obj))
		return manifest(o)
	}
	schema := func(s string) string { return tool(func(t obj) { t["inputSchema"] = json.RawMessage(s) }) }
	change := func(key string, value any) string {
		o := offer("o", "wire", "echo")
		o[key] = value
		return manifest(o)
	}
	var many []any
	for i := range 65 {
		many = append(many, obj{"serverId": "wire", "name": fmt.Sprint("t", i), "description": "d", "inputSchema": obj{"type": "object"}})
	}
	var offers []obj
	for i := range 33 {
		offers = append(offers, offer(fmt.Sprint("o", i), fmt.Sprint("s", i), "t"))
	}
	big := func(n int) string {
		return fmt.Sprintf(`{"type":"object","description":%q}`, strings.Repeat("x", n-len(`{"type":"object","description":""}`)))
	}
	for name, tc := range map[string]struct {
		input string
		ok    bool
	}{
		"plain":                     {manifest(offer("o", "wire", "echo")), true},
		"all optional":              {tool(func(t obj) { t["annotations"] = obj{"title": "T", "readOnlyHint": true}; t["activityKind"] = "read" }), true},
		"offer description":         {change("description", strings.Repeat("d", 1024)), true},
		"offer description long":    {change("description", strings.Repeat("d", 1025)), false},
		"label 128":                 {change("label", strings.Repeat("é", 128)), true},
		"label 129":                 {change("label", strings.Repeat("é", 129)), false},
		"label empty":               {change("label", ""), false},
		"version 65":                {change("version", strings.Repeat("1", 65)), false},
		"offerId with a dot":        {change("offerId", "a.b"), false},
		"affinity":                  {change("affinity", "always"), false},
		"hostPathAccess":            {change("hostPathAccess", "all"), false},
		"more keys":                 {change("icon", "x"), false},
		"no tools":                  {change("tools", []any{}), false},
		"64 tools":                  {change("tools", many[:64]), true},
		"65 tools":                  {change("tools", many), false},
		"32 offers":                 {manifest(offers[:32]...), true},
		"33 offers":                 {manifest(offers...), false},
		"no offers":                 {manifest(), false},
		"duplicate offer":           {manifest(offer("o", "a", "x"), offer("o", "b", "x")), false},
		"duplicate tool":            {manifest(offer("o", "a", "x"), offer("p", "a", "x")), false},
		"tool key":                  {tool(func(t obj) { t["outputSchema"] = obj{"type": "object"} }), false},
		"annotation key":            {tool(func(t obj) { t["annotations"] = obj{"icon": true} }), false},
		"activityKind":              {tool(func(t obj) { t["activityKind"] = "danger" }), false},
		"name 129":                  {tool(func(t obj) { t["name"] = strings.Repeat("n", 129) }), false},
		"tool description 8193":     {tool(func(t obj) { t["description"] = strings.Repeat("d", 8193) }), false},
		"schema not an object":      {schema(`true`), false},
		"schema of another type":    {schema(`{"type":"string"}`), false},
		"$schema":                   {schema(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}`), false},
		"if":                        {schema(`{"type":"object","if":{}}`), false},
		"$ref":                      {schema(`{"type":"object","$defs":{"a":{"type":"string"}},"properties":{"x":{"$ref":"#/$defs/a"}}}`), true},
		"$ref that does not lead":   {schema(`{"type":"object","properties":{"x":{"$ref":"#/$defs/a"}}}`), false},
		"$ref elsewhere":            {schema(`{"type":"object","properties":{"x":{"$ref":"https://x.example/a"}}}`), false},
		"pattern":                   {schema(`{"type":"object","properties":{"x":{"type":"string","pattern":"^a+$"}}}`), true},
		"pattern of no regexp":      {schema(`{"type":"object","properties":{"x":{"type":"string","pattern":"("}}}`), false},
		"schema 32 KiB":             {schema(big(32 << 10)), true},
		"schema over 32 KiB":        {schema(big(32<<10 + 1)), false},
		"manifest over 56 KiB":      {manifest(bigOffer("a", big(30<<10)), bigOffer("b", big(30<<10))), false},
		"registrationId with a dot": {strings.Replace(manifest(offer("o", "a", "x")), `"reg"`, `"r.g"`, 1), false},
		"no registrationId":         {strings.Replace(manifest(offer("o", "a", "x")), `"registrationId":"reg",`, ``, 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, nil, func(w *wire) {
				p := w.connect("both", "term", 81)
				p.send(fmt.Sprintf(`{"requestId":"x","operation":"client.capability.replace","input":%s}`, tc.input))
				settle()
				if !tc.ok {
					p.wantAborted()
					return
				}
				if f := p.answer("x"); f == nil || f["ok"] != true {
					t.Errorf("%v (%s)", f, lastLine(w.log))
				}
			})
		})
	}
}

func manifest(offers ...obj) string {
	if offers == nil {
		offers = []obj{}
	}
	b, _ := json.Marshal(offers)
	return fmt.Sprintf(`{"registrationId":"reg","offers":%s}`, b)
}

func bigOffer(id, schema string) obj {
	o := offer(id, id, "t")
	o["tools"].([]any)[0].(obj)["inputSchema"] = json.RawMessage(schema)
	return o
}

// Tools that a model could not tell apart are refused with the connection kept, and nothing is published.
func TestWireCollidingTools(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		p := w.connect("both", "term", 81)
		p.publish(offer("first", "wire", "echo"))
		before := p.ok("client.capability.replace", replaceInput("r1", offer("o", "wire", "echo")))["revision"].(float64)
		p.refused("invalid_request", "client.capability.replace", replaceInput("r2", offer("o", "wire", "a.b", "a_b")))
		p.refused("invalid_request", "client.capability.unregister", obj{"registrationId": "r2"})
		after := p.ok("client.capability.unregister", obj{"registrationId": "r1"})["revision"].(float64)
		if after != before+1 {
			t.Errorf("revision %v, then %v", before, after)
		}
	})
}

// The life of registrations as it was recorded (transcript 17).
func TestWireRegistrationLife(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		a := w.connect("both", "inst", 39)
		s := &stage{wire: w, view: a, prov: a, session: a.session("bypass")}
		wireOffer := offer("wire-offer", "wire", "echo")
		a.ok("client.capability.replace", replaceInput("reg-1", wireOffer))
		if m := a.refused("invalid_request", "client.capability.replace", replaceInput("reg-1", wireOffer)); m != "Client Capability registration identity already exists" {
			t.Errorf("%q", m)
		}
		s.turn, _ = a.start(s.session, `/call wire/echo {"n":1}`)
		s.inv = s.called(a)
		s.admit()
		a.ok("client.capability.replace", replaceInput("reg-2", wireOffer))
		settle()
		if got := kinds(a.take()); got != "" {
			t.Errorf("replace during a call: %q", got)
		}
		s.prov.cap("result", s.inv, textResult("from old registration"))
		settle()
		got := a.take()
		if kinds(got) != "release registration_release" || got[1]["registrationId"] != "reg-1" {
			t.Errorf("after the result: %v", got)
		}
		if m := a.refused("invalid_request", "client.capability.unregister", obj{"registrationId": "reg-1"}); m != "Client Capability registration is not current" {
			t.Errorf("%q", m)
		}
		a.start(s.session, `/call wire/echo {"n":2}`)
		s.inv = s.called(a)
		s.admit()
		a2 := w.connect("both", "inst", 39)
		a2.ok("client.capability.replace", replaceInput("reg-3", wireOffer))
		settle()
		if got := a.take(); kinds(got) != "registration_release" || got[0]["registrationId"] != "reg-2" {
			t.Errorf("superseded: %v", got)
		}
		s.wantCall(true, lostAfter, true)
		if m := a.refused("invalid_request", "client.capability.replace", replaceInput("reg-4", wireOffer)); m != "Client Capability connection has been superseded" {
			t.Errorf("%q", m)
		}
		a.cap("result", s.inv, obj{"result": obj{"content": []any{}}})
		a.wantAlive()
		wireOffer["version"] = "2"
		a2.ok("client.capability.replace", replaceInput("reg-5", wireOffer))
		settle()
		if got := a2.take(); kinds(got) != "registration_release" || got[0]["registrationId"] != "reg-3" {
			t.Errorf("replaced while idle: %v", got)
		}
		a.start(s.session, `/call wire/echo {"n":3}`)
		s.prov = a2
		s.inv = s.called(a2)
		s.admit()
		a2.cap("result", s.inv, textResult("v2"))
		settle()
		a2.take()
		s.wantCall(false, "v2", false)
		a2.ok("client.capability.unregister", obj{"registrationId": "reg-5"})
		settle()
		if got := a2.take(); kinds(got) != "registration_release" {
			t.Errorf("unregistered while idle: %v", got)
		}
		a2.ws.NetConn().Close()
		settle()
		s.turn, _ = a.start(s.session, "/call wire/echo {}")
		s.wantTurn("completed") // its only call failed: nobody offers the tool
		// A provider that leaves without unregistering blocks nothing.
		a3 := w.connect("both", "inst", 39)
		a3.publish(wireOffer)
		s.turn, _ = a.start(s.session, "/call wire/echo {}")
		s.inv = s.called(a3)
		a3.ws.NetConn().Close()
		s.wantTurn("completed")
		other := w.connect("both", "someone-else", 39)
		other.publish(wireOffer)
		s.turn, _ = a.start(s.session, "/call wire/echo {}")
		s.inv = s.called(other)
		if len(w.rows(s.session, "user")) != 6 {
			t.Errorf("%d user rows", len(w.rows(s.session, "user")))
		}
	})
}

// Affinity as it shows on the wire (7.1, and facts 4 and 5 of the protocol's page).
func TestWireAffinity(t *testing.T) {
	t.Parallel()
	called := func(s *stage, peers ...*peer) string {
		settle()
		got := ""
		for _, p := range peers {
			for _, c := range pick(p.take(), "client.capability.call") {
				got += p.name
				p.cap("rejected", text(c, "invocationId"), obj{"message": "no"})
			}
		}
		settle()
		return got
	}
	named := func(p *peer, name string) *peer { p.name = name; return p }
	t.Run("session", func(t *testing.T) {
		bubble(t, nil, func(w *wire) {
			s := &stage{wire: w}
			v1, v2, v3 := w.connect("client", "one", 81), w.connect("client", "two", 81), w.connect("client", "three", 81)
			p1, p2 := named(w.connect("provider", "one", 81), "P1"), named(w.connect("provider", "two", 81), "P2")
			p1.publish(offer("o", "wire", "echo"))
			sid := v3.session("ask")
			v3.start(sid, "/call wire/echo {}")
			if got := called(s, p1, p2); got != "P1" {
				t.Errorf("the only one: %s", got)
			}
			p2.publish(offer("o", "wire", "echo"))
			two := v2.session("ask")
			if m := v3.refused("operation_conflict", "turn.start", obj{"sessionId": two, "turnId": "tx", "content": obj{"text": "/call wire/echo {}"}}); m != "Multiple Client Capability providers offer the same contract and no initiating provider can be selected" {
				t.Errorf("%q", m)
			}
			v2.start(two, "/call wire/echo {}")
			if got := called(s, p1, p2); got != "P2" {
				t.Errorf("the initiating client's own, by clientInstanceId: %s", got)
			}
			v3.start(two, "/call wire/echo {}")
			if got := called(s, p1, p2); got != "P2" {
				t.Errorf("the binding stays: %s", got)
			}
			p2.ws.NetConn().Close()
			settle()
			v3.start(two, "/call wire/echo {}")
			if got := called(s, p1); got != "P1" {
				t.Errorf("the binding ended with its provider's connection: %s", got)
			}
			_ = v1
		})
	})
	t.Run("different contracts of one model name", func(t *testing.T) {
		bubble(t, nil, func(w *wire) {
			v := w.connect("client", "one", 81)
			p1, p2 := w.connect("provider", "one", 81), w.connect("provider", "two", 81)
			p1.publish(offer("o", "wire", "echo"))
			p2.publish(offer("other", "wire", "echo"))
			in := obj{"sessionId": v.session("ask"), "turnId": "tx", "content": obj{"text": "/call wire/echo {}"}}
			v.refused("operation_conflict", "turn.start", in)
			v.refused("operation_conflict", "turn.message.submit", obj{"originHostEpoch": text(v.ok("host.status", obj{}), "hostEpoch"),
				"sessionId": in["sessionId"], "messageId": "m1", "content": in["content"], "placement": "next_turn"})
			p2.ws.NetConn().Close()
			settle()
			v.ok("turn.start", in)
		})
	})
	t.Run("turn", func(t *testing.T) {
		bubble(t, nil, func(w *wire) {
			s := &stage{wire: w}
			a := named(w.connect("both", "one", 81), "A")
			o := offer("o", "wire", "echo")
			o["affinity"] = "turn"
			a.publish(o)
			v := w.connect("client", "view", 81)
			sid := v.session("bypass")
			v.start(sid, "/call wire/echo {}")
			if got := called(s, a); got != "A" {
				t.Errorf("%s", got)
			}
			a.ws.NetConn().Close()
			settle()
			s.view, s.session = v, sid
			s.turn, _ = v.start(sid, "/call wire/echo {}")
			s.wantTurn("completed") // not offered, so the call fails
		})
	})
	t.Run("call", func(t *testing.T) {
		bubble(t, func(o *host.Options) {}, func(w *wire) {
			s := &stage{wire: w}
			a, b := named(w.connect("both", "one", 81), "A"), named(w.connect("both", "two", 81), "B")
			o := offer("o", "wire", "echo")
			o["affinity"] = "call"
			a.publish(o)
			v := w.connect("client", "view", 81)
			sid := v.session("bypass")
			v.start(sid, "/call wire/echo {}")
			if got := called(s, a, b); got != "A" {
				t.Errorf("%s", got)
			}
			b.publish(o)
			s.view, s.session = v, sid
			s.turn, _ = v.start(sid, "/call wire/echo {}")
			s.wantTurn("completed")
			rows := w.rows(sid, "tool_result")
			if got := text(rows[len(rows)-1], "content", "text"); !strings.HasPrefix(got, "capability_ambiguous: ") {
				t.Errorf("several: %q", got)
			}
			mine := w.connect("client", "two", 81)
			mine.start(sid, "/call wire/echo {}")
			if got := called(s, a, b); got != "B" {
				t.Errorf("own: %s", got)
			}
		})
	})
}
