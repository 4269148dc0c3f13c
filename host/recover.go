package host

import (
	"encoding/json"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"askback/protocol"
)

// abortRestarted is the abort source of a Turn that a former Host left running.
const abortRestarted = "host_restarted"

// textRestarted is what a call came to that was running when the Host went away: nobody
// can say whether the tool took effect.
const textRestarted = "outcome_unknown: The Host restarted while the call was running"

// damaged is what is found in a store whose pages are whole.
func damaged(format string, args ...any) error { return damagedError{fmt.Errorf(format, args...)} }

// recoverStore loads the sessions and ends what a former Host left unfinished: every pending
// form closes, every open Turn becomes terminal, nothing is run again.
func (h *Host) recoverStore() error {
	err := h.store.read(func(tx *bolt.Tx) error {
		h.rootID = string(tx.Bucket(bucketMeta).Get(keyRootID))
		return tx.Bucket(bucketSessions).ForEach(func(k, v []byte) error {
			rec := new(sessionRecord)
			if err := json.Unmarshal(v, rec); err != nil {
				return damaged("session %s: %w", k, err)
			}
			s := h.newSession(string(k), rec)
			h.catalog.sessions[s.id] = s
			return nil
		})
	})
	if err != nil {
		return err
	}
	closedForms, endedTurns := 0, 0
	err = h.store.write(func(tx *bolt.Tx) error {
		closedForms, endedTurns = 0, 0
		n, err := h.closeLeftPending(tx)
		if err != nil {
			return err
		}
		closedForms = n
		open := map[string]string{}
		tx.Bucket(bucketOpen).ForEach(func(k, v []byte) error { open[string(k)] = string(v); return nil })
		for sessionID, turnID := range open {
			s := h.catalog.sessions[sessionID]
			if s == nil {
				return damaged("an open turn names the session %s, which is not there", sessionID)
			}
			if err := s.endLeftTurn(tx, turnID); err != nil {
				return fmt.Errorf("session %s: %w", sessionID, err)
			}
			endedTurns++
		}
		return nil
	})
	if closedForms+endedTurns > 0 {
		h.log.Info("recovered", "forms", closedForms, "turns", endedTurns)
	}
	return err
}

// closeLeftPending closes every form that is pending in the store.
func (h *Host) closeLeftPending(tx *bolt.Tx) (int, error) {
	var keys [][]byte
	tx.Bucket(bucketPending).ForEach(func(k, _ []byte) error {
		keys = append(keys, append([]byte(nil), k...))
		return nil
	})
	for _, k := range keys {
		in, err := protocol.DecodeInteraction(tx.Bucket(bucketInteractions).Get(k))
		if err != nil {
			return 0, damaged("a pending interaction cannot be read: %w", err)
		}
		end := h.closed(*in, protocol.ClosedHostRestarted)
		if err := putSettled(tx, &end); err != nil {
			return 0, err
		}
	}
	return len(keys), nil
}

// endLeftTurn ends a Turn of a former Host in the store and in the session.
func (s *session) endLeftTurn(tx *bolt.Tx, turnID string) error {
	rec := new(turnRecord)
	switch ok, err := getJSON(tx, bucketTurns, sessionKey(s.id, turnID), rec); {
	case err != nil:
		return damaged("the open turn %s cannot be read: %w", turnID, err)
	case !ok:
		return damaged("the open turn %s is not there", turnID)
	}
	rec.Status, rec.AbortSource = protocol.TurnCancelled, abortRestarted
	rec.TerminalEventID, rec.EndedAt = s.host.id(), s.host.now()
	rows, err := s.lostResults(tx, turnID)
	if err != nil {
		return err
	}
	rows = append(rows,
		newRow(turnStateRow{rowHead: s.host.head(protocol.RowTurnState, turnID), Status: rowAborted, AbortedAt: rec.EndedAt, AbortSource: abortRestarted, PartialOutput: true}),
		newRow(noteRow{rowHead: s.host.head(protocol.RowSystemNote, turnID), Kind: noteAbort, Data: map[string]any{"source": abortRestarted}}))
	next := *s.rec
	if err := appendRows(tx, s.id, next.Rows, rows); err != nil {
		return err
	}
	next.Rows += int64(len(rows))
	next.Revision++
	next.Status, next.StatusUpdatedAt = protocol.SessionAborted, rec.EndedAt
	if err := tx.Bucket(bucketOpen).Delete([]byte(s.id)); err != nil {
		return err
	}
	if err := putJSON(tx, bucketTurns, sessionKey(s.id, turnID), rec); err != nil {
		return err
	}
	if err := putJSON(tx, bucketSessions, []byte(s.id), &next); err != nil {
		return err
	}
	s.rec = &next
	s.refreshView()
	return nil
}

// lostResults makes a result row for every call of a Turn that has none.
func (s *session) lostResults(tx *bolt.Tx, turnID string) ([]row, error) {
	answered := map[string]bool{}
	var lost []row
	for seq := s.rec.Rows - 1; seq >= 0; seq-- {
		var r struct {
			rowHead
			ToolUseID string `json:"toolUseId"`
		}
		if err := json.Unmarshal(tx.Bucket(bucketRows).Get(rowKey(s.id, seq)), &r); err != nil {
			return nil, damaged("row %d: %w", seq, err)
		}
		if r.TurnID != turnID {
			break
		}
		switch {
		case r.Type == protocol.RowToolResult:
			answered[r.ToolUseID] = true
		case r.Type == protocol.RowToolCall && !answered[r.ID]:
			lost = append(lost, newRow(toolResultRow{
				rowHead: s.host.head(protocol.RowToolResult, turnID), ToolUseID: r.ID, IsError: true,
				Content: failureContent(textRestarted, true), Origin: originProvider, ModelVisibility: visible,
			}))
		}
	}
	return lost, nil
}

// loadTurn makes the session's newest Turn known again after a restart. mu is held.
func (s *session) loadTurn() error {
	if s.turn != nil || s.rec.RootTurn == "" {
		return nil
	}
	rec := new(turnRecord)
	found := false
	err := s.host.store.read(func(tx *bolt.Tx) error {
		var err error
		found, err = getJSON(tx, bucketTurns, sessionKey(s.id, s.rec.RootTurn), rec)
		return err
	})
	if err == nil && found {
		done := make(chan struct{})
		close(done)
		s.turn = &turn{rec: rec, done: done}
	}
	return err
}
