package host

import (
	"context"
	"encoding/json"
	"errors"

	bolt "go.etcd.io/bbolt"

	"askback/host/broker"
	"askback/protocol"
)

// turnRecord is a Turn as it is stored: running, then one of the three ends. It is never
// changed in place.
type turnRecord struct {
	TurnID          string              `json:"turnId"`
	RunID           string              `json:"runId"`
	Content         string              `json:"content"` // digest, to tell a repeat
	Status          protocol.TurnStatus `json:"status"`
	StartedAt       int64               `json:"startedAt"`
	EndedAt         int64               `json:"endedAt,omitempty"`
	TerminalEventID string              `json:"terminalEventId,omitempty"`
	FailureClass    string              `json:"failureClass,omitempty"`
	FailureMessage  string              `json:"failureMessage,omitempty"`
	AbortSource     string              `json:"abortSource,omitempty"`
}

func (r *turnRecord) snapshot(sessionID string) protocol.TurnSnapshot {
	return protocol.TurnSnapshot{
		SessionID: sessionID, TurnID: r.TurnID, RunID: r.RunID, Status: r.Status, TerminalEventID: r.TerminalEventID,
		FailureClass: r.FailureClass, FailureMessage: r.FailureMessage, AbortSource: r.AbortSource,
	}
}

// turn is the newest Turn of a session. Its states, behind the session's mu:
//
//	running   → stopping  turn.stop, or the Host drains: forms closed, calls cancelled
//	running   → ending    the executor returned: nothing new may start
//	stopping  → ending    the same
//	ending    → terminal  every call has settled and the end is stored
type turn struct {
	rec      *turnRecord
	run      *Run
	cancel   context.CancelCauseFunc
	stopping string        // abort source, once it is being stopped
	ending   bool          // no call or form may start any more
	unstored bool          // its end is not on disk; what starts next in the session stores it
	drained  bool          // the Host closed a form of it to drain: it ends as cancelled, whatever is left of it
	done     chan struct{} // closed when it is terminal
}

func (t *turn) live() bool { return !t.rec.Status.Terminal() }

// Why a Turn's context ended.
var (
	errTurnStopped = errors.New("the Turn was stopped")
	errTurnOver    = errors.New("the Turn is over")
)

func contentDigest(c protocol.Content) string {
	data, _ := json.Marshal(c)
	return digest(data)
}

func (h *Host) turnStart(c *conn, in *protocol.TurnStartInput) (protocol.Result, error) {
	if len(in.SkillIDs) > 0 {
		return nil, refusal(protocol.CodeInvalidRequest, "This Host has no skills")
	}
	s, err := h.lockSession(in.SessionID)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	rec, err := s.findTurn(in.TurnID)
	if err != nil {
		return nil, h.unreadable("turn.start", err)
	}
	if rec != nil {
		if rec.Content != contentDigest(in.Content) {
			return nil, refusal(protocol.CodeOperationConflict, "Turn identity was already admitted with a different payload")
		}
		return started(s.showTurn(rec)), nil
	}
	if s.turn != nil && s.turn.live() {
		return nil, refusal(protocol.CodeSessionBusy, "Session already has an active or pending root Turn")
	}
	if err := s.startTurn(in.TurnID, in.Content, c.initiator(), false); err != nil {
		return nil, err
	}
	return started(s.turnSnapshot()), nil
}

func started(t protocol.TurnSnapshot) *protocol.TurnStartResult {
	return &protocol.TurnStartResult{Kind: protocol.KindStarted, Turn: &t, SkillInvocation: &protocol.SkillInvocation{
		Loaded: []json.RawMessage{}, Failed: []json.RawMessage{}, Receipts: []json.RawMessage{},
	}}
}

func (c *conn) initiator() broker.Initiator {
	return broker.Initiator{Principal: c.cred.ID, Instance: c.instance}
}

// findTurn returns the record of a Turn of the session, nil when there is none. mu is held.
func (s *session) findTurn(id string) (*turnRecord, error) {
	if s.turn != nil && s.turn.rec.TurnID == id {
		return s.turn.rec, nil
	}
	rec := new(turnRecord)
	found := false
	err := s.host.store.read(func(tx *bolt.Tx) error {
		var err error
		found, err = getJSON(tx, bucketTurns, sessionKey(s.id, id), rec)
		return err
	})
	if err != nil || !found {
		return nil, err
	}
	return rec, nil
}

