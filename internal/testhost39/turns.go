package testhost39

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"askback/protocol"
)

// turn is one Turn. The Host's lock guards it, but for ctx and done.
type turn struct {
	s         *session
	id        string
	content   protocol.Content
	snapshot  protocol.TurnSnapshot
	streaming string // messageId of assistant text that is being written

	tools map[string]*bound // by model name
	held  []*registration   // bound registrations, which stay until the Turn ends

	ctx    context.Context
	cancel context.CancelCauseFunc
	done   chan struct{}
}

var errBusy = refusal(protocol.CodeSessionBusy, "Session already has an active or pending root Turn")

// errStopped is the cause of a stopped Turn's context.
var errStopped = errors.New("stopped")

func (h *Host) startTurn(c *conn, r *protocol.Request, in *protocol.TurnStartInput) (protocol.Result, *protocol.Error) {
	s := h.sessions[in.SessionID]
	if s == nil {
		return nil, errNoSession
	}
	if t := s.turns[in.TurnID]; t != nil {
		if !reflect.DeepEqual(t.content, in.Content) {
			return nil, refusal(protocol.CodeOperationConflict, "Turn identity was already admitted with a different payload")
		}
		return t.started(), nil
	}
	if s.turn != nil {
		return nil, errBusy
	}
	t, e := s.begin(c, in.TurnID, in.Content)
	if e != nil {
		return nil, e
	}
	return t.started(), nil
}

func (t *turn) started() *protocol.TurnStartResult {
	snap := t.visible()
	return &protocol.TurnStartResult{
		Kind: protocol.KindStarted, Turn: &snap,
		SkillInvocation: &protocol.SkillInvocation{Loaded: []protocol.RawMessage{}, Failed: []protocol.RawMessage{}, Receipts: []protocol.RawMessage{}},
	}
}

// begin binds the providers, starts a Turn, and shows it up to running, which
// subscribers see before the answer.
func (s *session) begin(c *conn, id string, content protocol.Content) (*turn, *protocol.Error) {
	tools, held, e := s.bind(c)
	if e != nil {
		return nil, e
	}
	t := &turn{s: s, id: id, content: content, tools: tools, held: held, done: make(chan struct{})}
	t.snapshot = protocol.TurnSnapshot{SessionID: s.item.ID, TurnID: id, RunID: newID(), Status: protocol.TurnAdmitted}
	t.ctx, t.cancel = background()
	for _, reg := range held {
		reg.users++
	}
	s.turns[id], s.turn = t, t
	s.project()
	s.item.ConnectionLocked = true
	s.touch()
	t.snapshot.Status = protocol.TurnCreated
	s.project()
	s.addRow(&protocol.Row{Type: protocol.RowUser, ID: newID(), TurnID: id, TS: now(), Text: &content.Text})
	s.setStatus(protocol.SessionRunning)
	t.snapshot.Status = protocol.TurnRunning
	s.project()
	s.h.goroutine(t.run)
	return t, nil
}

// stop makes the Turn end as cancelled. h.mu is held.
func (t *turn) stop(source string) {
	if t.snapshot.AbortSource == "" && !t.snapshot.Status.Terminal() {
		t.snapshot.AbortSource = source
		t.cancel(errStopped)
	}
}

// run plays the script and ends the Turn.
func (t *turn) run() {
	defer close(t.done)
	failure := t.play()
	h := t.s.h
	h.mu.Lock()
	defer h.mu.Unlock()
	s := t.s
	t.cancel(nil)
	stopped := t.snapshot.AbortSource
	for _, i := range slices.Clone(s.pending) {
		i.close(protocol.ClosedTurnTerminal)
	}
	t.snapshot.TerminalEventID = newID()
	t.streaming, s.overlay = "", nil
	state := &protocol.Row{Type: protocol.RowTurnState, ID: newID(), TurnID: t.id, TS: now(), PartialOutputRetained: ptr(true)}
	switch {
	case stopped != "":
		t.snapshot.Status = protocol.TurnCancelled
		state.Status, state.AbortSource, state.AbortedAt = "aborted", stopped, now()
		s.setStatus(protocol.SessionAborted)
	case failure != nil:
		t.snapshot.Status = protocol.TurnFailed
		t.snapshot.FailureClass, t.snapshot.FailureMessage = failure.class, failure.message
		state.Status = "failed"
		s.setStatus(protocol.SessionBlocked)
	default:
		t.snapshot.Status = protocol.TurnCompleted
		state.Status = "completed"
		s.setStatus(protocol.SessionActive)
	}
	s.addRow(state)
	for _, reg := range t.held {
		reg.users--
		reg.release()
	}
	s.turn, s.lastTurn = nil, t
	s.project()
	s.touch()
	if len(s.followup) > 0 && stopped == "" && h.state == protocol.HostReady {
		next := s.followup[0]
		s.followup = s.followup[1:]
		s.queue++
		_, _ = s.begin(nil, newID(), next.Content)
	}
}

func ptr[T any](v T) *T { return &v }

