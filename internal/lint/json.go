package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"askback/forms"
	"askback/internal/strictjson"
)

// JSON is the report as --json prints it, without a line break at the end: one
// request is {"form","ignored","warnings"} or {"error","errors"}, a result
// {"requests":[{"key",…}]}.
func (r *Report) JSON() []byte {
	if !r.FromResult {
		return encode(r.Requests[0].json(nil))
	}
	if len(r.Problems) > 0 {
		return encode(refusal{errors: r.Problems}.json(nil))
	}
	list := make([]json.RawMessage, len(r.Requests))
	for i, q := range r.Requests {
		list[i] = encode(q.json(&q.Key))
	}
	return encode(struct {
		Requests []json.RawMessage `json:"requests"`
	}{list})
}

type jsonError struct {
	Field   string `json:"field,omitempty"`
	Keyword string `json:"keyword,omitempty"`
	Message string `json:"message"`
}

type jsonIgnored struct {
	Field   string `json:"field,omitempty"`
	Keyword string `json:"keyword"`
}

type jsonWarning struct {
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

type refusal struct{ errors forms.SchemaErrors }

func (r refusal) json(key *string) any {
	all := make([]jsonError, len(r.errors))
	for i, e := range r.errors {
		all[i] = jsonError{Field: e.Field, Keyword: e.Keyword, Message: e.Message}
	}
	return struct {
		Key    *string     `json:"key,omitempty"`
		Error  jsonError   `json:"error"`
		Errors []jsonError `json:"errors"`
	}{key, all[0], all}
}

func (q Request) json(key *string) any {
	if len(q.Errors) > 0 {
		return refusal{q.Errors}.json(key)
	}
	form, _ := q.Form.Encode()
	ignored := make([]jsonIgnored, len(q.Ignored))
	for i, ig := range q.Ignored {
		ignored[i] = jsonIgnored(ig)
	}
	warnings := make([]jsonWarning, len(q.Warnings))
	for i, w := range q.Warnings {
		warnings[i] = jsonWarning(w)
	}
	return struct {
		Key      *string         `json:"key,omitempty"`
		Form     json.RawMessage `json:"form"`
		Ignored  []jsonIgnored   `json:"ignored"`
		Warnings []jsonWarning   `json:"warnings"`
	}{key, form, ignored, warnings}
}

// encode is JSON without the escapes that only HTML needs.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("lint: %v", err)) // strings and raw JSON of our own always encode
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// AnswerReport is whether an answer fits a form.
type AnswerReport struct {
	Key    string // of inputRequests; empty outside a result
	Errors forms.Errors
}

// CheckAnswers checks prepared answers against the forms of r, which must be
// OK: one result for one form, or an array with a result for each form in
// order. The error wraps [ErrNotJSON] for what is no JSON, and otherwise says
// that the number of answers is not that of the forms.
func (r *Report) CheckAnswers(data []byte) ([]AnswerReport, error) {
	v, err := strictjson.Parse(data, strictjson.Limits{MaxBytes: maxInput})
	if err != nil {
		if e, ok := notJSON(err); ok {
			return nil, &notJSONError{"answer", data, e}
		}
		return []AnswerReport{{Errors: malformed(err)}}, nil
	}
	answers := []strictjson.Value{v}
	if v.Kind() == strictjson.Array {
		answers = answers[:0]
		for e := range v.Elements() {
			answers = append(answers, e)
		}
	}
	if len(answers) != len(r.Requests) {
		return nil, fmt.Errorf("got %d, want %d: one answer for each form, as an array where there are several", len(answers), len(r.Requests))
	}
	out := make([]AnswerReport, len(answers))
	for i, a := range answers {
		q := &r.Requests[i]
		out[i].Key = q.Key
		result, err := forms.ResultFrom(a, forms.OurLimits())
		if err != nil {
			out[i].Errors = malformed(err)
			continue
		}
		out[i].Errors = q.Form.Check(result)
	}
	return out, nil
}

// ruleMalformed is for an answer that is no result of any form.
const ruleMalformed = "malformed"

func malformed(err error) forms.Errors {
	message := err.Error()
	if e, ok := errors.AsType[*strictjson.Error](err); ok && e.Path == "" {
		message = "the answer: " + e.Error()
		if e.Problem == strictjson.WrongType || e.Problem == strictjson.MissingKey {
			message += `; an answer is {"action":"accept","values":{…}}, {"action":"decline"} or {"action":"cancel"}`
		}
	}
	return forms.Errors{{Rule: ruleMalformed, Message: message}}
}

// AnswersOK reports whether every answer fits.
func AnswersOK(answers []AnswerReport) bool {
	for _, a := range answers {
		if len(a.Errors) > 0 {
			return false
		}
	}
	return true
}

// AnswersJSON is what --answer prints: {"ok":true} or {"ok":false,"errors":[…]},
// and for the forms of a result {"requests":[{"key",…}]}.
func (r *Report) AnswersJSON(answers []AnswerReport) []byte {
	list := make([]json.RawMessage, len(answers))
	for i, a := range answers {
		var key *string
		if r.FromResult {
			key = &a.Key
		}
		list[i] = encode(a.json(key))
	}
	if !r.FromResult {
		return list[0]
	}
	return encode(struct {
		Requests []json.RawMessage `json:"requests"`
	}{list})
}

func (a AnswerReport) json(key *string) any {
	type fault struct {
		Field   string `json:"field"`
		Rule    string `json:"rule"`
		Message string `json:"message"`
	}
	var faults []fault
	for _, e := range a.Errors {
		faults = append(faults, fault(e))
	}
	return struct {
		Key    *string `json:"key,omitempty"`
		OK     bool    `json:"ok"`
		Errors []fault `json:"errors,omitempty"`
	}{key, len(faults) == 0, faults}
}
