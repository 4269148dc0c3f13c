package app

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"askback/forms"
)

// What a form requires is answered by name, and every fault of an answer is told at once.
func TestAnswerFromSet(t *testing.T) {
	two, err := forms.ParseNumber("2")
	if err != nil {
		t.Fatal(err)
	}
	form := forms.Form{Message: "m", Requester: forms.Requester{Name: "n"}, Fields: []forms.Field{
		{Kind: forms.KindString, Name: "a", Label: "A", Required: true},
		{Kind: forms.KindBoolean, Name: "delete", Label: "Delete", Required: true, Default: forms.BoolValue(true)},
		{Kind: forms.KindInteger, Name: "n", Label: "N", Default: forms.NumberValue(two)},
	}}
	for _, c := range []struct {
		set    string // split at blanks
		accept bool
		want   string // the values, or the faults
	}{
		{"a=x delete=false", false, `{"a":"x","delete":false,"n":2}`},
		{"a=x delete=true n=3", false, `{"a":"x","delete":true,"n":3}`},
		{"a=x", false, `delete: is required; --accept takes its default`},
		{"a=x", true, `{"a":"x","delete":true,"n":2}`},
		{"n=many", false, `n: , a: is required, delete: is required; --accept takes its default`},
		{"n=3", true, `a: is required`},
		{"b=1 delete=maybe", false, `b: , delete: , a: is required`},
	} {
		p := &prepared{flags: answerFlags{set: strings.Fields(c.set), accept: c.accept}}
		r, err := p.answer(form)
		var got string
		if wrong, ok := errors.AsType[*wrongAnswer](err); ok {
			var faults []string
			for _, e := range wrong.errs {
				if e.Rule != forms.RuleRequired {
					e.Message = "" // said by the package of the form
				}
				faults = append(faults, e.Field+": "+e.Message)
			}
			got = strings.Join(faults, ", ")
		} else {
			b, _ := json.Marshal(r.Values)
			got = string(b)
		}
		if got != c.want {
			t.Errorf("%s, accept %v: %s, want %s", c.set, c.accept, got, c.want)
		}
	}
}
