package hostclient_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"askback/forms"
	"askback/hostclient"
	"askback/protocol"
)

// TestTLS: a certificate is trusted when the CA file holds it, and else refused with a sentence; the token stays out of it.
func TestTLS(t *testing.T) {
	h := &scripted{t: t, conns: make(chan *peer, 8), root: rootA, epoch: "e", dials: make(chan http.Header, 8)}
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	defer srv.Close()
	url := "wss" + strings.TrimPrefix(srv.URL, "https")
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	opts := hostclient.Options{URL: url, Token: func() (string, error) { return token, nil }, CAFile: ca}
	v := newView(t, opts)
	p := h.accepted()
	if err := v.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.send(&protocol.ProjectCatalogChanged{Revision: 1})
	await[hostclient.CatalogChanged](t, v, nil)

	opts.CAFile = ""
	err := newView(t, opts).Ready(t.Context())
	if hostclient.CodeOf(err) != hostclient.CodeTLS || strings.Contains(err.Error(), token) || !strings.Contains(err.Error(), "--ca-file") {
		t.Errorf("an unknown certificate: %s %v", hostclient.CodeOf(err), err)
	}
	opts.URL = "ws" + strings.TrimPrefix(srv.URL, "https")
	if err := newView(t, opts).Ready(t.Context()); hostclient.CodeOf(err) != hostclient.CodeNotAHost || !strings.Contains(err.Error(), "wss://") {
		t.Errorf("plain where TLS is due: %v", err)
	}
	opts.URL = url
	if err := os.WriteFile(ca, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	opts.CAFile = ca
	if err := newView(t, opts).Ready(t.Context()); hostclient.CodeOf(err) != hostclient.CodeBadEndpoint {
		t.Errorf("a CA file without certificate: %v", err)
	}
}

// TestWordsOfACertificate: whoever answers chooses the names in its certificate, and they are part of the error.
func TestWordsOfACertificate(t *testing.T) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"x\x1b]0;title\x07\n.example"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(http.NotFoundHandler())
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	srv.StartTLS()
	defer srv.Close()
	opts := hostclient.Options{URL: "wss://host.test", Token: func() (string, error) { return token, nil }}
	opts.NetDial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, srv.Listener.Addr().String())
	}
	err = newView(t, opts).Ready(t.Context())
	if hostclient.CodeOf(err) != hostclient.CodeTLS || err.Error() != forms.Line(err.Error()) {
		t.Errorf("%s %q", hostclient.CodeOf(err), err)
	}
}

// TestWhatIsNoHost answers with something else than HTTP, plain where TLS is due, or not at all.
func TestWhatIsNoHost(t *testing.T) {
	serve := func(answer string) net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				c.Read(make([]byte, 1024))
				c.Write([]byte(answer))
				c.Close()
			}
		}()
		return l
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for name, c := range map[string]struct {
		url  string
		want hostclient.Code
	}{
		"nothing listens": {"ws://" + closed.Addr().String(), hostclient.CodeUnreachable},
		"closes at once":  {"ws://" + serve("").Addr().String(), hostclient.CodeUnreachable},
		"speaks SSH":      {"ws://" + serve("SSH-2.0-OpenSSH_9.9\r\n").Addr().String(), hostclient.CodeNotAHost},
		"no TLS":          {"wss://" + serve("HTTP/1.1 400 Bad Request\r\n\r\n").Addr().String(), hostclient.CodeTLS},
		"wrong upgrade":   {"ws://" + serve("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n").Addr().String(), hostclient.CodeNotAHost},
	} {
		err := newView(t, hostclient.Options{URL: c.url, Token: func() (string, error) { return token, nil }}).Ready(t.Context())
		if hostclient.CodeOf(err) != c.want || strings.Contains(err.Error(), token) {
			t.Errorf("%s: %s %v", name, hostclient.CodeOf(err), err)
		}
	}
}

