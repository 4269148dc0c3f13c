package inspect

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
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
	numbers := numbersOf(given)
	out := make([]byte, 0, len(raw))
	for rest := []byte(raw); len(rest) > 0; {
		n := tokenLen(rest)
		t := rest[:n]
		rest = rest[n:]
		switch {
		case t[0] != '"':
			if slices.Contains(given, string(t)) || numbers.has(string(t)) {
				t = quoted(redacted)
			}
		case !bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(":")):
			t = replaceInString(t, given)
		}
		out = append(out, t...)
	}
	return out
}

// numbers are the values of those answers that are numbers: a server that reads 1500 may well write 1500.0.
type numbers map[float64]bool

func numbersOf(given []string) numbers {
	out := numbers{}
	for _, g := range given {
		if v, ok := number64(g); ok {
			out[v] = true
		}
	}
	return out
}

func (n numbers) has(token string) bool {
	if len(n) == 0 {
		return false
	}
	v, ok := number64(token)
	return ok && n[v]
}

// number64 reads a number as JSON writes it.
func number64(s string) (float64, bool) {
	if s == "" || strings.Trim(s, "0123456789+-.eE") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil
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

// replaceInString replaces the given texts within a JSON string: as they are, as they stand in an address, and as they
// stand in JSON within the string, or in JSON within that, however it is escaped.
func replaceInString(raw json.RawMessage, given []string) json.RawMessage {
	s := text(raw)
	t := replaceIn(reading{text: s}, s, given)
	if strings.ContainsAny(t, "%+") {
		t = replaceIn(read(t, percent), t, given)
	}
	if strings.Contains(t, `\`) {
		t = replaceIn(read(t, escape), t, given)
	}
	if strings.Contains(t, `\\`) || strings.Contains(t, `\u005`) { // an escaped backslash
		t = replaceIn(read(t, escape).again(escape), t, given)
	}
	if t == s {
		return raw
	}
	return quoted(t)
}

// reading is what an escaped text stands for, and where in it each byte of that comes from.
type reading struct {
	text string
	from []int // nil: the bytes are the text's own; else one more than there are bytes
}

// unit reads the first letter of a text, escaped or not: what it stands for, and its length as it is written.
type unit func(s string) (letter string, n int)

func read(s string, f unit) reading { return reading{text: s}.again(f) }

// again reads what was read once more.
func (r reading) again(f unit) reading {
	var b strings.Builder
	b.Grow(len(r.text))
	from := make([]int, 0, len(r.text)+1)
	for at := 0; at < len(r.text); {
		letter, n := f(r.text[at:])
		for range len(letter) {
			from = append(from, r.origin(at))
		}
		b.WriteString(letter)
		at += n
	}
	return reading{b.String(), append(from, r.origin(len(r.text)))}
}

func (r reading) origin(at int) int {
	if r.from == nil {
		return at
	}
	return r.from[at]
}

// replaceIn replaces in s what is read as one of the given texts; of two that begin alike the one that is given first.
func replaceIn(r reading, s string, given []string) string {
	type span struct{ from, to int }
	var spans []span
	for _, g := range given {
		for at := 0; g != ""; {
			i := strings.Index(r.text[at:], g)
			if i < 0 {
				break
			}
			at += i + len(g)
			spans = append(spans, span{r.origin(at - len(g)), r.origin(at)})
		}
	}
	if spans == nil {
		return s
	}
	slices.SortStableFunc(spans, func(a, b span) int { return a.from - b.from })
	var b strings.Builder
	done := 0
	for _, x := range spans {
		if x.from >= done {
			b.WriteString(s[done:x.from] + redacted)
		}
		done = max(done, x.to) // what overlaps goes with the one before it
	}
	return b.String() + s[done:]
}

// percent reads a letter of an address, where a blank may be a plus.
func percent(s string) (string, int) {
	switch {
	case s[0] == '+':
		return " ", 1
	case s[0] == '%' && len(s) >= 3:
		if n, err := strconv.ParseUint(s[1:3], 16, 8); err == nil {
			return string([]byte{byte(n)}), 3
		}
	}
	return s[:1], 1
}

// escape reads a letter of a JSON string: as it is, or as any of the escapes that writers of JSON choose.
func escape(s string) (string, int) {
	if s[0] != '\\' || len(s) < 2 {
		return s[:1], 1
	}
	switch s[1] {
	case '"', '\\', '/':
		return s[1:2], 2
	case 'b', 'f', 'n', 'r', 't':
		return string("\b\f\n\r\t"[strings.IndexByte("bfnrt", s[1])]), 2
	case 'u':
		r, ok := hexRune(s)
		if !ok {
			break
		}
		if low, ok := hexRune(s[6:]); ok && utf16.IsSurrogate(r) {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return string(pair), 12
			}
		}
		return string(r), 6
	}
	return s[:1], 1
}

// hexRune reads \uXXXX.
func hexRune(s string) (rune, bool) {
	if len(s) < 6 || s[:2] != `\u` {
		return 0, false
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(n), err == nil
}
