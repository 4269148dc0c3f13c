package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	bolt "go.etcd.io/bbolt"

	"askback/forms"
	"askback/host/broker"
	"askback/protocol"
)

// interaction is a form that waits for a person. It is pending from the moment its
// record is on disk until its outcome is, and it is decided behind its session's mu:
// whoever takes it out of the session's list settles it.
//
//	pending → answered  the first answer that fits
//	pending → closed    any of the ways out
//
// Settled ones live in the store alone.
type interaction struct {
	shown protocol.Interaction // never changed
	ask   broker.Ask           // who asked
	size  int                  // of its JSON
	timer Timer                // closes it when nobody answers
}

func (in *interaction) form() forms.Form { return in.shown.Request.(*protocol.FormRequest).Form }

// interactionRecord is what housekeeping reads of a stored Interaction.
type interactionRecord struct {
	InteractionID string `json:"interactionId"`
	Outcome       *struct {
		CommittedAt int64 `json:"committedAt"`
	} `json:"outcome"`
}

func (r *interactionRecord) committedAt() int64 {
	if r.Outcome == nil {
		return 0
	}
	return r.Outcome.CommittedAt
}

// eachInteraction reads what housekeeping needs of a session's Interactions. It returns the keys of those that it cannot
// read.
func eachInteraction(tx *bolt.Tx, sessionID string, fn func(*interactionRecord) error) (unreadable [][]byte, err error) {
	prefix := sessionKey(sessionID, "")
	c := tx.Bucket(bucketInteractions).Cursor()
	for k, v := c.Seek(prefix); hasPrefix(k, prefix); k, v = c.Next() {
		rec := new(interactionRecord)
		if json.Unmarshal(v, rec) != nil || rec.InteractionID != string(k[len(prefix):]) {
			unreadable = append(unreadable, bytes.Clone(k))
			continue
		}
		if err := fn(rec); err != nil {
			return nil, err
		}
	}
	return unreadable, nil
}

// Sentences of forms that are not published, with the code that surfaces show.
const (
	refusedTooMany  = "limit_exceeded: The session has too many open forms"
	refusedTooLarge = "limit_exceeded: The form does not fit beside the session's open forms"
	refusedUnstored = "The Host could not store the form"
)

// openInteraction stores a provider's form and then shows it. A form that cannot be
// published fails its call and touches nothing else.
func (s *session) openInteraction(e broker.OpenInteraction) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.host
	if s.turn == nil || s.turn.stopping != "" || s.turn.ending || s.callOf(e.Invocation) == nil {
		return // the call is being ended by whoever set that
	}
	in, data, refused := s.makeInteraction(e)
	if refused == "" {
		if err := h.store.write(func(tx *bolt.Tx) error { return putPending(tx, s.id, in.shown.InteractionID, data) }); err != nil {
			h.persistence("interaction open", err)
			refused = refusedUnstored
		}
	}
	if refused != "" {
		h.log.Warn("interaction refused", "session", s.id, "invocation", e.Invocation)
		h.gate.do(h, func(b *broker.Broker) []broker.Effect { return b.Refused(e.Ask, refused) })
		return
	}
	s.pending = append(s.pending, in)
	s.refreshView()
	in.timer = h.opt.Clock.AfterFunc(h.opt.InteractionTimeout, func() { s.interactionTimedOut(in) })
	h.gate.do(h, func(b *broker.Broker) []broker.Effect { return b.Stored(e.Ask) })
	h.log.Info("interaction pending", "session", s.id, "turn", e.Turn.ID, "interaction", in.shown.InteractionID)
	s.publishProjection()
	h.touch(s.id)
}

// makeInteraction settles what the person will see: lengths that were left open, then the
// display projection. refused says why there is none.
func (s *session) makeInteraction(e broker.OpenInteraction) (in *interaction, data []byte, refused string) {
	if len(s.pending) >= protocol.MaxPendingInteractions {
		return nil, nil, refusedTooMany
	}
	form, err := e.Form.Fit(forms.OurLimits())
	if err != nil {
		return nil, nil, "invalid_form: The form cannot be answered"
	}
	in = &interaction{ask: e.Ask, shown: protocol.Interaction{
		SchemaVersion: protocol.InteractionSchemaVersion, InteractionID: s.host.id(),
		SessionID: s.id, TurnID: e.Turn.ID, RunID: s.turn.rec.RunID,
		Request: &protocol.FormRequest{ToolUseID: e.ToolCallID, Form: form.Project()}, Revision: 1, Status: protocol.InteractionPending,
	}}
	data, err = protocol.EncodeInteraction(&in.shown)
	in.size = len(data)
	if err != nil || s.snapshotSize()+in.size+1 > protocol.MaxSnapshotBytes {
		return nil, nil, refusedTooLarge
	}
	return in, data, ""
}

func putPending(tx *bolt.Tx, sessionID, interactionID string, data []byte) error {
	key := sessionKey(sessionID, interactionID)
	if err := tx.Bucket(bucketPending).Put(key, nil); err != nil {
		return err
	}
	return tx.Bucket(bucketInteractions).Put(key, data)
}

