package protocol

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// quoted is s as JSON.
func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func request(op, input string) string {
	return `{"requestId":"r","operation":"` + op + `","input":` + input + `}`
}

func tool(name string, schemaBytes int) string {
	schema := `{"type":"object"}`
	if schemaBytes > 0 {
		const frame = `{"type":"object","description":""}`
		schema = strings.Replace(frame, `""`, `"`+strings.Repeat("d", schemaBytes-len(frame))+`"`, 1)
	}
	return `{"serverId":"s","name":"` + name + `","inputSchema":` + schema + `}`
}

func tools(prefix string, n, schemaBytes int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = tool(fmt.Sprint(prefix, i), schemaBytes)
	}
	return "[" + strings.Join(list, ",") + "]"
}

func offer(id, toolList string) string {
	return `{"offerId":"` + id + `","version":"1","affinity":"session","hostPathAccess":"none","label":"L","tools":` + toolList + `}`
}

func replace(offers ...string) string {
	return request("client.capability.replace", `{"registrationId":"g","offers":[`+strings.Join(offers, ",")+`]}`)
}

func manyOffers(n, toolsEach int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = offer(fmt.Sprint("o", i), tools(fmt.Sprint("t", i, "_"), toolsEach, 0))
	}
	return replace(list...)
}

func result(bytes int) string {
	const frame = `{"content":[{"type":"text","text":""}]}`
	inner := strings.Replace(frame, `""`, `"`+strings.Repeat("x", bytes-len(frame))+`"`, 1)
	return `{"kind":"client.capability.result","invocationId":"i","result":` + inner + `}`
}

// escaped writes some of a frame's padding as a client does that escapes what it need not.
func escaped(frame string) string {
	for _, c := range []string{"x", "d"} {
		frame = strings.Replace(frame, strings.Repeat(c, 2000), strings.Repeat(fmt.Sprintf(`\u%04x`, c[0]), 2000), 1)
	}
	return frame
}

func chunk(n int) string {
	return `{"kind":"client.capability.result_chunk","invocationId":"i","index":0,"data":"` +
		base64.StdEncoding.EncodeToString(make([]byte, n)) + `"}`
}

