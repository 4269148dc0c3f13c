package draft

import "askback/forms"

// Answers are the values that one tool call was given, by field name. They live as long as the call.
type Answers map[string]Answer

// Answer is a value together with the kind of the field it was given to.
type Answer struct {
	Kind  forms.Kind
	Value forms.Value
}

// Remember adds the values of an accepted answer, except those of fields that look like a secret. A field that was
// left out forgets what it held before.
func (a Answers) Remember(form forms.Form, values forms.Values) {
	for _, f := range form.Fields {
		v, given := values[f.Name]
		if !given || forms.LooksSecret(f) {
			delete(a, f.Name)
			continue
		}
		a[f.Name] = Answer{Kind: f.Kind, Value: v}
	}
}

// lookup is the value to start a field from: one of the same name and kind.
func (a Answers) lookup(f forms.Field) (forms.Value, bool) {
	got, ok := a[f.Name]
	if !ok || got.Kind != f.Kind || got.Value.IsZero() || forms.LooksSecret(f) {
		return forms.Value{}, false
	}
	return got.Value, true
}
