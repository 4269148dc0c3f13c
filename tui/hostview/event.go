package hostview

import "time"

// Event is something that a Backend tells. The order of events is that of the Host's frames.
type Event interface{ event() }

// Link is one of the two connections to a Host.
type Link string

// The links. A surface that offers no tools has LinkView alone.
const (
	LinkView     Link = "view"
	LinkProvider Link = "provider"
)

// State is how a link stands.
type State string

// The states of a link: connecting and reconnecting → ready → reconnecting …; refused and closed are final
// until the program is started again.
const (
	StateConnecting   State = "connecting"
	StateReady        State = "ready"
	StateReconnecting State = "reconnecting"
	StateDraining     State = "draining"
	StateRefused      State = "refused"
	StateClosed       State = "closed"
)

type (
	// Connection tells a link's state. Host is set whenever it is known.
	Connection struct {
		Link    Link
		State   State
		Host    Host
		Detail  string    // why, for a person; projected by the surface
		Attempt int       // of a reconnect
		Retry   time.Time // when the next attempt starts; zero when one is under way
	}

	// Catalog is the whole list of sessions.
	Catalog struct{ Sessions []Session }

	// Unlisted tells that the Host does not give the list of sessions, and why.
	Unlisted struct{ Why string }

	// Projection is the complete state of the open session; it replaces what was known.
	Projection struct {
		SessionID string
		Turn      *Turn // the latest Turn; nil where there was none
		Pending   []Interaction
		Queued    int // messages waiting in the session's queue
	}

	// Settled tells how an Interaction ended that was pending before. It comes once for each.
	Settled struct {
		SessionID, InteractionID string
		Outcome                  Outcome
	}

	// Rows are transcript rows of the open session, oldest first. A row whose Key is known replaces it.
	Rows struct {
		SessionID string
		Rows      []Row
		Reset     bool // forget what was known before
		Older     bool // these go in front of what is known
		Start     bool // nothing older exists
	}

	// Text is a piece of assistant text while it is written.
	Text struct {
		SessionID, TurnID, Key string // Key is that of the row it will become
		Append                 string
		Reset, Complete        bool
	}

	// ToolEvent tells what a tool call does before its rows exist.
	ToolEvent struct {
		SessionID, TurnID, ToolUseID string
		Phase                        Phase
		Time                         time.Time
		Name                         string // PhaseStart
		Current, Total               int    // PhaseProgress; Total 0 where the Host told only Chunk
		Chunk                        string // PhaseProgress, PhaseOutput
		Failed                       bool   // PhaseEnd
		Duration                     time.Duration
	}

	// Removed tells that the open session is not shown any more: it was removed, or Why says why it cannot be.
	Removed struct{ SessionID, Why string }

	// Logged is a line for the log view.
	Logged struct{ Entry LogEntry }
)

// Phase is what a ToolEvent tells.
type Phase string

// The phases of a tool call as a surface sees them.
const (
	PhaseStart    Phase = "start"
	PhaseProgress Phase = "progress"
	PhaseOutput   Phase = "output"
	PhaseEnd      Phase = "end"
)

func (Connection) event() {}
func (Catalog) event()    {}
func (Unlisted) event()   {}
func (Projection) event() {}
func (Settled) event()    {}
func (Rows) event()       {}
func (Text) event()       {}
func (ToolEvent) event()  {}
func (Removed) event()    {}
func (Logged) event()     {}
