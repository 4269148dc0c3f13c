//go:build interop && linux

package tui_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"askback/internal/screen"
)

// remote is a Host, a provider and an sshd on this machine.
type remote struct {
	t                              *testing.T
	dir, bin, endpoint, token, key string
	record                         string
	port                           int
}

func newRemote(t *testing.T) *remote {
	t.Helper()
	r := &remote{t: t, dir: t.TempDir()}
	var err error
	if r.bin, err = build(); err != nil {
		t.Fatal(err)
	}
	r.startHost()
	r.writeConfig()
	return r
}
func (r *remote) path(name string) string { return filepath.Join(r.dir, name) }

func (r *remote) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+r.path("state"), "HOME="+r.dir)
	return cmd
}

// background starts a process that ends with the test.
func (r *remote) background(cmd *exec.Cmd) {
	r.t.Helper()
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		timer := time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
		_ = cmd.Wait()
	})
}

// addToken issues a token for a role and returns the file that holds it.
func (r *remote) addToken(role string) string {
	r.t.Helper()
	token, err := r.command(r.bin, "host", "token", "add", role, "--role", role, "--data", r.path("data")).Output()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(r.path("token-"+role), token, 0o600); err != nil {
		r.t.Fatal(err)
	}
	return r.path("token-" + role)
}

func (r *remote) startHost() {
	r.t.Helper()
	r.token = r.addToken("client")
	cmd := r.command(r.bin, "host", "--listen", "127.0.0.1:0", "--data", r.path("data"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	r.background(cmd)
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		r.t.Fatal(err)
	}
	var ready struct{ Endpoint string }
	if err := json.Unmarshal(line, &ready); err != nil || ready.Endpoint == "" {
		r.t.Fatalf("the Host said %q: %v", line, err)
	}
	r.endpoint = ready.Endpoint
}

// writeConfig names the demo server, which records what it is sent.
func (r *remote) writeConfig() {
	r.t.Helper()
	r.record = r.path("record")
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"demo": map[string]any{"command": r.bin, "args": []string{"demo-server", "--record", r.record}}}})
	if err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(r.path("servers.json"), config, 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *remote) startProvider() {
	r.t.Helper()
	r.background(r.command(r.bin, "provide", "--host", r.endpoint, "--token-file", r.addToken("provider"), "--config", r.path("servers.json")))
}

func (r *remote) pending() int {
	r.t.Helper()
	out, err := r.command(r.bin, "pending", "--json", "--host", r.endpoint, "--token-file", r.token).Output()
	if err != nil {
		r.t.Fatalf("pending: %v", err)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(out, &list); err != nil {
		r.t.Fatalf("pending said %q", out)
	}
	return len(list)
}

// legs counts the messages of tools/call at the server.
func (r *remote) legs() int {
	r.t.Helper()
	record, err := os.ReadFile(r.record)
	if err != nil {
		r.t.Fatal(err)
	}
	return bytes.Count(record, []byte(`"tools/call"`))
}

// login is one session in a terminal.
type login struct {
	t      *testing.T
	cmd    *exec.Cmd
	ptm    *os.File
	screen *screen.Screen
	closed chan struct{}
}

// inTerminal runs a command in a terminal.
func (r *remote) inTerminal(cmd *exec.Cmd) *login {
	r.t.Helper()
	cmd.Env = append(cmd.Env, "TERM=xterm-256color", "LANG=C.UTF-8")
	l := &login{t: r.t, cmd: cmd, screen: screen.New(80, 24), closed: make(chan struct{})}
	var err error
	if l.ptm, err = pty.StartWithSize(cmd, &pty.Winsize{Cols: 80, Rows: 24}); err != nil {
		r.t.Fatal(err)
	}
	if conn, err := l.ptm.SyscallConn(); err == nil { // so that Close ends a read that waits
		_ = conn.Control(func(fd uintptr) { _ = syscall.SetNonblock(int(fd), true) })
	}
	go func() {
		defer close(l.closed)
		_, _ = io.Copy(l.screen, l.ptm) // ends with the session
	}()
	r.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); l.ptm.Close() })
	return l
}

func (l *login) see(texts ...string) *login {
	l.t.Helper()
	for _, want := range texts {
		ctx, cancel := context.WithTimeout(l.t.Context(), 30*time.Second)
		err := l.screen.WaitText(ctx, want)
		cancel()
		if err != nil {
			l.t.Fatalf("%q does not come on screen: %v\n%s", want, err, l.screen.Text())
		}
	}
	return l
}

// keys writes each text as keys: a longer one a letter at a time.
func (l *login) keys(texts ...string) *login {
	l.t.Helper()
	for _, s := range texts {
		parts := []string{s}
		if !strings.HasPrefix(s, "\x1b") {
			parts = strings.Split(s, "")
		}
		for _, p := range parts {
			if _, err := io.WriteString(l.ptm, p); err != nil {
				l.t.Fatal(err)
			}
			time.Sleep(5 * time.Millisecond)
		}
		time.Sleep(60 * time.Millisecond)
	}
	return l
}

func (l *login) enter() *login { return l.keys("\r") }
func (l *login) pause() *login { time.Sleep(500 * time.Millisecond); return l }

func (l *login) ended() {
	l.t.Helper()
	select {
	case <-l.closed:
	case <-time.After(20 * time.Second):
		l.t.Fatalf("the session goes on:\n%s", l.screen.Text())
	}
}
