package hostclient_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"askback/hostclient"
	"askback/protocol"
)

// TestUpgradeRefusals is the client's side of the upgrade checks: each status has its code, what a person must change is
// not tried again, and the token is in no text.
func TestUpgradeRefusals(t *testing.T) {
	for status, want := range map[int]struct {
		code      hostclient.Code
		permanent bool
	}{
		401: {hostclient.CodeUnauthorized, true},
		403: {hostclient.CodeOriginRefused, true},
		404: {hostclient.CodeNotAHost, false},
		405: {hostclient.CodeNotAHost, false},
		200: {hostclient.CodeNotAHost, false},
		302: {hostclient.CodeNotAHost, false},
		429: {hostclient.CodeHostUnavailable, false},
		502: {hostclient.CodeHostUnavailable, false},
		503: {hostclient.CodeHostUnavailable, false},
	} {
		inBubble(t, fmt.Sprint("TR-12 ", status), func(t *testing.T) {
			h := newScripted(t)
			h.status = status
			opts := h.options()
			var log bytes.Buffer
			opts.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			v := newView(t, opts)
			err := v.Ready(t.Context())
			if hostclient.CodeOf(err) != want.code {
				t.Errorf("%d: %v", status, err)
			}
			time.Sleep(time.Minute)
			if again := len(h.dials) > 1; again == want.permanent {
				t.Errorf("%d: %d dials in a minute", status, len(h.dials))
			}
			v.Close()
			if err == nil || strings.Contains(err.Error(), token) || strings.Contains(log.String(), token) {
				t.Errorf("%d: the token is in %q or the log", status, err)
			}
		})
	}
}

func TestRetryAfterARefusal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		h.status = 401
		v := newView(t, h.options())
		c := await(t, v, state(hostclient.StateRefused))
		if c.Cause.Code != hostclient.CodeUnauthorized {
			t.Fatal(c.Cause)
		}
		h.status = 0
		v.Retry()
		h.accepted()
		await(t, v, state(hostclient.StateReady))
	})
}

func TestUnusableOptions(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*hostclient.Options)
		want hostclient.Code
	}{
		"address": {func(o *hostclient.Options) { o.URL = "http://host" }, hostclient.CodeBadEndpoint},
		"token":   {func(o *hostclient.Options) { o.Token = nil }, hostclient.CodeBadToken},
		"no token": {func(o *hostclient.Options) {
			o.Token = func() (string, error) { return "", errors.New("no such file") }
		}, hostclient.CodeBadToken},
		"CA":       {func(o *hostclient.Options) { o.CAFile = filepath.Join("testdata", "absent.pem") }, hostclient.CodeBadEndpoint},
		"insecure": {func(o *hostclient.Options) { o.NetDial = nil }, hostclient.CodeInsecure},
	} {
		bubble(t, func(t *testing.T) {
			h := newScripted(t)
			opts := h.options()
			c.edit(&opts)
			v := newView(t, opts)
			if err := v.Ready(t.Context()); hostclient.CodeOf(err) != c.want {
				t.Errorf("%s: %v", name, err)
			}
			if got := await(t, v, state(hostclient.StateRefused)); got.Cause.Code != c.want {
				t.Errorf("%s: told %v", name, got.Cause)
			}
			if n := len(h.dials); n != 0 {
				t.Errorf("%s: dialed %d times", name, n)
			}
		})
	}
}

