package protocol

import (
	"encoding/base64"
	"reflect"
	"strconv"

	"askback/internal/strictjson"
)

// encoder writes one message.
type encoder struct {
	buf     []byte
	dialect Dialect
	lax     bool
}

// wireEncoder writes itself as a whole JSON value.
type wireEncoder interface {
	encodeWire(e *encoder) error
}

var wireEncoderType = reflect.TypeFor[wireEncoder]()

// encodeError gives an error of the walk its public type.
func encodeError(err error) error {
	if err == nil {
		return nil
	}
	path, reason := pathAndReason(err)
	return &EncodeError{Path: path, Reason: reason}
}

// value writes v by the rules of f.
func (e *encoder) value(f *rules, v reflect.Value) error {
	if f.lax && !e.lax {
		e.lax = true
		defer func() { e.lax = false }()
	}
	start := len(e.buf)
	if err := e.bare(f, v); err != nil {
		return err
	}
	if n := len(e.buf) - start; f.json > 0 && n > f.json && !e.lax && strictjson.CompactLen(e.buf[start:]) > f.json {
		return strictjson.Bad("is %d bytes of JSON, at most %d are allowed", n, f.json)
	}
	return nil
}

func (e *encoder) bare(f *rules, v reflect.Value) error {
	t := v.Type()
	switch {
	case t == rawType:
		return e.raw(f, v.Bytes())
	case t == bytesType:
		if f.bytes != nil && !f.bytes.hold(v.Len()) {
			return strictjson.Bad("must be %d to %d bytes", f.bytes.min, f.bytes.max)
		}
		e.buf = append(e.buf, '"')
		e.buf = base64.StdEncoding.AppendEncode(e.buf, v.Bytes())
		e.buf = append(e.buf, '"')
		return nil
	case t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface && reflect.PointerTo(t).Implements(wireEncoderType):
		return addressable(v).Interface().(wireEncoder).encodeWire(e)
	}
	switch t.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return e.null(f)
		}
		return e.bare(f, v.Elem())
	case reflect.String:
		return e.text(f, v)
	case reflect.Bool:
		e.buf = strconv.AppendBool(e.buf, v.Bool())
	case reflect.Int, reflect.Int64:
		if why := f.checkInt(v.Int()); why != "" {
			return strictjson.Bad("%s", why)
		}
		e.buf = strconv.AppendInt(e.buf, v.Int(), 10)
	case reflect.Slice:
		return e.slice(f, v)
	case reflect.Interface:
		if v.IsNil() {
			return e.null(f)
		}
		return e.union(v)
	default:
		return e.object(v, "", "")
	}
	return nil
}

// addressable is a pointer to v, or to a copy of it.
func addressable(v reflect.Value) reflect.Value {
	if v.CanAddr() {
		return v.Addr()
	}
	p := reflect.New(v.Type())
	p.Elem().Set(v)
	return p
}

func (e *encoder) null(f *rules) error {
	if !f.null {
		return strictjson.Bad("is missing")
	}
	e.buf = append(e.buf, "null"...)
	return nil
}

// raw writes JSON of someone else's making, after checking that it is JSON.
func (e *encoder) raw(f *rules, raw []byte) error {
	if len(raw) == 0 {
		return e.null(f)
	}
	v, err := parse(raw, 0)
	if err != nil {
		return err
	}
	if f.object && v.Kind() != strictjson.Object {
		return v.Want(strictjson.Object)
	}
	e.buf = append(e.buf, v.Raw()...)
	return nil
}

func (e *encoder) text(f *rules, v reflect.Value) error {
	s := v.String()
	if why := f.checkString(s, e.lax); why != "" {
		return strictjson.Bad("%s", why)
	}
	if !e.lax && (s != "" || !f.opt) {
		if k, ok := v.Interface().(interface{ Known() bool }); ok && !k.Known() {
			return strictjson.Bad("is not in the protocol's list")
		}
	}
	e.buf = strictjson.AppendString(e.buf, s)
	return nil
}

func (e *encoder) slice(f *rules, v reflect.Value) error {
	if why := f.checkItems(v.Len(), e.lax); why != "" {
		return strictjson.Bad("%s", why)
	}
	inner := rules{bytes: f.each, null: v.Type().Elem().Kind() == reflect.Pointer}
	e.buf = append(e.buf, '[')
	for i := range v.Len() {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		if err := e.value(&inner, v.Index(i)); err != nil {
			return strictjson.AtIndex(i, err)
		}
	}
	e.buf = append(e.buf, ']')
	return nil
}

// object writes a struct, with the discriminator key first where it has one.
func (e *encoder) object(v reflect.Value, kindKey, kind string) error {
	p := planOf(v.Type())
	if p.open && !e.lax {
		e.lax = true
		defer func() { e.lax = false }()
	}
	if p.checked && !e.lax {
		if err := addressable(v).Interface().(checker).checkWire(e.dialect); err != nil {
			return err
		}
	}
	e.buf = append(e.buf, '{')
	if kindKey != "" {
		e.buf = strictjson.AppendKey(e.buf, kindKey)
		e.buf = strictjson.AppendString(e.buf, kind)
	}
	disc := ""
	for i := range p.fields {
		f := &p.fields[i]
		fv := v.FieldByIndex(f.index)
		if i == 0 && fv.Kind() == reflect.String {
			disc = fv.String()
		}
		write, err := f.written(disc, fv)
		if err != nil {
			return strictjson.At(f.name, err)
		}
		if !write {
			continue
		}
		if e.buf[len(e.buf)-1] != '{' {
			e.buf = append(e.buf, ',')
		}
		e.buf = append(e.buf, f.key...)
		if err := e.value(&f.rules, fv); err != nil {
			return strictjson.At(f.name, err)
		}
	}
	e.buf = append(e.buf, '}')
	return nil
}

// written decides whether a field is written: what belongs to another variant
// must be zero, what is optional and zero is left out.
func (f *field) written(disc string, v reflect.Value) (bool, error) {
	zero := v.IsZero()
	switch f.presence(disc) {
	case foreign:
		if !zero {
			return false, strictjson.Bad("does not belong to %q", disc)
		}
		return false, nil
	case optional:
		return !zero || (f.always && (disc != KindUnsupportedLegacyRecord)), nil
	}
	return true, nil
}
