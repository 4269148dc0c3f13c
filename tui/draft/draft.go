// Package draft holds an answer that is not sent yet: what a person typed and chose for each field of a form, where a
// prefilled value came from, and what is still wrong. It is pure, and shared by the form on the screen and the form in
// line mode, so that both ask, check and review alike.
//
// A Draft is not safe for concurrent use.
package draft

import (
	"askback/forms"
)

// Draft is the state of one form's answer.
type Draft struct {
	Form   forms.Form // as the Host stores it: names and option values are identities
	Shown  forms.Form // the same after the display projection
	Fields []*Field
}

// New starts a draft from the form's defaults, and from the answers that the same tool call was given before. Those win
// over defaults, never for a field that looks like a secret.
func New(form forms.Form, earlier Answers) *Draft {
	d := &Draft{Form: form, Shown: form.Project()}
	for i := range form.Fields {
		d.Fields = append(d.Fields, newField(form.Fields[i], d.Shown.Fields[i], earlier))
	}
	return d
}

// Wrong is one thing that keeps a draft from being an answer.
type Wrong struct {
	Index   int // of the field; -1 where it concerns the whole form
	Message string
}

// Result is the accepting answer that the draft makes, and everything that is wrong with it. The result must not be
// sent while something is wrong.
func (d *Draft) Result() (forms.Result, []Wrong) {
	r := forms.Accept(nil)
	var wrong []Wrong
	for i, f := range d.Fields {
		if msg := f.Wrong(); msg != "" {
			wrong = append(wrong, Wrong{i, msg})
			continue
		}
		if v, present := f.Value(); present {
			r.Values[f.Spec.Name] = v
		}
	}
	if len(wrong) == 0 { // the fields agree; the whole may still be over a limit
		for _, e := range d.Form.Check(r) {
			wrong = append(wrong, Wrong{d.index(e.Field), e.Message})
		}
	}
	return d.Form.Canonical(r), wrong
}

func (d *Draft) index(name string) int {
	for i, f := range d.Fields {
		if f.Spec.Name == name {
			return i
		}
	}
	return -1
}

// FromEarlier says whether any field holds an answer that was given earlier in the same call.
func (d *Draft) FromEarlier() bool {
	for _, f := range d.Fields {
		if f.From() == Earlier {
			return true
		}
	}
	return false
}

// Touched says whether the person has typed or chosen anything.
func (d *Draft) Touched() bool {
	for _, f := range d.Fields {
		if f.From() == Person {
			return true
		}
	}
	return false
}

// Secrets are the fields that look as if they asked for a secret.
func (d *Draft) Secrets() []*Field {
	var out []*Field
	for _, f := range d.Fields {
		if f.Secret {
			out = append(out, f)
		}
	}
	return out
}
