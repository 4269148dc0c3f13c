package mcpmgr

import (
	"context"
	"encoding/json"
	"errors"

	"askback/forms"
)

// ask puts one checked request to its handler and checks the answer. The result is the value for
// inputResponses, or for the response to a pushed request.
func ask(ctx context.Context, q *inputRequest, o Origin, h Handlers) (json.RawMessage, error) {
	switch q.kind {
	case inputForm:
		res, err := h.Form(ctx, FormRequest{Origin: o, Form: q.fitted, Hints: q.form.Schema.Hints, Ignored: q.form.Schema.Ignored, Params: q.params})
		if err != nil {
			return nil, handlerError(err)
		}
		return checkAnswer(q, res)
	case inputURL:
		u := q.url
		u.Origin = o
		action, err := h.URL(ctx, u)
		if err != nil {
			return nil, handlerError(err)
		}
		switch action {
		case forms.ActionAccept, forms.ActionDecline, forms.ActionCancel:
			return (&builder{}).add("action", quoteString(string(action))).bytes(), nil
		}
		return nil, failf(CodeInvalidAnswer, "the answer to the request to visit an address is none")
	case inputSampling:
		raw, err := h.Sampling(ctx, SamplingRequest{Origin: o, Params: q.params})
		if err != nil {
			return nil, handlerError(err)
		}
		return checkSampling(raw)
	default:
		roots, err := h.Roots(ctx, RootsRequest{Origin: o})
		if err != nil {
			return nil, handlerError(err)
		}
		if roots == nil {
			roots = []Root{}
		}
		list, err := json.Marshal(roots)
		if err != nil {
			return nil, failf(CodeInvalidAnswer, "the roots cannot be written")
		}
		return (&builder{}).add("roots", list).bytes(), nil
	}
}

func handlerError(err error) error {
	if e, ok := errors.AsType[*ToolCallError](err); ok {
		return e
	}
	return failf(CodeCancelled, "%s", err.Error())
}

// checkAnswer holds an answer against the server's own schema, whoever checked it before.
func checkAnswer(q *inputRequest, res forms.Result) (json.RawMessage, error) {
	switch res.Action {
	case forms.ActionAccept, forms.ActionDecline, forms.ActionCancel:
	default:
		return nil, failf(CodeInvalidAnswer, "the answer is neither accept, decline nor cancel")
	}
	if res.Action != forms.ActionAccept {
		res.Values = nil
		return answered(res, nil)
	}
	fields := q.form.Schema.Fields
	if errs := forms.Check(fields, res); len(errs) > 0 {
		return nil, failf(CodeInvalidAnswer, "the answer does not fit the server's form: %s", namesOnly(errs))
	}
	raw, err := answered(forms.Form{Fields: fields}.Canonical(res), fields)
	if err != nil {
		return nil, failf(CodeInvalidAnswer, "the answer cannot be written as JSON")
	}
	return raw, nil
}

// namesOnly names the fields and rules that an answer breaks, without any value of it.
func namesOnly(errs forms.Errors) string {
	s := ""
	for i, e := range errs {
		if i == 4 {
			return s + ", …"
		}
		if i > 0 {
			s += ", "
		}
		s += quoteShort(e.Field) + " (" + e.Rule + ")"
	}
	return s
}

func quoteShort(s string) string { return string(quoteString(clipText(s, 60))) }

// checkSampling wants the shape of a CreateMessageResult: role, content and model.
func checkSampling(raw json.RawMessage) (json.RawMessage, error) {
	if !json.Valid(raw) {
		return nil, failf(CodeInvalidAnswer, "the sampling answer is not JSON")
	}
	ms, err := members(raw)
	if err != nil {
		return nil, failf(CodeInvalidAnswer, "the sampling answer is malformed: %v", err)
	}
	for _, key := range []string{"role", "content", "model"} {
		if _, ok := find(ms, key); !ok {
			return nil, failf(CodeInvalidAnswer, "the sampling answer has no %s", key)
		}
	}
	return raw, nil
}

// pushed answers a legacy server's own request, for an inspector that declared it. ok is false
// where there is no handler.
func (s *session) pushed(ctx context.Context, method string, params json.RawMessage) (result json.RawMessage, code int64, msg string, ok bool) {
	h := s.opt.Inspect.Push
	e := member{rawKey: quoteString("push"), val: (&builder{}).add("method", quoteString(method)).bytes()}
	if params != nil {
		e.val = (&builder{}).add("method", quoteString(method)).add("params", params).bytes()
	}
	q, terr := readRequest(e)
	if terr == nil {
		if terr = q.supported(h); terr != nil {
			return nil, 0, "", false
		}
		terr = q.check(h, forms.Requester{Name: s.server}, nil)
	} else if terr.Code == CodeUnsupportedInput {
		return nil, 0, "", false
	}
	if terr != nil {
		return nil, -32602, terr.Message, true
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(context.Cause(s.ctx)) })()
	result, err := ask(ctx, &q, Origin{Server: s.server, Index: 1, Total: 1, Pushed: true}, h)
	switch {
	case err == nil:
		return result, 0, "", true
	case q.kind == inputSampling && CodeOf(err) == CodeCancelled && ctx.Err() == nil:
		return nil, codeRejected, "User rejected sampling request", true
	}
	return nil, -32603, "the request was not answered", true
}

// codeRejected is the code that the protocol's pages give a person's rejection of a sampling request.
const codeRejected = -1

// errTakenBack is the cause of a pushed request's context when the server no longer wants an answer.
var errTakenBack = errors.New("the server took its request back")

// pushBegins remembers that the request id of the server is being answered, until done.
func (s *session) pushBegins(ctx context.Context, id string) (_ context.Context, done func()) {
	if s.opt.Inspect == nil { // only an inspector answers what is worth taking back
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	id = idKey(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, twice := s.pushes[id]; twice { // the first of that id keeps it
		return ctx, func() { cancel(nil) }
	}
	if s.pushes == nil {
		s.pushes = map[string]context.CancelCauseFunc{}
	}
	s.pushes[id] = cancel
	return ctx, func() {
		s.mu.Lock()
		delete(s.pushes, id)
		s.mu.Unlock()
		cancel(nil)
	}
}

// takeBack ends the answering of a request that the server has cancelled: what it asked closes.
func (s *session) takeBack(id string) {
	s.mu.Lock()
	cancel := s.pushes[idKey(id)]
	s.mu.Unlock()
	if cancel != nil {
		cancel(errTakenBack)
	}
}

// idKey is an id, as a JSON token, in one spelling.
func idKey(id string) string {
	if text, ok := stringValue(json.RawMessage(id)); ok {
		return string(quoteString(text))
	}
	return id
}
