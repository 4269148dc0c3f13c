//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package tty

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// readable says whether f has input within d. These systems' poll does not know terminals; select does.
func readable(f *os.File, d time.Duration) bool {
	deadline := time.Now().Add(d)
	for {
		left := time.Until(deadline)
		if left <= 0 {
			return false
		}
		var set unix.FdSet
		set.Zero()
		set.Set(int(f.Fd()))
		tv := unix.NsecToTimeval(left.Nanoseconds())
		n, err := unix.Select(int(f.Fd())+1, &set, nil, nil, &tv)
		if err == unix.EINTR {
			continue
		}
		return err == nil && n > 0
	}
}
