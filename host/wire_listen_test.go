package host_test

import (
	"context"
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

	"askback/host"
	"askback/host/access"
)

// A listener without TLS is for loopback, unless it is asked for.
func TestWireListen(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		address  string
		tls      bool
		insecure bool
		ok       bool
	}{
		{"127.0.0.1:0", false, false, true},
		{"localhost:0", false, false, true},
		{"0.0.0.0:0", false, false, false},
		{":0", false, false, false},
		{"0.0.0.0:0", false, true, true},
		{"0.0.0.0:0", true, false, true},
		{"127.0.0.1:nonsense", false, false, false},
	} {
		var config *tls.Config
		if tc.tls {
			config, _ = selfSigned(t)
		}
		l, err := host.Listen(t.Context(), tc.address, config, tc.insecure)
		if (err == nil) != tc.ok {
			t.Errorf("%+v: %v", tc, err)
		}
		if l != nil {
			l.Close()
		}
	}
}

// The same Host over real sockets, plain and with TLS.
func TestWireSockets(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		store := access.Ephemeral()
		token, err := store.Add("client", access.RoleClient, 0)
		if err != nil {
			t.Fatal(err)
		}
		h, err := host.Open(host.Options{Dir: t.TempDir(), Access: store})
		if err != nil {
			t.Fatal(err)
		}
		scheme, dialer := "ws", websocket.Dialer{HandshakeTimeout: 10 * time.Second}
		var config *tls.Config
		if secure {
			var pool *x509.CertPool
			config, pool = selfSigned(t)
			scheme, dialer.TLSClientConfig = "wss", &tls.Config{RootCAs: pool, NextProtos: []string{"h2", "http/1.1"}}
		}
		l, err := host.Listen(t.Context(), "127.0.0.1:0", config, false)
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- h.Serve(l) }()
		ws, _, err := dialer.Dial(scheme+"://"+l.Addr().String()+"/runtime-host", http.Header{"Authorization": {"Bearer " + token}})
		if err != nil {
			t.Fatalf("TLS %v: %v", secure, err)
		}
		ws.SetReadDeadline(time.Now().Add(10 * time.Second))
		ws.WriteJSON(hello("term", 81))
		var f obj
		if err := ws.ReadJSON(&f); err != nil || f["kind"] != "accepted" {
			t.Errorf("TLS %v: %v %v", secure, f, err)
		}
		ws.WriteMessage(websocket.TextMessage, []byte("[]"))
		if _, _, err := ws.ReadMessage(); err == nil || !websocket.IsCloseError(err, websocket.CloseAbnormalClosure) && !isReset(err) {
			t.Errorf("TLS %v: a malformed frame ended the connection with %v", secure, err)
		}
		ws.Close()
		if err := h.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		if _, err := net.DialTimeout("tcp", l.Addr().String(), time.Second); err == nil {
			t.Error("the listener is still there")
		}
	}
}

func isReset(err error) bool {
	_, ok := err.(*net.OpError)
	return ok
}

func selfSigned(t *testing.T) (*tls.Config, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "host"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, pool
}
