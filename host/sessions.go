package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"

	"askback/host/broker"
	"askback/protocol"
)

// sessionRecord is a session as it is stored. It is never changed in place: a new one
// takes its place once it is on disk.
type sessionRecord struct {
	Create          string                     `json:"create"` // digest of the request that made it
	Revision        int64                      `json:"revision"`
	CreatedAt       int64                      `json:"createdAt"`
	LastUsedAt      int64                      `json:"lastUsedAt"`
	StatusUpdatedAt int64                      `json:"statusUpdatedAt"`
	Name            string                     `json:"name"`
	Labels          []string                   `json:"labels,omitempty"`
	IsFlagged       bool                       `json:"isFlagged,omitempty"`
	Status          protocol.SessionStatus     `json:"status"`
	PermissionMode  protocol.PermissionMode    `json:"permissionMode"`
	Collaboration   protocol.CollaborationMode `json:"collaborationMode"`
	Orchestration   protocol.OrchestrationMode `json:"orchestrationMode"`
	ThinkingLevel   protocol.ThinkingLevel     `json:"thinkingLevel,omitempty"`
	RootTurn        string                     `json:"rootTurn,omitempty"` // the newest Turn
	Rows            int64                      `json:"rows"`               // transcript rows so far, the next one's sequence
}

// A session is one conversation: its record, its newest Turn, what waits in it and who
// watches it. mu is held while a change is decided, stored and published, so that every
// watcher sees changes in the order in which they became durable. Code that holds mu
// may take the broker's gate, the catalog's and an outbox's lock, never another
// session's mu.
type session struct {
	id   string
	host *Host
	view atomic.Pointer[sessionView] // for readers without mu

	mu       sync.Mutex
	rec      *sessionRecord
	turn     *turn // the newest root Turn, nil before the first
	pending  []*interaction
	unstored []protocol.Interaction // closures that the disk refused
	subs     map[*subscription]struct{}
	revision int64 // of the projection, within this Host's life
	queue    messageQueue
	removed  bool
}

// sessionView is what the catalog shows of a session.
type sessionView struct {
	rec     *sessionRecord
	running string // id of the Turn that runs
	waiting bool
}

// refreshView must be called with mu held after every change of what it copies.
func (s *session) refreshView() {
	v := &sessionView{rec: s.rec}
	if s.turn != nil && !s.turn.rec.Status.Terminal() {
		v.running, v.waiting = s.turn.rec.TurnID, len(s.pending) > 0
	}
	s.view.Store(v)
}

// status is what the session is doing now.
func (v *sessionView) status() protocol.SessionStatus {
	switch {
	case v.waiting:
		return protocol.SessionWaitingForUser
	case v.running != "":
		return protocol.SessionRunning
	}
	return v.rec.Status
}

// commit stores a changed record together with whatever else extra writes, and only
// then makes it the session's. mu is held.
func (s *session) commit(rec *sessionRecord, extra func(*bolt.Tx) error) error {
	err := s.host.store.write(func(tx *bolt.Tx) error {
		if extra != nil {
			if err := extra(tx); err != nil {
				return err
			}
		}
		return putJSON(tx, bucketSessions, []byte(s.id), rec)
	})
	if err != nil {
		return err
	}
	s.rec = rec
	s.refreshView()
	return nil
}

// item shows a session. Live run state comes with queries only.
func (h *Host) item(s *session) protocol.SessionItem {
	v := s.view.Load()
	rec := v.rec
	return protocol.SessionItem{
		ID: s.id, Revision: rec.Revision,
		Workspace: &protocol.Workspace{Target: protocol.WorkspaceTarget{Kind: protocol.WorkspaceProject, ProjectID: projectID}, HostCwd: h.opt.WorkDir},
		CreatedAt: rec.CreatedAt, LastUsedAt: rec.LastUsedAt, Name: rec.Name, IsFlagged: rec.IsFlagged,
		Labels: append([]string{}, rec.Labels...), Status: v.status(), StatusUpdatedAt: rec.StatusUpdatedAt,
		Backend: backendOur, LLMConnectionSlug: modelNone, Model: modelNone,
		PermissionMode: rec.PermissionMode, CollaborationMode: rec.Collaboration, OrchestrationMode: rec.Orchestration,
		ThinkingLevel: rec.ThinkingLevel,
	}
}

func (h *Host) liveItem(s *session) protocol.SessionItem {
	item := h.item(s)
	item.LiveRunState = &protocol.LiveRunState{SchemaVersion: 1, RunningTurnIDs: []string{}}
	if v := s.view.Load(); v.running != "" {
		item.LiveRunState.RunningTurnIDs = []string{v.running}
	}
	return item
}

