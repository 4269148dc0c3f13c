package host

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"askback/host/broker"
	"askback/protocol"
)

// A Run is what an executor has in its hands: one Turn, and the tools that it may call.
// Its methods may be called concurrently, until Execute returns.
type Run struct {
	session       *session
	turn          *turn
	turnID, runID string
	text          string
	refused       error // why the Turn could not be bound

	// Behind the session's mu.
	calls  map[string]*Call // by invocation
	failed error            // a result that could not be stored
}

// A Call is one tool call of a Run.
type Call struct {
	ID   string // the toolUseId of its rows and events
	Tool ToolCall

	invocation string
	began      time.Time
	done       chan struct{}
	outcome    CallOutcome
}

// CallOutcome is what a call came to: Result, or the text of its failure. Uncertain
// marks a failure after which nobody can say whether the tool took effect.
type CallOutcome struct {
	Result    *protocol.ToolResult
	Failure   string
	Uncertain bool
}

// Wait returns the outcome once the call has settled: after its form, if it had one, is
// closed, and its row is in the transcript.
func (c *Call) Wait() CallOutcome {
	<-c.done
	return c.outcome
}

// SessionID names the session of the Turn.
func (r *Run) SessionID() string { return r.session.id }

// TurnID names the Turn.
func (r *Run) TurnID() string { return r.turnID }

// Text is what the person said.
func (r *Run) Text() string { return r.text }

// Tools lists what the Turn may call.
func (r *Run) Tools() []broker.Tool {
	g := &r.session.host.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.broker.Tools(broker.Turn{Session: r.session.id, ID: r.turnID})
}

// execute runs the Turn's executor, or fails the Turn that could not be bound.
func (r *Run) execute(ctx context.Context) error {
	if r.refused != nil {
		return &TurnError{Class: string(protocol.CodeOperationConflict), Message: r.refused.Error()}
	}
	if err := r.session.host.opt.Executor.Execute(ctx, r); err != nil {
		return err
	}
	r.session.mu.Lock()
	defer r.session.mu.Unlock()
	return r.failed
}

// wait returns when every call of the Run has settled.
func (r *Run) wait() {
	r.session.mu.Lock()
	calls := make([]*Call, 0, len(r.calls))
	for _, c := range r.calls {
		calls = append(calls, c)
	}
	r.session.mu.Unlock()
	for _, c := range calls {
		<-c.done
	}
}

// Start stores and shows the calls and then sends them to their providers, together. An
// error means that none was started.
func (r *Run) Start(ctx context.Context, calls ...ToolCall) ([]*Call, error) {
	s := r.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil || r.turn.stopping != "" || r.turn.ending {
		return nil, errTurnStopped
	}
	tools := r.describe(calls)
	started := make([]*Call, len(calls))
	rows := make([]row, len(calls))
	for i, call := range calls {
		started[i] = &Call{ID: "call_" + s.host.id(), Tool: call, invocation: s.host.id(), began: s.host.opt.Clock.Now(), done: make(chan struct{})}
		head := s.host.head(protocol.RowToolCall, r.turnID)
		head.ID = started[i].ID
		rows[i] = newRow(toolCallRow{
			rowHead: head, ToolName: tools[i].ModelName, Origin: originProvider, ModelVisibility: visible,
			ActivityKind: string(tools[i].ActivityKind), DisplayName: tools[i].DisplayName, Args: call.Arguments,
		})
	}
	if err := s.addRows(rows); err != nil {
		s.host.persistence("tool call", err)
		return nil, &TurnError{Class: FailurePersistence, Message: "The Host could not store the call"}
	}
	s.publishRows()
	for i, call := range started {
		r.calls[call.invocation] = call
		s.publishEvent(r.runID, protocol.ToolEvent{
			Type: protocol.EventToolStart, ID: call.operation() + "_call", OperationID: call.operation(), TurnID: r.turnID,
			TS: s.host.now(), ToolUseID: call.ID, ToolName: tools[i].ModelName,
			DisplayName: tools[i].DisplayName, ActivityKind: string(tools[i].ActivityKind),
		})
	}
	for _, call := range started {
		s.host.log.Info("invocation started", "session", s.id, "turn", r.turnID, "invocation", call.invocation)
		s.host.gate.startCall(s, broker.Call{
			InvocationID: call.invocation, Turn: broker.Turn{Session: s.id, ID: r.turnID}, ToolCallID: call.ID,
			Server: call.Tool.Server, Tool: call.Tool.Tool, Arguments: call.Tool.Arguments,
			Bypass: s.rec.PermissionMode == protocol.PermissionBypass, Cwd: s.host.opt.WorkDir,
		})
	}
	return started, nil
}

