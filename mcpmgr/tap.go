package mcpmgr

import (
	"encoding/json"
	"fmt"
	"time"
)

// Direction of a message.
type Direction string

// The directions, as seen from here.
const (
	Sent     Direction = "sent"
	Received Direction = "received"
)

// TapEvent is one JSON-RPC message. Raw never holds a requestState: a top-level one in params or
// result is replaced by its size, and reflections of the call's states by [redacted].
type TapEvent struct {
	Time       time.Time
	Server     string
	Generation uint64
	Direction  Direction
	ID         string // as JSON; "" for a notification
	Method     string // of the request that a response answers, too
	Response   bool
	Raw        json.RawMessage
	Size       int    // of the message before replacement
	Call       uint64 // the logical call that the message belongs to; 0: none
	Leg        int    // 1-based
	StateBytes int    // size of the requestState in it; -1: none
	// Echoed tells, for a retry, whether its requestState is exactly what the server sent.
	Echoed bool
}

// hideState replaces a top-level requestState of a params or result object by its size.
func hideState(raw json.RawMessage) (json.RawMessage, int) {
	ms, err := members(raw)
	if err != nil {
		return raw, -1
	}
	size := -1
	var b builder
	for _, m := range ms {
		if m.name == "requestState" {
			size = stateSize(m.val)
			m.val = quoteString(fmt.Sprintf("[%d bytes]", size))
		}
		b.raw(m.rawKey, m.val)
	}
	if size < 0 {
		return raw, -1
	}
	return b.bytes(), size
}

// stateSize is the size of a state in bytes of text; of what is no string, of its token.
func stateSize(token json.RawMessage) int {
	if !isString(token) {
		return len(token)
	}
	return len(unescape(token[1 : len(token)-1]))
}
