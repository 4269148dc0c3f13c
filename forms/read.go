package forms

import (
	"errors"
	"fmt"
	"slices"

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
	v, mended, err := strictjson.ParseSchema(raw, strictjson.Limits{MaxBytes: opt.MaxBytes})
	if err != nil {
		return Schema{}, JSONErrors(err)
	}
	s, err := readSchema(v, opt)
	if err == nil {
		s.noteMended(mended)
	}
	return s, err
}

// noteMended tells of texts that a server has cut in the middle of a character.
func (s *Schema) noteMended(mended bool) {
	if mended {
		s.Changed = append(s.Changed, Hint{Text: "a text holds half of a surrogate pair, which shows as \ufffd, or in a default is not used; cut texts between characters"})
	}
}

// JSONErrors are what is wrong with the JSON itself as the errors of a schema,
// of params or of a result: with the property and the keyword that it is in,
// where it is in one.
func JSONErrors(err error) SchemaErrors {
	e, ok := errors.AsType[*strictjson.Error](err)
	if !ok {
		return SchemaErrors{{Message: err.Error()}}
	}
	keys := slices.Clip(e.Keys)
	if e.Problem == strictjson.DuplicateKey {
		keys = append(keys, e.Key)
	}
	out := &SchemaError{}
	whole := false // whether property and keyword say all of the place
	out.Field, out.Keyword, whole = schemaPlace(keys)
	bare := *e
	if whole {
		bare.Path = ""
	}
	out.Message = bare.Error()
	return SchemaErrors{out}
}

// schemaPlace is the property and the keyword that keys lead into, from the top
// of a schema, of params or of a result; whole says that they lead no further.
func schemaPlace(keys []string) (field, keyword string, whole bool) {
	inResult := len(keys) > 3 && keys[0] == "inputRequests" && keys[2] == "params"
	if inResult {
		keys = keys[3:]
	}
	if len(keys) > 1 && keys[0] == "requestedSchema" {
		keys = keys[1:]
	}
	switch {
	case len(keys) == 0:
		return "", "", true
	case keys[0] != "properties" || len(keys) == 1:
		return "", keys[0], len(keys) == 1 && !inResult
	case len(keys) == 2:
		return keys[1], keys[0], !inResult && keys[1] != ""
	}
	return keys[1], keys[2], len(keys) == 3 && !inResult && keys[1] != ""
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
	if val.Kind() == strictjson.Array && val.Len() == 0 { // how PHP writes an object without members
		r.out.Changed = append(r.out.Changed, Hint{Text: `"properties" is a list; an empty one is read as an object without properties`})
		return
	}
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
	case isAnnotation(key), key == "additionalProperties" && isPlain(val):
	case !constrains, types&typeObject == 0:
		r.out.Ignored = append(r.out.Ignored, Ignored{Keyword: key})
	default:
		r.refuse("", key, "constrains the answer as a whole, which a form cannot check; leave it out or check it in the tool")
	}
}

// isPlain reports true or false, or the empty schema, which is another way to
// write true.
func isPlain(schema strictjson.Value) bool {
	return schema.Kind() == strictjson.Boolean || schema.Kind() == strictjson.Object && schema.Len() == 0
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
	for _, text := range b.changed.texts() {
		r.out.Changed = append(r.out.Changed, Hint{Field: m.name, Text: text})
	}
	if !p.hasTitle || isBlank(p.title) {
		r.out.Untitled = append(r.out.Untitled, m.name)
	}
	return fd, nil
}
