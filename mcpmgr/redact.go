package mcpmgr

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

const (
	redacted = "[redacted]"
	// minReflected is the least size of a state that is looked for elsewhere: a shorter one may be
	// an ordinary word.
	minReflected = 16
)

// states remembers the requestStates of one call for as long as it runs, so that a server cannot
// have one of them shown by reflecting it. Safe for concurrent use.
type states struct {
	mu    sync.RWMutex
	pats  [][]byte // longest first
	lines [][]byte // these and the lines of a state: in text alone, since one line may be of use elsewhere
}

// add remembers a state token (with its quotes) in every spelling that its text comes in, and its lines.
func (s *states) add(token json.RawMessage) {
	if s == nil || len(token) < 2 {
		return
	}
	meant := unescape(token[1 : len(token)-1])
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pats = withPatterns(s.pats, spellings(token, meant)...)
	s.lines = withPatterns(s.lines, s.pats...)
	if lines := bytes.FieldsFunc(meant, func(r rune) bool { return r == '\n' || r == '\r' }); len(lines) > 1 {
		s.lines = withPatterns(s.lines, lines...) // what prints it prints lines
	}
}

// spellings are a state as written, as meant, as JSON within JSON and quoted text have it, and with the replacement
// characters that a decoder puts for lone surrogates.
func spellings(token json.RawMessage, meant []byte) [][]byte {
	bare := func(quoted []byte) []byte { return quoted[1 : len(quoted)-1] }
	out := [][]byte{bare(token), meant, bare(quote(bare(token))), bare(quote(meant)), bare(strconv.AppendQuote(nil, string(meant)))}
	if text, ok := stringValue(token); ok && text != string(meant) {
		out = append(out, []byte(text), bare(strconv.AppendQuote(nil, text)))
	}
	return out
}

// withPatterns returns a list with more patterns, longest first; readers keep the old one.
func withPatterns(list [][]byte, more ...[]byte) [][]byte {
	list = slices.Clone(list)
	for _, p := range more {
		if len(p) >= minReflected && !slices.ContainsFunc(list, func(q []byte) bool { return bytes.Equal(p, q) }) {
			list = append(list, bytes.Clone(p))
		}
	}
	slices.SortStableFunc(list, func(a, b []byte) int { return cmp.Compare(len(b), len(a)) })
	return list
}

func (s *states) patterns() [][]byte {
	if s == nil {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.pats
}

// inText is what is looked for in plain text.
func (s *states) inText() [][]byte {
	if s == nil {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.lines
}

// text returns t with every remembered state, and every line of one, replaced.
func (s *states) text(t string) string {
	pats := s.inText()
	if len(pats) == 0 {
		return t
	}
	return cutStates(string(scrub([]byte(t), pats)), pats)
}

// maxCuts is how many ellipses are looked at: we set few.
const maxCuts = 16

// cutStates replaces what is left of a state that was cut to be quoted: its beginning before an ellipsis.
func cutStates(t string, pats [][]byte) string {
	at := len(t)
	for range maxCuts {
		if at = strings.LastIndex(t[:at], "…"); at < 0 {
			break
		}
		for _, p := range pats {
			if n := cutLength(t[:at], p); n > 0 {
				t = t[:at-n] + redacted + t[at:]
				at -= n
				break
			}
		}
	}
	return t
}

// cutLength is how much of the beginning of p a text ends with, if it is enough to be told from a word.
func cutLength(t string, p []byte) int {
	for n := min(len(t), len(p)-1); n >= minReflected; n-- {
		if t[len(t)-n] == p[0] && t[len(t)-n:] == string(p[:n]) {
			return n
		}
	}
	return 0
}

func scrub(text []byte, pats [][]byte) []byte {
	for _, p := range pats {
		if bytes.Contains(text, p) {
			text = bytes.ReplaceAll(text, p, []byte(redacted))
		}
	}
	return text
}

func holds(text []byte, pats [][]byte) bool {
	return slices.ContainsFunc(pats, func(p []byte) bool { return bytes.Contains(text, p) })
}

// json returns the JSON text raw with every remembered state replaced in its strings, keys and
// numbers. What holds none is returned as it came, the very same bytes.
func (s *states) json(raw json.RawMessage) json.RawMessage {
	pats := s.patterns()
	if len(pats) == 0 {
		return raw
	}
	var out []byte // nil while nothing was replaced
	done, keys := 0, 0
	walkScalars(raw, func(start, end int) bool {
		tok := raw[start:end]
		var repl []byte
		if tok[0] == '"' {
			text := unescape(tok[1 : len(tok)-1])
			if !holds(text, pats) {
				return true
			}
			text = scrub(text, pats)
			if rest := bytes.TrimLeft(raw[end:], " \t\r\n"); len(rest) > 0 && rest[0] == ':' {
				if keys++; keys > 1 { // two keys of one object must not become the same
					text = bytes.ReplaceAll(text, []byte(redacted), fmt.Appendf(nil, "[redacted %d]", keys))
				}
			}
			repl = quote(text)
		} else {
			if !holds(tok, pats) {
				return true
			}
			repl = []byte(`"` + redacted + `"`)
		}
		out = append(append(out, raw[done:start]...), repl...)
		done = end
		return true
	})
	if out == nil {
		return raw
	}
	return append(out, raw[done:]...)
}

// reflectedIn reports whether a remembered state is part of any string of raw.
func (s *states) reflectedIn(raw json.RawMessage) bool {
	pats := s.patterns()
	found := false
	if len(pats) == 0 {
		return false
	}
	walkScalars(raw, func(start, end int) bool {
		tok := raw[start:end]
		if tok[0] == '"' {
			tok = unescape(tok[1 : len(tok)-1])
		}
		found = holds(tok, pats)
		return !found
	})
	return found
}

// walkScalars calls f with the bounds of every string and number token of raw until f says stop.
func walkScalars(raw []byte, f func(start, end int) bool) {
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '"':
			end, err := stringEnd(raw, i)
			if err != nil || !f(i, end) {
				return
			}
			i = end
		case c == '-' || c >= '0' && c <= '9':
			end, err := valueEnd(raw, i)
			if err != nil || !f(i, end) {
				return
			}
			i = end
		default:
			i++
		}
	}
}

// recentStates keeps the states of the calls that run on one server, and of the last few that
// ended, for its stderr: a line may be read after the call that it betrays.
type recentStates struct {
	mu     sync.Mutex
	active map[*states]struct{}
	past   []*states
}

const keepPast = 8

func (r *recentStates) begin(s *states) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.active == nil {
		r.active = map[*states]struct{}{}
	}
	r.active[s] = struct{}{}
}

func (r *recentStates) end(s *states) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.active, s)
	if len(s.patterns()) == 0 {
		return
	}
	if r.past = append(r.past, s); len(r.past) > keepPast {
		r.past = slices.Delete(r.past, 0, len(r.past)-keepPast)
	}
}

func (r *recentStates) text(t string) string {
	r.mu.Lock()
	all := slices.Clone(r.past)
	for s := range r.active {
		all = append(all, s)
	}
	r.mu.Unlock()
	for _, s := range all {
		t = s.text(t)
	}
	return t
}

func (r *recentStates) json(raw json.RawMessage) json.RawMessage {
	r.mu.Lock()
	all := slices.Clone(r.past)
	for s := range r.active {
		all = append(all, s)
	}
	r.mu.Unlock()
	for _, s := range all {
		raw = s.json(raw)
	}
	return raw
}
