package testhost39

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"askback/internal/memnet"
	"askback/protocol"
)

// rig is a Host on an in-memory network.
type rig struct {
	t      *testing.T
	h      *Host
	l      *memnet.Listener
	served chan error
}

func newRig(t *testing.T, opt Options) *rig {
	t.Helper()
	if opt.Tokens == nil {
		opt.Tokens = map[string]Credential{"token": {Principal: "owner", Publish: true}}
	}
	r := &rig{t: t, h: New(opt), l: memnet.Listen("host"), served: make(chan error, 1)}
	go func() { r.served <- r.h.Serve(r.l) }()
	t.Cleanup(r.stop)
	return r
}

func (r *rig) stop() {
	r.h.Close()
	if err := <-r.served; err != nil {
		r.t.Error(err)
	}
	r.served <- nil // stop may be called again
}

func (r *rig) dialer() *websocket.Dialer { return &websocket.Dialer{NetDialContext: r.l.DialContext} }

// peer is a raw client that reads as it goes.
type peer struct {
	t  *testing.T
	ws *websocket.Conn
	n  int
}

func (r *rig) dial() *peer {
	r.t.Helper()
	ws, _, err := r.dialer().DialContext(r.t.Context(), "ws://host/runtime-host", http.Header{"Authorization": {"Bearer token"}})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = ws.Close() })
	return &peer{t: r.t, ws: ws}
}

func (r *rig) hello() *peer {
	r.t.Helper()
	p := r.dial()
	p.send(helloText)
	if f := p.read(); f["kind"] != "accepted" {
		r.t.Fatalf("got %v", f)
	}
	return p
}

const helloText = `{"kind":"hello","clientInstanceId":"c","protocolMin":0,"protocolMax":0,"compatibilityEpoch":39}`

func (p *peer) send(text string) {
	p.t.Helper()
	if err := p.ws.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) read() object_ {
	p.t.Helper()
	_, data, err := p.ws.ReadMessage()
	if err != nil {
		p.t.Fatal(err)
	}
	var f object_
	if err := json.Unmarshal(data, &f); err != nil {
		p.t.Fatal(err)
	}
	return f
}

// ask waits for the answer and forgets what comes before it.
func (p *peer) ask(op, input string) object_ {
	p.t.Helper()
	p.n++
	id := fmt.Sprint("r", p.n)
	p.send(fmt.Sprintf(`{"requestId":%q,"operation":%q,"input":%s}`, id, op, input))
	for {
		if f := p.read(); f["requestId"] == id {
			return f
		}
	}
}

// code is how the connection ended: 1006 without a close frame.
func (p *peer) code() int {
	for {
		_, _, err := p.ws.ReadMessage()
		if err == nil {
			continue
		}
		if e, ok := err.(*websocket.CloseError); ok {
			return e.Code
		}
		return websocket.CloseAbnormalClosure
	}
}

func TestHTTP(t *testing.T) {
	r := newRig(t, Options{AllowOrigins: []string{"http://localhost:3000"}})
	client := &http.Client{Transport: &http.Transport{DialContext: r.l.DialContext, DisableKeepAlives: true}}
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "/healthz", "ok", 200}, {"GET", "/healthz?x", "ok", 200}, {"GET", "/readyz", "ready", 200},
		{"GET", "/healthz/", "Not Found", 404}, {"GET", "/runtime-host", "Not Found", 404}, {"POST", "/healthz", "Method Not Allowed", 405},
	} {
		req, _ := http.NewRequestWithContext(t.Context(), c.method, "http://host"+c.path, nil)
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != c.status || string(body) != c.body || res.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s %s: %d %q", c.method, c.path, res.StatusCode, body)
		}
	}
	for _, c := range []struct {
		path, origin, auth string
		status             int
	}{
		{"/runtime-host", "", "Bearer token", 101}, {"/runtime-host?", "", "Bearer token", 101},
		{"/runtime-host", "http://localhost:3000", "Bearer token", 101},
		{"/wrong", "null", "", 404}, {"/runtime-host/", "", "Bearer token", 404}, {"/runtime-host?a", "", "Bearer token", 404},
		{"/runtime-host", "null", "", 403}, {"/runtime-host", "http://localhost:3000/", "Bearer token", 403},
		{"/runtime-host", "", "", 401}, {"/runtime-host", "", "bearer token", 401}, {"/runtime-host", "", "Bearer  token", 401},
		{"/runtime-host", "", "Basic token", 401}, {"/runtime-host", "", "Bearer other", 401},
	} {
		h := http.Header{}
		if c.origin != "" {
			h.Set("Origin", c.origin)
		}
		if c.auth != "" {
			h.Set("Authorization", c.auth)
		}
		ws, res, err := r.dialer().DialContext(t.Context(), "ws://host"+c.path, h)
		if res == nil {
			t.Fatal(err)
		}
		if res.StatusCode != c.status {
			t.Errorf("%+v: %d", c, res.StatusCode)
		}
		if err == nil {
			_ = ws.Close()
		} else if res.ContentLength != 0 {
			t.Errorf("%+v: a body of %d", c, res.ContentLength)
		}
	}
}

