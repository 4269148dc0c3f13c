// Package acceptance holds the sixteen acceptance criteria of input_required through Runtime Interactions, each as one
// test: a real MCP server process, a real Runtime Host over WebSocket, and the client's two connections.
package acceptance
