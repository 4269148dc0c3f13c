// Package lint is the core of `askback lint`: it says how an elicitation will
// be read, or why it is refused, for the author of a server. It takes bytes and
// returns a [Report]; files, flags and exit codes are the caller's.
package lint

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"askback/forms"
	"askback/internal/strictjson"
)

// The limits of a round, and of an input file.
const (
	maxInput    = 4 << 20
	maxRequests = 8
	maxTogether = 64 << 10
	maxState    = 16 << 10
)

// toolName stands for the tool and the requester, which a file does not know.
const toolName = "lint"

// Report is how an input is read: one request for params or a bare schema,
// any number for a result.
type Report struct {
	// FromResult says that the input was a whole input_required result.
	FromResult bool
	// Problems are what is wrong with a result itself, around its requests.
	Problems forms.SchemaErrors
	Requests []Request
}

// Request is how one elicitation is read. It is refused when it has Errors;
// else Form is what a Host gets, with every length settled.
type Request struct {
	Key      string // of inputRequests; empty outside a result
	Form     forms.Form
	Ignored  []forms.Ignored
	Warnings []Warning
	Errors   forms.SchemaErrors
}

// Warning is something that the MCP specification forbids or discourages, or
// that works differently from what its author may expect. An empty Field is
// the form as a whole.
type Warning struct{ Field, Message string }

// OK reports whether nothing is refused.
func (r *Report) OK() bool {
	if len(r.Problems) > 0 {
		return false
	}
	for _, q := range r.Requests {
		if len(q.Errors) > 0 {
			return false
		}
	}
	return true
}

// ErrNotJSON is what the errors of [Read] and [Report.CheckAnswers] are for an
// input that is no JSON at all, which is a mistake in the use of the command
// and no refusal.
var ErrNotJSON = errors.New("not JSON")

// notJSONError is an [ErrNotJSON] that says what is not JSON, why and where.
type notJSONError struct {
	what string
	data []byte
	err  *strictjson.Error
}

func (e *notJSONError) Is(target error) bool { return target == ErrNotJSON }

func (e *notJSONError) Error() string {
	out := "the " + e.what + " is not JSON"
	switch {
	case e.err.Problem == strictjson.TrailingText:
		out += ": more text follows the value"
	case e.err.Detail != "":
		out += ": " + e.err.Detail
	}
	var where []string
	if e.err.Offset > 0 {
		where = append(where, place(e.data, int(e.err.Offset)))
	}
	if e.err.Path != "" {
		where = append(where, "at "+e.err.Path)
	}
	if where == nil {
		return out
	}
	return out + " (" + strings.Join(where, ", ") + ")"
}

// place is where an offset is: by line and column in a text of several lines.
func place(data []byte, offset int) string {
	before := data[:min(offset, len(data))]
	if !bytes.Contains(bytes.TrimSpace(data), []byte("\n")) {
		return fmt.Sprintf("byte %d", offset)
	}
	start := bytes.LastIndexByte(before, '\n') + 1
	return fmt.Sprintf("line %d, column %d", bytes.Count(before, []byte("\n"))+1, utf8.RuneCount(before[start:])+1)
}

// Read reads an input: with requestedSchema it is the params of
// elicitation/create, with inputRequests a whole input_required result, else a
// bare schema.
func Read(data []byte) (*Report, error) {
	v, err := strictjson.Parse(data, strictjson.Limits{MaxBytes: maxInput, LoneSurrogates: true})
	if err != nil {
		if e, ok := notJSON(err); ok {
			return nil, &notJSONError{"input", data, e}
		}
		return refusedWhole(err), nil
	}
	if requests, ok := v.Get("inputRequests"); ok {
		if _, params := v.Get("requestedSchema"); !params {
			return readResult(v, requests), nil
		}
	}
	return &Report{Requests: []Request{readRequest(v)}}, nil
}

