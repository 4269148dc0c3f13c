package mcpmgr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// leg sends one leg and returns its raw result. A header mismatch is repaired once: the tools are
// listed again, and if this one is unchanged the same leg goes out once more.
func (c *call) leg(ctx context.Context, last *round, responses json.RawMessage) (json.RawMessage, error) {
	raw, err := c.send(ctx, last, responses)
	if code, ok := rpcCode(err); ok && code == codeHeaderMismatch && c.entry != nil && c.s.modern() {
		rctx, cancel := context.WithTimeoutCause(ctx, c.s.legTimeout, errLegTimeout)
		rerr := c.s.refreshTools(rctx)
		late := errors.Is(context.Cause(rctx), errLegTimeout)
		cancel()
		if cause := c.cause(ctx); cause != nil { // the tool changed, among other ends
			return nil, c.ended(cause, false)
		}
		if rerr != nil && late {
			return nil, c.ended(errLegTimeout, false)
		}
		if rerr != nil {
			return nil, failf(CodeServerError, "the server refuses the headers of the call, and its tools cannot be listed: %s", c.s.recent.describe(rerr))
		}
		raw, err = c.send(ctx, last, responses)
	}
	if err != nil {
		return nil, c.legError(ctx, err)
	}
	if cause := c.overtaken(ctx); cause != nil {
		return nil, c.ended(cause, true)
	}
	return raw, nil
}

// send is one request: a new id, the original params, and of the round its answers and its state.
func (c *call) send(ctx context.Context, last *round, responses json.RawMessage) (json.RawMessage, error) {
	c.legs++
	c.noises = c.s.noises.Load()
	req := &request{id: c.s.ids.Add(1), method: c.method, name: c.name, modern: c.s.modern(), version: c.s.version,
		call: c.id, leg: c.legs, states: c.states}
	var b builder
	for _, p := range c.params {
		b.raw(p.rawKey, p.val)
	}
	if last != nil {
		if last.present {
			b.add("inputResponses", responses)
		}
		if last.hasState {
			b.add("requestState", last.state)
			req.echoed = true
		}
	}
	token := ""
	if c.h.Progress != nil && (req.modern || c.m.opt.Inspect != nil) {
		token = "leg-" + strconv.FormatInt(req.id, 10) // fresh, as the id is
		defer c.hearProgress(token)()
	}
	switch {
	case req.modern:
		b.add("_meta", c.s.meta(c.h.capabilities(), token))
		if c.entry != nil {
			req.extra = mirror(c.headers(), c.arguments)
		}
	case token != "":
		b.add("_meta", (&builder{}).add("progressToken", quoteString(token)).bytes())
	}
	if c.h.Log != nil {
		req.note = c.note
	}
	req.params = b.bytes()
	ctx, cancel := context.WithTimeoutCause(ctx, c.s.legTimeout, errLegTimeout)
	defer cancel()
	if cause := c.cause(ctx); cause != nil { // immediately before the send
		return nil, &errNotSent{cause}
	}
	return c.s.link.do(ctx, req)
}

// headers are those of the tool's current definition, which a refresh may have renewed.
func (c *call) headers() []paramHeader {
	if l := c.s.toolsNow(); l != nil {
		if e := l.byName[c.name]; e != nil {
			return e.headers
		}
	}
	return c.entry.headers
}

func (c *call) note(method string, params json.RawMessage) {
	if method == "notifications/message" {
		m := c.s.readLog(params)
		m.Data = c.states.json(m.Data)
		c.h.Log(m)
	}
}

// hearProgress passes on progress with this token until the returned function was called: after
// that none comes any more, whatever the reader is doing.
func (c *call) hearProgress(token string) (stop func()) {
	var mu sync.Mutex
	over := false
	c.s.onProgress(token, func(params json.RawMessage) {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			c.progress(params)
		}
	})
	return func() {
		c.s.offProgress(token)
		mu.Lock()
		defer mu.Unlock()
		over = true
	}
}

func (c *call) progress(params json.RawMessage) {
	ms, err := members(params)
	if err != nil {
		return
	}
	var p Progress
	v, _ := find(ms, "progress")
	if json.Unmarshal(v, &p.Progress) != nil {
		return
	}
	if v, ok := find(ms, "total"); ok && json.Unmarshal(v, &p.Total) != nil {
		p.Total = 0
	}
	if v, ok := find(ms, "message"); ok {
		text, _ := stringValue(v)
		p.Message = clipText(c.states.text(text), 4<<10)
	}
	c.h.Progress(p)
}

