package tui

import (
	"log/slog"
	"os"
	"time"

	"askback/tui/hostview"
	"askback/tui/kit"
	"askback/tui/theme"
)

// The interfaces that Run needs, and the values they speak in, live in hostview, where the line mode shares
// them.
type (
	// Backend is the Host.
	Backend = hostview.Backend
	// Servers are the MCP servers of our own.
	Servers = hostview.Servers
)

// Options says what a run shows and where. The zero value of a field is its default; Backend is needed.
type Options struct {
	Backend Backend
	// Servers is nil where no servers run here: under attach.
	Servers Servers

	// Session is the session to open: its id or its name, where only one has it. Empty: the one used last.
	Session string
	// NewSession is the name of the session that is created where the Host has none. Empty: none is created.
	NewSession string
	// PermissionMode answers the question about bypass in advance, when it is "bypass".
	PermissionMode string
	// TrustedTools says that our tools are offered with a provider's own credential: a Host runs those in every
	// mode, so that nothing has to be asked.
	TrustedTools bool

	// Version is shown in the help.
	Version string
	// Accessible asks for lines instead of a screen.
	Accessible bool
	// Theme is nil for the one that the environment asks for.
	Theme *theme.Theme
	// Getenv is os.Getenv where it is nil.
	Getenv func(string) string
	// In and Out are the terminal; nil is the process's own.
	In, Out *os.File
	// Terminal replaces In and Out, and with them detection, raw mode and signals.
	Terminal *Terminal
	// Clock is the system's where it is nil.
	Clock Clock
	// Logs are the lines of the log view; nil shows none. The channel may stay open for ever.
	Logs <-chan hostview.LogEntry
	// Logger gets what the screen has no place for, panics above all. nil discards.
	Logger *slog.Logger
	// Watch, where it is set, is called after everything that happened, from the program's goroutine. It
	// must not block and must not call back.
	Watch func(Watched)
}

// Terminal is a terminal that is no file: an emulator.
type Terminal = kit.Emulator

// Watched is what Watch is told.
type Watched struct {
	Frame string // what is on screen
	Busy  bool   // a request to the Host or a server is under way, or a Turn runs without waiting for the person
	Form  bool   // a form is on screen
	Forms int    // how many forms wait
}

// Reason is why a run ended.
type Reason string

// The reasons. Only ReasonQuit was a person's decision.
const (
	ReasonQuit   Reason = "quit"
	ReasonSignal Reason = "signal"
	ReasonEnded  Reason = "input_ended" // the terminal went away, or the input of a line mode ended
	ReasonFailed Reason = "failed"      // the program could not go on: Run's error says why
)

// Outcome says how a run ended. None of the reasons sends an answer: what waits at the Host goes on waiting.
type Outcome struct {
	Reason Reason
	Signal os.Signal // ReasonSignal
	// Stopped are the Turns of ours that were running and were stopped, as quitting does where the tools run
	// here.
	Stopped []hostview.Turn
}

// Clock is where the program gets the time. After's channel receives once.
type Clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time
}

type systemClock struct{}

func (systemClock) Now() time.Time                         { return time.Now() }
func (systemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }
