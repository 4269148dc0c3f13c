// Package protocol is the Runtime Host wire protocol: the frames, the
// operations and their inputs and results, the limits, and one codec.
//
// A frame is always a pointer (*Hello, *Request, *CapabilityCall, …), which is
// what ClientFrame and HostFrame enforce. DecodeClientFrame is the Host's
// reading of a client, DecodeHostFrame the client's reading of a Host, Encode
// the writing of either; all three hold every frame to the same rules.
//
// The rules stand beside the fields. The "json" tag names the key, the "wire"
// tag says what may stand there (see rules.go); a struct with a blank field
// tagged `wire:"open"` is only shown to people, so that it and everything below
// it tolerates keys and kinds that this package does not know. Everything else
// is exact: an unknown, misspelt, repeated or missing key is a *DecodeError,
// and the connection that sent it is over.
//
// Values hold copies, never pieces of the message they were decoded from. All
// functions may be called from several goroutines; frames themselves are plain
// values without locks.
package protocol
