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

// unknownEffect ends what is said of a call that broke off behind its beginning.
const unknownEffect = " after it had begun: what it did is not known."

// failures are the texts with which a Host ends calls, in words that need no knowledge of the protocol.
var failures = map[string]string{
	"This operation was aborted": "The call was stopped.",
	"Client Capability invocation was cancelled after provider acceptance":                            "The call was stopped" + unknownEffect,
	"Client Capability invocation timed out before provider acceptance":                               "The call was given up before it had begun.",
	"Client Capability invocation timed out after provider acceptance":                                "The call took too long and was given up" + unknownEffect,
	"Client Capability provider disconnected before accepting the call":                               "The program that runs this tool was lost before the call had begun.",
	"Client Capability provider disconnected after accepting the call":                                "The program that runs this tool was lost with the call" + unknownEffect,
	"Client Capability provider has too many active invocations":                                      "The program that runs this tool has too many calls already.",
	"Client Capability provider is no longer available":                                               "The program that runs this tool is gone.",
	"Client Capability invocation asked more than 256 times":                                          "The call asked more than 256 times.",
	"Client Capability tool is not available in this Turn":                                            "This tool was not there when the Turn began.",
	"Client Capability provider sent a result while its form was still open; the result was not used": "A result came while the form was still open; it was not used.",
	"The form was not answered in time":                                                               "Nobody answered the form in time.",
}

// failureWords says why a call has failed. A text that is not a Host's own stays as it is.
func failureWords(text string) string {
	bare := text
	if code, rest, ok := strings.Cut(text, ": "); ok && !strings.Contains(code, " ") {
		bare = rest
	}
	if words, ok := failures[bare]; ok {
		return words
	}
	return text
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
