package app

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"askback/hostclient"
	"askback/protocol"
)

// daemon is a program that goes on until the test ends it. Its stdout is read line by line.
type daemon struct {
	w     *world
	cmd   *exec.Cmd
	lines chan string
}

func (w *world) daemon(args ...string) *daemon {
	w.t.Helper()
	d := &daemon{w: w, cmd: w.command(args...), lines: make(chan string, 1024)}
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := d.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() { // ends with the program
		defer close(d.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			d.lines <- s.Text()
		}
	}()
	w.t.Cleanup(func() { d.end(syscall.SIGTERM) })
	return d
}

// end sends a signal and waits; ending twice is fine.
func (d *daemon) end(sig syscall.Signal) {
	if d.cmd.ProcessState != nil {
		return
	}
	d.cmd.Process.Signal(sig)
	for range d.lines {
	}
	d.cmd.Wait()
}

// line waits for a line of JSON for which ok holds.
func (d *daemon) line(what string, ok func(map[string]any) bool) map[string]any {
	d.w.t.Helper()
	late := time.After(20 * time.Second)
	for {
		select {
		case l, more := <-d.lines:
			if !more {
				d.w.t.Fatalf("the program ended while waiting for %s", what)
			}
			var v map[string]any
			if err := json.Unmarshal([]byte(l), &v); err != nil {
				d.w.t.Fatalf("stdout: %q is no JSON", l)
			}
			if ok(v) {
				return v
			}
		case <-late:
			d.w.t.Fatalf("no %s", what)
		}
	}
}

func event(name string) func(map[string]any) bool {
	return func(v map[string]any) bool { return v["event"] == name }
}

// authority writes a private CA and a certificate for loopback.
func (w *world) authority() (ca, cert, key string) {
	w.t.Helper()
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		w.t.Fatal(err)
	}
	root := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "devbox"}, NotBefore: root.NotBefore, NotAfter: root.NotAfter,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		w.t.Fatal(err)
	}
	sign := func(c *x509.Certificate, pub any) string {
		der, err := x509.CreateCertificate(rand.Reader, c, root, pub, signer)
		if err != nil {
			w.t.Fatal(err)
		}
		return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}
	der, err := x509.MarshalECPrivateKey(leafKey)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.write("ca.pem", sign(root, &signer.PublicKey)), w.write("cert.pem", sign(leaf, &leafKey.PublicKey)),
		w.write("key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})))
}

// machines are two of them: one with the Host and the provider, one that looks and answers.
type machines struct {
	there, here *world
	listen      string
	hostArgs    []string
	endpoint    string
	host        *daemon
	provide     *daemon
	view        *hostclient.View
	remote      []string // flags to reach the Host from here
}

func startMachines(t *testing.T) *machines {
	m := &machines{there: newWorld(t), here: newWorld(t)}
	ca, cert, key := m.there.authority()
	data := m.there.path("data")
	client := m.token("client", "--role", "client")
	m.token("provider", "--role", "provider")
	m.hostArgs = []string{"host", "--data", data, "--tls-cert", cert, "--tls-key", key}
	m.listen = "127.0.0.1:0"
	m.startHost()
	m.startProvide()
	file := m.here.write("token", client)
	m.remote = []string{"--host", m.endpoint, "--token-file", file, "--ca-file", ca}
	m.view = hostclient.NewView(hostclient.Options{URL: m.endpoint, CAFile: ca, Token: func() (string, error) { return strings.TrimSpace(client), nil }})
	t.Cleanup(func() { m.view.Close() })
	m.ready()
	return m
}

func (m *machines) token(name string, flags ...string) string {
	m.there.t.Helper()
	r := m.there.run(append([]string{"host", "token", "add", name, "--data", m.there.path("data")}, flags...)...)
	if r.code != 0 || !strings.HasPrefix(r.stdout, "askb_rh_") {
		m.there.t.Fatalf("token add: %+v", r)
	}
	m.there.write(name+".token", r.stdout)
	return r.stdout
}

func (m *machines) startHost() {
	m.host = m.there.daemon(append(m.hostArgs, "--listen", m.listen)...)
	ready := m.host.line("the ready line", func(v map[string]any) bool { return v["ready"] == true })
	m.endpoint, _ = ready["endpoint"].(string)
	m.listen = strings.TrimSuffix(strings.TrimPrefix(m.endpoint, "wss://"), "/runtime-host")
}

func (m *machines) startProvide() {
	m.provide = m.there.daemon("provide", "--host", m.endpoint, "--ca-file", m.there.path("ca.pem"), "--token-file", m.there.path("provider.token"),
		"--config", m.there.path("demo.json"), "--json")
	m.offered()
}

func (m *machines) offered() {
	m.provide.line("offer", func(v map[string]any) bool { n, _ := v["tools"].(float64); return v["event"] == "offered" && n > 0 })
}

func (m *machines) ready() {
	m.there.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for {
		err := m.view.Ready(ctx)
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			m.there.t.Fatal(err)
		}
		m.view.Retry()
		time.Sleep(20 * time.Millisecond)
	}
}

