package acceptance

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/gorilla/websocket"
)

// The two kinds of connection, told apart by their tokens.
const (
	asView     = "view"
	asProvider = "provider"
)

// frame is one message between a client and the Host.
type frame struct {
	role string // asView or asProvider
	up   bool   // from the client
	text string
}

// relay stands between the clients and a Host: it sees every frame of both connections, can cut either, keep it away,
// and change what passes.
type relay struct {
	front net.Listener
	back  websocket.Dialer
	url   string
	roles map[string]string // by token
	alter func(*relay, frame) []string
	srv   *http.Server
	ended sync.WaitGroup

	mu     sync.Mutex
	frames []frame
	pairs  map[*pair]struct{}
	away   map[string]bool // roles that cannot connect now
}

type pair struct {
	role      string
	near, far *websocket.Conn
	write     [2]sync.Mutex // of near, of far
}

const relayBuffer = 256 << 10

// startRelay serves a relay on front to the Host at url, until it is closed.
func startRelay(front net.Listener, url string, dial websocket.Dialer, roles map[string]string, alter func(*relay, frame) []string) *relay {
	dial.ReadBufferSize, dial.WriteBufferSize = relayBuffer, relayBuffer
	r := &relay{front: front, back: dial, url: url, roles: roles, alter: alter, pairs: map[*pair]struct{}{}, away: map[string]bool{}}
	r.srv = &http.Server{Handler: r}
	r.ended.Go(func() { r.srv.Serve(front) })
	return r
}

func (r *relay) close() {
	r.srv.Close()
	r.cut(asView)
	r.cut(asProvider)
	r.ended.Wait()
}

// ServeHTTP connects a client with the Host, as that Host answers.
func (r *relay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	role := r.roles[strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")]
	r.mu.Lock()
	away := r.away[role]
	r.mu.Unlock()
	if away {
		http.Error(w, "away", http.StatusServiceUnavailable)
		return
	}
	far, res, err := r.back.DialContext(req.Context(), r.url, http.Header{"Authorization": req.Header["Authorization"]})
	if err != nil {
		status := http.StatusServiceUnavailable
		if res != nil {
			status = res.StatusCode
		}
		http.Error(w, err.Error(), status)
		return
	}
	up := websocket.Upgrader{ReadBufferSize: relayBuffer, WriteBufferSize: relayBuffer}
	near, err := up.Upgrade(w, req, nil)
	if err != nil {
		far.Close()
		return
	}
	p := &pair{role: role, near: near, far: far}
	r.mu.Lock()
	r.pairs[p] = struct{}{}
	r.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.pump(p, far, near, false)
	}()
	r.pump(p, near, far, true)
	<-done
	r.mu.Lock()
	delete(r.pairs, p)
	r.mu.Unlock()
}

// pump carries one direction until either end has gone, and passes a close code on.
func (r *relay) pump(p *pair, from, to *websocket.Conn, up bool) {
	defer to.Close()
	for {
		kind, data, err := from.ReadMessage()
		if err != nil {
			if c, ok := errors.AsType[*websocket.CloseError](err); ok && c.Code != websocket.CloseAbnormalClosure && c.Code != websocket.CloseNoStatusReceived {
				p.send(to, websocket.CloseMessage, websocket.FormatCloseMessage(c.Code, c.Text))
			}
			return
		}
		if kind != websocket.TextMessage {
			p.send(to, kind, data)
			continue
		}
		out := []string{string(data)}
		if r.alter != nil {
			out = r.alter(r, frame{p.role, up, string(data)})
		}
		for _, text := range out {
			r.mu.Lock()
			r.frames = append(r.frames, frame{p.role, up, text})
			r.mu.Unlock()
			p.send(to, kind, []byte(text))
		}
	}
}

func (p *pair) send(to *websocket.Conn, kind int, data []byte) {
	i := 0
	if to == p.far {
		i = 1
	}
	p.write[i].Lock()
	defer p.write[i].Unlock()
	to.WriteMessage(kind, data)
}

// inject sends a frame of its own to every client of a role.
func (r *relay) inject(role, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p := range r.pairs {
		if p.role == role {
			p.send(p.near, websocket.TextMessage, []byte(text))
		}
	}
}

// cut breaks the connections of a role as a network does.
func (r *relay) cut(role string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p := range r.pairs {
		if p.role == role {
			p.near.NetConn().Close()
			p.far.NetConn().Close()
		}
	}
}

// keepAway cuts the connections of a role and refuses new ones until the returned function is called.
func (r *relay) keepAway(role string) (back func()) {
	r.mu.Lock()
	r.away[role] = true
	r.mu.Unlock()
	r.cut(role)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.away[role] = false
	}
}

// seen are all frames so far.
func (r *relay) seen() []frame {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]frame(nil), r.frames...)
}

// overMemory dials a Host inside this process.
func overMemory(dial func(context.Context) (net.Conn, error)) websocket.Dialer {
	return websocket.Dialer{NetDialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}
}
