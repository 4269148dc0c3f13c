package broker

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"askback/protocol"
)

// The registration's life as it was recorded from another Host: repeated ids, replacing during a call, a second
// connection of the same identity, a changed contract, unregistering.
func TestRegistrationLife(t *testing.T) {
	r := newRig(t)
	id := Conn{ID: "A", Principal: "p-A", Instance: "inst-A", Publish: true}
	r.connect(id)
	wire := offerOf("wire-offer", "wire", "echo")
	r.replace("A", "reg-1", wire)
	r.refuse("A", "reg-1", protocol.CodeInvalidRequest, wire)

	r.bind(t1, "A")
	r.call(t1, "i")
	r.to("A", "i", Admitted)
	r.replace("A", "reg-2", wire)
	r.want("")
	r.refuse("A", "reg-1", protocol.CodeInvalidRequest, wire) // still held
	r.call(t1, "j")
	if f := r.sent["A"][len(r.sent["A"])-1].(*protocol.CapabilityCall); f.RegistrationID != "reg-1" {
		t.Errorf("the running Turn calls %s", f.RegistrationID)
	}
	r.frame("A", result("i", "from old registration"))
	r.want("stop CapabilityRelease@A settle:result")
	r.frame("A", &protocol.CapabilityRejected{InvocationID: "j", Message: "no"})
	r.do(r.b.EndTurn(t1))
	r.want("RegistrationRelease@A")
	if f := r.sent["A"][len(r.sent["A"])-1].(*protocol.RegistrationRelease); f.RegistrationID != "reg-1" {
		t.Errorf("released %s", f.RegistrationID)
	}
	if _, _, err := r.b.Unregister("A", "reg-1"); err == nil || err.Code != protocol.CodeInvalidRequest || err.Message != "Client Capability registration is not current" {
		t.Errorf("unregister of an old one: %v", err)
	}

	t2 := turnOf("s1", "t2")
	r.bind(t2, "A")
	r.call(t2, "k")
	r.to("A", "k", Admitted)
	r.connect(Conn{ID: "A2", Principal: "p-A", Instance: "inst-A", Publish: true})
	r.replace("A2", "reg-3", wire)
	r.want("stop settle:superseded")
	r.wantFailure("k", textLostAfter, true)
	r.refuse("A", "reg-4", protocol.CodeInvalidRequest, wire)
	r.frame("A", result("k", "late"))
	r.want("")
	if r.aborted["A"] != "" {
		t.Fatal("the superseded connection was aborted")
	}
	r.call(t2, "l")
	r.wantFailure("l", textLostBefore, false)
	r.do(r.b.EndTurn(t2))
	r.want("RegistrationRelease@A")

	before := r.b.Revision()
	wire.Version = "2"
	r.replace("A2", "reg-5", wire)
	r.want("RegistrationRelease@A2")
	r.unregister("A2", "reg-5")
	r.want("RegistrationRelease@A2")
	if r.b.Revision() != before+2 {
		t.Errorf("revision %d after %d", r.b.Revision(), before)
	}
	r.replace("A2", "reg-5", wire) // its id is free again
	r.disconnect("A2")
	if r.b.Revision() != before+4 {
		t.Errorf("a lost registration is no change: %d after %d", r.b.Revision(), before)
	}
	r.disconnect("A")
	if r.b.Revision() != before+4 {
		t.Error("losing a connection without a registration is a change")
	}
	if len(r.b.identities)+len(r.b.conns)+len(r.b.current)+len(r.b.turns)+len(r.b.bindings) != 0 {
		t.Errorf("left behind: %+v", r.b)
	}
}

