// Package bridge joins the parts that do not know each other: an MCP manager's tools and a provider of a Host.
package bridge

import (
	"context"
	"errors"

	"askback/forms"
	"askback/mcpmgr"
	"askback/provider"
)

// Tools shows a Manager's tools to a provider.
type Tools struct {
	mgr     *mcpmgr.Manager
	changed <-chan struct{}
	limits  func() forms.Limits
}

// NewTools shows the tools of mgr. changed gets a signal whenever they may have changed. limits are those
// of the Host that shows the forms, asked for each call.
func NewTools(mgr *mcpmgr.Manager, changed <-chan struct{}, limits func() forms.Limits) *Tools {
	return &Tools{mgr, changed, limits}
}

// Changed implements provider.Tools.
func (m *Tools) Changed() <-chan struct{} { return m.changed }

// Tools implements provider.Tools.
func (m *Tools) Tools() []provider.ToolInfo {
	list := m.mgr.Tools()
	out := make([]provider.ToolInfo, len(list))
	for i, t := range list {
		out[i] = provider.ToolInfo{Server: t.Server, Name: t.Name, Title: t.Title, Description: t.Description,
			InputSchema: t.InputSchema, Annotations: t.Annotations, Binding: t.Binding}
	}
	return out
}

// Call implements provider.Tools: the manager drives the rounds, and each form goes to the Host.
func (m *Tools) Call(ctx context.Context, req provider.CallRequest) (provider.CallResult, error) {
	var h mcpmgr.Handlers
	if req.Form != nil {
		h.Limits = m.limits()
		h.Form = func(ctx context.Context, f mcpmgr.FormRequest) (forms.Result, error) {
			form := f.Form
			form.Requester = forms.Requester{} // the provider says who asks
			return req.Form(ctx, form)
		}
	}
	if req.Progress != nil {
		h.Progress = func(p mcpmgr.Progress) { req.Progress(p.Progress, p.Total) }
	}
	binding, _ := req.Tool.Binding.(mcpmgr.Binding)
	r, err := m.mgr.CallTool(ctx, binding, req.Arguments, h)
	if e, ok := errors.AsType[*mcpmgr.ToolCallError](err); ok {
		return provider.CallResult{}, &provider.Error{Code: provider.Code(e.Code), Message: e.Message}
	}
	if err != nil {
		return provider.CallResult{}, err
	}
	return provider.CallResult{Content: r.Content, Structured: r.Structured, IsError: r.IsError}, nil
}
