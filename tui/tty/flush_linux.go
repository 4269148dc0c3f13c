package tty

import (
	"os"

	"golang.org/x/sys/unix"
)

// DropTyped throws away what was typed into a terminal and not read yet.
func DropTyped(f *os.File) { _ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) }