// legError turns what a link reports into how the call fails.
func (c *call) legError(ctx context.Context, err error) *ToolCallError {
	if e, ok := errors.AsType[*ToolCallError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		if c.s.forgotten(err) {
			c.s.doubt()
		}
		return c.serverError(e)
	}
	_, lost := errors.AsType[*errLost](err)
	if _, kept := errors.AsType[*errNotSent](err); kept || lost {
		if cause := c.cause(ctx); cause != nil { // the reason for the end, not what it did to the connection
			return c.ended(cause, lost)
		}
		if c.s.http != nil && isConnection(err) {
			c.s.doubt()
		}
		return c.ended(err, lost)
	}
	if e, ok := errors.AsType[*errTooLarge](err); ok {
		return &ToolCallError{Code: CodeLimitExceeded, Message: e.what, Uncertain: true}
	}
	if e, ok := errors.AsType[*errBadReply](err); ok {
		return &ToolCallError{Code: CodeProtocolError, Message: e.msg, Uncertain: true}
	}
	if e, ok := errors.AsType[*errAuth](err); ok {
		c.s.doubt()
		return failf(CodeServerError, "%s", e.msg)
	}
	if e, ok := errors.AsType[*errStatus](err); ok {
		c.s.doubt() // it may have become another server, of another era
		return failf(CodeServerError, "%s", e.msg)
	}
	return failf(CodeProtocolError, "%v", err)
}

func (c *call) serverError(e *jsonrpc.Error) *ToolCallError {
	msg := clipText(c.states.text(e.Message), 4<<10)
	if msg == "" {
		msg = "the server answers with an error and no message"
	}
	code := CodeServerError
	if e.Code == codeUnsupportedVersion {
		c.s.end(&endCause{kind: endLost, msg: "the server no longer speaks " + c.s.version}) // and is probed again
	}
	if e.Code == codeMissingCapability && !c.h.interactive() {
		code = CodeNoHandler
		msg = "the server needs input for this, and nobody can be asked: " + msg
	}
	return &ToolCallError{Code: code, Message: msg, RPCCode: e.Code}
}

// ended turns the cause of an end into how the call fails. sent reports whether a request was on
// the wire, whose effect nobody knows then.
func (c *call) ended(cause error, sent bool) *ToolCallError {
	if errors.Is(cause, errLegTimeout) {
		msg := "the server did not reply in time"
		if c.method != "" {
			msg = fmt.Sprintf("the server did not reply within %v", c.s.legTimeout)
			if c.s.noises.Load() != c.noises { // its reply may have been there, garbled
				msg += c.s.printed()
			}
		}
		return &ToolCallError{Code: CodeTimeout, Message: msg, Uncertain: sent}
	}
	if e, ok := errors.AsType[*errTooLarge](cause); ok {
		return &ToolCallError{Code: CodeLimitExceeded, Message: e.what, Uncertain: sent}
	}
	if errors.Is(cause, context.Canceled) || errors.Is(cause, context.DeadlineExceeded) {
		return &ToolCallError{Code: CodeCancelled, Message: "the call was ended", Uncertain: sent}
	}
	e, ok := errors.AsType[*endCause](cause)
	switch {
	case ok && e.kind == endDefinition:
		return &ToolCallError{Code: CodeStaleBinding, Message: e.msg, Uncertain: sent}
	case ok && e.kind == endClosed:
		return &ToolCallError{Code: CodeCancelled, Message: e.msg, Uncertain: sent}
	case ok && e.kind == endReplaced && !sent:
		return failf(CodeStaleBinding, "%s", e.msg)
	case ok && e.code != "":
		return &ToolCallError{Code: e.code, Message: e.msg, Uncertain: sent}
	case !ok && !isConnection(cause):
		return &ToolCallError{Code: CodeCancelled, Message: "the call was ended", Uncertain: sent} // the caller's own cause
	case sent:
		return &ToolCallError{Code: CodeOutcomeUnknown, Message: "the connection was lost before the reply; whether the call had its effect is not known: " + cause.Error(), Uncertain: true}
	}
	return failf(CodeConnectionLost, "the connection was lost: %s", cause.Error())
}
