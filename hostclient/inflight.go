package hostclient

import (
	"container/list"
	"strconv"
	"sync"

	"askback/protocol"
)

// call is one request: waiting for a slot, then in flight. Whoever takes it out of the table settles it, once.
type call struct {
	input   protocol.Input
	arrived func(protocol.Result) // on the reader's goroutine, before the next frame is read; may be nil
	done    chan struct{}
	sent    bool

	result protocol.Result
	err    error
}

func (c *call) settle(r protocol.Result, err error) {
	c.result, c.err = r, err
	close(c.done)
}

// inflight holds a connection's requests: at most protocol.MaxRequestsInFlight without an answer, the others in line.
// A request whose caller has left keeps its slot until the Host answers, since the Host counts it until then.
type inflight struct {
	mu     sync.Mutex
	send   func(id string, in protocol.Input) error // called with mu held, so that ids leave in order; must not block
	table  map[string]*call
	line   list.List // of *call
	lastID uint64
	ended  error // set once: nothing is accepted any more
}

func newInflight(send func(string, protocol.Input) error) *inflight {
	return &inflight{send: send, table: make(map[string]*call)}
}

// start puts a call in flight or in line.
func (f *inflight) start(c *call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.ended != nil:
		c.settle(nil, f.ended)
	case len(f.table) < protocol.MaxRequestsInFlight:
		f.launch(c)
	default:
		f.line.PushBack(c)
	}
}

func (f *inflight) launch(c *call) {
	f.lastID++
	id := "r" + strconv.FormatUint(f.lastID, 10)
	if err := f.send(id, c.input); err != nil {
		c.settle(nil, err)
		return
	}
	c.sent = true
	f.table[id] = c
}

// leave takes a call that still waits in line out of it. It reports whether the call was there.
func (f *inflight) leave(c *call) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for e := f.line.Front(); e != nil; e = e.Next() {
		if e.Value == c {
			f.line.Remove(e)
			return true
		}
	}
	return false
}

// answer settles the request that r answers and lets the next in line go. An answer to nothing is the Host's violation.
func (f *inflight) answer(r *protocol.Response) *Error {
	f.mu.Lock()
	c := f.table[r.RequestID]
	if c == nil {
		f.mu.Unlock()
		return violation("the Host answered a request that is not in flight")
	}
	if op := c.input.Operation(); op != r.Operation {
		f.mu.Unlock()
		return violation("the Host answered %s with an answer to %s", op, r.Operation)
	}
	if bad := misplaced(c.input, r.Result); bad != nil {
		f.mu.Unlock()
		return bad
	}
	delete(f.table, r.RequestID)
	for len(f.table) < protocol.MaxRequestsInFlight && f.line.Len() > 0 {
		f.launch(f.line.Remove(f.line.Front()).(*call))
	}
	f.mu.Unlock()
	if !r.OK {
		c.settle(nil, &RequestError{Operation: r.Operation, Code: r.Error.Code, Message: r.Error.Message})
		return nil
	}
	if c.arrived != nil {
		c.arrived(r.Result)
	}
	c.settle(r.Result, nil)
	return nil
}

// misplaced is the Host's violation when a result is about another Interaction or Turn than was asked about: what it says
// would be believed of the wrong one.
func misplaced(in protocol.Input, r protocol.Result) *Error {
	other := false
	switch in := in.(type) {
	case *protocol.InteractionAnswerInput:
		other = isOther(r, in.SessionID, in.InteractionID)
	case *protocol.InteractionQueryInput:
		other = isOther(r, in.SessionID, in.InteractionID)
	case *protocol.TurnStartInput:
		if got, ok := r.(*protocol.TurnStartResult); ok && got.Turn != nil {
			other = isOther(got.Turn, in.SessionID, in.TurnID)
		}
	case *protocol.TurnQueryInput:
		other = isOther(r, in.SessionID, in.TurnID)
	case *protocol.TurnStopInput:
		other = isOther(r, in.SessionID, in.TurnID)
	}
	if other {
		return violation("the Host answered %s about another one than was asked for", in.Operation())
	}
	return nil
}

func isOther(r protocol.Result, session, id string) bool {
	switch got := r.(type) {
	case *protocol.Interaction:
		return got.SessionID != session || got.InteractionID != id
	case *protocol.TurnSnapshot:
		return got.SessionID != session || got.TurnID != id
	}
	return false // refused
}

// end settles everything with the connection's end: what was sent may or may not have been done.
func (f *inflight) end(cause *Error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = notConnected(cause)
	for id, c := range f.table {
		delete(f.table, id)
		c.settle(nil, requestLost(c.input.Operation(), cause))
	}
	for f.line.Len() > 0 {
		f.line.Remove(f.line.Front()).(*call).settle(nil, f.ended)
	}
}

// requestLost says why the connection ended where that is more than that it did.
func requestLost(op protocol.Operation, cause *Error) *Error {
	message := "the connection to the Host ended before it answered " + string(op)
	if cause.Code != CodeDropped && cause.Code != CodeClosed {
		message += ": " + cause.Message
	}
	return &Error{Code: CodeRequestLost, Cause: cause, Message: message}
}

func notConnected(cause *Error) *Error {
	return &Error{Code: CodeNotConnected, Message: "there is no connection to the Host now; nothing was sent", Cause: cause}
}
