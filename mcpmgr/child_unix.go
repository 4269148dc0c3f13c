//go:build unix

package mcpmgr

import (
	"os/exec"
	"syscall"
)

// ownGroup makes the command the leader of its own process group, out of reach of the terminal's
// interrupt key and with everything it starts in one place.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func terminateGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
