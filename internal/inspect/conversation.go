package inspect

import (
	"bytes"
	"encoding/json"
	"time"
)

// Conversation is one logical call: its legs and what stands between them.
type Conversation struct {
	Server string
	Call   uint64
	Method string // tools/call, prompts/get or resources/read
	Name   string // the tool, the prompt, or the resource's address
	Began  time.Time
	Legs   []*Leg

	Run *Run // of the Inspector that made the call; nil where nobody told
}

// Leg is one request of a conversation and its reply.
type Leg struct {
	N       int // 1-based
	Request *Message
	Reply   *Message   // nil while it is awaited
	Notes   []*Message // progress, log messages and cancellation that belong to it
	Pushes  []*Push    // of a legacy server, while this was the only call it worked on

	round bool // the reply is input_required
}

// Push is a legacy server's own request, and the answer to it.
type Push struct{ Request, Answer *Message }

// Question is one entry of a round, with the answer that went back for it.
type Question struct {
	Key     string
	Method  string // "elicitation/create (url)" for URL mode
	Message string
	Params  json.RawMessage
	Answer  json.RawMessage // nil: not answered
}

func (c *Conversation) add(m *Message) {
	for len(c.Legs) < m.Leg {
		c.Legs = append(c.Legs, &Leg{N: len(c.Legs) + 1})
	}
	if m.Leg < 1 {
		return
	}
	leg := c.Legs[m.Leg-1]
	switch {
	case m.ID == "":
		leg.Notes = append(leg.Notes, m)
	case m.Response:
		leg.Reply = m
		leg.round = !m.Failed && text(get(m.Raw, "result", "resultType")) == "input_required"
	default:
		leg.Request = m
	}
}

func (c *Conversation) last() *Message {
	var last *Message
	for _, l := range c.Legs {
		for _, m := range append([]*Message{l.Request, l.Reply}, l.Notes...) {
			if m != nil && (last == nil || m.Seq > last.Seq) {
				last = m
			}
		}
	}
	return last
}

// Took is how long the leg was on the wire, and whether it is over.
func (l *Leg) Took() (time.Duration, bool) {
	if l.Request == nil || l.Reply == nil {
		return 0, false
	}
	return l.Reply.Time.Sub(l.Request.Time), true
}

// InputRequired says whether the leg's reply is a round.
func (l *Leg) InputRequired() bool { return l.round }

// Cancelled says whether the leg was given up by notifications/cancelled.
func (l *Leg) Cancelled() bool {
	for _, m := range l.Notes {
		if m.Sent && m.Method == "notifications/cancelled" {
			return true
		}
	}
	return false
}

// Questions are what leg i (0-based) asked, in the server's order, with what the next leg answered. A round with a
// state alone has none.
func (c *Conversation) Questions(i int) []Question {
	if i < 0 || i >= len(c.Legs) || c.Legs[i].Reply == nil {
		return nil
	}
	asked, err := members(get(c.Legs[i].Reply.Raw, "result", "inputRequests"))
	if err != nil {
		return nil
	}
	var answers []member
	if i+1 < len(c.Legs) && c.Legs[i+1].Request != nil {
		answers, _ = members(get(c.Legs[i+1].Request.Raw, "params", "inputResponses"))
	}
	var out []Question
	for _, a := range asked {
		q := Question{Key: a.key, Method: text(get(a.val, "method")), Params: get(a.val, "params")}
		q.Message = text(get(q.Params, "message"))
		if text(get(q.Params, "mode")) == "url" {
			q.Method += " (url)"
		}
		for _, r := range answers {
			if r.key == a.key {
				q.Answer = r.val
			}
		}
		out = append(out, q)
	}
	return out
}

// callName is what a call's first request names.
func callName(m *Message) string {
	name := "name"
	if m.Method == "resources/read" {
		name = "uri"
	}
	return text(get(m.Raw, "params", name))
}

// Arguments are those of the call, for another call with edited ones; nil where there are none. They outlive the text
// of the request, and are there where none was sent.
func (c *Conversation) Arguments() json.RawMessage {
	if c.Run != nil {
		return bytes.Clone(c.Run.Arguments)
	}
	if r := c.First(); r != nil {
		return bytes.Clone(get(r.Raw, "params", "arguments"))
	}
	return nil
}

// First is the original request, or nil where none was sent.
func (c *Conversation) First() *Message {
	if len(c.Legs) == 0 {
		return nil
	}
	return c.Legs[0].Request
}
