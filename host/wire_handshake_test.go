package host_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The handshake (wire protocol, 3).
func TestWireHello(t *testing.T) {
	t.Parallel()
	with := func(change func(obj)) obj { h := hello("term", 81); change(h); return h }
	set := func(key string, v any) obj { return with(func(h obj) { h[key] = v }) }
	without := func(key string) obj { return with(func(h obj) { delete(h, key) }) }
	for name, tc := range map[string]struct {
		frame any
		want  string // accepted, incompatible or abort
	}{
		"81":                         {hello("term", 81), "accepted"},
		"39":                         {hello("term", 39), "accepted"},
		"no composition":             {without("compositionId"), "accepted"},
		"unknown keys":               {with(func(h obj) { h["surface"] = "desktop"; h["x"] = []any{obj{"y": 1}} }), "accepted"},
		"generation":                 {set("generation", "g1"), "accepted"},
		"range 0 to 3":               {set("protocolMax", 3), "accepted"},
		"instance 128":               {set("clientInstanceId", strings.Repeat("é", 128)), "accepted"},
		"instance with blanks":       {set("clientInstanceId", "a b/c"), "accepted"},
		"38":                         {hello("term", 38), "incompatible"},
		"40":                         {hello("term", 40), "incompatible"},
		"80":                         {hello("term", 80), "incompatible"},
		"82":                         {hello("term", 82), "incompatible"},
		"a million":                  {hello("term", 1_000_000), "incompatible"},
		"no epoch":                   {without("compatibilityEpoch"), "incompatible"},
		"no overlap":                 {with(func(h obj) { h["protocolMin"], h["protocolMax"] = 1, 2 }), "incompatible"},
		"other composition":          {set("compositionId", "maka.batch"), "incompatible"},
		"over a million":             {hello("term", 1_000_001), "abort"},
		"epoch as text":              {set("compatibilityEpoch", "81"), "abort"},
		"epoch 81.5":                 {set("compatibilityEpoch", 81.5), "abort"},
		"negative epoch":             {set("compatibilityEpoch", -1), "abort"},
		"min over max":               {with(func(h obj) { h["protocolMin"], h["protocolMax"] = 1, 0 }), "abort"},
		"negative min":               {set("protocolMin", -1), "abort"},
		"no min":                     {without("protocolMin"), "abort"},
		"malformed composition":      {set("compositionId", "no spaces allowed"), "abort"},
		"empty composition":          {set("compositionId", ""), "abort"},
		"no instance":                {without("clientInstanceId"), "abort"},
		"empty instance":             {set("clientInstanceId", ""), "abort"},
		"instance 129":               {set("clientInstanceId", strings.Repeat("x", 129)), "abort"},
		"instance as number":         {set("clientInstanceId", 7), "abort"},
		"null instance":              {set("clientInstanceId", nil), "abort"},
		"duplicate key":              {`{"kind":"hello","kind":"hello","clientInstanceId":"a","protocolMin":0,"protocolMax":0,"compatibilityEpoch":81}`, "abort"},
		"a request":                  {obj{"requestId": "x", "operation": "host.status", "input": obj{}}, "abort"},
		"a capability frame":         {obj{"kind": "client.capability.rejected", "invocationId": "a", "message": "m"}, "abort"},
		"accepted, from the client":  {obj{"kind": "accepted"}, "abort"},
		"array":                      {"[]", "abort"},
		"kind hello, in wrong case":  {strings.Replace(jsonOf(hello("term", 81)), `"kind"`, `"Kind"`, 1), "abort"},
		"kind hello, in other value": {set("kind", "Hello"), "abort"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, nil, func(w *wire) {
				p := w.raw("client")
				p.send(tc.frame)
				settle()
				got := p.take()
				switch tc.want {
				case "abort":
					p.wantAborted()
					if len(got) != 0 {
						t.Errorf("answered %v", got)
					}
				case "incompatible":
					time.Sleep(2 * time.Second)
					settle()
					if len(got) != 1 || got[0]["kind"] != "incompatible" || got[0]["compatibilityEpoch"] != 81.0 || got[0]["protocolMin"] != 0.0 ||
						got[0]["protocolMax"] != 0.0 || got[0]["compositionId"] != "maka.interactive" || got[0]["replacement"] != "blocked_by_residency" ||
						got[0]["state"] != "ready" || got[0]["hostEpoch"] != w.h.Epoch() || got[0]["compositionRevision"] != "askback-1" {
						t.Errorf("answered %v", got)
					}
					if p.code() != 1000 {
						t.Errorf("ended with %d", p.code())
					}
				default:
					if len(got) != 1 || got[0]["kind"] != "accepted" {
						t.Fatalf("answered %v (%d)", got, p.code())
					}
					p.wantAlive()
				}
			})
		})
	}
}

func TestWireAccepted(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		uuid := regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
		var roots, epochs, conns []string
		for i, epoch := range []int{39, 81, 81} {
			if i == 2 {
				w.restart()
			}
			p := w.raw("client")
			p.send(hello("term", epoch))
			settle()
			f := p.take()[0]
			if len(f) != 9 || f["selectedProtocol"] != 0.0 || f["compatibilityEpoch"] != float64(epoch) || f["compositionId"] != "maka.interactive" ||
				f["compositionRevision"] != "askback-1" || f["state"] != "ready" {
				t.Errorf("%v", f)
			}
			if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(text(f, "rootId")) || !uuid.MatchString(text(f, "hostEpoch")) || !uuid.MatchString(text(f, "connectionId")) {
				t.Errorf("ids %v", f)
			}
			roots, epochs, conns = append(roots, text(f, "rootId")), append(epochs, text(f, "hostEpoch")), append(conns, text(f, "connectionId"))
		}
		if roots[0] != roots[1] || roots[1] != roots[2] {
			t.Errorf("rootId changes: %v", roots)
		}
		if epochs[0] != epochs[1] || epochs[1] == epochs[2] {
			t.Errorf("hostEpoch: %v", epochs)
		}
		if conns[0] == conns[1] {
			t.Errorf("connectionId: %v", conns)
		}
	})
}

// A silent client is cut off after five seconds, without a word; one that said hello is not.
func TestWireHelloTimeout(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		silent, talks := w.raw("client"), w.connect("client", "term", 81)
		time.Sleep(4900 * time.Millisecond)
		settle()
		if silent.code() != 0 {
			t.Errorf("ended early with %d", silent.code())
		}
		time.Sleep(200 * time.Millisecond)
		settle()
		if silent.code() != 1006 {
			t.Errorf("%d", silent.code())
		}
		time.Sleep(time.Hour)
		talks.wantAlive()
	})
}

func TestWireSecondHello(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		p := w.connect("client", "term", 81)
		p.send(hello("term", 81))
		p.wantAborted()
	})
}

// Broadcasts go to accepted connections whose credential may query the domain.
func TestWireBroadcasts(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		late := w.raw("client")
		owner, both, prov := w.connect("client", "a", 39), w.connect("both", "b", 81), w.connect("provider", "c", 81)
		owner.session("ask")
		settle()
		for _, p := range []*peer{owner, both, prov, late} {
			n := 0
			for _, raw := range p.raw {
				if contains(raw, `"session.catalog.changed"`) {
					n++
				}
			}
			if wants := p == owner || p == both; wants != (n > 0) {
				t.Errorf("%s got %d hints", p.name, n)
			}
		}
		if fmt.Sprint(late.take()) != "[]" {
			t.Error("a connection that has not said hello got a frame")
		}
	})
}