// TestProxy: wss goes through the proxy of the environment, which learns no token; its refusal is told as its own. It runs in
// a process of its own, since the environment is read once.
func TestProxy(t *testing.T) {
	if address := os.Getenv("ASKBACK_TEST_PROXIED"); address != "" {
		err := newView(t, hostclient.Options{URL: address, Token: func() (string, error) { return token, nil }}).Ready(t.Context())
		if hostclient.CodeOf(err) != hostclient.CodeUnreachable || !strings.Contains(err.Error(), "the proxy before") || strings.Contains(err.Error(), "secret") || err.Error() != forms.Line(err.Error()) {
			t.Errorf("%s %v", hostclient.CodeOf(err), err)
		}
		return
	}
	asked := make(chan string, 1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		data := make([]byte, 4096)
		n, _ := c.Read(data)
		asked <- string(data[:n])
		io.WriteString(c, "HTTP/1.1 407 Who are\x1b[2J you\r\nContent-Length: 0\r\n\r\n")
	}()
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	for name, proxy := range map[string]string{
		"refuses":          "http://" + l.Addr().String(),
		"is not there":     "http://somebody:secret@" + gone.Addr().String(),
		"cannot be spoken": "https://somebody:secret@" + l.Addr().String(),
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestProxy$")
		cmd.Env = append(os.Environ(), "ASKBACK_TEST_PROXIED=wss://host.invalid:7443", "HTTPS_PROXY="+proxy, "NO_PROXY=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	if got := <-asked; !strings.HasPrefix(got, "CONNECT host.invalid:7443 ") || strings.Contains(got, token) {
		t.Errorf("the proxy was asked %q", got)
	}
}

// TestUnofferedExtension: a Host that compresses unasked could send us more than a frame may hold.
func TestUnofferedExtension(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Sec-WebSocket-Extensions", "permessage-deflate; server_no_context_takeover; client_no_context_takeover")
		up := websocket.Upgrader{EnableCompression: true}
		ws, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer ws.Close()
		ws.EnableWriteCompression(true)
		ws.WriteMessage(websocket.TextMessage, bytes.Repeat([]byte(" "), 4*protocol.MaxFrameBytes))
		ws.ReadMessage()
	}))
	defer srv.Close()
	opts := hostclient.Options{URL: "ws" + strings.TrimPrefix(srv.URL, "http"), Token: func() (string, error) { return token, nil }}
	if err := newView(t, opts).Ready(t.Context()); hostclient.CodeOf(err) != hostclient.CodeNotAHost || !strings.Contains(err.Error(), "extension") {
		t.Errorf("%s %v", hostclient.CodeOf(err), err)
	}
}

// TestInstances: each process holds its own identity, the lowest that is free, and has it again next time.
func TestInstances(t *testing.T) {
	dir := t.TempDir()
	hold := func() *hostclient.Instance {
		t.Helper()
		i, err := hostclient.HoldInstance(dir)
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	first, second := hold(), hold()
	a, b := first.ID(), second.ID()
	if a == b || a == "" || len(a) > 128 {
		t.Fatalf("identities %q and %q", a, b)
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	third := hold() // takes the place that is free
	fourth := hold()
	if third.ID() != a || fourth.ID() == a || fourth.ID() == b {
		t.Errorf("got %q and %q after %q and %q", third.ID(), fourth.ID(), a, b)
	}
	for _, i := range []*hostclient.Instance{second, third, fourth} {
		if err := i.Release(); err != nil {
			t.Error(err)
		}
	}
	path := filepath.Join(dir, "instances", "0.json")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info, err)
	}
	// A damaged identity is replaced, not fatal.
	if err := os.WriteFile(path, []byte(`{"clientInst`), 0o600); err != nil {
		t.Fatal(err)
	}
	again := hold()
	defer again.Release()
	if id := again.ID(); id == "" || id == a {
		t.Errorf("after damage: %q", id)
	}
}

// TestLinkedPins: where the file of pins is a link, it is the file that is written.
func TestLinkedPins(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "real.json")
	link := filepath.Join(dir, "hosts.json")
	if err := os.Symlink(file, link); err != nil {
		t.Skip(err)
	}
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		opts := h.options()
		opts.Pins = hostclient.PinFile(link)
		v := newView(t, opts)
		h.accepted()
		if err := v.Ready(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if data, err := os.ReadFile(file); err != nil || !strings.Contains(string(data), rootA) {
		t.Errorf("%q, %v", data, err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info.Mode(), err)
	}
}

func TestPinFileThatCannotBeUsed(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "hosts.json")
	if err := os.WriteFile(path, []byte("not JSON"), 0o600); err != nil {
		t.Fatal(err)
	}
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		opts := h.options()
		opts.Pins = hostclient.PinFile(path)
		v := newView(t, opts)
		h.accepted()
		if c := await(t, v, state(hostclient.StateRefused)); c.Cause.Code != hostclient.CodePinFile || !strings.Contains(c.Cause.Message, "hosts.json") {
			t.Errorf("%+v", c)
		}
	})
	if data, err := os.ReadFile(path); err != nil || string(data) != "not JSON" {
		t.Errorf("the file was changed: %q %v", data, errors.Join(err))
	}
}
