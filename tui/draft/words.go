package draft

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"askback/forms"
)

// Need is "required" or "optional".
func (f *Field) Need() string {
	if f.Spec.Required {
		return "required"
	}
	return "optional"
}

// Hint says what the field takes beyond its label: its type where that is not seen, and its limits. It may be "".
func (f *Field) Hint() string { return strings.Join(f.Hints(), ", ") }

// Hints are the parts of Hint, for where there is no room for all.
func (f *Field) Hints() []string {
	s := f.Spec
	switch s.Kind {
	case forms.KindNumber:
		return hints("number", span(numberText(s.Minimum), numberText(s.Maximum), ""))
	case forms.KindInteger:
		return hints("whole number", span(numberText(s.Minimum), numberText(s.Maximum), ""))
	case forms.KindString:
		return hints(formatHint(s.Format), span(least(s.MinLength), strconv.Itoa(f.MaxLength()), " characters"))
	case forms.KindMultiSelect:
		if n := span(least(s.MinItems), intText(s.MaxItems), ""); n != "" {
			return hints("choose " + n)
		}
		return hints("choose any")
	}
	return nil
}

func hints(parts ...string) []string {
	return slices.DeleteFunc(parts, func(s string) bool { return s == "" })
}

// least is a lower limit in words; 0 is none.
func least(p *int) string {
	if lengthOf(p) == 0 {
		return ""
	}
	return strconv.Itoa(*p)
}

// MaxLength is the longest text that a string field admits; where nobody stated one the contract does.
func (f *Field) MaxLength() int {
	if f.Spec.MaxLength != nil {
		return *f.Spec.MaxLength
	}
	return max(openLength, lengthOf(f.Spec.MinLength))
}

// openLength is the form contract's maxLength for a text without one.
const openLength = 256

func lengthOf(p *int) int {
	if p == nil {
		return 0
	}
	return *p
}

func formatHint(f forms.Format) string {
	switch f {
	case forms.FormatEmail:
		return "email address"
	case forms.FormatURI:
		return "address like https://example.org"
	case forms.FormatDate:
		return "date like 2026-01-31"
	case forms.FormatDateTime:
		return "time like 2026-01-31T10:00:00Z"
	}
	return ""
}

// span is a range in words.
func span(low, high, unit string) string {
	switch {
	case low == "" && high == "":
		return ""
	case low == "":
		return "at most " + high + unit
	case high == "":
		return "at least " + low + unit
	case low == high:
		return "exactly " + low + unit
	}
	return low + " to " + high + unit
}

func intText(p *int) string {
	if p == nil {
		return ""
	}
	return strconv.Itoa(*p)
}

func numberText(n *forms.Number) string {
	if n == nil {
		return ""
	}
	return n.String()
}

// Labels are the projected labels of what can be chosen; for a boolean, Yes and No. The slice must not be changed.
func (f *Field) Labels() []string { return f.labels }

var booleanLabels = []string{"Yes", "No"}

func labelsOf(shown forms.Field) []string {
	if shown.Kind == forms.KindBoolean {
		return booleanLabels
	}
	out := make([]string, len(shown.Options))
	for i, o := range shown.Options {
		out[i] = o.Label
	}
	return out
}

// Words for what is not there. They are ours, in parentheses, so that a value is not taken for them.
const (
	LeftOut   = "(left out)"
	NoAnswer  = "(no answer yet)"
	EmptyText = "(empty text)"
	EmptyList = "(none, sent as an empty list)"
)

// Summary is the present answer in words, safe to show, of several lines where a text has several.
func (f *Field) Summary() string {
	switch {
	case f.IsText() && f.text != "":
		return visible(f.text) // also a text that is no value: what was typed stays in sight
	case f.SendsEmpty() && f.IsText():
		return EmptyText
	case f.SendsEmpty():
		return EmptyList
	case f.Spec.Kind == forms.KindMultiSelect && f.Picks() > 0:
		return f.pickedLabels()
	case f.choice != None:
		return visible(f.labels[f.choice])
	case f.Spec.Required:
		return NoAnswer
	}
	return LeftOut
}

// visible is a text safe to show, in quotes where blanks at its ends would not be seen, or where it could be taken for
// one of our own words in parentheses.
func visible(s string) string {
	shown := forms.Block(s)
	if strings.TrimSpace(shown) != shown || strings.HasPrefix(shown, "(") {
		return `"` + shown + `"`
	}
	return shown
}

// pickedLabels follows the order in which the values will be sent.
func (f *Field) pickedLabels() string {
	v, _ := f.Value()
	var out []string
	for _, s := range v.List() {
		out = append(out, listed(visible(f.labels[f.option(s)])))
	}
	return strings.Join(out, ", ")
}

// listed is a text as part of a list: in quotes where it could be taken for two.
func listed(shown string) string {
	if strings.Contains(shown, ",") && !strings.HasPrefix(shown, `"`) {
		return `"` + shown + `"`
	}
	return shown
}

// Mark says where a prefilled value comes from; "" for what the person gave.
func (f *Field) Mark() string {
	switch f.from {
	case Default:
		return "default"
	case Earlier:
		return "your last answer"
	}
	return ""
}

// State says in words what will happen to the field as it is; "" where its value speaks for itself. key names the
// leave-out key or command where the sentence needs one.
func (f *Field) State(key string) string {
	switch {
	case f.SendsEmpty() && f.IsText():
		return joinState(f.Mark(), "sends empty text", key, f.outWord())
	case f.SendsEmpty():
		return joinState(f.Mark(), "sends an empty list", key, f.outWord())
	case !f.blank():
		return f.Mark()
	}
	state := "left out"
	if f.Spec.Required {
		state = "no answer yet"
	}
	if !f.CanSendEmpty() {
		return state
	}
	if f.IsText() {
		return joinState("", state, key, "sends it empty")
	}
	return joinState("", state, key, "sends an empty list")
}

func (f *Field) outWord() string {
	if f.Spec.Required {
		return "takes it back"
	}
	return "leaves it out"
}

func joinState(mark, state, key, does string) string {
	if mark != "" {
		state = mark + ", " + state
	}
	if key == "" {
		return state
	}
	return fmt.Sprintf("%s (%s %s)", state, key, does)
}

// message is the part of an error that stands in the field it concerns.
func message(err error) string {
	var fe forms.FieldError
	if errors.As(err, &fe) {
		return fe.Message
	}
	var many forms.Errors
	if errors.As(err, &many) && len(many) > 0 {
		return many[0].Message
	}
	return forms.Line(err.Error())
}

// HasAnswer says whether the field holds anything that was given, be it a wrong text.
func (f *Field) HasAnswer() bool { return !f.blank() || f.SendsEmpty() }

// Words is any value of the field in words, safe to show.
func (f *Field) Words(v forms.Value) string {
	switch v.Type() {
	case forms.Text:
		if v.Text() == "" {
			return EmptyText
		}
		if f.IsText() {
			return visible(v.Text())
		}
		return f.optionWords(v.Text())
	case forms.Num:
		return v.Number().String()
	case forms.Bool:
		if v.Bool() {
			return booleanLabels[Yes]
		}
		return booleanLabels[No]
	case forms.List:
		if len(v.List()) == 0 {
			return EmptyList
		}
		var out []string
		for _, s := range v.List() {
			out = append(out, listed(f.optionWords(s)))
		}
		return strings.Join(out, ", ")
	}
	return LeftOut
}

func (f *Field) optionWords(s string) string {
	if i := f.option(s); i != None {
		return visible(f.labels[i])
	}
	return visible(s)
}
