package hostclient_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"askback/forms"
	"askback/hostclient"
	"askback/protocol"
)

// ready is a View that is connected to the returned peer.
func ready(t *testing.T, h *scripted) (*hostclient.View, *peer) {
	t.Helper()
	v := newView(t, h.options())
	p := h.accepted()
	if err := v.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return v, p
}

func get(v *hostclient.View, session string) <-chan error {
	done := make(chan error, 1)
	go func() {
		s, err := v.Session(context.Background(), session)
		if err == nil && s.ID != session {
			err = fmt.Errorf("got session %s, want %s", s.ID, session)
		}
		done <- err
	}()
	return done
}

func (p *peer) givesSession(id, session string) {
	p.answer(id, protocol.OpSessionCatalogQuery, &protocol.SessionCatalogQueryResult{Kind: protocol.KindSession, Session: item(session)})
}

func item(id string) *protocol.SessionItem {
	return &protocol.SessionItem{ID: id, Revision: 1, Name: id, Status: protocol.SessionActive, Labels: []string{},
		Workspace:      &protocol.Workspace{Target: protocol.WorkspaceTarget{Kind: protocol.WorkspaceProject, ProjectID: "p"}},
		PermissionMode: protocol.PermissionAsk, CollaborationMode: protocol.CollaborationAgent, OrchestrationMode: protocol.OrchestrationDefault}
}

// TestRequestsInFlight: 64 go out, the others wait for answers, ids are unique, and answers may come in any order.
func TestRequestsInFlight(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		v, p := ready(t, h)
		const total = 200
		var waits []<-chan error
		for i := range total {
			waits = append(waits, get(v, fmt.Sprint("s", i)))
		}
		type asked struct{ id, session string }
		var open []asked
		seen := map[string]bool{}
		read := func() {
			in, id := request[*protocol.SessionCatalogQueryInput](p)
			if seen[id] {
				t.Fatalf("request id %s twice", id)
			}
			seen[id] = true
			open = append(open, asked{id, in.SessionID})
		}
		for range protocol.MaxRequestsInFlight {
			read()
		}
		done := 0
		for len(open) > 0 {
			last := open[len(open)-1] // the newest first
			open = open[:len(open)-1]
			p.givesSession(last.id, last.session)
			if done++; done+len(open) < total {
				read()
			}
			if len(open) > protocol.MaxRequestsInFlight {
				t.Fatalf("%d in flight", len(open))
			}
		}
		for i, w := range waits {
			if err := <-w; err != nil {
				t.Errorf("%d: %v", i, err)
			}
		}
	})
}

// TestTheSixtyFifthWaits: nothing goes out while 64 are unanswered, also when their callers have left.
func TestTheSixtyFifthWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		v, p := ready(t, h)
		ctx, cancel := context.WithCancel(t.Context())
		for range protocol.MaxRequestsInFlight {
			go v.Session(ctx, "s")
		}
		synctest.Wait()
		last := get(v, "last")
		left := make(chan error, 1)
		go func() { _, err := v.Session(ctx, "never"); left <- err }()
		synctest.Wait()
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("a waiting request whose caller left: %v", err)
		}
		var first string
		for i := range protocol.MaxRequestsInFlight {
			if _, id := request[*protocol.SessionCatalogQueryInput](p); i == 0 {
				first = id
			}
		}
		if m, ok := p.next(5 * time.Minute); ok {
			t.Fatalf("a 65th request: %s", m.data)
		}
		p.givesSession(first, "s")
		in, id := request[*protocol.SessionCatalogQueryInput](p)
		if in.SessionID != "last" {
			t.Errorf("next in line is %s", in.SessionID)
		}
		p.givesSession(id, "last")
		if err := <-last; err != nil {
			t.Error(err)
		}
	})
}

