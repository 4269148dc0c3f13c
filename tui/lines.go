package tui

import (
	"context"
	"errors"
)

// runLines runs the surface without a screen.
func runLines(ctx context.Context, o Options, why string) (Outcome, error) {
	return Outcome{Reason: ReasonFailed}, errors.New("lines are not there yet")
}
