package inspect

import (
	"slices"
	"strconv"

	"askback/mcpmgr"
)

// What a Log keeps: the newest messages, and the text of the newest of them.
const (
	MaxMessages = 20_000
	MaxKept     = 64 << 20 // bytes of raw JSON, together
	MaxRaw      = 8 << 20  // of one message
)

// Log is what has passed on all connections, and the conversations that it makes. It is a pure model: its owner adds
// messages in their order and reads it from the same goroutine.
type Log struct {
	Messages      []*Message
	Conversations []*Conversation

	maxMessages, maxKept, maxRaw int

	seq    int
	kept   int // bytes of Raw
	oldest int // index of the first message that may still have its Raw
	byCall map[key]*Conversation
	runs   map[uint64]*Conversation // by the Inspector's run
	pushes map[wireID]*Push         // that wait, by id
	asked  map[wireID]string        // the server's own requests that wait, by id: their methods
	ids    map[wireID]legRef        // requests of calls, by id

	redactor redactor
}

// wireID names a request by its id, one way or the other.
type wireID struct {
	server string
	gen    uint64
	sent   bool
	id     string
}

type legRef struct {
	call key
	leg  int
}

// NewLog returns an empty Log.
func NewLog() *Log {
	return &Log{maxMessages: MaxMessages, maxKept: MaxKept, maxRaw: MaxRaw, byCall: map[key]*Conversation{}, runs: map[uint64]*Conversation{}, pushes: map[wireID]*Push{}, asked: map[wireID]string{}, ids: map[wireID]legRef{}}
}

// Add takes the next message.
func (l *Log) Add(e mcpmgr.TapEvent) *Message {
	m := newMessage(e)
	l.seq++
	m.Seq = l.seq
	l.relate(m)
	l.redactor.learn(m)
	if len(m.Raw) > l.maxRaw {
		m.Raw = nil
	}
	l.Messages = append(l.Messages, m)
	l.kept += len(m.Raw)
	l.trim()
	if m.Call != 0 {
		l.conversation(m).add(m)
	}
	return m
}

// relate finds what a message belongs to where the connection did not say: the method that an answer of ours answers,
// and the leg that a progress or a cancellation is about.
func (l *Log) relate(m *Message) {
	r := wireID{m.Server, m.Generation, m.Sent, m.ID}
	switch {
	case m.ID != "" && !m.Response && !m.Sent:
		l.asked[r] = m.Method
		l.pushed(r, m)
	case m.answer():
		r.sent = false
		if m.Method == "" {
			m.Method = l.asked[r]
		}
		delete(l.asked, r)
		if p := l.pushes[r]; p != nil {
			p.Answer = m
			delete(l.pushes, r)
		}
	case m.ID != "" && !m.Response && m.Call != 0:
		l.ids[r] = legRef{key{m.Server, m.Call}, m.Leg}
	case m.Response && m.Call != 0:
		r.sent = true
		delete(l.ids, r)
	case m.Response && m.Method == "": // to a leg that was given up
		r.sent = true
		if c := l.byCall[l.ids[r].call]; c != nil {
			m.Method = c.Method
		}
	case m.ID == "" && m.Call == 0 && m.Size < 64<<10:
		l.relateNote(m)
	}
}

// pushed puts a server's own request with the call that it interrupts, where only one can be meant.
func (l *Log) pushed(r wireID, m *Message) {
	switch m.Method {
	case "elicitation/create", "sampling/createMessage", "roots/list":
	default:
		return
	}
	var open *Conversation
	for _, c := range l.Conversations {
		if c.Server != m.Server || c.Run == nil || !c.Run.Open() || len(c.Legs) == 0 {
			continue
		}
		if open != nil {
			return
		}
		open = c
	}
	if open != nil {
		leg := open.Legs[len(open.Legs)-1]
		p := &Push{Request: m}
		leg.Pushes = append(leg.Pushes, p)
		l.pushes[r] = p
	}
}

func (l *Log) relateNote(m *Message) {
	id := ""
	switch m.Method {
	case "notifications/cancelled":
		id = string(get(m.Raw, "params", "requestId"))
	case "notifications/progress":
		token := text(get(m.Raw, "params", "progressToken"))
		if n, ok := cutPrefix(token, "leg-"); ok {
			id = n
		}
	}
	if ref, ok := l.ids[wireID{m.Server, m.Generation, true, id}]; ok && id != "" {
		m.Call, m.Leg = ref.call.call, ref.leg
	}
}

func cutPrefix(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || s[:len(prefix)] != prefix {
		return "", false
	}
	if _, err := strconv.ParseInt(s[len(prefix):], 10, 64); err != nil {
		return "", false
	}
	return s[len(prefix):], true
}

// trim drops the oldest texts, and the oldest messages, over the limits. Conversations keep their messages.
func (l *Log) trim() {
	for l.kept > l.maxKept && l.oldest < len(l.Messages)-1 {
		m := l.Messages[l.oldest]
		l.kept -= len(m.Raw)
		m.Raw = nil
		l.oldest++
	}
	if n := len(l.Messages) - l.maxMessages; n > 0 && len(l.Messages) >= l.maxMessages+l.maxMessages/10 {
		for _, m := range l.Messages[:n] {
			l.kept -= len(m.Raw)
			m.Raw = nil
		}
		l.Messages = slices.Clone(l.Messages[n:])
		l.oldest = max(0, l.oldest-n)
		l.forget()
	}
}

// forget drops the conversations of which no message is left.
func (l *Log) forget() {
	first := l.Messages[0].Seq
	l.Conversations = slices.DeleteFunc(l.Conversations, func(c *Conversation) bool {
		last := c.last()
		gone := (c.Run == nil || !c.Run.Open()) && (last == nil || last.Seq < first)
		if gone {
			delete(l.byCall, key{c.Server, c.Call})
			if c.Run != nil {
				delete(l.runs, c.Run.ID)
			}
		}
		return gone
	})
}

func (l *Log) conversation(m *Message) *Conversation {
	k := key{m.Server, m.Call}
	c := l.byCall[k]
	if c == nil {
		c = &Conversation{Server: m.Server, Call: m.Call, Method: m.Method, Name: callName(m), Began: m.Time}
		l.byCall[k] = c
		l.Conversations = append(l.Conversations, c)
	}
	return c
}

// Conversation returns the conversation of a message, or nil.
func (l *Log) Conversation(m *Message) *Conversation { return l.byCall[key{m.Server, m.Call}] }

// Find returns the conversation of a server's call, or nil.
func (l *Log) Find(server string, call uint64) *Conversation { return l.byCall[key{server, call}] }