// TestErrorCodes: each refusal keeps the connection and reaches its caller with its code.
func TestErrorCodes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		v, p := ready(t, h)
		for _, code := range []protocol.ErrorCode{
			protocol.CodeHostDraining, protocol.CodeUnauthorized, protocol.CodeOperationUnavailable, protocol.CodeNotFound,
			protocol.CodeSessionArchived, protocol.CodeSessionBusy, protocol.CodeOperationConflict, protocol.CodeCapabilityUnavailable,
			protocol.CodeInvalidRequest, protocol.CodeProjectionIncomplete, protocol.CodePersistenceFailed,
			protocol.CodeCommitOutcomeUnknown, protocol.CodeAlreadyResolved, protocol.CodeOutcomeUnknown, protocol.CodeInternalFailure,
		} {
			done := get(v, "s")
			in, id := request[*protocol.SessionCatalogQueryInput](p)
			p.refuse(id, in.Operation(), code)
			err := <-done
			if hostclient.RefusalOf(err) != code || hostclient.CodeOf(err) != "" || !strings.Contains(err.Error(), string(code)) {
				t.Errorf("%s: %v", code, err)
			}
		}
	})
}

// TestHostsWordsAreSafe: what the Host says in an error is shown in a terminal.
func TestHostsWordsAreSafe(t *testing.T) {
	const words = "no\x1b]0;title\x07\nway\u202e"
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		v, p := ready(t, h)
		done := get(v, "s")
		in, id := request[*protocol.SessionCatalogQueryInput](p)
		p.send(&protocol.Response{RequestID: id, Operation: in.Operation(), Error: &protocol.Error{Code: protocol.CodeInternalFailure, Message: words}})
		if err := <-done; err.Error() != forms.Line(err.Error()) || !strings.Contains(err.Error(), `no\x1b]0;title\x07 way\u{202e}`) {
			t.Errorf("%q", err)
		}
	})
	pins := hostclient.PinFile(filepath.Join(t.TempDir(), "hosts.json"))
	for _, root := range []string{"a" + words, "b" + words} {
		bubble(t, func(t *testing.T) {
			h := newScripted(t)
			h.root = root
			opts := h.options()
			opts.Pins = pins
			v := newView(t, opts)
			h.accepted()
			c := await(t, v, func(c hostclient.Connection) bool { return c.State != hostclient.StateConnecting })
			if changed := c.Cause != nil; changed != (root[0] == 'b') || changed && c.Cause.Message != forms.Line(c.Cause.Message) {
				t.Errorf("%q", c.Cause)
			}
		})
	}
}

// TestHostViolations: what a Host must not send ends the connection with a typed error, a close frame and no answer.
func TestHostViolations(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		code hostclient.Code
		says string
	}{
		"answer to nothing":        {`{"requestId":"zz","operation":"host.status","ok":true,"result":{"hostEpoch":"e","compositionId":"c","compositionRevision":"1","state":"ready","connections":1,"activeOperations":1,"activeResidencies":0}}`, hostclient.CodeProtocol, "not in flight"},
		"answer to another":        {`{"requestId":"r1","operation":"turn.query","ok":false,"error":{"code":"not_found","message":""}}`, hostclient.CodeProtocol, "turn.query"},
		"ok and error":             {`{"requestId":"r1","operation":"session.catalog.query","ok":true,"error":{"code":"not_found","message":""}}`, hostclient.CodeProtocol, ""},
		"unknown key in envelope":  {`{"requestId":"r1","operation":"session.catalog.query","ok":false,"error":{"code":"not_found","message":""},"x":1}`, hostclient.CodeProtocol, ""},
		"second accepted":          {`{"kind":"draining","hostEpoch":"a","compositionId":"c","compositionRevision":"1"}`, hostclient.CodeProtocol, "second answer"},
		"call to a view":           {`{"kind":"client.capability.release","invocationId":"i"}`, hostclient.CodeProtocol, "offers none"},
		"unknown capability frame": {`{"kind":"client.capability.surprise"}`, hostclient.CodeProtocol, ""},
		"extra capability key":     {`{"kind":"client.capability.admitted","invocationId":"i","x":1}`, hostclient.CodeProtocol, ""},
		"neither kind nor answer":  {`{}`, hostclient.CodeProtocol, ""},
		"deep":                     {strings.Repeat("[", 100_000), hostclient.CodeProtocol, ""},
		"not UTF-8":                {"{\"kind\":\"\xc3(\"}", hostclient.CodeProtocol, "UTF-8"},
		"oversize":                 {strings.Repeat("x", protocol.MaxFrameBytes+1), hostclient.CodeOversize, ""},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := newScripted(t)
				v, p := ready(t, h)
				done := get(v, "s")
				request[*protocol.SessionCatalogQueryInput](p)
				p.raw(c.text)
				err := <-done
				if hostclient.CodeOf(err) != hostclient.CodeRequestLost || !strings.Contains(err.Error(), c.says) {
					t.Errorf("the request in flight: %v", err)
				}
				got := await(t, v, state(hostclient.StateWaiting)).Cause
				if got.Code != c.code || !strings.Contains(got.Message, c.says) {
					t.Errorf("ended with %s %q", got.Code, got)
				}
				want := websocket.CloseProtocolError
				if name == "not UTF-8" {
					want = websocket.CloseInvalidFramePayloadData
				} else if name == "oversize" {
					want = websocket.CloseMessageTooBig
				}
				if code := p.gone(); code != want {
					t.Errorf("closed with %d, want %d", code, want)
				}
			})
		})
	}
}

