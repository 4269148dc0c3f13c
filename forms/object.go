package forms

import "askback/internal/strictjson"

// Object is the accepted values of r as one JSON object, in the order of the form's fields: the arguments of a tool,
// where the form asked for those. Names that are no field of the form are not in it.
func (f Form) Object(r Result) []byte {
	out := []byte{'{'}
	for _, field := range f.Fields {
		value, err := r.Values[field.Name].MarshalJSON()
		if r.Values[field.Name].IsZero() || err != nil {
			continue
		}
		out = append(strictjson.AppendKey(out, field.Name), value...)
	}
	return append(out, '}')
}