// ask starts a call in a session of its own and returns the name of the form that it asks.
func (m *machines) ask() (name, session, turn string) {
	t := m.there.t
	t.Helper()
	item, err := m.view.CreateSession(t.Context(), protocol.SessionCreateInput{Name: "machines"})
	if err != nil {
		t.Fatal(err)
	}
	turn = hostclient.NewID()
	if _, err := m.view.StartTurn(t.Context(), protocol.TurnStartInput{SessionID: item.ID, TurnID: turn,
		Content: protocol.Content{Text: "/call demo/deploy " + deployArgs}}); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if list := m.pending(); len(list) == 1 {
			return list[0], item.ID, turn
		}
		if time.Now().After(deadline) {
			t.Fatal("no form is pending")
		}
	}
}

func (m *machines) pending() []string {
	m.here.t.Helper()
	r := m.here.run(append([]string{"pending", "--json"}, m.remote...)...)
	var list []protocolEntry
	if err := json.Unmarshal([]byte(r.stdout), &list); err != nil || r.code != 0 {
		m.here.t.Fatalf("pending: %v %+v", err, r)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.SessionID+"/"+e.InteractionID)
	}
	return names
}

type protocolEntry struct{ SessionID, InteractionID, Status string }

func (m *machines) answer(name string, flags ...string) ran {
	return m.here.run(append(append([]string{"answer", name, "--json"}, flags...), m.remote...)...)
}

func (m *machines) ended(session, turn string) *protocol.TurnSnapshot {
	t := m.there.t
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		snap, err := m.view.Turn(t.Context(), session, turn)
		if err == nil && snap.Status.Terminal() {
			return snap
		}
		if time.Now().After(deadline) {
			t.Fatalf("the Turn did not end: %+v %v", snap, err)
		}
	}
}

var yes = []string{"--set", "environment=staging", "--set", "confirm=true"}

func TestTwoMachines(t *testing.T) {
	m := startMachines(t)
	watch := m.here.daemon(append([]string{"pending", "--watch", "--json"}, m.remote...)...)

	// Answered once; a wrong answer changes nothing, an equal one converges, another one is too late.
	name, session, turn := m.ask()
	watch.line("pending event", event("pending"))
	if r := m.answer(name, "--set", "environment=moon"); r.code != 2 || r.errorCode(t) != "invalid_answer" {
		t.Errorf("wrong answer: %+v", r)
	}
	if r := m.answer(name, yes...); r.code != 0 {
		t.Errorf("answer: %+v", r)
	}
	if v := watch.line("settled event", event("settled")); v["status"] != "answered" || v["action"] != "accept" {
		t.Errorf("watch: %v", v)
	}
	if r := m.answer(name, yes...); r.code != 0 || r.json(t)["action"] != "accept" {
		t.Errorf("the same answer again: %+v", r)
	}
	if r := m.answer(name, "--set", "environment=production", "--set", "confirm=true"); r.code != 4 || r.errorCode(t) != "already_resolved" {
		t.Errorf("another answer: %+v", r)
	}
	if r := m.answer(name, "--decline"); r.code != 4 || r.errorCode(t) != "already_resolved" {
		t.Errorf("late answer: %+v", r)
	}
	if s := m.ended(session, turn); s.Status != protocol.TurnCompleted || m.there.calls() != 2 {
		t.Errorf("%v, %d calls", s.Status, m.there.calls())
	}

	// The provider dies: the form closes and says why.
	name, session, turn = m.ask()
	watch.line("pending event", event("pending"))
	m.provide.end(syscall.SIGKILL)
	m.ended(session, turn)
	if v := watch.line("closed event", event("settled")); v["reason"] != "provider_disconnected" {
		t.Errorf("watch: %v", v)
	}
	if r := m.answer(name, yes...); r.code != 6 || r.errorCode(t) != "closed" || !strings.Contains(r.stderr, "is gone") {
		t.Errorf("answer after the provider's end: %+v", r)
	}

	// The Host dies: after its restart the form is host_restarted, nothing is repeated, and work goes on.
	m.startProvide()
	name, _, _ = m.ask()
	m.host.end(syscall.SIGKILL)
	if r := m.answer(name, yes...); r.code != 5 || r.errorCode(t) != "unreachable" {
		t.Errorf("answer without a Host: %+v", r)
	}
	m.startHost()
	m.ready()
	if r := m.answer(name, yes...); r.code != 6 || !strings.Contains(r.stderr, "restarted") {
		t.Errorf("answer after the restart: %+v", r)
	}
	m.offered()
	if list := m.pending(); len(list) != 0 {
		t.Errorf("pending after the restart: %v", list)
	}
	before := m.there.calls()
	name, session, turn = m.ask()
	if r := m.answer(name, "--decline"); r.code != 0 {
		t.Errorf("answer: %+v", r)
	}
	m.ended(session, turn)
	if got := m.there.calls() - before; got != 2 {
		t.Errorf("%d calls after the restart", got)
	}
}