// TestEndings is how the Host, or the network, can end a connection.
func TestEndings(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*scripted, *peer)
		want hostclient.Code
	}{
		"without a word": {func(h *scripted, p *peer) { p.drop() }, hostclient.CodeDropped},
		"reset":          {func(h *scripted, p *peer) { h.net.Cut() }, hostclient.CodeDropped},
		"1000":           {func(h *scripted, p *peer) { closes(1000)(p) }, hostclient.CodeClosedByHost},
		"1001":           {func(h *scripted, p *peer) { closes(1001)(p) }, hostclient.CodeClosedByHost},
		"1002":           {func(h *scripted, p *peer) { closes(1002)(p) }, hostclient.CodeClosedByHost},
		"1007":           {func(h *scripted, p *peer) { closes(1007)(p) }, hostclient.CodeNotUTF8},
		"1009":           {func(h *scripted, p *peer) { closes(1009)(p) }, hostclient.CodeTooBig},
		"4000":           {func(h *scripted, p *peer) { closes(4000)(p) }, hostclient.CodeClosedByHost},
	} {
		bubble(t, func(t *testing.T) {
			h := newScripted(t)
			v, p := ready(t, h)
			done := get(v, "s")
			request[*protocol.SessionCatalogQueryInput](p)
			c.end(h, p)
			err := <-done
			lost, ok := errors.AsType[*hostclient.Error](err)
			if !ok || lost.Code != hostclient.CodeRequestLost || lost.Cause == nil || lost.Cause.Code != c.want {
				t.Errorf("%s: %v", name, err)
			}
			if got := await(t, v, state(hostclient.StateWaiting)); got.Cause.Code != c.want || got.RetryAt.IsZero() {
				t.Errorf("%s: told %+v", name, got)
			}
			h.accepted()
			await(t, v, state(hostclient.StateReady))
		})
	}
}

// TestBroadcasts: hints are told, unknown ones and unknown keys harm nothing.
func TestBroadcasts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		v, p := ready(t, h)
		p.raw(`{"kind":"weather.changed","revision":1}`)
		p.raw(`{"kind":"scheduled-task.changed","revision":1,"reason":"fired","taskId":"t"}`)
		p.raw(`{"kind":"session.catalog.changed","revision":46,"sessionId":"s","extra":{}}`)
		p.raw(`{"kind":"configuration.changed","revision":1}`)
		for _, want := range []hostclient.CatalogChanged{{Catalog: hostclient.CatalogSessions, SessionID: "s"}, {Catalog: hostclient.CatalogConfiguration}} {
			if got := await[hostclient.CatalogChanged](t, v, nil); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		}
	})
}

