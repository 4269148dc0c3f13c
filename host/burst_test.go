package host_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"askback/host"
	"askback/host/access"
	"askback/internal/memnet"
)

// 64 requests and one host.status in one burst are all answered, however far the Host is with the first.
func TestBurstOfRequests(t *testing.T) {
	tokens := access.Ephemeral()
	token, err := tokens.Add("burst", access.RoleClient, 0)
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(host.Options{Dir: t.TempDir(), Access: tokens})
	if err != nil {
		t.Fatal(err)
	}
	l, served := memnet.Listen("host"), make(chan error, 1)
	go func() { served <- h.Serve(l) }()
	defer func() { h.Close(); l.Close(); <-served }()
	d := websocket.Dialer{NetDialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return l.Dial(ctx) }}
	for range 20 {
		ws, _, err := d.Dial("ws://host/runtime-host", http.Header{"Authorization": {"Bearer " + token}})
		if err != nil {
			t.Fatal(err)
		}
		write := func(frame string) { ws.WriteMessage(websocket.TextMessage, []byte(frame)) }
		write(`{"kind":"hello","clientInstanceId":"burst","protocolMin":0,"protocolMax":0,"compatibilityEpoch":81,"compositionId":"maka.interactive"}`)
		ws.ReadMessage()
		for i := range 64 {
			write(fmt.Sprintf(`{"requestId":"q%d","operation":"session.catalog.query","input":{"kind":"list_start"}}`, i))
		}
		write(`{"requestId":"live","operation":"host.status","input":{}}`)
		ws.SetReadDeadline(time.Now().Add(10 * time.Second))
		for n := range 65 {
			if _, _, err := ws.ReadMessage(); err != nil {
				t.Fatalf("after %d answers: %v", n, err)
			}
		}
		ws.Close()
	}
}
