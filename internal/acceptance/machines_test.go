package acceptance

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"os"
	"strings"
	"time"

	"askback/hostclient"
	"askback/protocol"
)

// machines are a Host as a process of its own, a relay before it, both over TLS, and a plain view that sees what is
// canonical. Programs under test connect through the relay.
type machines struct {
	*home
	relay  *relay
	host   *daemon
	args   []string // of the Host
	listen string
	view   *hostclient.View
	token  string   // of a view
	flags  []string // by which a program reaches the Host through the relay
}

func startMachines(t T) *machines {
	m := &machines{home: newHome(t), listen: "127.0.0.1:0"}
	ca, cert, key, pair := m.authority()
	tokens := map[string]string{}
	for _, role := range []string{"client", "provider"} {
		code, out, errs := m.run("host", "token", "add", role, "--role", role, "--data", m.path("data"))
		if code != 0 {
			t.Fatalf("token add: %d %s", code, errs)
		}
		tokens[role] = strings.TrimSpace(out)
		m.write(role+".token", out)
	}
	m.args = []string{"host", "--data", m.path("data"), "--tls-cert", cert, "--tls-key", key, "--log-level", "warn"}
	m.startHost()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}})
	if err != nil {
		t.Fatal(err)
	}
	var alter func(*relay, frame) []string
	if f := t.Fault(); f != nil && f.frames != nil {
		alter = f.frames()
	}
	m.relay = startRelay(l, "wss://"+m.listen+"/runtime-host", overTLS(t, ca), map[string]string{tokens["client"]: asView, tokens["provider"]: asProvider}, alter)
	t.Cleanup(m.relay.close)
	m.flags = []string{"--host", "wss://" + l.Addr().String(), "--ca-file", ca, "--token-file", m.path("client.token")}
	m.token = tokens["client"]
	m.view = m.newView()
	t.Cleanup(func() { m.view.Close() })
	m.connected()
	m.demoConfig()
	return m
}

// startHost starts the Host; the first time it takes a free port, which it then keeps.
func (m *machines) startHost() {
	m.t.Helper()
	m.host = m.daemon(append(m.args[:len(m.args):len(m.args)], "--listen", m.listen)...)
	ready := m.host.line("the ready line", func(v map[string]any) bool { return v["ready"] == true })
	endpoint, _ := ready["endpoint"].(string)
	m.listen = strings.TrimSuffix(strings.TrimPrefix(endpoint, "wss://"), "/runtime-host")
}

// restart starts the Host again, and the plain view: the old one may not have noticed yet.
func (m *machines) restart() {
	m.t.Helper()
	m.startHost()
	m.view.Close()
	m.view = m.newView()
	m.connected()
}

// newView is a view that does not go through the relay.
func (m *machines) newView() *hostclient.View {
	return hostclient.NewView(hostclient.Options{URL: "wss://" + m.listen, CAFile: m.path("ca.pem"), Token: func() (string, error) { return m.token, nil }})
}

// connected waits until the plain view is.
func (m *machines) connected() {
	m.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		err := m.view.Ready(ctx)
		cancel()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			m.t.Fatalf("the view: %v", err)
		}
		m.view.Retry()
	}
}

// both starts the terminal with servers of its own.
func (m *machines) both(session string) *person {
	p := m.person(append([]string{"--config", m.path("demo.json"), "--provider-token-file", m.path("provider.token"), "--session", session}, m.flags...)...)
	p.see("servers 1/1", "session deploys")
	return p
}

// attach starts the terminal alone. A form that waits already covers the session.
func (m *machines) attach(session string) *person {
	p := m.person(append([]string{"attach", "--session", session}, m.flags...)...)
	if len(m.pending(session)) == 0 {
		p.see("session deploys")
	}
	return p
}

// provide starts the provider alone.
func (m *machines) provide() *daemon {
	d := m.daemon(append([]string{"provide", "--json", "--config", m.path("demo.json")},
		append(m.flags[:4:4], "--token-file", m.path("provider.token"))...)...)
	m.offered(d)
	return d
}

func (m *machines) offered(d *daemon) {
	m.t.Helper()
	d.line("an offer", func(v map[string]any) bool { n, _ := v["tools"].(float64); return v["event"] == "offered" && n > 0 })
}

func (m *machines) session() string {
	m.t.Helper()
	item, err := m.view.CreateSession(m.ctx(), protocol.SessionCreateInput{Name: "deploys"})
	if err != nil {
		m.t.Fatal(err)
	}
	return item.ID
}

func (m *machines) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	m.t.Cleanup(cancel)
	return ctx
}

// snapshot is a session as the Host has it.
func (m *machines) snapshot(session string) protocol.Snapshot {
	m.t.Helper()
	res, err := m.view.Do(m.ctx(), &protocol.SubscriptionOpenInput{SessionID: session, Transcript: protocol.TranscriptRequest{Kind: "none"}})
	if err != nil {
		m.t.Fatal(err)
	}
	open := res.(*protocol.SubscriptionOpenResult)
	if _, err := m.view.Do(m.ctx(), &protocol.SubscriptionCloseInput{SubscriptionID: open.SubscriptionID}); err != nil {
		m.t.Fatal(err)
	}
	return open.Snapshot
}

func (m *machines) pending(session string) []protocol.Interaction {
	return m.snapshot(session).Interactions.Pending
}

// asked is the one form that waits.
func (m *machines) asked(session string) protocol.Interaction {
	m.t.Helper()
	list := m.pending(session)
	if len(list) != 1 {
		m.t.Fatalf("%d forms are pending", len(list))
	}
	return list[0]
}

// outcome waits for a form's canonical end.
func (m *machines) outcome(in protocol.Interaction) protocol.InteractionOutcome {
	m.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		now, err := m.view.Interaction(m.ctx(), in.SessionID, in.InteractionID)
		if err != nil {
			m.t.Fatal(err)
		}
		if now.Outcome != nil {
			return now.Outcome
		}
		if time.Now().After(deadline) {
			m.t.Fatalf("the form stays pending")
		}
	}
}

func (m *machines) closedAs(in protocol.Interaction, reason protocol.ClosureReason) {
	m.t.Helper()
	if o, ok := m.outcome(in).(*protocol.Closure); !ok || o.Reason != reason {
		m.t.Errorf("outcome %+v, want %s", o, reason)
	}
}

func (m *machines) answered(in protocol.Interaction, action string) {
	m.t.Helper()
	if o, ok := m.outcome(in).(*protocol.FormOutcome); !ok || string(o.Result.Action) != action {
		m.t.Errorf("outcome %+v, want %s", o, action)
	}
}

// clean ends a test: so many tools/call at the server, nothing pending, no Turn under way.
func (m *machines) clean(calls int, session string) {
	m.t.Helper()
	data, err := os.ReadFile(m.path("record.jsonl"))
	if err != nil {
		m.t.Fatal(err)
	}
	got := 0
	for line := range bytes.Lines(data) {
		var msg struct{ Method string }
		if err := json.Unmarshal(line, &msg); err != nil {
			m.t.Fatal(err)
		}
		if msg.Method == "tools/call" {
			got++
		}
	}
	if got != calls {
		m.t.Errorf("the server saw %d tools/call, want %d", got, calls)
	}
	if list := m.pending(session); len(list) != 0 {
		m.t.Errorf("%d Interactions are still pending", len(list))
	}
	for deadline := time.Now().Add(patience); m.snapshot(session).RootTurn != nil && !m.snapshot(session).RootTurn.Status.Terminal(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			m.t.Fatalf("a Turn is still running")
		}
	}
}
