package inspect

import (
	"time"

	"askback/mcpmgr"
)

// Event is something that happened. Events of one server come in their order; a call's Bound comes before the first
// of its messages.
type Event interface{ event() }

type (
	// Tapped is a message that passed.
	Tapped struct{ mcpmgr.TapEvent }
	// Started is a call that begins, before anything of it is sent.
	Started struct{ Run Run }
	// Bound tells which of the server's logical calls a run is.
	Bound struct{ Run, Call uint64 }
	// Progressed is progress of the leg on the wire.
	Progressed struct {
		Run      uint64
		Progress mcpmgr.Progress
	}
	// Ended is the end of a call. Err is nil where Result is not.
	Ended struct {
		Run    uint64
		At     time.Time
		Result *mcpmgr.Result
		Err    *mcpmgr.ToolCallError
	}
	// Asked is something that a server wants of the person. It waits for Inspector.Answer.
	Asked struct{ Ask *Ask }
	// Withdrawn is an Ask that nobody can answer any more, and why.
	Withdrawn struct {
		Ask     uint64
		Why     string
		Aborted bool // by the person
	}
	// Changed says that a server's state or its tools are others than before.
	Changed struct{ Server string }
	// Noticed is a change notice or a log message of a server. Run is 0 where it belongs to no call.
	Noticed struct {
		Run   uint64
		Event mcpmgr.Event
	}
)

func (Tapped) event()     {}
func (Started) event()    {}
func (Bound) event()      {}
func (Progressed) event() {}
func (Ended) event()      {}
func (Asked) event()      {}
func (Withdrawn) event()  {}
func (Changed) event()    {}
func (Noticed) event()    {}

// Apply takes an event into the Log; those that are none of its own change nothing.
func (l *Log) Apply(e Event) {
	switch e := e.(type) {
	case Tapped:
		l.Add(e.TapEvent)
	case Started:
		r := e.Run
		c := &Conversation{Server: r.Server, Method: r.Method, Name: r.Name, Began: r.Began, Run: &r}
		l.runs[r.ID] = c
		l.Conversations = append(l.Conversations, c)
	case Bound:
		if c := l.runs[e.Run]; c != nil {
			c.Call = e.Call
			l.byCall[key{c.Server, e.Call}] = c
		}
	case Progressed:
		if c := l.runs[e.Run]; c != nil {
			p := e.Progress
			c.Run.Progress = &p
		}
	case Ended:
		if c := l.runs[e.Run]; c != nil {
			c.Run.Ended, c.Run.Result, c.Run.Err = e.At, withoutText(e.Result), e.Err
		}
	}
}

// withoutText is how a call went. What its result says is in its last message, which the Log drops when it has no more
// room.
func withoutText(r *mcpmgr.Result) *mcpmgr.Result {
	if r == nil {
		return nil
	}
	return &mcpmgr.Result{IsError: r.IsError, Legs: r.Legs, Forms: r.Forms}
}

// OfRun returns the conversation of a run, or nil.
func (l *Log) OfRun(run uint64) *Conversation { return l.runs[run] }
