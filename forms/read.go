package forms

import (
	"errors"
	"fmt"

	"askback/internal/strictjson"
)

const defaultSchemaBytes = 64 << 10

func (opt SchemaOptions) withDefaults() SchemaOptions {
	if opt.Limits == (Limits{}) {
		opt.Limits = OurLimits()
	}
	if opt.MaxBytes == 0 {
		opt.MaxBytes = defaultSchemaBytes
	}
	return opt
}

// ReadSchema reads the flat JSON Schema of an elicitation (requestedSchema)
// from its raw JSON. Fields keep the order of the text. Reading narrows or
// refuses; it never widens: an answer that fits the fields satisfies the
// schema. The error is a [SchemaErrors] with everything that is wrong.
//
// The lengths that the server left open are still open in the result;
// [Form.Fit] settles them.
func ReadSchema(raw []byte, opt SchemaOptions) (Schema, error) {
	opt = opt.withDefaults()
	v, err := strictjson.Parse(raw, strictjson.Limits{MaxBytes: opt.MaxBytes})
	if err != nil {
		return Schema{}, jsonError(err)
	}
	return readSchema(v, opt)
}

// jsonError is an error of the JSON itself as a schema error.
func jsonError(err error) SchemaErrors {
	return SchemaErrors{{Message: err.Error()}}
}

func readSchema(v strictjson.Value, opt SchemaOptions) (Schema, error) {
	r := newReader(v, opt)
	r.readRoot()
	if len(r.errs) == 0 && len(r.properties) > opt.Limits.Fields {
		r.refuse("", "properties", "has %d properties, a form has at most %d", len(r.properties), opt.Limits.Fields)
	}
	if len(r.properties) <= opt.Limits.Fields {
		for _, m := range r.properties {
			fd, errs := r.field(m)
			r.errs = append(r.errs, errs...)
			r.out.Fields = append(r.out.Fields, fd)
		}
	}
	r.checkRequired()
	if len(r.errs) > 0 {
		return Schema{}, r.errs
	}
	return r.out, nil
}

// namedSchema is a property as it stands.
type namedSchema struct {
	name   string
	schema strictjson.Value
}

// reader reads the top of a schema; what stands below is the collector's.
type reader struct {
	collector
	properties []namedSchema
	required   map[string]bool
	names      []string // of required, in order
	out        Schema
	errs       SchemaErrors
}

func newReader(v strictjson.Value, opt SchemaOptions) *reader {
	return &reader{collector: collector{root: v, lim: opt.Limits}, required: map[string]bool{}}
}

func (r *reader) refuse(field, keyword, format string, args ...any) {
	r.errs = append(r.errs, &SchemaError{Field: field, Keyword: keyword, Message: fmt.Sprintf(format, args...)})
}

// readRoot goes through the keywords of the schema itself.
func (r *reader) readRoot() {
	if r.root.Kind() != strictjson.Object {
		r.refuse("", "", "the schema must be an object")
		return
	}
	typed := false
	for key, val := range r.root.Members() {
		switch key {
		case "type":
			typed = true
			r.rootType(val)
		case "properties":
			r.rootProperties(val)
		case "required":
			r.rootRequired(val)
		case "title":
			r.out.Title, _ = val.Text()
		case "description":
			r.out.Description, _ = val.Text()
		default:
			r.rootKeyword(key, val)
		}
	}
	if !typed {
		r.refuse("", "type", `must be "object"`)
	}
}

func (r *reader) rootType(val strictjson.Value) {
	if val.Kind() == strictjson.Array && val.Len() == 1 {
		for val = range val.Elements() {
			break
		}
	}
	if s, err := val.Text(); err != nil || s != "object" {
		r.refuse("", "type", `must be "object"`)
	}
}

func (r *reader) rootProperties(val strictjson.Value) {
	if val.Kind() != strictjson.Object {
		r.refuse("", "properties", "must be an object")
		return
	}
	for name, schema := range val.Members() {
		r.properties = append(r.properties, namedSchema{name, schema})
	}
}

func (r *reader) rootRequired(val strictjson.Value) {
	if val.Kind() != strictjson.Array {
		r.refuse("", "required", "must be a list of property names")
		return
	}
	for e := range val.Elements() {
		name, err := e.Text()
		if err != nil {
			r.refuse("", "required", "must be a list of property names")
			return
		}
		if !r.required[name] {
			r.required[name] = true
			r.names = append(r.names, name)
		}
	}
}

// rootKeyword judges any other keyword of the schema itself.
func (r *reader) rootKeyword(key string, val strictjson.Value) {
	types, constrains := constraint[key]
	switch {
	case isAnnotation(key), key == "additionalProperties" && val.Kind() == strictjson.Boolean:
	case !constrains, types&typeObject == 0:
		r.out.Ignored = append(r.out.Ignored, Ignored{Keyword: key})
	default:
		r.refuse("", key, "constrains the answer as a whole, which a form cannot check; leave it out or check it in the tool")
	}
}

// checkRequired refuses names in required that no property has.
func (r *reader) checkRequired() {
	declared := make(map[string]bool, len(r.properties))
	for _, m := range r.properties {
		declared[m.name] = true
	}
	for _, name := range r.names {
		if !declared[name] {
			r.refuse(name, "required", "is required, but not among the properties")
		}
	}
}

// field reads one property, and notes what it ignores and hints at.
func (r *reader) field(m namedSchema) (Field, SchemaErrors) {
	b := &builder{name: m.name, lim: r.lim}
	if m.name == "" {
		b.refuse("properties", "a property has an empty name")
		return Field{}, b.errs
	}
	p := r.collect(m.schema, place{})
	fd := b.build(p, r.required[m.name])
	if len(b.errs) > 0 {
		return Field{}, b.errs
	}
	for _, k := range b.ignored {
		r.out.Ignored = append(r.out.Ignored, Ignored{Field: m.name, Keyword: k})
	}
	if b.hint != "" {
		r.out.Hints = append(r.out.Hints, Hint{Field: m.name, Text: "format: " + b.hint})
	}
	if b.dropped != "" {
		r.out.Dropped = append(r.out.Dropped, Hint{Field: m.name, Text: b.dropped})
	}
	if !p.hasTitle || isBlank(p.title) {
		r.out.Untitled = append(r.out.Untitled, m.name)
	}
	return fd, nil
}

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
// refused. The error is a [SchemaErrors] when nothing can be read at all.
func ReadArguments(raw []byte) (Arguments, error) {
	const maxBytes = 256 << 10
	v, err := strictjson.Parse(raw, strictjson.Limits{MaxBytes: maxBytes})
	if err != nil {
		return Arguments{}, jsonError(err)
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
	v, err := strictjson.Parse(params, strictjson.Limits{MaxBytes: opt.MaxBytes})
	if err != nil {
		return Elicitation{}, jsonError(err)
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
	for _, m := range []string{message, s.Description, s.Title} {
		if !isBlank(m) {
			return m
		}
	}
	if len(s.Fields) == 0 {
		return fmt.Sprintf("The tool %s asks for your consent.", quoteName(tool))
	}
	return fmt.Sprintf("The tool %s asks for an answer.", quoteName(tool))
}