// notJSON reports an error of the grammar, as opposed to JSON that we refuse
// for a duplicate key, its size, or its characters.
func notJSON(err error) (*strictjson.Error, bool) {
	e, ok := errors.AsType[*strictjson.Error](err)
	return e, ok && (e.Problem == strictjson.Syntax || e.Problem == strictjson.TrailingText)
}

func refusedWhole(err error) *Report {
	return &Report{Requests: []Request{{Errors: forms.JSONErrors(err)}}}
}

// readRequest reads params or a bare schema.
func readRequest(v strictjson.Value) Request {
	var el forms.Elicitation
	var err error
	if _, ok := v.Get("requestedSchema"); ok {
		el, err = forms.ReadElicitation(v.Raw(), forms.SchemaOptions{MaxBytes: maxTogether})
	} else {
		el.Schema, err = forms.ReadSchema(v.Raw(), forms.SchemaOptions{MaxBytes: maxTogether})
	}
	if err != nil {
		es, _ := errors.AsType[forms.SchemaErrors](err)
		return Request{Errors: withHint(es, v)}
	}
	form, err := el.Form(forms.Requester{Name: toolName}, toolName).Fit(forms.OurLimits())
	if err != nil {
		es, _ := errors.AsType[forms.Errors](err)
		return Request{Errors: admission(es, el)}
	}
	return Request{Form: form, Ignored: el.Schema.Ignored, Warnings: warnings(form, el.Schema)}
}

// looksLike is what an input that is no schema seems to be, by a key of it.
var looksLike = []struct{ key, words string }{
	{"params", "this looks like a request; lint reads its params, a whole result, or a bare schema"},
	{"result", "this looks like a response; lint reads its result, params, or a bare schema"},
	{"url", "this looks like params of URL mode, which has no form"},
	{"message", "this looks like params without requestedSchema"},
	{"inputSchema", "this looks like a tool; a form has a schema of its own"},
	{"requestState", "this looks like a result without inputRequests, which asks nothing"},
	{"resultType", "this looks like a result without inputRequests, which asks nothing"},
	{"content", "this looks like a final result, which asks nothing"},
}

// withHint adds what an input seems to be when it is read as a schema by
// default and is none.
func withHint(es forms.SchemaErrors, v strictjson.Value) forms.SchemaErrors {
	if _, ok := v.Get("requestedSchema"); ok {
		return es
	}
	for _, like := range looksLike {
		if _, ok := v.Get(like.key); ok {
			return append(es, &forms.SchemaError{Message: like.words})
		}
	}
	return es
}

// schemaKeywords are the rules of admission that are keywords of a schema.
var schemaKeywords = map[string]bool{
	forms.RuleMinLength: true, forms.RuleMaxLength: true, forms.RuleFormat: true, forms.RuleMinimum: true,
	forms.RuleMaximum: true, forms.RuleMinItems: true, forms.RuleMaxItems: true, forms.RuleDefault: true,
	forms.RuleDescription: true,
}

// admission turns errors of admission into those of a schema.
func admission(es forms.Errors, el forms.Elicitation) forms.SchemaErrors {
	out := make(forms.SchemaErrors, len(es))
	for i, e := range es {
		out[i] = &forms.SchemaError{Field: e.Field, Message: e.Message}
		switch {
		case schemaKeywords[e.Rule]:
			out[i].Keyword = e.Rule
		case e.Rule == forms.RuleOptions:
			out[i].Keyword = "enum"
		case e.Rule == forms.RuleMessage:
			out[i].Keyword = el.Schema.MessageKeyword(el.Message)
			if out[i].Keyword != forms.RuleMessage {
				out[i].Message = "stands in for the message, which is missing or empty; " + e.Message
			}
		case e.Field != "": // the size of a name, or of a field as a whole
			out[i].Keyword = "properties"
		}
	}
	return out
}

