package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"askback/forms"
)

// Tools are the tools of all MCP servers. Implementations may be called
// concurrently.
type Tools interface {
	// Tools lists them in the order of the configuration, then of each server.
	Tools() []ToolInfo
	// Changed gets a value, or is closed and replaced, when Tools may have
	// changed; values coalesce.
	Changed() <-chan struct{}
	// Call runs one call to its end. A *Error keeps its code on the wire.
	Call(ctx context.Context, req CallRequest) (CallResult, error)
}

// ToolInfo is one tool as its server lists it.
type ToolInfo struct {
	Server      string // as the user configured it
	Name        string
	Title       string
	Description string
	InputSchema json.RawMessage
	Annotations json.RawMessage // hints, passed on; nothing decides by them
	// Binding belongs to whoever implements Tools and comes back in calls.
	Binding any
}

// CallRequest is one call of a tool, its arguments checked.
type CallRequest struct {
	Tool      ToolInfo
	Arguments json.RawMessage
	// Form has a person fill in a form, and waits as long as that takes. It is
	// nil when no form can reach a person, and then nothing may be advertised.
	Form func(ctx context.Context, form forms.Form) (forms.Result, error)
	// Progress says how far the tool is; without a total it says nothing.
	Progress func(current, total float64)
}

// CallResult is what a tool returned: MCP content blocks, verbatim.
type CallResult struct {
	Content    []json.RawMessage
	Structured json.RawMessage // nil: none
	IsError    bool            // the tool says that it failed
}

// Code says, in a word that does not change, why a call failed.
type Code string

// The codes that this package makes itself; those of Tools pass through.
const (
	CodeServerError   Code = "server_error"
	CodeProtocolError Code = "protocol_error"
	CodeLimitExceeded Code = "limit_exceeded"
	CodeStaleBinding  Code = "stale_binding"
)

// Error is how a call fails. Message is a sentence for people.
type Error struct {
	Code    Code
	Message string
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

func errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// failure is the message of client.capability.failed for err:
// "<code>: <sentence>".
func failure(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return cutUnits(e.Error(), maxMessage)
	}
	return cutUnits(errorf(CodeServerError, "%s", err).Error(), maxMessage)
}

// maxMessage counts UTF-16 units of a failure's message (wire protocol, 7.2).
const maxMessage = 4096

// cutUnits shortens s to limit UTF-16 units, with an ellipsis in the last.
func cutUnits(s string, limit int) string {
	units, last := 0, 0
	for i, r := range s {
		n := 1
		if r > 0xffff {
			n = 2
		}
		if units+n <= limit-1 {
			last = i + len(string(r))
		}
		if units += n; units > limit {
			return s[:last] + "…"
		}
	}
	return s
}
