package forms

import (
	"strconv"
	"sync"

	"askback/internal/strictjson"
)

// Encode is the canonical JSON of f. Every form can be written, also one that
// no limits would admit; the error is always nil today.
func (f Form) Encode() ([]byte, error) { return f.append(nil), nil }

// MarshalJSON is [Form.Encode].
func (f Form) MarshalJSON() ([]byte, error) { return f.append(nil), nil }

func (f Form) append(dst []byte) []byte {
	dst = append(dst, '{')
	dst = f.AppendMembers(dst)
	return append(dst, '}')
}

// scratch are buffers for JSON that is only measured.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

// sizeOf is the length of what write appends.
func sizeOf(write func([]byte) []byte) int {
	buf := scratch.Get().(*[]byte)
	*buf = write((*buf)[:0])
	n := len(*buf)
	scratch.Put(buf)
	return n
}

// AppendMembers appends the members of f's JSON without the braces, so that
// other members can stand beside them: an Interaction's request has "kind" and
// "toolUseId".
func (f Form) AppendMembers(dst []byte) []byte {
	dst = appendText(dst, "message", f.Message)
	dst = strictjson.AppendKey(dst, "requester")
	dst = append(dst, '{')
	dst = appendText(dst, "name", f.Requester.Name)
	if f.Requester.Source != "" {
		dst = appendText(dst, "source", f.Requester.Source)
	}
	dst = append(dst, '}')
	dst = strictjson.AppendKey(dst, "fields")
	dst = append(dst, '[')
	for i := range f.Fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = f.Fields[i].append(dst)
	}
	return append(dst, ']')
}

func (f *Field) append(dst []byte) []byte {
	dst = append(dst, '{')
	dst = appendText(dst, "kind", string(f.Kind))
	dst = appendText(dst, "name", f.Name)
	dst = appendText(dst, "label", f.Label)
	dst = strictjson.AppendKey(dst, "required")
	dst = strconv.AppendBool(dst, f.Required)
	if f.Description != "" {
		dst = appendText(dst, "description", f.Description)
	}
	if f.HasOptions() {
		dst = strictjson.AppendKey(dst, "options")
		dst = append(dst, '[')
		for i, o := range f.Options {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = o.append(dst)
		}
		dst = append(dst, ']')
	}
	if !f.Default.IsZero() {
		dst = strictjson.AppendKey(dst, "default")
		dst = f.Default.append(dst)
	}
	dst = appendInt(dst, "minLength", f.MinLength)
	dst = appendInt(dst, "maxLength", f.MaxLength)
	if f.Format != "" {
		dst = appendText(dst, "format", string(f.Format))
	}
	if f.Minimum != nil {
		dst = append(strictjson.AppendKey(dst, "minimum"), f.Minimum.text...)
	}
	if f.Maximum != nil {
		dst = append(strictjson.AppendKey(dst, "maximum"), f.Maximum.text...)
	}
	dst = appendInt(dst, "minItems", f.MinItems)
	dst = appendInt(dst, "maxItems", f.MaxItems)
	return append(dst, '}')
}

func (o Option) append(dst []byte) []byte {
	dst = append(dst, '{')
	dst = appendText(dst, "value", o.Value)
	dst = appendText(dst, "label", o.Label)
	if o.Description != "" {
		dst = appendText(dst, "description", o.Description)
	}
	return append(dst, '}')
}

func appendText(dst []byte, key, text string) []byte {
	return strictjson.AppendString(strictjson.AppendKey(dst, key), text)
}

func appendInt(dst []byte, key string, n *int) []byte {
	if n == nil {
		return dst
	}
	return strconv.AppendInt(strictjson.AppendKey(dst, key), int64(*n), 10)
}
