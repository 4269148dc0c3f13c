//go:build interop && linux

package tui_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The other ways in which a line goes: the far end of the session dies, or nothing is heard any more and nobody
// is told. Each time the form waits, the tool was called once, and the next login answers it.
func TestSSHOtherCuts(t *testing.T) {
	for name, cut := range map[string]func(r *remote, l *login){
		"the far end dies": func(r *remote, l *login) {
			if err := syscall.Kill(r.session(), syscall.SIGKILL); err != nil {
				r.t.Fatal(err)
			}
			l.ended()
		},
		"silence": func(r *remote, l *login) {
			if err := l.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				r.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRemote(t)
			r.startProvider()
			r.startSSH()
			first := r.login()
			first.see("ready").keys("/new work").enter().see("session work").openForm()
			first.pause().keys("\x1b[B", "\r").see("field 2 of 2")
			cut(r, first)
			if waiting, legs := r.pending(), r.legs(); waiting != 1 || legs != 1 {
				t.Fatalf("%d forms wait and %d legs of tools/call were sent", waiting, legs)
			}
			second := r.login()
			second.see("deploy · demo", "Choose the deployment target", "no answer yet")
			r.answer()
			second.see("Answered elsewhere").pause().keys("\x1b").see("Deployed build-42 to staging.")
			if n := r.legs(); n != 2 {
				t.Errorf("%d legs of tools/call", n)
			}
		})
	}
}

// session is the process of sshd that holds the login's terminal.
func (r *remote) session() int {
	r.t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		found, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			r.t.Fatal(err)
		}
		for _, path := range found {
			line, _ := os.ReadFile(path) // it may have ended
			args := strings.Split(string(line), "\x00")
			if len(args) < 2 || args[1] != "attach" || !strings.Contains(string(line), r.endpoint) {
				continue
			}
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			for pid > 1 {
				name, parent := process(pid)
				if strings.HasPrefix(name, "sshd") {
					return pid
				}
				pid = parent
			}
		}
	}
	r.t.Fatal("the login's sshd is not found")
	return 0
}

// process tells a process's name and parent.
func process(pid int) (name string, parent int) {
	data, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	for l := range strings.Lines(string(data)) {
		key, value, _ := strings.Cut(strings.TrimSpace(l), ":")
		switch key {
		case "Name":
			name = strings.TrimSpace(value)
		case "PPid":
			parent, _ = strconv.Atoi(strings.TrimSpace(value))
		}
	}
	return name, parent
}
