package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"askback/internal/strictjson"
	"askback/protocol"
)

// An Executor runs Turns. Execute is called once a Turn, on a goroutine of its own, and
// returns when the Turn is over: nil completes it, an error fails it with its text (a
// *TurnError names the class). When ctx ends the Turn is being stopped, and what Execute
// returns no longer matters; it must still return. A model-driven executor fits here.
type Executor interface {
	Execute(ctx context.Context, run *Run) error
}

// TurnError fails a Turn: Class is stable, Message a sentence for the person, cut to
// protocol.MaxFailureMessageBytes.
type TurnError struct {
	Class   string
	Message string
}

func (e *TurnError) Error() string { return e.Message }

// Classes of failed Turns.
const (
	FailureUnsupportedText = "unsupported_text"
	FailureExecutor        = "executor_failed"
	FailurePersistence     = "persistence_failed"
)

// ToolCall is a call that an executor makes.
type ToolCall struct {
	Server    string
	Tool      string
	Arguments json.RawMessage // a JSON object
}

// maxArgumentDepth is as deep as JSON may nest in a capability frame.
const maxArgumentDepth = 32

// MaxCallLines bounds the /call lines of one Turn.
const MaxCallLines = 8

// CallExecutor runs Turns without a model: their text is one to eight lines
//
//	/call SERVER/TOOL {json}
//
// which it starts together. The Turn completes when all have ended, whatever the tools
// said. Any other text fails the Turn.
type CallExecutor struct{}

// Execute implements Executor.
func (CallExecutor) Execute(ctx context.Context, run *Run) error {
	calls, err := ParseCalls(run.Text())
	if err != nil {
		return &TurnError{Class: FailureUnsupportedText, Message: err.Error()}
	}
	started, err := run.Start(ctx, calls...)
	if err != nil {
		return err
	}
	for _, call := range started {
		call.Wait()
	}
	return nil
}

// ParseCalls reads the text of a Turn as /call lines. SERVER ends at the first slash,
// TOOL at the first blank; no JSON is an empty object. Blank lines are skipped.
func ParseCalls(text string) ([]ToolCall, error) {
	var calls []ToolCall
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		rest, ok := strings.CutPrefix(line, "/call")
		if !ok || (rest != "" && rest[0] != ' ' && rest[0] != '\t') {
			return nil, errors.New("this Host runs no model: a Turn is 1 to 8 lines of /call SERVER/TOOL {json}")
		}
		if len(calls) == MaxCallLines {
			return nil, fmt.Errorf("a Turn may have at most %d /call lines", MaxCallLines)
		}
		call, err := parseCall(strings.TrimLeft(rest, " \t"))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", len(calls)+1, err)
		}
		calls = append(calls, call)
	}
	if len(calls) == 0 {
		return nil, errors.New("this Host runs no model: a Turn is 1 to 8 lines of /call SERVER/TOOL {json}")
	}
	return calls, nil
}

func parseCall(s string) (ToolCall, error) {
	server, rest, ok := strings.Cut(s, "/")
	name, args := rest, ""
	if i := strings.IndexAny(rest, " \t"); i >= 0 {
		name, args = rest[:i], strings.TrimSpace(rest[i:])
	}
	if !ok || server == "" || name == "" || len(server) > protocol.MaxName || len(name) > protocol.MaxName {
		return ToolCall{}, errors.New("/call needs SERVER/TOOL, for example /call deploy/release {}")
	}
	if args == "" {
		args = "{}"
	}
	v, err := strictjson.Parse([]byte(args), strictjson.Limits{MaxBytes: protocol.MaxTextBytes, MaxDepth: maxArgumentDepth})
	if err != nil {
		return ToolCall{}, fmt.Errorf("the arguments are not JSON: %w", err)
	}
	if v.Kind() != strictjson.Object {
		return ToolCall{}, errors.New("the arguments must be a JSON object")
	}
	return ToolCall{Server: server, Tool: name, Arguments: json.RawMessage(args)}, nil
}
