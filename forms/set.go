package forms

import (
	"fmt"
	"strings"
)

// Set puts assignments of the form NAME=VALUE, as --set gives them, over base
// and returns the result; base stays as it is. Each value is read by
// [ParseText] for its field. A multi_select may be set several times, each time
// adding to its list; any other field once. The errors name what is wrong with
// each assignment, and for an unknown name what the form asks.
//
// Whether the result as a whole fits is for [Form.Check].
func (f Form) Set(base Values, assignments []string) (Values, Errors) {
	vals := base.Clone()
	var errs Errors
	done := map[string]bool{}
	for _, a := range assignments {
		fd, text, ok := f.assignment(a)
		if !ok {
			errs = append(errs, f.badAssignment(a))
			continue
		}
		v, err := ParseText(fd.open(), text)
		if err != nil {
			errs = append(errs, err.(FieldError))
			continue
		}
		switch {
		case !done[fd.Name]:
		case fd.Kind == KindMultiSelect:
			v = ListValue(append(vals[fd.Name].List(), v.list...))
		default:
			errs = append(errs, *fd.fault(RuleUnique, "is set twice"))
			continue
		}
		done[fd.Name] = true
		vals[fd.Name] = v
	}
	for i := range f.Fields {
		fd := &f.Fields[i]
		if fd.Kind == KindMultiSelect && done[fd.Name] {
			if e := fd.check(vals[fd.Name]); e != nil {
				errs = append(errs, *e)
			}
		}
	}
	return vals, errs
}

// open is fd without its bounds on a list, which hold for all assignments
// together.
func (fd Field) open() Field {
	fd.MinItems, fd.MaxItems = nil, nil
	return fd
}

// assignment finds the field of NAME=VALUE. A name may hold an equals sign: the
// longest name that fits counts.
func (f Form) assignment(a string) (fd Field, text string, ok bool) {
	best := -1
	for i := range f.Fields {
		name := f.Fields[i].Name
		if rest, found := strings.CutPrefix(a, name+"="); found && len(name) > best {
			best, fd, text, ok = len(name), f.Fields[i], rest, true
		}
	}
	return fd, text, ok
}

func (f Form) badAssignment(a string) FieldError {
	name, _, found := strings.Cut(a, "=")
	if !found {
		return FieldError{Rule: RuleUnknown, Message: fmt.Sprintf("%s must be NAME=VALUE", quoteName(name))}
	}
	if name == "" { // which would read as the form as a whole
		return FieldError{Rule: RuleUnknown, Message: `"" is not a field of this form; ` + f.Asks()}
	}
	return FieldError{Field: name, Rule: RuleUnknown, Message: "is not a field of this form; " + f.Asks()}
}

// Asks says in one line what the form asks, for messages: the names of its
// fields and which are required.
func (f Form) Asks() string {
	if len(f.Fields) == 0 {
		return "it has no fields"
	}
	names := make([]string, len(f.Fields))
	for i, fd := range f.Fields {
		names[i] = quoteName(fd.Name)
		if fd.Required {
			names[i] += " (required)"
		}
	}
	return "it asks for " + strings.Join(names, ", ")
}

// Missing are the names of required fields that vals has no value for, in the
// order of the form.
func (f Form) Missing(vals Values) []string {
	var names []string
	for _, fd := range f.Fields {
		if fd.Required && vals[fd.Name].IsZero() {
			names = append(names, fd.Name)
		}
	}
	return names
}
