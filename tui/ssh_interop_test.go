//go:build interop && linux

package tui_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"testing"
	"time"
)

// The line of an ssh login is cut while a form is open: the form waits at the Host and is there on the next
// login. The tool is called once.
func TestSSHLineCut(t *testing.T) {
	r := newRemote(t)
	r.startProvider()
	r.startSSH()
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
	second.see("demo · done", "Deployed build-42 to staging.", "enter send").keys("\x11").ended()
	// The first leg and the retry with the answer are one logical call of two legs.
	if n := r.legs(); n != 2 {
		t.Errorf("%d legs of tools/call at the server, want 2", n)
	}
}

func (r *remote) startSSH() {
	r.t.Helper()
	sshd, err := exec.LookPath("sshd")
	if err != nil {
		sshd = "/usr/sbin/sshd"
		if _, err := os.Stat(sshd); err != nil {
			r.t.Skip("sshd is not installed")
		}
	}
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

func (r *remote) login() *login {
	r.t.Helper()
	me, err := user.Current()
	if err != nil {
		r.t.Fatal(err)
	}
	remoteCommand := fmt.Sprintf("XDG_STATE_HOME=%s LANG=C.UTF-8 %s attach --host %s --token-file %s", r.path("remote"), r.bin, r.endpoint, r.token)
	cmd := exec.Command("ssh", "-F", "none", "-tt", "-p", fmt.Sprint(r.port), "-i", r.key, "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile="+os.DevNull,
		"-o", "LogLevel=ERROR", "-o", "BatchMode=yes", me.Username+"@127.0.0.1", remoteCommand)
	cmd.Env = os.Environ()
	return r.inTerminal(cmd)
}
