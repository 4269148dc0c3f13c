package tui

import (
	"strings"
	"testing"
)

func TestStreams(t *testing.T) {
	s := streams{}
	for _, tc := range []struct {
		start      int
		text, want string
		reset      bool
	}{
		{0, "héllo ", "héllo ", false},
		{6, "👩x", "👩x", false},  // two units and one
		{8, "xyz", "yz", false}, // one of them is known
		{3, "lo", "", false},    // all of it is
		{0, "new", "new", true},
	} {
		if got := s.add("m", tc.start, tc.text, tc.reset); got != tc.want {
			t.Errorf("%q at %d adds %q, want %q", tc.text, tc.start, got, tc.want)
		}
	}
}

func TestSteps(t *testing.T) {
	for in, want := range map[string][3]int{"steps:3/10": {3, 10, 1}, "steps:3/0": {3, 0, 0}, "steps:a/1": {}, "steps:1/": {1, 0, 0}, "copying": {}, "": {}} {
		done, total, ok := steps(in)
		if got := [3]int{done, total, map[bool]int{true: 1}[ok]}; got != want {
			t.Errorf("%q is %v, want %v", in, got, want)
		}
	}
}

// What a Host writes of a call that has ended is told without the words of its protocol, what a server writes as it is.
func TestFailureWords(t *testing.T) {
	for in, want := range map[string]string{
		"outcome_unknown: Client Capability invocation was cancelled after provider acceptance": "The call was stopped after it had begun: what it did is not known.",
		"This operation was aborted":                 "The call was stopped.",
		"timeout: The form was not answered in time": "Nobody answered the form in time.",
		"connection_lost: the server is gone":        "connection_lost: the server is gone",
		"my: This operation failed":                  "my: This operation failed",
		"":                                           "",
	} {
		if got := failureWords(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
	for in, words := range failures {
		if failureWords("code: "+in) != words || strings.Contains(words, "Capability") {
			t.Errorf("%q is told as %q", in, words)
		}
	}
}

func TestWireTexts(t *testing.T) {
	for _, tc := range []struct{ name, display, server, tool string }{
		{"mcp__demo__deploy", "Deploy", "demo", "deploy"},
		{"mcp__demo__a__b", "", "demo", "a__b"},
		{"bash", "Shell", "", "Shell"},
		{"bash", "", "", "bash"},
		{"mcp__odd", "", "", "mcp__odd"},
	} {
		if s, n := toolNames(tc.name, tc.display); s != tc.server || n != tc.tool {
			t.Errorf("%s is %q of %q", tc.name, n, s)
		}
	}
	if got := promptText(`"say \"yes\"\n"`); got != "say \"yes\"\n" {
		t.Errorf("prompt %q", got)
	}
	if got := promptText(`{"tool":"x"}`); got != `{"tool":"x"}` {
		t.Errorf("prompt %q", got)
	}
	if got := failureOf([]byte(`{"failureMessage":"why"}`)); got != "why" {
		t.Errorf("failure %q", got)
	}
	if !millis(0).IsZero() || millis(1000).Unix() != 1 {
		t.Error("times")
	}
}
