package testhost39

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"

	"askback/protocol"
)

// session is one session and its Turns. The Host's lock guards it.
type session struct {
	h          *Host
	created    protocol.SessionCreateInput
	item       protocol.SessionItem
	projection int64

	rows    [][]byte // durable, row i has sequence i+1
	overlay [][]byte // of the running Turn

	turns        map[string]*turn
	turn         *turn // the running one
	lastTurn     *turn
	messages     map[string]*submitted
	steering     []protocol.QueueEntry
	followup     []protocol.QueueEntry
	queue        int64 // revision
	interactions map[string]*interaction
	pending      []*interaction

	bound         map[string]identity // contract → provider that the session is bound to
	loaded        map[string]bool     // groups and contracts that the model has loaded
	subscriptions []*subscription
}

// submitted is a message and what became of it.
type submitted struct {
	in     protocol.TurnMessageSubmitInput
	result protocol.TurnMessageSubmitResult
}

func (h *Host) createSession(c *conn, in *protocol.SessionCreateInput) (protocol.Result, *protocol.Error) {
	if in.Workspace.Kind == protocol.WorkspaceHostPath && !c.cred.HostPaths {
		return nil, errUnauthorized
	}
	if s := h.sessions[in.SessionID]; s != nil {
		if !reflect.DeepEqual(s.created, *in) {
			return nil, refusal(protocol.CodeOperationConflict, "Session identity belongs to a different create request")
		}
		return s.snapshotItem(false), nil
	}
	if in.Workspace.Kind == protocol.WorkspaceProject && in.Workspace.ProjectID != h.opt.ProjectID {
		return nil, refusal(protocol.CodeOperationConflict, "Project does not exist: "+in.Workspace.ProjectID)
	}
	if in.ModelTarget.Kind == protocol.ModelExplicit && in.ModelTarget.ConnectionSlug != modelSlug {
		return nil, refusal(protocol.CodeInvalidRequest, "Session model connection is unavailable")
	}
	at := now()
	cwd := h.opt.HostCwd
	if in.Workspace.Kind == protocol.WorkspaceHostPath {
		cwd = in.Workspace.Path
	}
	s := &session{
		h: h, created: *in, turns: map[string]*turn{}, messages: map[string]*submitted{}, interactions: map[string]*interaction{},
		bound: map[string]identity{}, loaded: map[string]bool{}, projection: 1,
		item: protocol.SessionItem{
			ID: in.SessionID, Revision: 1, Workspace: &protocol.Workspace{Target: in.Workspace, HostCwd: cwd},
			CreatedAt: at, LastUsedAt: at, Name: or(in.Name, "New Chat"), Labels: append([]string{}, in.Labels...),
			Status: protocol.SessionActive, StatusUpdatedAt: at, Backend: "ai-sdk", LLMConnectionSlug: modelSlug, Model: modelName,
			PermissionMode: or(in.PermissionMode, protocol.PermissionAsk), CollaborationMode: or(in.CollaborationMode, protocol.CollaborationAgent),
			OrchestrationMode: or(in.OrchestrationMode, protocol.OrchestrationDefault), ThinkingLevel: in.ThinkingLevel,
		},
	}
	h.sessions[in.SessionID] = s
	h.order = append(h.order, in.SessionID)
	h.broadcast(&protocol.ProjectCatalogChanged{Revision: 5})
	h.sessionChanged(in.SessionID)
	return s.snapshotItem(false), nil
}

const (
	modelSlug = "wire-fake"
	modelName = "wire-model"
)

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// snapshotItem is a copy of the item; queries add what runs.
func (s *session) snapshotItem(live bool) *protocol.SessionItem {
	item := s.item
	item.Labels = slices.Clone(item.Labels)
	if live {
		item.LiveRunState = &protocol.LiveRunState{SchemaVersion: 1, RunningTurnIDs: []string{}}
		if s.turn != nil {
			item.LiveRunState.RunningTurnIDs = []string{s.turn.id}
		}
	}
	return &item
}

// touch counts a change of the item.
func (s *session) touch() {
	s.item.Revision++
	s.item.LastUsedAt = now()
	s.h.sessionChanged(s.item.ID)
}

func (s *session) setStatus(status protocol.SessionStatus) {
	if s.item.Status != status {
		s.item.Status, s.item.StatusUpdatedAt = status, now()
		s.touch()
	}
}

