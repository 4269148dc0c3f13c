package mcpmgr

import (
	"encoding/json"
	"errors"
	"fmt"

	"askback/forms"
)

// round is one input_required result, checked as a whole before anything of it is shown.
type round struct {
	requests []inputRequest // in the server's order
	present  bool           // inputRequests was there, even if empty
	state    json.RawMessage
	hasState bool
}

// inputRequest is one checked entry of a round.
type inputRequest struct {
	rawKey json.RawMessage // verbatim: it goes back as it came
	kind   inputKind
	params json.RawMessage
	form   forms.Elicitation
	fitted forms.Form
	url    URLRequest
}

type inputKind int

const (
	inputForm inputKind = iota
	inputURL
	inputSampling
	inputRoots
)

// asks reports whether the round asks for anything; one that does not is retried after a pause.
func (r *round) asks() bool { return len(r.requests) > 0 }

// resultKind is what the first look at a result finds.
type resultKind int

const (
	resultFinal resultKind = iota
	resultRound
	resultOther
)

// kindOf branches on resultType, before anything else of a result is looked at.
func kindOf(ms []member) (resultKind, json.RawMessage) {
	typ, ok := find(ms, "resultType")
	switch {
	case !ok || means(typ, "complete"):
		return resultFinal, typ
	case means(typ, "input_required"):
		return resultRound, typ
	}
	return resultOther, typ
}

// readRound takes an input_required result apart. Sizes are checked before anything is decoded.
func readRound(ms []member) (*round, *ToolCallError) {
	r := &round{}
	if v, ok := find(ms, "requestState"); ok {
		if !isString(v) {
			return nil, failf(CodeProtocolError, "the requestState of an input_required result is not a string")
		}
		if n := stateSize(v); n > MaxState {
			return nil, failf(CodeLimitExceeded, "the requestState has %d bytes; the limit is %d", n, MaxState)
		}
		r.state, r.hasState = v, true
	}
	v, ok := find(ms, "inputRequests")
	if !ok {
		if !r.hasState {
			return nil, failf(CodeProtocolError, "an input_required result has neither inputRequests nor requestState")
		}
		return r, nil
	}
	r.present = true
	if len(v) > MaxInputBytes {
		return nil, failf(CodeLimitExceeded, "the inputRequests have %d bytes; the limit is %d", len(v), MaxInputBytes)
	}
	entries, err := members(v)
	if err != nil {
		return nil, failf(CodeProtocolError, "the inputRequests are malformed: %v", err)
	}
	if len(entries) > MaxInputRequests {
		return nil, failf(CodeLimitExceeded, "the server asks %d things at once; the limit is %d", len(entries), MaxInputRequests)
	}
	for _, e := range entries {
		q, terr := readRequest(e)
		if terr != nil {
			return nil, terr
		}
		r.requests = append(r.requests, q)
	}
	return r, nil
}

// readRequest reads the frame of one entry: {"method", "params"?} and nothing else.
func readRequest(e member) (inputRequest, *ToolCallError) {
	q := inputRequest{rawKey: e.rawKey}
	ms, err := members(e.val)
	if err != nil {
		return q, failf(CodeProtocolError, "an entry of inputRequests is malformed: %v", err)
	}
	v, _ := find(ms, "method")
	method, ok := stringValue(v)
	if !ok {
		return q, failf(CodeProtocolError, "an entry of inputRequests has no method")
	}
	for _, m := range ms {
		if m.name != "method" && m.name != "params" {
			return q, failf(CodeProtocolError, "an entry of inputRequests has the unknown key %q", clipText(m.name, 60))
		}
	}
	params, has := find(ms, "params")
	if has && !isObject(params) {
		return q, failf(CodeProtocolError, "the params of an entry of inputRequests are not an object")
	}
	q.params = params
	switch method {
	case "elicitation/create":
		mode, ok := lookup(params, "mode")
		switch {
		case !ok || means(mode, "form"):
			q.kind = inputForm
		case means(mode, "url"):
			q.kind = inputURL
		default:
			return q, failf(CodeUnsupportedInput, "the server asks with the elicitation mode %s, which is not known", quoteMode(mode))
		}
	case "sampling/createMessage":
		q.kind = inputSampling
	case "roots/list":
		q.kind = inputRoots
	default:
		return q, failf(CodeUnsupportedInput, "the server asks for %q, which is not known", clipText(method, 60))
	}
	return q, nil
}

// quoteMode tells a mode as it is meant, for a state in it would not be known in another spelling.
func quoteMode(mode json.RawMessage) string {
	if text, ok := stringValue(mode); ok {
		return quoteShort(text)
	}
	return "that is not a string"
}

