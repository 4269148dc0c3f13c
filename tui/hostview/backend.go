// Package hostview is what a surface knows of a Runtime Host: plain values and the small interfaces a
// surface calls. It holds no connection and no terminal, so that the full-screen program, the line mode and
// their tests share it.
package hostview

import (
	"context"
	"errors"

	"askback/forms"
)

// A Backend is a Host as a surface uses it. Every method may block until the Host answers or ctx ends, may be
// called from several goroutines at once, and is never called from a model's Update. Errors that come from
// the Host are *Error; any other error means that the request may not have reached it.
type Backend interface {
	// Run delivers events, one at a time and in order, until ctx ends. It connects and reconnects on its own
	// and returns when it has ended what it started. The error is nil when ctx ended it.
	Run(ctx context.Context, send func(Event)) error
	Sessions
	Turns
	Interactions
}

// Sessions are the Host's sessions. The catalog arrives as Catalog events.
type Sessions interface {
	// Open makes a session the open one: its Projection and Rows follow as events, those of the session
	// that was open before end.
	Open(ctx context.Context, sessionID string) error
	// Older asks for one more page of older transcript rows of the open session. They arrive as Rows.
	Older(ctx context.Context, sessionID string) error
	Create(ctx context.Context, s NewSession) (Session, error)
	Remove(ctx context.Context, s Session) error
	// SetMode changes a session's permission mode and returns the session as it is then.
	SetMode(ctx context.Context, s Session, mode string) (Session, error)
}

// Turns are the runs of a session.
type Turns interface {
	// Start starts a Turn with a text. The Turn's events may arrive before Start returns.
	Start(ctx context.Context, sessionID, text string) (Turn, error)
	// Stop stops a Turn and returns when it is terminal.
	Stop(ctx context.Context, t Turn) (Turn, error)
}

// Interactions are the questions that wait for a person.
type Interactions interface {
	// Answer gives an answer and returns the outcome that the Host holds then. How an Interaction ends is told
	// by a Settled event as well, before or after Answer returns.
	Answer(ctx context.Context, in Interaction, a Answer) (Outcome, error)
}

// A Retrier is a Backend that can be told to connect again now, also after a refusal. Retry does not wait.
type Retrier interface{ Retry() }

// Servers is what the terminal shows of its own MCP servers. It is nil where none run here.
type Servers interface {
	// Servers returns the state of every configured server, in configuration order. It does not block.
	Servers() []Server
	// Tools returns the tools on offer, in the order of their servers. It does not block.
	Tools() []Tool
	// Restart stops a server and starts it again. It returns when the new start was begun.
	Restart(ctx context.Context, name string) error
	// Changed receives whenever Servers or Tools may answer differently. It has room for one signal.
	Changed() <-chan struct{}
}

// Reloader are Servers that come from a file which can be read again.
type Reloader interface {
	// Reload reads the configuration again and changes only what has changed in it. It asks nobody anything. What it
	// has to tell, such as entries that are wrong, is a text for a person.
	Reload(ctx context.Context) (told string, err error)
}

// Code is a Host's error code.
type Code string

// The codes that a surface tells apart. Others are shown with their message.
const (
	CodeAlreadyResolved   Code = "already_resolved"
	CodeOperationConflict Code = "operation_conflict"
	CodeSessionBusy       Code = "session_busy"
	CodeNotFound          Code = "not_found"
	CodeUnauthorized      Code = "unauthorized"
	CodeOutcomeUnknown    Code = "outcome_unknown"
)

// An Error is a refusal by the Host. Message is the Host's and must be projected before it is shown.
type Error struct {
	Code    Code
	Message string
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// CodeOf returns the Host's code in err, or "" when err did not come from a Host.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

// Answer is what a person decided about one Interaction. Which members count is said by Kind, which is that
// of the Interaction.
type Answer struct {
	Kind     Kind
	Form     forms.Result // KindForm
	Answers  []*string    // KindQuestion: one for each question, nil where it was skipped
	Allow    bool         // KindPermission, KindBoundary
	Remember bool         // KindPermission, with Allow: for the rest of the Turn
}
