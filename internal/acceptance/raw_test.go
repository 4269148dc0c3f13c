package acceptance

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

// rawProvider is a provider made of frames, which can do what ours never does.
type rawProvider struct {
	t      T
	ws     *websocket.Conn
	frames chan map[string]any // all but responses; closed with the connection
	early  []map[string]any    // frames that came while another was awaited
	n      int

	registration string // the latest
}

// rawProvide connects a hand-made provider that offers hand/ask, and waits until the Host holds it.
func (r *rig) rawProvide(instance string) *rawProvider {
	r.t.Helper()
	d := websocket.Dialer{NetDialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return r.dial(ctx) }}
	ws, _, err := d.Dial("ws://host/runtime-host", http.Header{"Authorization": {"Bearer " + r.provider}})
	if err != nil {
		r.t.Fatal(err)
	}
	p := &rawProvider{t: r.t, ws: ws, frames: make(chan map[string]any, 256)}
	responses := make(chan map[string]any, 16)
	go func() { // ends with the connection
		defer close(p.frames)
		for {
			_, data, err := ws.ReadMessage()
			if err != nil {
				return
			}
			var f map[string]any
			json.Unmarshal(data, &f)
			if f["kind"] == nil || f["kind"] == "accepted" {
				responses <- f
			} else {
				p.frames <- f
			}
		}
	}()
	r.t.Cleanup(p.hangUp)
	p.send(`{"kind":"hello","clientInstanceId":%q,"protocolMin":0,"protocolMax":0,"compatibilityEpoch":81,"compositionId":"maka.interactive"}`, instance)
	<-responses
	p.publish("hand")
	select {
	case f := <-responses:
		if f["ok"] != true {
			r.t.Fatalf("replace: %v", f)
		}
	case <-time.After(patience):
		r.t.Fatal("no answer to replace")
	}
	return p
}

func (p *rawProvider) publish(server string) {
	p.n++
	p.registration = fmt.Sprintf("hand-%d-%d", p.n, time.Now().UnixNano())
	p.send(`{"requestId":"p%d","operation":"client.capability.replace","input":{"registrationId":%q,"offers":[{"offerId":%q,"version":"1","affinity":"session","hostPathAccess":"none","label":"by hand","tools":[{"serverId":%q,"name":"ask","inputSchema":{"type":"object"}}]}]}}`,
		p.n, p.registration, server, server)
}

func (p *rawProvider) send(format string, args ...any) {
	p.t.Helper()
	if err := p.ws.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, format, args...)); err != nil {
		p.t.Logf("send: %v", err)
	}
}

// expect waits for a frame of a kind, and returns its invocation.
func (p *rawProvider) expect(kind string) string {
	p.t.Helper()
	is := func(f map[string]any) bool { return f["kind"] == "client.capability."+kind }
	invocation := func(f map[string]any) string {
		id, _ := f["invocationId"].(string)
		return id
	}
	if i := slices.IndexFunc(p.early, is); i >= 0 {
		f := p.early[i]
		p.early = slices.Delete(p.early, i, i+1)
		return invocation(f)
	}
	for {
		select {
		case f, ok := <-p.frames:
			if !ok {
				p.t.Fatalf("the connection ended while waiting for %s", kind)
			}
			if is(f) {
				return invocation(f)
			}
			p.early = append(p.early, f)
		case <-time.After(patience):
			p.t.Fatalf("no %s", kind)
		}
	}
}

// take accepts the next call and returns its invocation once it may run.
func (p *rawProvider) take() string {
	p.t.Helper()
	id := p.expect("call")
	p.send(`{"kind":"client.capability.accepted","invocationId":%q,"admissionEvidence":{"kind":"none"}}`, id)
	p.expect("admitted")
	return id
}

const emptyForm = `{"message":"By hand","requester":{"name":"ask"},"fields":[]}`

func (p *rawProvider) request(invocation, interaction, form string) {
	p.t.Helper()
	p.send(`{"kind":"client.capability.interaction_request","invocationId":%q,"interactionId":%q,"request":%s}`, invocation, interaction, form)
}

func (p *rawProvider) progress(invocation string, n int) {
	p.t.Helper()
	p.send(`{"kind":"client.capability.progress","invocationId":%q,"current":%d,"total":9}`, invocation, n)
}

func (p *rawProvider) result(invocation string) {
	p.t.Helper()
	p.send(`{"kind":"client.capability.result","invocationId":%q,"result":{"content":[]}}`, invocation)
}

// ask takes the next call as far as a pending form, and returns the invocation.
func (p *rawProvider) ask() string {
	p.t.Helper()
	id := p.take()
	p.request(id, "mine", emptyForm)
	return id
}

// quiet wants that no answer was handed over until the connection ends or a moment has passed.
func (p *rawProvider) quiet() {
	p.t.Helper()
	for _, f := range p.early {
		if strings.HasSuffix(fmt.Sprint(f["kind"]), "interaction_result") {
			p.t.Errorf("an answer was handed over: %v", f)
		}
	}
	for {
		select {
		case f, ok := <-p.frames:
			if !ok {
				return
			}
			if strings.HasSuffix(fmt.Sprint(f["kind"]), "interaction_result") {
				p.t.Errorf("an answer was handed over: %v", f)
			}
		case <-time.After(30 * time.Millisecond):
			return
		}
	}
}

func (p *rawProvider) hangUp() {
	p.ws.Close()
	for range p.frames {
	}
}
