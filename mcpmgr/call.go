package mcpmgr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"askback/forms"
)

// CallTool runs one logical tool call: as many legs as the server's rounds take, and what the
// handlers do in between. arguments must be a JSON object, or nil for none; it is sent as it is,
// and neither it nor anything else of the caller's is changed or kept.
//
// The error is a *[ToolCallError]. A result with IsError is the tool's own failure, not an error.
// Cancelling ctx ends the call at once in every state; time that a handler takes counts against no
// deadline of this package.
func (m *Manager) CallTool(ctx context.Context, b Binding, arguments json.RawMessage, h Handlers) (*Result, error) {
	s, entry, err := m.bound(b)
	if err != nil {
		return nil, err
	}
	if len(arguments) > 0 && (!json.Valid(arguments) || !isObject(arguments)) {
		return nil, &ToolCallError{Code: CodeProtocolError, Server: b.Server, Tool: b.Tool, Message: "the arguments are not a JSON object"}
	}
	c := &call{m: m, s: s, method: "tools/call", name: b.Tool, h: h, entry: entry, arguments: arguments}
	c.params = []member{stringMember("name", b.Tool)}
	if len(arguments) > 0 {
		c.params = append(c.params, rawMember("arguments", arguments))
	}
	return c.run(ctx, entry.ctx)
}

// bound finds what a binding names, if it still is what it was.
func (m *Manager) bound(b Binding) (*session, *toolEntry, error) {
	stale := func(format string, args ...any) error {
		return &ToolCallError{Code: CodeStaleBinding, Server: b.Server, Tool: b.Tool, Message: fmt.Sprintf(format, args...)}
	}
	s, err := m.session(b.Server)
	if err != nil {
		if e, ok := errors.AsType[*ToolCallError](err); ok {
			e.Tool = b.Tool
		}
		return nil, nil, err
	}
	if s.gen != b.Generation {
		return nil, nil, stale("the server was connected anew")
	}
	l := s.toolsNow()
	if l == nil {
		return nil, nil, stale("the server's tools are not known")
	}
	e := l.byName[b.Tool]
	if e == nil {
		return nil, nil, stale("the server no longer has the tool")
	}
	if e.Binding != b {
		return nil, nil, stale("the tool's definition changed")
	}
	return s, e, nil
}

// call is one logical call on its way. It is used by one goroutine.
type call struct {
	m      *Manager
	s      *session
	method string
	name   string
	h      Handlers
	entry  *toolEntry      // of tools/call, else nil
	fence  context.Context // ends with what the call is bound to

	arguments json.RawMessage
	params    []member // of every leg, verbatim

	id     uint64
	states *states
	noises int64 // of the session when the last leg was sent
	legs   int
	forms  int
	rounds int
}

// run drives the call under ctx and the fence of what it is bound to.
func (c *call) run(ctx, fence context.Context) (*Result, error) {
	c.id = c.m.calls.Add(1)
	c.states = &states{}
	c.fence = fence
	c.s.recent.begin(c.states)
	defer c.s.recent.end(c.states)
	res, err := c.drive(ctx)
	if err != nil {
		return nil, c.finishError(err)
	}
	return res, nil
}

// finishError completes an error with where it happened, and keeps states out of it.
func (c *call) finishError(err error) *ToolCallError {
	e, ok := errors.AsType[*ToolCallError](err)
	if !ok {
		e = failf(CodeProtocolError, "%v", err)
	}
	out := *e
	out.Server, out.Tool = c.s.server, c.name
	out.Message = c.states.text(out.Message)
	return &out
}

func (c *call) drive(ctx context.Context) (*Result, error) {
	if err := c.s.beginCall(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.fence, func() { cancel(context.Cause(c.fence)) })()
	if !c.m.rounds(c.method) {
		c.h.Form, c.h.URL, c.h.Sampling, c.h.Roots = nil, nil, nil, nil // what is not offered is not declared
	}
	var last *round
	var responses json.RawMessage
	pause := c.m.opt.StatePause
	for {
		r, res, err := c.exchange(ctx, last, responses)
		if err != nil || res != nil {
			return res, err
		}
		last = r
		if responses, err = c.fulfil(ctx, r, &pause); err != nil {
			return nil, err
		}
	}
}

// exchange sends a leg and reads its result. What the server prints meanwhile waits for the log until the state in the
// result is known: many a server prints what it is about to send.
func (c *call) exchange(ctx context.Context, last *round, responses json.RawMessage) (*round, *Result, error) {
	if c.s.stderr != nil {
		c.s.stderr.hold()
		defer c.s.stderr.release()
	}
	raw, err := c.leg(ctx, last, responses)
	if err != nil {
		return nil, nil, err
	}
	return c.read(ctx, raw)
}

// rounds reports whether calls of a method may have rounds here: on the Host path only tools do.
func (m *Manager) rounds(method string) bool {
	return method == "tools/call" || m.opt.Inspect != nil
}

