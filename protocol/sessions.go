package protocol

// SessionStatus is what a session is doing.
type SessionStatus string

const (
	SessionActive         SessionStatus = "active"
	SessionRunning        SessionStatus = "running"
	SessionWaitingForUser SessionStatus = "waiting_for_user"
	SessionBlocked        SessionStatus = "blocked"
	SessionAborted        SessionStatus = "aborted"
)

// PermissionMode decides what tools may do without asking.
type PermissionMode string

const (
	PermissionExplore PermissionMode = "explore"
	PermissionAsk     PermissionMode = "ask"
	PermissionBypass  PermissionMode = "bypass"
)

// Known reports whether m is in the protocol's list.
func (m PermissionMode) Known() bool {
	return m == PermissionExplore || m == PermissionAsk || m == PermissionBypass
}

// CollaborationMode is agent or plan.
type CollaborationMode string

const (
	CollaborationAgent CollaborationMode = "agent"
	CollaborationPlan  CollaborationMode = "plan"
)

// Known reports whether m is in the protocol's list.
func (m CollaborationMode) Known() bool { return m == CollaborationAgent || m == CollaborationPlan }

// OrchestrationMode is default, swarm or graph.
type OrchestrationMode string

const (
	OrchestrationDefault OrchestrationMode = "default"
	OrchestrationSwarm   OrchestrationMode = "swarm"
	OrchestrationGraph   OrchestrationMode = "graph"
)

// Known reports whether m is in the protocol's list.
func (m OrchestrationMode) Known() bool {
	return m == OrchestrationDefault || m == OrchestrationSwarm || m == OrchestrationGraph
}

// ThinkingLevel is how much a model thinks.
type ThinkingLevel string

// Known reports whether l is in the protocol's list.
func (l ThinkingLevel) Known() bool {
	switch l {
	case "off", "minimal", "low", "medium", "high", "xhigh", "max":
		return true
	}
	return false
}

// Kinds of WorkspaceTarget.
const (
	WorkspaceProject  = "project"
	WorkspaceHostPath = "host_path"
)

// WorkspaceTarget says where a session works.
type WorkspaceTarget struct {
	Kind      string `json:"kind" wire:"one=project|host_path"`
	ProjectID string `json:"projectId" wire:"for=project,plain"`
	Path      string `json:"path" wire:"for=host_path,len=1:4096"`
}

// Kinds of ModelTarget.
const (
	ModelDefault  = "default"
	ModelExplicit = "explicit"
)

// ModelTarget says which model a session uses.
type ModelTarget struct {
	Kind           string `json:"kind" wire:"one=default|explicit"`
	ConnectionSlug string `json:"connectionSlug" wire:"for=explicit,len=1:256"`
	Model          string `json:"model" wire:"for=explicit,len=1:256"`
}

// Workspace is a session's place as the Host shows it.
type Workspace struct {
	Target  WorkspaceTarget `json:"target"`
	HostCwd string          `json:"hostCwd"`
}

// LiveRunState names the Turns that run in a session.
type LiveRunState struct {
	SchemaVersion  int      `json:"schemaVersion"`
	RunningTurnIDs []string `json:"runningTurnIds"`
}

// KindUnsupportedLegacyRecord marks a SessionItem that the Host cannot show;
// it has only Kind, ID, Revision and Reason.
const KindUnsupportedLegacyRecord = "unsupported_legacy_record"

