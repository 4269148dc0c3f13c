package host

import (
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"askback/protocol"
)

// TestLastWordsOfAProvider: a result counts that was sent before the connection ended, also when the Host finds out by
// writing to it while the result waits to be worked on.
func TestLastWordsOfAProvider(t *testing.T) {
	s := newScene(t, nil)
	s.begin()
	c := s.h.connectionOf(t, s.provider)
	read := make(chan struct{}, 1)
	s.provider.ws.SetPongHandler(func(string) error { read <- struct{}{}; return nil })
	s.h.gate.mu.Lock() // holds up what the provider says
	s.provider.tell("progress", s.call, frame{"current": 1, "total": 2})
	s.provider.tell("result", s.call, frame{"result": frame{"content": []frame{}}})
	s.provider.ws.WriteControl(websocket.PingMessage, nil, time.Time{})
	go s.provider.ended()
	<-read
	s.provider.raw.Close()
	c.send(&protocol.RegistrationRelease{RegistrationID: "r"}, nil)
	<-c.writer
	s.h.gate.mu.Unlock()
	s.view.terminal(s.turn)
	if row := s.result(); *row.IsError {
		t.Errorf("the call came to %s", row.Raw)
	}
}

// connectionOf is the Host's end of a peer.
func (h *Host) connectionOf(t *testing.T, p *peer) *conn {
	for _, c := range h.connections() {
		if c.ws.RemoteAddr().String() == p.raw.LocalAddr().String() {
			return c
		}
	}
	t.Fatal("no such connection")
	return nil
}
