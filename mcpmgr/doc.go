// Package mcpmgr owns the connections to MCP servers and drives their calls: the wire, the
// original params, the rounds of a call that asks for input, the answers and the exact
// requestState. Nothing above it sees a JSON-RPC message or a state.
//
// A [Manager] holds the configured servers. Each has a supervisor that connects it, detects the
// protocol era, lists its tools, notices when it dies or changes, and connects it again; each
// successful connection is a generation, and a [Binding] names server, tool definition and
// generation. [Manager.CallTool] runs one logical call as one or many legs, asking the [Handlers]
// of that call for what the server wants in between.
//
// The protocol is MCP 2026-07-28 (multi round-trip requests) with the legacy revisions back to
// 2024-11-05 for servers that know nothing newer. Of go-sdk the package uses the stdio framing,
// the JSON-RPC codec and the authorization flow; requests are its own, because the SDK's typed
// calls lose what must come back byte for byte.
package mcpmgr
