package mcpmgr

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
)

// Lists returns every item of one of the server's lists, verbatim: tools/list, prompts/list,
// resources/list or resources/templates/list. Where the server does not know the method, the list
// is empty.
func (m *Manager) List(ctx context.Context, server, method string) ([]json.RawMessage, error) {
	key := map[string]string{
		"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates",
	}[method]
	if key == "" {
		return nil, &ToolCallError{Code: CodeProtocolError, Server: server, Message: method + " is no list"}
	}
	s, err := m.session(server)
	if err != nil {
		return nil, err
	}
	items, err := s.list(ctx, method, key)
	if code, ok := rpcCode(err); ok && code == -32601 {
		return nil, nil
	}
	if err != nil {
		return nil, m.plainError(ctx, s, method, err)
	}
	for i := range items {
		items[i] = s.recent.json(items[i])
	}
	return items, nil
}

// plainError turns the failure of a request that is no call into a *ToolCallError. It may quote the server, who knows
// the states of the calls beside it.
func (m *Manager) plainError(ctx context.Context, s *session, name string, err error) error {
	c := &call{m: m, s: s, name: name, states: s.recent.together()}
	return c.finishError(c.legError(ctx, err))
}

// together is what is known of all calls that run or ended lately.
func (r *recentStates) together() *states {
	r.mu.Lock()
	all := slices.Clone(r.past)
	for s := range r.active {
		all = append(all, s)
	}
	r.mu.Unlock()
	out := &states{}
	for _, s := range all {
		out.pats = withPatterns(out.pats, s.patterns()...)
		out.lines = withPatterns(out.lines, s.inText()...)
	}
	return out
}

// GetPrompt gets a prompt over the same driver as CallTool. arguments is a JSON object, or nil.
func (m *Manager) GetPrompt(ctx context.Context, server, name string, arguments json.RawMessage, h Handlers) (*Result, error) {
	params := []member{stringMember("name", name)}
	if len(arguments) > 0 {
		if !json.Valid(arguments) || !isObject(arguments) {
			return nil, &ToolCallError{Code: CodeProtocolError, Server: server, Tool: name, Message: "the arguments are not a JSON object"}
		}
		params = append(params, rawMember("arguments", arguments))
	}
	return m.drive(ctx, server, "prompts/get", name, params, h)
}

// ReadResource reads a resource over the same driver as CallTool.
func (m *Manager) ReadResource(ctx context.Context, server, uri string, h Handlers) (*Result, error) {
	return m.drive(ctx, server, "resources/read", uri, []member{stringMember("uri", uri)}, h)
}

// drive runs a call that is bound to the server's current generation alone.
func (m *Manager) drive(ctx context.Context, server, method, name string, params []member, h Handlers) (*Result, error) {
	s, err := m.session(server)
	if err != nil {
		if e, ok := errors.AsType[*ToolCallError](err); ok {
			e.Tool = name
		}
		return nil, err
	}
	c := &call{m: m, s: s, method: method, name: name, h: h, params: params}
	return c.run(ctx, s.ctx)
}

// Request sends one request of any other kind and returns its result, verbatim but for a requestState, which no such
// result has: completion/complete, ping, and what a script asks for by name. params is a JSON object, or nil. The methods with
// rounds have calls of their own.
func (m *Manager) Request(ctx context.Context, server, method string, params json.RawMessage) (json.RawMessage, error) {
	switch method {
	case "tools/call", "prompts/get", "resources/read":
		return nil, &ToolCallError{Code: CodeProtocolError, Server: server, Message: method + " has a call of its own"}
	}
	s, err := m.session(server)
	if err != nil {
		return nil, err
	}
	var ms []member
	if len(params) > 0 {
		if !json.Valid(params) {
			return nil, &ToolCallError{Code: CodeProtocolError, Server: server, Message: "the params are not JSON"}
		}
		if ms, err = members(params); err != nil {
			return nil, &ToolCallError{Code: CodeProtocolError, Server: server, Message: "the params are not a JSON object: " + err.Error()}
		}
		ms = slices.DeleteFunc(ms, func(p member) bool { return p.name == "_meta" && s.modern() })
	}
	raw, err := s.rpc(ctx, method, "", ms, s.legTimeout)
	if err != nil {
		return nil, m.plainError(ctx, s, method, err)
	}
	return s.recent.json(HideState(raw)), nil
}

// SetLogLevel asks for log messages of at least this level ("" for none): with every later
// request on a modern connection, by logging/setLevel on a legacy one.
func (m *Manager) SetLogLevel(ctx context.Context, server, level string) error {
	s, err := m.session(server)
	if err != nil {
		return err
	}
	if s.modern() {
		s.mu.Lock()
		s.logLevel = level
		s.mu.Unlock()
		return nil
	}
	_, err = m.Request(ctx, server, "logging/setLevel", (&builder{}).add("level", quoteString(level)).bytes())
	return err
}

// Subscribe asks for news of one resource, which arrive as Inspect events until stop is called or
// the connection ends. On a modern connection it is a stream of its own; the error says when the
// server does not grant it.
func (m *Manager) Subscribe(ctx context.Context, server, uri string) (stop func(), err error) {
	s, err := m.session(server)
	if err != nil {
		return nil, err
	}
	params := (&builder{}).add("uri", quoteString(uri)).bytes()
	if !s.modern() {
		if _, err := m.Request(ctx, server, "resources/subscribe", params); err != nil {
			return nil, err
		}
		return sync.OnceFunc(func() {
			s.spawn(func() { _, _ = s.rpc(s.ctx, "resources/unsubscribe", "", []member{stringMember("uri", uri)}, sideTime) })
		}), nil
	}
	filter := (&builder{}).add("resourceSubscriptions", append(append([]byte{'['}, quoteString(uri)...), ']')).bytes()
	lctx, cancel := context.WithCancelCause(s.ctx)
	first := make(chan error, 1)
	s.spawn(func() {
		err := s.listenUnder(lctx, filter, func(sub *subscription) {
			if sub.grant["resourceSubscriptions"] {
				first <- nil
			} else {
				first <- errors.New("the server does not grant the subscription")
			}
		})
		if err == nil {
			err = errors.New("the server ended the subscription")
		}
		select {
		case first <- err:
		default:
		}
	})
	select {
	case err = <-first:
	case <-ctx.Done():
		err = &errNotSent{context.Cause(ctx)}
	case <-s.ctx.Done():
		err = &errNotSent{context.Cause(s.ctx)}
	}
	if err != nil {
		cancel(nil)
		return nil, m.plainError(ctx, s, uri, err)
	}
	return func() { cancel(nil) }, nil
}
