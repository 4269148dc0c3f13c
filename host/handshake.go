package host

import (
	"time"

	"github.com/gorilla/websocket"

	"askback/protocol"
)

// handshake reads the hello within its limit and answers it. It reports whether the
// connection was accepted; otherwise it has ended (wire protocol, 3).
func (c *conn) handshake() bool {
	h := c.host
	c.ws.SetReadDeadline(time.Now().Add(protocol.HelloTimeout))
	data, ok := c.readMessage()
	if !ok {
		return false
	}
	frame, err := protocol.DecodeClientFrame(data, 0)
	if err != nil {
		c.violation("malformed frame")
		return false
	}
	hello, ok := frame.(*protocol.Hello)
	if !ok || hello.ProtocolMin > hello.ProtocolMax {
		c.violation("the first frame is no legal hello")
		return false
	}
	c.ws.SetReadDeadline(time.Time{})
	dialect := protocol.Dialect(hello.CompatibilityEpoch)
	composition := hello.CompositionID
	if composition == "" {
		composition = protocol.CompositionID
	}
	switch {
	case h.draining():
		c.farewell(&protocol.Draining{HostEpoch: h.epoch, CompositionID: protocol.CompositionID, CompositionRevision: h.opt.CompositionRevision})
		return false
	case !dialect.Valid() || hello.ProtocolMin > 0 || composition != protocol.CompositionID:
		c.farewell(&protocol.Incompatible{
			HostEpoch: h.epoch, CompatibilityEpoch: int(protocol.Dialect81), CompositionID: protocol.CompositionID,
			CompositionRevision: h.opt.CompositionRevision, State: protocol.HostReady, Replacement: protocol.ReplacementBlocked,
		})
		return false
	}
	c.instance, c.dialect = hello.ClientInstanceID, dialect
	c.send(&protocol.Accepted{
		RootID: h.rootID, HostEpoch: h.epoch, ConnectionID: c.id, CompatibilityEpoch: dialect,
		CompositionID: protocol.CompositionID, CompositionRevision: h.opt.CompositionRevision, State: protocol.HostReady,
	}, nil)
	h.gate.connect(c)
	c.welcome.Store(true)
	c.log.Info("connection accepted", "credential", c.cred.Name, "role", string(c.cred.Role), "epoch", int(dialect))
	return c.ctx.Err() == nil
}

// farewell sends one last frame and closes normally.
func (c *conn) farewell(frame protocol.HostFrame) {
	c.send(frame, nil)
	c.out.finishSoon()
	select {
	case <-c.writer:
	case <-time.After(lingerTime):
	}
	c.closeWith(websocket.CloseNormalClosure, errIncompatible)
}
