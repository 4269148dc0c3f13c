package testhost39

import (
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/gorilla/websocket"

	"askback/protocol"
)

// serveHTTP is the HTTP side, in the real Host's order of checks.
func (h *Host) serveHTTP(w http.ResponseWriter, r *http.Request) {
	if websocket.IsWebSocketUpgrade(r) {
		h.upgrade(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	status, body := http.StatusNotFound, "Not Found"
	switch {
	case r.Method != http.MethodGet:
		status, body = http.StatusMethodNotAllowed, "Method Not Allowed"
	case r.URL.Path == "/healthz":
		status, body = http.StatusOK, "ok"
	case r.URL.Path == "/readyz":
		h.mu.Lock()
		ready := h.state == protocol.HostReady
		h.mu.Unlock()
		status, body = http.StatusServiceUnavailable, "not ready"
		if ready {
			status, body = http.StatusOK, "ready"
		}
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// refuse answers an upgrade without a body.
func refuse(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Length", "0")
	w.Header().Set("Connection", "close")
	w.WriteHeader(status)
}

func (h *Host) upgrade(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != h.opt.Path || r.URL.RawQuery != "" {
		refuse(w, http.StatusNotFound)
		return
	}
	if origins := r.Header.Values("Origin"); len(origins) > 0 && !slices.Contains(h.opt.AllowOrigins, origins[0]) {
		refuse(w, http.StatusForbidden)
		return
	}
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	h.mu.Lock()
	cred, known := h.tokens[token]
	closed := h.closed
	h.mu.Unlock()
	if !ok || !known || closed {
		refuse(w, http.StatusUnauthorized)
		return
	}
	up := websocket.Upgrader{ReadBufferSize: 64 << 10, CheckOrigin: func(*http.Request) bool { return true }}
	ws, err := up.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	if c, ok := ws.NetConn().(*floodConn); ok {
		c.upgraded.Store(true)
	}
	h.serve(ws, token, cred)
}