// TestHandshakeRows is the client's side of every way a handshake can go.
func TestHandshakeRows(t *testing.T) {
	accepted := func(edit func(*protocol.Accepted)) func(*peer) {
		return func(p *peer) {
			a := &protocol.Accepted{RootID: rootA, HostEpoch: "e", ConnectionID: "c", CompatibilityEpoch: 81,
				CompositionID: protocol.CompositionID, CompositionRevision: "1", State: protocol.HostReady}
			edit(a)
			p.send(a)
		}
	}
	incompatible := func(edit func(*protocol.Incompatible)) func(*peer) {
		return func(p *peer) {
			a := &protocol.Incompatible{HostEpoch: "e", CompatibilityEpoch: 81, CompositionID: protocol.CompositionID,
				CompositionRevision: "1", State: protocol.HostReady, Replacement: protocol.ReplacementBlocked}
			edit(a)
			p.send(a)
			p.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(1000, ""), time.Now().Add(time.Second))
		}
	}
	for name, c := range map[string]struct {
		host func(*peer)
		want hostclient.Code
		says string
	}{
		"silence":             {func(p *peer) {}, hostclient.CodeHandshake, "10s"},
		"dropped":             {func(p *peer) { p.drop() }, hostclient.CodeHandshake, "without answering"},
		"draining":            {func(p *peer) { p.send(&protocol.Draining{HostEpoch: "e"}) }, hostclient.CodeDraining, "shutting down"},
		"other epoch":         {incompatible(func(a *protocol.Incompatible) { a.CompatibilityEpoch = 40 }), hostclient.CodeIncompatible, "epoch 40, this client 81 and 39"},
		"our epoch, refused":  {incompatible(func(a *protocol.Incompatible) {}), hostclient.CodeIncompatible, "81"},
		"other composition":   {incompatible(func(a *protocol.Incompatible) { a.CompositionID = "else" }), hostclient.CodeIncompatible, `"else"`},
		"other protocol":      {incompatible(func(a *protocol.Incompatible) { a.ProtocolMin, a.ProtocolMax = 1, 2 }), hostclient.CodeIncompatible, "1 to 2"},
		"accepts other epoch": {accepted(func(a *protocol.Accepted) { a.CompatibilityEpoch = 39 }), hostclient.CodeProtocol, "epoch 39"},
		"selects other":       {accepted(func(a *protocol.Accepted) { a.SelectedProtocol = 1 }), hostclient.CodeProtocol, "protocol 1"},
		"accepts other kind":  {accepted(func(a *protocol.Accepted) { a.CompositionID = "else" }), hostclient.CodeProtocol, "else"},
		"a frame before":      {func(p *peer) { p.send(&protocol.ProjectCatalogChanged{Revision: 1}) }, hostclient.CodeProtocol, "something else"},
		"an unknown frame":    {func(p *peer) { p.raw(`{"kind":"welcome"}`) }, hostclient.CodeProtocol, "something else"},
		"not JSON":            {func(p *peer) { p.raw("hello") }, hostclient.CodeProtocol, ""},
		"empty":               {func(p *peer) { p.raw("") }, hostclient.CodeProtocol, ""},
		"an array":            {func(p *peer) { p.raw("[]") }, hostclient.CodeProtocol, ""},
		"two objects":         {func(p *peer) { p.raw("{} {}") }, hostclient.CodeProtocol, ""},
		"a key twice": {func(p *peer) {
			p.raw(`{"kind":"draining","hostEpoch":"a","hostEpoch":"b","compositionId":"","compositionRevision":""}`)
		}, hostclient.CodeProtocol, ""},
		"unknown key": {func(p *peer) {
			p.raw(`{"kind":"accepted","rootId":"r","hostEpoch":"e","connectionId":"c","selectedProtocol":0,"compatibilityEpoch":81,"compositionId":"maka.interactive","compositionRevision":"1","state":"ready","extra":1}`)
		}, hostclient.CodeProtocol, ""},
		"binary":           {func(p *peer) { p.ws.WriteMessage(websocket.BinaryMessage, []byte("{}")) }, hostclient.CodeProtocol, "binary"},
		"not UTF-8":        {func(p *peer) { p.raw("{\"kind\":\"\xff\"}") }, hostclient.CodeProtocol, "UTF-8"},
		"too large":        {func(p *peer) { p.raw(strings.Repeat(" ", protocol.MaxFrameBytes+1)) }, hostclient.CodeOversize, ""},
		"closed with 1009": {closes(1009), hostclient.CodeTooBig, "1009"},
		"closed with 1000": {closes(1000), hostclient.CodeClosedByHost, "1000"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := newScripted(t)
				v := newView(t, h.options())
				p := h.next()
				p.dialect = protocol.Dialect81
				expect[*protocol.Hello](p)
				c.host(p)
				err := v.Ready(t.Context())
				if hostclient.CodeOf(err) != c.want || !strings.Contains(err.Error(), c.says) {
					t.Errorf("got %s %q", hostclient.CodeOf(err), err)
				}
			})
		})
	}
}

func closes(code int) func(*peer) {
	return func(p *peer) {
		p.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""), time.Now().Add(time.Second))
	}
}

func (p *peer) incompatible(epoch int) {
	p.t.Helper()
	p.send(&protocol.Incompatible{HostEpoch: p.h.epoch, CompatibilityEpoch: epoch, CompositionID: protocol.CompositionID,
		CompositionRevision: "1", State: protocol.HostReady})
	closes(1000)(p)
}

