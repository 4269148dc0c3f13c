package host

import (
	"context"
	"errors"
	"unicode/utf8"

	bolt "go.etcd.io/bbolt"

	"askback/host/broker"
	"askback/protocol"
)

// runTurn lets the executor run and ends the Turn when it returns.
func (s *session) runTurn(ctx context.Context, t *turn) {
	defer s.host.turnEnds()
	err := t.run.execute(ctx)
	t.cancel(errTurnOver)
	s.mu.Lock()
	t.ending = true
	s.closePending(protocol.ClosedTurnTerminal)
	s.mu.Unlock()
	name := broker.Turn{Session: s.id, ID: t.run.turnID}
	s.host.gate.do(s.host, func(b *broker.Broker) []broker.Effect { return b.EndTurn(name) })
	t.run.wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endTurn(t, err)
}

// endTurn stores and shows the end of a Turn whose calls have all settled. mu is held.
func (s *session) endTurn(t *turn, failure error) {
	h := s.host
	if t.drained && t.stopping == "" {
		t.stopping = protocol.AbortUserStop
	}
	rec := *t.rec
	rec.EndedAt, rec.TerminalEventID = h.now(), h.id()
	state := turnStateRow{rowHead: h.head(protocol.RowTurnState, rec.TurnID), PartialOutput: true}
	next := *s.rec
	switch {
	case t.stopping != "":
		rec.Status, rec.AbortSource = protocol.TurnCancelled, t.stopping
		next.Status = protocol.SessionAborted
		state.Status, state.AbortSource, state.AbortedAt = rowAborted, t.stopping, rec.EndedAt
	case failure != nil:
		rec.Status = protocol.TurnFailed
		rec.FailureClass, rec.FailureMessage = failureOf(failure)
		next.Status = protocol.SessionBlocked
		state.Status, state.FailureClass, state.FailureText = string(rec.Status), rec.FailureClass, rec.FailureMessage
	default:
		rec.Status = protocol.TurnCompleted
		next.Status = protocol.SessionActive
		state.Status = string(rec.Status)
	}
	rows := []row{newRow(state)}
	if t.stopping != "" {
		rows = append(rows, newRow(noteRow{rowHead: h.head(protocol.RowSystemNote, rec.TurnID), Kind: noteAbort, Data: map[string]any{"source": t.stopping}}))
	}
	next.Revision++
	next.LastUsedAt, next.StatusUpdatedAt = rec.EndedAt, rec.EndedAt
	first := next.Rows
	next.Rows += int64(len(rows))
	t.rec = &rec
	err := s.commit(&next, func(tx *bolt.Tx) error {
		if err := appendRows(tx, s.id, first, rows); err != nil {
			return err
		}
		if err := tx.Bucket(bucketOpen).Delete([]byte(s.id)); err != nil {
			return err
		}
		return putJSON(tx, bucketTurns, sessionKey(s.id, rec.TurnID), &rec)
	})
	if err != nil {
		// The Turn is over whatever the disk says; the next Turn of the session stores its end, or the next start ends it.
		h.persistence("turn end", err)
		t.unstored = true
		s.refreshView()
	}
	h.log.Info("turn ended", "session", s.id, "turn", rec.TurnID, "status", string(rec.Status))
	if t.stopping != "" {
		s.queue.clear()
	}
	s.publishRows()
	s.publishProjection()
	h.touch(s.id)
	t.run = nil // its results are in the transcript
	close(t.done)
	s.startQueued()
}

// rowAborted is the status of a cancelled Turn's turn_state row.
const rowAborted = "aborted"

// failureOf is how an executor's error shows in the Turn.
func failureOf(err error) (class, message string) {
	class, message = FailureExecutor, err.Error()
	if te, ok := errors.AsType[*TurnError](err); ok {
		class = te.Class
	}
	return class, cutBytes(message, protocol.MaxFailureMessageBytes)
}

// cutBytes cuts s to n bytes on a rune's border.
func cutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const dots = "…"
	n -= len(dots)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + dots
}

func (h *Host) turnQuery(c *conn, in *protocol.TurnQueryInput) (protocol.Result, error) {
	s, rec, err := h.lockTurn(in.SessionID, in.TurnID)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	t := s.showTurn(rec)
	return &t, nil
}

// lockTurn finds a Turn and returns its session locked.
func (h *Host) lockTurn(sessionID, turnID string) (*session, *turnRecord, error) {
	s, err := h.lockSession(sessionID)
	if err != nil {
		return nil, nil, err
	}
	rec, err := s.findTurn(turnID)
	if err == nil && rec != nil {
		return s, rec, nil
	}
	s.mu.Unlock()
	if err != nil {
		return nil, nil, h.unreadable("turn", err)
	}
	return nil, nil, refusal(protocol.CodeNotFound, "Turn was not admitted")
}

// turnStop stops a Turn and answers when it is terminal. It repeats idempotently.
func (h *Host) turnStop(c *conn, in *protocol.TurnStopInput) (protocol.Result, error) {
	s, rec, err := h.lockTurn(in.SessionID, in.TurnID)
	if err != nil {
		return nil, err
	}
	if rec.RunID != in.RunID {
		s.mu.Unlock()
		return nil, refusal(protocol.CodeOperationConflict, "Run identity does not match the admitted Turn")
	}
	if rec.Status.Terminal() {
		s.mu.Unlock()
		t := rec.snapshot(s.id)
		return &t, nil
	}
	t := s.turn
	s.stopTurn(protocol.AbortStopButton, protocol.ClosedTurnStopped, (*broker.Broker).StopTurn)
	s.mu.Unlock()
	select {
	case <-t.done:
		end := t.rec.snapshot(s.id) // final once done is closed
		return &end, nil
	case <-c.ctx.Done():
		return nil, errAnswered // nobody is left to answer
	}
}

// stopTurn closes the forms of the newest Turn, cancels its calls and tells its executor,
// in this order. mu is held.
func (s *session) stopTurn(source string, reason protocol.ClosureReason, cancel func(*broker.Broker, broker.Turn) []broker.Effect) {
	t := s.turn
	if t == nil || !t.live() || t.stopping != "" || t.ending {
		return
	}
	t.stopping = source
	s.host.log.Info("turn stopping", "session", s.id, "turn", t.rec.TurnID, "source", source)
	s.closePending(reason)
	name := broker.Turn{Session: s.id, ID: t.rec.TurnID}
	s.host.gate.do(s.host, func(b *broker.Broker) []broker.Effect { return cancel(b, name) })
	t.cancel(errTurnStopped)
}
