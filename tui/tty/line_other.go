//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package tty

import (
	"context"
	"os"
)

// WaitLine does not wait where the system cannot look ahead.
func WaitLine(ctx context.Context, _ *os.File) error { return context.Cause(ctx) }
