package tui

import (
	"slices"
	"testing"
)

func TestOpenings(t *testing.T) {
	o := newOpenings()
	if before := o.enter("a"); before != "" {
		t.Errorf("left %q", before)
	}
	if gone := o.saw("a", []string{"1", "2"}, true); gone != nil {
		t.Errorf("gone at first: %v", gone)
	}
	// What leaves while the session is shown is told by others.
	if gone := o.saw("a", []string{"2"}, false); gone != nil || !o.settled("a", "1") || o.settled("a", "1") {
		t.Errorf("gone while shown: %v", gone)
	}
	// A reconnect is no return.
	if gone := o.saw("a", nil, true); gone != nil {
		t.Errorf("gone at a reconnect: %v", gone)
	}
	if before := o.enter("b"); before != "a" {
		t.Errorf("left %q", before)
	}
	o.enter("a")
	if gone := o.saw("a", []string{"3"}, true); !slices.Equal(gone, []string{"2"}) {
		t.Errorf("gone at the return: %v", gone)
	}
	if !o.settled("a", "2") {
		t.Error("its end is no news")
	}
	o.forget("a")
	if o.settled("a", "3") {
		t.Error("a removed session is remembered")
	}
	if before := o.enter("a"); before != "" {
		t.Errorf("a removed session is left: %q", before)
	}
}