func TestSupersedeIdle(t *testing.T) {
	r := newRig(t)
	r.provider(Conn{ID: "A", Principal: "p", Instance: "x"})
	r.connect(Conn{ID: "V", Principal: "p", Instance: "x", Publish: true}) // a view that never publishes
	r.connect(Conn{ID: "B", Principal: "p", Instance: "x", Publish: true})
	r.replace("B", "reg-B", offerOf("wire-offer", "wire", "echo"))
	r.want("RegistrationRelease@A")
	// An unregistered connection of the identity is superseded as well; one that never published is not.
	r.refuse("A", "again", protocol.CodeInvalidRequest, offerOf("o", "s", "t"))
	r.replace("V", "reg-V", offerOf("o", "s", "t"))
	r.refuse("B", "again", protocol.CodeInvalidRequest, offerOf("o", "s", "t"))
	if _, _, err := r.b.Unregister("B", "reg-B"); err == nil {
		t.Error("a superseded registration was unregistered")
	}
	// The same instance under another credential, and the same credential with another instance, are other providers.
	r.connect(Conn{ID: "C", Principal: "p2", Instance: "x", Publish: true})
	r.replace("C", "reg-V", offerOf("o", "s", "t"))
	r.connect(Conn{ID: "D", Principal: "p", Instance: "y", Publish: true})
	r.replace("D", "reg-V", offerOf("o", "s", "t"))
	r.replace("V", "reg-V2", offerOf("o", "s", "t"))
}

func TestReplaceRefusals(t *testing.T) {
	session := offerOf("o", "wire", "echo")
	turn, call, cwd := session, session, session
	turn.Affinity, call.Affinity, cwd.HostPathAccess = protocol.AffinityTurn, protocol.AffinityCall, protocol.HostPathCwd
	service := &protocol.CapabilityReplaceInput{RegistrationID: "r", Services: []protocol.Service{{ServiceID: "s", Version: "1"}}}
	with := func(o ...protocol.Offer) *protocol.CapabilityReplaceInput {
		return &protocol.CapabilityReplaceInput{RegistrationID: "r", Offers: o}
	}
	for _, tc := range []struct {
		name    string
		conn    Conn
		in      *protocol.CapabilityReplaceInput
		code    protocol.ErrorCode
		message string
	}{
		{"owner without the flag", Conn{}, with(session), protocol.CodeUnauthorized, "Runtime Host operation is not authorized"},
		{"owner, cwd without the flag", Conn{Publish: true}, with(cwd), protocol.CodeUnauthorized, "Runtime Host operation is not authorized"},
		{"owner, cwd", Conn{Publish: true, HostPaths: true}, with(cwd), "", ""},
		{"owner, turn", Conn{Publish: true}, with(turn), "", ""},
		{"owner, call", Conn{Publish: true}, with(call), "", ""},
		{"owner, service", Conn{Publish: true}, service, "", ""},
		{"provider", Conn{Publish: true, Trusted: true}, with(session), "", ""},
		{"provider, turn", Conn{Publish: true, Trusted: true}, with(session, turn), protocol.CodeInvalidRequest, errTrusted.Message},
		{"provider, call", Conn{Publish: true, Trusted: true}, with(call), protocol.CodeInvalidRequest, errTrusted.Message},
		{"provider, cwd", Conn{Publish: true, Trusted: true, HostPaths: true}, with(cwd), protocol.CodeInvalidRequest, errTrusted.Message},
		{"provider, service", Conn{Publish: true, Trusted: true}, service, protocol.CodeInvalidRequest, errTrusted.Message},
		{"colliding tools", Conn{Publish: true}, with(offerOf("o", "wire", "a.b", "a_b")), protocol.CodeInvalidRequest, "same model name"},
		{"colliding servers", Conn{Publish: true}, with(offerOf("o", "a.b", "x"), offerOf("p", "a_b", "x")), protocol.CodeInvalidRequest, "same model name"},
		{"colliding by the separator", Conn{Publish: true}, with(offerOf("o", "a", "b__c"), offerOf("p", "a__b", "c")), protocol.CodeInvalidRequest, "same model name"},
		{"no collision", Conn{Publish: true}, with(offerOf("o", "wire", "a.b", "a-b", "A.b")), "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			tc.conn.ID = "P"
			r.connect(tc.conn)
			_, _, err := r.b.Replace("P", tc.in)
			switch {
			case tc.code == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.code != "" && (err == nil || err.Code != tc.code || !strings.Contains(err.Message, tc.message)):
				t.Errorf("%v, wanted %s %q", err, tc.code, tc.message)
			case tc.code != "" && r.b.Revision() != 0:
				t.Error("a refusal changed the registry")
			}
		})
	}
	r := newRig(t)
	r.connect(Conn{ID: "P"})
	for _, id := range []string{"P", "nobody"} {
		if _, _, err := r.b.Unregister(id, "x"); err == nil || err.Code != protocol.CodeUnauthorized {
			t.Errorf("%s unregisters: %v", id, err)
		}
	}
}

