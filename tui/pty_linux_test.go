package tui

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"askback/tui/tty"
)

// terminalTest is the surface in a terminal of its own.
type terminalTest struct {
	t    *testing.T
	cmd  *exec.Cmd
	ptm  *os.File
	logs string

	mu     sync.Mutex
	raw    bytes.Buffer
	screen *vt.SafeEmulator
	closed chan struct{}
	done   chan error
	before *unix.Termios
	start  time.Time
}

func inTerminal(t *testing.T, scene string, env ...string) *terminalTest {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	return inTerminalOf(t, cmd, scene, env...)
}

func inTerminalOf(t *testing.T, cmd *exec.Cmd, scene string, env ...string) *terminalTest {
	t.Helper()
	c := &terminalTest{t: t, cmd: cmd, logs: filepath.Join(t.TempDir(), "log"), closed: make(chan struct{}), done: make(chan error, 1)}
	c.cmd.Env = append([]string{childEnv + "=" + scene, childLog + "=" + c.logs, childOwn + "=1", "TERM=xterm-256color", "HOME=" + t.TempDir(), "LANG=C.UTF-8"}, env...)
	c.screen = vt.NewSafeEmulator(80, 24)
	ptm, pts, err := pty.Open()
	if err != nil {
		t.Skipf("no pty: %v", err)
	}
	if conn, err := ptm.SyscallConn(); err == nil { // so that Close ends a read that waits
		_ = conn.Control(func(fd uintptr) { _ = unix.SetNonblock(int(fd), true) })
	}
	if err := setSize(ptm, 80, 24); err != nil {
		t.Fatal(err)
	}
	if c.before, err = modes(pts); err != nil {
		t.Fatal(err)
	}
	c.ptm = ptm
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = pts, pts, pts
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	c.start = time.Now()
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pts.Close()
	go func() { // the emulator answers queries; nobody wants to know
		b := make([]byte, 256)
		for {
			if _, err := c.screen.Read(b); err != nil {
				return
			}
		}
	}()
	go c.read()
	go func() { c.done <- c.cmd.Wait() }()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		_ = c.ptm.Close() // the emulator is not closed: its Close races with its own Read
	})
	return c
}

// setSize and modes leave the file as it is: its Fd method would make reads that no Close can end.
func setSize(f *os.File, w, h int) (err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	ctlErr := conn.Control(func(fd uintptr) {
		err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(w), Row: uint16(h)})
	})
	return errors.Join(err, ctlErr)
}

func modes(f *os.File) (m *unix.Termios, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	ctlErr := conn.Control(func(fd uintptr) { m, err = unix.IoctlGetTermios(int(fd), unix.TCGETS) })
	return m, errors.Join(err, ctlErr)
}

func (c *terminalTest) read() {
	defer close(c.closed)
	b := make([]byte, 4096)
	for {
		n, err := c.ptm.Read(b)
		if n > 0 {
			c.mu.Lock()
			c.raw.Write(b[:n])
			_, _ = c.screen.Write(b[:n])
			c.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

func (c *terminalTest) output() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.raw.String()
}

// text is the screen as a person sees it.
func (c *terminalTest) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	rows := strings.Split(ansi.Strip(c.screen.Render()), "\n")
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " \r")
	}
	return strings.Join(rows, "\n")
}

func (c *terminalTest) wait(what string, f func() bool) *terminalTest {
	c.t.Helper()
	for end := time.Now().Add(15 * time.Second); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("%s did not come.\nscreen:\n%s\nlog:\n%s", what, c.text(), c.log())
		}
	}
	return c
}

func (c *terminalTest) see(texts ...string) *terminalTest {
	c.t.Helper()
	for _, s := range texts {
		c.wait(fmt.Sprintf("%q", s), func() bool { return strings.Contains(c.text(), s) })
	}
	return c
}

func (c *terminalTest) type_(s string) *terminalTest {
	if _, err := c.ptm.WriteString(s); err != nil {
		c.t.Fatal(err)
	}
	return c
}

// slowly writes pieces with a pause between them that a slow line makes. On a busy machine a pause may become
// longer than any reader waits; then before is done and all of it is written again.
func (c *terminalTest) slowly(before func(), pieces ...string) *terminalTest {
	c.t.Helper()
	for range 50 {
		start, late := time.Now(), false
		for i, p := range pieces {
			if i > 0 {
				time.Sleep(10 * time.Millisecond)
				late = late || time.Since(start) > tty.WaitRemote/2
			}
			start = time.Now()
			c.type_(p)
		}
		if !late {
			return c
		}
		time.Sleep(2 * tty.WaitRemote)
		before()
	}
	c.t.Skip("this machine is too busy to write in time")
	return c
}

