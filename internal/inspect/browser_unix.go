//go:build unix

package inspect

import (
	"os/exec"
	"syscall"
)

// ownSession takes the terminal away from the command: a browser for terminals would draw over the screen and read its
// keys. It also goes on when the terminal goes.
func ownSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
