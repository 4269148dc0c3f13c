package testhost39

import (
	"encoding/json"
	"fmt"
	"sync"

	"askback/protocol"
)

// running is one tool call of the model.
type running struct {
	scripted scripted
	id       string // toolUseId
	op       string
	shown    *bound // nil for the Host's own tools
	name     string
	finished chan struct{}
}

// callAll makes calls at once and returns what the model says of the last
// result that came, "" when the Turn was stopped.
func (t *turn) callAll(calls []scripted, think bool) string {
	h := t.s.h
	h.mu.Lock()
	t.steer()
	step := t.say("Calling. ", think)
	tools := t.toolsNow()
	list := make([]*running, len(calls))
	h.calls++
	for i, c := range calls {
		r := &running{scripted: c, id: fmt.Sprintf("call_%d_%d", h.calls, i), op: "toolop_" + newID(), name: c.name}
		if b := resolve(tools, c.name); b != nil {
			r.shown, r.name = b, b.modelName
		} else if r.name != toolLoad && r.name != toolAsk && r.name != toolBoundary {
			r.name = "invalid"
		}
		list[i] = r
		row := &protocol.Row{Type: protocol.RowToolCall, ID: r.id, TurnID: t.id, TS: now(), ToolName: r.name, Origin: "provider", ModelVisibility: "visible", Args: r.scripted.args, StepID: step}
		if r.shown != nil {
			row.DisplayName, row.ActivityKind = r.shown.displayName(), r.shown.activityKind()
		}
		t.s.addRow(row)
	}
	finish := make([]func() string, len(list))
	for i, r := range list {
		finish[i] = t.startTool(r, step)
	}
	h.mu.Unlock()
	var wg sync.WaitGroup
	said := make([]string, len(list))
	for i, f := range finish {
		wg.Go(func() { said[i] = f() })
	}
	wg.Wait()
	return said[len(said)-1]
}

// startTool starts one call and returns how to run it to its end. h.mu is held.
func (t *turn) startTool(r *running, step string) func() string {
	started := now()
	var inv *invocation
	var o outcome
	wait := func() outcome { return o }
	switch {
	case r.shown != nil:
		if inv, o = t.call(r.shown, r.scripted.args, r.id); inv != nil {
			wait = func() outcome { return t.await(inv) }
		}
	case r.name == toolLoad:
		o = t.load(r.scripted.args)
	case r.name == toolAsk:
		wait = t.askQuestions(r)
	case r.name == toolBoundary:
		wait = t.askBoundary(r)
	default:
		o = outcome{message: fmt.Sprintf("模型请求了不可用或格式错误的工具 %q：returned tool is unavailable", r.scripted.name)}
	}
	start := protocol.ToolEvent{Type: protocol.EventToolStart, ID: r.op + "_call", TurnID: t.id, TS: started, ToolUseID: r.id, ToolName: r.name, OperationID: r.op, StepID: step}
	if r.shown != nil {
		start.DisplayName, start.ActivityKind = r.shown.displayName(), r.shown.activityKind()
	}
	t.s.event(t.snapshot.RunID, start)
	return func() string { return t.endTool(r, wait(), started) }
}

// endTool tells everyone what came of a call, and returns what the model says.
func (t *turn) endTool(r *running, o outcome, started int64) string {
	t.s.h.mu.Lock()
	defer t.s.h.mu.Unlock()
	content, said := shownResult(o)
	isError := o.result == nil
	row := &protocol.Row{Type: protocol.RowToolResult, ID: newID(), TurnID: t.id, TS: now(), ToolUseID: r.id, IsError: &isError, Content: content, Origin: "provider", ModelVisibility: "visible"}
	t.s.addRow(row)
	status := protocol.ToolCompleted
	if isError {
		status = protocol.ToolErrored
	}
	took := now() - started
	t.s.event(t.snapshot.RunID, protocol.ToolEvent{Type: protocol.EventToolResult, ID: r.op + "_response", TurnID: t.id, TS: now(), ToolUseID: r.id, OperationID: r.op, Status: status, DurationMs: &took})
	return said
}