func (c *terminalTest) log() string {
	b, _ := os.ReadFile(c.logs)
	return string(b)
}

func (c *terminalTest) logged(s string) *terminalTest {
	c.t.Helper()
	return c.wait("log line "+s, func() bool { return strings.Contains(c.log(), s) })
}

// ends waits for the program's end and looks at the terminal that it leaves.
func (c *terminalTest) ends(reason string) *terminalTest {
	c.t.Helper()
	select {
	case <-c.done:
	case <-time.After(15 * time.Second):
		c.t.Fatalf("it does not end.\nscreen:\n%s\nlog:\n%s", c.text(), c.log())
	}
	select {
	case <-c.closed: // all that it wrote has been read
	case <-time.After(5 * time.Second):
		c.t.Fatal("its terminal stays open")
	}
	c.logged("end " + reason)
	if strings.Contains(c.log(), "answer") {
		c.t.Errorf("an answer was sent:\n%s", c.log())
	}
	return c
}

// restored checks that the terminal is as it was.
func (c *terminalTest) restored() {
	c.t.Helper()
	out := c.output()
	for on, off := range map[string]string{"\x1b[?1049h": "\x1b[?1049l", "\x1b[?25l": "\x1b[?25h", "\x1b[?2004h": "\x1b[?2004l", "\x1b[?7l": "\x1b[?7h"} {
		if strings.LastIndex(out, on) > strings.LastIndex(out, off) {
			c.t.Errorf("%q was not undone", on)
		}
	}
	c.unwrapped()
	now, err := modes(c.ptm)
	if err != nil {
		c.t.Fatal(err)
	}
	if now.Lflag != c.before.Lflag || now.Iflag != c.before.Iflag || now.Oflag != c.before.Oflag {
		c.t.Errorf("the terminal's modes are %x %x %x, were %x %x %x", now.Iflag, now.Oflag, now.Lflag, c.before.Iflag, c.before.Oflag, c.before.Lflag)
	}
}

// unwrapped checks that rows break by themselves nowhere on the screen that is ours, and everywhere else.
func (c *terminalTest) unwrapped() {
	c.t.Helper()
	out := c.output()
	for _, s := range []struct{ screen, whole string }{{"\x1b[?1049h", "\x1b[?1049h\x1b[?7l"}, {"\x1b[?1049l", "\x1b[?7h\x1b[?1049l"}} {
		if n := strings.Count(out, s.screen); n == 0 || strings.Count(out, s.whole) != n {
			c.t.Errorf("%q stands %d times in the output, %q %d times", s.screen, n, s.whole, strings.Count(out, s.whole))
		}
	}
}

// The first output comes at once on a terminal that answers no query, and none is asked.
func TestTerminalSilent(t *testing.T) {
	t.Parallel()
	c := inTerminal(t, "connected")
	c.wait("the first output", func() bool { return c.output() != "" })
	// A second is what a person gets; a busy machine gets some more. What asks the terminal is seen below.
	if took := time.Since(c.start); took > 15*time.Second {
		t.Errorf("the first output took %v", took)
	}
	c.see("session deploys")
	for _, query := range []string{"\x1b]11;?", "\x1b]10;?", "\x1b[6n", "\x1b[c", "\x1b[>c", "?u"} {
		if strings.Contains(c.output(), query) {
			t.Errorf("the terminal was asked %q", query)
		}
	}
	if strings.Contains(c.output(), "\x1b[?1000h") || strings.Contains(c.output(), "\x1b[?1002h") {
		t.Error("the mouse is on")
	}
	c.type_("\x11").ends("quit").restored()
}

// While nothing changes, no byte is written.
func TestTerminalIdle(t *testing.T) {
	t.Parallel()
	c := inTerminal(t, "connected").see("session deploys")
	time.Sleep(200 * time.Millisecond)
	n := len(c.output())
	time.Sleep(1500 * time.Millisecond)
	if more := c.output()[n:]; more != "" {
		t.Errorf("%d bytes while nothing changed: %q", len(more), more)
	}
	c.type_("\x11").ends("quit")
}

