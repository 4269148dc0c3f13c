package jsonschema

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// violation makes an *Error of what the library found.
func violation(err error) error {
	if err == nil {
		return nil
	}
	var v *jsonschema.ValidationError
	if !errors.As(err, &v) {
		return &Error{Message: "cannot be checked"}
	}
	v = first(v)
	path := ""
	for _, step := range v.InstanceLocation {
		if i, err := strconv.Atoi(step); err == nil {
			path = joinIndex(path, i)
		} else {
			path = joinKey(path, step)
		}
	}
	return &Error{Path: path, Message: sentence(v.ErrorKind)}
}

// first goes down to the first leaf that says something of its own. A choice
// between alternatives says so itself, since none of its branches is the one
// that was meant.
func first(v *jsonschema.ValidationError) *jsonschema.ValidationError {
	for len(v.Causes) > 0 {
		switch v.ErrorKind.(type) {
		case *kind.AnyOf, *kind.OneOf, *kind.Not:
			return v
		}
		v = v.Causes[0]
	}
	return v
}

// sentence says what a value must be, and nothing of what it is.
func sentence(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return "must be " + strings.Join(k.Want, " or ")
	case *kind.Required:
		return "lacks " + names(k.Missing)
	case *kind.AdditionalProperties:
		return "may not have " + names(k.Properties)
	case *kind.Enum:
		return "must be one of the listed values"
	case *kind.Const:
		return "must be the one allowed value"
	case *kind.MinLength:
		return fmt.Sprintf("must be at least %d characters long", k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("must be at most %d characters long", k.Want)
	case *kind.MinItems:
		return fmt.Sprintf("must have at least %d items", k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("must have at most %d items", k.Want)
	case *kind.MinProperties:
		return fmt.Sprintf("must have at least %d properties", k.Want)
	case *kind.MaxProperties:
		return fmt.Sprintf("must have at most %d properties", k.Want)
	case *kind.Minimum:
		return "must be at least " + k.Want.RatString()
	case *kind.Maximum:
		return "must be at most " + k.Want.RatString()
	case *kind.ExclusiveMinimum:
		return "must be more than " + k.Want.RatString()
	case *kind.ExclusiveMaximum:
		return "must be less than " + k.Want.RatString()
	case *kind.MultipleOf:
		return "must be a multiple of " + k.Want.RatString()
	case *kind.Pattern:
		return fmt.Sprintf("must match the pattern %q", clip(k.Want, 200))
	case *kind.Format:
		return "must be a valid " + clip(k.Want, 40)
	case *kind.UniqueItems:
		return "must not hold the same item twice"
	case *kind.AnyOf, *kind.OneOf:
		return "fits none, or more than one, of the allowed alternatives"
	case *kind.Not:
		return "is what the schema forbids"
	case *kind.FalseSchema:
		return "is not allowed"
	}
	if path := k.KeywordPath(); len(path) > 0 {
		return "does not satisfy " + path[0]
	}
	return "does not satisfy the schema"
}

// names lists keys, shortened.
func names(list []string) string {
	const most = 5
	quoted := make([]string, 0, most)
	for i, n := range list {
		if i == most {
			quoted = append(quoted, fmt.Sprintf("%d more", len(list)-most))
			break
		}
		quoted = append(quoted, strconv.Quote(clip(n, maxName)))
	}
	return strings.Join(quoted, ", ")
}

func joinKey(at, key string) string {
	if strings.ContainsAny(key, ".[]\" ") || key == "" {
		return at + fmt.Sprintf("[%q]", clip(key, maxName))
	}
	key = clip(key, maxName)
	if at == "" {
		return key
	}
	return at + "." + key
}

const maxName = 80 // bytes of a key that is told

// clip shortens text on a rune border and marks the cut, so that whoever keeps secrets out of a message knows that what
// stands there may be the beginning of one.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

func joinIndex(at string, i int) string { return at + "[" + strconv.Itoa(i) + "]" }
