package app

import (
	"context"
	"errors"

	"askback/internal/inspect"
)

func runInspectScreen(ctx context.Context, g *globals, f *inspectFlags, opt inspect.Options) error {
	return usagef(errors.New("no screen"))
}