// TestListings: pages are followed, and a list that changed meanwhile is started over.
func TestListings(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		v, p := ready(t, h)
		type listing struct {
			items []protocol.SessionItem
			err   error
		}
		done := make(chan listing, 1)
		go func() {
			items, err := v.Sessions(t.Context())
			done <- listing{items, err}
		}()
		cursor := "c"
		page := func(kind string, next *string, ids ...string) {
			in, id := request[*protocol.SessionCatalogQueryInput](p)
			if in.Kind != kind {
				t.Fatalf("asked %+v, want %s", in, kind)
			}
			r := &protocol.SessionCatalogQueryResult{Kind: protocol.KindPage, Revision: "rev", Sessions: []protocol.SessionItem{}, NextCursor: next}
			for _, s := range ids {
				r.Sessions = append(r.Sessions, *item(s))
			}
			p.answer(id, in.Operation(), r)
		}
		page(protocol.QueryListStart, &cursor, "a")
		in, id := request[*protocol.SessionCatalogQueryInput](p)
		if in.Cursor != cursor || in.Revision != "rev" {
			t.Errorf("continued with %+v", in)
		}
		p.answer(id, in.Operation(), &protocol.SessionCatalogQueryResult{Kind: protocol.KindRevisionChanged, ExpectedRevision: "rev", ActualRevision: "new"})
		page(protocol.QueryListStart, &cursor, "b", "c")
		page(protocol.QueryListContinue, nil, "d")
		got := <-done
		var ids []string
		for _, s := range got.items {
			ids = append(ids, s.ID)
		}
		if got.err != nil || strings.Join(ids, "") != "bcd" {
			t.Errorf("got %v, %v", ids, got.err)
		}
	})
}

// TestListingThatChanges: a listing is read whole once the list rests for long enough, and given up after a while when it
// never does.
func TestListingThatChanges(t *testing.T) {
	for name, rests := range map[string]bool{"rests": true, "never rests": false} {
		inBubble(t, name, func(t *testing.T) {
			h := newScripted(t)
			v, p := ready(t, h)
			began := time.Now()
			done := make(chan error, 1)
			go func() {
				_, err := v.Sessions(t.Context())
				done <- err
			}()
			go func() {
				cursor := "c"
				for {
					f, err := p.read()
					if err != nil {
						return
					}
					r := f.(*protocol.Request)
					switch in := r.Input.(*protocol.SessionCatalogQueryInput); {
					case in.Kind == protocol.QueryListStart:
						p.answer(r.RequestID, r.Operation, &protocol.SessionCatalogQueryResult{Kind: protocol.KindPage, Revision: "rev", Sessions: []protocol.SessionItem{*item("a")}, NextCursor: &cursor})
					case rests && time.Since(began) > 5*time.Second:
						p.answer(r.RequestID, r.Operation, &protocol.SessionCatalogQueryResult{Kind: protocol.KindPage, Revision: "rev", Sessions: []protocol.SessionItem{*item("b")}})
					default:
						p.answer(r.RequestID, r.Operation, &protocol.SessionCatalogQueryResult{Kind: protocol.KindRevisionChanged, ExpectedRevision: "rev", ActualRevision: "new"})
					}
				}
			}()
			err := <-done
			if rests != (err == nil) || !rests && !strings.Contains(err.Error(), "kept changing") {
				t.Errorf("%v", err)
			}
			if took := time.Since(began); took > 12*time.Second {
				t.Errorf("it took %v", took)
			}
			v.Close()
			p.drop()
		})
	}
}

// TestEndlessListing: a Host that gives the same page for ever does not hold the caller for ever.
func TestEndlessListing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := newScripted(t)
		v, p := ready(t, h)
		done := make(chan error, 1)
		go func() {
			_, err := v.Sessions(t.Context())
			done <- err
		}()
		cursor := "c"
		r := &protocol.SessionCatalogQueryResult{Kind: protocol.KindPage, Revision: "rev", NextCursor: &cursor}
		for range protocol.MaxCatalogItems {
			r.Sessions = append(r.Sessions, *item("s"))
		}
		for {
			select {
			case err := <-done:
				if hostclient.CodeOf(err) != hostclient.CodeProtocol || !strings.Contains(err.Error(), "sessions") {
					t.Errorf("%v", err)
				}
				return
			default:
			}
			if m, ok := p.next(time.Second); ok {
				f, err := protocol.DecodeClientFrame(m.data, protocol.Dialect81)
				if err != nil {
					t.Fatal(err)
				}
				p.answer(f.(*protocol.Request).RequestID, protocol.OpSessionCatalogQuery, r)
			}
		}
	})
}
