package hostclient_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"askback/hostclient"
	"askback/protocol"
)

// TestHalfOpen: a connection that takes everything and gives nothing is noticed within 45 s of its last sign of life,
// whenever that was.
func TestHalfOpen(t *testing.T) {
	for _, after := range []time.Duration{0, time.Second, 14 * time.Second, 15*time.Second + time.Millisecond, 29 * time.Second, 3 * time.Hour} {
		inBubble(t, fmt.Sprint("TR-08 silent after ", after), func(t *testing.T) {
			h := newScripted(t)
			v, _ := ready(t, h)
			await(t, v, state(hostclient.StateReady))
			time.Sleep(after)
			if c := v.Connection(); c.State != hostclient.StateReady {
				t.Fatalf("a quiet connection ended after %v: %v", after, c.Cause)
			}
			h.net.Silence()
			start := time.Now()
			c := await(t, v, state(hostclient.StateWaiting))
			if took := time.Since(start); c.Cause.Code != hostclient.CodeHalfOpen || took > 45*time.Second {
				t.Errorf("silent after %v: noticed after %v: %v", after, took, c.Cause)
			}
			h.accepted()
			await(t, v, state(hostclient.StateReady))
		})
	}
}

// TestASlowFrameIsLife: a large frame that takes minutes to arrive is no silence.
func TestASlowFrameIsLife(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		v := newView(t, h.options())
		p := h.next()
		p.ws.SetPingHandler(func(string) error { return nil }) // or a pong would land in the middle of the frame
		p.accept()
		frame := []byte(`{"kind":"project.catalog.changed","revision":1}`)
		raw := append([]byte{0x81, byte(len(frame))}, frame...) // one unmasked text frame
		for _, b := range raw {
			p.ws.NetConn().Write([]byte{b})
			time.Sleep(40 * time.Second)
		}
		await[hostclient.CatalogChanged](t, v, nil)
		if c := v.Connection(); c.State != hostclient.StateReady {
			t.Errorf("%+v", c)
		}
	})
}

// TestAHostThatDoesNotRead is cut off when one frame has waited 45 s, although it still talks.
func TestAHostThatDoesNotRead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		v := newView(t, h.options())
		p := h.next() // whose messages nobody reads after the first
		p.ws.ReadMessage()
		p.dialect = protocol.Dialect81
		p.send(&protocol.Accepted{RootID: rootA, HostEpoch: "e", ConnectionID: "c", CompatibilityEpoch: 81,
			CompositionID: protocol.CompositionID, CompositionRevision: "1", State: protocol.HostReady})
		await(t, v, state(hostclient.StateReady))
		stop := make(chan struct{})
		defer close(stop)
		go func() { // it talks
			for {
				select {
				case <-time.After(10 * time.Second):
					p.raw(`{"kind":"project.catalog.changed","revision":1}`)
				case <-stop:
					return
				}
			}
		}()
		text := make([]byte, protocol.MaxTextBytes)
		for i := range text {
			text[i] = 'x'
		}
		for range 40 { // more than the network holds
			go v.StartTurn(t.Context(), protocol.TurnStartInput{SessionID: "s", TurnID: hostclient.NewID(), Content: protocol.Content{Text: string(text)}})
		}
		start := time.Now()
		c := await(t, v, state(hostclient.StateWaiting))
		if took := time.Since(start); c.Cause.Code != hostclient.CodeWriteStalled || took > time.Minute {
			t.Errorf("after %v: %v", took, c.Cause)
		}
	})
}

// TestHostPings: a ping of the Host is answered, though no Host is known to send one.
func TestHostPings(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		newView(t, h.options())
		p := h.next()
		pong := make(chan string, 1)
		p.ws.SetPongHandler(func(data string) error { pong <- data; return nil })
		p.accept()
		p.ws.WriteControl(websocket.PingMessage, []byte("are you there"), time.Now().Add(time.Second))
		if got := <-pong; got != "are you there" {
			t.Errorf("pong %q", got)
		}
	})
}

// TestReconnectStorm: a Host that drops every connection, before or after it accepted it, is dialed ever more slowly;
// a connection that lasted starts over at the shortest pause.
func TestReconnectStorm(t *testing.T) {
	storm := func(t *testing.T, h *scripted, each func(*peer)) int {
		v := newView(t, h.options())
		stop := time.After(10 * time.Minute)
		for n := 0; ; n++ {
			select {
			case p := <-h.conns:
				each(p)
			case <-stop:
				v.Close()
				return n
			}
		}
	}
	bubble(t, func(t *testing.T) {
		n := storm(t, newScripted(t), func(p *peer) { p.drop() })
		if n < 15 || n > 60 {
			t.Errorf("dropped before the handshake: %d dials in 10 minutes", n)
		}
	})
	bubble(t, func(t *testing.T) {
		n := storm(t, newScripted(t), func(p *peer) { p.accept(); p.drop() })
		if n < 15 || n > 60 {
			t.Errorf("dropped after the handshake: %d dials in 10 minutes", n)
		}
	})
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		h.net.Refuse(true)
		v := newView(t, h.options())
		time.Sleep(time.Hour)
		c := v.Connection()
		if c.State == hostclient.StateReady || c.Attempt < 100 || c.Attempt > 260 || c.Cause.Code != hostclient.CodeUnreachable {
			t.Errorf("after an hour: %+v", c)
		}
		h.net.Refuse(false)
		p := h.accepted()
		time.Sleep(time.Minute)
		p.drop()
		start := time.Now()
		h.accepted()
		if took := time.Since(start); took > time.Second {
			t.Errorf("the first pause after a steady connection is %v", took)
		}
	})
}

// TestCloseWhileNothingAnswers does not wait for the network.
func TestCloseWhileNothingAnswers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		v, _ := ready(t, h)
		lost := get(v, "s")
		h.net.Silence()
		start := time.Now()
		v.Close()
		if took := time.Since(start); took > time.Second {
			t.Errorf("Close took %v", took)
		}
		if err := <-lost; hostclient.CodeOf(err) != hostclient.CodeRequestLost && hostclient.CodeOf(err) != hostclient.CodeNotConnected {
			t.Error(err)
		}
		for {
			if _, err := v.Next(t.Context()); err != nil {
				if hostclient.CodeOf(err) != hostclient.CodeClosed {
					t.Error(err)
				}
				break
			}
		}
	})
	bubble(t, func(t *testing.T) { // in the middle of a handshake
		h := newScripted(t)
		v := newView(t, h.options())
		h.next()
		start := time.Now()
		v.Close()
		if took := time.Since(start); took > time.Second {
			t.Errorf("Close took %v", took)
		}
	})
}
