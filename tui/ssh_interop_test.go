//go:build interop && linux

package tui_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"askback/internal/screen"
)

// The line of an ssh login is cut while a form is open: the form waits at the Host and is there on the next
// login. The tool is called once.
func TestSSHLineCut(t *testing.T) {
	r := newRemote(t)
	first := r.login()
	first.see("ready").keys("/new work").enter().see("session work")
	first.keys(`/call demo/deploy {"artifact":"build-42"}`).enter().see("deploy · demo", "! Never enter passwords", "Choose the deployment target")
	first.pause().keys("\x1b[B", "\r").see("field 2 of 2")
	if err := first.cmd.Process.Kill(); err != nil { // as a network does: without a word
		t.Fatal(err)
	}
	first.ended()
	if n := r.pending(); n != 1 {
		t.Fatalf("%d forms wait after the line was cut", n)
	}

	second := r.login()
	second.see("deploy · demo", "Choose the deployment target", "no answer yet").pause()
	second.keys("\x1b[B", "\r").see("field 2 of 2").keys("\x1b[B", "\r").see("nothing is sent yet").pause().keys("s")
	second.see("demo · done", "Deployed build-42 to staging.").keys("\x11").ended()
	record, err := os.ReadFile(r.record)
	if err != nil {
		t.Fatal(err)
	}
	// The first leg and the retry with the answer are one logical call of two legs.
	if n := bytes.Count(record, []byte(`"tools/call"`)); n != 2 {
		t.Errorf("%d legs of tools/call at the server, want 2", n)
	}
}

// remote is a Host, a provider and an sshd on this machine.
type remote struct {
	t                              *testing.T
	dir, bin, endpoint, token, key string
	record                         string
	port                           int
}

func newRemote(t *testing.T) *remote {
	t.Helper()
	sshd, err := exec.LookPath("sshd")
	if err != nil {
		if sshd = "/usr/sbin/sshd"; exec.Command(sshd, "-?").Run() != nil {
			if _, err := os.Stat(sshd); err != nil {
				t.Skip("sshd is not installed")
			}
		}
	}
	r := &remote{t: t, dir: t.TempDir()}
	if r.bin, err = build(); err != nil {
		t.Fatal(err)
	}
	r.startHost()
	r.startProvider()
	r.startSSH(sshd)
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

func (r *remote) startProvider() {
	r.t.Helper()
	r.record = r.path("record")
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"demo": map[string]any{"command": r.bin, "args": []string{"demo-server", "--record", r.record}}}})
	if err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(r.path("servers.json"), config, 0o600); err != nil {
		r.t.Fatal(err)
	}
	r.background(r.command(r.bin, "provide", "--host", r.endpoint, "--token-file", r.addToken("provider"), "--config", r.path("servers.json")))
}

func (r *remote) startSSH(sshd string) {
	r.t.Helper()
	for _, name := range []string{"hostkey", "userkey"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", r.path(name)).CombinedOutput(); err != nil {
			r.t.Skipf("ssh-keygen: %v %s", err, out)
		}
	}
	r.key = r.path("userkey")
	public, err := os.ReadFile(r.key + ".pub")
	if err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(r.path("authorized"), public, 0o600); err != nil {
		r.t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	r.port = l.Addr().(*net.TCPAddr).Port
	l.Close()
	config := fmt.Sprintf("Port %d\nListenAddress 127.0.0.1\nHostKey %s\nAuthorizedKeysFile %s\nStrictModes no\nUsePAM no\nPidFile none\nPasswordAuthentication no\nPermitRootLogin yes\n",
		r.port, r.path("hostkey"), r.path("authorized"))
	if err := os.WriteFile(r.path("sshd_config"), []byte(config), 0o600); err != nil {
		r.t.Fatal(err)
	}
	if os.Getuid() == 0 {
		_ = os.MkdirAll("/run/sshd", 0o755) // where the system's service would have made it
	}
	r.background(r.command(sshd, "-D", "-e", "-f", r.path("sshd_config")))
	for range 100 {
		if c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", r.port)); err == nil {
			c.Close()
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	r.t.Skip("sshd does not come up here")
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

// login is one ssh session in a terminal.
type login struct {
	t      *testing.T
	cmd    *exec.Cmd
	ptm    *os.File
	screen *screen.Screen
	closed chan struct{}
}

func (r *remote) login() *login {
	r.t.Helper()
	me, err := user.Current()
	if err != nil {
		r.t.Fatal(err)
	}
	remoteCommand := fmt.Sprintf("XDG_STATE_HOME=%s LANG=C.UTF-8 %s attach --host %s --token-file %s", r.path("remote"), r.bin, r.endpoint, r.token)
	cmd := exec.Command("ssh", "-F", "none", "-tt", "-p", fmt.Sprint(r.port), "-i", r.key, "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile="+os.DevNull,
		"-o", "LogLevel=ERROR", "-o", "BatchMode=yes", me.Username+"@127.0.0.1", remoteCommand)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color")
	l := &login{t: r.t, cmd: cmd, screen: screen.New(80, 24), closed: make(chan struct{})}
	if l.ptm, err = pty.StartWithSize(cmd, &pty.Winsize{Cols: 80, Rows: 24}); err != nil {
		r.t.Fatal(err)
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
