package inspect

import (
	"bytes"
	"encoding/json"
	"time"

	"askback/mcpmgr"
)

// Message is one JSON-RPC message as the protocol view knows it. It is never changed once it is in a Log, apart from
// Raw, which is dropped when the Log has no more room.
type Message struct {
	Seq        int // 1 is the first of the Log
	Time       time.Time
	Server     string
	Generation uint64
	Sent       bool
	Response   bool
	ID         string // as JSON; "" for a notification
	Method     string // of the request that a response answers, too
	Size       int
	Raw        json.RawMessage // nil when it is not kept
	Failed     bool            // a response that is an error

	Call uint64 // the server's logical call; 0: none
	Leg  int    // of Call

	StateBytes int  // -1: the message bears no requestState
	Echoed     bool // of a retry: its requestState is exactly what the server sent
}

// key names a logical call: calls are counted for each server.
type key struct {
	server string
	call   uint64
}

// answer says whether the message gives the answer of this side to a server's own request.
func (m *Message) answer() bool { return m.Sent && m.Response }

func newMessage(e mcpmgr.TapEvent) *Message {
	return &Message{Time: e.Time, Server: e.Server, Generation: e.Generation, Sent: e.Direction == mcpmgr.Sent,
		Response: e.Response, ID: e.ID, Method: e.Method, Size: e.Size, Raw: e.Raw, Call: e.Call, Leg: e.Leg,
		StateBytes: e.StateBytes, Echoed: e.Echoed, Failed: e.Response && fails(e.Raw)}
}

// fails says whether a response is an error, without reading a result that may be large.
func fails(raw json.RawMessage) bool {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	for dec.More() {
		t, err := dec.Token()
		if err != nil || t == "result" {
			return false
		}
		if t == "error" {
			return true
		}
		var skip json.RawMessage
		if dec.Decode(&skip) != nil {
			return false
		}
	}
	return false
}