// read looks at a leg's result: a final one, or a round that is fit to be asked.
func (c *call) read(ctx context.Context, raw json.RawMessage) (*round, *Result, error) {
	ms, err := members(raw)
	if err != nil {
		ms, _ = split(raw) // keys may stand twice in it
	}
	c.learn(ms)
	if err != nil {
		return nil, nil, failf(CodeProtocolError, "the server's result is malformed: %v", err)
	}
	kind, typ := kindOf(ms)
	switch {
	case kind == resultFinal:
		res, err := c.finish(raw, ms)
		return nil, res, err
	case kind == resultOther:
		return nil, nil, failf(CodeUnsupportedResult, "the server's result is of the unknown type %s", clipText(c.states.text(string(c.states.json(typ))), 60))
	case !c.s.modern():
		return nil, nil, failf(CodeUnsupportedResult, "the server asks for input on a legacy connection, which has no rounds")
	case !c.m.rounds(c.method):
		return nil, nil, failf(CodeUnsupportedInput, "the server asks for input in reply to %s, which is not supported here", c.method)
	case !c.h.interactive():
		return nil, nil, failf(CodeNoHandler, "the server asks for input, and nobody can be asked")
	}
	r, terr := readRound(ms)
	if terr != nil {
		return nil, nil, terr
	}
	if c.rounds++; c.rounds > c.m.opt.Rounds {
		return nil, nil, failf(CodeRoundLimit, "the server still asks for input after %d rounds", c.m.opt.Rounds)
	}
	for i := range r.requests {
		if terr := r.requests[i].supported(c.h); terr != nil {
			return nil, nil, terr
		}
	}
	who := forms.Requester{Name: c.s.server, Source: clipText(c.name, 500)}
	for i := range r.requests {
		if terr := r.requests[i].check(c.h, who, c.states); terr != nil {
			return nil, nil, terr
		}
	}
	if cause := c.cause(ctx); cause != nil {
		return nil, nil, c.ended(cause, false)
	}
	return r, nil, nil
}

// learn remembers every state that a result bears, whatever becomes of it: an error quotes the server, too.
func (c *call) learn(ms []member) {
	for _, m := range ms {
		if m.name == "requestState" && isString(m.val) {
			c.states.add(m.val)
		}
	}
}

// cause returns why the call has ended from outside, or nil. The fence is looked at as well as
// ctx, which hears of it a moment later.
func (c *call) cause(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if c.fence != nil && c.fence.Err() != nil {
		return context.Cause(c.fence)
	}
	return nil
}

// overtaken returns why a reply that is here no longer counts: the caller gave up, or the server
// was replaced. A reply before the end of the connection, or of the definition, was in time.
func (c *call) overtaken(ctx context.Context) error {
	cause := c.cause(ctx)
	if e, ok := errors.AsType[*endCause](cause); ok && (e.kind == endLost || e.kind == endDefinition) {
		return nil
	}
	return cause
}

// finish makes the result of a final leg.
func (c *call) finish(raw json.RawMessage, ms []member) (*Result, error) {
	res := &Result{Legs: c.legs, Forms: c.forms}
	if v, ok := find(ms, "isError"); ok {
		res.IsError = string(v) == "true"
	}
	structured, has := find(ms, "structuredContent")
	if c.entry != nil && c.entry.OutputSchema != nil && !res.IsError {
		if !has {
			return nil, failf(CodeProtocolError, "the tool has an outputSchema, but its result has no structuredContent")
		}
		if err := c.m.checkOutput(c.entry, structured); err != nil {
			return nil, failf(CodeProtocolError, "the tool's result does not fit its outputSchema: %s", err)
		}
	}
	res.Raw = c.states.json(raw)
	if len(res.Raw) != len(raw) || &res.Raw[0] != &raw[0] {
		var err error
		if ms, err = members(res.Raw); err != nil {
			return nil, failf(CodeProtocolError, "the server's result is malformed: %v", err)
		}
		structured, has = find(ms, "structuredContent")
	}
	if has && !isNull(structured) {
		res.Structured = structured
	}
	if c.method == "tools/call" {
		if v, ok := find(ms, "content"); ok && !isNull(v) {
			els, err := elements(v)
			if err != nil {
				return nil, failf(CodeProtocolError, "the content of the tool's result is not a list")
			}
			res.Content = els
		}
	}
	return res, nil
}

// fulfil asks for everything that the round asks, one after the other, and returns the
// inputResponses of the retry. A round without requests waits a while instead.
func (c *call) fulfil(ctx context.Context, r *round, pause *time.Duration) (json.RawMessage, error) {
	if !r.asks() {
		if err := sleep(ctx, *pause); err != nil {
			return nil, c.ended(err, false)
		}
		*pause = min(2**pause, c.m.opt.StatePauseMax)
		return json.RawMessage("{}"), nil
	}
	*pause = c.m.opt.StatePause
	var out builder
	for i := range r.requests {
		q := &r.requests[i]
		o := Origin{Server: c.s.server, Method: c.method, Name: c.name, Call: c.id, Round: c.rounds, Index: i + 1, Total: len(r.requests)}
		raw, err := ask(ctx, q, o, c.h)
		if cause := c.cause(ctx); cause != nil { // an answer that comes after the end is dropped
			return nil, c.ended(cause, false)
		}
		if err != nil {
			return nil, err
		}
		if q.kind == inputForm {
			c.forms++
		}
		out.raw(q.rawKey, raw)
	}
	return out.bytes(), nil
}
