package inspect

import (
	"slices"
	"strconv"
	"strings"
)

// Filter chooses messages: every word of it must fit. A word is looked for, without regard to case, in server, method,
// id and text; "server:", "method:", "id:", "call:", "leg:" and "text:" look in one place, "sent" and "received" at
// the direction, "error" for errors, and "round" for messages that bear inputRequests, inputResponses or a state. A
// leading "-" turns a word round.
type Filter struct {
	words []word
	among map[*Message]bool // if not nil, no others
}

type word struct {
	not        bool
	where, has string
}

// ParseFilter reads a Filter. Any text is one.
func ParseFilter(s string) Filter {
	var f Filter
	for _, t := range strings.Fields(strings.ToLower(s)) {
		w := word{has: t}
		if rest, ok := strings.CutPrefix(t, "-"); ok && rest != "" {
			w.not, w.has = true, rest
		}
		if where, has, ok := strings.Cut(w.has, ":"); ok && slices.Contains([]string{"server", "method", "id", "call", "leg", "text"}, where) {
			w.where, w.has = where, has
		}
		f.words = append(f.words, w)
	}
	return f
}

// OfCalls is the Filter that lets through what belongs to the conversations.
func OfCalls(cs ...*Conversation) Filter {
	f := Filter{among: map[*Message]bool{}}
	for _, c := range cs {
		for _, l := range c.Legs {
			f.among[l.Request], f.among[l.Reply] = true, true
			for _, n := range l.Notes {
				f.among[n] = true
			}
			for _, p := range l.Pushes {
				f.among[p.Request], f.among[p.Answer] = true, true
			}
		}
	}
	return f
}

// Empty says whether the Filter lets everything through.
func (f Filter) Empty() bool { return len(f.words) == 0 && f.among == nil }

// Fits says whether a message passes.
func (f Filter) Fits(m *Message) bool {
	if f.among != nil && !f.among[m] {
		return false
	}
	for _, w := range f.words {
		if w.fits(m) == w.not {
			return false
		}
	}
	return true
}

func (w word) fits(m *Message) bool {
	in := func(s string) bool { return strings.Contains(strings.ToLower(s), w.has) }
	switch w.where {
	case "server":
		return in(m.Server)
	case "method":
		return in(m.Method)
	case "id":
		return m.ID == w.has || m.ID == `"`+w.has+`"`
	case "call":
		return m.Call != 0 && strconv.FormatUint(m.Call, 10) == w.has
	case "leg":
		return m.Leg != 0 && strconv.Itoa(m.Leg) == w.has
	case "text":
		return in(string(m.Raw))
	}
	switch w.has {
	case "sent":
		return m.Sent
	case "received":
		return !m.Sent
	case "error":
		return m.Failed
	case "round":
		return m.StateBytes >= 0 || get(m.Raw, "result", "inputRequests") != nil || get(m.Raw, "params", "inputResponses") != nil
	}
	return in(m.Server) || in(m.Method) || m.ID == w.has || in(string(m.Raw))
}
