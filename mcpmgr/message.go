package mcpmgr

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// codeInternal is JSON-RPC's for a peer that has failed in a way of its own.
const codeInternal = -32603

// maxDepth is the deepest nesting of a message that the codec underneath accepts.
const maxDepth = 1000

// message is one JSON-RPC message from a peer, its parts verbatim.
type message struct {
	id     json.RawMessage // nil: absent or null
	method string          // "" for a response
	params json.RawMessage
	result json.RawMessage
	err    *jsonrpc.Error
}

func (m *message) response() bool { return m.method == "" }

// number returns a response's id where it is one that we can have given.
func (m *message) number() (int64, bool) { return idNumber(m.id) }

// idNumber reads one of our ids as a peer wrote it. We give whole numbers only, so that one which
// came back as a float (7.0) or as a string ("7"), as some servers do it, can mean no other request.
func idNumber(id json.RawMessage) (int64, bool) {
	if s, ok := stringValue(id); ok {
		n, err := strconv.ParseInt(s, 10, 64)
		return n, err == nil && strconv.FormatInt(n, 10) == s
	}
	if n, err := strconv.ParseInt(string(id), 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(id), 64)
	return int64(f), err == nil && f == math.Trunc(f) && math.Abs(f) <= safeInteger
}

// parseMessage checks the shape of one message strictly: what it returns, the SDK's codec
// accepts too, but for ids and errors that lineFilter has to spell for it. The message is returned with an error, too, when its id could be read, so that the
// one request which it answers can fail.
func parseMessage(raw []byte) (*message, error) {
	if !json.Valid(raw) {
		return salvage(raw, errors.New("it is not JSON"))
	}
	ms, err := members(raw)
	if err != nil {
		return salvage(raw, err)
	}
	m := &message{}
	if id, ok := find(ms, "id"); ok && !isNull(id) {
		if id[0] != '"' && id[0] != '-' && (id[0] < '0' || id[0] > '9') {
			return nil, errors.New("its id is neither a number nor a string")
		}
		m.id = id
	}
	if deep(raw) {
		return m, fmt.Errorf("it is nested deeper than %d", maxDepth)
	}
	v, _ := find(ms, "jsonrpc")
	if version, _ := stringValue(v); version != "2.0" {
		err := errors.New(`it lacks "jsonrpc": "2.0"`)
		if !speaksRPC(ms) {
			return nil, err // a line of a JSON log may have an id of its own
		}
		return m, err
	}
	if v, ok := find(ms, "method"); ok {
		if m.method, ok = stringValue(v); !ok || m.method == "" {
			return nil, errors.New("its method is not a string")
		}
		m.params, _ = find(ms, "params")
		return m, nil
	}
	m.result, _ = find(ms, "result")
	if v, ok := find(ms, "error"); ok && !isNull(v) {
		if isNull(m.result) { // how some servers say that there is none
			m.result = nil
		}
		if m.result != nil {
			return m, errors.New("it has both a result and an error")
		}
		if m.err, err = parseError(v); err != nil {
			return m, &oddError{err.Error(), codeIn(v)}
		}
		return m, nil
	}
	if m.result == nil {
		return m, errors.New("it has neither a result nor an error")
	}
	return m, nil
}

// salvage finds the id of a response that cannot be read otherwise: one with NaN or a raw control
// character somewhere in its result, or with a key that is given twice. It returns no message where no one
// id is to be found, and why as an *oddError where the response is an error.
func salvage(raw []byte, why error) (*message, error) {
	ms, err := split(raw)
	if err != nil {
		return nil, why
	}
	m := &message{}
	for _, x := range ms {
		switch {
		case x.name == "method", x.name == "id" && m.id != nil:
			return nil, why
		case x.name == "id":
			m.id = x.val
		}
	}
	if _, ok := m.number(); !ok || !speaksRPC(ms) {
		return nil, why
	}
	result, _ := find(ms, "result")
	if e, ok := find(ms, "error"); ok && !isNull(e) && (result == nil || isNull(result)) {
		return m, &oddError{why.Error(), codeIn(e)}
	}
	return m, why
}

// speaksRPC reports whether an object means to be a message, however badly.
func speaksRPC(ms []member) bool {
	return slices.ContainsFunc(ms, func(m member) bool {
		return m.name == "jsonrpc" || m.name == "result" || m.name == "error"
	})
}

// oddError says that a reply is an error that cannot be read, at most its code.
type oddError struct {
	why  string
	code int64
}

func (e *oddError) Error() string { return e.why }

func (e *oddError) rpc() *jsonrpc.Error {
	return &jsonrpc.Error{Code: e.code, Message: "the server answers with an error that cannot be read: " + e.why}
}

// codeIn finds the code of an error that is not well made: it may tell the era. Where none is to be found the error is
// an internal one.
func codeIn(raw []byte) int64 {
	ms, err := split(raw)
	if err != nil {
		return codeInternal
	}
	code, _ := find(ms, "code")
	if n, ok := idNumber(code); ok {
		return n
	}
	return codeInternal
}

// unusable is what a request gets whose reply cannot be used: a reply that is an error is one, however it is made.
func unusable(what string, why error) error {
	if odd, ok := errors.AsType[*oddError](why); ok {
		return odd.rpc()
	}
	return &errBadReply{what + " cannot be used: " + why.Error()}
}

func parseError(raw json.RawMessage) (*jsonrpc.Error, error) {
	ms, err := members(raw)
	if err != nil {
		return nil, fmt.Errorf("its error is malformed: %w", err)
	}
	var e jsonrpc.Error
	code, _ := find(ms, "code")
	n, ok := idNumber(code) // as a float or a text, too: it is the code that tells the era
	if !ok {
		return nil, errors.New("its error has no integer code")
	}
	e.Code = n
	msg, _ := find(ms, "message")
	if e.Message, ok = stringValue(msg); msg != nil && !isNull(msg) && !ok {
		return nil, errors.New("its error's message is not a string")
	}
	e.Data, _ = find(ms, "data")
	return &e, nil
}

// deep reports whether raw is nested deeper than maxDepth.
func deep(raw []byte) bool {
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			end, err := stringEnd(raw, i)
			if err != nil {
				return false
			}
			i = end - 1
		case '{', '[':
			if depth++; depth > maxDepth {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}
