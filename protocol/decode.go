package protocol

import (
	"bytes"
	"encoding/base64"
	"errors"
	"reflect"
	"strconv"
	"strings"

	"askback/internal/strictjson"

	"github.com/go-json-experiment/json/jsontext"
)

// decoder carries what a whole message has in common.
type decoder struct {
	dialect Dialect
	lax     bool // inside something that is only shown
}

// wireDecoder reads itself from an object whose discriminator, if it has one,
// is a key that the type knows.
type wireDecoder interface {
	decodeWire(d *decoder, v strictjson.Value) error
}

var (
	wireDecoderType = reflect.TypeFor[wireDecoder]()
	rawType         = reflect.TypeFor[RawMessage]()
	bytesType       = reflect.TypeFor[[]byte]()
)

// parse checks a whole message.
func parse(data []byte, maxBytes int) (strictjson.Value, error) {
	return strictjson.Parse(data, strictjson.Limits{MaxBytes: maxBytes, MaxDepth: MaxJSONDepth, LoneSurrogates: true})
}

// decodeError gives an error of the walk its public type.
func decodeError(err error) error {
	if err == nil {
		return nil
	}
	path, reason := pathAndReason(err)
	return &DecodeError{Path: path, Reason: reason}
}

func pathAndReason(err error) (path, reason string) {
	e, ok := errors.AsType[*strictjson.Error](err)
	if !ok {
		return "", err.Error()
	}
	bare := *e
	bare.Path = ""
	return e.Path, bare.Error()
}

// value reads v into out by the rules of f.
func (d *decoder) value(f *rules, v strictjson.Value, out reflect.Value) error {
	if f.lax && !d.lax {
		d.lax = true
		defer func() { d.lax = false }()
	}
	if v.Kind() == strictjson.Null && f.null {
		return nil
	}
	if f.json > 0 && !d.lax && len(v.Raw()) > f.json && strictjson.CompactLen(v.Raw()) > f.json {
		return strictjson.Bad("must be at most %d bytes of JSON", f.json)
	}
	t := out.Type()
	switch {
	case t == rawType:
		return decodeRaw(f, v, out)
	case t == bytesType:
		return decodeBase64(f, v, out)
	case t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(wireDecoderType):
		return out.Addr().Interface().(wireDecoder).decodeWire(d, v)
	}
	switch t.Kind() {
	case reflect.Pointer:
		out.Set(reflect.New(t.Elem()))
		return d.value(f, v, out.Elem())
	case reflect.String:
		return d.text(f, v, out)
	case reflect.Bool:
		b, err := v.Bool()
		out.SetBool(b)
		return err
	case reflect.Int, reflect.Int64:
		n, err := wholeNumber(v)
		if err == nil && (n > maxSafeInteger || n < -maxSafeInteger) {
			err = strictjson.Bad("is out of range")
		}
		if why := f.checkInt(n); err == nil && why != "" {
			err = strictjson.Bad("%s", why)
		}
		out.SetInt(n)
		return err
	case reflect.Slice:
		return d.slice(f, v, out)
	case reflect.Interface:
		return d.union(v, out)
	default:
		return d.object(v, out, "")
	}
}

// maxSafeInteger is the largest integer that every JSON peer holds exactly.
const maxSafeInteger = 1<<53 - 1

// wholeNumber is the integer that a number means, however it is spelt: 81.0 and 1e0 are integers to a peer in JavaScript,
// which may write them so.
func wholeNumber(v strictjson.Value) (int64, error) {
	n, err := v.Int()
	if err == nil || v.Kind() != strictjson.Number {
		return n, err
	}
	text, sign := string(v.Raw()), ""
	if strings.HasPrefix(text, "-") {
		text, sign = text[1:], "-"
	}
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimRight(whole+fraction, "0")
	if strings.Trim(digits, "0") == "" {
		return 0, nil
	}
	power, perr := strconv.Atoi(orZero(exponent))
	zeros := power + len(whole) - len(digits) // that the exponent puts behind the digits
	if perr != nil || zeros < 0 || zeros > maxDigits {
		return 0, err
	}
	if n, perr = strconv.ParseInt(sign+digits+strings.Repeat("0", zeros), 10, 64); perr != nil {
		return 0, err
	}
	return n, nil
}

// maxDigits is more than any integer in range has.
const maxDigits = 20

func orZero(exponent string) string {
	if exponent == "" {
		return "0"
	}
	return exponent
}

func decodeRaw(f *rules, v strictjson.Value, out reflect.Value) error {
	if f.object {
		if err := v.Want(strictjson.Object); err != nil {
			return err
		}
	}
	out.SetBytes(bytes.Clone(v.Raw()))
	return nil
}

