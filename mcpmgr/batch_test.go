package mcpmgr

import (
	"strings"
	"testing"
)

// TestLegacyBatch: a server of 2025-03-26 may put what it sends into batches, its reply among other things.
func TestLegacyBatch(t *testing.T) {
	t.Parallel()
	const (
		reply = `{"jsonrpc":"2.0","id":$ID,"result":` + complete + `}`
		ping  = `{"jsonrpc":"2.0","id":"q1","method":"ping"}`
	)
	event := func(s string) string { return "event: message\ndata: " + s + "\n\n" }
	for _, c := range []struct {
		name, typ, body string
		code            Code
		pings           int
	}{
		{"event", "text/event-stream", event(`[` + ping + `,` + reply + `]`), "", 1},
		{"what follows the reply", "text/event-stream", event(` [` + reply + `,` + ping + `]`), "", 1},
		{"bad elements", "text/event-stream", event(`[7,{"jsonrpc":"2.0","id":99999,"result":{}},` + reply + `]`), "", 0},
		{"two batches", "text/event-stream", event(`[`+ping+`]`) + event(`[`+reply+`]`), "", 1},
		{"reply that is no use", "text/event-stream", event(`[{"jsonrpc":"2.0","id":$ID,"error":"boom"},` + ping + `]`), CodeServerError, 1},
		{"without the reply", "text/event-stream", event(`[{"jsonrpc":"2.0","id":99999,"result":{}}]`), CodeProtocolError, 0},
		{"empty", "text/event-stream", event(`[]`) + event(reply), "", 0},
		{"body", "application/json", ` [` + reply + `,` + ping + `]`, "", 1},
		{"body without the reply", "application/json", `[` + ping + `]`, CodeProtocolError, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPeer()
			p.legacyOnly = true
			p.handle("tools/call", func(r *preq) { r.http(200, c.typ, strings.ReplaceAll(c.body, "$ID", string(r.ID))) })
			m := manage(t, "json", p, Options{})
			_, err := callT(t, m, `{}`, accept(yes))
			if c.code == "" && err != nil || c.code != "" && CodeOf(err) != c.code {
				t.Fatal(err)
			}
			eventually(t, "the answers", func() bool { return len(p.by("")) == c.pings })
		})
	}
	t.Run("stream of notices", func(t *testing.T) {
		p := newPeer()
		p.legacyOnly, p.session, p.caps = true, "sess-1", `{"tools":{"listChanged":true}}`
		m := manage(t, "json", p, Options{})
		eventually(t, "the stream", func() bool { return notices(m) == "" })
		p.setTools(`[` + toolJSON("x") + `]`)
		p.push(`[7,{"jsonrpc":"2.0","method":"notifications/tools/list_changed"},` + ping + `]`)
		eventually(t, "the new tools", func() bool { return len(m.Tools()) == 1 && m.Tools()[0].Name == "x" })
		eventually(t, "the answer", func() bool { return len(p.by("")) == 1 })
	})
}
