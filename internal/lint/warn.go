package lint

import (
	"fmt"

	"askback/forms"
)

// manyFields is how many fields a person answers without trouble.
const manyFields = 10

// noSecrets is what the specification says of them.
const noSecrets = "a form must not ask for passwords, API keys, access tokens or payment data, use URL mode for that"

// warnings are what the specification forbids or discourages in a form, and
// what its author may not expect.
func warnings(f forms.Form, s forms.Schema) []Warning {
	var out []Warning
	add := func(field, format string, args ...any) {
		out = append(out, Warning{Field: field, Message: fmt.Sprintf(format, args...)})
	}
	if len(f.Fields) > manyFields {
		add("", "the form has %d fields; more than %d are hard to answer", len(f.Fields), manyFields)
	}
	if forms.MessageLooksSecret(f) {
		add("", "the message sounds as if it asked for a secret; %s", noSecrets)
	}
	if forms.HasLink(forms.Form{Message: f.Message}) {
		add("", "the message holds a link; a form must not send people elsewhere, use URL mode for that")
	}
	if forms.Block(f.Message) != f.Message {
		add("", "the message holds characters that are shown as escapes")
	}
	for _, fd := range f.Fields {
		fieldWarnings(fd, func(format string, args ...any) { add(fd.Name, format, args...) })
	}
	for _, name := range s.Untitled {
		add(name, "has no title; people see the property name")
	}
	for _, d := range s.Dropped {
		add(d.Field, "has a default that is not used: %s", d.Text)
	}
	for _, c := range s.Changed {
		add(c.Field, "%s", c.Text)
	}
	if _, err := f.Fit(forms.ForeignLimits()); err != nil {
		add("", "a Host with smaller limits refuses it: %v", err)
	}
	return out
}

func fieldWarnings(fd forms.Field, add func(format string, args ...any)) {
	if forms.LooksSecret(fd) {
		add("looks like a secret; %s", noSecrets)
	}
	if fd.HasLink() {
		add("has a text with a link; a form must not send people elsewhere, use URL mode for that")
	}
	if forms.Line(fd.Label) != fd.Label || forms.Block(fd.Description) != fd.Description || hiddenOption(fd) {
		add("has a text with characters that are shown as escapes")
	}
}

func hiddenOption(fd forms.Field) bool {
	for _, o := range fd.Options {
		if forms.Line(o.Label) != o.Label || forms.Block(o.Description) != o.Description {
			return true
		}
	}
	return false
}