// SessionItem is one session of the catalog. Times are Unix milliseconds.
type SessionItem struct {
	_                       struct{}          `wire:"open"`
	Kind                    string            `json:"kind" wire:"opt"`
	ID                      string            `json:"id"`
	Revision                int64             `json:"revision"`
	Reason                  string            `json:"reason" wire:"opt"`
	Workspace               *Workspace        `json:"workspace" wire:"opt"`
	CreatedAt               int64             `json:"createdAt" wire:"full"`
	LastUsedAt              int64             `json:"lastUsedAt" wire:"full"`
	Name                    string            `json:"name" wire:"full"`
	IsFlagged               bool              `json:"isFlagged" wire:"full"`
	IsArchived              bool              `json:"isArchived" wire:"full"`
	Labels                  []string          `json:"labels" wire:"full"`
	LabelsTruncated         bool              `json:"labelsTruncated" wire:"full"`
	HasUnread               bool              `json:"hasUnread" wire:"full"`
	Status                  SessionStatus     `json:"status" wire:"full"`
	StatusUpdatedAt         int64             `json:"statusUpdatedAt" wire:"opt"`
	Backend                 string            `json:"backend" wire:"full"`
	LLMConnectionSlug       string            `json:"llmConnectionSlug" wire:"full"`
	ConnectionLocked        bool              `json:"connectionLocked" wire:"full"`
	Model                   string            `json:"model" wire:"full"`
	PermissionMode          PermissionMode    `json:"permissionMode" wire:"full"`
	CollaborationMode       CollaborationMode `json:"collaborationMode" wire:"full"`
	OrchestrationMode       OrchestrationMode `json:"orchestrationMode" wire:"full"`
	ThinkingLevel           ThinkingLevel     `json:"thinkingLevel" wire:"opt"`
	LiveRunState            *LiveRunState     `json:"liveRunState" wire:"opt"`
	LastReadMessageID       string            `json:"lastReadMessageId" wire:"opt"`
	LastMessageAt           int64             `json:"lastMessageAt" wire:"opt"`
	LastMessagePreview      string            `json:"lastMessagePreview" wire:"opt"`
	BlockedReason           string            `json:"blockedReason" wire:"opt"`
	ParentSessionID         string            `json:"parentSessionId" wire:"opt"`
	BranchOfTurnID          string            `json:"branchOfTurnId" wire:"opt"`
	Subagent                RawMessage        `json:"subagent" wire:"opt"`
	RevisionRootSessionID   string            `json:"revisionRootSessionId" wire:"opt"`
	RevisionParentSessionID string            `json:"revisionParentSessionId" wire:"opt"`
	RevisionOfTurnID        string            `json:"revisionOfTurnId" wire:"opt"`
	RevisionIndex           *int64            `json:"revisionIndex" wire:"opt"`
	RevisionState           string            `json:"revisionState" wire:"opt"`
}

// Kinds of SessionCatalogQueryInput and SessionCatalogQueryResult.
const (
	QueryListStart      = "list_start"
	QueryListContinue   = "list_continue"
	QueryGet            = "get"
	KindPage            = "page"
	KindSession         = "session"
	KindRevisionChanged = "revision_changed"
)

// SessionCatalogQueryInput lists sessions or gets one.
type SessionCatalogQueryInput struct {
	Kind      string `json:"kind" wire:"one=list_start|list_continue|get"`
	Revision  string `json:"revision" wire:"for=list_continue,plain"`
	Cursor    string `json:"cursor" wire:"for=list_continue,len=1:4096"`
	SessionID string `json:"sessionId" wire:"for=get,id"`
}

// SessionCatalogQueryResult is a page, one session (nil when unknown), or the
// news that the list changed and must be started over.
type SessionCatalogQueryResult struct {
	_                struct{}      `wire:"extra"`
	Kind             string        `json:"kind" wire:"one=page|session|revision_changed"`
	Revision         string        `json:"revision" wire:"for=page"`
	Sessions         []SessionItem `json:"sessions" wire:"for=page,items=0:32"`
	NextCursor       *string       `json:"nextCursor" wire:"for=page,null"`
	Session          *SessionItem  `json:"session" wire:"for=session,null"`
	ExpectedRevision string        `json:"expectedRevision" wire:"for=revision_changed"`
	ActualRevision   string        `json:"actualRevision" wire:"for=revision_changed"`
}

// SessionCreateInput makes a session; idempotent for an equal request.
type SessionCreateInput struct {
	SessionID         string            `json:"sessionId" wire:"id"`
	Workspace         WorkspaceTarget   `json:"workspace"`
	Mode              string            `json:"mode" wire:"opt,len=1:128"`
	Name              string            `json:"name" wire:"opt,len=1:1024"`
	Labels            []string          `json:"labels" wire:"opt,items=0:64"`
	ModelTarget       ModelTarget       `json:"modelTarget"`
	ThinkingLevel     ThinkingLevel     `json:"thinkingLevel" wire:"opt"`
	ToolProfile       string            `json:"toolProfile" wire:"opt,len=1:128"`
	PermissionMode    PermissionMode    `json:"permissionMode" wire:"opt"`
	CollaborationMode CollaborationMode `json:"collaborationMode" wire:"opt"`
	OrchestrationMode OrchestrationMode `json:"orchestrationMode" wire:"opt"`
}

// SessionCreateResult is the session's item.
type SessionCreateResult = SessionItem

// SessionRemoveInput deletes a session with all that belongs to it.
type SessionRemoveInput struct {
	SessionID        string `json:"sessionId" wire:"id"`
	ExpectedRevision int64  `json:"expectedRevision" wire:"min=0"`
}

// Kinds of SessionRemoveResult and SessionUpdateResult.
const (
	KindRemoved          = "removed"
	KindCommitted        = "committed"
	KindRevisionConflict = "revision_conflict"
)

// SessionRemoveResult says that the session is gone, or that its revision was
// another one.
type SessionRemoveResult struct {
	Kind             string `json:"kind" wire:"one=removed|revision_conflict"`
	SessionID        string `json:"sessionId" wire:"for=removed"`
	ExpectedRevision int64  `json:"expectedRevision" wire:"for=revision_conflict"`
	ActualRevision   int64  `json:"actualRevision" wire:"for=revision_conflict"`
}