func TestTerminalSplitSequences(t *testing.T) {
	t.Parallel()
	c := inTerminal(t, "connected", "SSH_CONNECTION=over there").see("session deploys")
	// A sequence that came too late has closed the palette with its escape, or moved in it: it is opened anew.
	reopen := func() {
		c.type_("\x03") // closes it, or clears what was typed instead
		c.wait("the composer", func() bool { return strings.Contains(c.text(), "\n>\n") })
		c.type_("\x14").see("> demo/deploy")
	}
	c.type_("\x14").see("demo/survey", "> demo/deploy")
	c.slowly(reopen, "\x1b", "[B").see("> demo/survey")
	c.slowly(func() { reopen(); c.type_("\x1b[B").see("> demo/survey") }, "\x1b[", "B").see("> demo/nested")
	c.slowly(func() { reopen(); c.type_("\x1b[B\x1b[B").see("> demo/nested") }, "\x1b", "[", "A").see("> demo/survey")
	c.type_("\x1b") // alone, it is the key
	c.wait("the palette's end", func() bool { return !strings.Contains(c.text(), "demo/survey") })
	clean := func() {
		c.type_("\x03").wait("an empty composer", func() bool { return strings.Contains(c.text(), "\n>\n") })
	}
	c.slowly(clean, "\xe6", "\xbc", "\xa2").see("> 漢")
	clean()
	c.slowly(clean, "\x1b[20", "0~a\nb\x1b[2", "01~").see("> a", "  b")
	c.type_("\x03").type_("\x11").ends("quit").restored()
	if strings.Contains(c.log(), "start") {
		t.Errorf("something was sent:\n%s", c.log())
	}
}

// Late answers of a terminal are not typed.
func TestTerminalReplies(t *testing.T) {
	t.Parallel()
	c := inTerminal(t, "connected").see("session deploys")
	c.type_("\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\\x1b[?62;4c\x1b[24;80R\x1b[Iok").see("> ok")
	for _, bad := range []string{"rgb", "62;4", "24;80"} {
		if strings.Contains(c.text(), bad) {
			t.Errorf("a reply was typed:\n%s", c.text())
		}
	}
	c.type_("\x03\x11").ends("quit")
}

// Pastes without marks and what an input method commits end with an enter that sends nothing.
func TestTerminalBursts(t *testing.T) {
	t.Parallel()
	c := inTerminal(t, "connected").see("session deploys")
	c.type_("日本語\r").see("日本語")
	time.Sleep(100 * time.Millisecond)
	c.type_("\x03")
	c.wait("an empty composer", func() bool { return !strings.Contains(c.text(), "日本語") })
	c.type_("prod\ryes\r").see("prod", "yes")
	time.Sleep(100 * time.Millisecond)
	if strings.Contains(c.log(), "start") {
		t.Errorf("something was sent:\n%s", c.log())
	}
	// A person's own enter sends.
	c.type_("\r").logged(`start "prod\nyes"`)
}

func TestTerminalPasteIntoForm(t *testing.T) {
	t.Parallel()
	c := inTerminal(t, "asking").see("Choose the deployment target")
	time.Sleep(500 * time.Millisecond)
	c.type_("\x1b[B\x1b[B").see("> ( ) production").type_("\r").see("Confirm (required)")
	c.type_("\x1b[B").see("> ( ) Yes").type_("\r").see("Note (optional)", "field 3 of 3")
	c.type_("\x1b[200~one\ry\rs\r\x1b[201~").see("one y s")
	c.see("field 3 of 3")
	c.type_("two\ry\r")
	time.Sleep(100 * time.Millisecond)
	if strings.Contains(c.log(), "answer") {
		t.Errorf("an answer was sent:\n%s", c.log())
	}
}

func TestTerminalSignals(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT} {
		for _, own := range []string{"1", ""} {
			t.Run(fmt.Sprintf("%v own=%q", sig, own), func(t *testing.T) {
				t.Parallel()
				c := inTerminal(t, "connected", childOwn+"="+own).see("session deploys")
				c.type_("ask").see("> ask").type_("\r").see("Choose the deployment target")
				time.Sleep(50 * time.Millisecond)
				if err := c.cmd.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
				c.ends("signal " + sig.String()).restored()
				if own != "" {
					c.logged("stop t1")
				} else if strings.Contains(c.log(), "stop t1") {
					t.Errorf("a Turn was stopped whose tools run elsewhere:\n%s", c.log())
				}
			})
		}
	}
}

