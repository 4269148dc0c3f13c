package mcpmgr

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"askback/internal/jsonschema"
)

const listTimeout = 30 * time.Second // of one page

// toolList is the tools of one listing, in the server's order. It is not changed after it is
// published; a refresh makes a new one that shares the entries which did not change.
type toolList struct {
	all      []*toolEntry
	byName   map[string]*toolEntry
	warnings []string
}

// toolEntry is one tool as it was defined. Its context ends when the definition changes or goes
// away, or with the generation.
type toolEntry struct {
	Tool
	headers   []paramHeader
	output    *jsonschema.Schema // nil: none
	unchecked *sync.Once
	ctx       context.Context
	cancel    context.CancelCauseFunc
}

// list gets all pages of a list. An empty cursor is a cursor; only its absence ends the list.
func (s *session) list(ctx context.Context, method, key string) ([]json.RawMessage, error) {
	var out []json.RawMessage
	var params []member
	for range MaxPages {
		raw, err := s.rpc(ctx, method, "", params, listTimeout)
		if err != nil {
			return nil, err
		}
		ms, err := members(raw)
		if err != nil {
			return nil, failf(CodeProtocolError, "the result of %s is malformed: %v", method, err)
		}
		items, _ := find(ms, key)
		els, err := elements(items)
		if err != nil && !isNull(items) { // null is how some languages write an empty list
			return nil, failf(CodeProtocolError, "the result of %s has no list %q", method, key)
		}
		if len(out)+len(els) > MaxItems {
			return nil, failf(CodeLimitExceeded, "%s has more than %d items", method, MaxItems)
		}
		out = append(out, els...)
		next, ok := find(ms, "nextCursor")
		if !ok || isNull(next) {
			return out, nil
		}
		if !isString(next) || len(next) > 8<<10 {
			return nil, failf(CodeProtocolError, "the nextCursor of %s is not a string", method)
		}
		params = []member{rawMember("cursor", next)}
	}
	return nil, failf(CodeLimitExceeded, "%s has more than %d pages", method, MaxPages)
}

// refreshTools lists the tools and publishes the list: entries that are the same stay, calls of
// those that changed or went away end. With no tools capability there are no tools.
func (s *session) refreshTools(ctx context.Context) error {
	select { // one at a time: an older list must not come over a newer one
	case s.refreshing <- struct{}{}:
		defer func() { <-s.refreshing }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if declared, _ := s.capability("tools", ""); !declared && s.caps != nil {
		s.publish(&toolList{byName: map[string]*toolEntry{}})
		return nil
	}
	items, err := s.list(ctx, "tools/list", "tools")
	if err != nil {
		if code, ok := rpcCode(err); ok && code == -32601 && s.caps == nil {
			s.publish(&toolList{byName: map[string]*toolEntry{}})
			return nil
		}
		return err
	}
	s.publish(s.readTools(items))
	return nil
}

// readTools decodes the definitions. One that cannot be used is left out and named.
func (s *session) readTools(items []json.RawMessage) *toolList {
	l := &toolList{byName: make(map[string]*toolEntry, len(items))}
	for i, raw := range items {
		t, err := s.readHidden(raw)
		if err == nil && l.byName[t.Name] != nil {
			err = errors.New("the name is used twice")
		}
		e := &toolEntry{Tool: t}
		if err == nil && s.http != nil && s.modern() {
			e.headers, err = paramHeaders(t.InputSchema)
		}
		if err != nil {
			name := fmt.Sprintf("tool %d", i+1)
			if t.Name != "" {
				name = fmt.Sprintf("tool %q", clipText(t.Name, 100))
			}
			if len(l.warnings) < 100 {
				l.warnings = append(l.warnings, s.recent.text(fmt.Sprintf("%s is left out: %v", name, err)))
			}
			continue
		}
		if t.OutputSchema != nil {
			e.output, e.unchecked = jsonschema.New(t.OutputSchema), new(sync.Once)
		}
		e.Server = s.server
		e.Binding = Binding{Server: s.server, Tool: t.Name, Generation: s.gen, Definition: definition(raw)}
		l.all = append(l.all, e)
		l.byName[t.Name] = e
	}
	return l
}

// readHidden is readTool without the states of the calls that run: a definition goes to the Host, and is logged where it
// is of no use. The name has to stay, or the tool could not be called: one that was there before is no secret, and a tool
// of another is left out.
func (s *session) readHidden(raw json.RawMessage) (Tool, error) {
	shown := s.recent.json(raw)
	t, err := readTool(shown)
	if err != nil || bytes.Equal(shown, raw) {
		return t, err
	}
	plain, err := readTool(raw)
	if err != nil || plain.Name == t.Name {
		return t, err
	}
	if known := s.toolsNow(); known != nil && known.byName[plain.Name] == nil {
		return t, errors.New("its name holds the requestState of a call")
	}
	t.Name = plain.Name
	return t, nil
}

func readTool(raw json.RawMessage) (Tool, error) {
	ms, err := members(raw)
	if err != nil {
		return Tool{}, err
	}
	t := Tool{Raw: raw}
	v, _ := find(ms, "name")
	name, ok := stringValue(v)
	if !ok || name == "" {
		return t, errors.New("it has no name")
	}
	t.Name = name
	if len(name) > 512 {
		return t, errors.New("its name is longer than 512 bytes")
	}
	if v, ok := find(ms, "title"); ok {
		t.Title, _ = stringValue(v)
	}
	if v, ok := find(ms, "description"); ok {
		t.Description, _ = stringValue(v)
	}
	if t.InputSchema, _ = find(ms, "inputSchema"); !isObject(t.InputSchema) {
		return t, errors.New("its inputSchema is not an object")
	}
	if v, ok := find(ms, "outputSchema"); ok && isObject(v) {
		t.OutputSchema = v
	}
	if v, ok := find(ms, "annotations"); ok && isObject(v) {
		t.Annotations = v
		if title, ok := lookup(v, "title"); ok && t.Title == "" {
			t.Title, _ = stringValue(title)
		}
	}
	return t, nil
}

// definition hashes what a tool is, whatever the order and spacing of its keys. What a server notes about its answer
// in _meta is no part of it.
func definition(raw json.RawMessage) string {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	text := []byte(raw)
	if dec.Decode(&v) == nil {
		if m, ok := v.(map[string]any); ok {
			delete(m, "_meta")
		}
		if b, err := json.Marshal(v); err == nil {
			text = b
		}
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// publish makes l the list of the session.
func (s *session) publish(l *toolList) {
	s.mu.Lock()
	old := s.tools
	var ended []*toolEntry
	if old != nil {
		for _, e := range old.all {
			if n := l.byName[e.Name]; n != nil && n.Binding == e.Binding {
				*n = *e // the same tool: its calls go on
			} else {
				ended = append(ended, e)
			}
		}
	}
	for _, e := range l.all {
		if e.ctx == nil {
			e.ctx, e.cancel = context.WithCancelCause(s.ctx)
		}
	}
	s.tools = l
	s.mu.Unlock()
	for _, e := range ended {
		e.cancel(&endCause{kind: endDefinition, msg: "the tool's definition changed or went away"})
	}
	for _, w := range l.warnings {
		s.log.Warn("tool left out", "server", s.server, "why", w)
	}
	s.onChange()
}

func (s *session) toolsNow() *toolList {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tools
}
