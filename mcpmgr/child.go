package mcpmgr

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"askback/mcpmgr/config"
)

// graces are the steps of ending a child: after each the next one follows.
type graces struct {
	eof  time.Duration // from the end of its input to SIGTERM
	term time.Duration // from SIGTERM to SIGKILL
}

var usualGraces = graces{eof: 2 * time.Second, term: 2 * time.Second}

// graceTail is the time from a child's exit to the end of reading its output.
const graceTail = 250 * time.Millisecond

// child is one server process in a process group of its own. Its death is noticed by waiting for
// it, not by reading its output, which a grandchild may hold open.
type child struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	stderr *os.File

	grace  graces
	exited chan struct{} // closed when it is reaped and its output has ended
	state  string        // how it ended, valid after exited

	stop sync.Once
	wg   sync.WaitGroup
}

// living holds the children of this process that were not reaped yet.
var living sync.Map

// KillChildren kills every server of this process with its whole group, without grace. It is for a program that is
// about to die and cannot wait for Close: a server that heeds neither the end of its input nor SIGTERM would outlive it.
func KillChildren() {
	living.Range(func(c, _ any) bool {
		killGroup(c.(*child).cmd)
		return true
	})
}

// hostToken is the one variable of ours that is a secret; a server gets it only when its entry
// says so.
const hostToken = "ASKBACK_TOKEN="

// startChild starts cfg's command. Lines of its stderr go to ring.
func startChild(cfg config.Server, ring *stderrRing, grace graces) (*child, error) {
	if cfg.Dir != "" {
		if info, err := os.Stat(cfg.Dir); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("the folder %q to start the server in does not exist", cfg.Dir)
		}
	}
	cmd := exec.Command(commandPath(cfg), cfg.Args...)
	cmd.Args[0] = cfg.Command
	cmd.Dir = cfg.Dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, hostToken) })
	for _, v := range cfg.Env {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
	}
	cmd.WaitDelay = graceTail
	ownGroup(cmd)
	var files [6]*os.File // stdin r,w; stdout r,w; stderr r,w
	closeAll := func(fs ...*os.File) {
		for _, f := range fs {
			if f != nil {
				_ = f.Close()
			}
		}
	}
	for i := 0; i < len(files); i += 2 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(files[:]...)
			return nil, fmt.Errorf("no pipe for the server: %w", err)
		}
		files[i], files[i+1] = r, w
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = files[0], files[3], files[5]
	ring.mark()
	if err := cmd.Start(); err != nil {
		closeAll(files[:]...)
		return nil, startError(cfg, err)
	}
	closeAll(files[0], files[3], files[5])
	c := &child{cmd: cmd, grace: grace, stdin: files[1], stdout: files[2], stderr: files[4], exited: make(chan struct{})}
	living.Store(c, nil)
	tail := make(chan struct{})
	c.wg.Go(func() {
		defer close(tail)
		ring.copyFrom(c.stderr)
	})
	c.wg.Go(func() { c.wait(tail) })
	return c, nil
}

// commandPath is what to start. A PATH of the entry's own is where a command without a folder is
// looked for first, since it is the one that the server will run with.
func commandPath(cfg config.Server) string {
	if filepath.Base(cfg.Command) != cfg.Command {
		return cfg.Command
	}
	for _, v := range slices.Backward(cfg.Env) {
		if v.Name != "PATH" {
			continue
		}
		for _, dir := range filepath.SplitList(v.Value) {
			if path := filepath.Join(dir, cfg.Command); filepath.IsAbs(path) {
				if found, err := exec.LookPath(path); err == nil {
					return found
				}
			}
		}
		break
	}
	return cfg.Command
}

// startError says in a sentence why a command does not start.
func startError(cfg config.Server, err error) error {
	command := cfg.Command
	file := command
	if !filepath.IsAbs(file) && cfg.Dir != "" {
		file = filepath.Join(cfg.Dir, file)
	}
	_, serr := os.Stat(file)
	switch {
	case errors.Is(err, os.ErrNotExist) && (filepath.Base(command) == command || serr == nil): // one of the PATH was found
		return fmt.Errorf("the command %q is there, but the interpreter that its first line names, or the loader that it was built for, is not", command)
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("the command %q was not found%s", command, slip(command))
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("the command %q is not executable", command)
	}
	return fmt.Errorf("the command %q does not start: %w", command, err)
}

func (c *child) wait(stderrDone <-chan struct{}) {
	err := c.cmd.Wait()
	living.Delete(c)
	killGroup(c.cmd) // whatever it left behind
	deadline := time.Now().Add(graceTail)
	_ = c.stdout.SetReadDeadline(deadline)
	_ = c.stderr.SetReadDeadline(deadline)
	<-stderrDone
	c.state = exitText(err)
	close(c.exited)
}

func exitText(err error) string {
	if err == nil {
		return "exited"
	}
	if ee, ok := errors.AsType[*exec.ExitError](err); ok {
		s := ee.ProcessState.String()
		if code, ok := strings.CutPrefix(s, "exit status "); ok {
			return "exited with code " + code
		}
		return "ended by " + strings.TrimPrefix(s, "signal: ")
	}
	return "ended: " + err.Error()
}

func (c *child) Read(p []byte) (int, error) {
	n, err := c.stdout.Read(p)
	if err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		err = io.EOF // it is gone; a grandchild holds the pipe
	}
	return n, err
}

func (c *child) Write(p []byte) (int, error) { return c.stdin.Write(p) }

// Close ends the child: end of input, then SIGTERM, then SIGKILL, each to its whole group. It
// returns when the process is reaped and its pipes are closed.
func (c *child) Close() error {
	c.stop.Do(func() {
		_ = c.stdin.Close()
		timer := time.NewTimer(c.grace.eof)
		defer timer.Stop()
		select {
		case <-c.exited:
		case <-timer.C:
			terminateGroup(c.cmd)
			timer.Reset(c.grace.term)
			select {
			case <-c.exited:
			case <-timer.C:
				killGroup(c.cmd)
				<-c.exited
			}
		}
		c.wg.Wait()
		_ = c.stdout.Close()
		_ = c.stderr.Close()
	})
	return nil
}

// slip is what is usual to be wrong with a command that was not found: it came from where a shell reads it.
func slip(command string) string {
	switch {
	case strings.HasPrefix(command, "~"):
		return "; ~ means nothing here, ${HOME} does"
	case strings.ContainsAny(command, " \t"):
		return `; what stands after the program belongs into "args"`
	}
	return ""
}
