package hostview

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"askback/forms"
)

func questions() Interaction {
	return Interaction{Kind: KindQuestion, Questions: []Question{
		{Text: "Which?", Options: []Choice{{Label: "a"}, {Label: "b", Description: "the other"}}},
		{Text: strings.Repeat("long ", 100), Options: []Choice{{Label: "same"}, {Label: "same"}}},
		{Text: "Free?"},
	}}
}

// What a person fills in becomes an answer, and the Host's canonical answer becomes the same filled form again.
func TestAnswersComeBackAsTheyWere(t *testing.T) {
	text := func(s string) forms.Value { return forms.TextValue(s) }
	for name, tc := range map[string]struct {
		in Interaction
		r  forms.Result
	}{
		"form":            {Interaction{Kind: KindForm}, forms.Accept(forms.Values{"x": text("y")})},
		"declined form":   {Interaction{Kind: KindForm}, forms.Decline()},
		"suggestion":      {questions(), forms.Accept(forms.Values{"pick1": text("1")})},
		"own words":       {questions(), forms.Accept(forms.Values{"own1": text("c"), "own3": text("d")})},
		"all skipped":     {questions(), forms.Accept(nil)},
		"allow":           {Interaction{Kind: KindPermission}, forms.Accept(forms.Values{"decision": text("allow")})},
		"allow a Turn":    {Interaction{Kind: KindPermission}, forms.Accept(forms.Values{"decision": text("turn")})},
		"deny":            {Interaction{Kind: KindPermission}, forms.Accept(forms.Values{"decision": text("deny")})},
		"allow boundary":  {Interaction{Kind: KindBoundary}, forms.Accept(forms.Values{"decision": text("allow")})},
		"refuse boundary": {Interaction{Kind: KindBoundary}, forms.Accept(forms.Values{"decision": text("deny")})},
	} {
		t.Run(name, func(t *testing.T) {
			a, ok := AnswerOf(tc.in, tc.r)
			if !ok || a.Kind != tc.in.Kind {
				t.Fatalf("%+v, %v", a, ok)
			}
			if got := ResultOf(tc.in, a); !forms.Equivalent(got, tc.r) {
				t.Errorf("came back as %+v", got)
			}
			if !SameAnswer(a, a) {
				t.Error("an answer is not itself")
			}
		})
	}
}

func TestDecisionsWithoutAnAnswer(t *testing.T) {
	for _, k := range []Kind{KindQuestion, KindPermission, KindBoundary} {
		if _, ok := AnswerOf(Interaction{Kind: k}, forms.Cancel()); ok {
			t.Errorf("a dismissed %s is answered", k)
		}
	}
	if _, ok := AnswerOf(Interaction{Kind: "riddle"}, forms.Accept(nil)); ok {
		t.Error("an unknown kind is answered")
	}
	if a, ok := AnswerOf(Interaction{Kind: KindPermission}, forms.Decline()); !ok || a.Allow {
		t.Errorf("declined: %+v, %v", a, ok)
	}
	a, ok := AnswerOf(questions(), forms.Decline())
	if !ok || len(a.Answers) != 3 || a.Answers[0] != nil {
		t.Errorf("skipped: %+v, %v", a, ok)
	}
}

// One's own words win over a suggestion, and fit the 2 KiB that a Host takes.
func TestOwnWords(t *testing.T) {
	in := questions()
	a, _ := AnswerOf(in, forms.Accept(forms.Values{"pick1": forms.TextValue("0"), "own1": forms.TextValue("mine")}))
	if a.Answers[0] == nil || *a.Answers[0] != "mine" {
		t.Errorf("%v", a.Answers[0])
	}
	for _, f := range FormOf(in, "h").Fields {
		if f.Kind == forms.KindString && *f.MaxLength*4 > 2048 {
			t.Errorf("%s takes %d characters", f.Name, *f.MaxLength)
		}
	}
}

func TestSameAnswer(t *testing.T) {
	yes, no := "yes", "no"
	base := Answer{Kind: KindQuestion, Answers: []*string{&yes, nil}}
	for name, other := range map[string]Answer{
		"kind": {Kind: KindForm}, "count": {Kind: KindQuestion, Answers: []*string{&yes}},
		"text": {Kind: KindQuestion, Answers: []*string{&no, nil}}, "skipped": {Kind: KindQuestion, Answers: []*string{nil, nil}},
	} {
		if SameAnswer(base, other) {
			t.Errorf("%s makes no difference", name)
		}
	}
	if SameAnswer(Answer{Kind: KindPermission, Allow: true}, Answer{Kind: KindPermission, Allow: true, Remember: true}) {
		t.Error("remembering makes no difference")
	}
}

func TestFindSession(t *testing.T) {
	all := []Session{{ID: "1", Name: "a"}, {ID: "2", Name: "b"}, {ID: "3", Name: "b"}, {ID: "a", Name: "c"}}
	for want, n := range map[string]int{"1": 1, "b": 2, "c": 1, "x": 0} {
		if _, got := FindSession(all, want); got != n {
			t.Errorf("%s matches %d, want %d", want, got, n)
		}
	}
	if s, _ := FindSession(all, "2"); s.ID != "2" {
		t.Errorf("found %s", s.ID)
	}
}

func TestHost(t *testing.T) {
	for in, want := range map[string]string{"wss://devbox:7443/runtime-host": "devbox:7443", "embedded": "embedded", "ws://h": "h", "": ""} {
		if got := (Host{Address: in}).Name(); got != want {
			t.Errorf("%s is %s", in, got)
		}
	}
	if (Host{Revision: Ours}).Foreign() || !(Host{Revision: "3"}).Foreign() {
		t.Error("whose Host")
	}
}

func TestCodeOf(t *testing.T) {
	err := fmt.Errorf("while answering: %w", &Error{Code: CodeNotFound, Message: "m"})
	if CodeOf(err) != CodeNotFound || CodeOf(errors.New("x")) != "" || !strings.Contains(err.Error(), "not_found: m") {
		t.Error(err)
	}
}
