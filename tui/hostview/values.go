package hostview

import (
	"encoding/json"
	"strings"
	"time"

	"askback/forms"
)

// Ours is the composition revision of a Host that runs /call lines itself.
const Ours = "askback-1"

// Host is the Host at the other end, as its handshake told.
type Host struct {
	Address  string // what the person would type, or "embedded"
	Embedded bool
	RootID   string
	Epoch    string // changes with every start of the Host
	Dialect  int    // the protocol epoch both sides speak
	Revision string // the composition's: Ours where the Host runs /call lines
}

// Name is the address without what every address has.
func (h Host) Name() string {
	name := h.Address
	if _, rest, ok := strings.Cut(name, "://"); ok {
		name = rest
	}
	name, _, _ = strings.Cut(name, "/")
	return name
}

// Foreign says whether the Host hands a Turn's text to something else than our /call reader.
func (h Host) Foreign() bool { return h.Revision != Ours }

// Session is one entry of the Host's catalog.
type Session struct {
	ID, Revision, Name string
	Status             string // active, running, waiting_for_user, blocked, aborted
	Mode               string // explore, ask, bypass
	LastUsed           time.Time
	Archived           bool
}

// The session status and the permission mode that a surface acts on.
const (
	StatusRunning        = "running"
	StatusWaitingForUser = "waiting_for_user"
	ModeBypass           = "bypass"
)

// NewSession asks for a session. An empty Mode is the Host's default.
type NewSession struct{ Name, Mode string }

// Turn is the latest Turn of a session.
type Turn struct {
	SessionID, TurnID, RunID string
	Status                   string // admitted, created, running, waiting_for_user, completed, failed, cancelled
	Message                  string // why it failed, where the Host says so
}

// Terminal says whether the Turn has ended.
func (t Turn) Terminal() bool {
	return t.Status == "completed" || t.Status == "failed" || t.Status == "cancelled"
}

// Kind is what an Interaction asks.
type Kind string

// The kinds of an Interaction. A Host may have others; they are shown and cannot be answered.
const (
	KindForm       Kind = "form"
	KindQuestion   Kind = "question"
	KindPermission Kind = "permission"
	KindBoundary   Kind = "sandbox_boundary"
)

// Interaction is one pending entry of a session. Identity is SessionID with ID.
type Interaction struct {
	SessionID, ID, TurnID, RunID string
	Kind                         Kind
	ToolUseID                    string
	Form                         forms.Form // KindForm
	Questions                    []Question // KindQuestion
	Prompt                       string     // KindPermission
	Boundary                     Boundary   // KindBoundary
}

// Question is one of up to three questions of a Host.
type Question struct {
	Text    string
	Options []Choice
}

// Choice is a suggested answer.
type Choice struct{ Label, Description string }

// Boundary is what a Host's sandbox would allow beyond its limits.
type Boundary struct {
	Entries       []PathAccess
	Network       bool
	Justification string
}

// PathAccess is one path of a Boundary.
type PathAccess struct{ Path, Access, Scope string }

// Status is how an Interaction ended.
type Status string

// The ends of an Interaction. StatusGone is one that the Host no longer knows, StatusUnknown one of which it
// would not say how it ended.
const (
	StatusAnswered Status = "answered"
	StatusClosed   Status = "closed"
	StatusGone     Status = "gone"
	StatusUnknown  Status = "unknown"
)

// Outcome is the Host's canonical end of an Interaction.
type Outcome struct {
	Status Status
	Answer Answer // StatusAnswered
	Reason string // StatusClosed: turn_stopped, provider_disconnected, …
}

// RowKind is the kind of a transcript row.
type RowKind string

// The kinds of a transcript row.
const (
	RowUser       RowKind = "user"
	RowAssistant  RowKind = "assistant"
	RowToolCall   RowKind = "tool_call"
	RowToolResult RowKind = "tool_result"
	RowTurn       RowKind = "turn_state"
	RowNote       RowKind = "note"
)

// Row is one row of a transcript. Key is the same for a row before and after it became durable.
type Row struct {
	Key       string
	Kind      RowKind
	TurnID    string
	Time      time.Time
	Text      string // user, assistant, note; the text of a tool result
	ToolUseID string
	Tool      string          // tool_call: the name to show
	Server    string          // tool_call: the MCP server, where the Host says which
	Args      json.RawMessage // tool_call
	IsError   bool            // tool_result
	Uncertain bool            // tool_result: the effect is not known
	Duration  time.Duration   // tool_result; 0 where it is not known
	Status    string          // turn_state
}

// Server is the state of one MCP server of our own.
type Server struct {
	Name, State string // state: stopped, starting, ready, failed, …
	Ready       bool
	Error       string
	Era         string   // the MCP version spoken
	Tools       int      // how many it offers
	Notes       []string // what else a person should know: why it speaks this era, which tools are left out
	Stderr      []string // its last lines
}

// Tool is one tool that can be called from the palette.
type Tool struct {
	Server, Name, Title, Description string
	InputSchema                      json.RawMessage
}

// LogEntry is one line for the log view.
type LogEntry struct {
	Time  time.Time
	Level string
	Text  string
}
