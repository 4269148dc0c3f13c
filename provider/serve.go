package provider

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"unicode/utf8"

	"askback/forms"
	"askback/hostclient"
)

// Serve implements hostclient.Handler: it runs one call to its end.
//
// A panic in a call fails that call alone: it runs in the program that may hold a person's terminal.
func (p *Provider) Serve(ctx context.Context, inv *hostclient.Invocation) {
	defer func() {
		if v := recover(); v != nil {
			p.log.Error("panic in a call", "value", fmt.Sprint(v), "stack", string(debug.Stack()))
			inv.Fail("outcome_unknown: An internal error ended the call; the log has the details.")
		}
	}()
	result, err := p.run(ctx, inv)
	if ctx.Err() != nil {
		return // the Host has ended it; what came of it is dropped
	}
	if err == nil {
		err = inv.Result(result)
		if e, ok := errors.AsType[*hostclient.Error](err); ok && e.Code == hostclient.CodeTooLarge {
			err = errorf(CodeLimitExceeded, "The tool's result does not fit: %s", e.Message)
		} else if err != nil {
			p.log.Debug("result not sent", "err", err)
			return
		}
	}
	if err != nil {
		if err := inv.Fail(failure(err)); err != nil {
			p.log.Debug("failure not sent", "err", err)
		}
	}
}

func (p *Provider) run(ctx context.Context, inv *hostclient.Invocation) (hostclient.ToolResult, error) {
	call := inv.Call()
	e := p.lookup(call.ServerID, call.ToolName)
	if e == nil {
		return hostclient.ToolResult{}, errorf(CodeStaleBinding, "The tool %s of %s is not offered any more.", forms.Line(call.ToolName), forms.Line(call.ServerID))
	}
	if err := p.checkArguments(e, call.Arguments); err != nil {
		return hostclient.ToolResult{}, err
	}
	req := CallRequest{Tool: e.info, Arguments: call.Arguments, Progress: inv.Progress}
	if inv.CanAsk() {
		req.Form = p.asker(inv, e.info)
	}
	result, err := p.opts.Tools.Call(ctx, req)
	switch {
	case err != nil:
		return hostclient.ToolResult{}, err
	case result.IsError:
		return hostclient.ToolResult{}, toolError(result)
	}
	return resultOf(result), nil
}

// asker is the form callback of one call. Who asks is said here and nowhere
// else, so that no server can claim to be another.
func (p *Provider) asker(inv *hostclient.Invocation, t ToolInfo) func(context.Context, forms.Form) (forms.Result, error) {
	return func(ctx context.Context, form forms.Form) (forms.Result, error) {
		form.Requester = Requester(t.Server, t.Name, p.opts.Label)
		result, err := inv.Ask(ctx, form)
		if e, ok := errors.AsType[*hostclient.Error](err); ok && e.Code == hostclient.CodeTooLarge {
			return result, errorf(CodeLimitExceeded, "The form cannot be sent: %s", e.Message)
		}
		return result, err
	}
}

// Requester is who asks, as a form says it: the tool, and "SERVER · via LABEL".
func Requester(server, tool, label string) forms.Requester {
	lim := forms.OurLimits()
	return forms.Requester{
		Name:   cutText(forms.Line(tool), lim.Requester),
		Source: cutText(forms.Line(server)+" · via "+forms.Line(label), lim.Source),
	}
}

// cutText shortens s to limit bytes, with an ellipsis.
func cutText(s string, limit int) string {
	const ellipsis = "…"
	if len(s) <= limit {
		return s
	}
	cut := limit - len(ellipsis)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return strings.TrimRight(s[:cut], " ") + ellipsis
}
