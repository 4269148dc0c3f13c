package draft

import (
	"slices"

	"askback/forms"
)

// Source is where a field's present value comes from.
type Source int

// The sources. A field goes from any of them to Person when the person changes it, and back with Reset.
const (
	Nothing Source = iota // no answer yet
	Default               // the server's default, untouched
	Earlier               // an answer given earlier in the same call, untouched
	Person
)

// None is the choice of a field in which nothing is chosen.
const None = -1

// Yes and No are the choices of a boolean field.
const (
	Yes = 0
	No  = 1
)

// Field is the state of one field.
type Field struct {
	Spec   forms.Field // as stored
	Shown  forms.Field // after the display projection
	Secret bool        // looks as if it asked for a secret

	labels    []string
	start     forms.Value // what Reset goes back to
	startFrom Source

	from   Source
	text   string
	choice int
	picks  []bool // by option
	empty  bool   // an empty text or list is an answer
}

func newField(spec, shown forms.Field, earlier Answers) *Field {
	f := &Field{Spec: spec, Shown: shown, Secret: forms.LooksSecret(spec), labels: labelsOf(shown), choice: None}
	if v, ok := earlier.lookup(spec); ok && f.holds(v) {
		f.start, f.startFrom = canonical(spec, v), Earlier
	} else if !spec.Default.IsZero() && f.holds(spec.Default) {
		f.start, f.startFrom = canonical(spec, spec.Default), Default
	}
	f.Reset()
	return f
}

// canonical is v as it will leave: a default of 1e3 for a whole number is shown and sent as 1000.
func canonical(spec forms.Field, v forms.Value) forms.Value {
	one := forms.Form{Fields: []forms.Field{spec}}
	return one.Canonical(forms.Accept(forms.Values{spec.Name: v})).Values[spec.Name]
}

// holds says whether v is of the field's type and, for a select, among its options.
func (f *Field) holds(v forms.Value) bool {
	switch f.Spec.Kind {
	case forms.KindString:
		return v.Type() == forms.Text
	case forms.KindNumber, forms.KindInteger:
		return v.Type() == forms.Num
	case forms.KindBoolean:
		return v.Type() == forms.Bool
	case forms.KindSingleSelect:
		return v.Type() == forms.Text && f.option(v.Text()) != None
	case forms.KindMultiSelect:
		return v.Type() == forms.List && !slices.ContainsFunc(v.List(), func(s string) bool { return f.option(s) == None })
	}
	return false
}

func (f *Field) option(value string) int {
	return slices.IndexFunc(f.Spec.Options, func(o forms.Option) bool { return o.Value == value })
}

// Reset goes back to what the field started from: an earlier answer, the default, or nothing.
func (f *Field) Reset() {
	f.text, f.choice, f.empty = "", None, false
	f.picks = make([]bool, len(f.Spec.Options))
	f.from = f.startFrom
	if f.startFrom == Nothing {
		return
	}
	switch f.Spec.Kind {
	case forms.KindString:
		f.text = f.start.Text()
		f.empty = f.text == ""
	case forms.KindNumber, forms.KindInteger:
		f.text = f.start.Number().String()
	case forms.KindBoolean:
		f.choice = No
		if f.start.Bool() {
			f.choice = Yes
		}
	case forms.KindSingleSelect:
		f.choice = f.option(f.start.Text())
	case forms.KindMultiSelect:
		for _, s := range f.start.List() {
			f.picks[f.option(s)] = true
		}
		f.empty = len(f.start.List()) == 0
	}
}

// IsText says whether the field is typed rather than chosen.
func (f *Field) IsText() bool {
	switch f.Spec.Kind {
	case forms.KindString, forms.KindNumber, forms.KindInteger:
		return true
	}
	return false
}

// From says where the present value comes from.
func (f *Field) From() Source { return f.from }

// Text is the text of a typed field.
func (f *Field) Text() string { return f.text }

// SetText is the person's typing. An empty text is no answer; see SendEmpty.
func (f *Field) SetText(s string) {
	f.text, f.empty, f.from = s, false, Person
}

// Choice is the chosen option of a boolean (Yes, No) or single select, or None.
func (f *Field) Choice() int { return f.choice }

// Choose takes an option; None takes the choice back.
func (f *Field) Choose(i int) { f.choice, f.from = i, Person }

// Picked says whether option i of a multi select is chosen.
func (f *Field) Picked(i int) bool { return f.picks[i] }

// Picks counts the chosen options of a multi select.
func (f *Field) Picks() int {
	n := 0
	for _, p := range f.picks {
		if p {
			n++
		}
	}
	return n
}