func (h *Host) find(sessionID, turnID string) (*turn, *protocol.Error) {
	s := h.sessions[sessionID]
	if s == nil || s.turns[turnID] == nil {
		return nil, errNoTurn
	}
	return s.turns[turnID], nil
}

func (h *Host) queryTurn(in *protocol.TurnQueryInput) (protocol.Result, *protocol.Error) {
	t, e := h.find(in.SessionID, in.TurnID)
	if e != nil {
		return nil, e
	}
	snap := t.visible()
	return &snap, nil
}

// visible is the snapshot without the source of a stop that is not over yet.
func (t *turn) visible() protocol.TurnSnapshot {
	snap := t.snapshot
	if !snap.Status.Terminal() {
		snap.AbortSource = ""
	}
	return snap
}

func (h *Host) stopTurn(c *conn, r *protocol.Request, in *protocol.TurnStopInput) (protocol.Result, *protocol.Error) {
	t, e := h.find(in.SessionID, in.TurnID)
	if e != nil {
		return nil, e
	}
	if t.snapshot.RunID != in.RunID {
		return nil, refusal(protocol.CodeOperationConflict, "Run identity does not match the admitted Turn")
	}
	t.stop(protocol.AbortStopButton)
	h.later(c, r, t, func() protocol.Result { snap := t.snapshot; return &snap })
	return nil, nil
}

// later answers when the Turn is terminal.
func (h *Host) later(c *conn, r *protocol.Request, t *turn, result func() protocol.Result) {
	h.goroutine(func() {
		<-t.done
		h.mu.Lock()
		defer h.mu.Unlock()
		c.respond(r, result())
	})
}

func (h *Host) submit(c *conn, in *protocol.TurnMessageSubmitInput) (protocol.Result, *protocol.Error) {
	s := h.sessions[in.SessionID]
	switch {
	case in.OriginHostEpoch != h.epoch:
		return nil, refusal(protocol.CodeOutcomeUnknown, "Message disposition cannot be proven in this Host Epoch")
	case s == nil:
		return nil, errNoSession
	}
	if m := s.messages[in.MessageID]; m != nil {
		if !reflect.DeepEqual(m.in, *in) {
			return nil, refusal(protocol.CodeOperationConflict, "Message identity has a different payload")
		}
		result := m.result
		return &result, nil
	}
	m := &submitted{in: *in}
	entry := protocol.QueueEntry{EntryID: newID(), MessageID: in.MessageID, Content: in.Content, Placement: in.Placement, State: "queued"}
	switch {
	case s.turn == nil:
		t, e := s.begin(c, newID(), in.Content)
		if e != nil {
			return nil, e
		}
		m.result = protocol.TurnMessageSubmitResult{Disposition: protocol.DispositionTurnStarted, TurnID: t.id}
	case in.Placement == protocol.PlaceCurrentTurn:
		s.queue++
		s.steering = append(s.steering, entry)
		m.result = protocol.TurnMessageSubmitResult{Disposition: protocol.DispositionSteering, QueueRevision: s.queue}
		s.project()
	default:
		s.queue++
		s.followup = append(s.followup, entry)
		m.result = protocol.TurnMessageSubmitResult{Disposition: protocol.DispositionFollowup, QueueRevision: s.queue}
		s.project()
	}
	s.messages[in.MessageID] = m
	result := m.result
	return &result, nil
}

// empty takes everything out of the queue.
func (s *session) empty() []protocol.QueueEntry {
	taken := append(slices.Clone(s.steering), s.followup...)
	s.steering, s.followup = nil, nil
	s.queue++
	for i := range taken {
		taken[i].State = "retracted"
	}
	s.project()
	return append([]protocol.QueueEntry{}, taken...)
}

func (h *Host) retract(in *protocol.QueueRetractInput) (protocol.Result, *protocol.Error) {
	s := h.sessions[in.SessionID]
	switch {
	case in.OriginHostEpoch != h.epoch:
		return nil, refusal(protocol.CodeOutcomeUnknown, "Message disposition cannot be proven in this Host Epoch")
	case s == nil:
		return nil, errNoSession
	}
	taken := s.empty()
	return &protocol.QueueRetractResult{QueueRevision: s.queue, Retracted: taken}, nil
}

func (h *Host) interrupt(c *conn, r *protocol.Request, in *protocol.TurnInterruptInput) (protocol.Result, *protocol.Error) {
	t, e := h.find(in.SessionID, in.TurnID)
	switch {
	case e != nil:
		return nil, e
	case in.OriginHostEpoch != h.epoch:
		return nil, refusal(protocol.CodeOutcomeUnknown, "Message disposition cannot be proven in this Host Epoch")
	case t.snapshot.RunID != in.RunID:
		return nil, refusal(protocol.CodeOperationConflict, "Run identity does not match the admitted Turn")
	}
	taken := t.s.empty()
	revision := t.s.queue
	t.stop(protocol.AbortUserStop)
	h.later(c, r, t, func() protocol.Result {
		return &protocol.TurnInterruptResult{QueueRevision: revision, Retracted: taken, Turn: t.snapshot}
	})
	return nil, nil
}