func TestCollisionMessageFits(t *testing.T) {
	long := strings.Repeat("😀", 64)
	err := collision([]protocol.Offer{offerOf("o", long, long, long)})
	if err == nil || len(err.Message) == 0 {
		t.Fatal("no collision")
	}
}

// TestClip: an error's message holds 1024 UTF-16 units, and is cut between two characters.
func TestClip(t *testing.T) {
	for in, want := range map[string]string{
		strings.Repeat("a", 1024):       strings.Repeat("a", 1024),
		strings.Repeat("a", 1025):       strings.Repeat("a", 1023) + "…",
		strings.Repeat("я", 1024):       strings.Repeat("я", 1024),
		strings.Repeat("я", 1025):       strings.Repeat("я", 1023) + "…",
		strings.Repeat("😀", 512):        strings.Repeat("😀", 512),
		strings.Repeat("😀", 513):        strings.Repeat("😀", 511) + "…",
		"a" + strings.Repeat("😀", 2000): "a" + strings.Repeat("😀", 511) + "…",
	} {
		if got := Clip(in); got != want {
			t.Errorf("%d bytes became %d, want %d", len(in), len(got), len(want))
		}
	}
}

func TestContract(t *testing.T) {
	base := func() protocol.Offer {
		o := offerOf("o", "wire", "echo", "add")
		o.Tools[0].InputSchema = []byte(`{"type":"object","properties":{"a":{"type":"string"},"b":{"minimum":9007199254740993}}}`)
		return o
	}
	want := ContractOf(base())
	yes := true
	for name, change := range map[string]func(*protocol.Offer){
		"offerId":        func(o *protocol.Offer) { o.OfferID = "x" },
		"version":        func(o *protocol.Offer) { o.Version = "2" },
		"affinity":       func(o *protocol.Offer) { o.Affinity = protocol.AffinityTurn },
		"hostPathAccess": func(o *protocol.Offer) { o.HostPathAccess = protocol.HostPathCwd },
		"tool name":      func(o *protocol.Offer) { o.Tools[0].Name = "x" },
		"serverId":       func(o *protocol.Offer) { o.Tools[0].ServerID = "x" },
		"description":    func(o *protocol.Offer) { o.Tools[1].Description = "x" },
		"schema":         func(o *protocol.Offer) { o.Tools[1].InputSchema = []byte(`{"type":"object","title":"x"}`) },
		"big number": func(o *protocol.Offer) {
			o.Tools[0].InputSchema = []byte(strings.Replace(string(o.Tools[0].InputSchema), "993", "992", 1))
		},
		"annotations":   func(o *protocol.Offer) { o.Tools[0].Annotations = &protocol.Annotations{ReadOnlyHint: &yes} },
		"activityKind":  func(o *protocol.Offer) { o.Tools[0].ActivityKind = "read" },
		"one tool less": func(o *protocol.Offer) { o.Tools = o.Tools[:1] },
	} {
		o := base()
		change(&o)
		if ContractOf(o) == want {
			t.Errorf("%s: the same contract", name)
		}
	}
	for name, change := range map[string]func(*protocol.Offer){
		"label": func(o *protocol.Offer) { o.Label = "other" },
		"key order and blanks": func(o *protocol.Offer) {
			o.Tools[0].InputSchema = []byte(`{ "properties":{"b":{"minimum":9007199254740993},"a":{"type":"string"}},"type":"object" }`)
		},
	} {
		o := base()
		change(&o)
		if ContractOf(o) != want {
			t.Errorf("%s: another contract", name)
		}
	}
}