// showTurn shows a record, with what is live of it if it is the newest.
func (s *session) showTurn(rec *turnRecord) protocol.TurnSnapshot {
	if s.turn != nil && s.turn.rec == rec {
		return s.turnSnapshot()
	}
	return rec.snapshot(s.id)
}

// startTurn admits a Turn: it binds what may be called, stores the Turn with its first
// rows, shows it, and lets the executor run. With must, a Turn that cannot be bound is
// admitted and fails, for a message that was accepted earlier. mu is held.
func (s *session) startTurn(id string, content protocol.Content, by broker.Initiator, must bool) error {
	h := s.host
	if !h.turnBegins() {
		return refusal(protocol.CodeHostDraining, "Runtime Host is draining")
	}
	rec := &turnRecord{TurnID: id, RunID: h.id(), Content: contentDigest(content), Status: protocol.TurnRunning, StartedAt: h.now()}
	name := broker.Turn{Session: s.id, ID: id}
	conflict := h.gate.bindTurn(name, rec.RunID, by)
	if conflict != nil && !must {
		h.turnEnds()
		return conflict
	}
	next := *s.rec
	next.Revision++
	next.LastUsedAt, next.StatusUpdatedAt = rec.StartedAt, rec.StartedAt
	next.Status, next.RootTurn = protocol.SessionRunning, id
	rows := []row{
		newRow(userRow{rowHead: h.head(protocol.RowUser, id), Text: content.Text, DisplayText: content.DisplayText}),
		newRow(turnStateRow{rowHead: h.head(protocol.RowTurnState, id), Status: string(protocol.TurnRunning)}),
	}
	first := next.Rows
	next.Rows += int64(len(rows))
	ctx, cancel := context.WithCancelCause(context.Background())
	t := &turn{rec: rec, cancel: cancel, done: make(chan struct{})}
	t.run = &Run{session: s, turn: t, turnID: id, runID: rec.RunID, text: content.Text, calls: map[string]*Call{}, refused: conflict}
	before := s.turn
	s.turn = t
	err := s.commit(&next, func(tx *bolt.Tx) error {
		if err := appendRows(tx, s.id, first, rows); err != nil {
			return err
		}
		if err := tx.Bucket(bucketOpen).Put([]byte(s.id), []byte(id)); err != nil {
			return err
		}
		if before != nil && before.unstored { // no later start would find it open
			if err := putJSON(tx, bucketTurns, sessionKey(s.id, before.rec.TurnID), before.rec); err != nil {
				return err
			}
		}
		return putJSON(tx, bucketTurns, sessionKey(s.id, id), rec)
	})
	if err != nil {
		s.turn = before
		s.refreshView()
		cancel(errTurnOver)
		h.gate.do(h, func(b *broker.Broker) []broker.Effect { return b.EndTurn(name) })
		h.turnEnds()
		return h.persistence("turn.start", err)
	}
	h.log.Info("turn started", "session", s.id, "turn", id, "run", rec.RunID)
	s.showAdmission()
	h.touch(s.id)
	h.wg.Go(func() { s.runTurn(ctx, t) })
	return nil
}

// showAdmission shows the three states that a Turn passes through before it runs. Only
// running is ever stored, since all three are one transaction here.
func (s *session) showAdmission() {
	running := s.turn.rec
	for _, status := range []protocol.TurnStatus{protocol.TurnAdmitted, protocol.TurnCreated} {
		shown := *running
		shown.Status = status
		s.turn.rec = &shown
		s.publishProjection()
		if status == protocol.TurnAdmitted {
			s.publishRows()
		}
	}
	s.turn.rec = running
	s.publishProjection()
}

func (g *gate) bindTurn(t broker.Turn, run string, by broker.Initiator) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.broker.BindTurn(t, run, by); err != nil {
		return err
	}
	return nil
}

// turnBegins counts a Turn in, unless the Host no longer serves.
func (h *Host) turnBegins() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state != stateServing {
		return false
	}
	h.turns++
	return true
}

func (h *Host) turnEnds() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.turns--
	if h.turns == 0 && h.drained != nil {
		close(h.drained)
		h.drained = nil
	}
}
