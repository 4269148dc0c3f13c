package forms

import (
	"askback/internal/strictjson"
)

// Action is what the person decided.
type Action string

// The actions of a result.
const (
	ActionAccept  Action = "accept"
	ActionDecline Action = "decline"
	ActionCancel  Action = "cancel"
)

// Result is the answer to a form. Values is nil unless the action is accept;
// an accept has values even when the form has no fields.
type Result struct {
	Action Action
	Values Values
}

// Accept is the result that submits vals.
func Accept(vals Values) Result {
	if vals == nil {
		vals = Values{}
	}
	return Result{Action: ActionAccept, Values: vals}
}

// Decline is the result that declines.
func Decline() Result { return Result{Action: ActionDecline} }

// Cancel is the result that dismisses.
func Cancel() Result { return Result{Action: ActionCancel} }

// rawFactor is how much longer a text may be on arrival than its limit, which
// is measured as our encoder writes it: every character may be a \uXXXX.
const rawFactor = 8

// DecodeResult reads the JSON of a result. It refuses what is malformed: what
// cannot be a result of any form, or is over lim.Answer. What it accepts may
// still be wrong for a form ([Form.Check]).
func DecodeResult(data []byte, lim Limits) (Result, error) {
	v, err := strictjson.Parse(data, strictjson.Limits{MaxBytes: rawFactor * lim.Answer})
	if err != nil {
		return Result{}, err
	}
	return ResultFrom(v, lim)
}

// ResultFrom is [DecodeResult] for a value that was parsed already. Members of
// the object that are named in beside belong to the caller and are skipped:
// an outcome has "kind" and "committedAt" beside the result.
func ResultFrom(v strictjson.Value, lim Limits, beside ...string) (Result, error) {
	f := strictjson.Read(v)
	f.Skip(beside...)
	r := Result{Action: Action(f.Text("action"))}
	switch r.Action {
	case ActionAccept:
		if vals := f.Need("values"); f.Err() == nil {
			var err error
			r.Values, err = valuesFrom(vals)
			f.Fail("values", err)
		}
	case ActionDecline, ActionCancel:
	default:
		f.Fail("action", strictjson.Bad(`must be "accept", "decline" or "cancel"`))
	}
	if err := f.Done(); err != nil {
		return Result{}, err
	}
	if size := sizeOf(r.append); size > lim.Answer {
		return Result{}, &strictjson.Error{Problem: strictjson.TooLarge, Size: size, Limit: lim.Answer}
	}
	return r, nil
}

// valuesFrom reads the values of an accept.
func valuesFrom(v strictjson.Value) (Values, error) {
	if err := v.Want(strictjson.Object); err != nil {
		return nil, err
	}
	vals := make(Values, 8)
	for name, raw := range v.Members() {
		val, ok, err := valueFrom(raw)
		if err != nil {
			return nil, strictjson.At(name, err)
		}
		if !ok {
			return nil, strictjson.At(name, strictjson.Bad("must be a string, a number, a boolean or a list of strings"))
		}
		vals[name] = val
	}
	return vals, nil
}

// valueFrom reads one value; ok is false for what is none of the four types.
func valueFrom(v strictjson.Value) (val Value, ok bool, err error) {
	switch v.Kind() {
	case strictjson.String:
		s, err := v.Text()
		return TextValue(s), true, err
	case strictjson.Number:
		return NumberValue(numberFrom(string(v.Raw()))), true, nil
	case strictjson.Boolean:
		b, err := v.Bool()
		return BoolValue(b), true, err
	case strictjson.Array:
		list := []string{}
		for e := range v.Elements() {
			if e.Kind() != strictjson.String {
				return Value{}, false, nil
			}
			s, err := e.Text()
			if err != nil {
				return Value{}, true, err
			}
			list = append(list, s)
		}
		return Value{typ: List, list: list}, true, nil
	}
	return Value{}, false, nil
}

// Encode is the canonical JSON of r: action, then values by name in byte order.
func (r Result) Encode() ([]byte, error) { return r.append(nil), nil }

// MarshalJSON is [Result.Encode].
func (r Result) MarshalJSON() ([]byte, error) { return r.append(nil), nil }

func (r Result) append(dst []byte) []byte {
	dst = append(dst, '{')
	dst = r.AppendMembers(dst)
	return append(dst, '}')
}

// AppendMembers appends the members of r's JSON without the braces, so that
// other members can stand beside them.
func (r Result) AppendMembers(dst []byte) []byte {
	dst = strictjson.AppendKey(dst, "action")
	dst = strictjson.AppendString(dst, string(r.Action))
	if r.Action == ActionAccept {
		dst = strictjson.AppendKey(dst, "values")
		dst = r.Values.append(dst)
	}
	return dst
}

// Equivalent reports whether two answers are the same: equal action and equal
// values, numbers by their exact decimal value, lists with their order.
func Equivalent(a, b Result) bool {
	if a.Action != b.Action {
		return false
	}
	if a.Action != ActionAccept {
		return true
	}
	names := a.Values.names()
	if len(names) != len(b.Values.names()) {
		return false
	}
	for _, name := range names {
		if !a.Values[name].Equal(b.Values[name]) {
			return false
		}
	}
	return true
}
