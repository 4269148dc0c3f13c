package hostclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"askback/protocol"
)

const (
	dialTimeout = 15 * time.Second
	// writeBuffer lets a full result chunk leave as one WebSocket frame: the client side of the library splits a
	// message by its buffer, and a Host counts fragments.
	writeBuffer = 64 << 10
	readBuffer  = 64 << 10
)

// dialer makes connections to one Host. It is made once from Options and does not change.
type dialer struct {
	opts     Options
	endpoint endpoint
	tls      *tls.Config
	log      *slog.Logger
}

func newDialer(opts Options) (*dialer, *Error) {
	e, bad := parseEndpoint(opts.URL)
	if bad != nil {
		return nil, bad
	}
	if !e.secure && !opts.Insecure && opts.NetDial == nil && !loopbackName(e.host) {
		return nil, errorf(CodeInsecure, "%s is not this machine, and ws:// would send the token in clear text: use wss://, or allow it with --insecure", e.host)
	}
	d := &dialer{opts: opts, endpoint: e, log: opts.Logger}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	if opts.CAFile != "" {
		pem, err := os.ReadFile(opts.CAFile)
		if err != nil {
			return nil, errorf(CodeBadEndpoint, "the CA file cannot be read: %v", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, errorf(CodeBadEndpoint, "the CA file %s holds no PEM certificate", opts.CAFile)
		}
		d.tls = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	if d.opts.InstanceID == "" {
		d.opts.InstanceID = newID("askback-")
	}
	if len(d.opts.Dialects) == 0 {
		d.opts.Dialects = []protocol.Dialect{protocol.Dialect81, protocol.Dialect39}
	}
	return d, nil
}

// dial upgrades a new network connection. The token stands in the header of that one request.
func (d *dialer) dial(ctx context.Context) (*websocket.Conn, *heardConn, *Error) {
	token := ""
	if d.opts.Token != nil {
		var err error
		if token, err = d.opts.Token(); err != nil {
			return nil, nil, errorf(CodeBadToken, "the token for the Host cannot be read: %v", err)
		}
	}
	if bad := checkToken(token); bad != nil {
		return nil, nil, bad
	}
	var conn *heardConn
	ws := websocket.Dialer{
		NetDialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := d.netDial(ctx, network, address)
			if err == nil {
				conn = newHeardConn(c)
				return conn, nil
			}
			return nil, err
		},
		TLSClientConfig: d.tls,
		ReadBufferSize:  readBuffer,
		WriteBufferSize: writeBuffer,
	}
	var proxied bool
	if d.endpoint.secure && d.opts.NetDial == nil {
		ws.Proxy = func(r *http.Request) (*url.URL, error) { // a tunnel: the proxy sees no header of ours
			u, err := http.ProxyFromEnvironment(r)
			proxied = u != nil
			return u, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	c, res, err := ws.DialContext(ctx, d.endpoint.url, http.Header{"Authorization": {"Bearer " + token}})
	if err != nil {
		bad := d.dialError(ctx, err, res, conn != nil)
		switch {
		case proxied && bad.Code == CodeNotAHost && res == nil:
			bad = errorf(CodeUnreachable, "the proxy before %s does not connect to it: %v", d.endpoint.url, err)
		case proxied && conn == nil && ctx.Err() == nil:
			bad = errorf(CodeUnreachable, "the proxy before %s cannot be used: %v", d.endpoint.url, err)
		}
		return nil, nil, bad
	}
	// The library takes up a compression that we never offer, and then counts a frame's limit before it is inflated.
	if res.Header.Get("Sec-WebSocket-Extensions") != "" {
		conn.Close()
		return nil, nil, errorf(CodeNotAHost, "what answers at %s is not a Runtime Host: it uses a WebSocket extension that was not offered", d.endpoint.url)
	}
	return c, conn, nil
}

var errNotLoopback = errors.New("localhost does not resolve to this machine")

func (d *dialer) netDial(ctx context.Context, network, address string) (net.Conn, error) {
	if d.opts.NetDial != nil {
		return d.opts.NetDial(ctx, network, address)
	}
	c, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err == nil && !d.endpoint.secure && !d.opts.Insecure && !loopbackAddr(c.RemoteAddr()) {
		c.Close()
		return nil, errNotLoopback
	}
	return c, err
}

// dialError says which of the ways to fail before a WebSocket exists it was. connected is whether there was a network
// connection.
func (d *dialer) dialError(ctx context.Context, err error, res *http.Response, connected bool) *Error {
	at := d.endpoint.url
	if errors.Is(err, websocket.ErrBadHandshake) && res != nil {
		return upgradeError(at, res.StatusCode)
	}
	netErr, isNet := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, errNotLoopback):
		return errorf(CodeInsecure, "%s: %v", at, err)
	case isTLS(err):
		hint := ""
		if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
			hint = "; --ca-file names an authority to trust"
		}
		return errorf(CodeTLS, "no trusted TLS connection to %s: %v%s", at, err, hint)
	case ctx.Err() != nil || isNet && netErr.Timeout():
		return errorf(CodeUnreachable, "the Host at %s did not answer in time", at)
	case !connected || isNet || isEnd(err):
		return errorf(CodeUnreachable, "the Host at %s cannot be reached: %v", at, err)
	}
	return errorf(CodeNotAHost, "what answers at %s is not a Runtime Host: %v", at, err)
}

func upgradeError(at string, status int) *Error {
	switch {
	case status == http.StatusUnauthorized:
		return errorf(CodeUnauthorized, "the Host at %s refused the token: it is wrong, revoked or expired", at)
	case status == http.StatusForbidden:
		return errorf(CodeOriginRefused, "the Host at %s, or a proxy before it, refused the connection (403)", at)
	case status == http.StatusTooManyRequests || status >= 500:
		return errorf(CodeHostUnavailable, "the Host at %s is not available now (HTTP %d)", at, status)
	case status == http.StatusNotFound:
		return errorf(CodeNotAHost, "there is no Runtime Host at %s (404); is the path right?", at)
	}
	hint := ""
	if status == http.StatusBadRequest && strings.HasPrefix(at, "ws:") {
		hint = "; does it want wss://?"
	}
	return errorf(CodeNotAHost, "what answers at %s is not a Runtime Host (HTTP %d)%s", at, status, hint)
}

func isTLS(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.AlertError](err); ok {
		return true
	}
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "remote error" // how crypto/tls reports the other side's alert
}
