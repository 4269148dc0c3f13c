package forms

import (
	"strconv"
	"strings"
)

// Rules are what a [FieldError] can name. They are spelt as the key of the
// contract that they come from, where there is one.
const (
	RuleRequired    = "required"    // a required field has no value
	RuleUnknown     = "unknown"     // the form has no field of that name
	RuleType        = "type"        // a value of another type
	RuleMinLength   = "minLength"   //
	RuleMaxLength   = "maxLength"   //
	RuleFormat      = "format"      //
	RuleCharacters  = "characters"  // a control character in a text
	RuleMinimum     = "minimum"     //
	RuleMaximum     = "maximum"     //
	RuleNumber      = "number"      // not a number, too long, or out of range
	RuleOptions     = "options"     // not one of the options; or bad options
	RuleUnique      = "unique"      // a choice, name, value or label that stands twice
	RuleMinItems    = "minItems"    //
	RuleMaxItems    = "maxItems"    //
	RuleDefault     = "default"     // a default that does not satisfy its field
	RuleSize        = "size"        // a limit of bytes or of a count
	RuleKind        = "kind"        // an unknown kind, or members of another kind
	RuleMessage     = "message"     // the message of a form, as to its size
	RuleDescription = "description" // a description that makes a form too large
)

// FieldError says what is wrong with one field, in words a person can act on.
// An empty Field means the form as a whole. Message completes a sentence whose
// subject is the field: "must be at most 5".
type FieldError struct {
	Field   string
	Rule    string
	Message string
}

// Error is `"replicas": must be at most 5`.
func (e FieldError) Error() string {
	if e.Field == "" {
		return e.Message
	}
	return quoteName(e.Field) + ": " + e.Message
}

// Errors are all that is wrong, in the order of the fields. A nil Errors is
// none; return it as an error only when it is not empty ([Errors.Err]).
type Errors []FieldError

// Error joins the errors, one a line.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Err is es as an error, nil when there is none.
func (es Errors) Err() error {
	if len(es) == 0 {
		return nil
	}
	return es
}

// Unwrap gives errors.As each error.
func (es Errors) Unwrap() []error {
	out := make([]error, len(es))
	for i, e := range es {
		out[i] = e
	}
	return out
}

// Of are the errors of the field named name.
func (es Errors) Of(name string) Errors {
	var out Errors
	for _, e := range es {
		if e.Field == name {
			out = append(out, e)
		}
	}
	return out
}

// quoteName quotes a name for a message: shortened, and with every character
// that does not print escaped.
func quoteName(s string) string { return strconv.Quote(cutTo(s, 80)) }
