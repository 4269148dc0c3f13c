package hostclient_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"askback/hostclient"
	"askback/protocol"
)

// TestGarbage: a Host whose frames are damaged on the way harms nothing but its connection, which ends with a typed
// error or goes on, and the next one works.
func TestGarbage(t *testing.T) {
	head := protocol.SubscriptionHeader{HostEpoch: "epoch-1", SubscriptionID: "sub-1", Sequence: 1}
	turn := &protocol.TurnSnapshot{SessionID: "s1", TurnID: "t1", RunID: "r1", Status: protocol.TurnRunning}
	full := snapshot("s1", form("i1"))
	full.RootTurn = turn
	frames := []protocol.HostFrame{
		&protocol.SessionProjection{SubscriptionHeader: head, Snapshot: full},
		&protocol.SessionDelta{SubscriptionHeader: head, SessionID: "s1", Delta: protocol.Delta{Kind: "text", TurnID: "t", RunID: "r", MessageID: "m", Text: "hé"}},
		&protocol.SessionEvent{SubscriptionHeader: head, SessionID: "s1", RunID: "r", Event: protocol.ToolEvent{Type: "tool_progress", ID: "e", TurnID: "t", ToolUseID: "u", Chunk: "steps:1/2"}},
		&protocol.TranscriptAdvanced{SubscriptionHeader: head, SessionID: "s1", ThroughSequence: 3},
		&protocol.SubscriptionClosed{SubscriptionHeader: head, Reason: protocol.ClosedSlowConsumer},
		&protocol.SessionCatalogChanged{Revision: 4, SessionID: "s1"},
		&protocol.Response{RequestID: "r1", Operation: protocol.OpHostStatus, OK: true, Result: &protocol.HostStatusResult{State: protocol.HostReady}},
		&protocol.CapabilityCall{InvocationID: "i1", RegistrationID: "reg", OfferID: "offer", ServerID: "srv", ToolName: "one", Arguments: json.RawMessage(`{"a":[1,2]}`), SessionID: "s1", TurnID: "t1", ToolCallID: "c"},
		&protocol.CapabilityAdmitted{InvocationID: "i1"},
		&protocol.InteractionResult{InvocationID: "i1", InteractionID: "q", Result: says("x")},
		&protocol.CapabilityCancel{InvocationID: "i1"},
		&protocol.CapabilityRelease{InvocationID: "i1"},
		&protocol.RegistrationRelease{RegistrationID: "reg"},
	}
	bubble(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		h := newScripted(t)
		view := newView(t, h.options())
		v := h.accepted()
		prov, _ := newProvider(t, h.options())
		p := h.accepted()
		await(t, view, state(hostclient.StateReady))
		await(t, prov, state(hostclient.StateReady))
		go view.Show(t.Context(), "s1", hostclient.ShowOptions{Rows: true})
		ended := 0
		for i := range 600 {
			data, err := protocol.Encode(frames[rng.IntN(len(frames))], protocol.Dialect81)
			if err != nil {
				t.Fatal(err)
			}
			for range rng.IntN(3) {
				switch at := rng.IntN(len(data)); rng.IntN(4) {
				case 0:
					data[at] = byte(rng.IntN(256))
				case 1:
					data = append(data[:at], data[at+1:]...)
				case 2:
					data = append(data[:at:at], data[rng.IntN(at+1):]...) // a piece twice
				case 3:
					data = data[:at+1]
				}
			}
			target, conn := v, interface{ Connection() hostclient.Connection }(view)
			if i%2 == 0 {
				target, conn = p, prov
			}
			target.raw(string(data))
			synctest.Wait()
			c := conn.Connection()
			if c.State == hostclient.StateReady {
				continue
			}
			ended++
			if c.Cause == nil || c.Cause.Code != hostclient.CodeProtocol && c.Cause.Code != hostclient.CodeInteraction {
				t.Fatalf("%.200s ended the connection with %+v", data, c)
			}
			if conn == interface{ Connection() hostclient.Connection }(view) {
				v = h.accepted()
			} else {
				p = h.accepted()
			}
			synctest.Wait()
		}
		if ended < 100 || ended > 595 {
			t.Errorf("%d connections ended", ended)
		}
	})
}
