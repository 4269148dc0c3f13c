package tui

import (
	"os/signal"
	"syscall"
)

// signalIgnore keeps a shell alive when it takes the terminal back.
func signalIgnore() { signal.Ignore(syscall.SIGTTOU) }
