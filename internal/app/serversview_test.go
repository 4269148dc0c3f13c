package app

import (
	"errors"
	"slices"
	"testing"

	"askback/mcpmgr"
)

func TestShownServer(t *testing.T) {
	ready := mcpmgr.ServerStatus{Name: "demo", State: mcpmgr.StateReady, Tools: 2}
	for name, c := range map[string]struct {
		s       mcpmgr.ServerStatus
		held    int
		refused error
		ready   bool
		state   string
		says    string
	}{
		"held":      {ready, 2, nil, true, "ready", ""},
		"not yet":   {ready, 0, nil, false, "offering its tools", ""},
		"refused":   {ready, 0, errors.New("no grant\nto publish"), false, "not offered", "the Host refuses the tools: no grant to publish"},
		"no tools":  {mcpmgr.ServerStatus{State: mcpmgr.StateReady}, 0, errors.New("no grant"), true, "ready", ""},
		"not ready": {mcpmgr.ServerStatus{State: mcpmgr.StateFailed, Reason: "it ended"}, 0, errors.New("no grant"), false, "failed", "it ended"},
	} {
		if v := shownServer(c.s, c.held, c.refused); v.Ready != c.ready || v.State != c.state || v.Error != c.says {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// The manager says why there are no notices in words of its own.
func TestServerNotes(t *testing.T) {
	got := serverNotes(mcpmgr.ServerStatus{Name: "demo", Notices: "no change notices: the server refuses the subscription", NeedsAuth: true}, []string{"left"})
	want := []string{"no change notices: the server refuses the subscription", "wants authorization: askback authorize demo", "left"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
