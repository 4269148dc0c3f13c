package acceptance

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"github.com/gorilla/websocket"

	"askback/internal/screen"
)

// asProgram makes the test binary the program itself.
const asProgram = "ASKBACK_ACCEPTANCE_PROGRAM"

// home is a home of its own for programs under test.
type home struct {
	t       T
	dir     string
	env     []string
	program string // what is run; the test binary
}

func newHome(t T) *home {
	h := &home{t: t, dir: t.TempDir(), program: os.Args[0]}
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, "XDG_") && !strings.HasPrefix(name, "ASKBACK_") && !slices.Contains([]string{"HOME", "TMPDIR", "TERM", "NO_COLOR", "ACCESSIBLE", "GORACE"}, name) {
			h.env = append(h.env, kv)
		}
	}
	h.env = append(h.env, asProgram+"=1", "HOME="+h.dir, "XDG_STATE_HOME="+h.path("state"), "XDG_CONFIG_HOME="+h.path("config"),
		"TMPDIR="+h.dir, "TERM=xterm-256color", "GORACE=atexit_sleep_ms=0 exitcode=66")
	return h
}

func (h *home) path(name string) string { return filepath.Join(h.dir, name) }

func (h *home) write(name, content string) string {
	h.t.Helper()
	if err := os.WriteFile(h.path(name), []byte(content), 0o600); err != nil {
		h.t.Fatal(err)
	}
	return h.path(name)
}

// demoConfig is a configuration of the demo server, which records to record.jsonl.
func (h *home) demoConfig(flags ...string) string {
	entry := map[string]any{"command": os.Args[0], "args": append([]string{"demo-server", "--record", h.path("record.jsonl")}, flags...),
		"env": map[string]string{asProgram: "1", "GORACE": "atexit_sleep_ms=0", tamperBy: tamperName(h.t)}}
	data, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"demo": entry}})
	if err != nil {
		h.t.Fatal(err)
	}
	return h.write("demo.json", string(data))
}

