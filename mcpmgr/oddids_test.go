package mcpmgr

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// oddIDs are ids of requests that the SDK would give back as others.
var oddIDs = []string{`9007199254740993`, `7.5`, `18446744073709551615`, `-1e400`, `"\ud800"`}

func init() {
	childPeers["asks under odd ids"] = func() *peer {
		p := newPeer()
		p.legacyOnly = true
		return p.handle("tools/call", func(r *preq) {
			for _, id := range oddIDs {
				r.out(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`)
				r.out(`{"jsonrpc":"2.0","id":` + id + `,"method":"roots/list"}`)
			}
			said := map[string]int{}
			for range 500 {
				if len(p.by("")) == 2*len(oddIDs) {
					break
				}
				time.Sleep(5 * time.Millisecond)
			}
			for _, a := range p.by("") {
				code, _ := lookup(a.Body, "error")
				said[string(a.ID)+fmt.Sprint(code == nil)]++
			}
			for _, id := range oddIDs {
				if said[id+"true"] != 1 || said[id+"false"] != 1 {
					r.fail(-1, fmt.Sprint("the answers are ", said))
					return
				}
			}
			r.result(complete)
		})
	}
	childPeers["answers a notification"] = func() *peer {
		p := newPeer()
		return p.handle("tools/call", func(r *preq) {
			if r.str("arguments", "k") == "wait" {
				<-r.ctx.Done() // cancelled: what this server does not know
				return
			}
			if r.str("arguments", "k") == "after" {
				r.out(`{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"notifications/cancelled"}}`)
				time.Sleep(20 * time.Millisecond)
				r.result(complete)
				return
			}
			r.done(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"that one"}}`)
		})
	}
}

// TestOddIDs: a request over stdio is answered under its id as it was sent.
func TestOddIDs(t *testing.T) {
	t.Parallel()
	seen := make(chan TapEvent, 100)
	m := startChildServer(t, "asks under odd ids", Options{Tap: func(e TapEvent) { seen <- e }})
	if _, err := callT(t, m, `{}`, Handlers{}); err != nil {
		t.Fatal(err)
	}
	m.Close()
	close(seen)
	var ids []string
	for e := range seen {
		if e.Direction == Sent && e.Response {
			ids = append(ids, e.ID)
		}
	}
	for _, id := range oddIDs {
		if !slices.Contains(ids, id) {
			t.Errorf("the protocol view does not show the answer to %s: %v", id, ids)
		}
	}
}

// TestErrorOfANotification: an error without an id goes to the one request that waits, but not where it can be what the
// server says of a notification.
func TestErrorOfANotification(t *testing.T) {
	t.Parallel()
	m := startChildServer(t, "answers a notification", Options{})
	said := func() string {
		_, err := callT(t, m, `{}`, Handlers{})
		return wantCode(t, err, CodeServerError).Message
	}
	if got := said(); got != "that one" {
		t.Fatal(got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := m.CallTool(ctx, bind(t, m, "t"), []byte(`{"k":"wait"}`), Handlers{})
	wantCode(t, err, CodeCancelled)
	if _, err := callT(t, m, `{"k":"after"}`, Handlers{}); err != nil {
		t.Fatalf("a call that was under way is said to have failed: %v", err)
	}
	if got := said(); got != "that one" { // a later request was answered: the notification is past
		t.Fatal(got)
	}
}

// TestFilterHandsOver: what goes around the SDK outlives the line that it came in.
func TestFilterHandsOver(t *testing.T) {
	in := `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"a","data":{"first":"0123456789"}}}` + "\n" +
		`{"jsonrpc":"2.0","error":"text"}` + "\n" +
		`{"jsonrpc":"2.0","id":7.5,"method":"ping","params":{"first":"0123456789"}}` + "\n" +
		`{"jsonrpc":"2.0","id":1,"result":{"xxxxx":"` + strings.Repeat("x", 100) + `"}}` + "\n"
	var alone []*jsonrpc.Error
	var asked []*asking
	f := newLineFilter(strings.NewReader(in), 1<<12, func(line []byte, _ error) { t.Errorf("noise: %s", line) }, nil)
	f.alone = func(e *jsonrpc.Error) bool { alone = append(alone, e); return true }
	f.asked = func(a *asking) { asked = append(asked, a) }
	out, err := io.ReadAll(f)
	if err != nil || strings.Count(string(out), "\n") != 1 {
		t.Fatalf("%q %v", out, err)
	}
	if len(alone) != 2 || string(alone[0].Data) != `{"first":"0123456789"}` || alone[1].Code != codeInternal {
		t.Errorf("%+v", alone)
	}
	if len(asked) != 1 || asked[0].idText() != "7.5" || string(asked[0].params) != `{"first":"0123456789"}` {
		t.Errorf("%+v", asked)
	}
}