// Pick chooses option i of a multi select or takes it back. It never refuses: too many or too few is told, not blocked.
func (f *Field) Pick(i int, on bool) {
	f.picks = slices.Clone(f.picks)
	f.picks[i] = on
	f.empty, f.from = false, Person
}

// CanSendEmpty says whether an empty text or an empty list is an answer that the field admits.
func (f *Field) CanSendEmpty() bool {
	switch f.Spec.Kind {
	case forms.KindString:
		return f.Spec.Format == "" && (f.Spec.MinLength == nil || *f.Spec.MinLength == 0)
	case forms.KindMultiSelect:
		return f.Spec.MinItems == nil || *f.Spec.MinItems == 0
	}
	return false
}

// Clear takes the answer back: an optional field is left out, a required one has no answer yet.
func (f *Field) Clear() {
	f.text, f.choice, f.empty, f.from = "", None, false, Person
	f.picks = make([]bool, len(f.Spec.Options))
}

// SendEmpty makes the empty text or list the answer, where the field admits it, and says whether it does.
func (f *Field) SendEmpty() bool {
	if !f.CanSendEmpty() {
		return false
	}
	f.Clear()
	f.empty = true
	return true
}

// Out is what the "leave out" key does to a field as it is.
type Out int

// OutNothing is for a field that holds nothing and cannot be sent empty.
const (
	OutNothing  Out = iota
	OutLeave        // an optional field is left out
	OutTakeBack     // a required one has no answer any more
	OutSendEmpty
)

// Out says what ToggleEmpty would do.
func (f *Field) Out() Out {
	switch {
	case f.HasAnswer() && f.Spec.Required:
		return OutTakeBack
	case f.HasAnswer():
		return OutLeave
	case f.CanSendEmpty():
		return OutSendEmpty
	}
	return OutNothing
}

// ToggleEmpty is the "leave out" key: it clears a field that holds something, and then goes to and fro between no
// answer and an empty one where that can be sent.
func (f *Field) ToggleEmpty() {
	switch f.Out() {
	case OutLeave, OutTakeBack:
		f.Clear()
	case OutSendEmpty:
		f.SendEmpty()
	}
}

// ResetsTo is what Reset would bring back after the person changed the field; Nothing where it would bring back
// nothing.
func (f *Field) ResetsTo() Source {
	if f.from != Person {
		return Nothing
	}
	return f.startFrom
}

func (f *Field) blank() bool { return f.text == "" && f.choice == None && f.Picks() == 0 }

// SendsEmpty says whether the answer is an empty text or list.
func (f *Field) SendsEmpty() bool { return f.empty && f.blank() }

// Value is what would be sent. It is present although it may be wrong; see Wrong. A text that is no value at all is
// absent here and wrong there.
func (f *Field) Value() (v forms.Value, present bool) {
	if f.from == Default || f.from == Earlier {
		return f.start, true // exactly as it came, whatever a widget makes of it
	}
	switch f.Spec.Kind {
	case forms.KindString, forms.KindNumber, forms.KindInteger:
		if f.text == "" {
			return forms.TextValue(""), f.empty && f.Spec.Kind == forms.KindString
		}
		v, err := forms.ParseText(f.Spec, f.text)
		return v, err == nil
	case forms.KindBoolean:
		return forms.BoolValue(f.choice == Yes), f.choice != None
	case forms.KindSingleSelect:
		if f.choice == None {
			return forms.Value{}, false
		}
		return forms.TextValue(f.Spec.Options[f.choice].Value), true
	case forms.KindMultiSelect:
		list := []string{}
		for i, p := range f.picks {
			if p {
				list = append(list, f.Spec.Options[i].Value)
			}
		}
		return forms.ListValue(list), len(list) > 0 || f.empty
	}
	return forms.Value{}, false
}

// Wrong says what keeps the field from being sent as it is, in words a person can act on; "" where nothing does.
func (f *Field) Wrong() string {
	if f.IsText() && f.text != "" && f.from == Person {
		if _, err := forms.ParseText(f.Spec, f.text); err != nil {
			return message(err)
		}
	}
	v, present := f.Value()
	if !present {
		if !f.Spec.Required {
			return ""
		}
		return f.missing()
	}
	if e := f.Spec.Check(v); e != nil {
		return e.Message
	}
	return ""
}

func (f *Field) missing() string {
	switch f.Spec.Kind {
	case forms.KindNumber, forms.KindInteger:
		return "needs a number"
	case forms.KindBoolean, forms.KindSingleSelect, forms.KindMultiSelect:
		return "needs a choice"
	}
	return "needs an answer"
}