// touch tells every owner that the session's item changed.
func (h *Host) touch(sessionID string) {
	h.broadcast(sessionID, &protocol.SessionCatalogChanged{Revision: h.catalog.changed(), SessionID: sessionID})
}

// maxItemBytes bounds what a person may put into one session's name and labels.
const maxItemBytes = 16 << 10

const defaultSessionName = "New Chat"

func (h *Host) sessionCreate(c *conn, in *protocol.SessionCreateInput) (protocol.Result, error) {
	if in.Workspace.Kind == protocol.WorkspaceHostPath {
		return nil, refusal(protocol.CodeUnauthorized, "Runtime Host operation is not authorized")
	}
	request, _ := json.Marshal(in)
	made := digest(request)
	h.creating.Lock() // two requests for one id must agree on which was first
	defer h.creating.Unlock()
	if s := h.catalog.find(in.SessionID); s != nil {
		if s.view.Load().rec.Create != made {
			return nil, refusal(protocol.CodeOperationConflict, "Session identity belongs to a different create request")
		}
		item := h.item(s)
		return &item, nil
	}
	if in.Workspace.ProjectID != projectID {
		return nil, refusal(protocol.CodeOperationConflict, "Project does not exist: "+in.Workspace.ProjectID)
	}
	if in.ModelTarget.Kind == protocol.ModelExplicit && (in.ModelTarget.ConnectionSlug != modelNone || in.ModelTarget.Model != modelNone) {
		return nil, refusal(protocol.CodeInvalidRequest, "Session model connection is unavailable")
	}
	now := h.now()
	rec := &sessionRecord{
		Create: made, Revision: 1, CreatedAt: now, LastUsedAt: now, StatusUpdatedAt: now,
		Name: orElse(in.Name, defaultSessionName), Labels: in.Labels, Status: protocol.SessionActive,
		PermissionMode: orElse(in.PermissionMode, protocol.PermissionAsk),
		Collaboration:  orElse(in.CollaborationMode, protocol.CollaborationAgent),
		Orchestration:  orElse(in.OrchestrationMode, protocol.OrchestrationDefault),
		ThinkingLevel:  in.ThinkingLevel,
	}
	s := h.newSession(in.SessionID, rec)
	if itemSize(h.item(s)) > maxItemBytes {
		return nil, refusal(protocol.CodeInvalidRequest, "Session name and labels are too long")
	}
	s.mu.Lock()
	err := s.commit(rec, nil)
	s.mu.Unlock()
	if err != nil {
		return nil, h.persistence("session.create", err)
	}
	h.catalog.mu.Lock()
	h.catalog.sessions[s.id] = s
	h.catalog.mu.Unlock()
	h.log.Info("session created", "session", s.id)
	h.touch(s.id)
	item := h.item(s)
	return &item, nil
}

func (h *Host) newSession(id string, rec *sessionRecord) *session {
	s := &session{id: id, host: h, rec: rec, revision: 1}
	s.refreshView()
	return s
}

func (h *Host) sessionMetadataUpdate(c *conn, in *protocol.SessionMetadataUpdateInput) (protocol.Result, error) {
	s, err := h.lockSession(in.SessionID)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if s.rec.Revision != in.ExpectedRevision {
		return &protocol.SessionUpdateResult{Kind: protocol.KindRevisionConflict, ExpectedRevision: in.ExpectedRevision, ActualRevision: s.rec.Revision}, nil
	}
	rec := *s.rec
	rec.Revision++
	if p := in.Patch.Name; p != nil {
		rec.Name = *p
	}
	if p := in.Patch.Labels; p != nil {
		rec.Labels = slices.Clone(*p)
	}
	if p := in.Patch.IsFlagged; p != nil {
		rec.IsFlagged = *p
	}
	if itemSize(h.item(h.newSession(s.id, &rec))) > maxItemBytes {
		return nil, refusal(protocol.CodeInvalidRequest, "Session name and labels are too long")
	}
	if err := s.commit(&rec, nil); err != nil {
		return nil, h.persistence("session.metadata.update", err)
	}
	h.touch(s.id)
	s.publishProjection()
	item := h.item(s)
	return &protocol.SessionUpdateResult{Kind: protocol.KindCommitted, Session: &item}, nil
}