// shownResult is a result's row content, and what the model says of it.
func shownResult(o outcome) (*protocol.RowContent, string) {
	if o.result == nil {
		content := &protocol.RowContent{Kind: protocol.RowContentText, Text: o.message}
		if o.uncertain {
			content.UncertainOutcome = &protocol.UncertainOutcome{Code: "outcome_unknown"}
		}
		return content, "Tool said: Error: " + o.message
	}
	value := []byte("null")
	if o.result.StructuredContent != nil && o.result.Content == nil {
		value = o.result.StructuredContent // of the Host's own tools
	} else if data, err := protocol.EncodeToolResult(o.result); err == nil {
		value = data
	}
	said := string(value)
	if len(said) > 2000 {
		said = said[:2000]
	}
	return &protocol.RowContent{Kind: protocol.RowContentJSON, Value: value}, "Tool said: " + said
}

// own is the result of a tool of the Host's.
func own(value any) outcome {
	data, _ := json.Marshal(value)
	return outcome{result: &protocol.ToolResult{StructuredContent: data}}
}

// await waits for the provider, or for the Turn to be stopped.
func (t *turn) await(inv *invocation) outcome {
	select {
	case <-inv.done:
	case <-t.ctx.Done():
		t.s.h.mu.Lock()
		inv.abandon("This operation was aborted", "Client Capability invocation was cancelled after provider acceptance")
		t.s.h.mu.Unlock()
		<-inv.done
	}
	return inv.outcome
}

func (t *turn) toolProgress(callID string, current, total int) {
	t.s.event(t.snapshot.RunID, protocol.ToolEvent{
		Type: protocol.EventToolProgress, ID: newID(), TurnID: t.id, TS: now(), ToolUseID: callID, Chunk: fmt.Sprintf("steps:%d/%d", current, total),
	})
}

// load gives the model a group of tools. h.mu is held.
func (t *turn) load(args protocol.RawMessage) outcome {
	var in struct{ Group string }
	_ = json.Unmarshal(args, &in)
	names := []string{}
	for name, b := range t.toolsNow() {
		if b.group == in.Group {
			t.s.loaded[b.group+b.contract] = true
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return outcome{message: "Tool group is not available: " + in.Group}
	}
	return own(map[string]any{"loaded": names})
}

// askQuestions makes a question pending and returns how to wait for it.
func (t *turn) askQuestions(r *running) func() outcome {
	var in struct{ Questions []protocol.Question }
	if err := json.Unmarshal(r.scripted.args, &in); err != nil || len(in.Questions) == 0 {
		return func() outcome { return outcome{message: "Invalid questions"} }
	}
	req := &protocol.QuestionRequest{ToolUseID: r.id, Questions: in.Questions}
	return t.pend(req, func(i *interaction) outcome {
		answers := []any{}
		for n, a := range i.answer.(*protocol.QuestionAnswer).Answers {
			answers = append(answers, map[string]any{"question": in.Questions[n].Question, "answer": a})
		}
		return own(map[string]any{"answers": answers})
	})
}

func (t *turn) askBoundary(r *running) func() outcome {
	req := &protocol.SandboxBoundaryRequest{}
	if err := json.Unmarshal(r.scripted.args, req); err != nil {
		return func() outcome { return outcome{message: "Invalid sandbox boundary"} }
	}
	return t.pend(req, func(i *interaction) outcome {
		return own(map[string]any{"decision": i.answer.(*protocol.SandboxBoundaryAnswer).Decision})
	})
}

// pend makes an Interaction pending after the tool's start was told.
func (t *turn) pend(body protocol.InteractionBody, answered func(*interaction) outcome) func() outcome {
	return func() outcome {
		h := t.s.h
		h.mu.Lock()
		i := t.ask(body)
		h.mu.Unlock()
		select {
		case <-i.settled:
		case <-t.ctx.Done():
			h.mu.Lock()
			i.close(protocol.ClosedTurnStopped)
			h.mu.Unlock()
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		if i.answer == nil {
			return outcome{message: "This operation was aborted"}
		}
		t.snapshot.Status = protocol.TurnRunning
		t.s.setStatus(protocol.SessionRunning)
		t.s.project()
		return answered(i)
	}
}