// TestClientLimits checks each limit on what a client may send, just inside and
// just outside.
func TestClientLimits(t *testing.T) {
	rep := strings.Repeat
	start := func(content string) string {
		return request("turn.start", `{"sessionId":"s","turnId":"t","content":`+content+`}`)
	}
	text := func(n int) string { return start(`{"text":"` + rep("x", n) + `"}`) }
	failed := func(n int) string {
		return `{"kind":"client.capability.failed","invocationId":"i","message":` + quoted(rep("é", n)) + `}`
	}
	answers := func(n, size int) string {
		list := rep(`"`+rep("a", size)+`",`, n)
		return request("interaction.answer", `{"sessionId":"s","interactionId":"i","answer":{"kind":"question","answers":[`+strings.TrimSuffix(list, ",")+`]}}`)
	}
	tail := func(n int) string {
		return request("subscription.open", fmt.Sprintf(`{"sessionId":"s","transcript":{"kind":"tail","maxBytes":%d}}`, n))
	}
	page := func(n int) string {
		return request("session.transcript.page", fmt.Sprintf(`{"subscriptionId":"s","source":"durable","direction":"older","throughSequence":1,"cursor":null,"anchorSequence":null,"maxBytes":%d}`, n))
	}
	blocks := func(n int) string {
		list := strings.TrimSuffix(rep(`{"type":"text","text":""},`, n), ",")
		return `{"kind":"client.capability.result","invocationId":"i","result":{"content":[` + list + `]}}`
	}
	for _, c := range []struct {
		name    string
		in, out string
	}{
		{"text 48 KiB", text(MaxTextBytes), text(MaxTextBytes + 1)},
		{"text not empty", text(1), text(0)},
		{"content 52 KiB", start(`{"text":"x","quotes":["` + rep("q", 50<<10) + `"]}`), start(`{"text":"x","quotes":["` + rep("q", 52<<10) + `"]}`)},
		{"attachments", start(`{"text":"x","attachments":[` + strings.TrimSuffix(rep("{},", 8), ",") + `]}`), start(`{"text":"x","attachments":[` + strings.TrimSuffix(rep("{},", 9), ",") + `]}`)},
		{"failed message", failed(MaxCapabilityMessage), failed(MaxCapabilityMessage + 1)},
		{"failed message not empty", failed(1), failed(0)},
		{"inline result", result(MaxInlineResultBytes), result(MaxInlineResultBytes + 1)},
		{"inline result with escapes", escaped(result(MaxInlineResultBytes)), escaped(result(MaxInlineResultBytes + 1))},
		{"one schema with escapes", escaped(replace(offer("o", tools("t", 1, MaxSchemaBytes)))), escaped(replace(offer("o", tools("t", 1, MaxSchemaBytes+1))))},
		{"content blocks", blocks(MaxContentBlocks), blocks(MaxContentBlocks + 1)},
		{"chunk", chunk(ChunkBytes), chunk(ChunkBytes + 1)},
		{"chunk not empty", chunk(1), chunk(0)},
		{"question answers", answers(3, 10), answers(4, 10)},
		{"question answer", answers(1, MaxQuestionAnswerBytes), answers(1, MaxQuestionAnswerBytes+1)},
		{"tail at most", tail(MaxTailBytes), tail(MaxTailBytes + 1)},
		{"tail at least", tail(MinTailBytes), tail(MinTailBytes - 1)},
		{"page", page(MaxPageBytes), page(MaxPageBytes + 1)},
		{"tools an offer", replace(offer("o", tools("t", 64, 0))), replace(offer("o", tools("t", 65, 0)))},
		{"tools not empty", replace(offer("o", tools("t", 1, 0))), replace(offer("o", "[]"))},
		{"tools in all", manyOffers(32, 8), manyOffers(26, 10)},
		{"offers", manyOffers(32, 1), manyOffers(33, 1)},
		{"offers or services", request("client.capability.replace", `{"registrationId":"g","offers":[],"services":[{"serviceId":"s","version":"1"}]}`), replace()},
		{"one schema", replace(offer("o", tools("t", 1, MaxSchemaBytes))), replace(offer("o", tools("t", 1, MaxSchemaBytes+1)))},
		{"manifest", replace(offer("o", tools("t", 5, 11<<10))), replace(offer("o", tools("t", 5, 12<<10)))},
		{"duplicate tool", replace(offer("o", "["+tool("a", 0)+","+tool("b", 0)+"]")), replace(offer("o", "["+tool("a", 0)+","+tool("a", 0)+"]"))},
		{"duplicate offer", replace(offer("o", tools("a", 1, 0)), offer("p", tools("b", 1, 0))), replace(offer("o", tools("a", 1, 0)), offer("o", tools("b", 1, 0)))},
		{"schema keyword", replace(offer("o", tools("t", 1, 0))), strings.Replace(replace(offer("o", tools("t", 1, 0))), `"type":"object"`, `"type":"object","$schema":"x"`, 1)},
		{"frame", request("host.status", "{}") + rep(" ", MaxFrameBytes-len(request("host.status", "{}"))), request("host.status", "{}") + rep(" ", MaxFrameBytes+1-len(request("host.status", "{}")))},
		{"entity id", request("turn.query", `{"sessionId":"`+rep("s", 128)+`","turnId":"t"}`), request("turn.query", `{"sessionId":"`+rep("s", 129)+`","turnId":"t"}`)},
		{"dot in an entity id", request("turn.query", `{"sessionId":"s","turnId":"t"}`), request("turn.query", `{"sessionId":"s.1","turnId":"t"}`)},
		{"integer", request("session.remove", `{"sessionId":"s","expectedRevision":9007199254740991}`), request("session.remove", `{"sessionId":"s","expectedRevision":9007199254740992}`)},
		{"null is not absence", request("session.create", `{"sessionId":"s","workspace":{"kind":"project","projectId":"p"},"modelTarget":{"kind":"default"}}`), request("session.create", `{"sessionId":"s","workspace":{"kind":"project","projectId":"p"},"modelTarget":{"kind":"default"},"name":null}`)},
		{"fields of another variant", request("session.catalog.query", `{"kind":"list_start"}`), request("session.catalog.query", `{"kind":"list_start","sessionId":"s"}`)},
		{"operation", request("host.diagnostics.query", "{}"), request("nope.op", "{}")},
		{"composition", `{"kind":"hello","clientInstanceId":"c","protocolMin":0,"protocolMax":0,"compositionId":"a.b"}`, `{"kind":"hello","clientInstanceId":"c","protocolMin":0,"protocolMax":0,"compositionId":"A_b"}`},
		{"epoch", `{"kind":"hello","clientInstanceId":"c","protocolMin":0,"protocolMax":0,"compatibilityEpoch":1000000}`, `{"kind":"hello","clientInstanceId":"c","protocolMin":0,"protocolMax":0,"compatibilityEpoch":1000001}`},
		{"image type", `{"kind":"client.capability.result","invocationId":"i","result":{"content":[{"type":"image","data":"AA==","mimeType":"image/png"}]}}`, `{"kind":"client.capability.result","invocationId":"i","result":{"content":[{"type":"image","data":"AA==","mimeType":"text/plain"}]}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			frame, err := DecodeClientFrame([]byte(c.in), Dialect81)
			if err != nil {
				t.Fatalf("inside: %v", err)
			}
			if _, err := Encode(frame, Dialect81); err != nil {
				t.Errorf("inside, encoded: %v", err)
			}
			if _, err := DecodeClientFrame([]byte(c.out), Dialect81); err == nil {
				t.Error("outside was accepted")
			}
		})
	}
}

// TestEncodeRefuses holds the encoder to the same rules as the decoder.
func TestEncodeRefuses(t *testing.T) {
	for name, f := range map[string]Frame{
		"id":            &CapabilityRelease{InvocationID: "a.b"},
		"progress":      &CapabilityProgress{InvocationID: "i", Current: 2, Total: 1},
		"message":       &CapabilityFailed{InvocationID: "i"},
		"inline result": &CapabilityResult{InvocationID: "i", Result: ToolResult{Content: []ContentBlock{{Type: BlockText, Text: strings.Repeat("x", MaxInlineResultBytes)}}}},
		"raw JSON":      &CapabilityCall{InvocationID: "i", RegistrationID: "r", OfferID: "o", ServerID: "s", ToolName: "t", SessionID: "s", TurnID: "t", Arguments: RawMessage(`{"a":1`)},
		"raw object":    &CapabilityCall{InvocationID: "i", RegistrationID: "r", OfferID: "o", ServerID: "s", ToolName: "t", SessionID: "s", TurnID: "t", Arguments: RawMessage(`[]`)},
		"other variant": &CapabilityResult{InvocationID: "i", Result: ToolResult{Content: []ContentBlock{{Type: BlockText, Text: "a", Data: "AA=="}}}},
		"no input":      &Request{RequestID: "r"},
		"no request id": &Request{Input: &HostStatusInput{}},
		"wrong result":  &Response{RequestID: "r", Operation: OpTurnQuery, OK: true, Result: &HostStatusResult{}},
		"unknown frame": &UnknownFrame{Kind: "x"},
		"large projection": &SessionDelta{SubscriptionHeader: SubscriptionHeader{HostEpoch: "h", SubscriptionID: "s"},
			Delta: Delta{Text: strings.Repeat("x", MaxSubscriptionFrameBytes)}},
	} {
		t.Run(name, func(t *testing.T) {
			if b, err := Encode(f, Dialect81); err == nil {
				t.Errorf("encoded %.120s", b)
			} else if _, ok := err.(*EncodeError); !ok {
				t.Errorf("error is a %T", err)
			}
		})
	}
}

func TestToolResultInChunks(t *testing.T) {
	big := &ToolResult{Content: []ContentBlock{{Type: BlockText, Text: strings.Repeat("é", 1<<20)}}, StructuredContent: RawMessage(`{"n":12345678901234567890}`)}
	data, err := EncodeToolResult(big)
	if err != nil {
		t.Fatal(err)
	}
	if n := ChunkCount(len(data)); n != (len(data)-1)/ChunkBytes+1 {
		t.Errorf("ChunkCount = %d", n)
	}
	back, err := DecodeToolResult(data)
	if err != nil {
		t.Fatal(err)
	}
	if back.Content[0].Text != big.Content[0].Text || string(back.StructuredContent) != `{"n":12345678901234567890}` {
		t.Error("the result changed on its way")
	}
	if _, err := DecodeToolResult([]byte("abc")); err == nil {
		t.Error("bytes that are no JSON are no result")
	}
	if _, err := DecodeToolResult(append(data, make([]byte, MaxResultBytes)...)); err == nil {
		t.Error("a result over 24 MiB was read")
	}
}