// sessionRemove deletes a session with all that belongs to it, in one transaction.
func (h *Host) sessionRemove(c *conn, in *protocol.SessionRemoveInput) (protocol.Result, error) {
	s := h.lockRecord(in.SessionID)
	if s == nil {
		return nil, errNoSession
	}
	defer s.mu.Unlock()
	if s.turn != nil && !s.turn.rec.Status.Terminal() {
		return nil, refusal(protocol.CodeSessionBusy, "Session already has an active or pending root Turn")
	}
	if s.rec.Revision != in.ExpectedRevision {
		return &protocol.SessionRemoveResult{Kind: protocol.KindRevisionConflict, ExpectedRevision: in.ExpectedRevision, ActualRevision: s.rec.Revision}, nil
	}
	var unreadable [][]byte
	err := h.store.write(func(tx *bolt.Tx) (err error) {
		unreadable, err = deleteSession(tx, s.id)
		return err
	})
	if err != nil {
		return nil, h.persistence("session.remove", err)
	}
	for _, key := range unreadable {
		h.unreadable("session.remove", fmt.Errorf("%w, which is gone with its session %s: %s", errUnreadable(bucketInteractions), s.id, key[len(s.id)+1:]))
	}
	s.removed = true
	h.catalog.remove(s.id)
	h.gate.do(h, func(b *broker.Broker) []broker.Effect { b.ForgetSession(s.id); return nil })
	h.log.Info("session removed", "session", s.id)
	for sub := range s.subs {
		sub.conn.out.end(&sub.queue, protocol.ClosedSessionRemoved)
		sub.conn.forget(sub)
	}
	s.subs = nil
	h.broadcast(s.id, &protocol.SessionCatalogChanged{Revision: h.catalog.changed(), SessionID: s.id})
	return &protocol.SessionRemoveResult{Kind: protocol.KindRemoved, SessionID: s.id}, nil
}

// deleteSession deletes a session's records. It returns the keys of the Interactions that it could not read, which go
// like the others.
func deleteSession(tx *bolt.Tx, id string) (unreadable [][]byte, err error) {
	prefix := sessionKey(id, "")
	// The index of kept answers is keyed by time, so it is cleared through the records.
	unreadable, err = eachInteraction(tx, id, func(rec *interactionRecord) error {
		return tx.Bucket(bucketSettled).Delete(settledKey(rec.committedAt(), id, rec.InteractionID))
	})
	if err == nil && len(unreadable) > 0 {
		err = deleteSettled(tx, prefix)
	}
	if err != nil {
		return nil, err
	}
	for _, b := range [][]byte{bucketTurns, bucketRows, bucketInteractions, bucketPending} {
		if err := deletePrefix(tx, b, prefix); err != nil {
			return nil, err
		}
	}
	if err := tx.Bucket(bucketOpen).Delete([]byte(id)); err != nil {
		return nil, err
	}
	if err := tx.Bucket(bucketSessions).Delete([]byte(id)); err != nil {
		return nil, err
	}
	return unreadable, markScrub(tx)
}

// deleteSettled clears a session out of the index of kept answers by reading all of it.
func deleteSettled(tx *bolt.Tx, session []byte) error {
	var keys [][]byte
	c := tx.Bucket(bucketSettled).Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		if len(k) > timeBytes && hasPrefix(k[timeBytes:], session) {
			keys = append(keys, bytes.Clone(k))
		}
	}
	for _, k := range keys {
		if err := tx.Bucket(bucketSettled).Delete(k); err != nil {
			return err
		}
	}
	return nil
}

var errNoSession = refusal(protocol.CodeNotFound, "Session does not exist")

// lockRecord finds a session and returns it locked, with its newest Turn if that is known already; nil when there is
// none.
func (h *Host) lockRecord(id string) *session {
	s := h.catalog.find(id)
	if s == nil {
		return nil
	}
	s.mu.Lock()
	if s.removed {
		s.mu.Unlock()
		return nil
	}
	return s
}

// lockSession finds a session and returns it locked, with its newest Turn.
func (h *Host) lockSession(id string) (*session, error) {
	s := h.lockRecord(id)
	if s == nil {
		return nil, errNoSession
	}
	if err := s.loadTurn(); err != nil {
		s.mu.Unlock()
		return nil, h.unreadable("load turn", err)
	}
	return s, nil
}

func (h *Host) executionBoundary(sessionID string) (json.RawMessage, error) {
	s := h.catalog.find(sessionID)
	if s == nil {
		return nil, errNoSession
	}
	switch s.view.Load().rec.PermissionMode {
	case protocol.PermissionBypass:
		return json.RawMessage(`{"kind":"bypass","revision":0}`), nil
	case protocol.PermissionExplore:
		return json.RawMessage(`{"kind":"managed","access":"readonly","revision":0}`), nil
	}
	return json.RawMessage(`{"kind":"managed","access":"writable","revision":0}`), nil
}
