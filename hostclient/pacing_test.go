package hostclient_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"askback/hostclient"
	"askback/internal/memnet"
	"askback/protocol"
)

// slowHost is a Host of one thread that reads up to 64 KiB at a time, finds the whole messages in it, and takes 200 µs to
// handle each: 5,000 a second. most is how many it held at once.
type slowHost struct {
	most    int
	handled int
}

// serve takes WebSocket messages apart by hand, so that no buffer of a library stands between.
func (h *slowHost) serve(c net.Conn, each func([]byte)) {
	var unread []byte
	buf := make([]byte, 64<<10)
	for {
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		unread = append(unread, buf[:n]...)
		var held [][]byte
		for {
			message, rest, ok := cutMessage(unread)
			if !ok {
				break
			}
			if unread = rest; message != nil {
				held = append(held, message)
			}
		}
		h.most = max(h.most, len(held))
		for _, message := range held {
			time.Sleep(200 * time.Microsecond)
			h.handled++
			each(message)
		}
	}
}

// cutMessage takes the first frame of a client off data. A control frame is a nil message.
func cutMessage(data []byte) (message, rest []byte, ok bool) {
	if len(data) < 2 {
		return nil, data, false
	}
	size, n := uint64(data[1]&0x7f), 2
	switch {
	case size == 126 && len(data) >= 4:
		size, n = uint64(binary.BigEndian.Uint16(data[2:])), 4
	case size == 127 && len(data) >= 10:
		size, n = binary.BigEndian.Uint64(data[2:]), 10
	case size >= 126:
		return nil, data, false
	}
	if uint64(len(data)) < uint64(n)+4+size {
		return nil, data, false
	}
	mask, body := data[n:n+4], data[n+4:n+4+int(size)]
	if data[0]&0x0f != websocket.TextMessage {
		return nil, data[n+4+int(size):], true
	}
	message = make([]byte, size)
	for i := range body {
		message[i] = body[i] ^ mask[i%4]
	}
	return message, data[n+4+int(size):], true
}

// TestPacing: whatever this client has to say, a Host that handles 5,000 messages a second never holds 64 of them.
func TestPacing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := memnet.Listen("host")
		taken := make(chan *websocket.Conn, 1)
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			up := websocket.Upgrader{}
			if ws, err := up.Upgrade(w, r, nil); err == nil {
				taken <- ws
			}
		})}
		go srv.Serve(l)
		defer srv.Close()
		calls := make(serving, 1024)
		prov := hostclient.NewProvider(hostclient.Options{URL: "ws://host", NetDial: l.DialContext,
			Token: func() (string, error) { return token, nil }}, calls)
		ws := <-taken
		defer ws.Close()
		send := func(f protocol.HostFrame) {
			data, err := protocol.Encode(f, protocol.Dialect81)
			if err != nil {
				t.Error(err)
			}
			ws.WriteMessage(websocket.TextMessage, data)
		}
		h := &slowHost{}
		requests, settled := 0, 0
		var host sync.WaitGroup
		host.Go(func() {
			h.serve(ws.NetConn(), func(data []byte) {
				f, err := protocol.DecodeClientFrame(data, protocol.Dialect81)
				if err != nil {
					t.Errorf("%v in %.100s", err, data)
					return
				}
				switch f := f.(type) {
				case *protocol.Hello:
					send(&protocol.Accepted{RootID: rootA, HostEpoch: "e", ConnectionID: "c", CompatibilityEpoch: 81,
						CompositionID: protocol.CompositionID, CompositionRevision: "1", State: protocol.HostReady})
				case *protocol.Request:
					switch in := f.Input.(type) {
					case *protocol.CapabilityReplaceInput:
						send(&protocol.Response{RequestID: f.RequestID, Operation: f.Operation, OK: true,
							Result: &protocol.CapabilityReplaceResult{RegistrationID: in.RegistrationID, Revision: 1}})
						for i := range 400 { // refused, since they name a tool that is not offered
							send(&protocol.CapabilityCall{InvocationID: fmt.Sprint("x", i), RegistrationID: in.RegistrationID, OfferID: "offer",
								ServerID: "srv", ToolName: "none", Arguments: json.RawMessage(`{}`), SessionID: "s", TurnID: "t", ToolCallID: "c"})
						}
						for i := range protocol.MaxActiveInvocations {
							send(&protocol.CapabilityCall{InvocationID: fmt.Sprint("i", i), RegistrationID: in.RegistrationID, OfferID: "offer",
								ServerID: "srv", ToolName: "one", Arguments: json.RawMessage(`{}`), SessionID: "s", TurnID: "t", ToolCallID: "c"})
						}
					case *protocol.CapabilityUnregisterInput:
						send(&protocol.Response{RequestID: f.RequestID, Operation: f.Operation, OK: true,
							Result: &protocol.CapabilityUnregisterResult{RegistrationID: in.RegistrationID, Revision: 2}})
					default:
						requests++
						send(&protocol.Response{RequestID: f.RequestID, Operation: f.Operation, OK: true, Result: &protocol.HostStatusResult{State: protocol.HostReady}})
					}
				case *protocol.CapabilityAccepted:
					send(&protocol.CapabilityAdmitted{InvocationID: f.InvocationID})
				case *protocol.CapabilityResultChunk:
					if len(f.Data) < protocol.ChunkBytes {
						settled++
						send(&protocol.CapabilityRelease{InvocationID: f.InvocationID})
					}
				case *protocol.CapabilityRejected:
					send(&protocol.CapabilityRelease{InvocationID: f.InvocationID})
				}
			})
		})
		if err := prov.Publish(t.Context(), offer("one")); err != nil {
			t.Fatal(err)
		}
		var work sync.WaitGroup
		for range 1000 {
			work.Go(func() { prov.Do(t.Context(), &protocol.HostStatusInput{}) })
		}
		for range protocol.MaxActiveInvocations {
			work.Go(func() {
				inv := <-calls
				for i := range 1000 {
					inv.Progress(float64(i), 1000)
					time.Sleep(100 * time.Microsecond)
				}
				inv.Result(text(strings.Repeat("x", 400_000)))
				<-inv.ctx.Done()
			})
		}
		work.Wait()
		prov.Close(t.Context())
		host.Wait()
		if h.most >= protocol.MaxInboundFrames {
			t.Errorf("the Host held %d messages", h.most)
		}
		if requests != 1000 || settled != protocol.MaxActiveInvocations || h.handled < 1450 {
			t.Errorf("%d requests, %d results, %d messages", requests, settled, h.handled)
		}
		t.Logf("%d messages, at most %d held", h.handled, h.most)
	})
}
