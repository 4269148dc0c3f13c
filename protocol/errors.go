package protocol

import "fmt"

// ErrorCode is the stable code of a refused request.
type ErrorCode string

const (
	CodeHostNotReady          ErrorCode = "host_not_ready"
	CodeHostDraining          ErrorCode = "host_draining"
	CodeUnauthorized          ErrorCode = "unauthorized"
	CodeOperationUnavailable  ErrorCode = "operation_unavailable"
	CodeNotFound              ErrorCode = "not_found"
	CodeSessionArchived       ErrorCode = "session_archived"
	CodeSessionBusy           ErrorCode = "session_busy"
	CodeOperationConflict     ErrorCode = "operation_conflict"
	CodeCapabilityUnavailable ErrorCode = "capability_unavailable"
	CodeInvalidRequest        ErrorCode = "invalid_request"
	CodeProjectionIncomplete  ErrorCode = "projection_incomplete"
	CodePersistenceFailed     ErrorCode = "persistence_failed"
	CodeCommitOutcomeUnknown  ErrorCode = "commit_outcome_unknown"
	CodeAlreadyResolved       ErrorCode = "already_resolved"
	CodeOutcomeUnknown        ErrorCode = "outcome_unknown"
	CodeInternalFailure       ErrorCode = "internal_failure"
)

// Known reports whether c is in the protocol's closed list.
func (c ErrorCode) Known() bool {
	switch c {
	case CodeHostNotReady, CodeHostDraining, CodeUnauthorized, CodeOperationUnavailable, CodeNotFound,
		CodeSessionArchived, CodeSessionBusy, CodeOperationConflict, CodeCapabilityUnavailable,
		CodeInvalidRequest, CodeProjectionIncomplete, CodePersistenceFailed, CodeCommitOutcomeUnknown,
		CodeAlreadyResolved, CodeOutcomeUnknown, CodeInternalFailure:
		return true
	}
	return false
}

// Error is the refusal of one request. It keeps the connection.
type Error struct {
	Code    ErrorCode `json:"code"`
	Message string    `json:"message" wire:"len=0:1024"`
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Is lets errors.Is compare codes alone.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && (t.Message == "" || t.Message == e.Message)
}

// DecodeError says why a message is malformed. It names keys, never values.
type DecodeError struct {
	Path   string // "" is the message itself
	Reason string
}

func (e *DecodeError) Error() string {
	if e.Path == "" {
		return "malformed frame: " + e.Reason
	}
	return fmt.Sprintf("malformed frame: %s: %s", e.Path, e.Reason)
}

// EncodeError says why a value cannot be sent: it breaks the protocol.
type EncodeError struct {
	Path   string
	Reason string
}

func (e *EncodeError) Error() string {
	if e.Path == "" {
		return "frame not sendable: " + e.Reason
	}
	return fmt.Sprintf("frame not sendable: %s: %s", e.Path, e.Reason)
}
