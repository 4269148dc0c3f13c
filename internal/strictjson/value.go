package strictjson

import (
	"bytes"
	"iter"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind is the JSON type of a value, written as its name for messages.
type Kind string

// The kinds of a JSON value; the zero [Value] has kind None.
const (
	None    Kind = ""
	Null    Kind = "null"
	Boolean Kind = "boolean"
	Number  Kind = "number"
	String  Kind = "string"
	Array   Kind = "array"
	Object  Kind = "object"
)

// Value is one checked JSON value. The zero Value is no value at all.
type Value struct{ raw []byte }

// IsZero reports whether v is no value, as a lookup that found nothing gives.
func (v Value) IsZero() bool { return len(v.raw) == 0 }

// Raw is the text of v as it was received, without blanks around it. It
// aliases the parsed text; callers that keep it after the text may change must
// copy it.
func (v Value) Raw() []byte { return v.raw }

// Kind is the JSON type of v.
func (v Value) Kind() Kind {
	if len(v.raw) == 0 {
		return None
	}
	switch v.raw[0] {
	case '{':
		return Object
	case '[':
		return Array
	case '"':
		return String
	case 't', 'f':
		return Boolean
	case 'n':
		return Null
	}
	return Number
}

// Want returns an error unless v is of kind k.
func (v Value) Want(k Kind) error {
	if got := v.Kind(); got != k {
		return &Error{Problem: WrongType, Want: k, Got: got}
	}
	return nil
}

// Text is the text of a string. It refuses a string with a lone surrogate.
func (v Value) Text() (string, error) {
	if err := v.Want(String); err != nil {
		return "", err
	}
	return unquote(v.raw)
}

// Bool is the value of a boolean.
func (v Value) Bool() (bool, error) {
	if err := v.Want(Boolean); err != nil {
		return false, err
	}
	return v.raw[0] == 't', nil
}

// NumberText is the text of a number, as it was written.
func (v Value) NumberText() (string, error) {
	if err := v.Want(Number); err != nil {
		return "", err
	}
	return string(v.raw), nil
}

// Int is the value of a number written as plain digits (-7, not 7.0 or 7e0)
// that fits int64.
func (v Value) Int() (int64, error) {
	if err := v.Want(Number); err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(string(v.raw), 10, 64)
	if err != nil {
		return 0, &Error{Problem: NotInteger}
	}
	return n, nil
}

// Members walks the members of an object in the order of the text. It yields
// nothing for any other kind; ask [Value.Want] first where that matters.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.Kind() != Object {
			return
		}
		for i := 1; ; {
			key, val, next := member(v.raw, i)
			if next < 0 {
				return
			}
			name, err := unquote(key)
			if err != nil {
				name = lossy(key)
			}
			if !yield(name, Value{raw: val}) {
				return
			}
			i = next
		}
	}
}

// Elements walks the elements of an array. It yields nothing for any other
// kind.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != Array {
			return
		}
		for i := 1; ; {
			val, next := element(v.raw, i)
			if next < 0 {
				return
			}
			if !yield(Value{raw: val}) {
				return
			}
			i = next
		}
	}
}

// Len is the number of members of an object or elements of an array, 0 for any
// other kind.
func (v Value) Len() int {
	n := 0
	switch v.Kind() {
	case Array:
		for i := 1; ; n++ {
			if _, i = element(v.raw, i); i < 0 {
				return n
			}
		}
	case Object:
		for i := 1; ; n++ {
			if _, _, i = member(v.raw, i); i < 0 {
				return n
			}
		}
	}
	return 0
}

// Get is the member of an object named key, and whether there is one. To read
// several members, walk them once with [Value.Members] or [Fields].
func (v Value) Get(key string) (Value, bool) {
	for k, val := range v.Members() {
		if k == key {
			return val, true
		}
	}
	return Value{}, false
}

// unquote decodes a checked JSON string.
func unquote(raw []byte) (string, error) {
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner), nil
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return "", &Error{Problem: LoneSurrogate}
	}
	return string(text), nil
}

// lossy decodes a checked JSON string with U+FFFD for each lone surrogate.
func lossy(raw []byte) string {
	text, _ := jsontext.AppendUnquote(nil, raw)
	return string(text)
}