func (h *Host) catalogRevision() string {
	sum := sha256.Sum256([]byte(strconv.FormatInt(h.catalog, 10)))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// catalogCursor is the last session of a page.
type catalogCursor struct {
	Version    int    `json:"version"`
	ActivityAt int64  `json:"activityAt"`
	SessionID  string `json:"sessionId"`
}

func (c catalogCursor) String() string {
	data, _ := json.Marshal(c)
	return base64.RawURLEncoding.EncodeToString(data)
}

func readCursor(s string) (c catalogCursor, ok bool) {
	data, err := base64.RawURLEncoding.DecodeString(s)
	return c, err == nil && json.Unmarshal(data, &c) == nil && c.Version == 1 && c.SessionID != ""
}

func (h *Host) querySessions(in *protocol.SessionCatalogQueryInput) (protocol.Result, *protocol.Error) {
	if in.Kind == protocol.QueryGet {
		out := &protocol.SessionCatalogQueryResult{Kind: protocol.KindSession}
		if s := h.sessions[in.SessionID]; s != nil {
			out.Session = s.snapshotItem(true)
		}
		return out, nil
	}
	ids := slices.Clone(h.order)
	slices.Reverse(ids) // newest first
	start := 0
	if in.Kind == protocol.QueryListContinue {
		at, ok := readCursor(in.Cursor)
		if !ok {
			return nil, refusal(protocol.CodeInvalidRequest, "Session cursor is invalid")
		}
		if in.Revision != h.catalogRevision() {
			return &protocol.SessionCatalogQueryResult{
				Kind: protocol.KindRevisionChanged, ExpectedRevision: in.Revision, ActualRevision: h.catalogRevision(),
			}, nil
		}
		start = slices.Index(ids, at.SessionID) + 1
	}
	out := &protocol.SessionCatalogQueryResult{Kind: protocol.KindPage, Revision: h.catalogRevision(), Sessions: []protocol.SessionItem{}}
	for i := start; i < len(ids); i++ {
		if len(out.Sessions) == protocol.MaxCatalogItems {
			last := h.sessions[ids[i-1]]
			cursor := catalogCursor{1, last.item.LastUsedAt, last.item.ID}.String()
			out.NextCursor = &cursor
			break
		}
		out.Sessions = append(out.Sessions, *h.sessions[ids[i]].snapshotItem(true))
	}
	return out, nil
}

func (h *Host) removeSession(in *protocol.SessionRemoveInput) (protocol.Result, *protocol.Error) {
	s := h.sessions[in.SessionID]
	switch {
	case s == nil:
		return nil, errNoSession
	case s.turn != nil:
		return nil, errBusy
	case s.item.Revision != in.ExpectedRevision:
		return &protocol.SessionRemoveResult{Kind: protocol.KindRevisionConflict, ExpectedRevision: in.ExpectedRevision, ActualRevision: s.item.Revision}, nil
	}
	delete(h.sessions, in.SessionID)
	h.order = slices.DeleteFunc(h.order, func(id string) bool { return id == in.SessionID })
	for _, sub := range s.subscriptions {
		sub.send(&protocol.SubscriptionClosed{SubscriptionHeader: sub.header(), Reason: protocol.ClosedSessionRemoved})
		delete(sub.conn.subscriptions, sub.id)
	}
	h.sessionChanged(in.SessionID)
	return &protocol.SessionRemoveResult{Kind: protocol.KindRemoved, SessionID: in.SessionID}, nil
}

func (h *Host) update(id string, expected int64, change func(*session) *protocol.Error) (protocol.Result, *protocol.Error) {
	s := h.sessions[id]
	if s == nil {
		return nil, errNoSession
	}
	if s.item.Revision != expected {
		return &protocol.SessionUpdateResult{Kind: protocol.KindRevisionConflict, ExpectedRevision: expected, ActualRevision: s.item.Revision}, nil
	}
	if e := change(s); e != nil {
		return nil, e
	}
	s.touch()
	s.project()
	return &protocol.SessionUpdateResult{Kind: protocol.KindCommitted, Session: s.snapshotItem(false)}, nil
}

func (h *Host) updateMetadata(in *protocol.SessionMetadataUpdateInput) (protocol.Result, *protocol.Error) {
	return h.update(in.SessionID, in.ExpectedRevision, func(s *session) *protocol.Error {
		if in.Patch.Name != nil {
			s.item.Name = *in.Patch.Name
		}
		if in.Patch.Labels != nil {
			s.item.Labels = *in.Patch.Labels
		}
		if in.Patch.IsFlagged != nil {
			s.item.IsFlagged = *in.Patch.IsFlagged
		}
		return nil
	})
}

func (h *Host) updateConfiguration(in *protocol.SessionConfigurationUpdateInput) (protocol.Result, *protocol.Error) {
	return h.update(in.SessionID, in.ExpectedRevision, func(s *session) *protocol.Error {
		c := in.Configuration
		if c.ModelTarget.Kind == protocol.ModelExplicit {
			if c.ModelTarget.ConnectionSlug != modelSlug {
				return refusal(protocol.CodeInvalidRequest, "Session model connection is unavailable")
			}
			s.item.ConnectionLocked = true
		}
		s.item.PermissionMode, s.item.CollaborationMode, s.item.OrchestrationMode = c.PermissionMode, c.CollaborationMode, c.OrchestrationMode
		s.item.ThinkingLevel = ""
		if c.ThinkingLevel != nil {
			s.item.ThinkingLevel = *c.ThinkingLevel
		}
		return nil
	})
}