// putSettled stores the outcome of an Interaction that was pending.
func putSettled(tx *bolt.Tx, in *protocol.Interaction) error {
	data, err := protocol.EncodeInteraction(in)
	if err != nil {
		return err
	}
	key := sessionKey(in.SessionID, in.InteractionID)
	if err := tx.Bucket(bucketPending).Delete(key); err != nil {
		return err
	}
	if out, ok := in.Outcome.(*protocol.FormOutcome); ok && len(out.Result.Values) > 0 {
		if err := tx.Bucket(bucketSettled).Put(settledKey(out.CommittedAt, in.SessionID, in.InteractionID), nil); err != nil {
			return err
		}
	}
	return tx.Bucket(bucketInteractions).Put(key, data)
}

func settled(in protocol.Interaction, status protocol.InteractionStatus, outcome protocol.InteractionOutcome) protocol.Interaction {
	in.Revision, in.Status, in.Outcome = 2, status, outcome
	return in
}

// take removes a pending Interaction from the session's list; nil when somebody else
// has settled it. mu is held.
func (s *session) take(match func(*interaction) bool) *interaction {
	i := slices.IndexFunc(s.pending, match)
	if i < 0 {
		return nil
	}
	in := s.pending[i]
	s.pending = slices.Delete(slices.Clone(s.pending), i, i+1)
	in.timer.Stop()
	return in
}

// closeInteraction closes the form of a call that ends, unless it is settled.
func (s *session) closeInteraction(ask broker.Ask, reason protocol.ClosureReason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.host.gate.closed(ask)
	if in := s.take(func(in *interaction) bool { return in.ask == ask }); in != nil {
		s.storeClosures([]*interaction{in}, reason)
	}
}

// closePending closes every form of the session, in one transaction. mu is held.
func (s *session) closePending(reason protocol.ClosureReason) {
	if len(s.pending) == 0 {
		return
	}
	all := s.pending
	s.pending = nil
	for _, in := range all {
		in.timer.Stop()
	}
	s.storeClosures(all, reason)
}

// storeClosures stores why forms that were taken out of the list are closed, and shows
// it. A closure that cannot be stored stands all the same: the next start finds the form
// pending and closes it. mu is held.
func (s *session) storeClosures(list []*interaction, reason protocol.ClosureReason) {
	h := s.host
	err := h.store.write(func(tx *bolt.Tx) error {
		for _, in := range list {
			end := h.closed(in.shown, reason)
			if err := putSettled(tx, &end); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		h.persistence("interaction close", err)
		for _, in := range list {
			s.unstored = append(s.unstored, h.closed(in.shown, reason))
		}
	}
	for _, in := range list {
		h.log.Info("interaction closed", "session", s.id, "interaction", in.shown.InteractionID, "reason", string(reason))
	}
	s.refreshView()
	s.publishProjection()
	h.touch(s.id)
}

// interactionTimedOut closes a form that nobody answered, and then fails its call.
func (s *session) interactionTimedOut(in *interaction) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.take(func(other *interaction) bool { return other == in }) == nil {
		return
	}
	s.storeClosures([]*interaction{in}, protocol.ClosedTimedOut)
	s.host.gate.do(s.host, func(b *broker.Broker) []broker.Effect { return b.Unanswered(in.ask) })
}

var errNoInteraction = refusal(protocol.CodeNotFound, "Interaction was not found")

// findInteraction returns an Interaction of the session, pending or settled; nil when
// there is none that the connection may see. mu is held.
func (s *session) findInteraction(id string, d protocol.Dialect) (*protocol.Interaction, error) {
	in, err := s.loadInteraction(id)
	if err != nil || in == nil {
		return nil, err
	}
	if in.Request.Kind() == protocol.KindForm && !d.Forms() {
		return nil, nil
	}
	return in, nil
}

func (s *session) loadInteraction(id string) (*protocol.Interaction, error) {
	if i := slices.IndexFunc(s.pending, func(in *interaction) bool { return in.shown.InteractionID == id }); i >= 0 {
		in := s.pending[i].shown
		return &in, nil
	}
	if i := slices.IndexFunc(s.unstored, func(in protocol.Interaction) bool { return in.InteractionID == id }); i >= 0 {
		in := s.unstored[i]
		return &in, nil
	}
	var in *protocol.Interaction
	err := s.host.store.read(func(tx *bolt.Tx) error {
		data := tx.Bucket(bucketInteractions).Get(sessionKey(s.id, id))
		if data == nil {
			return nil
		}
		var err error
		if in, err = protocol.DecodeInteraction(data); err != nil {
			return errUnreadable(bucketInteractions) // why may name what a person wrote
		}
		return nil
	})
	return in, err
}

// noInteraction says that a session which does not exist has no Interaction. One that cannot be read may have it.
func noInteraction(err error) error {
	if e, ok := errors.AsType[*protocol.Error](err); ok && e.Code != protocol.CodeNotFound {
		return err
	}
	return errNoInteraction
}

func (h *Host) interactionQuery(c *conn, in *protocol.InteractionQueryInput) (protocol.Result, error) {
	s, err := h.lockSession(in.SessionID)
	if err != nil {
		return nil, noInteraction(err)
	}
	defer s.mu.Unlock()
	found, err := s.findInteraction(in.InteractionID, c.dialect)
	if err != nil {
		return nil, h.unreadable("interaction.query", err)
	}
	if found == nil {
		return nil, errNoInteraction
	}
	return found, nil
}
