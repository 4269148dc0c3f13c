package forms

import (
	"askback/internal/strictjson"
)

// DecodeForm reads the canonical JSON of a form: the exact shape, then what
// [Form.Admit] checks under lim. Errors of shape are of package strictjson's
// Error type and name the path; errors of admission are [Errors].
func DecodeForm(data []byte, lim Limits) (Form, error) {
	v, err := strictjson.Parse(data, strictjson.Limits{MaxBytes: rawFactor * lim.Request})
	if err != nil {
		return Form{}, err
	}
	return FormFrom(v, lim)
}

// FormFrom is [DecodeForm] for a value that was parsed already. Members of the
// object that are named in beside belong to the caller and are skipped: an
// Interaction's request has "kind" and "toolUseId" beside the form.
func FormFrom(v strictjson.Value, lim Limits, beside ...string) (Form, error) {
	f, err := shapeOf(v, lim, beside)
	if err != nil {
		return Form{}, err
	}
	if err := f.Admit(lim); err != nil {
		return Form{}, err
	}
	return f, nil
}

// shapeOf reads the shape of a form, without admission.
func shapeOf(v strictjson.Value, lim Limits, beside []string) (Form, error) {
	r := strictjson.Read(v)
	r.Skip(beside...)
	var f Form
	f.Message = r.Text("message")
	if who := r.Need("requester"); r.Err() == nil {
		var err error
		f.Requester, err = requesterFrom(who)
		r.Fail("requester", err)
	}
	if list := r.Need("fields"); r.Err() == nil {
		var err error
		f.Fields, err = fieldsFrom(list, lim)
		r.Fail("fields", err)
	}
	return f, r.Done()
}

func requesterFrom(v strictjson.Value) (Requester, error) {
	r := strictjson.Read(v)
	out := Requester{Name: r.Text("name")}
	out.Source, _ = r.OptText("source")
	return out, r.Done()
}

func fieldsFrom(v strictjson.Value, lim Limits) ([]Field, error) {
	if err := v.Want(strictjson.Array); err != nil {
		return nil, err
	}
	n := v.Len()
	if n > lim.Fields {
		return nil, strictjson.Bad("holds %d fields, at most %d are allowed", n, lim.Fields)
	}
	fields := make([]Field, 0, n)
	for e := range v.Elements() {
		fd, err := fieldFrom(e, lim)
		if err != nil {
			return nil, strictjson.AtIndex(len(fields), err)
		}
		fields = append(fields, fd)
	}
	return fields, nil
}

// fieldFrom reads one field: the common members, then those of its kind.
func fieldFrom(v strictjson.Value, lim Limits) (Field, error) {
	r := strictjson.Read(v)
	fd := Field{Kind: Kind(r.Text("kind")), Name: r.Text("name"), Label: r.Text("label"), Required: r.Bool("required")}
	fd.Description, _ = r.OptText("description")
	switch fd.Kind {
	case KindString:
		fd.MinLength = optCount(r, "minLength")
		fd.MaxLength = optCount(r, "maxLength")
		if name, ok := r.OptText("format"); ok {
			if fd.Format = Format(name); !fd.Format.known() {
				r.Fail("format", strictjson.Bad(`must be "email", "uri", "date" or "date-time"`))
			}
		}
	case KindNumber, KindInteger:
		fd.Minimum = optNumber(r, "minimum")
		fd.Maximum = optNumber(r, "maximum")
	case KindSingleSelect, KindMultiSelect:
		if list := r.Need("options"); r.Err() == nil {
			var err error
			fd.Options, err = optionsFrom(list, lim)
			r.Fail("options", err)
		}
		if fd.Kind == KindMultiSelect {
			fd.MinItems = optCount(r, "minItems")
			fd.MaxItems = optCount(r, "maxItems")
		}
	case KindBoolean:
	default:
		r.Fail("kind", strictjson.Bad("is not a kind of field"))
	}
	if def, ok := r.Opt("default"); ok {
		val, err := defaultFrom(fd.Kind, def)
		fd.Default = val
		r.Fail("default", err)
	}
	return fd, r.Done()
}

// defaultFrom reads a default of the type that the kind wants. An integer is
// kept in plain digits however it was spelt.
func defaultFrom(k Kind, v strictjson.Value) (Value, error) {
	val, ok, err := valueFrom(v)
	if err != nil {
		return Value{}, err
	}
	if !ok || val.Type() != k.valueType() {
		return Value{}, strictjson.Bad("must be %s", k.valueType())
	}
	return canonical(k, val), nil
}

func optionsFrom(v strictjson.Value, lim Limits) ([]Option, error) {
	if err := v.Want(strictjson.Array); err != nil {
		return nil, err
	}
	n := v.Len()
	if n > lim.Options {
		return nil, strictjson.Bad("holds %d options, at most %d are allowed", n, lim.Options)
	}
	out := make([]Option, 0, n)
	for e := range v.Elements() {
		r := strictjson.Read(e)
		o := Option{Value: r.Text("value"), Label: r.Text("label")}
		o.Description, _ = r.OptText("description")
		if err := r.Done(); err != nil {
			return nil, strictjson.AtIndex(len(out), err)
		}
		out = append(out, o)
	}
	return out, nil
}

// optCount takes a length or a count that may be absent.
func optCount(r *strictjson.Fields, key string) *int {
	v, ok := r.Opt(key)
	if !ok {
		return nil
	}
	n, err := countFrom(v)
	r.Fail(key, err)
	return &n
}

// manyItems stands for every count that is too large to matter.
const manyItems = 1 << 30

// countFrom reads a length or a count: a whole number that is not negative,
// however it is spelt. What no text and no list can reach is manyItems.
func countFrom(v strictjson.Value) (int, error) {
	n, err := numberFromJSON(v)
	if err != nil {
		return 0, err
	}
	if !n.IsInteger() || n.Cmp(Number{text: "0"}) < 0 {
		return 0, strictjson.Bad("must be a whole number, 0 or more")
	}
	if n.Cmp(NumberOf(manyItems)) >= 0 {
		return manyItems, nil
	}
	count := 0
	for _, c := range n.plain().text {
		count = count*10 + int(c-'0')
	}
	return count, nil
}

func optNumber(r *strictjson.Fields, key string) *Number {
	v, ok := r.Opt(key)
	if !ok {
		return nil
	}
	n, err := numberFromJSON(v)
	r.Fail(key, err)
	return &n
}

// numberFromJSON reads a number within the limits of a number's text.
func numberFromJSON(v strictjson.Value) (Number, error) {
	text, err := v.NumberText()
	if err != nil {
		return Number{}, err
	}
	n := numberFrom(text)
	if err := n.check(); err != nil {
		return Number{}, strictjson.Bad("%v", err)
	}
	return n, nil
}
