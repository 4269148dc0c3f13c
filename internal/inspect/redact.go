package inspect

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

const (
	redacted = "[redacted]"
	// minEchoed is the least length of an answer that is looked for in what the server sends back: a shorter one may be
	// any word.
	minEchoed = 4
)

// redactor takes answers out of messages: out of the retry or the response that bears them, and out of what the
// server says afterwards where it repeats them. It learns each answer when it passes, so that a text that is not kept
// any more still is found later.
type redactor struct {
	given map[string][]given // by server, longest first
}

// given is the text of an answer and when it went out.
type given struct {
	text string
	seq  int
}

// Redact returns the JSON of a message of the Log without answers. Field names and actions stay.
func (l *Log) Redact(m *Message) json.RawMessage {
	if m.Raw == nil {
		return nil
	}
	out := m.Raw
	if m.Sent {
		return withoutAnswers(m, func(string) {})
	}
	var texts []string
	for _, g := range l.redactor.given[m.Server] {
		if g.seq < m.Seq {
			texts = append(texts, g.text)
		}
	}
	if len(texts) > 0 {
		out = replaceTexts(out, texts)
	}
	return out
}

// learn keeps the texts of the answers that a message bears.
func (r *redactor) learn(m *Message) {
	if !m.Sent || m.Raw == nil || !m.answer() && m.Leg < 2 {
		return
	}
	list := r.given[m.Server]
	withoutAnswers(m, func(s string) {
		if len(s) >= minEchoed && !slices.ContainsFunc(list, func(g given) bool { return g.text == s }) {
			list = append(list, given{s, m.Seq})
		}
	})
	slices.SortStableFunc(list, func(a, b given) int { return len(b.text) - len(a.text) })
	if r.given == nil {
		r.given = map[string][]given{}
	}
	r.given[m.Server] = list
}

// withoutAnswers is a sent message without the answers in it, whose texts it tells.
func withoutAnswers(m *Message, tell func(string)) json.RawMessage {
	ms, err := members(m.Raw)
	if err != nil {
		return quoted(redacted)
	}
	for i, e := range ms {
		switch {
		case e.key == "params":
			ms[i].val = hideResponses(e.val, tell)
		case m.answer() && e.key == "result" && asksForInput(m.Method):
			ms[i].val = hideAnswer(e.val, tell)
		}
	}
	return object(ms)
}

// asksForInput says whether a server's own request is one that a person or the configuration answers. An unknown
// method is taken for one.
func asksForInput(method string) bool { return method != "ping" }

func hideResponses(raw json.RawMessage, tell func(string)) json.RawMessage {
	ms, err := members(raw)
	if err != nil {
		return raw // what is no object bears no inputResponses
	}
	changed := false
	for i, e := range ms {
		if e.key != "inputResponses" {
			continue
		}
		changed = true
		answers, err := members(e.val)
		if err != nil {
			ms[i].val = quoted(redacted)
			continue
		}
		for k := range answers {
			answers[k].val = hideAnswer(answers[k].val, tell)
		}
		ms[i].val = object(answers)
	}
	if !changed {
		return raw
	}
	return object(ms)
}

// hideAnswer keeps what an answer is and hides what it says.
func hideAnswer(raw json.RawMessage, tell func(string)) json.RawMessage {
	ms, err := members(raw)
	if err != nil {
		return quoted(redacted)
	}
	for i, e := range ms {
		switch e.key {
		case "action", "role", "model", "stopReason", "resultType":
			continue
		case "content":
			if fields, err := members(e.val); err == nil && get(e.val, "type") == nil {
				for k := range fields {
					eachText(fields[k].val, tell)
					fields[k].val = quoted(redacted)
				}
				ms[i].val = object(fields)
				continue
			}
		}
		eachText(e.val, tell)
		ms[i].val = quoted(redacted)
	}
	return object(ms)
}

// structural are the words of the protocol that an answer may hold and that say nothing.
var structural = []string{"text", "image", "audio", "type", "resource", "resource_link", "tool_use", "tool_result"}

// eachText visits the texts in the values of raw, and numbers with enough digits to be told apart.
func eachText(raw json.RawMessage, f func(string)) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	for {
		t, err := dec.Token()
		if err != nil {
			return
		}
		switch t := t.(type) {
		case string:
			if !slices.Contains(structural, t) {
				f(t)
			}
		case json.Number:
			f(t.String())
		}
	}
}

// replaceTexts replaces the given texts within every string and number of raw, keys apart. It goes through raw once,
// however deep that is nested.
func replaceTexts(raw json.RawMessage, given []string) json.RawMessage {
	if !json.Valid(raw) {
		return quoted(redacted)
	}
	out := make([]byte, 0, len(raw))
	for rest := []byte(raw); len(rest) > 0; {
		n := tokenLen(rest)
		t := rest[:n]
		rest = rest[n:]
		switch {
		case t[0] != '"':
			if slices.Contains(given, string(t)) {
				t = quoted(redacted)
			}
		case !bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(":")):
			t = replaceInString(t, given)
		}
		out = append(out, t...)
	}
	return out
}

// tokenLen is the length of the first token of valid JSON, or of a part of it; blanks and punctuation are one byte each.
func tokenLen(b []byte) int {
	const single = "{}[],: \t\r\n"
	switch {
	case b[0] == '"':
		return stringLen(b)
	case strings.IndexByte(single, b[0]) >= 0:
		return 1
	}
	if n := bytes.IndexAny(b, single); n >= 0 {
		return n
	}
	return len(b)
}

// stringLen is the length of the JSON string that b begins with.
func stringLen(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

func replaceInString(raw json.RawMessage, given []string) json.RawMessage {
	s := text(raw)
	t := s
	for _, g := range given {
		t = strings.ReplaceAll(t, g, redacted)
		if esc := string(quoted(g)); len(esc) > len(g)+2 { // JSON within a text
			t = strings.ReplaceAll(t, esc[1:len(esc)-1], redacted)
		}
	}
	if t == s {
		return raw
	}
	return quoted(t)
}