// A form of a call that somebody declines on another surface is declined all the same.
func TestDeclinedElsewhere(t *testing.T) {
	m := startMachines(t)
	for flag, action := range map[string]string{"--decline": "decline", "--cancel": "cancel"} {
		s := m.there.atTerminal("--config", m.there.path("demo.json"), "call", "demo/deploy", "--args", deployArgs, "--json", "--host", m.endpoint,
			"--ca-file", m.there.path("ca.pem"), "--token-file", m.there.path("client.token"), "--provider-token-file", m.there.path("provider.token"))
		s.await("environment")
		list := m.pending()
		if len(list) != 1 {
			t.Fatalf("%q\n%s", list, s.text())
		}
		if r := m.answer(list[0], flag); r.code != 0 {
			t.Fatalf("%+v", r)
		}
		s.await("answered elsewhere (" + action + ")")
		if r := s.end(); r.code != exitDeclined || r.errorCode(t) != "server_error" {
			t.Errorf("%+v\n%s", r, s.text())
		}
	}
}

// A session in which a Turn runs takes no call, and says so.
func TestCallInABusySession(t *testing.T) {
	m := startMachines(t)
	name, session, turn := m.ask()
	r := m.there.run("--config", m.there.path("demo.json"), "call", "demo/plain", "--json", "--host", m.endpoint, "--ca-file", m.there.path("ca.pem"),
		"--token-file", m.there.path("client.token"), "--provider-token-file", m.there.path("provider.token"), "--session", session)
	if r.code != exitUnreachable || r.errorCode(t) != "session_busy" || !strings.Contains(r.stderr, "a Turn runs in the session "+session) {
		t.Errorf("%+v", r)
	}
	m.answer(name, "--decline")
	m.ended(session, turn)
}

// What a Host says to a token of both roles, with what can be done about it from here.
func TestCallThatNeedsBypass(t *testing.T) {
	m := startMachines(t)
	both := m.there.write("both.token", m.token("both", "--role", "both"))
	args := []string{"--config", m.there.path("demo.json"), "call", "demo/plain", "--host", m.endpoint, "--ca-file", m.there.path("ca.pem"), "--token-file", both}
	if r := m.there.run(args...); r.code != exitFailed || !strings.Contains(r.stderr, "--permission-mode bypass") || !strings.Contains(r.stderr, "--provider-token-file") {
		t.Errorf("%+v", r)
	}
	if r := m.there.run(append(args, "--permission-mode", "bypass")...); r.code != exitOK {
		t.Errorf("%+v", r)
	}
}

// A token that may not offer tools ends the provider: asking again gives nothing else.
func TestProvideWithAClientsToken(t *testing.T) {
	m := startMachines(t)
	r := m.there.run("provide", "--host", m.endpoint, "--ca-file", m.there.path("ca.pem"), "--token-file", m.there.path("client.token"),
		"--config", m.there.path("demo.json"), "--json")
	if r.code != exitUnreachable || !strings.Contains(r.stderr, "--role provider") {
		t.Errorf("%+v", r)
	}
}

// A tunnel like that of ssh: bytes through a pipe pair, cut while a command waits.
func TestThroughATunnel(t *testing.T) {
	m := startMachines(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conns := make(chan net.Conn, 64)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns <- c
			up, err := net.Dial("tcp", m.listen)
			if err != nil {
				c.Close()
				continue
			}
			go func() { io.Copy(up, c); up.Close() }()
			go func() { io.Copy(c, up); c.Close() }()
		}
	}()
	cut := func() {
		for {
			select {
			case c := <-conns:
				c.Close()
				continue
			default:
			}
			return
		}
	}
	t.Cleanup(func() { l.Close(); cut(); <-done })
	m.remote[1] = "wss://" + l.Addr().String()

	watch := m.here.daemon(append([]string{"pending", "--watch", "--json"}, m.remote...)...)
	name, session, turn := m.ask()
	watch.line("pending event", event("pending"))
	cut() // the line drops; the form stays, and the watcher comes back by itself
	if r := m.answer(name, yes...); r.code != 0 {
		t.Errorf("answer: %+v", r)
	}
	m.ended(session, turn)
	if v := watch.line("settled event", event("settled")); v["status"] != "answered" {
		t.Errorf("watch: %v", v)
	}
	if n := m.there.calls(); n != 2 {
		t.Errorf("%d calls", n)
	}
	l.Close()
	if r := m.answer(name, yes...); r.code != 5 || r.errorCode(t) != "unreachable" {
		t.Errorf("answer without a tunnel: %+v", r)
	}
}

// A Host's address is pinned to its root: another Host there is refused by name.
func TestAnotherHostIsRefused(t *testing.T) {
	m := startMachines(t)
	m.pending()
	m.host.end(syscall.SIGTERM)
	if err := os.Rename(m.there.path("data"), m.there.path("old")); err != nil {
		t.Fatal(err)
	}
	client := m.token("client")
	m.here.write("token", client)
	m.startHost()
	r := m.here.run(append([]string{"pending", "--json"}, m.remote...)...)
	if r.code != 5 || !strings.Contains(r.stderr, "another Host") {
		t.Errorf("%+v", r)
	}
}
