package mcpmgr

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"askback/mcpmgr/config"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Root is one folder offered to servers.
type Root = config.Root

// Limits of one call and of what servers may send.
const (
	DefaultRounds     = 8  // retries of one call
	MaxRounds         = 32 // the largest value of Options.Rounds
	DefaultLegTimeout = 120 * time.Second

	MaxState         = 16 << 10 // bytes of one requestState
	MaxInputRequests = 8        // in one round
	MaxInputBytes    = 64 << 10 // JSON of the inputRequests of one round
	MaxMessage       = 32 << 20 // one HTTP reply body, one SSE event, one stdio line
	MaxPages         = 100      // of one list
	MaxItems         = 10_000   // of one list
)

// Options configure a Manager. The zero value works.
type Options struct {
	// Logger gets what concerns the author of a server or a bug report: refused notices, stderr
	// lines (level info), changes of state. Never a requestState, an answer or a header.
	Logger *slog.Logger
	// Name and Version are the clientInfo that servers see.
	Name, Version string
	// Rounds bounds the retries of one call, 1 to MaxRounds; 0 is DefaultRounds. Rounds with state
	// alone count.
	Rounds int
	// LegTimeout bounds one leg on the wire; 0 is DefaultLegTimeout. An entry's timeout wins.
	LegTimeout time.Duration
	// StatePause is the pause before a round without a form is retried (0: 250 ms). It doubles up
	// to StatePauseMax (0: 2 s).
	StatePause, StatePauseMax time.Duration
	// OnChange is called, from an unspecified goroutine, after the state of any server or any list
	// of tools changed. It must not block and not call back into the Manager.
	OnChange func()
	// Tap sees every message of every connection. It is called in the order of each connection
	// and must not block.
	Tap func(TapEvent)
	// Inspect makes the connections those of an inspector.
	Inspect *Inspect
	// TokenFile keeps OAuth tokens (0600). Without it they live as long as the Manager.
	TokenFile string
	// CheckOutput checks a structured result against a tool's outputSchema; nil is the built-in
	// check. An error is a sentence that names the path.
	CheckOutput func(schema, value json.RawMessage) error
	// Transports replaces, per server name, how a stdio server is started: each call is one child
	// process. For tests.
	Transports map[string]func(ctx context.Context) (mcp.Transport, error)
}

// Inspect holds what only an inspector declares and accepts. A legacy server may then send
// elicitation, sampling and roots requests of its own; Push answers them (a nil field is not
// declared at initialize and gets -32601).
type Inspect struct {
	Push Handlers
	// Event hears change notices and log messages that belong to no call.
	Event func(Event)
}

// Event is a notice from a server to an inspector.
type Event struct {
	Time   time.Time
	Server string
	Kind   EventKind
	URI    string // of an updated resource
	Log    LogMessage
}

// EventKind names an Event.
type EventKind string

// The kinds of Event.
const (
	EventToolsChanged     EventKind = "tools/list_changed"
	EventPromptsChanged   EventKind = "prompts/list_changed"
	EventResourcesChanged EventKind = "resources/list_changed"
	EventResourceUpdated  EventKind = "resources/updated"
	EventLog              EventKind = "message"
)

// Era is the generation of the protocol that a connection speaks.
type Era string

// The eras. A legacy connection begins with initialize and has no rounds.
const (
	EraModern Era = "modern"
	EraLegacy Era = "legacy"
)

// State is the state of a server.
type State string

// The states. A server is connecting when it starts and after each loss, ready when its tools are
// listed, and failed when it could not be reached; a failed server is tried again unless the
// reason is one that only a person can change.
const (
	StateConnecting State = "connecting"
	StateReady      State = "ready"
	StateFailed     State = "failed"
)

// ServerStatus is what a panel shows of one server. Texts are the server's and not projected.
type ServerStatus struct {
	Name       string
	Transport  config.Transport
	State      State
	Reason     string // of StateFailed
	NeedsAuth  bool   // failed because authorization is wanted: see Manager.Authorize
	Retry      time.Time
	Generation uint64

	Era          Era // of StateReady
	Version      string
	EraReason    string // why it is not the era one would expect
	Notices      string // "" or why there are no change notices
	Info         ServerInfo
	Instructions string
	Capabilities json.RawMessage // the server's, verbatim
	Tools        int
	Warnings     []string // tools that were left out, and why
	Stderr       []string // last lines of a child process
}

// ServerInfo is what a server says of itself.
type ServerInfo struct{ Name, Title, Version string }

// Tool is one tool of a ready server.
type Tool struct {
	Server       string
	Name         string
	Title        string
	Description  string
	InputSchema  json.RawMessage
	OutputSchema json.RawMessage // nil: none
	Annotations  json.RawMessage // nil: none; hints, nothing decides by them
	Raw          json.RawMessage // the definition as the server sent it
	Binding      Binding
}

// Binding names what a call is for: a tool of a server as it was defined on one connection. It is
// comparable. A binding that is no longer current fails its call with stale_binding before
// anything is sent.
type Binding struct {
	Server     string
	Tool       string
	Generation uint64
	Definition string // hash of the tool's definition
}

// Result is the final result of a call.
type Result struct {
	// Raw is the server's result, with reflected states replaced.
	Raw json.RawMessage
	// Content are the content blocks of tools/call, verbatim.
	Content []json.RawMessage
	// Structured is structuredContent, nil where there is none.
	Structured json.RawMessage
	IsError    bool // the tool says that it failed
	Legs       int  // requests sent
	Forms      int  // forms answered, whatever the action
}
