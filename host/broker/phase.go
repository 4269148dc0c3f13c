package broker

import "askback/protocol"

// Phase is where an invocation is. Transitions beside each; any phase but Retired may end, which makes it Retired.
type Phase uint8

const (
	// Dispatched: the call is sent. accepted → Accepted.
	Dispatched Phase = iota
	// Accepted: the provider took it and may not run it yet. Admit → Admitted; result_start → Chunks.
	Accepted
	// Admitted: it runs. interaction_request → Opening; result_start → Chunks.
	Admitted
	// Opening: its form is being stored; the deadline runs on. Stored → Awaiting.
	Opening
	// Awaiting: its form is pending and the deadline rests. Reserve → Committing.
	Awaiting
	// Committing: an answer is being stored. What the provider says beside a form waits until it is known whether the
	// form is answered. Committed → Delivering; NotCommitted → Awaiting.
	Committing
	// Delivering: the answer is committed and not on the provider's connection yet. Delivered, or any frame of the
	// provider, which proves delivery → Admitted.
	Delivering
	// Chunks: a chunked result is arriving. The last chunk ends it.
	Chunks
	// Retired: it is over. Its last MaxRetiredInvocations ids are remembered for a connection, to ignore stragglers.
	Retired
)

var phaseNames = [...]string{"dispatched", "accepted", "admitted", "opening", "awaiting", "committing", "delivering", "chunks", "retired"}

func (p Phase) String() string { return phaseNames[p] }

// Taken reports whether the provider has accepted: from then on a loss leaves the outcome unknown.
func (p Phase) Taken() bool { return p >= Accepted && p <= Chunks }

// Asking reports whether a form is open, stored or about to be.
func (p Phase) Asking() bool { return p >= Opening && p <= Committing }

// frameKind is a frame of a provider about an invocation.
type frameKind uint8

const (
	kindAccepted frameKind = iota
	kindRejected
	kindProgress
	kindResult
	kindResultStart
	kindResultChunk
	kindFailed
	kindRequest
	kindCount
)

// verdict is what a frame does to an invocation.
type verdict uint8

const (
	abort        verdict = iota // the connection that sent it is destroyed
	ignore                      // nothing
	take                        // → Accepted
	reject                      // ends with the provider's message
	progress                    // shown
	finish                      // ends with its result
	start                       // → Chunks
	chunk                       // appended; the last one ends
	fail                        // ends with the provider's message, closing an open form first
	ask                         // → Opening
	inconsistent                // a result beside an open form: closes it and ends with a text of the Host's
	hold                        // kept until the answer that is being stored is, or is not
)

// verdicts is the table of the wire protocol's section 7.2 and of the forms dialect.
var verdicts = [...][kindCount]verdict{
	Dispatched: {kindAccepted: take, kindRejected: reject},
	Accepted:   {kindProgress: progress, kindResult: finish, kindResultStart: start, kindFailed: fail},
	Admitted:   {kindProgress: progress, kindResult: finish, kindResultStart: start, kindFailed: fail, kindRequest: ask},
	Opening:    {kindProgress: progress, kindResult: inconsistent, kindResultStart: inconsistent, kindFailed: fail},
	Awaiting:   {kindProgress: progress, kindResult: inconsistent, kindResultStart: inconsistent, kindFailed: fail},
	Committing: {kindProgress: progress, kindResult: hold, kindResultStart: hold, kindFailed: hold, kindRequest: hold},
	Delivering: {kindProgress: progress, kindResult: finish, kindResultStart: start, kindFailed: fail, kindRequest: ask},
	Chunks:     {kindProgress: progress, kindResultChunk: chunk, kindFailed: fail},
	Retired:    {ignore, ignore, ignore, ignore, ignore, ignore, ignore, ignore},
}

// kindOf returns the kind of a capability frame and the invocation that it names.
func kindOf(f protocol.ClientFrame) (k frameKind, invocation string, ok bool) {
	switch f := f.(type) {
	case *protocol.CapabilityAccepted:
		return kindAccepted, f.InvocationID, true
	case *protocol.CapabilityRejected:
		return kindRejected, f.InvocationID, true
	case *protocol.CapabilityProgress:
		return kindProgress, f.InvocationID, true
	case *protocol.CapabilityResult:
		return kindResult, f.InvocationID, true
	case *protocol.CapabilityResultStart:
		return kindResultStart, f.InvocationID, true
	case *protocol.CapabilityResultChunk:
		return kindResultChunk, f.InvocationID, true
	case *protocol.CapabilityFailed:
		return kindFailed, f.InvocationID, true
	case *protocol.InteractionRequest:
		return kindRequest, f.InvocationID, true
	}
	return 0, "", false
}
