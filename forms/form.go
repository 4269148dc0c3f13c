// Package forms is the form contract: what a form is, whether an answer fits
// it, how a server's schema is read, and what is safe to show.
//
// Everything here is a pure value or a pure function: no I/O, no terminal, no
// MCP connection. Values may be shared between goroutines as long as nobody
// writes to them; the functions never modify what they are given.
//
// A form comes from a server's schema ([ReadSchema], [ReadElicitation]) or from
// its canonical JSON ([DecodeForm]). [Form.Fit] admits it and settles the
// lengths that the server left open. [Form.Project] makes it safe to show.
// [ParseText] turns typed text into a value, and [Form.Check] is the only judge
// of an answer, wherever it is asked.
package forms

// Kind is the type of a field.
type Kind string

// The kinds of a field, spelt as on the wire.
const (
	KindString       Kind = "string"
	KindNumber       Kind = "number"
	KindInteger      Kind = "integer"
	KindBoolean      Kind = "boolean"
	KindSingleSelect Kind = "single_select"
	KindMultiSelect  Kind = "multi_select"
)

// Format restricts the text of a string field. The empty Format is none.
type Format string

// The formats that are checked; any other is an annotation.
const (
	FormatEmail    Format = "email"
	FormatURI      Format = "uri"
	FormatDate     Format = "date"
	FormatDateTime Format = "date-time"
)

// Form is a canonical form. Its message and requester say who asks and what
// for; a form without fields asks for consent alone.
type Form struct {
	Message   string
	Requester Requester
	Fields    []Field
}

// Requester is who asks: the tool, and where it runs. An empty Source is
// absent.
type Requester struct {
	Name   string
	Source string
}

// Field is one question. Which of the members below Default apply depends on
// the kind; the others are zero.
type Field struct {
	Kind        Kind
	Name        string // identity: travels unchanged, never projected
	Label       string
	Required    bool
	Description string // "" is absent
	Default     Value  // the zero Value is none

	// string: lengths in code points. A nil MaxLength is settled by Form.Fit;
	// until then it counts as max(256, MinLength).
	MinLength *int
	MaxLength *int
	Format    Format

	// number and integer, both ends included.
	Minimum *Number
	Maximum *Number

	// single_select and multi_select.
	Options []Option

	// multi_select.
	MinItems *int
	MaxItems *int
}

// Option is one choice of a select. Value is the identity that is sent back
// unchanged; Label is what the person sees.
type Option struct {
	Value       string
	Label       string
	Description string // "" is absent
}

// Field is the field named name, and whether there is one.
func (f Form) Field(name string) (Field, bool) {
	for _, fd := range f.Fields {
		if fd.Name == name {
			return fd, true
		}
	}
	return Field{}, false
}

// Defaults are the values that an untouched form starts with: the default of
// every field that has one. The map is new and never nil.
func (f Form) Defaults() Values {
	vals := Values{}
	for _, fd := range f.Fields {
		if !fd.Default.IsZero() {
			vals[fd.Name] = fd.Default
		}
	}
	return vals
}

// OptionLabel is the label of the option with the given value, or the value itself
// where there is no such option.
func (f Field) OptionLabel(value string) string {
	for _, o := range f.Options {
		if o.Value == value {
			return o.Label
		}
	}
	return value
}

// IsText reports whether the field is answered with free text.
func (f Field) IsText() bool { return f.Kind == KindString }

// HasOptions reports whether the field is a select.
func (f Field) HasOptions() bool {
	return f.Kind == KindSingleSelect || f.Kind == KindMultiSelect
}
