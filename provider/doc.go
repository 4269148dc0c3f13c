// Package provider offers MCP tools to a Runtime Host and serves the calls that
// come for them.
//
// It owns what an offer is made of (which tools fit, under which ids, with
// which schema), what a result or an error becomes on the wire, and the form
// callback of a running call. The MCP connections are behind the Tools
// interface; the connection to the Host is a hostclient.Provider, for which
// this package's Provider is the Handler.
package provider
