package forms

import (
	"errors"
	"fmt"

	"askback/internal/strictjson"
)

// Arguments are the arguments of a tool as far as a form can ask for them.
type Arguments struct {
	Schema Schema
	// Unread is what a form cannot ask for or check, with the reason; an
	// empty Field is the schema itself. The tool's own schema still judges
	// the arguments as a whole.
	Unread SchemaErrors
	// Complete says that every required property is among the fields, so
	// that the form alone can make a call.
	Complete bool
}

// ReadArguments reads the flat part of a tool's inputSchema for the arguments
// form, by the same rules as [ReadSchema]. What cannot be read is listed, not
// refused. The error is a [SchemaErrors] when nothing can be read at all. A text
// without maxLength may be as long as any: no answer has to find room for it.
func ReadArguments(raw []byte) (Arguments, error) {
	const maxBytes = 256 << 10
	v, _, err := strictjson.ParseSchema(raw, strictjson.Limits{MaxBytes: maxBytes})
	if err != nil {
		return Arguments{}, JSONErrors(err)
	}
	if v.Kind() != strictjson.Object {
		return Arguments{}, SchemaErrors{{Message: "the schema must be an object"}}
	}
	r := newReader(v, SchemaOptions{}.withDefaults())
	r.readRoot()
	for _, m := range r.properties {
		if len(r.out.Fields) == r.lim.Fields {
			r.refuse(m.name, "properties", "is one of more than %d properties", r.lim.Fields)
			continue
		}
		fd, errs := r.field(m)
		if len(errs) > 0 {
			r.errs = append(r.errs, errs...)
			continue
		}
		if fd.Kind == KindString && fd.MaxLength == nil && (fd.MinLength == nil || *fd.MinLength <= maxValueRunes) {
			most := maxValueRunes
			fd.MaxLength = &most
		}
		r.out.Fields = append(r.out.Fields, fd)
	}
	r.checkRequired()
	args := Arguments{Schema: r.out, Unread: r.errs}
	have := map[string]bool{}
	for _, fd := range r.out.Fields {
		have[fd.Name] = true
	}
	args.Complete = true
	for _, name := range r.names {
		args.Complete = args.Complete && have[name]
	}
	return args, nil
}

// mostReasons bounds what is told of properties that a form cannot ask for.
const mostReasons = 8

// ArgumentsForm is the form that asks for the arguments of a tool, by its
// inputSchema, and names the optional ones that it cannot ask for. why is not
// nil where it cannot ask for all that a call needs.
func ArgumentsForm(schema []byte, tool Requester, description string) (form Form, why []string) {
	args, err := ReadArguments(schema)
	if err != nil || !args.Complete || len(args.Schema.Fields) == 0 && len(args.Unread) > 0 {
		return Form{}, reasons(err, args.Unread)
	}
	form = Form{Message: description, Requester: tool, Fields: args.Schema.Fields}
	if form.Message == "" {
		form.Message = "Arguments of " + tool.Name
	}
	for _, r := range reasons(nil, args.Unread) {
		form.Message += "\nNot in this form: " + r
	}
	return form, nil
}

// reasons tells why a form cannot ask for arguments, or not for all of them:
// err is that of ReadArguments, list the Unread of what it read.
func reasons(err error, list SchemaErrors) []string {
	if all, ok := errors.AsType[SchemaErrors](err); ok {
		list = all
	} else if err != nil {
		return []string{"the schema of the arguments cannot be read: " + err.Error()}
	}
	out := make([]string, 0, min(len(list), mostReasons+1))
	for i, e := range list {
		if i == mostReasons {
			return append(out, fmt.Sprintf("and %d more", len(list)-i))
		}
		out = append(out, e.Error())
	}
	return out
}
