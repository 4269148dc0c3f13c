package hostclient

import "askback/protocol"

// Event is something that a View or Provider has to tell, in order.
type Event interface{ event() }

// SessionOpened is a complete new start of a session's shown state: the first open, or one after the connection or the
// subscription was lost. What was shown of streams and tools before is void; rows are told by TranscriptRows.
type SessionOpened struct {
	SessionID string
	HostEpoch string
	Snapshot  protocol.Snapshot
	Streams   []protocol.AssistantStream
	Again     bool // not the first open of this subscription
}

// SessionChanged replaces a session's snapshot. A newer one replaces an older one that was not taken yet.
type SessionChanged struct {
	SessionID string
	Snapshot  protocol.Snapshot
}

// SessionDelta is live assistant text. Adjacent ones of one stream are joined while they wait.
type SessionDelta struct {
	SessionID string
	Delta     protocol.Delta
}

// ToolActivity is a tool event. A newer progress replaces an older one of the same call that was not taken yet.
type ToolActivity struct {
	SessionID string
	RunID     string
	Event     protocol.ToolEvent
}

// TranscriptRows brings rows of a session, oldest first.
type TranscriptRows struct {
	SessionID string
	Rows      []Row
	// Reset says that these are the newest rows there are: what was shown before is void, older ones can be asked for
	// with View.OlderRows.
	Reset    bool
	HasOlder bool
	// Overlay are the rows of the running Turn that are not durable yet, told at an open only.
	Overlay []Row
	// Err says why no further rows come before the session is opened again; nil with rows.
	Err error
}

// DomainChanged hints that another part of a session should be asked for again.
type DomainChanged struct {
	SessionID string
	Domain    string
}

// SessionClosed says that a session is not shown any more: it was removed (Err nil), or it cannot be opened.
type SessionClosed struct {
	SessionID string
	Reason    string
	Err       error
}

// InteractionPending says that an Interaction waits for a person. Each is told once, and once more (Again) by every
// later open of its session that still holds it.
type InteractionPending struct {
	SessionID   string
	Interaction protocol.Interaction
	Again       bool
}

// InteractionSettled is how an Interaction that was told as pending ended: what the Host says, asked once. It is told
// exactly once.
type InteractionSettled struct {
	SessionID     string
	InteractionID string
	// Interaction is the canonical record; its zero value with Gone when the Host does not know it any more, or with
	// Err when it would not say.
	Interaction protocol.Interaction
	Ours        bool // our own answer is the canonical one
	Gone        bool
	Err         error
}

// CatalogChanged hints that a catalog should be asked for again.
type CatalogChanged struct {
	Catalog   Catalog
	SessionID string // of CatalogSessions, where the Host names one
}

// Catalog is something that can be listed.
type Catalog string

const (
	CatalogSessions      Catalog = "sessions"
	CatalogProjects      Catalog = "projects"
	CatalogConfiguration Catalog = "configuration"
)

// Published says that the Host holds these offers of ours now (none: it holds none).
type Published struct {
	RegistrationID string
	Offers         int
}

// PublishFailed says that the Host refused our offers, or (CodeSuperseded) holds another connection's in their place.
type PublishFailed struct{ Err error }

func (Connection) event()         {}
func (SessionOpened) event()      {}
func (SessionChanged) event()     {}
func (SessionDelta) event()       {}
func (ToolActivity) event()       {}
func (TranscriptRows) event()     {}
func (DomainChanged) event()      {}
func (SessionClosed) event()      {}
func (InteractionPending) event() {}
func (InteractionSettled) event() {}
func (CatalogChanged) event()     {}
func (Published) event()          {}
func (PublishFailed) event()      {}
