package host

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"askback/host/access"
	"askback/protocol"
)

// TestChaos lets terminals and providers do everything at once for a moment, connections
// breaking under them, and then finds nothing left over: no call, no timer, no pending
// form, no open Turn, in memory or on disk.
func TestChaos(t *testing.T) {
	const sessions, providers, terminals = 4, 4, 6
	r := newRig(t, func(o *Options) {
		o.InteractionTimeout = 600 * time.Millisecond
		o.ExecutionDeadline = 400 * time.Millisecond
	})
	setup := r.connect(access.RoleClient, 81, "setup")
	for i := range sessions {
		createSession(setup, fmt.Sprint("s", i))
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for i := range providers {
		wg.Go(func() { chaoticProvider(r, i, stop) })
	}
	for i := range terminals {
		wg.Go(func() { chaoticTerminal(r, i, sessions, providers, stop) })
	}
	for began := time.Now(); time.Since(began) < 15*time.Second; {
		time.Sleep(300 * time.Millisecond)
		if missing(r.log.String()) == "" {
			break
		}
	}
	close(stop)
	wg.Wait()

	for setup.ok("host.status", frame{}).at("connections") != 1.0 {
		time.Sleep(time.Millisecond) // what the others had sent may still be worked on
	}
	// The providers are gone, so every Turn ends by itself.
	for i := range sessions {
		createSession(setup, fmt.Sprint("s", i)) // may have been removed last
		deadline := time.Now().Add(10 * time.Second)
		for {
			open := setup.ok("subscription.open", frame{"sessionId": fmt.Sprint("s", i), "transcript": frame{"kind": "none"}})
			setup.ok("subscription.close", frame{"subscriptionId": open.text("subscriptionId")})
			status, turn := open.text("snapshot.session.status"), open.at("snapshot.rootTurn")
			waiting := len(open.at("snapshot.interactions.pending").([]any)) + len(open.at("snapshot.queue.followup").([]any))
			if waiting == 0 && (turn == nil || open.text("snapshot.rootTurn.terminalEventId") != "") && status != "running" {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("session %d does not come to rest: %v", i, open)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	g := &r.h.gate
	g.mu.Lock()
	if n := g.broker.Active(); n+len(g.timers)+len(g.owners) != 0 {
		t.Errorf("%d calls, %d timers, %d owners are left", n, len(g.timers), len(g.owners))
	}
	g.mu.Unlock()
	if what := missing(r.log.String()); what != "" {
		t.Errorf("never: %s", what)
	}
	r.h.store.read(func(tx *bolt.Tx) error {
		for _, b := range [][]byte{bucketPending, bucketOpen} {
			if k, _ := tx.Bucket(b).Cursor().First(); k != nil {
				t.Errorf("%s holds %q", b, k)
			}
		}
		return nil
	})
}

// missing names something that chaos must have brought about.
func missing(log string) string {
	for _, what := range []string{"turn started", "interaction pending", "interaction answered", "interaction closed", "invocation ended"} {
		if strings.Count(log, `"`+what+`"`) < 3 {
			return what
		}
	}
	return ""
}

func createSession(p *peer, id string) {
	p.ok("session.create", frame{"sessionId": id, "workspace": frame{"kind": "project", "projectId": "default"}, "modelTarget": frame{"kind": "default"}})
}

func ended(stop chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

// chaoticProvider serves calls carelessly, again and again on new connections.
func chaoticProvider(r *rig, i int, stop chan struct{}) {
	name := fmt.Sprint("srv", i)
	for n := 0; !ended(stop); n++ {
		p := r.connect(access.RoleProvider, 81, name)
		p.ask("client.capability.replace", frame{"registrationId": fmt.Sprint(name, "-", n), "offers": []frame{{
			"offerId": "offer", "version": "1", "affinity": "session", "hostPathAccess": "none", "label": "L",
			"tools": []frame{{"serverId": name, "name": "tool", "inputSchema": frame{"type": "object"}}}}}})
		lifetime := time.AfterFunc(time.Duration(rand.IntN(500))*time.Millisecond, func() { p.raw.Close() })
		for asks := 0; !ended(stop); {
			f, err := p.tryRead()
			if err != nil {
				break
			}
			var out []frame
			id := f["invocationId"]
			failed := frame{"kind": "client.capability.failed", "invocationId": id, "message": "no"}
			result := frame{"kind": "client.capability.result", "invocationId": id, "result": frame{"content": []frame{}}}
			form := frame{"kind": "client.capability.interaction_request", "invocationId": id, "interactionId": fmt.Sprint("n", asks), "request": colour()}
			asks++
			switch f.text("kind") {
			case "client.capability.call":
				out = []frame{{"kind": "client.capability.accepted", "invocationId": id, "admissionEvidence": frame{"kind": "none"}}}
			case "client.capability.admitted":
				out = [][]frame{{form}, {form}, {form, failed}, {form, result}, {form, form}, {}}[rand.IntN(6)]
			case "client.capability.interaction_result":
				out = [][]frame{{result}, {form}, {failed}}[rand.IntN(3)]
			}
			for _, o := range out {
				p.ws.WriteJSON(o)
			}
		}
		lifetime.Stop()
		p.raw.Close()
	}
}

// chaoticTerminal starts, answers, stops and removes, on connections that break.
func chaoticTerminal(r *rig, i, sessions, providers int, stop chan struct{}) {
	for !ended(stop) {
		p := r.connect(access.RoleClient, 81, fmt.Sprint("t", i))
		time.AfterFunc(time.Duration(rand.IntN(800))*time.Millisecond, func() { p.raw.Close() })
		frames := make(chan frame, 1000)
		go func() {
			defer close(frames)
			for {
				f, err := p.tryRead()
				if err != nil {
					return
				}
				frames <- f
			}
		}()
		for n := range sessions {
			p.try("subscription.open", frame{"sessionId": fmt.Sprint("s", n), "transcript": frame{"kind": "tail", "maxBytes": 4000}})
		}
		for open := true; open; {
			select {
			case f, ok := <-frames:
				p.react(f)
				open = ok
			case <-time.After(4 * time.Millisecond):
				p.disturb(r, sessions, providers)
			}
		}
		p.raw.Close()
	}
}

// disturb does one thing that a terminal may do.
func (p *peer) disturb(r *rig, sessions, providers int) {
	session := fmt.Sprint("s", rand.IntN(sessions))
	call := fmt.Sprintf("/call srv%d/tool\n/call srv%d/tool", rand.IntN(providers), rand.IntN(providers))
	switch rand.IntN(30) {
	case 0:
		p.try("session.create", frame{"sessionId": session, "workspace": frame{"kind": "project", "projectId": "default"}, "modelTarget": frame{"kind": "default"}})
	case 1:
		p.try("turn.message.submit", frame{"originHostEpoch": r.h.Epoch(), "sessionId": session, "messageId": newID(),
			"content": frame{"text": call}, "placement": "next_turn"})
	default:
		p.try("turn.start", frame{"sessionId": session, "turnId": newID(), "content": frame{"text": call}})
	}
}

// try sends a request and reports whether the connection took it.
func (p *peer) try(op string, input frame) bool {
	p.next++
	return p.ws.WriteJSON(frame{"requestId": fmt.Sprint("q", p.next), "operation": op, "input": input}) == nil
}

// react answers every pending form that a frame shows, and now and then stops the Turn or
// removes a session that rests.
func (p *peer) react(f frame) {
	session := f.text("snapshot.session.sessionId")
	list, _ := f.at("snapshot.interactions.pending").([]any)
	for _, v := range list {
		p.try("interaction.answer", frame{"sessionId": session, "interactionId": frame(v.(map[string]any)).text("interactionId"),
			"answer": accepting(fmt.Sprint("v", rand.IntN(2)))})
	}
	if f.text("snapshot.rootTurn.terminalEventId") != "" && rand.IntN(4) == 0 {
		p.try("session.remove", frame{"sessionId": session, "expectedRevision": f.at("snapshot.session.metadataRevision")})
		p.try("session.create", frame{"sessionId": session, "workspace": frame{"kind": "project", "projectId": "default"}, "modelTarget": frame{"kind": "default"}})
		p.try("subscription.open", frame{"sessionId": session, "transcript": frame{"kind": "none"}})
	}
	if f.text("snapshot.rootTurn.status") == string(protocol.TurnRunning) && rand.IntN(12) == 0 {
		p.try("turn.stop", frame{"sessionId": session, "turnId": f.text("snapshot.rootTurn.turnId"), "runId": f.text("snapshot.rootTurn.runId")})
	}
}