func TestCallFrame(t *testing.T) {
	r := newRig(t)
	r.connect(Conn{ID: "P", Publish: true, HostPaths: true})
	o := offerOf("o", "wire", "echo")
	cwd := offerOf("c", "paths", "where")
	cwd.HostPathAccess = protocol.HostPathCwd
	r.replace("P", "reg", o, cwd)
	r.bind(t1, "P")
	for tool, want := range map[[2]string]protocol.CapabilityCall{
		{"wire", "echo"}:   {InvocationID: "i", RegistrationID: "reg", OfferID: "o", ServerID: "wire", ToolName: "echo", SessionID: "s1", TurnID: "t1", ToolCallID: "functions.echo:2.0"},
		{"paths", "where"}: {InvocationID: "j", RegistrationID: "reg", OfferID: "c", ServerID: "paths", ToolName: "where", SessionID: "s1", TurnID: "t1", ToolCallID: "functions.echo:2.0", Cwd: "/srv/project"},
	} {
		args := json.RawMessage(`{"n":9007199254740993}`)
		r.callTool(Call{InvocationID: want.InvocationID, Turn: t1, ToolCallID: want.ToolCallID, Server: tool[0], Tool: tool[1], Arguments: args, Bypass: true, Cwd: "/srv/project"})
		got := *r.sent["P"][len(r.sent["P"])-1].(*protocol.CapabilityCall)
		if string(got.Arguments) != string(args) {
			t.Errorf("arguments %s", got.Arguments)
		}
		got.Arguments = nil
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("\n got %+v\nwant %+v", got, want)
		}
		r.want("CapabilityCall@P arm")
	}
}

func TestNotStarted(t *testing.T) {
	r := newRig(t)
	r.provider(Conn{ID: "P"})
	r.bind(t1, "P")
	fails := func(name string, c Call, text string) {
		t.Helper()
		c.InvocationID, c.ToolCallID = name, "c"
		r.callTool(c)
		r.want("settle:not_started")
		r.wantFailure(name, text, false)
	}
	fails("unknown turn", Call{Turn: turnOf("s1", "x"), Server: "wire", Tool: "echo", Bypass: true}, textNotOffered)
	fails("unknown tool", Call{Turn: t1, Server: "wire", Tool: "nope", Bypass: true}, textNotOffered)
	fails("no bypass", Call{Turn: t1, Server: "wire", Tool: "echo"}, textBypass)
	for i := range protocol.MaxActiveInvocations {
		r.call(t1, fmt.Sprint("i", i))
	}
	fails("ninth", Call{Turn: t1, Server: "wire", Tool: "echo", Bypass: true}, textTooMany)
	r.frame("P", &protocol.CapabilityRejected{InvocationID: "i0", Message: "no"})
	r.call(t1, "after")
	r.want("CapabilityCall@P arm")
	r.disconnect("P")
	fails("lost", Call{Turn: t1, Server: "wire", Tool: "echo", Bypass: true}, textLostBefore)
}

func TestTrustedRunsInAsk(t *testing.T) {
	r := newRig(t)
	r.provider(Conn{ID: "P", Trusted: true})
	r.bind(t1, "P")
	r.callTool(Call{InvocationID: "i", Turn: t1, ToolCallID: "c", Server: "wire", Tool: "echo"})
	r.want("CapabilityCall@P arm")
}

