package forms

import "strings"

// SchemaOptions bound the reading of a schema. The zero value reads with our
// limits and at most 64 KiB of JSON.
type SchemaOptions struct {
	// Limits decide how many fields and options there may be and where a
	// label or description is cut; the zero value is [OurLimits].
	Limits Limits
	// MaxBytes is the size of the raw JSON; 0 is 64 KiB.
	MaxBytes int
}

// Schema is what a server's schema means for a form.
type Schema struct {
	Title       string  // of the schema itself, "" where there is none
	Description string  // of the schema itself
	Fields      []Field // in the order of the server's JSON
	Hints       []Hint  // formats that are shown and not checked
	Ignored     []Ignored
	Untitled    []string // properties without a title: people see the name
	Dropped     []Hint   // defaults that are not used, with the reason
	Changed     []Hint   // what is not in the form as the server wrote it: cut, left out, merged, shown by other words
}

// Hint is something about a field that is worth knowing.
type Hint struct{ Field, Text string }

// Ignored is a keyword that has no effect on the form. An empty Field is the
// schema itself.
type Ignored struct{ Field, Keyword string }

// SchemaError is why a schema is refused: the property (empty: the schema
// itself), the keyword, and a sentence for the author of the server.
type SchemaError struct{ Field, Keyword, Message string }

// Error is `property "pin", keyword "pattern": …`.
func (e *SchemaError) Error() string {
	var where []string
	if e.Field != "" {
		where = append(where, "property "+quoteName(e.Field))
	}
	if e.Keyword != "" {
		where = append(where, "keyword "+quoteName(e.Keyword))
	}
	if where == nil {
		return e.Message
	}
	return strings.Join(where, ", ") + ": " + e.Message
}

// SchemaErrors are all that is wrong with a schema, in the order of its JSON.
// errors.As for a *SchemaError finds the first.
type SchemaErrors []*SchemaError

// Error joins the errors, one a line.
func (es SchemaErrors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives errors.As each error.
func (es SchemaErrors) Unwrap() []error {
	out := make([]error, len(es))
	for i, e := range es {
		out[i] = e
	}
	return out
}
