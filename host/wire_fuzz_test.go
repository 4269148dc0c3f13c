package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"askback/host"
	"askback/host/access"
	"askback/internal/memnet"
	"askback/protocol"
)

// FuzzWireClientFrame sends one message of any bytes on a live, accepted connection. What does not decode ends that
// connection without a word; what decodes gets its answer if it is a request; and in either case the Host goes on.
func FuzzWireClientFrame(f *testing.F) {
	seedFrames(f)
	store := access.Ephemeral()
	token, err := store.Add("both", access.RoleBoth, 0)
	if err != nil {
		f.Fatal(err)
	}
	h, err := host.Open(host.Options{Dir: f.TempDir(), Access: store, WorkDir: "/srv/project", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Fatal(err)
	}
	l := memnet.Listen("host")
	served := make(chan error, 1)
	go func() { served <- h.Serve(l) }()
	f.Cleanup(func() {
		h.Close()
		<-served
	})
	dial := func(t *testing.T, epoch protocol.Dialect) *websocket.Conn {
		d := websocket.Dialer{NetDialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return l.Dial(ctx) }}
		ws, _, err := d.Dial("ws://host/runtime-host", http.Header{"Authorization": {"Bearer " + token}})
		if err != nil {
			t.Fatal(err)
		}
		ws.SetReadDeadline(time.Now().Add(20 * time.Second))
		b, _ := json.Marshal(hello("fuzz", int(epoch)))
		ws.WriteMessage(websocket.TextMessage, b)
		if _, data, err := ws.ReadMessage(); err != nil || !strings.Contains(string(data), `"accepted"`) {
			t.Fatalf("hello: %s %v", data, err)
		}
		return ws
	}
	f.Fuzz(func(t *testing.T, data []byte, old bool) {
		epoch := protocol.Dialect81
		if old {
			epoch = protocol.Dialect39
		}
		ws := dial(t, epoch)
		defer ws.Close()
		frame, malformed := protocol.DecodeClientFrame(data, epoch)
		ws.WriteMessage(websocket.TextMessage, data)
		ws.WriteMessage(websocket.TextMessage, []byte(`{"requestId":"after","operation":"host.status","input":{}}`))
		answered, alive := awaitAfter(t, ws, frame, epoch)
		request, isRequest := frame.(*protocol.Request)
		switch {
		case malformed != nil && (alive || answered):
			t.Fatalf("malformed (%v), yet answered %v, alive %v", malformed, answered, alive)
		case malformed == nil && isRequest && request.RequestID != "after" && !answered && alive:
			t.Fatalf("%s was not answered", request.Operation)
		}
		watcher := dial(t, epoch)
		defer watcher.Close()
		watcher.WriteMessage(websocket.TextMessage, []byte(`{"requestId":"after","operation":"host.status","input":{}}`))
		if _, alive := awaitAfter(t, watcher, nil, epoch); !alive {
			t.Fatal("another connection is not served any more")
		}
	})
}

// awaitAfter reads until the request "after" and the one that was sent are answered, in either order, or the connection
// ends. Every frame must be one that a client of that dialect can read.
func awaitAfter(t *testing.T, ws *websocket.Conn, sent protocol.ClientFrame, epoch protocol.Dialect) (answered, alive bool) {
	t.Helper()
	request, _ := sent.(*protocol.Request)
	for after := false; !after || (request != nil && !answered); {
		_, data, err := ws.ReadMessage()
		if ne, ok := err.(net.Error); ok && ne.Timeout() {
			t.Fatal("neither answered nor ended")
		}
		if err != nil {
			return answered, false
		}
		frame, err := protocol.DecodeHostFrame(data, epoch)
		if err != nil {
			t.Fatalf("the Host sent what does not decode: %v\n%s", err, data)
		}
		r, ok := frame.(*protocol.Response)
		if !ok {
			continue
		}
		if request != nil && r.RequestID == request.RequestID {
			answered = true
		}
		after = after || r.RequestID == "after" && r.Operation == protocol.OpHostStatus
	}
	return answered, true
}

// seedFrames adds the vectors, one recorded frame of each sort, and a form's frames.
func seedFrames(f *testing.F) {
	f.Helper()
	add := func(text string) { f.Add([]byte(text), false); f.Add([]byte(text), true) }
	seen := map[string]bool{}
	files, _ := filepath.Glob("../testdata/transcripts/*.jsonl")
	for _, name := range append(files, "../testdata/vectors/wire.jsonl") {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			var r struct {
				Dir, Raw string
				Frame    json.RawMessage
			}
			json.Unmarshal([]byte(line), &r)
			var o obj
			json.Unmarshal(r.Frame, &o)
			sort := fmt.Sprint(filepath.Base(name) == "wire.jsonl", o["kind"], o["operation"], text(o, "input", "kind"), text(o, "input", "answer", "kind"))
			if r.Dir != "c2h" || len(r.Frame)+len(r.Raw) == 0 || len(r.Frame) > 4096 || seen[sort] {
				continue
			}
			seen[sort] = true
			add(string(r.Frame) + r.Raw)
		}
	}
	add("")
	add("[]")
	add(`{"requestId":"a","operation":"turn.start","input":{"sessionId":"s","turnId":"t","content":{"text":"/call a/b {}"}}}`)
}
