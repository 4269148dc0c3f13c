package provider

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"askback/protocol"
)

func blocks(raw ...string) (out []json.RawMessage) {
	for _, r := range raw {
		out = append(out, json.RawMessage(r))
	}
	return out
}

func TestResults(t *testing.T) {
	deep := strings.Repeat("[", 240) + strings.Repeat("]", 240)
	for _, c := range []struct{ name, in, want string }{
		{"text", `{"type":"text","text":"a","annotations":{"priority":1},"_meta":{}}`, `{"type":"text","text":"a"}`},
		{"image", `{"type":"image","data":"AA==","mimeType":"image/png"}`, `{"type":"image","data":"AA==","mimeType":"image/png"}`},
		{"image of no image type", `{"type":"image","data":"AA==","mimeType":"text/x"}`, `{"type":"unknown","value":{"type":"image","data":"AA==","mimeType":"text/x"}}`},
		{"audio", `{"type":"audio","data":"AA==","mimeType":"audio/wav"}`, `{"type":"audio","data":"AA==","mimeType":"audio/wav"}`},
		{"embedded text", `{"type":"resource","resource":{"uri":"file:///a","mimeType":"text/plain","text":"t"}}`, `{"type":"resource","text":"t","uri":"file:///a","mimeType":"text/plain"}`},
		{"embedded blob", `{"type":"resource","resource":{"uri":"x:y","blob":"AA=="}}`, `{"type":"resource","uri":"x:y","blob":"AA=="}`},
		{"embedded nothing", `{"type":"resource"}`, `{"type":"unknown","value":{"type":"resource"}}`},
		{"link", `{"type":"resource_link","uri":"x:y","name":"n","title":"t","size":3}`, `{"type":"resource_link","uri":"x:y","name":"n"}`},
		{"unknown", `{"type":"hologram","size":[1]}`, `{"type":"unknown","value":{"type":"hologram","size":[1]}}`},
		{"no type", `{"text":"a"}`, `{"type":"unknown","value":{"text":"a"}}`},
		{"no object", `7`, `{"type":"unknown","value":7}`},
		{"text that is none", `{"type":"text","text":7}`, `{"type":"unknown","value":{"type":"text","text":7}}`},
		{"another encoding", `{"type":"text","text":"caf` + "\xe9 \xff" + `"}`, `{"type":"text","text":"caf` + "\ufffd \ufffd" + `"}`},
		{"half a pair", `{"type":"text","text":"a\ud83d"}`, `{"type":"text","text":"a` + "\ufffd" + `"}`},
		{"a key twice", `{"type":"text","type":"text","text":"a"}`, `{"type":"unknown","value":"{\"type\":\"text\",\"type\":\"text\",\"text\":\"a\"}"}`},
		{"deep", deep, `{"type":"unknown","value":"` + deep + `"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := resultOf(CallResult{Content: blocks(c.in)})
			out, err := protocol.EncodeToolResult(&r)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(out); got != `{"content":[`+c.want+`]}` {
				t.Errorf("got %s", got)
			}
			if _, err := protocol.DecodeToolResult(out); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestStructured: whatever a server's structured result is written like, the Host gets a result.
func TestStructured(t *testing.T) {
	deep := func(n int, inner string) string { return strings.Repeat("[", n) + inner + strings.Repeat("]", n) }
	for _, c := range []struct{ name, in, want string }{
		{"plain", `{"a":[1.10,1e400]}`, `{"content":[],"structuredContent":{"a":[1.10,1e400]}}`},
		{"another encoding", `{"a":"caf` + "\xe9" + `"}`, `{"content":[],"structuredContent":{"a":"caf` + "\ufffd" + `"}}`},
		{"a key twice", `{"a":{"b":1,"b":2}}`, `{"content":[{"type":"unknown","value":"{\"a\":{\"b\":1,\"b\":2}}"}]}`},
		{"a key twice, deep", deep(100, `{"b":1,"b":2}`), `{"content":[{"type":"unknown","value":"` + deep(100, `{\"b\":1,\"b\":2}`) + `"}]}`},
		{"deep", deep(150, `1`), `{"content":[],"structuredContent":` + deep(150, `1`) + `}`},
		{"too deep", deep(400, `1`), `{"content":[{"type":"unknown","value":"` + deep(400, `1`) + `"}]}`},
	} {
		r := resultOf(CallResult{Structured: json.RawMessage(c.in)})
		if out, err := protocol.EncodeToolResult(&r); err != nil || string(out) != c.want {
			t.Errorf("%s: %s %v", c.name, out, err)
		}
	}
	many := slices.Repeat(blocks(`{"a":1,"a":2}`), 300)
	r := resultOf(CallResult{Content: many, Structured: many[0]})
	if out, err := protocol.EncodeToolResult(&r); err != nil || strings.Count(string(out), `\"a\":2`) != 301 {
		t.Errorf("many: %s %v", out, err)
	}
	err := toolError(CallResult{Content: blocks(`{"type":"text","text":"caf` + "\xe9" + `"}`)})
	if err.Message != "caf\ufffd" {
		t.Error(err)
	}
}

func TestManyBlocks(t *testing.T) {
	for _, n := range []int{0, 255, 256, 257, 1000} {
		var list []json.RawMessage
		for i := range n {
			list = append(list, json.RawMessage(fmt.Sprintf(`{"type":"text","text":"%d"}`, i)))
		}
		r := resultOf(CallResult{Content: list, Structured: json.RawMessage(`{"n":12345678901234567890}`)})
		out, err := protocol.EncodeToolResult(&r)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Content) != min(n, 256) || string(r.StructuredContent) != `{"n":12345678901234567890}` {
			t.Errorf("%d blocks of %d", len(r.Content), n)
		}
		for i := range n {
			if !strings.Contains(string(out), fmt.Sprintf(`"text":"%d"`, i)) {
				t.Errorf("block %d of %d is lost", i, n)
				break
			}
		}
	}
}

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{errorf("no_handler", "It needs a person."), "no_handler: It needs a person."},
		{fmt.Errorf("wrapped: %w", errorf("timeout", "Too slow.")), "timeout: Too slow."},
		{errors.New("boom"), "server_error: boom"},
		{toolError(CallResult{Content: blocks(`{"type":"text","text":"it exploded"}`, `{"type":"image","data":"","mimeType":"image/png"}`)}), "server_error: it exploded\n[image image/png]"},
		{toolError(CallResult{}), "server_error: The tool failed and did not say why."},
		{toolError(CallResult{Structured: json.RawMessage(`{"why":1}`)}), `server_error: {"why":1}`},
		{toolError(CallResult{Content: blocks(`{"type":"resource","resource":{"uri":"x:y","text":"inside"}}`, `{"type":"resource_link","uri":"x:z"}`, `{"type":"new"}`)}), "server_error: inside\n[resource_link x:z]\n[unknown]"},
	} {
		if got := failure(c.err); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestFailureLength(t *testing.T) {
	for _, unit := range []string{"a", "é", "𝄞"} {
		got := failure(errors.New(strings.Repeat(unit, 5000)))
		if n := len(utf16.Encode([]rune(got))); n > 4096 || n < 4095 || !strings.HasSuffix(got, "…") {
			t.Errorf("%d units, ends in %q", n, got[len(got)-4:])
		}
	}
	exact := strings.Repeat("x", 4096-len("server_error: "))
	if got := failure(errors.New(exact)); got != "server_error: "+exact {
		t.Errorf("%d bytes", len(got))
	}
}
