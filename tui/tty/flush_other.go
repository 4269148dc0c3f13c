//go:build !linux

package tty

import "os"

// DropTyped throws away what was typed into a terminal and not read yet, where the system can.
func DropTyped(*os.File) {}
