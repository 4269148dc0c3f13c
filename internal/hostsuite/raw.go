package hostsuite

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"askback/hostclient"
	"askback/protocol"
)

// rawProvider is a provider without hostclient, which never breaks a rule and so
// cannot stop in the middle of one.
type rawProvider struct {
	t        *testing.T
	ws       *websocket.Conn
	instance string
	dialect  protocol.Dialect
	requests int
	current  string
	offers   []protocol.Offer
	held     []protocol.HostFrame // capability frames that came while waiting for an answer
}

func dialRaw(t *testing.T, opts hostclient.Options) *rawProvider {
	t.Helper()
	return redialRaw(t, opts, &rawProvider{instance: "raw-" + hostclient.NewID()})
}

// redialRaw connects as an earlier provider.
func redialRaw(t *testing.T, opts hostclient.Options, earlier *rawProvider) *rawProvider {
	t.Helper()
	for _, d := range []protocol.Dialect{protocol.Dialect81, protocol.Dialect39} {
		p := &rawProvider{t: t, instance: earlier.instance, dialect: d}
		if p.connect(opts) {
			t.Cleanup(func() { _ = p.ws.Close() })
			return p
		}
	}
	t.Fatal("the Host speaks neither dialect")
	return nil
}

func (p *rawProvider) connect(opts hostclient.Options) bool {
	p.t.Helper()
	token, err := opts.Token()
	if err != nil {
		p.t.Fatal(err)
	}
	url := opts.URL
	if strings.Count(url, "/") == 2 {
		url += protocol.WebSocketPath
	}
	d := websocket.Dialer{NetDialContext: opts.NetDial, HandshakeTimeout: patience}
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	ws, _, err := d.DialContext(ctx, url, http.Header{"Authorization": {"Bearer " + token}})
	if err != nil {
		p.t.Fatalf("the raw provider does not connect: %v", err)
	}
	p.ws = ws
	p.send(&protocol.Hello{ClientInstanceID: p.instance, CompatibilityEpoch: int(p.dialect), CompositionID: protocol.CompositionID})
	if _, ok := p.read().(*protocol.Accepted); ok {
		return true
	}
	_ = ws.Close()
	return false
}

func (p *rawProvider) send(f protocol.ClientFrame) {
	p.t.Helper()
	data, err := protocol.Encode(f, p.dialect)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.ws.WriteMessage(websocket.TextMessage, data); err != nil {
		p.t.Fatalf("the raw provider cannot send: %v", err)
	}
}

func (p *rawProvider) read() protocol.HostFrame {
	p.t.Helper()
	_ = p.ws.SetReadDeadline(time.Now().Add(patience))
	_, data, err := p.ws.ReadMessage()
	if err != nil {
		p.t.Fatalf("the raw provider's connection ended: %v", err)
	}
	f, err := protocol.DecodeHostFrame(data, p.dialect)
	if err != nil {
		p.t.Fatalf("%v: %.200s", err, data)
	}
	return f
}

// next is the next frame of an invocation.
func (p *rawProvider) next() protocol.HostFrame {
	p.t.Helper()
	for {
		var f protocol.HostFrame
		if len(p.held) > 0 {
			f, p.held = p.held[0], p.held[1:]
		} else {
			f = p.read()
		}
		switch f.(type) {
		case *protocol.CapabilityCall, *protocol.CapabilityAdmitted, *protocol.CapabilityCancel, *protocol.CapabilityRelease:
			return f
		}
	}
}

func (p *rawProvider) call() *protocol.CapabilityCall {
	p.t.Helper()
	f, ok := p.next().(*protocol.CapabilityCall)
	if !ok {
		p.t.Fatalf("instead of a call came %T", f)
	}
	return f
}

// do asks and waits for the answer.
func (p *rawProvider) do(in protocol.Input) protocol.Result {
	p.t.Helper()
	p.requests++
	id := fmt.Sprint("r", p.requests)
	p.send(&protocol.Request{RequestID: id, Input: in})
	for {
		f := p.read()
		r, ok := f.(*protocol.Response)
		switch {
		case !ok:
			p.held = append(p.held, f)
		case r.RequestID != id:
			p.t.Fatalf("an answer to %q", r.RequestID)
		case !r.OK:
			p.t.Fatalf("%s: %v", in.Operation(), r.Error)
		default:
			return r.Result
		}
	}
}

func (p *rawProvider) replace(offers []protocol.Offer) {
	p.t.Helper()
	p.offers = offers
	p.current = "reg-" + hostclient.NewID()
	p.do(&protocol.CapabilityReplaceInput{RegistrationID: p.current, Offers: offers})
}

func (p *rawProvider) unregister() {
	p.t.Helper()
	p.do(&protocol.CapabilityUnregisterInput{RegistrationID: p.current})
}

// status proves that the connection lives and that the Host has read all before.
func (p *rawProvider) status() {
	p.t.Helper()
	p.do(&protocol.HostStatusInput{})
}

// dropped wants the connection to end without a close frame.
func (p *rawProvider) dropped() {
	p.t.Helper()
	_ = p.ws.SetReadDeadline(time.Now().Add(patience))
	for {
		if _, _, err := p.ws.ReadMessage(); err != nil {
			if e, ok := errors.AsType[*websocket.CloseError](err); ok && e.Code != websocket.CloseAbnormalClosure {
				p.t.Errorf("the connection ended with code %d", e.Code)
			}
			return
		}
	}
}
