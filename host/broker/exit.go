package broker

import (
	"strings"

	"askback/protocol"
)

// Exit is a way in which an invocation ends.
type Exit uint8

const (
	ExitResult       Exit = iota // the provider's result
	ExitRejected                 // refused before acceptance
	ExitFailed                   // the provider's own failure
	ExitStopped                  // turn.stop
	ExitTurnEnded                // the Turn ended for any other cause
	ExitDeadline                 // the execution deadline passed
	ExitLost                     // the provider's connection ended, was aborted or revoked
	ExitSuperseded               // a newer connection of the same identity published
	ExitInconsistent             // a result while the form was pending
	ExitUnanswered               // nobody answered the form in time
	ExitRefused                  // the form could not be published
	ExitAsks                     // too many forms
	ExitHostClosing              // the Host drains
	ExitNotStarted               // no frame was sent
)

var exitNames = [...]string{"result", "rejected", "failed", "stopped", "turn_ended", "deadline", "lost", "superseded",
	"inconsistent", "unanswered", "refused", "asks", "host_closing", "not_started"}

func (e Exit) String() string { return exitNames[e] }

// The texts that a call fails with. Those of the wire protocol's section 7.3 are spelt as a Host spells them; the
// others carry a code where one of the closed list fits.
const (
	textStopped       = "This operation was aborted"
	textCancelled     = "outcome_unknown: Client Capability invocation was cancelled after provider acceptance"
	textLateBefore    = "Client Capability invocation timed out before provider acceptance"
	textLateAfter     = "outcome_unknown: Client Capability invocation timed out after provider acceptance"
	textLostBefore    = "Client Capability provider disconnected before accepting the call"
	textLostAfter     = "outcome_unknown: Client Capability provider disconnected after accepting the call"
	textTooMany       = "Client Capability provider has too many active invocations"
	textBypass        = "Client Capability tools require the Bypass execution boundary because their client-side effects cannot be sandboxed by the Host. Switch this Session to Bypass and retry."
	textInconsistent  = "protocol_error: Client Capability provider sent a result while its form was still open; the result was not used"
	textUnanswered    = "timeout: The form was not answered in time"
	textAsks          = "limit_exceeded: Client Capability invocation asked more than 256 times"
	textAmbiguous     = "capability_ambiguous: Several Client Capability providers offer this tool and none of them is the caller's own"
	textNotOffered    = "Client Capability tool is not available in this Turn"
	textNotOfferedNow = "Client Capability provider is no longer available"
)

// outcomeUnknown begins the message of a failure after which the effect of the call is not known.
const outcomeUnknown = "outcome_unknown:"

// closureOf is why a form that is open at that exit is closed.
func (e Exit) closureOf() protocol.ClosureReason {
	switch e {
	case ExitStopped:
		return protocol.ClosedTurnStopped
	case ExitTurnEnded:
		return protocol.ClosedTurnTerminal
	case ExitLost, ExitSuperseded:
		return protocol.ClosedProviderDisconnected
	case ExitDeadline, ExitUnanswered:
		return protocol.ClosedTimedOut
	case ExitHostClosing:
		return protocol.ClosedHostRestarted
	}
	return protocol.ClosedProducerCancelled
}

// cancels reports whether the provider is told to stop before it is released: the Host ended what still ran.
func (e Exit) cancels() bool {
	switch e {
	case ExitStopped, ExitTurnEnded, ExitDeadline, ExitInconsistent, ExitUnanswered, ExitRefused, ExitAsks, ExitHostClosing:
		return true
	}
	return false
}

// silent reports whether the provider gets no frame about the end.
func (e Exit) silent() bool { return e == ExitLost || e == ExitSuperseded || e == ExitNotStarted }

// text is the failure of a call that ended by that exit in phase p; message is the provider's or the owner's.
func (e Exit) text(p Phase, message string) string {
	pick := func(before, after string) string {
		if p.Taken() {
			return after
		}
		return before
	}
	switch e {
	case ExitStopped, ExitTurnEnded, ExitHostClosing:
		return pick(textStopped, textCancelled)
	case ExitDeadline:
		return pick(textLateBefore, textLateAfter)
	case ExitLost, ExitSuperseded:
		return pick(textLostBefore, textLostAfter)
	case ExitInconsistent:
		return textInconsistent
	case ExitUnanswered:
		return textUnanswered
	case ExitAsks:
		return textAsks
	}
	return message
}

// failure makes the outcome of an exit that brought no result.
func failure(e Exit, p Phase, message string) Outcome {
	text := e.text(p, message)
	return Outcome{
		Message:   text,
		Uncertain: p.Taken() && strings.HasPrefix(text, outcomeUnknown),
		Reason:    e,
	}
}
