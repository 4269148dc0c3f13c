package protocol

import (
	"bytes"
	"reflect"

	"askback/internal/strictjson"
)

// choice is one type of a union.
type choice struct {
	typ   reflect.Type
	forms bool // only where the dialect has forms
}

// unions lists, for each interface of the protocol, its types by their "kind".
var unions = map[reflect.Type]map[string]choice{
	reflect.TypeFor[InteractionBody](): {
		KindForm:            {reflect.TypeFor[FormRequest](), true},
		KindQuestion:        {reflect.TypeFor[QuestionRequest](), false},
		KindSandboxBoundary: {reflect.TypeFor[SandboxBoundaryRequest](), false},
		KindPermission:      {reflect.TypeFor[PermissionRequest](), false},
	},
	reflect.TypeFor[InteractionAnswer](): {
		KindForm:            {reflect.TypeFor[FormAnswer](), true},
		KindQuestion:        {reflect.TypeFor[QuestionAnswer](), false},
		KindSandboxBoundary: {reflect.TypeFor[SandboxBoundaryAnswer](), false},
		KindPermission:      {reflect.TypeFor[PermissionAnswer](), false},
	},
	reflect.TypeFor[InteractionOutcome](): {
		KindFormAnswer:              {reflect.TypeFor[FormOutcome](), true},
		KindQuestionAnswer:          {reflect.TypeFor[QuestionOutcome](), false},
		KindSandboxBoundaryDecision: {reflect.TypeFor[SandboxBoundaryOutcome](), false},
		KindClosure:                 {reflect.TypeFor[Closure](), false},
	},
}

// kindOf reads the string member named key.
func kindOf(v strictjson.Value, key string) (string, error) {
	if err := v.Want(strictjson.Object); err != nil {
		return "", err
	}
	member, ok := v.Get(key)
	if !ok {
		return "", strictjson.Missing(key)
	}
	kind, err := textOf(member)
	return kind, strictjson.At(key, err)
}

// union reads a value of an interface type.
func (d *decoder) union(v strictjson.Value, out reflect.Value) error {
	kind, err := kindOf(v, "kind")
	if err != nil {
		return err
	}
	c, ok := unions[out.Type()][kind]
	if !ok || (c.forms && !d.dialect.Forms()) {
		if unknown := d.unknown(out.Type(), kind, "", v); unknown != nil {
			out.Set(reflect.ValueOf(unknown))
			return nil
		}
		return strictjson.At("kind", strictjson.Bad("is not known here"))
	}
	p := reflect.New(c.typ)
	if w, ok := p.Interface().(wireDecoder); ok {
		err = w.decodeWire(d, v)
	} else {
		err = d.object(v, p.Elem(), "kind")
	}
	if err != nil {
		// In something that is only shown, a request that cannot be read is
		// shown as such and takes nothing else down.
		unknown := d.unknown(out.Type(), kind, err.Error(), v)
		if unknown == nil {
			return err
		}
		p = reflect.ValueOf(unknown)
	}
	out.Set(p)
	return nil
}

// unknown is what stands for a kind or shape that this package does not know,
// nil where that is malformed.
func (d *decoder) unknown(t reflect.Type, kind, problem string, v strictjson.Value) any {
	if !d.lax {
		return nil
	}
	switch t {
	case reflect.TypeFor[InteractionBody]():
		return &UnknownRequest{WireKind: kind, Problem: problem, Raw: bytes.Clone(v.Raw())}
	case reflect.TypeFor[InteractionOutcome]():
		return &UnknownOutcome{WireKind: kind, Raw: bytes.Clone(v.Raw())}
	}
	return nil
}

// union writes a value of an interface type.
func (e *encoder) union(v reflect.Value) error {
	switch u := v.Interface().(type) {
	case *UnknownRequest:
		return e.raw(&rules{object: true}, u.Raw)
	case *UnknownOutcome:
		return e.raw(&rules{object: true}, u.Raw)
	}
	kind := v.Interface().(interface{ Kind() string }).Kind()
	if c := unions[v.Type()][kind]; c.forms && !e.dialect.Forms() {
		return strictjson.Bad("forms do not exist in %s", e.dialect)
	}
	if w, ok := v.Interface().(wireEncoder); ok {
		return w.encodeWire(e)
	}
	return e.object(v.Elem().Elem(), "kind", kind)
}
