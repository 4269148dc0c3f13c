package inspect

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"askback/forms"
	"askback/internal/inspect/peer"
	"askback/mcpmgr"
)

// asksURL is a server that asks to visit an address until it was visited.
func asksURL(address string, visited func() bool) *peer.Server {
	return peer.Scripted(map[string]peer.Reply{"tools/call": func(m peer.Message, _ func(string)) string {
		if visited() && get(m.Params, "inputResponses") != nil {
			return `{"content":[{"type":"text","text":"signed in"}]}`
		}
		return `{"resultType":"input_required","requestState":"abcdefghijklmnopqrstuvwxyz","inputRequests":{"k":{"method":"elicitation/create","params":{"mode":"url","message":"sign in","url":` + string(quoted(address)) + `}}}}`
	}})
}

// SE-06: an address that must not be opened is shown, may be declined or dismissed, and cannot be accepted by anybody.
func TestRefusedAddress(t *testing.T) {
	for _, address := range []string{"javascript:alert(1)", "file:///etc/passwd ; https://x.example/$(touch /var/p)", "http://example.com/"} {
		for _, action := range []forms.Action{forms.ActionDecline, forms.ActionCancel, forms.ActionAccept} {
			t.Run("SE-06", func(t *testing.T) {
				bubble(t, func() *peer.Server { return asksURL(address, func() bool { return true }) }, nil, func(r *rig) {
					run := r.call("tools/call", "t", "{}")
					if len(r.asks) != 1 || r.asks[0].URL.URL != address {
						t.Fatalf("%q: %+v", address, r.asks)
					}
					r.answer(Reply{Result: forms.Result{Action: action}})
					legs := r.legs("tools/call")
					if action == forms.ActionAccept {
						if e := r.ended(run).Err; e == nil || e.Code != mcpmgr.CodeInvalidAnswer || !strings.Contains(e.Message, "cannot be accepted") || len(legs) != 1 {
							t.Errorf("%q was accepted: %v, %d legs", address, e, len(legs))
						}
						return
					}
					if got := param(legs[len(legs)-1], "inputResponses"); got != `{"k":{"action":"`+string(action)+`"}}` || r.text(run) != "signed in" {
						t.Errorf("%q: %s", address, got)
					}
				})
			})
		}
	}
}

// ML-26, SE-05: nothing connects to the address before the consent or after it; accept bears no content, is not taken
// for done, and a server that asks again is asked about again.
func TestURLMode(t *testing.T) {
	var hits atomic.Int32
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	web.Config.ConnState = nil
	web.Start()
	defer web.Close()
	for _, id := range []string{"ML-26", "SE-05"} {
		t.Run(id, func(t *testing.T) {
			visited := false
			bubble(t, func() *peer.Server { return asksURL(web.URL+"/c", func() bool { return visited }) }, nil, func(r *rig) {
				run := r.call("tools/call", "t", "{}")
				a := r.asks[0]
				if a.Kind != AskURL || a.URL.URL != web.URL+"/c" || a.URL.Message != "sign in" || a.Note() != OriginNote {
					t.Fatalf("%+v", a)
				}
				time.Sleep(time.Hour)
				r.answer(Reply{Result: forms.Result{Action: forms.ActionAccept}})
				if len(r.asks) != 1 || r.asks[0].Origin.Round != 2 {
					t.Fatalf("the server asks again, and the person was not: %+v", r.asks)
				}
				visited = true
				r.answer(Reply{Result: forms.Result{Action: forms.ActionAccept}})
				if got := r.text(run); got != "signed in" {
					t.Error(got)
				}
				for i, leg := range r.legs("tools/call")[1:] {
					if got := param(leg, "inputResponses"); got != `{"k":{"action":"accept"}}` {
						t.Errorf("leg %d: %s", i+2, got)
					}
				}
			})
			if n := hits.Load(); n != 0 {
				t.Errorf("%d connections were made to the address", n)
			}
		})
	}
	t.Run("declined", func(t *testing.T) {
		for _, res := range []forms.Result{forms.Decline(), forms.Cancel()} {
			bubble(t, func() *peer.Server { return asksURL("https://x.example/c", func() bool { return true }) }, nil, func(r *rig) {
				run := r.call("tools/call", "t", "{}")
				r.answer(Reply{Result: res})
				r.text(run)
				if got := param(r.legs("tools/call")[1], "inputResponses", "k"); got != fmt.Sprintf(`{"action":%q}`, res.Action) {
					t.Error(got)
				}
			})
		}
	})
}