// decodeBase64 accepts the canonical form alone: padded, without line breaks,
// unused bits zero.
func decodeBase64(f *rules, v strictjson.Value, out reflect.Value) error {
	text, err := textOf(v)
	if err != nil {
		return err
	}
	data, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") {
		return strictjson.Bad("must be canonical base64")
	}
	if f.bytes != nil && !f.bytes.hold(len(data)) {
		return strictjson.Bad("must be %d to %d bytes", f.bytes.min, f.bytes.max)
	}
	out.SetBytes(data)
	return nil
}

// textOf is the text of a string. Half a surrogate pair, which JavaScript peers
// produce by cutting texts and no Go string can hold, becomes U+FFFD.
func textOf(v strictjson.Value) (string, error) {
	text, err := v.Text()
	if e, ok := errors.AsType[*strictjson.Error](err); ok && e.Problem == strictjson.LoneSurrogate {
		lossy, _ := jsontext.AppendUnquote(nil, v.Raw())
		return string(lossy), nil
	}
	return text, err
}

func (d *decoder) text(f *rules, v strictjson.Value, out reflect.Value) error {
	text, err := textOf(v)
	if err != nil {
		return err
	}
	out.SetString(text)
	if why := f.checkString(text, d.lax); why != "" {
		return strictjson.Bad("%s", why)
	}
	return d.known(f, text, out)
}

// known refuses a value outside a closed list.
func (d *decoder) known(f *rules, text string, v reflect.Value) error {
	if d.lax || (text == "" && f.opt) {
		return nil
	}
	if k, ok := v.Interface().(interface{ Known() bool }); ok && !k.Known() {
		return strictjson.Bad("is not in the protocol's list")
	}
	return nil
}

func (d *decoder) slice(f *rules, v strictjson.Value, out reflect.Value) error {
	if err := v.Want(strictjson.Array); err != nil {
		return err
	}
	n := v.Len()
	if why := f.checkItems(n, d.lax); why != "" {
		return strictjson.Bad("%s", why)
	}
	// The list grows as its entries prove good: a peer's count reserves nothing.
	items := reflect.MakeSlice(out.Type(), min(n, 32), min(n, 32))
	inner := rules{bytes: f.each, null: out.Type().Elem().Kind() == reflect.Pointer}
	i := 0
	for item := range v.Elements() {
		if i == items.Len() {
			more := min(i, n-i)
			items = reflect.AppendSlice(items, reflect.MakeSlice(out.Type(), more, more))
		}
		if err := d.value(&inner, item, items.Index(i)); err != nil {
			return strictjson.AtIndex(i, err)
		}
		i++
	}
	out.Set(items)
	return nil
}

// object reads a struct. kindKey is a key that was read already, "" for none.
func (d *decoder) object(v strictjson.Value, out reflect.Value, kindKey string) error {
	if err := v.Want(strictjson.Object); err != nil {
		return err
	}
	p := planOf(out.Type())
	if p.open && !d.lax {
		d.lax = true
		defer func() { d.lax = false }()
	}
	var seen [64]bool
	for name, member := range v.Members() {
		i := p.find(name)
		if i < 0 {
			if name == kindKey || d.lax || p.extra {
				continue
			}
			return strictjson.Unknown(name)
		}
		f := &p.fields[i]
		if d.lax && f.opt && member.Kind() == strictjson.Null && f.typ != rawType {
			continue
		}
		if err := d.value(&f.rules, member, out.FieldByIndex(f.index)); err != nil {
			return strictjson.At(name, err)
		}
		seen[i] = true
	}
	if err := d.complete(p, &seen, out); err != nil {
		return err
	}
	if p.checked && !d.lax {
		return out.Addr().Interface().(checker).checkWire(d.dialect)
	}
	return nil
}

// complete holds the set of keys that came to what the struct needs.
func (d *decoder) complete(p *plan, seen *[64]bool, out reflect.Value) error {
	disc := ""
	if len(p.fields) > 0 && p.fields[0].typ.Kind() == reflect.String {
		disc = out.FieldByIndex(p.fields[0].index).String()
	}
	for i := range p.fields {
		f := &p.fields[i]
		switch f.presence(disc) {
		case required:
			if !seen[i] {
				return strictjson.Missing(f.name)
			}
		case foreign:
			if seen[i] && !d.lax {
				return strictjson.Unknown(f.name)
			}
			out.FieldByIndex(f.index).SetZero()
		}
	}
	return nil
}

func (p *plan) find(name string) int {
	for i := range p.fields {
		if p.fields[i].name == name {
			return i
		}
	}
	return -1
}