// SessionPatch is what session.metadata.update may change.
type SessionPatch struct {
	Name      *string   `json:"name" wire:"opt,len=1:1024"`
	Labels    *[]string `json:"labels" wire:"opt"`
	IsFlagged *bool     `json:"isFlagged" wire:"opt"`
}

// SessionMetadataUpdateInput renames, labels or flags a session.
type SessionMetadataUpdateInput struct {
	SessionID        string       `json:"sessionId" wire:"id"`
	ExpectedRevision int64        `json:"expectedRevision" wire:"min=0"`
	Patch            SessionPatch `json:"patch"`
}

// SessionConfiguration is all that session.configuration.update sets.
type SessionConfiguration struct {
	ModelTarget       ModelTarget       `json:"modelTarget"`
	ThinkingLevel     *ThinkingLevel    `json:"thinkingLevel" wire:"null"`
	PermissionMode    PermissionMode    `json:"permissionMode"`
	CollaborationMode CollaborationMode `json:"collaborationMode"`
	OrchestrationMode OrchestrationMode `json:"orchestrationMode"`
}

// SessionConfigurationUpdateInput replaces a session's configuration.
type SessionConfigurationUpdateInput struct {
	SessionID        string               `json:"sessionId" wire:"id"`
	ExpectedRevision int64                `json:"expectedRevision" wire:"min=0"`
	Configuration    SessionConfiguration `json:"configuration"`
}

// SessionUpdateResult answers both updates; a conflict is a success.
type SessionUpdateResult struct {
	Kind             string       `json:"kind" wire:"one=committed|revision_conflict"`
	Session          *SessionItem `json:"session" wire:"for=committed"`
	ExpectedRevision int64        `json:"expectedRevision" wire:"for=revision_conflict"`
	ActualRevision   int64        `json:"actualRevision" wire:"for=revision_conflict"`
}

// ProjectCatalogQueryInput lists projects; only the first page of the summary
// view and its continuation are typed.
type ProjectCatalogQueryInput struct {
	Kind     string `json:"kind" wire:"one=list_start|list_continue"`
	View     string `json:"view" wire:"one=summary"`
	Revision string `json:"revision" wire:"for=list_continue,plain"`
	Cursor   string `json:"cursor" wire:"for=list_continue,len=1:4096"`
}

// ViewSummary is the only view of projects that this package knows.
const ViewSummary = "summary"

// ProjectItem is one project of the catalog.
type ProjectItem struct {
	_                      struct{} `wire:"open"`
	Kind                   string   `json:"kind"`
	ProjectIndex           int64    `json:"projectIndex" wire:"opt,always"`
	ID                     string   `json:"id"`
	Name                   string   `json:"name"`
	AliasCount             int64    `json:"aliasCount" wire:"opt,always"`
	LocationCount          int64    `json:"locationCount" wire:"opt,always"`
	PreferredLocationIndex *int64   `json:"preferredLocationIndex" wire:"opt,always,null"`
	ArchivedAt             *int64   `json:"archivedAt" wire:"opt,always,null"`
	Available              bool     `json:"available" wire:"opt,always"`
}

// ProjectCatalogQueryResult is a page of projects, or the news that the list
// changed.
type ProjectCatalogQueryResult struct {
	_                struct{}      `wire:"extra"`
	Kind             string        `json:"kind" wire:"one=page|revision_changed"`
	View             string        `json:"view" wire:"for=page"`
	Revision         string        `json:"revision" wire:"for=page"`
	ProjectCount     int64         `json:"projectCount" wire:"for=page"`
	Items            []ProjectItem `json:"items" wire:"for=page"`
	NextCursor       *string       `json:"nextCursor" wire:"for=page,null"`
	ExpectedRevision string        `json:"expectedRevision" wire:"for=revision_changed"`
	ActualRevision   string        `json:"actualRevision" wire:"for=revision_changed"`
}

func (*SessionCatalogQueryInput) Operation() Operation        { return OpSessionCatalogQuery }
func (*SessionCatalogQueryResult) result()                    {}
func (*SessionCreateInput) Operation() Operation              { return OpSessionCreate }
func (*SessionItem) result()                                  {}
func (*SessionRemoveInput) Operation() Operation              { return OpSessionRemove }
func (*SessionRemoveResult) result()                          {}
func (*SessionMetadataUpdateInput) Operation() Operation      { return OpSessionMetadataUpdate }
func (*SessionConfigurationUpdateInput) Operation() Operation { return OpSessionConfigUpdate }
func (*SessionUpdateResult) result()                          {}
func (*ProjectCatalogQueryInput) Operation() Operation        { return OpProjectCatalogQuery }
func (*ProjectCatalogQueryResult) result()                    {}
