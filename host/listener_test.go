package host

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"askback/host/access"
	"askback/protocol"
)

// TestTLS: the same protocol over TLS, on an address that need not be loopback, and an
// abort that does not wait for the peer.
func TestTLS(t *testing.T) {
	r := newRig(t, nil)
	cert, pool := selfSigned(t)
	l, err := Listen(t.Context(), "0.0.0.0:0", &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2", "http/1.1"}}, false)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- r.h.Serve(l) }()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	d := websocket.Dialer{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "host.test"}}
	ws, _, err := d.Dial("wss://127.0.0.1:"+port+protocol.WebSocketPath, http.Header{"Authorization": {"Bearer " + r.tokens[access.RoleClient]}})
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, ws: ws, raw: ws.NetConn(), epoch: 81}
	p.send(frame{"kind": "hello", "clientInstanceId": "x", "protocolMin": 0, "protocolMax": 0, "compatibilityEpoch": 81})
	if f := p.read(); f.text("kind") != "accepted" {
		t.Fatal(f)
	}
	p.ok("host.status", frame{})
	if err := r.opt.Access.Revoke("the-client"); err != nil {
		t.Fatal(err)
	}
	p.ended()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "host.test"}, DisableKeepAlives: true}}
	resp, err := client.Get("https://127.0.0.1:" + port + "/healthz")
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("%v, %v", resp, err)
	} else {
		resp.Body.Close()
	}
	r.stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func selfSigned(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "host.test"}, DNSNames: []string{"host.test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}