// supported fails when the handlers of a call cannot give what the entry asks for.
func (q *inputRequest) supported(h Handlers) *ToolCallError {
	switch q.kind {
	case inputForm:
		if h.Form == nil {
			return failf(CodeNoHandler, "the server asks with a form, and nobody can be asked")
		}
	case inputURL:
		if h.URL == nil {
			return failf(CodeUnsupportedInput, "the server asks a person to visit an address, which is not supported here")
		}
	case inputSampling:
		if h.Sampling == nil {
			return failf(CodeUnsupportedInput, "the server asks for a model's answer (sampling), which is not supported here")
		}
	case inputRoots:
		if h.Roots == nil {
			return failf(CodeUnsupportedInput, "the server asks for roots, which are not supported here")
		}
	}
	return nil
}

// check decodes what the entry asks with, up to where it can be shown.
func (q *inputRequest) check(h Handlers, who forms.Requester, st *states) *ToolCallError {
	if st.reflectedIn(q.params) {
		return failf(CodeInvalidForm, "the server shows its own requestState in what it asks")
	}
	switch q.kind {
	case inputForm:
		return q.checkForm(h.Limits, who)
	case inputURL:
		return q.checkURL()
	case inputSampling:
		if msgs, ok := lookup(q.params, "messages"); !ok || len(msgs) == 0 || msgs[0] != '[' {
			return failf(CodeInvalidForm, "the server's sampling request has no messages")
		}
	}
	return nil
}

func (q *inputRequest) checkForm(lim forms.Limits, who forms.Requester) *ToolCallError {
	if lim == (forms.Limits{}) {
		lim = forms.OurLimits()
	}
	if q.params == nil {
		return failf(CodeInvalidForm, "the server asks with a form, but sends none: the request has no params")
	}
	el, err := forms.ReadElicitation(q.params, forms.SchemaOptions{Limits: lim})
	if err != nil {
		return failf(CodeInvalidForm, "the server's form cannot be shown: %s", firstOf(err))
	}
	fitted, err := el.Form(who, who.Source).Fit(lim)
	if err != nil {
		return failf(CodeInvalidForm, "the server's form cannot be shown: %s", firstOf(err))
	}
	q.form, q.fitted = el, fitted
	return nil
}

// firstOf shortens a list of errors to its first and their number: a failure is told in one line.
func firstOf(err error) string {
	first, more := err, 0
	if all, ok := errors.AsType[forms.SchemaErrors](err); ok && len(all) > 1 {
		first, more = all[0], len(all)-1
	} else if all, ok := errors.AsType[forms.Errors](err); ok && len(all) > 1 {
		first, more = all[0], len(all)-1
	}
	if more == 0 {
		return err.Error()
	}
	return fmt.Sprintf("%s (and %d more)", first.Error(), more)
}

// maxAddress bounds an address that a person is asked to visit, in bytes.
const maxAddress = 8 << 10

func (q *inputRequest) checkURL() *ToolCallError {
	ms, err := members(q.params)
	if err != nil {
		return failf(CodeInvalidForm, "the server's request to visit an address is malformed")
	}
	for _, m := range ms {
		text, ok := stringValue(m.val)
		switch m.name {
		case "mode", "_meta":
			continue
		case "message":
			q.url.Message = text
		case "url":
			q.url.URL = text
		case "elicitationId":
			q.url.ElicitationID = text
		default:
			return failf(CodeInvalidForm, "the server's request to visit an address has the unknown key %q", clipText(m.name, 60))
		}
		if !ok {
			return failf(CodeInvalidForm, "the %s of the server's request to visit an address is not a string", m.name)
		}
	}
	switch { // what may be opened is for whoever opens it to say; a person can decline any
	case len(q.url.URL) > maxAddress:
		return failf(CodeInvalidForm, "the server asks a person to visit an address of more than %d bytes", maxAddress)
	case q.url.URL == "":
		return failf(CodeInvalidForm, "the server asks a person to visit an address and gives none")
	}
	return nil
}

// answered is one entry of inputResponses.
func answered(res forms.Result, fields []forms.Field) (json.RawMessage, error) {
	var b builder
	b.add("action", quoteString(string(res.Action)))
	if res.Action != forms.ActionAccept {
		return b.bytes(), nil
	}
	var content builder
	for _, f := range fields {
		v, ok := res.Values[f.Name]
		if !ok {
			continue
		}
		raw, err := v.MarshalJSON()
		if err != nil {
			return nil, err
		}
		content.add(f.Name, raw)
	}
	return b.add("content", content.bytes()).bytes(), nil
}