// The terminal goes away without a signal that reaches us.
func TestTerminalGone(t *testing.T) {
	t.Parallel()
	c := inTerminal(t, "connected").see("session deploys")
	c.type_("ask").see("> ask").type_("\r").see("Choose the deployment target")
	c.ptm.Close()
	select {
	case <-c.done:
	case <-time.After(15 * time.Second):
		t.Fatalf("it lives on:\n%s", c.log())
	}
	if l := c.log(); strings.Contains(l, "answer") || !strings.Contains(l, "stop t1") || !strings.Contains(l, "end ") {
		t.Errorf("log:\n%s", l)
	}
}

func TestTerminalResizeStorm(t *testing.T) {
	t.Parallel()
	c := inTerminal(t, "asking").see("Choose the deployment target")
	for i := range 150 {
		w, h := 10+(i*37)%180, 3+(i*13)%50
		if err := setSize(c.ptm, w, h); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Millisecond)
	}
	c.screen.Resize(90, 30)
	if err := setSize(c.ptm, 90, 30); err != nil {
		t.Fatal(err)
	}
	c.wait("the right frame", func() bool {
		rows := strings.Split(c.text(), "\n")
		return len(rows) >= 30 && strings.HasPrefix(rows[0], "deploy · demo") && strings.HasPrefix(rows[1], "! Never") && strings.HasPrefix(rows[29], "ctrl+s review")
	})
}

func TestTerminalPanics(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"update": "panic now", "command": "panic in command", "backend": "panic in backend"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := inTerminal(t, "connected").see("session deploys")
			for _, r := range text {
				c.type_(string(r))
			}
			if name != "update" {
				c.see("> " + text).type_("\r")
			}
			c.ends("failed").restored()
			if !strings.Contains(c.log(), "level=ERROR msg=panic") {
				t.Errorf("the panic is not in the log:\n%s", c.log())
			}
		})
	}
}

// A panic with a form open answers nothing: what runs here is stopped, what runs elsewhere is left alone.
func TestTerminalPanicWithAForm(t *testing.T) {
	t.Parallel()
	for _, own := range []string{"1", ""} {
		t.Run("own="+own, func(t *testing.T) {
			t.Parallel()
			c := inTerminal(t, "connected", childOwn+"="+own).see("session deploys")
			c.type_("ask").see("> ask").type_("\r").see("Choose the deployment target")
			time.Sleep(500 * time.Millisecond)
			c.type_("\x1b[B\x1b[B").see("> ( ) production").type_("\r").see("Confirm (required)")
			c.type_("\x1b[B").see("> ( ) Yes").type_("\r").see("Note (optional)", "field 3 of 3")
			for _, r := range "panic now" {
				c.type_(string(r))
			}
			c.ends("failed").restored()
			if l := c.log(); strings.Contains(l, "answer") || strings.Contains(l, "stop t1") != (own != "") {
				t.Errorf("log:\n%s", l)
			}
		})
	}
}

func TestTerminalSuspend(t *testing.T) {
	t.Parallel()
	t.Run("without job control", func(t *testing.T) {
		t.Parallel()
		c := inTerminal(t, "connected").see("session deploys")
		c.type_("\x1a").see("nothing here could continue")
		c.type_("\x11").ends("quit")
	})
	t.Run("under a shell", func(t *testing.T) {
		t.Parallel()
		c := inTerminal(t, "shell").see("session deploys")
		c.type_("still here").see("> still here")
		c.type_("\x1a").logged("suspended raw=false")
		c.wait("the screen again", func() bool { // which comes after the terminal's mode
			out := c.output()
			left := strings.LastIndex(out, "\x1b[?1049l")
			return left >= 0 && strings.LastIndex(out, "\x1b[?1049h") > left
		})
		c.see("> still here") // drawn again after it was continued
		c.type_("\x03").wait("an empty composer", func() bool { return !strings.Contains(c.text(), "still here") })
		c.type_("\x11").ends("quit").unwrapped()
		if n := strings.Count(c.output(), "\x1b[?7l"); n != 2 {
			t.Errorf("autowrap was turned off %d times, want it before and after the stop", n)
		}
	})
}

func init() { shellMain = runShell }

