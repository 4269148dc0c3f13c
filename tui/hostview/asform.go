package hostview

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"askback/forms"
)

// The Interactions of a Host that are no forms are shown as forms: what they ask becomes fields, and the
// filled form becomes their answer again.

// maxFreeText is how much text answers a question: 2 KiB of UTF-8, whatever the characters.
const maxFreeText = 2048 / utf8.UTFMax

// Names and values of the fields that stand for a decision.
const (
	fieldDecision = "decision"
	valueAllow    = "allow"
	valueTurn     = "turn"
	valueDeny     = "deny"
)

// KindName is what a kind is called.
func KindName(k Kind) string {
	switch k {
	case KindQuestion:
		return "question"
	case KindPermission:
		return "permission"
	case KindBoundary:
		return "sandbox boundary"
	}
	return forms.Line(string(k))
}

// FormOf is the form that asks what an Interaction asks.
func FormOf(in Interaction, host string) forms.Form {
	if in.Kind == KindForm {
		return in.Form
	}
	f := forms.Form{Requester: forms.Requester{Name: KindName(in.Kind), Source: "the agent of " + host}}
	switch in.Kind {
	case KindQuestion:
		f.Message, f.Fields = questionFields(in.Questions)
	case KindPermission:
		f.Message = "The agent asks for permission.\n" + in.Prompt
		f.Fields = []forms.Field{decisionField(
			forms.Option{Value: valueAllow, Label: "allow once"},
			forms.Option{Value: valueTurn, Label: "allow for the rest of this Turn"},
			forms.Option{Value: valueDeny, Label: "deny"})}
	case KindBoundary:
		f.Message = boundaryText(in.Boundary)
		f.Fields = []forms.Field{decisionField(
			forms.Option{Value: valueAllow, Label: "allow"},
			forms.Option{Value: valueDeny, Label: "deny"})}
	default:
		f.Message = "The Host asks something that this program does not know (" + KindName(in.Kind) + "). It can be answered from another program."
	}
	return f
}

func decisionField(options ...forms.Option) forms.Field {
	return forms.Field{Kind: forms.KindSingleSelect, Name: fieldDecision, Label: "Decision", Required: true, Options: options}
}

// questionFields makes two fields of a question: one of its suggestions, or an answer in one's own words.
func questionFields(qs []Question) (message string, fields []forms.Field) {
	message = "The agent asks. What is left out is skipped."
	for i, q := range qs {
		n := strconv.Itoa(i + 1)
		pick := forms.Field{Kind: forms.KindSingleSelect, Name: "pick" + n, Label: bound(q.Text, 256)}
		for k, c := range q.Options {
			pick.Options = append(pick.Options, forms.Option{Value: strconv.Itoa(k), Label: bound(c.Label, 256), Description: bound(c.Description, 512)})
		}
		if pick.Label != q.Text {
			message += "\n" + n + ". " + q.Text
		}
		longest := maxFreeText
		own := forms.Field{Kind: forms.KindString, Name: "own" + n, Label: "in your own words", MaxLength: &longest,
			Description: "Instead of a suggestion above."}
		if len(pick.Options) == 0 {
			own.Label, own.Description = pick.Label, ""
			fields = append(fields, own)
			continue
		}
		fields = append(fields, pick, own)
	}
	return message, fields
}

// bound cuts a text to n bytes on a character.
func bound(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n-len("…")], "") + "…"
}

func boundaryText(b Boundary) string {
	var t strings.Builder
	t.WriteString("The agent wants to go beyond the sandbox.")
	if b.Justification != "" {
		t.WriteString("\nIt says: " + b.Justification)
	}
	for _, e := range b.Entries {
		t.WriteString("\n" + strings.TrimSpace(e.Access+" "+e.Path+" ("+e.Scope+")"))
	}
	if b.Network {
		t.WriteString("\nuse the network")
	}
	return t.String()
}

// AnswerOf is the answer that a filled form stands for. ok is false where the person's decision has no answer
// in this kind: it stays pending.
func AnswerOf(in Interaction, r forms.Result) (a Answer, ok bool) {
	a.Kind = in.Kind
	switch in.Kind {
	case KindForm:
		a.Form = r
		return a, true
	case KindQuestion:
		a.Answers = make([]*string, len(in.Questions))
		if r.Action == forms.ActionCancel {
			return a, false
		}
		if r.Action == forms.ActionAccept {
			for i := range in.Questions {
				a.Answers[i] = questionAnswer(in.Questions[i], i, r.Values)
			}
		}
		return a, true
	case KindPermission, KindBoundary:
		if r.Action == forms.ActionCancel {
			return a, false
		}
		decision := valueDeny
		if r.Action == forms.ActionAccept {
			decision = r.Values[fieldDecision].Text()
		}
		a.Allow = decision == valueAllow || decision == valueTurn
		a.Remember = decision == valueTurn
		return a, true
	}
	return a, false
}

func questionAnswer(q Question, i int, v forms.Values) *string {
	n := strconv.Itoa(i + 1)
	if own := v["own"+n].Text(); own != "" {
		return &own
	}
	pick := v["pick"+n]
	if pick.IsZero() {
		return nil
	}
	for k, c := range q.Options {
		if strconv.Itoa(k) == pick.Text() {
			return &c.Label
		}
	}
	return nil
}

// ResultOf is the filled form that stands for an answer, so that the Host's canonical answer can be
// compared and shown.
func ResultOf(in Interaction, a Answer) forms.Result {
	if in.Kind == KindForm {
		return a.Form
	}
	v := forms.Values{}
	switch in.Kind {
	case KindQuestion:
		for i, text := range a.Answers {
			if text == nil || i >= len(in.Questions) {
				continue
			}
			n, name := strconv.Itoa(i+1), ""
			for k, c := range in.Questions[i].Options {
				if c.Label == *text {
					name = strconv.Itoa(k)
				}
			}
			if name != "" {
				v["pick"+n] = forms.TextValue(name)
			} else {
				v["own"+n] = forms.TextValue(*text)
			}
		}
	case KindPermission, KindBoundary:
		switch {
		case a.Allow && a.Remember:
			v[fieldDecision] = forms.TextValue(valueTurn)
		case a.Allow:
			v[fieldDecision] = forms.TextValue(valueAllow)
		default:
			v[fieldDecision] = forms.TextValue(valueDeny)
		}
	}
	return forms.Result{Action: forms.ActionAccept, Values: v}
}

// SameAnswer says whether two answers decide the same.
func SameAnswer(a, b Answer) bool {
	if a.Kind != b.Kind || a.Allow != b.Allow || a.Remember != b.Remember || len(a.Answers) != len(b.Answers) {
		return false
	}
	for i := range a.Answers {
		if (a.Answers[i] == nil) != (b.Answers[i] == nil) || a.Answers[i] != nil && *a.Answers[i] != *b.Answers[i] {
			return false
		}
	}
	return a.Kind != KindForm || forms.Equivalent(a.Form, b.Form)
}
