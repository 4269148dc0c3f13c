package hostclient

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"askback/protocol"
)

// handshakeTimeout is how long the Host may take to answer our hello.
const handshakeTimeout = 10 * time.Second

// connect makes a connection up to the Host's accepted, in the first dialect that both speak. The first refusal that
// names another dialect of ours is followed, once.
func (d *dialer) connect(ctx context.Context) (*link, *Error) {
	offer := d.opts.Dialects[0]
	for tries := 0; ; tries++ {
		l, other, bad := d.greet(ctx, offer)
		if bad == nil || bad.Code != CodeIncompatible || tries > 0 || other == offer || !slices.Contains(d.opts.Dialects, other) {
			return l, bad
		}
		d.log.Info("redialing in the Host's dialect", "host", d.endpoint.url, "offered", int(offer), "host_epoch", int(other))
		offer = other
	}
}

// greet dials and says hello. With CodeIncompatible it also returns the dialect that the Host named, if that alone was
// in the way.
func (d *dialer) greet(ctx context.Context, offer protocol.Dialect) (_ *link, other protocol.Dialect, bad *Error) {
	ws, conn, bad := d.dial(ctx)
	if bad != nil {
		return nil, 0, bad
	}
	defer func() {
		if bad != nil {
			conn.Close()
		}
	}()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	ws.SetReadLimit(protocol.MaxFrameBytes)
	answer, bad := d.hello(ws, offer)
	switch {
	case ctx.Err() != nil:
		return nil, 0, errorf(CodeClosed, "the connection was given up")
	case bad != nil:
		return nil, 0, bad
	}
	switch a := answer.(type) {
	case *protocol.Accepted:
		if bad := d.checkAccepted(a, offer); bad != nil {
			return nil, 0, bad
		}
		return newLink(ws, conn, HostInfo{
			RootID: a.RootID, HostEpoch: a.HostEpoch, ConnectionID: a.ConnectionID,
			Dialect: offer, CompositionRevision: a.CompositionRevision,
		}, a.State, d.log), 0, nil
	case *protocol.Incompatible:
		other, bad := d.incompatible(a, offer)
		return nil, other, bad
	case *protocol.Draining:
		return nil, 0, errorf(CodeDraining, "the Host at %s is shutting down", d.endpoint.url)
	}
	return nil, 0, violation("the Host answered our hello with something else")
}

func (d *dialer) hello(ws *websocket.Conn, offer protocol.Dialect) (protocol.HostFrame, *Error) {
	data, err := protocol.Encode(&protocol.Hello{
		ClientInstanceID:   d.opts.InstanceID,
		CompatibilityEpoch: int(offer),
		CompositionID:      protocol.CompositionID,
	}, offer)
	if err != nil {
		return nil, errorf(CodeBadEndpoint, "no hello can be made: %v", err)
	}
	until := time.Now().Add(handshakeTimeout)
	ws.SetWriteDeadline(until)
	ws.SetReadDeadline(until)
	if err := ws.WriteMessage(websocket.TextMessage, data); err != nil {
		return nil, d.unanswered(err)
	}
	kind, data, err := ws.ReadMessage()
	if err != nil {
		return nil, d.unanswered(err)
	}
	ws.SetReadDeadline(time.Time{})
	return decodeMessage(kind, data, offer)
}

func (d *dialer) unanswered(err error) *Error {
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return errorf(CodeHandshake, "the Host at %s did not answer our hello within %v", d.endpoint.url, handshakeTimeout)
	}
	if e := readEnding(err); e.Code != CodeDropped {
		return e
	}
	return errorf(CodeHandshake, "the Host at %s ended the connection without answering our hello", d.endpoint.url)
}

// checkAccepted holds the Host to what it accepted, and to the root that it had before.
func (d *dialer) checkAccepted(a *protocol.Accepted, offer protocol.Dialect) *Error {
	switch {
	case a.CompatibilityEpoch != offer:
		return violation("the Host accepted epoch %d, but %d was offered", a.CompatibilityEpoch, offer)
	case a.SelectedProtocol != 0:
		return violation("the Host selected protocol %d, but only 0 was offered", a.SelectedProtocol)
	case a.CompositionID != protocol.CompositionID:
		return violation("the Host accepted composition %.64q, but %q was offered", a.CompositionID, protocol.CompositionID)
	case a.RootID == "" || a.HostEpoch == "":
		return violation("the Host accepted without saying who it is")
	}
	return d.opts.Pins.check(d.endpoint.url, a.RootID)
}

// incompatible says what there is no agreement on, and the dialect that the Host named when that was it.
func (d *dialer) incompatible(a *protocol.Incompatible, offer protocol.Dialect) (protocol.Dialect, *Error) {
	at := d.endpoint.url
	switch {
	case a.CompositionID != protocol.CompositionID:
		return 0, errorf(CodeIncompatible, "the Host at %s is a %.64q, this client speaks to a %q", at, a.CompositionID, protocol.CompositionID)
	case a.ProtocolMin > 0 || a.ProtocolMax < 0:
		return 0, errorf(CodeIncompatible, "the Host at %s speaks protocol %d to %d, this client 0", at, a.ProtocolMin, a.ProtocolMax)
	case a.CompatibilityEpoch == int(offer):
		return 0, errorf(CodeIncompatible, "the Host at %s refuses epoch %d although it names it as its own", at, offer)
	}
	return protocol.Dialect(a.CompatibilityEpoch), errorf(CodeIncompatible,
		"the Host at %s speaks compatibility epoch %d, this client %s", at, a.CompatibilityEpoch, d.epochs())
}

// epochs is the epochs that this client offers, in words.
func (d *dialer) epochs() string {
	var all []string
	for _, e := range d.opts.Dialects {
		all = append(all, strconv.Itoa(int(e)))
	}
	return strings.Join(all, " and ")
}
