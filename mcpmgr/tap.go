package mcpmgr

import (
	"bytes"
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

// TapEvent is one JSON-RPC message. Raw never holds the text of a requestState: what a member of
// that name holds is replaced by its size, and reflections of the call's states by [redacted].
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

// tap builds the protocol view's event of one message.
func (s *session) tap(dir Direction, req *request, id, method string, response bool, params, result, errRaw json.RawMessage) {
	e := TapEvent{Time: time.Now(), Server: s.server, Generation: s.gen, Direction: dir, Response: response, StateBytes: -1}
	st := &states{} // of a message that belongs to no call
	if req != nil {
		e.Call, e.Leg = req.call, req.leg
		e.Echoed = dir == Sent && req.echoed
		if req.states != nil {
			st = req.states
		}
	}
	shown := map[string]json.RawMessage{}
	for key, val := range map[string]json.RawMessage{"params": params, "result": result, "error": errRaw} {
		if val == nil {
			continue
		}
		at := 1
		if key == "error" { // no driver looks for one in its data; a server may put it there
			at = 2
		}
		h := hideStates(val, at)
		shown[key] = h.raw
		if key != "error" && h.size >= 0 {
			e.StateBytes = h.size
		}
		if dir == Received && key != "params" {
			s.remember(req, st, h.tokens) // reflected in this very message, too
		}
	}
	clean := func(raw json.RawMessage) json.RawMessage { return s.recent.json(st.json(raw)) }
	e.ID, e.Method = string(clean(json.RawMessage(id))), s.recent.text(st.text(method))
	var b, full builder
	put := func(key string, val, shown json.RawMessage) {
		if val != nil {
			full.add(key, val)
			b.add(key, shown)
		}
	}
	put("jsonrpc", json.RawMessage(`"2.0"`), json.RawMessage(`"2.0"`))
	if id != "" {
		put("id", json.RawMessage(id), json.RawMessage(e.ID))
	}
	if !response {
		put("method", quoteString(method), quoteString(e.Method))
	}
	put("params", params, clean(shown["params"]))
	put("result", result, clean(shown["result"]))
	put("error", errRaw, clean(shown["error"]))
	e.Raw, e.Size = b.bytes(), len(full.bytes())
	s.opt.Tap(e)
}

// remember keeps the states of a result for what the server says later. Those of a result that no call waits for,
// which came too late or to another request, are kept as those of a call that has ended.
func (s *session) remember(req *request, st *states, tokens []json.RawMessage) {
	for _, tok := range tokens {
		st.add(tok)
	}
	if len(tokens) > 0 && (req == nil || req.states == nil) {
		s.recent.begin(st)
		s.recent.end(st)
	}
}

// hidden is JSON without the text of any requestState.
type hidden struct {
	raw    json.RawMessage
	size   int               // of the state where one is looked for; -1: none
	tokens []json.RawMessage // the strings that stood there
}

// hideStates replaces every requestState of a message's part by its size: the one that the driver reads, and whatever
// a confused server calls so, however often, wherever and in whichever spelling. What is no JSON is withheld. at is how
// deep the one that counts stands.
func hideStates(raw json.RawMessage, at int) hidden {
	h := hidden{raw: raw, size: -1}
	if !json.Valid(raw) {
		h.raw = quoteString(fmt.Sprintf("[%d bytes, malformed]", len(raw)))
		return h
	}
	var out []byte
	done := 0
	eachState(raw, func(depth int, name []byte, from, to int) {
		token := raw[from:to:to]
		size := stateSize(token)
		if depth == at && string(name) == "requestState" {
			h.size = size
			if isString(token) {
				h.tokens = append(h.tokens, token)
			}
		}
		out = append(append(out, raw[done:from]...), sizeOnly(size)...)
		done = to
	})
	if done > 0 {
		h.raw = append(out, raw[done:]...)
	}
	return h
}

func sizeOnly(n int) json.RawMessage { return quoteString(fmt.Sprintf("[%d bytes]", n)) }

// HideState replaces a requestState of a result by its size, however often and in whichever spelling it is there.
// What stands deeper is the tool's own and stays.
func HideState(raw json.RawMessage) json.RawMessage {
	ms, err := split(raw)
	if err != nil {
		return raw // no object has no members
	}
	found := false
	var b builder
	for _, m := range ms {
		if isStateKey([]byte(m.name)) && string(m.val) != `"`+redacted+`"` {
			found = true
			m.val = sizeOnly(stateSize(m.val))
		}
		b.raw(m.rawKey, m.val)
	}
	if !found {
		return raw
	}
	return b.bytes()
}

// isStateKey reports whether a key means requestState, however it is written. The driver reads that spelling alone,
// but what a server calls request_state is no less of a secret.
func isStateKey(name []byte) bool {
	if len(name) < len("requestState") {
		return false
	}
	plain := bytes.Map(func(r rune) rune {
		if r == '_' || r == '-' {
			return -1
		}
		return r
	}, name)
	return bytes.EqualFold(plain, []byte("requestState"))
}

// eachState calls f for every member of valid JSON whose key means requestState: how deep it stands, its decoded name,
// and the bounds of its value. What a schema says of a property of that name is no state. It goes through raw once.
func eachState(raw []byte, f func(depth int, name []byte, from, to int)) {
	var open []bool // for each object and list around: it is the value of "properties"
	schema := false
	for i := 0; i < len(raw); {
		switch raw[i] {
		case '{', '[':
			open = append(open, schema)
			schema = false
			i++
		case '}', ']':
			open = open[:len(open)-1]
			i++
		case '"':
			end, err := stringEnd(raw, i)
			if err != nil {
				return
			}
			colon := skipSpace(raw, end)
			if schema = false; colon >= len(raw) || raw[colon] != ':' {
				i = end
				continue
			}
			name := unescape(raw[i+1 : end-1])
			schema = string(name) == "properties"
			i = skipSpace(raw, colon+1)
			if !isStateKey(name) || raw[i] == '{' && open[len(open)-1] {
				continue
			}
			to, err := valueEnd(raw, i)
			if err != nil {
				return
			}
			f(len(open), name, i, to)
			i = to
		default:
			i++
		}
	}
}

// stateSize is the size of a state in bytes of text; of what is no string, of its token.
func stateSize(token json.RawMessage) int {
	if !isString(token) {
		return len(token)
	}
	return len(unescape(token[1 : len(token)-1]))
}