func TestMessages(t *testing.T) {
	r := newRig(t, Options{})
	pad := func(n int) string { return helloText + strings.Repeat(" ", n-len(helloText)) }
	for _, c := range []struct {
		name string
		kind int
		data string
		code int // 0: accepted
	}{
		{"newline", websocket.TextMessage, helloText + "\n", 0},
		{"exact limit", websocket.TextMessage, pad(protocol.MaxFrameBytes), 0},
		{"over the limit", websocket.TextMessage, pad(protocol.MaxFrameBytes + 1), 1009},
		{"far over the limit", websocket.TextMessage, pad(2 * protocol.MaxFrameBytes), 1009},
		{"bad UTF-8", websocket.TextMessage, helloText + "\xff", 1007},
		{"binary", websocket.BinaryMessage, helloText, 1006},
		{"empty", websocket.TextMessage, "", 1006},
		{"no JSON", websocket.TextMessage, "hello", 1006},
		{"two", websocket.TextMessage, helloText + "\n" + helloText, 1006},
		{"a request first", websocket.TextMessage, `{"requestId":"r","operation":"host.status","input":{}}`, 1006},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := r.dial()
			p.t = t
			go func() { _ = p.ws.WriteMessage(c.kind, []byte(c.data)) }()
			if c.code == 0 {
				if f := p.read(); f["kind"] != "accepted" {
					t.Errorf("got %v", f)
				}
				return
			}
			if got := p.code(); got != c.code {
				t.Errorf("ended with %d", got)
			}
		})
	}
}

func TestSilentClientIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		p := r.dial()
		start := time.Now()
		if code := p.code(); code != 1006 || time.Since(start) != protocol.HelloTimeout {
			t.Errorf("ended with %d after %v", code, time.Since(start))
		}
		_ = p.ws.Close()
		r.stop()
	})
}

func TestRecovering(t *testing.T) {
	r := newRig(t, Options{Recovering: true})
	p := r.hello()
	if f := p.ask("session.catalog.query", `{"kind":"list_start"}`); f["error"].(object_)["code"] != "host_not_ready" {
		t.Errorf("got %v", f)
	}
	if f := p.ask("host.status", "{}"); f["result"].(object_)["state"] != "recovering" {
		t.Errorf("got %v", f)
	}
	r.h.Recovered()
	if f := p.ask("session.catalog.query", `{"kind":"list_start"}`); f["ok"] != true {
		t.Errorf("got %v", f)
	}
}

func TestRevoke(t *testing.T) {
	r := newRig(t, Options{})
	p := r.hello()
	r.h.Revoke("token")
	if code := p.code(); code != 1006 {
		t.Errorf("ended with %d", code)
	}
	_, res, _ := r.dialer().DialContext(t.Context(), "ws://host/runtime-host", http.Header{"Authorization": {"Bearer token"}})
	if res == nil || res.StatusCode != 401 {
		t.Errorf("got %+v", res)
	}
}

const replaceInput = `{"registrationId":"g","offers":[{"offerId":"o","version":"1","affinity":"session","hostPathAccess":"none","label":"L","tools":[{"serverId":"s","name":"t","inputSchema":{"type":"object"}}]}]}`

