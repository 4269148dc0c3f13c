package testhost39

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"askback/protocol"
)

// failed is how a scripted Turn fails.
type failed struct{ class, message string }

// step is what the model does at once: calls, or one of the special words.
type step struct {
	word  string // "", "fail", "hang"
	calls []scripted
}

type scripted struct {
	name string // a model name, or the end of one; "SERVER/TOOL" names a tool exactly
	args protocol.RawMessage
}

var marks = regexp.MustCompile(`\[\[(call|calls|think|fail|hang|flaky)(?: (\S+)(?: (.*?))?)?\]\]( |$)`)

// script reads what a Turn's text asks for.
func script(text string) (steps []step, think bool) {
	var slashes step
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if n, ok := strings.CutPrefix(line, "/ask "); ok {
			if options, err := strconv.Atoi(strings.TrimSpace(n)); err == nil {
				return []step{{calls: []scripted{{toolAsk, question(options)}}}}, false
			}
		}
		if rest, ok := strings.CutPrefix(line, "/call "); ok {
			name, args, _ := strings.Cut(strings.TrimSpace(rest), " ")
			slashes.calls = append(slashes.calls, scripted{name, object(args)})
		}
	}
	if len(slashes.calls) > 0 {
		return []step{slashes}, false
	}
	for _, m := range marks.FindAllStringSubmatch(text, -1) {
		switch m[1] {
		case "think":
			think = true
		case "call":
			steps = append(steps, step{calls: []scripted{{m[2], object(m[3])}}})
		case "calls":
			n, _ := strconv.Atoi(m[3])
			var s step
			for i := range n {
				s.calls = append(s.calls, scripted{m[2], object(fmt.Sprintf(`{"n":%d}`, i))})
			}
			steps = append(steps, s)
		default:
			steps = append(steps, step{word: m[1]})
		}
	}
	return steps, think
}

func object(s string) protocol.RawMessage {
	if s = strings.TrimSpace(s); s == "" || !json.Valid([]byte(s)) {
		return protocol.RawMessage("{}")
	}
	return protocol.RawMessage(s)
}

const (
	toolAsk      = "AskUserQuestion"
	toolBoundary = "request_sandbox_boundary"
	toolLoad     = "load_tools"
)

func question(options int) protocol.RawMessage {
	labels := []string{"One", "Two", "Three"}[:min(max(options, 2), 3)]
	var list []map[string]string
	for _, l := range labels {
		list = append(list, map[string]string{"label": l})
	}
	data, _ := json.Marshal(map[string]any{"questions": []any{map[string]any{"question": "Pick?", "options": list}}})
	return data
}

// play runs the script; nil is a completed Turn. A stopped one ends early.
func (t *turn) play() *failed {
	h := t.s.h
	steps, think := script(t.content.Text)
	said := ""
	for _, st := range steps {
		switch st.word {
		case "fail":
			return &failed{"invalid_request_error", "fake model failure (code=invalid_request_error, status=400)"}
		case "hang":
			t.hang()
			return nil
		case "flaky":
			t.retry()
			return nil
		}
		for _, more := range [][]scripted{t.loading(st.calls), st.calls} {
			if len(more) == 0 {
				continue
			}
			if t.ctx.Err() != nil {
				return nil
			}
			said = t.callAll(more, think)
		}
	}
	if t.ctx.Err() != nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	t.steer()
	if said == "" {
		said = "You said: " + t.content.Text
	}
	t.say(said, false)
	return nil
}

// steer takes what was said meanwhile into the Turn.
func (t *turn) steer() {
	s := t.s
	for len(s.steering) > 0 {
		entry := s.steering[0]
		s.steering = s.steering[1:]
		s.queue++
		s.addRow(&protocol.Row{Type: protocol.RowUser, ID: newID(), TurnID: t.id, TS: now(), Text: &entry.Content.Text, SteeringEventID: entry.EntryID})
		s.project()
	}
}

// hang writes a little and waits to be stopped.
func (t *turn) hang() {
	h := t.s.h
	h.mu.Lock()
	id, text := newID(), "Thinking about it"
	t.streaming = id
	row, _ := protocol.EncodeRow(&protocol.Row{Type: protocol.RowAssistant, ID: id, TurnID: t.id, TS: now(), Text: &text, ModelID: modelName})
	t.s.overlay = [][]byte{row}
	t.s.delta(protocol.Delta{Kind: protocol.DeltaText, TurnID: t.id, RunID: t.snapshot.RunID, MessageID: id, Text: text})
	h.mu.Unlock()
	<-t.ctx.Done()
}

// retry shows a provider that does not answer, until the Turn is stopped.
func (t *turn) retry() {
	h := t.s.h
	h.mu.Lock()
	t.snapshot.ProviderRetry = &protocol.ProviderRetry{Phase: "scheduled", Attempt: 2, MaxAttempts: 10, DelayMs: ptr(int64(1226)), Reason: "provider_unavailable"}
	t.s.project()
	h.mu.Unlock()
	<-t.ctx.Done()
	h.mu.Lock()
	t.snapshot.ProviderRetry = nil
	h.mu.Unlock()
}

// say writes an assistant message: live, then as a row.
func (t *turn) say(text string, think bool) string {
	s := t.s
	id := newID()
	d := protocol.Delta{Kind: protocol.DeltaText, TurnID: t.id, RunID: t.snapshot.RunID, MessageID: id}
	row := &protocol.Row{Type: protocol.RowAssistant, ID: id, TurnID: t.id, TS: now(), Text: &text, ModelID: modelName}
	if think {
		thought := "I should call the tool."
		row.Thinking = &protocol.Thinking{Text: thought}
		d.Kind, d.Text = protocol.DeltaThinking, thought
		s.delta(d)
		d.Kind = protocol.DeltaText
	}
	const piece = 1000 // units of one delta
	for rest := []rune(text); len(rest) > 0; {
		n := min(piece, len(rest))
		d.Text, rest = string(rest[:n]), rest[n:]
		s.delta(d)
		d.StartOffset += int64(protocol.UTF16Len(d.Text))
	}
	s.addRow(row)
	s.project()
	d.Text, d.Complete = "", true
	s.delta(d)
	return id
}

// resolve finds the tool that a script means.
func resolve(tools map[string]*bound, name string) *bound {
	if server, tool, ok := strings.Cut(name, "/"); ok {
		for _, b := range tools {
			if b.tool.ServerID == server && b.tool.Name == tool {
				return b
			}
		}
		return nil
	}
	for full, b := range tools {
		if strings.HasSuffix(full, name) {
			return b
		}
	}
	return nil
}

// loading lists the calls of load_tools that must come first.
func (t *turn) loading(calls []scripted) (loads []scripted) {
	h := t.s.h
	h.mu.Lock()
	defer h.mu.Unlock()
	tools, asked := t.toolsNow(), map[string]bool{}
	for _, c := range calls {
		b := resolve(tools, c.name)
		if b == nil || t.s.loaded[b.group+b.contract] || asked[b.group] {
			continue
		}
		asked[b.group] = true
		loads = append(loads, scripted{toolLoad, protocol.RawMessage(fmt.Sprintf(`{"group":%q}`, b.group))})
	}
	return loads
}
