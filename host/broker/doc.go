// Package broker decides about client capabilities: who offers which tools, which provider a session's turn is bound
// to, and what every frame, loss, deadline and answer does to an invocation.
//
// A Broker is pure. It has no goroutine, no clock and no I/O, and it is not safe for concurrent use: its owner calls it
// behind one gate. Each input returns effects, which the owner performs in the order in which they are returned; two
// inputs' effects keep the order of the inputs wherever they touch the same connection or invocation. An effect that asks
// a question (AdmitInvocation, OpenInteraction, a Send with Written set) is answered by a later input.
//
// What the owner keeps itself: connections and their writers, timers (one for an invocation, told apart by generation),
// the Interactions and their store, and whoever waits for a call.
//
// # A call with a form
//
//	StartCall                   Send(call), ArmDeadline
//	Frame(accepted)             AdmitInvocation            the owner calls Admit, at once or when it may
//	Admit                       Send(admitted)
//	Frame(interaction_request)  OpenInteraction            the owner stores it pending, or refuses it
//	Stored                      StopDeadline               now it may be published
//	Committed                   ArmDeadline, Send(interaction_result) with Written set
//	Delivered                   ArmDeadline                the frame is on the provider's connection
//	Frame(result)               StopDeadline, Send(release), Settle
//
// Every other way out closes the form first: CloseInteraction precedes the frames and the Settle of the same list, and
// the owner lets the closure reach its store before it lets the Settle be seen.
package broker