// calling starts a Turn that calls the peer's tool, and returns the invocation.
func (p *peer) calling(session string) string {
	p.t.Helper()
	for op, input := range map[string]string{
		"client.capability.replace": replaceInput,
		"session.create":            `{"sessionId":"` + session + `","workspace":{"kind":"project","projectId":"project"},"modelTarget":{"kind":"default"},"permissionMode":"bypass"}`,
	} {
		if f := p.ask(op, input); f["ok"] != true {
			p.t.Fatalf("%s: %v", op, f)
		}
	}
	p.send(`{"requestId":"start","operation":"turn.start","input":{"sessionId":"` + session + `","turnId":"turn","content":{"text":"/call s/t {\"a\":1}"}}}`)
	for {
		if f := p.read(); f["kind"] == "client.capability.call" {
			return f["invocationId"].(string)
		}
	}
}

// until waits for a frame of a kind.
func (p *peer) until(kind string) object_ {
	p.t.Helper()
	for {
		if f := p.read(); f["kind"] == kind {
			return f
		}
	}
}

func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		p := r.hello()
		inv := p.calling("a")
		p.send(`{"kind":"client.capability.accepted","invocationId":"` + inv + `"}`)
		p.until("client.capability.admitted")
		drained := make(chan struct{})
		go func() { defer close(drained); r.h.Drain() }()
		synctest.Wait()
		if f := p.ask("host.status", "{}"); f["error"].(object_)["code"] != "host_draining" {
			t.Errorf("got %v", f)
		}
		if _, err := r.l.Dial(t.Context()); err == nil {
			t.Error("the listener still accepts")
		}
		start := time.Now()
		p.until("client.capability.cancel")
		if time.Since(start) != drainGrace {
			t.Errorf("cancelled after %v", time.Since(start))
		}
		p.until("client.capability.release")
		if code := p.code(); code != 1006 {
			t.Errorf("ended with %d", code)
		}
		<-drained
		_ = p.ws.Close()
		r.stop()
	})
}

// TestDeadline wants the call to end after 150 s although its provider goes on
// telling progress.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		p := r.hello()
		inv := p.calling("a")
		start := time.Now()
		p.send(`{"kind":"client.capability.accepted","invocationId":"` + inv + `"}`)
		go func() {
			for i := range 7 {
				time.Sleep(20 * time.Second)
				_ = p.ws.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, `{"kind":"client.capability.progress","invocationId":%q,"current":%d,"total":10}`, inv, i))
			}
		}()
		p.until("client.capability.cancel")
		if got := time.Since(start); got != protocol.InvocationTimeout {
			t.Errorf("cancelled after %v", got)
		}
		p.until("client.capability.release")
		_ = p.ws.Close()
		r.stop()
	})
}

func TestFlood(t *testing.T) {
	r := newRig(t, Options{})
	status := func(i int) string {
		return fmt.Sprintf(`{"requestId":"f%d","operation":"session.catalog.query","input":{"kind":"get","sessionId":"s"}}`, i)
	}
	for _, c := range []struct {
		name   string
		frames int
		drops  bool
	}{{"64", 64, false}, {"66", 66, true}} {
		t.Run(c.name, func(t *testing.T) {
			l, raw := r.l, &bytes.Buffer{}
			d := &websocket.Dialer{NetDialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := l.DialContext(ctx, network, addr)
				return &gather{Conn: conn, buf: raw}, err
			}}
			ws, _, err := d.DialContext(t.Context(), "ws://host/runtime-host", http.Header{"Authorization": {"Bearer token"}})
			if err != nil {
				t.Fatal(err)
			}
			defer ws.Close()
			p := &peer{t: t, ws: ws}
			p.send(helloText)
			p.until("accepted")
			g := ws.NetConn().(*gather)
			g.hold = true
			for i := range c.frames {
				p.send(status(i))
			}
			g.hold = false
			if _, err := g.Conn.Write(raw.Bytes()); err != nil {
				t.Fatal(err)
			}
			if c.drops {
				if code := p.code(); code != 1006 {
					t.Errorf("ended with %d", code)
				}
				return
			}
			for range c.frames {
				if f := p.read(); f["ok"] != true {
					t.Errorf("got %v", f)
				}
			}
		})
	}
}