func (c *Call) operation() string { return "toolop_" + strings.ReplaceAll(c.invocation, "-", "") }

func (r *Run) describe(calls []ToolCall) []broker.Tool {
	g := &r.session.host.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	tools := make([]broker.Tool, len(calls))
	for i, call := range calls {
		tool, ok := g.broker.ToolOf(broker.Turn{Session: r.session.id, ID: r.turnID}, call.Server, call.Tool)
		if !ok {
			tool = broker.Tool{ModelName: broker.ModelName(call.Server, call.Tool), DisplayName: call.Tool, ActivityKind: protocol.ActivityTool}
		}
		tools[i] = tool
	}
	return tools
}

// addRows stores rows of the newest Turn. mu is held.
func (s *session) addRows(rows []row) error {
	next := *s.rec
	first := next.Rows
	next.Rows += int64(len(rows))
	return s.commit(&next, func(tx *bolt.Tx) error { return appendRows(tx, s.id, first, rows) })
}

// callOf finds a call of the newest Turn. mu is held.
func (s *session) callOf(invocation string) *Call {
	if s.turn == nil || s.turn.run == nil {
		return nil
	}
	return s.turn.run.calls[invocation]
}

// settleCall stores and shows what a call came to, and then lets its executor have it.
func (s *session) settleCall(e broker.Settle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	call := s.callOf(e.Invocation)
	if call == nil {
		return
	}
	run := s.turn.run
	out := e.Outcome
	took := s.host.opt.Clock.Now().Sub(call.began).Milliseconds()
	result := toolResultRow{
		rowHead: s.host.head(protocol.RowToolResult, e.Turn.ID), ToolUseID: call.ID, DurationMs: &took,
		Origin: originProvider, ModelVisibility: visible, IsError: out.Result == nil,
	}
	status := protocol.ToolCompleted
	if out.Result == nil {
		status = protocol.ToolErrored
		result.Content = failureContent(out.Message, out.Uncertain)
	} else {
		result.Content = rowContent{Kind: protocol.RowContentJSON, Value: encodeResult(out.Result)}
	}
	if err := s.addRows([]row{newRow(result)}); err != nil {
		s.host.persistence("tool result", err)
		run.failed = &TurnError{Class: FailurePersistence, Message: "The Host could not store a result"}
	}
	s.publishRows()
	s.publishEvent(s.turn.rec.RunID, protocol.ToolEvent{
		Type: protocol.EventToolResult, ID: call.operation() + "_response", OperationID: call.operation(), TurnID: e.Turn.ID,
		TS: s.host.now(), ToolUseID: call.ID, Status: status, DurationMs: &took,
	})
	s.host.log.Info("invocation ended", "session", s.id, "turn", e.Turn.ID, "invocation", e.Invocation, "reason", out.Reason.String())
	call.outcome = CallOutcome{Result: out.Result, Failure: out.Message, Uncertain: out.Uncertain}
	close(call.done)
}

func (s *session) showProgress(e broker.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	call := s.callOf(e.Invocation)
	if call == nil {
		return
	}
	s.publishEvent(s.turn.rec.RunID, protocol.ToolEvent{
		Type: protocol.EventToolProgress, ID: s.host.id(), TurnID: e.Turn.ID, TS: s.host.now(), ToolUseID: call.ID,
		Chunk: stepsChunk(e.Current, e.Total),
	})
}

// encodeResult is a tool's result as a transcript holds it.
func encodeResult(r *protocol.ToolResult) json.RawMessage {
	data, err := protocol.EncodeToolResult(r)
	if err != nil {
		// It was decoded from the wire, so it encodes; keep the row legible all the same.
		return json.RawMessage(`{"content":[]}`)
	}
	return data
}