// runShell is the smallest shell with job control: it runs the surface in the foreground, and continues it when
// it has stopped itself.
func runShell() int {
	f, err := os.OpenFile(os.Getenv(childLog), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 1
	}
	signal.Ignore(syscall.SIGTTOU) // it stays alive when it takes the terminal back
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"=connected")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Foreground: true, Ctty: 0}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(f, err)
		return 1
	}
	for {
		var ws syscall.WaitStatus
		if _, err := syscall.Wait4(cmd.Process.Pid, &ws, syscall.WUNTRACED, nil); err != nil {
			return 1
		}
		if !ws.Stopped() {
			return ws.ExitStatus()
		}
		mode, err := unix.IoctlGetTermios(0, unix.TCGETS)
		fmt.Fprintf(f, "suspended raw=%v %v\n", err != nil || mode.Lflag&unix.ICANON == 0, err)
		_ = unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, cmd.Process.Pid)
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGCONT)
	}
}

func TestTerminalLines(t *testing.T) {
	t.Parallel()
	for name, env := range map[string]string{"dumb": "TERM=dumb", "accessible": "ACCESSIBLE=1", "ours": "ASKBACK_ACCESSIBLE=1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := inTerminal(t, "connected", env).see("in lines", "Session deploys")
			c.type_("ask\n").see("deploy, demo", "! Never enter passwords, API keys, access tokens or payment data here.", "| Choose the deployment target")
			c.type_("1\n").see("Field 2 of 3").type_("y\n").see("Field 3 of 3").type_("hello\n").see("| Note: hello")
			c.type_("\x04") // the end of the input answers nothing
			c.ends("input_ended")
			c.logged("stop t1")
			if strings.Contains(c.output(), "\x1b") {
				t.Errorf("an escape byte: %q", c.output())
			}
		})
	}
	t.Run("no terminal", func(t *testing.T) {
		t.Parallel()
		log := filepath.Join(t.TempDir(), "log")
		cmd := exec.Command(os.Args[0])
		cmd.Env = []string{childEnv + "=asking", childLog + "=" + log, childOwn + "=", "TERM=xterm"}
		cmd.Stdin = strings.NewReader("")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		b, _ := os.ReadFile(log)
		// Nothing of ours was under way, so the end of the input is the usual way to leave; it answers nothing.
		if !strings.Contains(string(b), "end quit") || strings.Contains(string(b), "answer") || bytes.Contains(out, []byte("\x1b")) {
			t.Errorf("log:\n%s\noutput:\n%q", b, out)
		}
	})
	t.Run("a form at the prompt", func(t *testing.T) {
		t.Parallel()
		c := inTerminal(t, "asking", "TERM=dumb", childOwn+"=").see("| Choose the deployment target")
		c.type_("1\n").see("Field 2 of 3") // the first line counts: none was being read before
	})
	t.Run("interrupts", func(t *testing.T) {
		t.Parallel()
		c := inTerminal(t, "connected", "TERM=dumb").see("Session deploys")
		c.type_("hello\n").see("| hello") // told after the Turn, which is known then
		c.type_("\x03").see("ctrl+c again stops the Turn").type_("\x03").logged("stop t1")
		c.wait("the prompt", func() bool { // the stop has been answered
			_, after, ok := strings.Cut(c.text(), "Stopping the Turn.")
			return ok && strings.Contains(after, "\n>")
		})
		c.type_("\x03").see("ctrl+c again leaves").type_("\x03").ends("quit")
	})
}

// What a typed character costs on the wire.
func TestTerminalBytesPerCharacter(t *testing.T) {
	t.Parallel()
	c := inTerminal(t, "connected").see("session deploys")
	cost := func(text string) int {
		time.Sleep(100 * time.Millisecond)
		before := len(c.output())
		for _, r := range text {
			c.type_(string(r))
			time.Sleep(40 * time.Millisecond)
		}
		time.Sleep(100 * time.Millisecond)
		return (len(c.output()) - before) / len(text)
	}
	if n := cost("hello world"); n > 300 {
		t.Errorf("%d bytes for a character in the composer", n)
	}
	c.type_("\x03").type_("ask").see("> ask").type_("\r").see("Choose the deployment target")
	time.Sleep(450 * time.Millisecond)
	c.type_("\x1b[B\x1b[B").see("> ( ) production").type_("\r").see("Confirm (required)")
	c.type_("\x1b[B").see("> ( ) Yes").type_("\r").see("Note (optional)", "field 3 of 3")
	if n := cost("hello world"); n > 300 {
		t.Errorf("%d bytes for a character in a form", n)
	}
}
