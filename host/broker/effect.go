package broker

import (
	"askback/forms"
	"askback/protocol"
)

// An Effect is something that the owner of a Broker does on its behalf.
type Effect interface{ effect() }

// Send puts a frame into a connection's queue. When Written is not nil the owner calls Delivered with it once the frame
// has been written to that connection, and never if it could not be.
type Send struct {
	Conn    string
	Frame   protocol.HostFrame
	Written *Ask
}

// Abort destroys a connection for a protocol violation. The Broker has dropped it already; Disconnect may follow and does
// nothing more. Reason is for the log and holds nothing that the peer wrote.
type Abort struct {
	Conn   string
	Reason string
}

// ArmDeadline starts an invocation's execution deadline in full, in place of any that runs. When it passes the owner
// calls Deadline with the same generation.
type ArmDeadline struct {
	Invocation string
	Generation uint64
}

// StopDeadline stops an invocation's execution deadline. One that has fired already is harmless.
type StopDeadline struct {
	Invocation string
}

// AdmitInvocation says that a provider accepted a call. The owner answers with Admit.
type AdmitInvocation struct {
	Invocation string
}

// Ask names one nested interaction: the n-th of an invocation, from 1. It is the only name that Broker and owner share;
// the provider's own id stays in the Broker and the canonical one with the owner.
type Ask struct {
	Invocation string
	N          int
}

// OpenInteraction asks for a form to be stored as pending. The owner answers with Stored or Refused, unless
// CloseInteraction has come first. Form bears the requester that the Host verified, not the one that was claimed, and is
// not projected yet.
type OpenInteraction struct {
	Ask
	Turn       Turn
	RunID      string
	ToolCallID string
	Form       forms.Form
}

// CloseInteraction closes a form for a reason other than its answer. It is nothing when the owner has committed an answer
// in the meantime, or not stored the form.
type CloseInteraction struct {
	Ask
	Reason protocol.ClosureReason
}

// Progress is an advance of a running call, worth showing: current or total differ from what was shown last.
type Progress struct {
	Invocation     string
	Turn           Turn
	ToolCallID     string
	Current, Total int
}

// Settle ends a call. It is the last effect of an invocation, and there is exactly one for each call that was started.
type Settle struct {
	Invocation string
	Turn       Turn
	ToolCallID string
	Outcome    Outcome
}

// Outcome is what a call came to: Result, or the text of its failure.
type Outcome struct {
	Result  *protocol.ToolResult
	Message string // when Result is nil: 1 to 4096 characters, unchanged from the provider or one of the Host's own
	// Uncertain marks a failure after which nobody can say whether the tool took effect.
	Uncertain bool
	// Reason is the exit that was taken, for the log.
	Reason Exit
}

func (Send) effect()             {}
func (Abort) effect()            {}
func (ArmDeadline) effect()      {}
func (StopDeadline) effect()     {}
func (AdmitInvocation) effect()  {}
func (OpenInteraction) effect()  {}
func (CloseInteraction) effect() {}
func (Progress) effect()         {}
func (Settle) effect()           {}
