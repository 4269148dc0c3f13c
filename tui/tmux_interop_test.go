//go:build interop && linux

package tui_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// build makes the real program, once.
var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "askback-smoke-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "askback")
	out, err := exec.Command("go", "build", "-o", path, "askback").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
})

// tmux is the real program in a real terminal multiplexer.
type tmux struct {
	t      *testing.T
	socket string
	w, h   int
}

func inTmux(t *testing.T, w, h int, command string) *tmux {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	m := &tmux{t: t, socket: filepath.Join(t.TempDir(), "tmux"), w: w, h: h}
	m.run("-f", os.DevNull, "new-session", "-d", "-x", fmt.Sprint(w), "-y", fmt.Sprint(h), "exec sh")
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", m.socket, "kill-server").Run() })
	m.run("set-option", "-g", "escape-time", "10")
	m.keys("-l", "PS1='ready$ '; export HOME="+t.TempDir()+" LANG=C.UTF-8").keys("Enter").see("ready$")
	m.keys("-l", command).keys("Enter")
	return m
}

func (m *tmux) run(args ...string) string {
	m.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", m.socket}, args...)...).CombinedOutput()
	if err != nil {
		m.t.Fatalf("tmux %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (m *tmux) keys(args ...string) *tmux {
	m.t.Helper()
	m.run(append([]string{"send-keys"}, args...)...)
	time.Sleep(60 * time.Millisecond)
	return m
}

func (m *tmux) pause() *tmux { time.Sleep(500 * time.Millisecond); return m }

func (m *tmux) text() string { return m.run("capture-pane", "-p") }

func (m *tmux) see(texts ...string) *tmux {
	m.t.Helper()
	for _, want := range texts {
		for end := time.Now().Add(20 * time.Second); !strings.Contains(m.text(), want); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				m.t.Fatalf("%q does not come on screen:\n%s", want, m.text())
			}
		}
	}
	return m
}

func demo(t *testing.T) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path + " demo; echo exit=$?"
}

func TestTmuxDeploy(t *testing.T) {
	m := inTmux(t, 80, 24, demo(t))
	m.see("host embedded · ready", "servers 1/1").keys("C-t").see("type to filter").keys("-l", "deploy").see("> demo/deploy").keys("Enter")
	m.see("arguments · deploy · demo").pause().keys("-l", "build-42").keys("C-s").pause().see("s call").keys("s")
	m.see("deploy · demo", "! Never enter passwords", "Choose the deployment target").pause().keys("Down").keys("Enter").see("field 2 of 2")
	m.keys("Down").keys("Enter").see("nothing is sent yet").pause().keys("s").see("demo · done", "Deployed build-42 to staging.", "enter send")
	m.keys("C-q").see("exit=0", "ready$")
	if strings.Contains(m.text(), "demo · done") {
		t.Errorf("the screen was not given back:\n%s", m.text())
	}
}

func TestTmuxSmallScreenAndResize(t *testing.T) {
	m := inTmux(t, 40, 12, demo(t))
	m.see("servers 1/1", "^t tools").keys("-l", `/call demo/survey`).keys("Enter").see("! No passwords, API keys, tokens, cards", "^s review")
	m.run("resize-window", "-x", "100", "-y", "30")
	m.see("! Never enter passwords, API keys, access tokens or payment data here.", "ctrl+s review")
	m.run("resize-window", "-x", "30", "-y", "8")
	m.see("too small")
	m.run("resize-window", "-x", "60", "-y", "20")
	m.see("ctrl+s review").pause().keys("C-c").see("ctrl+c again to stop the Turn").keys("C-c").see("the Turn was stopped")
	m.pause().keys("Escape").gone("this form is over").keys("C-q").see("exit=0")
}

func TestTmuxSuspendAndQuit(t *testing.T) {
	m := inTmux(t, 80, 24, strings.Replace(demo(t), "; echo exit=$?", "", 1))
	m.see("servers 1/1").keys("-l", `/call demo/deploy {"artifact":"a"}`).keys("Enter").see("Choose the deployment target")
	m.pause().keys("C-z").see("ready$").keys("-l", "fg").keys("Enter").see("Choose the deployment target")
	m.keys("C-q").see("leave askback?", "leaving stops it").pause().keys("y").see("ready$")
	m.keys("-l", "echo exit=$?").keys("Enter").see("exit=0")
}
