package tui

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

// What a Host writes inside of its texts, and how it counts them.

// promptText is a prompt of a shape that is not known: a text as it is, anything else as it is written.
func promptText(raw string) string {
	var s string
	if json.Unmarshal([]byte(raw), &s) == nil {
		return s
	}
	return raw
}

// millis is a time on the wire; none is none.
func millis(ms int64) time.Time {
	if ms <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// failureOf is why a Turn has failed, where its row says so. Not every Host's does.
func failureOf(raw []byte) string {
	var row struct{ FailureMessage string }
	_ = json.Unmarshal(raw, &row) // a row of another shape says nothing
	return row.FailureMessage
}

// toolNames takes a model's name of a tool (mcp__server__tool) apart.
func toolNames(name, display string) (server, tool string) {
	if rest, ok := strings.CutPrefix(name, "mcp__"); ok {
		if s, t, ok := strings.Cut(rest, "__"); ok {
			return s, t
		}
	}
	if display != "" {
		return "", display
	}
	return "", name
}

// steps reads the progress that a Host writes as a text ("steps:3/10").
func steps(chunk string) (done, total int, ok bool) {
	rest, ok := strings.CutPrefix(chunk, "steps:")
	if !ok {
		return 0, 0, false
	}
	d, t, _ := strings.Cut(rest, "/")
	done, err := strconv.Atoi(d)
	if err != nil {
		return 0, 0, false
	}
	total, err = strconv.Atoi(t)
	return done, total, err == nil && total > 0
}

// streams knows how long each assistant text is so far, by message, in UTF-16 units.
type streams map[string]int

// add returns what a piece that starts at an offset adds: pieces may overlap what is known.
func (s streams) add(message string, start int, text string, reset bool) string {
	have := s[message]
	if reset {
		have = 0
	}
	units := utf16.Encode([]rune(text))
	if skip := have - start; skip > 0 {
		units = units[min(skip, len(units)):]
	}
	s[message] = have + len(units)
	return string(utf16.Decode(units))
}
