//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package tty

import (
	"context"
	"os"
	"time"
)

// WaitLine waits until a terminal that edits lines itself has one to read, or has ended. It returns the cause of
// ctx when that ends first; nothing is read then.
func WaitLine(ctx context.Context, f *os.File) error {
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if readable(f, 100*time.Millisecond) {
			return nil
		}
	}
}
