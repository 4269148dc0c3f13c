package inspect

import (
	"context"
	"encoding/json"
	"fmt"

	"askback/mcpmgr"
	"askback/mcpmgr/config"
)

// Names are the open servers, in the order of the configuration.
func (i *Inspector) Names() []string {
	var out []string
	for _, s := range i.order {
		out = append(out, s.cfg.Name)
	}
	return out
}

// Config is how a server was configured.
func (i *Inspector) Config(name string) (config.Server, bool) {
	s := i.byName[name]
	if s == nil {
		return config.Server{}, false
	}
	return s.cfg, true
}

// Status says how a server fares. The zero value stands for one that is not open.
func (i *Inspector) Status(name string) mcpmgr.ServerStatus {
	s := i.byName[name]
	if s == nil {
		return mcpmgr.ServerStatus{}
	}
	st, _ := s.mgr.Server(name)
	return st
}

// Tools are the tools of a server as they are now.
func (i *Inspector) Tools(name string) []mcpmgr.Tool {
	s := i.byName[name]
	if s == nil {
		return nil
	}
	return s.mgr.Tools()
}

func (i *Inspector) open(name string) (*server, error) {
	if s := i.byName[name]; s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("no server %q is open", name)
}

// Wait waits until a server is ready, or says why it is not.
func (i *Inspector) Wait(ctx context.Context, name string) error {
	s, err := i.open(name)
	if err != nil {
		return err
	}
	return s.mgr.Wait(ctx, name)
}

// List returns every item of one of a server's lists, verbatim: all pages of it.
func (i *Inspector) List(ctx context.Context, name, method string) ([]json.RawMessage, error) {
	s, err := i.open(name)
	if err != nil {
		return nil, err
	}
	return s.mgr.List(ctx, name, method)
}

// Request sends a request of any other kind.
func (i *Inspector) Request(ctx context.Context, name, method string, params json.RawMessage) (json.RawMessage, error) {
	s, err := i.open(name)
	if err != nil {
		return nil, err
	}
	return s.mgr.Request(ctx, name, method, params)
}

// Reconnect ends a server's connection, and with it its calls, and connects anew.
func (i *Inspector) Reconnect(name string) error {
	s, err := i.open(name)
	if err != nil {
		return err
	}
	return s.mgr.Reconnect(name)
}

// SetLogLevel asks a server for log messages of at least a level; "" for none.
func (i *Inspector) SetLogLevel(ctx context.Context, name, level string) error {
	s, err := i.open(name)
	if err != nil {
		return err
	}
	return s.mgr.SetLogLevel(ctx, name, level)
}

// Authorize begins the authorization of an HTTP server. show is given the address that the person is to visit, and
// returns when they have agreed or with an error when they have not.
func (i *Inspector) Authorize(ctx context.Context, name string, show func(ctx context.Context, address string) error) error {
	s, err := i.open(name)
	if err != nil {
		return err
	}
	return s.mgr.Authorize(ctx, name, show)
}

// Watch asks for news of a resource, or ends them where it is watched already. It says whether it is watched now.
func (i *Inspector) Watch(ctx context.Context, name, uri string) (bool, error) {
	s, err := i.open(name)
	if err != nil {
		return false, err
	}
	if w, ok := s.watching(uri); ok {
		w.stop()
		s.mu.Lock()
		delete(s.watched, uri)
		s.mu.Unlock()
		return false, nil
	}
	st, _ := s.mgr.Server(name)
	stop, err := s.mgr.Subscribe(ctx, name, uri)
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	s.watched[uri] = watch{st.Generation, stop}
	s.mu.Unlock()
	return true, nil
}

// watching returns the subscription to a resource, if its connection still is the server's.
func (s *server) watching(uri string) (watch, bool) {
	st, _ := s.mgr.Server(s.cfg.Name)
	s.mu.Lock()
	defer s.mu.Unlock()
	w, ok := s.watched[uri]
	return w, ok && w.generation == st.Generation
}

// Watched says whether news of a resource were asked for.
func (i *Inspector) Watched(name, uri string) bool {
	s := i.byName[name]
	if s == nil {
		return false
	}
	_, ok := s.watching(uri)
	return ok
}

// Completion asks a server how the value of an argument may go on. ref is a prompt's name, or with uri a template.
type Completion struct {
	Server   string
	Prompt   string // or
	Template string
	Argument string
	Value    string
	Others   map[string]string // arguments that are known already
}

// Complete returns the values that a server suggests.
func (i *Inspector) Complete(ctx context.Context, c Completion) ([]string, error) {
	ref := map[string]string{"type": "ref/prompt", "name": c.Prompt}
	if c.Template != "" {
		ref = map[string]string{"type": "ref/resource", "uri": c.Template}
	}
	p := map[string]any{"ref": ref, "argument": map[string]string{"name": c.Argument, "value": c.Value}}
	if len(c.Others) > 0 {
		p["context"] = map[string]any{"arguments": c.Others}
	}
	params, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	raw, err := i.Request(ctx, c.Server, "completion/complete", params)
	if err != nil {
		return nil, err
	}
	var out struct{ Completion struct{ Values []string } }
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, fmt.Errorf("the server's completion is malformed: %w", err)
	}
	return out.Completion.Values, nil
}