// readResult reads a whole input_required result.
func readResult(v, requests strictjson.Value) *Report {
	r := &Report{FromResult: true}
	refuse := func(keyword, format string, args ...any) {
		r.Problems = append(r.Problems, &forms.SchemaError{Keyword: keyword, Message: fmt.Sprintf(format, args...)})
	}
	if requests.Kind() != strictjson.Object {
		refuse("inputRequests", "must be an object")
		return r
	}
	if n := requests.Len(); n > maxRequests {
		refuse("inputRequests", "holds %d requests, at most %d are allowed in one result", n, maxRequests)
	}
	if n := len(requests.Raw()); n > maxTogether {
		refuse("inputRequests", "is %d bytes, at most %d are allowed", n, maxTogether)
	}
	state, ok := v.Get("requestState")
	switch {
	case !ok:
	case state.Kind() != strictjson.String:
		refuse("requestState", "must be a string")
	case len(stateText(state)) > maxState:
		refuse("requestState", "is %d bytes, at most %d are allowed", len(stateText(state)), maxState)
	}
	if len(r.Problems) > 0 {
		return r
	}
	for key, entry := range requests.Members() {
		q := readEntry(entry)
		q.Key = key
		if len(q.Errors) == 0 {
			if reflects(entry, state) {
				q.Errors = forms.SchemaErrors{{Keyword: "requestState", Message: "stands in the form, where people would see it; it is for the server alone"}}
			}
			q.Warnings = append(q.Warnings, resultWarnings(v)...)
		}
		r.Requests = append(r.Requests, q)
	}
	return r
}

// readEntry reads one entry of inputRequests.
func readEntry(v strictjson.Value) Request {
	refused := func(keyword, message string) Request {
		return Request{Errors: forms.SchemaErrors{{Keyword: keyword, Message: message}}}
	}
	if v.Kind() != strictjson.Object {
		return refused("", "a request must be an object with method and params")
	}
	method, _ := v.Get("method")
	if name, err := method.Text(); err != nil || name != "elicitation/create" {
		return refused("method", `must be "elicitation/create"; nothing else can be shown as a form`)
	}
	params, ok := v.Get("params")
	if !ok || params.Kind() != strictjson.Object {
		return refused("params", "must be an object")
	}
	if _, ok := params.Get("requestedSchema"); !ok {
		if mode, _ := params.Get("mode"); string(mode.Raw()) == `"url"` {
			return refused("mode", `only "form" can be shown`)
		}
		return refused("requestedSchema", "is missing")
	}
	return readRequest(params)
}

// stateText is a state as it is meant; one with half a surrogate pair, which no text can hold, as it is written.
func stateText(state strictjson.Value) string {
	if text, err := state.Text(); err == nil {
		return text
	}
	raw := state.Raw()
	return string(raw[1 : len(raw)-1])
}

// reflects reports whether a request holds the state, as it is written or as it is meant.
func reflects(entry, state strictjson.Value) bool {
	const shortest = 16
	if state.Kind() != strictjson.String {
		return false
	}
	raw := state.Raw()
	if raw = raw[1 : len(raw)-1]; len(raw) >= shortest && bytes.Contains(entry.Raw(), raw) {
		return true
	}
	text := stateText(state)
	return len(text) >= shortest && holds(entry, text)
}

// holds reports whether a key or a text in v holds text.
func holds(v strictjson.Value, text string) bool {
	switch v.Kind() {
	case strictjson.String:
		s, err := v.Text()
		return err == nil && strings.Contains(s, text)
	case strictjson.Object:
		for key, val := range v.Members() {
			if strings.Contains(key, text) || holds(val, text) {
				return true
			}
		}
	case strictjson.Array:
		for e := range v.Elements() {
			if holds(e, text) {
				return true
			}
		}
	}
	return false
}

// resultWarnings are about the result around a request.
func resultWarnings(v strictjson.Value) []Warning {
	kind, ok := v.Get("resultType")
	if s, err := kind.Text(); ok && err == nil && s == "input_required" {
		return nil
	}
	return []Warning{{Message: `resultType is not "input_required"; a client takes the result as complete and asks nothing`}}
}
