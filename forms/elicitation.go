package forms

import (
	"errors"
	"fmt"

	"askback/internal/strictjson"
)

// Elicitation is the params object of an elicitation/create request in form
// mode.
type Elicitation struct {
	Message string // as the server wrote it; may be empty
	Schema  Schema
}

// ReadElicitation reads the params of elicitation/create: mode (absent or
// "form"), message, requestedSchema and _meta, and nothing else. The error is
// a [SchemaErrors]; a mode that is not "form" has the keyword "mode".
func ReadElicitation(params []byte, opt SchemaOptions) (Elicitation, error) {
	opt = opt.withDefaults()
	v, mended, err := strictjson.ParseSchema(params, strictjson.Limits{MaxBytes: opt.MaxBytes})
	if err != nil {
		return Elicitation{}, JSONErrors(err)
	}
	if v.Kind() != strictjson.Object {
		return Elicitation{}, SchemaErrors{{Message: "the params must be an object"}}
	}
	var e Elicitation
	var errs SchemaErrors
	refuse := func(keyword, message string) {
		errs = append(errs, &SchemaError{Keyword: keyword, Message: message})
	}
	var schema strictjson.Value
	for key, val := range v.Members() {
		switch key {
		case "mode":
			if s, err := val.Text(); err != nil || s != "form" {
				refuse(key, `only "form" can be shown`)
			}
		case "message":
			if e.Message, err = val.Text(); err != nil {
				refuse(key, "must be a string")
			}
		case "requestedSchema":
			schema = val
		case "_meta":
		default:
			refuse(key, "is not a parameter of a form")
		}
	}
	if _, ok := v.Get("message"); !ok {
		refuse("message", "is missing")
	}
	if schema.IsZero() {
		refuse("requestedSchema", "is missing")
		return Elicitation{}, errs
	}
	if e.Schema, err = readSchema(schema, opt); err != nil {
		more, _ := errors.AsType[SchemaErrors](err)
		errs = append(errs, more...)
	}
	if len(errs) > 0 {
		return Elicitation{}, errs
	}
	e.Schema.noteMended(mended)
	return e, nil
}

// Form is the form of an elicitation, not yet admitted ([Form.Fit]). The tool
// is named in the message where the server gives none.
func (e Elicitation) Form(who Requester, tool string) Form {
	return Form{Message: e.Schema.MessageFor(e.Message, tool), Requester: who, Fields: e.Schema.Fields}
}

// MessageFor is the message of a form: the server's, else the schema's
// description, else its title, else a sentence that names the tool.
func (s Schema) MessageFor(message, tool string) string {
	switch s.MessageKeyword(message) {
	case "message":
		return message
	case "description":
		return s.Description
	case "title":
		return s.Title
	}
	if len(s.Fields) == 0 {
		return fmt.Sprintf("The tool %s asks for your consent.", quoteName(tool))
	}
	return fmt.Sprintf("The tool %s asks for an answer.", quoteName(tool))
}

// MessageKeyword is where [Schema.MessageFor] takes the message from: message,
// or the description or title of the schema, which stand in for one that is
// blank; it is empty where nothing is left but to name the tool.
func (s Schema) MessageKeyword(message string) string {
	switch {
	case !isBlank(message):
		return "message"
	case !isBlank(s.Description):
		return "description"
	case !isBlank(s.Title):
		return "title"
	}
	return ""
}
