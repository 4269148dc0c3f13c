// Package interop holds tests against programs that are not ours: the TypeScript SDK, the reference
// servers, and the MCP conformance suite. They need Node and a package registry, so they are built
// only with -tags interop:
//
//	go test -tags interop ./internal/interop
//
// ASKBACK_INTEROP_DIR may name a folder to keep the installed packages in between runs.
package interop
