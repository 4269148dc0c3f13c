package app

import (
	"context"
	"errors"
	"fmt"
)

// The exit codes of the command line, decided here and nowhere else.
const (
	exitOK          = 0
	exitFailed      = 1 // the call failed; lint: refused or does not fit
	exitUsage       = 2 // usage or configuration error, a wrong answer
	exitInput       = 3 // input is required and nobody can give it
	exitDeclined    = 4 // declined or dismissed; answer: already resolved
	exitUnreachable = 5 // Host or server unreachable, unauthorized, incompatible, not found
	exitStopped     = 6 // ended by us or stopped
	exitUnknown     = 7 // the outcome is unknown
)

// exitError is an error that knows its exit code. A silent one was already told.
type exitError struct {
	code   int
	silent bool
	err    error
	flags  bool   // the flags could not be read to the end
	name   string // the code in the JSON; "": that of the exit code
	json   any    // what --json prints on stdout; nil: made from the error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// usagef makes err a mistake in the use of the program. What a signal ended is none.
func usagef(err error) error {
	if errors.Is(err, errSignal) {
		return err
	}
	return &exitError{code: exitUsage, err: err}
}

// notFoundf says that something named on the command line is not there.
func notFoundf(format string, args ...any) error {
	return &exitError{code: exitUnreachable, name: "not_found", err: fmt.Errorf(format, args...)}
}

// exitCode maps an error of a command to the process's exit code.
func exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, errSignal) {
		return exitStopped
	}
	return exitFailed
}

// codeExit is the exit code of a call that ended with one of the stable error codes.
func codeExit(code string) int {
	switch code {
	case "input_required", "no_handler":
		return exitInput
	case "invalid_answer":
		return exitUsage
	case "connection_lost", "stale_binding":
		return exitUnreachable
	case "cancelled":
		return exitStopped
	case "outcome_unknown", "timeout":
		return exitUnknown
	}
	return exitFailed
}