func (h *home) command(args ...string) *exec.Cmd {
	cmd := exec.Command(h.program, args...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = h.env, h.dir, 5*time.Second
	return cmd
}

// run runs a program to its end and returns its exit code and output.
func (h *home) run(args ...string) (code int, stdout, stderr string) {
	h.t.Helper()
	cmd := h.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	late := time.AfterFunc(2*patience, func() { cmd.Process.Kill() }) // a scripted run has its own patience
	defer late.Stop()
	cmd.Wait()
	noRace(h.t, cmd)
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// daemon is a program that runs until it is ended; its stdout is read line by line.
type daemon struct {
	t     T
	cmd   *exec.Cmd
	lines chan string
	errs  lockedBuffer
}

func (h *home) daemon(args ...string) *daemon {
	h.t.Helper()
	d := &daemon{t: h.t, cmd: h.command(args...), lines: make(chan string, 1024)}
	d.cmd.Stderr = &d.errs
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	go func() { // ends with the program
		defer close(d.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			d.lines <- s.Text()
		}
	}()
	h.t.Cleanup(func() { d.end(syscall.SIGTERM) })
	return d
}

// end sends a signal and waits for the program's end.
func (d *daemon) end(sig syscall.Signal) {
	if d.cmd.ProcessState != nil {
		return
	}
	d.cmd.Process.Signal(sig)
	late := time.AfterFunc(patience, func() { d.cmd.Process.Kill() })
	defer late.Stop()
	for range d.lines {
	}
	d.cmd.Wait()
	noRace(d.t, d.cmd)
}

// noRace complains of a program that the race detector ended.
func noRace(t T, cmd *exec.Cmd) {
	t.Helper()
	if cmd.ProcessState.ExitCode() == 66 {
		t.Errorf("%v found a data race", cmd.Args)
	}
}

// line waits for a line of JSON for which ok holds.
func (d *daemon) line(what string, ok func(map[string]any) bool) map[string]any {
	d.t.Helper()
	late := time.After(patience)
	for {
		select {
		case l, more := <-d.lines:
			var v map[string]any
			if !more || json.Unmarshal([]byte(l), &v) != nil {
				d.t.Fatalf("waiting for %s: %q; stderr:\n%s", what, l, d.errs.String())
			}
			if ok(v) {
				return v
			}
		case <-late:
			d.t.Fatalf("no %s", what)
		}
	}
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// person sits before a program on a terminal of its own, which shows what the program writes on an emulated screen.
type person struct {
	t      T
	cmd    *exec.Cmd
	ptm    *os.File
	screen *screen.Screen
	read   chan struct{} // closed when the terminal is read to its end
	ended  chan struct{} // closed when the program has ended
	all    lockedBuffer  // every byte that it wrote
}

func (h *home) person(args ...string) *person {
	h.t.Helper()
	p := &person{t: h.t, cmd: h.command(args...), screen: screen.New(100, 30), read: make(chan struct{}), ended: make(chan struct{})}
	var err error
	if p.ptm, err = pty.StartWithSize(p.cmd, &pty.Winsize{Cols: 100, Rows: 30}); err != nil {
		h.t.Fatal(err)
	}
	go func() {
		defer close(p.read)
		buf := make([]byte, 4096)
		for {
			n, err := p.ptm.Read(buf)
			p.all.Write(buf[:n])
			p.screen.Write(buf[:n])
			if err != nil {
				return
			}
		}
	}()
	go func() {
		defer close(p.ended)
		p.cmd.Wait()
	}()
	h.t.Cleanup(func() { p.end(syscall.SIGTERM) })
	return p
}

// end sends a signal and waits for the program's end.
func (p *person) end(sig syscall.Signal) {
	p.cmd.Process.Signal(sig)
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.cmd.Process.Kill()
		<-p.ended
	}
	<-p.read // a pty without a program reads EIO
	p.ptm.Close()
	p.screen.Close()
	noRace(p.t, p.cmd)
}

// see waits for texts on the screen.
func (p *person) see(texts ...string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, want := range texts {
		if err := p.screen.WaitText(ctx, want); err != nil {
			p.t.Fatalf("%v", err)
		}
	}
}

// gone waits until a text is on the screen no more.
func (p *person) gone(text string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := p.screen.Wait(ctx, "the end of "+text, func(s string) bool { return !strings.Contains(s, text) }); err != nil {
		p.t.Fatalf("%v", err)
	}
}

// press sends keys, one after the other has been read.
func (p *person) press(keys ...string) {
	p.t.Helper()
	for _, k := range keys {
		if _, err := p.ptm.WriteString(k); err != nil {
			p.t.Fatalf("%q: %v", k, err)
		}
		time.Sleep(15 * time.Millisecond)
	}
}

// enter types a text and sends it.
func (p *person) enter(text string) {
	p.t.Helper()
	p.text(text)
	p.press("\r")
}

// text types a text, character by character, and lets the moment pass in which an enter would belong to it.
func (p *person) text(text string) {
	p.t.Helper()
	for _, c := range text {
		if _, err := p.ptm.WriteString(string(c)); err != nil {
			p.t.Fatalf("%v", err)
		}
		time.Sleep(time.Millisecond)
	}
	p.see(text[max(0, len(text)-20):])
	time.Sleep(60 * time.Millisecond)
}

// ready lets the time pass in which a form that has just opened ignores keys.
func (p *person) ready() { time.Sleep(450 * time.Millisecond) }

const (
	keyDown = "\x1b[B"
	ctrlQ   = "\x11"
	ctrlS   = "\x13"
)

// authority makes a private CA and a certificate for this machine; the CA's file is the clients'.
func (h *home) authority() (ca, cert, key string, pair tls.Certificate) {
	h.t.Helper()
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		h.t.Fatal(err)
	}
	now := time.Now()
	root := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"}, NotBefore: now.Add(-time.Hour),
		NotAfter: now.Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "devbox"}, NotBefore: root.NotBefore, NotAfter: root.NotAfter,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		h.t.Fatal(err)
	}
	sign := func(c *x509.Certificate, pub any) []byte {
		der, err := x509.CreateCertificate(rand.Reader, c, root, pub, signer)
		if err != nil {
			h.t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	der, err := x509.MarshalECPrivateKey(own)
	if err != nil {
		h.t.Fatal(err)
	}
	certPEM, keyPEM := sign(leaf, &own.PublicKey), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	if pair, err = tls.X509KeyPair(certPEM, keyPEM); err != nil {
		h.t.Fatal(err)
	}
	return h.write("ca.pem", string(sign(root, &signer.PublicKey))), h.write("cert.pem", string(certPEM)), h.write("key.pem", string(keyPEM)), pair
}

// overTLS dials a Host with a certificate of the authority.
func overTLS(t T, ca string) websocket.Dialer {
	data, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		t.Fatal(fmt.Errorf("%s holds no certificate", ca))
	}
	return websocket.Dialer{TLSClientConfig: &tls.Config{RootCAs: pool}}
}
