//go:build unix

package mcpmgr

import (
	"os/exec"
	"syscall"
)

// ownGroup makes the command the leader of its own session, and with that of its own process group:
// out of reach of the terminal's interrupt key, with everything it starts in one place, and without
// the terminal itself. A program that wants to ask for a passphrase there, as ssh does, fails at once
// and says so, instead of writing over the screen and waiting for an answer that cannot come.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

func terminateGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
