//go:build !unix

package inspect

import "os/exec"

func ownSession(*exec.Cmd) {}
