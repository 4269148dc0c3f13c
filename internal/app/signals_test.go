package app

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// A lost terminal sends several SIGHUP, from the kernel and from the shell. They end the program once, in order:
// the Turn is stopped, nothing is answered, and no folder is left.
func TestHangUpsInARow(t *testing.T) {
	hangUp := func(p *os.Process) {
		for range 4 {
			p.Signal(syscall.SIGHUP)
			time.Sleep(3 * time.Millisecond)
		}
	}
	check := func(t *testing.T, w *world, r ran) {
		t.Helper()
		if r.code != exitStopped {
			t.Errorf("exit %d, want %d\n%s", r.code, exitStopped, r.stderr)
		}
		if left, _ := filepath.Glob(w.path("askback-*")); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
		if n := w.calls(); n != 1 {
			t.Errorf("%d tools/call, want the first one alone", n)
		}
	}
	t.Run("call", func(t *testing.T) {
		w := newWorld(t)
		cmd, finish := w.slowCall()
		hangUp(cmd.Process)
		r := finish()
		check(t, w, r)
		if r.errorCode(t) != "cancelled" {
			t.Error(r.stdout)
		}
	})
	t.Run("terminal", func(t *testing.T) {
		w := newWorld(t)
		cmd := w.command("--config", w.path("demo.json"), "--log-file", w.path("log"))
		cmd.Env = append(cmd.Env, "TERM=xterm-256color")
		tty, err := pty.StartWithAttrs(cmd, &pty.Winsize{Rows: 24, Cols: 80}, &syscall.SysProcAttr{Setsid: true, Setctty: true})
		if err != nil {
			t.Fatal(err)
		}
		shown := make(chan string, 64)
		go func() {
			defer close(shown)
			for buf := make([]byte, 4096); ; {
				n, err := tty.Read(buf)
				if err != nil {
					return
				}
				shown <- string(buf[:n])
			}
		}()
		await := func(want string) {
			t.Helper()
			var all strings.Builder
			for late := time.After(20 * time.Second); !strings.Contains(all.String(), want); {
				select {
				case s, ok := <-shown:
					if !ok {
						t.Fatalf("no %q in %q", want, all.String())
					}
					all.WriteString(s)
				case <-late:
					t.Fatalf("no %q in %q", want, all.String())
				}
			}
		}
		await("1/1")
		io.WriteString(tty, `/call demo/deploy {"artifact":"build-42"}`+"\r")
		await("Never enter")
		tty.Close() // the kernel hangs up
		hangUp(cmd.Process)
		for range shown {
		}
		check(t, w, w.finish(cmd, new(bytes.Buffer), new(bytes.Buffer)))
		log, _ := os.ReadFile(w.path("log"))
		if i := bytes.Index(log, []byte(`"turn ended"`)); i < 0 || !bytes.Contains(log[i:], []byte(`"status":"cancelled"`)) {
			t.Errorf("the Turn was not stopped:\n%s", log)
		}
	})
}

// timeout(1) signals its child and then the group that the child is in: the two are one act, which ends the program in
// order. One that comes later ends it at once.
func TestTwoTerminations(t *testing.T) {
	for name, c := range map[string]struct {
		further int
		between time.Duration
		exit    int
	}{"of one act": {1, 0, exitStopped}, "in a row": {3, 2 * sameAct, -1}} { // a busy machine may take the first two for one
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.write("deaf.json", `{"mcpServers":{"deaf":{"command":"sh","args":["-c","trap '' TERM; while :; do sleep 1; done"]}}}`)
			cmd := w.command("--config", w.path("deaf.json"), "tools", "--json")
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for started := time.Now(); len(childrenOf(cmd.Process.Pid)) == 0; time.Sleep(5 * time.Millisecond) {
				if time.Since(started) > 20*time.Second {
					t.Fatal("the server was not started")
				}
			}
			children := childrenOf(cmd.Process.Pid)
			cmd.Process.Signal(syscall.SIGTERM)
			for range c.further {
				time.Sleep(c.between)
				cmd.Process.Signal(syscall.SIGTERM)
			}
			if r := w.finish(cmd, &out, &errs); r.code != c.exit {
				t.Errorf("exit %d, want %d: %+v", r.code, c.exit, r)
			}
			for _, child := range children {
				for started := time.Now(); runs(child); time.Sleep(5 * time.Millisecond) {
					if time.Since(started) > 10*time.Second {
						syscall.Kill(-child, syscall.SIGKILL)
						t.Error("the server outlives the program")
						break
					}
				}
			}
		})
	}
}

// runs says whether a process runs. One that has ended and that nobody has waited for does not.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil { // gone, or no Linux
		return syscall.Kill(pid, 0) == nil
	}
	return !bytes.Contains(stat, []byte(") Z "))
}

// What nohup started goes on when its terminal is lost.
func TestIgnoredHangUp(t *testing.T) {
	w := newWorld(t)
	cmd := w.command("--config", w.path("demo.json"), "call", "demo/slow", "--args", `{"steps":5,"every":100}`, "--json")
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `trap "" HUP; exec "$@"`, "sh"}, cmd.Args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.awaitCalls(1)
	cmd.Process.Signal(syscall.SIGHUP)
	if r := w.finish(cmd, &out, &errs); r.code != exitOK || r.json(t)["result"] == nil {
		t.Errorf("%+v", r)
	}
}
