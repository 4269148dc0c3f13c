package app

import (
	"context"
	"fmt"

	"askback/forms"
	"askback/hostclient"
	"askback/protocol"
)

// findSession finds a session by its id, or by its name where only one has it.
func findSession(ctx context.Context, v *hostclient.View, want string) (string, error) {
	items, err := v.Sessions(ctx)
	if err != nil {
		return "", err
	}
	var named []protocol.SessionItem
	for _, s := range items {
		if s.ID == want {
			return s.ID, nil
		}
		if s.Name == want {
			named = append(named, s)
		}
	}
	switch len(named) {
	case 1:
		return named[0].ID, nil
	case 0:
		return "", notFoundf("the Host has no session with the id or name %q", forms.Line(want))
	}
	return "", usagef(fmt.Errorf("%d sessions are named %q: give an id", len(named), forms.Line(want)))
}
