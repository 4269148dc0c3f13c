package forms

import (
	"slices"
	"sort"

	"askback/internal/strictjson"
)

// ValueType is what a [Value] holds.
type ValueType uint8

// The types of a value. None is the zero Value: no answer.
const (
	None ValueType = iota
	Text
	Num
	Bool
	List
)

// String is the JSON type in words for messages.
func (t ValueType) String() string {
	switch t {
	case Text:
		return "a text"
	case Num:
		return "a number"
	case Bool:
		return "true or false"
	case List:
		return "a list of texts"
	}
	return "no value"
}

// Value is an answer to one field, or a default: a text, a number, a boolean,
// or a list of texts. The zero Value is absence. A Value is immutable.
type Value struct {
	typ  ValueType
	flag bool
	text string // the text, or the number's text
	list []string
}

// TextValue is a text. An empty text is a value, not absence.
func TextValue(s string) Value { return Value{typ: Text, text: s} }

// NumberValue is a number; the zero Number gives absence.
func NumberValue(n Number) Value {
	if n.IsZero() {
		return Value{}
	}
	return Value{typ: Num, text: n.text}
}

// BoolValue is a boolean.
func BoolValue(b bool) Value { return Value{typ: Bool, flag: b} }

// ListValue is a list of texts; an empty list is a value, not absence. The list
// is copied.
func ListValue(list []string) Value {
	return Value{typ: List, list: append([]string{}, list...)}
}

// Type is what v holds.
func (v Value) Type() ValueType { return v.typ }

// IsZero reports whether v is absence.
func (v Value) IsZero() bool { return v.typ == None }

// Text is the text of a text value, else "".
func (v Value) Text() string {
	if v.typ != Text {
		return ""
	}
	return v.text
}

// Number is the number of a number value, else the zero Number.
func (v Value) Number() Number {
	if v.typ != Num {
		return Number{}
	}
	return Number{text: v.text}
}

// Bool is the boolean of a boolean value, else false.
func (v Value) Bool() bool { return v.typ == Bool && v.flag }

// List is a copy of the list of a list value, else nil.
func (v Value) List() []string {
	if v.typ != List {
		return nil
	}
	return append([]string{}, v.list...)
}

// Equal reports whether v and o are the same value: numbers by exact decimal
// value, lists with their order.
func (v Value) Equal(o Value) bool {
	if v.typ != o.typ {
		return false
	}
	switch v.typ {
	case Num:
		return v.Number().Cmp(o.Number()) == 0
	case List:
		return slices.Equal(v.list, o.list)
	}
	return v.text == o.text && v.flag == o.flag
}

// MarshalJSON writes v by the rules of this package; absence is null.
func (v Value) MarshalJSON() ([]byte, error) { return v.append(nil), nil }

// append appends v as JSON.
func (v Value) append(dst []byte) []byte {
	switch v.typ {
	case Text:
		return strictjson.AppendString(dst, v.text)
	case Num:
		return append(dst, v.text...)
	case Bool:
		if v.flag {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	case List:
		dst = append(dst, '[')
		for i, s := range v.list {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = strictjson.AppendString(dst, s)
		}
		return append(dst, ']')
	}
	return append(dst, "null"...)
}

// Values are the answers of a form by field name. A field that is left out is
// not in the map.
type Values map[string]Value

// names are the names in byte order.
func (vs Values) names() []string {
	names := make([]string, 0, len(vs))
	for name, v := range vs {
		if !v.IsZero() {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

// Clone is a copy that can be changed without changing vs; never nil.
func (vs Values) Clone() Values {
	out := make(Values, len(vs))
	for name, v := range vs {
		out[name] = v
	}
	return out
}

// append appends vs as a JSON object, names in byte order.
func (vs Values) append(dst []byte) []byte {
	dst = append(dst, '{')
	for _, name := range vs.names() {
		dst = strictjson.AppendKey(dst, name)
		dst = vs[name].append(dst)
	}
	return append(dst, '}')
}

// MarshalJSON writes vs as a JSON object, names in byte order.
func (vs Values) MarshalJSON() ([]byte, error) { return vs.append(nil), nil }
