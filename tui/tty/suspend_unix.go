//go:build unix

package tty

import (
	"os"

	"golang.org/x/sys/unix"
)

// CanSuspend says whether somebody is there who can continue a stopped program: a shell with job control,
// which is a parent in our session and in another process group. Without one (ssh host cmd, a container, a
// multiplexer's own command) a stopped program would hang for ever.
func CanSuspend() bool {
	ppid := os.Getppid()
	ours, err := unix.Getsid(0)
	if err != nil {
		return false
	}
	theirs, err := unix.Getsid(ppid)
	if err != nil || theirs != ours {
		return false
	}
	group, err := unix.Getpgid(ppid)
	return err == nil && group != unix.Getpgrp()
}
