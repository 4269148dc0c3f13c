package mcpmgr

import (
	"context"
	"encoding/json"

	"askback/mcpmgr/config"
)

// request is one JSON-RPC request on its way, used for exactly one send.
type request struct {
	id      int64
	method  string
	params  json.RawMessage
	name    string        // the tool, prompt or resource, for Mcp-Name
	extra   []config.Pair // Mcp-Param-* headers
	modern  bool          // a request of the modern era: its headers go along
	version string        // the protocol version it is made for

	call   uint64 // for the protocol view
	leg    int
	echoed bool
	states *states

	// note hears the notifications that arrive on the request's own stream (HTTP).
	note func(method string, params json.RawMessage)
	// opened is called once when an answering stream begins (HTTP).
	opened func()
}

// link is one connection to one peer. Its methods are safe for concurrent use.
//
// do sends req once and waits for the reply. A JSON-RPC error reply is a *jsonrpc.Error. When ctx
// ends first, do cancels the request as the transport prescribes and returns at once. Every other
// error is, or wraps, *errNotSent (nothing can have reached the server), *errLost (it may have),
// *errTooLarge, *errBadReply, *errAuth or *errStatus; the end of ctx is its cause inside
// *errNotSent or *errLost.
type link interface {
	do(ctx context.Context, req *request) (json.RawMessage, error)
	notify(ctx context.Context, method string, params json.RawMessage) error
	// dead is closed when the connection is lost; lost says why.
	dead() <-chan struct{}
	lost() error
	// close ends the connection and waits for its goroutines.
	close()
}

// peerEvents is what a link tells of messages that answer no request.
type peerEvents struct {
	// note hears a notification; from is its request where the transport tells.
	note func(from *request, method string, params json.RawMessage)
	// arrived hears of a request of the server's own, whose id is a JSON token, before anything that
	// comes after it. It is answered under the context; done is to be called when that is over.
	arrived func(ctx context.Context, id string) (_ context.Context, done func())
	// uninvited answers such a request; answer is false for no answer at all. It may take its time.
	uninvited func(ctx context.Context, from *request, method string, params json.RawMessage) (result json.RawMessage, code int64, msg string, answer bool)
	tap       func(dir Direction, req *request, id, method string, response bool, params, result json.RawMessage, errRaw json.RawMessage)
	drop      func(what string, args ...any) // logs what is dropped
	redact    func(text string) string       // keeps states out of what is quoted of the server
}