func TestChunks(t *testing.T) {
	whole := func(n int) []byte { // a result of exactly n bytes
		head, tail := `{"content":[{"type":"text","text":"`, `"}]}`
		return []byte(head + strings.Repeat("x", n-len(head)-len(tail)) + tail)
	}
	send := func(r *rig, data []byte) {
		n := chunksOf(len(data))
		r.frame("P", &protocol.CapabilityResultStart{InvocationID: "i", ByteLength: len(data), ChunkCount: n})
		for i := range n {
			r.frame("P", &protocol.CapabilityResultChunk{InvocationID: "i", Index: i, Data: data[i*protocol.ChunkBytes : min(len(data), (i+1)*protocol.ChunkBytes)]})
		}
	}
	for _, n := range []int{60, protocol.ChunkBytes - 1, protocol.ChunkBytes, protocol.ChunkBytes + 1, 3 * protocol.ChunkBytes, 102439} {
		r := running(t, Admitted)
		send(r, whole(n))
		out := r.settled["i"]
		if out.Result == nil || len(out.Result.Content[0].Text) != n-len(whole(60))+len(strings.Repeat("x", 60-39)) {
			t.Errorf("%d bytes came to %+.80v", n, out)
		}
	}
	r := running(t, Admitted)
	send(r, whole(protocol.MaxResultBytes))
	if r.settled["i"].Result == nil {
		t.Errorf("24 MiB: %v", r.aborted)
	}

	for name, frames := range map[string][]protocol.ClientFrame{
		"count too high":  {&protocol.CapabilityResultStart{InvocationID: "i", ByteLength: 36864, ChunkCount: 2}},
		"count too low":   {&protocol.CapabilityResultStart{InvocationID: "i", ByteLength: 36865, ChunkCount: 1}},
		"too long":        {&protocol.CapabilityResultStart{InvocationID: "i", ByteLength: protocol.MaxResultBytes + 1, ChunkCount: chunksOf(protocol.MaxResultBytes + 1)}},
		"empty":           {&protocol.CapabilityResultStart{InvocationID: "i", ByteLength: 0, ChunkCount: 0}},
		"out of order":    {chunkStart(40000), &protocol.CapabilityResultChunk{InvocationID: "i", Index: 1, Data: make([]byte, 40000-protocol.ChunkBytes)}},
		"short":           {chunkStart(40000), &protocol.CapabilityResultChunk{InvocationID: "i", Index: 0, Data: make([]byte, protocol.ChunkBytes-1)}},
		"long":            {chunkStart(40000), &protocol.CapabilityResultChunk{InvocationID: "i", Index: 0, Data: make([]byte, protocol.ChunkBytes+1)}},
		"last one short":  {chunkStart(10), &protocol.CapabilityResultChunk{InvocationID: "i", Index: 0, Data: make([]byte, 9)}},
		"repeated":        {chunkStart(80000), chunkAt(0), chunkAt(0)},
		"not JSON":        {chunkStart(10), &protocol.CapabilityResultChunk{InvocationID: "i", Index: 0, Data: []byte("0123456789")}},
		"isError":         {chunkStart(31), &protocol.CapabilityResultChunk{InvocationID: "i", Index: 0, Data: []byte(`{"content":[], "isError": true}`)}},
		"two values":      {chunkStart(28), &protocol.CapabilityResultChunk{InvocationID: "i", Index: 0, Data: []byte(`{"content":[]}{"content":[]}`)}},
		"inline after it": {chunkStart(40000), result("i", "x")},
	} {
		t.Run(name, func(t *testing.T) {
			r := running(t, Admitted)
			for i, f := range frames {
				if r.aborted["P"] != "" {
					t.Fatalf("aborted before frame %d", i)
				}
				r.frame("P", f)
			}
			if r.aborted["P"] == "" {
				t.Error("not aborted")
			}
			r.wantFailure("i", textLostAfter, true)
		})
	}
}

func chunkStart(n int) *protocol.CapabilityResultStart {
	return &protocol.CapabilityResultStart{InvocationID: "i", ByteLength: n, ChunkCount: chunksOf(n)}
}

func chunkAt(i int) *protocol.CapabilityResultChunk {
	return &protocol.CapabilityResultChunk{InvocationID: "i", Index: i, Data: make([]byte, protocol.ChunkBytes)}
}

// Base64 that decodes but is not canonical never reaches the Broker.
func TestCanonicalBase64(t *testing.T) {
	data := base64.StdEncoding.EncodeToString([]byte("a")) // "YQ=="
	for text, ok := range map[string]bool{data: true, "YR==": false, "YQ": false, "YQ==\\n": false, "_-==": false} {
		_, err := protocol.DecodeClientFrame([]byte(`{"kind":"client.capability.result_chunk","invocationId":"i","index":0,"data":"`+text+`"}`), protocol.Dialect39)
		if (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}
