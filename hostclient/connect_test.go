package hostclient_test

import (
	"testing"

	"askback/hostclient"
	"askback/protocol"
)

func TestConnects(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		v := newView(t, h.options())
		p := h.accepted()
		if p.hello.CompatibilityEpoch != 81 || p.hello.ClientInstanceID != "instance" || p.hello.CompositionID != protocol.CompositionID {
			t.Errorf("hello %+v", p.hello)
		}
		if got := (<-h.dials).Get("Authorization"); got != "Bearer "+token {
			t.Errorf("Authorization %q", got)
		}
		if err := v.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		c := await(t, v, state(hostclient.StateReady))
		if c.Host.RootID != rootA || !c.Host.Forms() {
			t.Errorf("host %+v", c.Host)
		}
		go v.Close()
		if code := p.gone(); code != 1000 {
			t.Errorf("closed with %d", code)
		}
	})
}

func TestShowsASession(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		v := newView(t, h.options())
		p := h.accepted()
		shown := make(chan error, 1)
		go func() { shown <- v.Show(t.Context(), "s1", hostclient.ShowOptions{}) }()
		head := p.opens("sub-1", snapshot("s1"))
		if err := <-shown; err != nil {
			t.Fatal(err)
		}
		await[hostclient.SessionOpened](t, v, nil)
		next := snapshot("s1")
		next.ProjectionRevision = 7
		p.send(&protocol.SessionProjection{SubscriptionHeader: head, Snapshot: next})
		if e := await[hostclient.SessionChanged](t, v, nil); e.Snapshot.ProjectionRevision != 7 {
			t.Errorf("got %+v", e)
		}
	})
}
