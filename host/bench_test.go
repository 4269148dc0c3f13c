package host

import (
	"fmt"
	"testing"

	"askback/host/access"
	"askback/protocol"
)

// BenchmarkForm is one call with one form, from turn.start to the end of the Turn: four
// commits to disk.
func BenchmarkForm(b *testing.B) {
	r := newRig(b, func(o *Options) { o.Logger = nil })
	view := r.connect(access.RoleClient, 81, "x")
	provider := r.connect(access.RoleProvider, 81, "x")
	provider.publish("srv", "tool")
	session := view.newSession("ask")
	view.ok("subscription.open", frame{"sessionId": session, "transcript": frame{"kind": "none"}})
	for b.Loop() {
		turn, _ := view.start(session, "/call srv/tool")
		call := provider.accept()
		provider.tell("interaction_request", call, frame{"interactionId": "n", "request": colour()})
		form := view.pending(1)[0]
		view.ok("interaction.answer", frame{"sessionId": session, "interactionId": form.text("interactionId"), "answer": accepting("red")})
		provider.kind("client.capability.interaction_result")
		provider.tell("result", call, frame{"result": frame{"content": []frame{}}})
		view.terminal(turn)
		view.queued, provider.queued = nil, nil
	}
}

// BenchmarkCatalogPage lists the first page of ten thousand sessions, after a change
// (which sorts) and without one.
func BenchmarkCatalogPage(b *testing.B) {
	h := &Host{epoch: "e"}
	h.opt.setDefaults()
	h.catalog.sessions = map[string]*session{}
	for i := range 10_000 {
		id := fmt.Sprint("session-", i)
		h.catalog.sessions[id] = h.newSession(id, &sessionRecord{Revision: 1, LastUsedAt: int64(i * 7919 % 10_000), Name: id, Status: protocol.SessionActive})
	}
	for _, changed := range []bool{true, false} {
		b.Run(fmt.Sprint("changed=", changed), func(b *testing.B) {
			for b.Loop() {
				if changed {
					h.catalog.changed()
				}
				list, rev := h.catalog.list()
				h.catalogPage(list, rev, 0)
			}
		})
	}
}

// BenchmarkProjection shows a session with eight open forms to fifty watchers.
func BenchmarkProjection(b *testing.B) {
	h := &Host{epoch: "e"}
	h.opt.setDefaults()
	s := h.newSession("s", &sessionRecord{Revision: 1})
	s.subs = map[*subscription]struct{}{}
	for i := range 50 {
		c := &conn{host: h, out: newOutbox(), dialect: protocol.Dialect81}
		s.subs[&subscription{id: fmt.Sprint(i), session: s, conn: c, queue: subQueue{next: 1}}] = struct{}{}
	}
	for range 8 {
		s.pending = append(s.pending, &interaction{size: 2000, shown: protocol.Interaction{InteractionID: h.id(), Request: &protocol.FormRequest{}}})
	}
	for b.Loop() {
		s.publishProjection()
		for sub := range s.subs {
			sub.conn.out.take()
		}
	}
}