// TestDialectChoice: 81 first; a Host that names 39 is dialed once more with that, and only once.
func TestDialectChoice(t *testing.T) {
	t.Run("39", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			h := newScripted(t)
			v := newView(t, h.options())
			for _, want := range []int{81, 39} {
				p := h.next()
				hello := expect[*protocol.Hello](p)
				if hello.CompatibilityEpoch != want {
					t.Fatalf("offered %d, want %d", hello.CompatibilityEpoch, want)
				}
				if want == 81 {
					p.incompatible(39)
					continue
				}
				p.dialect = 39
				p.send(&protocol.Accepted{RootID: rootA, HostEpoch: "e", ConnectionID: "c", CompatibilityEpoch: 39,
					CompositionID: protocol.CompositionID, CompositionRevision: "3", State: protocol.HostReady})
			}
			c := await(t, v, state(hostclient.StateReady))
			if c.Host.Dialect != protocol.Dialect39 || c.Host.Forms() {
				t.Errorf("host %+v", c.Host)
			}
		})
	})
	t.Run("once", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			h := newScripted(t)
			v := newView(t, h.options())
			for _, epoch := range []int{39, 81} { // a Host that always names the other one
				p := h.next()
				expect[*protocol.Hello](p)
				p.incompatible(epoch)
			}
			if err := v.Ready(t.Context()); hostclient.CodeOf(err) != hostclient.CodeIncompatible {
				t.Error(err)
			}
			time.Sleep(time.Hour)
			if n := len(h.dials); n != 2 {
				t.Errorf("%d dials", n)
			}
		})
	})
}

// TestPolls: a Host that accepts before it is ready is asked until it is, and only then is the connection used.
func TestPolls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		v := newView(t, h.options())
		p := h.next()
		p.acceptState(protocol.HostRecovering)
		status := func(s protocol.HostState) {
			in, id := request[*protocol.HostStatusInput](p)
			p.answer(id, in.Operation(), &protocol.HostStatusResult{HostEpoch: "e", State: s})
		}
		status(protocol.HostRecovering)
		if c := await(t, v, state(hostclient.StateStarting)); c.Wait != protocol.HostRecovering {
			t.Errorf("told %+v", c)
		}
		if _, err := v.Sessions(t.Context()); hostclient.CodeOf(err) != hostclient.CodeNotConnected {
			t.Errorf("a request before ready: %v", err)
		}
		for range 20 {
			status(protocol.HostRecovering)
		}
		status(protocol.HostReady)
		await(t, v, state(hostclient.StateReady))
	})
	t.Run("host_not_ready", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			h := newScripted(t)
			v := newView(t, h.options())
			p := h.accepted()
			done := make(chan error, 1)
			go func() {
				v.Ready(t.Context())
				_, err := v.Session(t.Context(), "s")
				done <- err
			}()
			in, id := request[*protocol.SessionCatalogQueryInput](p)
			p.refuse(id, in.Operation(), protocol.CodeHostNotReady)
			st, id := request[*protocol.HostStatusInput](p)
			p.answer(id, st.Operation(), &protocol.HostStatusResult{State: protocol.HostReady})
			in, id = request[*protocol.SessionCatalogQueryInput](p)
			p.answer(id, in.Operation(), &protocol.SessionCatalogQueryResult{Kind: protocol.KindSession})
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	})
}

func TestPinnedRoot(t *testing.T) {
	pins := hostclient.PinFile(filepath.Join(t.TempDir(), "askback", "hosts.json"))
	connect := func(root string) (got *hostclient.Error) {
		bubble(t, func(t *testing.T) {
			h := newScripted(t)
			h.root = root
			opts := h.options()
			opts.Pins = pins
			v := newView(t, opts)
			h.accepted()
			c := await(t, v, func(c hostclient.Connection) bool { return c.State != hostclient.StateConnecting })
			got = c.Cause
		})
		return got
	}
	if e := connect(rootA); e != nil {
		t.Fatalf("first: %v", e)
	}
	if e := connect(rootA); e != nil {
		t.Fatalf("again: %v", e)
	}
	if e := connect(rootB); e == nil || e.Code != hostclient.CodeRootChanged || !strings.Contains(e.Message, "aaaaaaaaaaaa") || !strings.Contains(e.Message, "hosts.json") {
		t.Fatalf("another: %v", e)
	}
	if err := pins.Forget("ws://host"); err != nil {
		t.Fatal(err)
	}
	if e := connect(rootB); e != nil {
		t.Fatalf("after Forget: %v", e)
	}
}
