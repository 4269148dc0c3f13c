package mcpmgr

import (
	"context"
	"testing"

	"askback/forms"
)

func TestCallWithForm(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			p := newPeer().handle("tools/call", askOnce(`{"k":`+yesForm+`}`, `"S1"`))
			m := manage(t, kind, p, Options{})
			var seen []FormRequest
			res, err := callT(t, m, `{"a":9007199254740993}`, Handlers{Form: func(_ context.Context, q FormRequest) (forms.Result, error) {
				seen = append(seen, q)
				return forms.Accept(yes), nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			if len(res.Content) != 1 || res.Legs != 2 || res.Forms != 1 {
				t.Fatalf("%+v", res)
			}
			if len(seen) != 1 || seen[0].Form.Message != "Sure?" || seen[0].Form.Requester.Name != "s" {
				t.Fatalf("%+v", seen)
			}
			legs := p.by("tools/call")
			if len(legs) != 2 {
				t.Fatal(len(legs))
			}
			if string(legs[0].ID) == string(legs[1].ID) {
				t.Fatal("the id was used again")
			}
			if got := legs[1].raw("inputResponses"); got != `{"k":{"action":"accept","content":{"ok":true}}}` {
				t.Fatal(got)
			}
			if legs[1].raw("requestState") != `"S1"` || legs[1].raw("arguments") != `{"a":9007199254740993}` {
				t.Fatalf("%s", legs[1].Params)
			}
			for _, l := range legs {
				if got := l.raw("_meta", "io.modelcontextprotocol/clientCapabilities"); got != `{"elicitation":{"form":{}}}` {
					t.Fatal(got)
				}
			}
		})
	}
}
