//go:build !unix

package tty

// CanSuspend says whether a stopped program could be continued; this system has no job control.
func CanSuspend() bool { return false }