// TestFragments: a message may come in 256 pieces, all of them at once, and not in one more.
func TestFragments(t *testing.T) {
	r := newRig(t, Options{})
	for n, drops := range map[int]bool{protocol.MaxFragments: false, protocol.MaxFragments + 1: true} {
		p := r.hello()
		const status = `{"requestId":"f","operation":"host.status","input":{}}`
		raw := append([]byte{0x01, 0x80 | byte(len(status)), 0, 0, 0, 0}, status...)
		for range n - 2 {
			raw = append(raw, 0x00, 0x80, 0, 0, 0, 0)
		}
		if _, err := p.ws.NetConn().Write(append(raw, 0x80, 0x80, 0, 0, 0, 0)); err != nil {
			t.Fatal(err)
		}
		if drops {
			if code := p.code(); code != 1006 {
				t.Errorf("%d fragments: ended with %d", n, code)
			}
		} else if f := p.read(); f["ok"] != true {
			t.Errorf("%d fragments: got %v", n, f)
		}
	}
}

// gather holds what is written until all can go at once.
type gather struct {
	net.Conn
	hold bool
	buf  *bytes.Buffer
}

func (g *gather) Write(p []byte) (int, error) {
	if g.hold {
		return g.buf.Write(p)
	}
	return g.Conn.Write(p)
}

// TestPages reads a transcript in small pages, in both directions, and wants
// every byte of every row once.
func TestPages(t *testing.T) {
	r := newRig(t, Options{})
	p := r.hello()
	p.calling("a")
	p.send(`{"requestId":"stop","operation":"client.capability.unregister","input":{"registrationId":"g"}}`)
	open := p.ask("subscription.open", `{"sessionId":"a","transcript":{"kind":"tail","maxBytes":2}}`)
	result := open["result"].(object_)
	sub, tail := result["subscriptionId"].(string), result["transcript"].(object_)
	through := int(tail["throughSequence"].(float64))
	if through < 3 {
		t.Fatalf("only %d rows", through)
	}
	for _, direction := range []string{"older", "newer"} {
		rows := map[int][]byte{}
		cursor := "null"
		for pages := 0; ; pages++ {
			if pages > 10_000 {
				t.Fatal("the pages do not end")
			}
			f := p.ask("session.transcript.page", fmt.Sprintf(`{"subscriptionId":%q,"source":"durable","direction":%q,"throughSequence":%d,"cursor":%s,"anchorSequence":null,"maxBytes":50}`, sub, direction, through, cursor))
			if f["ok"] != true {
				t.Fatalf("got %v", f)
			}
			data, _ := json.Marshal(f["result"])
			var page protocol.TranscriptPage
			if err := decodePage(data, &page); err != nil {
				t.Fatal(err)
			}
			for _, frag := range page.Fragments {
				row := rows[int(frag.Sequence)]
				if direction == "older" {
					row = append(append([]byte{}, frag.Data...), row...)
					if int(frag.ByteOffset)+len(row) != int(frag.TotalBytes) {
						t.Fatalf("row %d: offset %d and %d bytes of %d", frag.Sequence, frag.ByteOffset, len(row), frag.TotalBytes)
					}
				} else {
					if int(frag.ByteOffset) != len(row) {
						t.Fatalf("row %d: offset %d after %d bytes", frag.Sequence, frag.ByteOffset, len(row))
					}
					row = append(row, frag.Data...)
				}
				rows[int(frag.Sequence)] = row
			}
			if page.NextCursor == nil {
				break
			}
			cursor = fmt.Sprintf("%q", *page.NextCursor)
		}
		if len(rows) < through {
			t.Errorf("%s: %d rows of %d", direction, len(rows), through)
		}
		for n, row := range rows {
			if _, err := protocol.DecodeRow(row); err != nil {
				t.Errorf("%s: row %d: %v: %s", direction, n, err, row)
			}
		}
	}
}

// decodePage reads a page as a client does.
func decodePage(data []byte, page *protocol.TranscriptPage) error {
	f, err := protocol.DecodeHostFrame(fmt.Appendf(nil, `{"requestId":"r","operation":"session.transcript.page","ok":true,"result":%s}`, data), protocol.Dialect39)
	if err != nil {
		return err
	}
	*page = *f.(*protocol.Response).Result.(*protocol.TranscriptPage)
	return nil
}
