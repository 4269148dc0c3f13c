// Package acceptance holds the sixteen acceptance criteria of input_required through Runtime Interactions, each as one
// test: a real MCP server process, a real Runtime Host over WebSocket, and the client's two connections; where a criterion
// speaks of what a person sees or of restarts, the programs themselves, each on a terminal with an emulated screen.
//
// A criterion is a function of T, so that it can also be run on a system with a fault in it: TestMutants breaks one part
// after the other and wants the criterion to say so.
package acceptance
