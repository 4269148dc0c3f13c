package hostclient

import (
	"errors"
	"fmt"

	"github.com/gorilla/websocket"

	"askback/forms"
	"askback/protocol"
)

// Code names one way in which a connection to a Host, or something asked over it, can end. The strings are stable.
type Code string

const (
	// Before a connection exists.
	CodeBadEndpoint     Code = "bad_endpoint"      // the address cannot be used; nothing was dialed
	CodeBadToken        Code = "bad_token"         // the token is missing or malformed; nothing was dialed
	CodeInsecure        Code = "insecure"          // plain ws to something that is not loopback
	CodeUnreachable     Code = "unreachable"       // no connection: refused, no route, no such name, no answer in time
	CodeTLS             Code = "tls_failed"        // the TLS handshake failed or the certificate is not trusted
	CodeUnauthorized    Code = "unauthorized"      // 401: the token is wrong, revoked or expired
	CodeOriginRefused   Code = "origin_refused"    // 403
	CodeNotAHost        Code = "not_a_host"        // 404, 405 or another answer that no Runtime Host gives to an upgrade
	CodeHostUnavailable Code = "host_unavailable"  // 5xx or 429 in front of the Host
	CodeHandshake       Code = "handshake_dropped" // the connection ended, or stayed silent, before the Host's answer
	CodeIncompatible    Code = "incompatible"      // no compatibility epoch, protocol or composition in common
	CodeDraining        Code = "host_draining"     // the Host is shutting down
	CodeRootChanged     Code = "root_changed"      // another Host answers where a known one did
	CodePinFile         Code = "pin_file"          // the file of known Hosts cannot be read or written

	// While it exists.
	CodeDropped      Code = "dropped"              // ended by the other side or the network without a close frame
	CodeClosedByHost Code = "closed_by_host"       // ended by the Host with a close frame
	CodeTooBig       Code = "frame_too_big"        // 1009: the Host refused the size of one of our frames
	CodeNotUTF8      Code = "frame_not_utf8"       // 1007: the Host refused the text of one of our frames
	CodeOversize     Code = "oversize"             // the Host sent more than a frame may hold
	CodeProtocol     Code = "protocol_error"       // the Host sent what this protocol does not allow
	CodeInteraction  Code = "interaction_mismatch" // the Host answered a form that is not the pending one
	CodeHalfOpen     Code = "half_open"            // nothing was heard for 45 s, not even an answer to our pings
	CodeWriteStalled Code = "write_stalled"        // one frame could not be written for 45 s
	CodeClosed       Code = "closed"               // ended by us

	// Of something asked.
	CodeNotConnected    Code = "not_connected"    // no connection at the moment; nothing was sent
	CodeRequestLost     Code = "request_lost"     // the connection ended before the answer; whether it was done is unknown
	CodeNotDelivered    Code = "not_delivered"    // an answer was not stored, and its form is still pending
	CodeUnknownOutcome  Code = "outcome_unknown"  // an answer was sent, and the Host cannot say what became of it
	CodeAlreadyResolved Code = "already_resolved" // an Interaction ended otherwise than by this answer
	CodeNotSubscribed   Code = "not_subscribed"   // the session is not open on this view
	CodeNoProject       Code = "no_project"       // the Host has no project that a session could be created in
	CodeTooLarge        Code = "too_large"        // what was to be sent is over a limit of the protocol; nothing was sent
	CodeRetired         Code = "retired"          // the invocation has ended; nothing was sent
	CodeAskPending      Code = "ask_pending"      // the invocation has a form pending
	CodeCancelled       Code = "cancelled"        // the Host cancelled the invocation
	CodeReleased        Code = "released"         // the Host released the invocation
	CodeSuperseded      Code = "superseded"       // another connection of this identity has published in place of this one
	CodeNoForms         Code = "no_forms"         // this connection speaks a dialect without forms
)

// Error is a typed end: of a connection, of an attempt to make one, or of something asked over one. Message is a
// sentence for a person; it holds no token, answer or other secret.
type Error struct {
	Code    Code
	Message string
	// Cause is the connection's end behind a CodeRequestLost, CodeRetired or CodeNotConnected, if there was one.
	Cause *Error

	close int // the close code that we send when a connection ends this way; 0 for none
}

// Error is the sentence.
func (e *Error) Error() string { return e.Message }

// Unwrap gives Cause.
func (e *Error) Unwrap() error {
	if e.Cause == nil {
		return nil
	}
	return e.Cause
}

// Permanent reports whether trying again by itself is useless: a person has to change something first.
func (e *Error) Permanent() bool {
	switch e.Code {
	case CodeBadEndpoint, CodeBadToken, CodeInsecure, CodeUnauthorized, CodeOriginRefused, CodeIncompatible,
		CodeRootChanged, CodePinFile, CodeClosed:
		return true
	}
	return false
}

// errorf makes an Error whose message can be shown: what the network, a certificate or a Host says may be part of it.
func errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: forms.Line(fmt.Sprintf(format, args...))}
}

// violation is the Host's breach of the protocol.
func violation(format string, args ...any) *Error {
	e := errorf(CodeProtocol, format, args...)
	e.close = websocket.CloseProtocolError
	return e
}

// CodeOf is the Code of the first *Error in err's chain, or "".
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

// RequestError is the Host's refusal of one request; the connection goes on.
type RequestError struct {
	Operation protocol.Operation
	Code      protocol.ErrorCode
	Message   string // the Host's own words: not safe to show without the display projection
}

// Error is the refusal in one line that is safe to show.
func (e *RequestError) Error() string {
	return forms.Line(fmt.Sprintf("the Host refused %s (%s): %s", e.Operation, e.Code, e.Message))
}

// RefusalOf is the Host's code of the first *RequestError in err's chain, or "".
func RefusalOf(err error) protocol.ErrorCode {
	if e, ok := errors.AsType[*RequestError](err); ok {
		return e.Code
	}
	return ""
}

// lost reports whether err comes from the end of a connection, or from there being none.
func lost(err error) bool {
	code := CodeOf(err)
	return code == CodeRequestLost || code == CodeNotConnected
}

// breach is what the Host did against the protocol if that ended the connection before it answered a request; else nil.
func breach(err error) *Error {
	e, ok := errors.AsType[*Error](err)
	if ok && e.Code == CodeRequestLost && e.Cause != nil && (e.Cause.Code == CodeProtocol || e.Cause.Code == CodeOversize) {
		return e.Cause
	}
	return nil
}

// passing reports whether err says nothing about what was asked: the connection ended, or the Host is about to leave.
func passing(err error) bool {
	refusal := RefusalOf(err)
	return lost(err) || refusal == protocol.CodeHostDraining || refusal == protocol.CodeHostNotReady
}
