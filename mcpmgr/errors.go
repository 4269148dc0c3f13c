package mcpmgr

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Code says, in a word that does not change, why a call failed.
type Code string

// The codes of [ToolCallError].
const (
	CodeServerError       Code = "server_error"       // the server answered with a JSON-RPC error
	CodeUnsupportedInput  Code = "unsupported_input"  // it asks for something this call cannot give
	CodeInvalidForm       Code = "invalid_form"       // it asks with a form that cannot be shown
	CodeInvalidAnswer     Code = "invalid_answer"     // the answer does not fit the server's schema
	CodeLimitExceeded     Code = "limit_exceeded"     // something is larger than allowed
	CodeRoundLimit        Code = "round_limit"        // it keeps asking
	CodeNoHandler         Code = "no_handler"         // it needs input and nobody can give any
	CodeStaleBinding      Code = "stale_binding"      // server or tool are no longer what was bound
	CodeConnectionLost    Code = "connection_lost"    // lost while no request was on the wire
	CodeOutcomeUnknown    Code = "outcome_unknown"    // lost while a request was on the wire
	CodeTimeout           Code = "timeout"            // no reply to a leg in time
	CodeCancelled         Code = "cancelled"          // ended by the caller
	CodeUnsupportedResult Code = "unsupported_result" // a result of a kind that is not known
	CodeProtocolError     Code = "protocol_error"     // the reply breaks the protocol
)

// ToolCallError is how a call fails. Message is a sentence for people; it bears no requestState,
// no answers and no secrets, but may quote the server, so it is projected before it is shown.
type ToolCallError struct {
	Code    Code
	Server  string
	Tool    string // or the prompt's name, or the resource's URI
	Message string
	// Uncertain reports that a request was on the wire when the call ended, so that it may have
	// had its effect.
	Uncertain bool
	// RPCCode is the JSON-RPC error code of a server_error or no_handler that came as one, else 0.
	RPCCode int64
}

func (e *ToolCallError) Error() string {
	at := e.Server
	if e.Tool != "" {
		at += "/" + e.Tool
	}
	if at == "" {
		return fmt.Sprintf("%s: %s", e.Code, e.Message)
	}
	return fmt.Sprintf("%s: %s: %s", at, e.Code, e.Message)
}

// CodeOf returns the code of a *ToolCallError in err's chain, or "".
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*ToolCallError](err); ok {
		return e.Code
	}
	return ""
}

func failf(code Code, format string, args ...any) *ToolCallError {
	return &ToolCallError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// endKind says why a generation, a tool or a call came to its end from outside.
type endKind int

const (
	endLost       endKind = iota // the connection broke or the process died
	endReplaced                  // the server was reconnected or its entry changed
	endDefinition                // the tool's definition changed or went away
	endClosed                    // the manager closes
)

// endCause is the cancellation cause of generations and tools.
type endCause struct {
	kind endKind
	msg  string
	code Code // overrides the code for a leg on the wire, where the cause is known
}

func (e *endCause) Error() string { return e.msg }

var errLegTimeout = errors.New("no reply within the time of one request")

// errNotSent marks a failure before any byte of a request can have reached the server.
type errNotSent struct{ err error }

func (e *errNotSent) Error() string { return e.err.Error() }
func (e *errNotSent) Unwrap() error { return e.err }

// errLost marks a failure after a request was, or may have been, sent.
type errLost struct{ err error }

func (e *errLost) Error() string { return e.err.Error() }
func (e *errLost) Unwrap() error { return e.err }

// errConn is the connection's own failure, told from the causes that callers bring along.
type errConn struct{ err error }

func (e *errConn) Error() string { return e.err.Error() }
func (e *errConn) Unwrap() error { return e.err }

func isConnection(err error) bool {
	if e, ok := errors.AsType[*endCause](err); ok {
		return e.kind == endLost
	}
	_, ok := errors.AsType[*errConn](err)
	return ok
}

// errTooLarge says that a reply is over a limit; nothing of it was kept.
type errTooLarge struct{ what string }

func (e *errTooLarge) Error() string { return e.what }

// errBadReply says that what came is not a reply to the request.
type errBadReply struct{ msg string }

func (e *errBadReply) Error() string { return e.msg }

// errAuth says that the server wants authorization.
type errAuth struct {
	msg    string
	status int         // 401 or 403; 0: there was nothing to send it
	header http.Header // of the reply, for the challenge in it
	kept   bool        // a token of ours was refused
}

func (e *errAuth) Error() string { return e.msg }

// errStatus is an HTTP status that carries no JSON-RPC reply.
type errStatus struct {
	status int
	msg    string
	after  time.Duration // what the server asks to wait before the next request; 0: nothing asked
}

func (e *errStatus) Error() string { return e.msg }
