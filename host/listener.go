package host

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"askback/host/access"
	"askback/protocol"
)

// Listen opens a TCP listener for Serve. With a TLS configuration it speaks TLS;
// without one it refuses an address that is not loopback unless insecureRemote is set,
// because tokens and answers would cross the network in the clear.
func Listen(ctx context.Context, address string, config *tls.Config, insecureRemote bool) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if config != nil {
		config = config.Clone()
		config.NextProtos = []string{"http/1.1"} // a WebSocket needs the connection to itself
		return tls.NewListener(l, config), nil
	}
	if addr, ok := l.Addr().(*net.TCPAddr); ok && !addr.IP.IsLoopback() && !insecureRemote {
		l.Close()
		return nil, fmt.Errorf("%s is not a loopback address: serve TLS, or allow insecure remote connections", address)
	}
	return l, nil
}

const (
	headerTimeout = 10 * time.Second
	idleTimeout   = time.Minute
	maxHeader     = 16 << 10
)

func (h *Host) newServer() *http.Server {
	return &http.Server{
		Handler:           http.HandlerFunc(h.serveHTTP),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          discardLog,

		DisableGeneralOptionsHandler: true, // OPTIONS * is a method like any other
	}
}

// serveHTTP answers the two health endpoints and upgrades the one WebSocket path. The
// order of the checks is the protocol's (wire protocol, 2.1 and 2.2).
func (h *Host) serveHTTP(w http.ResponseWriter, r *http.Request) {
	if isUpgrade(r) {
		h.upgrade(w, r)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	status, body := http.StatusNotFound, "Not Found"
	switch path, _, _ := strings.Cut(r.RequestURI, "?"); {
	case r.Method != http.MethodGet:
		status, body = http.StatusMethodNotAllowed, "Method Not Allowed"
	case path == "/healthz":
		status, body = http.StatusOK, "ok"
	case path == "/readyz" && h.ready():
		status, body = http.StatusOK, "ready"
	case path == "/readyz":
		status, body = http.StatusServiceUnavailable, "not ready"
	}
	w.WriteHeader(status)
	w.Write([]byte(body))
}

func isUpgrade(r *http.Request) bool {
	return headerHas(r.Header, "Connection", "upgrade") && r.Header.Get("Upgrade") != ""
}

func headerHas(h http.Header, name, token string) bool {
	for _, v := range h.Values(name) {
		for part := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(part), token) {
				return true
			}
		}
	}
	return false
}

func (h *Host) upgrade(w http.ResponseWriter, r *http.Request) {
	status, cred := h.admit(r)
	if status == 0 && h.draining() {
		status = http.StatusServiceUnavailable
	}
	if status != 0 {
		h.log.Info("upgrade refused", "status", status)
		refuse(w, status)
		return
	}
	ws, err := upgrader.Upgrade(fragmentGuard{w}, r, nil)
	if err != nil {
		return // the upgrader has answered
	}
	h.adopt(ws, cred)
}

// admit checks path, origin and token, in this order. Zero means welcome.
func (h *Host) admit(r *http.Request) (status int, cred access.Credential) {
	path, query, _ := strings.Cut(r.RequestURI, "?")
	if path != protocol.WebSocketPath || query != "" {
		return http.StatusNotFound, cred
	}
	if origins := r.Header.Values("Origin"); len(origins) > 0 {
		if len(origins) > 1 || !slices.Contains(h.opt.AllowOrigins, origins[0]) {
			return http.StatusForbidden, cred
		}
	}
	auth := r.Header.Values("Authorization")
	if len(auth) != 1 {
		return http.StatusUnauthorized, cred
	}
	token, ok := strings.CutPrefix(auth[0], "Bearer ")
	if !ok {
		return http.StatusUnauthorized, cred
	}
	if cred, ok = h.opt.Access.Verify(token); !ok {
		return http.StatusUnauthorized, cred
	}
	return 0, cred
}

func refuse(w http.ResponseWriter, status int) {
	w.Header().Set("Connection", "close")
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(status)
}

// upgrader leaves the origin to admit, and compresses nothing.
var upgrader = websocket.Upgrader{
	HandshakeTimeout: headerTimeout,
	ReadBufferSize:   4 << 10,
	WriteBufferSize:  4 << 10,
	WriteBufferPool:  writeBuffers,
	CheckOrigin:      func(*http.Request) bool { return true },
	Error: func(w http.ResponseWriter, _ *http.Request, status int, _ error) {
		refuse(w, status)
	},
}

// Serve accepts connections from l until Shutdown or Close, and then returns nil. It
// closes l. Several listeners may be served at once.
func (h *Host) Serve(l net.Listener) error {
	h.mu.Lock()
	if h.state != stateServing {
		h.mu.Unlock()
		l.Close()
		return ErrClosed
	}
	h.mu.Unlock()
	err := h.server.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve %s: %w", l.Addr(), err)
}
