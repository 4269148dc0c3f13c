package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"askback/forms"
	"askback/internal/inspect"
	"askback/mcpmgr"
)

// inspectedServer is a server in the output of `inspect --json`.
type inspectedServer struct {
	Name         string          `json:"name"`
	State        string          `json:"state"`
	Reason       string          `json:"reason,omitempty"`
	Era          string          `json:"era,omitempty"`
	EraReason    string          `json:"eraReason,omitempty"`
	Version      string          `json:"protocolVersion,omitempty"`
	Info         *serverInfo     `json:"serverInfo,omitempty"`
	Instructions string          `json:"instructions,omitempty"`
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
	Notices      string          `json:"notices,omitempty"`
	Tools        int             `json:"tools"`
	Warnings     []string        `json:"warnings,omitempty"`
	Stderr       []string        `json:"stderr,omitempty"`
}

type serverInfo struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// describe waits for every server and says how it answered.
func (c *inspectOnce) describe(ctx context.Context) (func() error, error) {
	names := c.ins.Names()
	failures := make([]error, len(names))
	var wg sync.WaitGroup
	for i, n := range names {
		wg.Go(func() { failures[i] = c.ins.Wait(ctx, n) })
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	out := []inspectedServer{}
	for _, n := range names {
		out = append(out, statusJSON(c.ins.Status(n)))
	}
	err := errors.Join(failures...)
	return func() error {
		if perr := printJSON(c.g.env.stdout, out); perr != nil {
			return perr
		}
		if err != nil {
			fmt.Fprintf(c.g.env.stderr, "askback: %v\n", forms.Block(err.Error()))
			return &exitError{code: exitUnreachable, silent: true, err: err}
		}
		return nil
	}, nil
}

func statusJSON(st mcpmgr.ServerStatus) inspectedServer {
	s := inspectedServer{Name: st.Name, State: string(st.State), Reason: st.Reason, Era: string(st.Era), EraReason: st.EraReason,
		Version: st.Version, Instructions: st.Instructions, Capabilities: st.Capabilities, Notices: st.Notices,
		Tools: st.Tools, Warnings: st.Warnings}
	if st.State == mcpmgr.StateReady {
		s.Info = &serverInfo{st.Info.Name, st.Info.Title, st.Info.Version}
	} else {
		s.Stderr = st.Stderr
	}
	return s
}

// printResult prints the result of a call. A tool's own failure is a result and an exit code.
func (c *inspectOnce) printResult(res *mcpmgr.Result) error {
	if c.f.json {
		fmt.Fprintf(c.g.env.stdout, "{\"result\":%s,\"forms\":%d,\"legs\":%d}\n", res.Raw, c.forms, res.Legs)
	} else {
		fmt.Fprintln(c.g.env.stdout, forms.Block(inspect.ResultText(c.f.method, res.Raw)))
	}
	if !res.IsError {
		return nil
	}
	code := exitFailed
	if c.refused {
		code = exitDeclined
	}
	return &exitError{code: code, silent: true, err: errors.New("the tool failed")}
}

func (c *inspectOnce) printList(items []json.RawMessage) error {
	if c.f.json {
		key := map[string]string{"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates"}[c.f.method]
		if items == nil {
			items = []json.RawMessage{}
		}
		return printJSON(c.g.env.stdout, map[string]any{"result": map[string]any{key: items}})
	}
	for _, raw := range items {
		it := inspect.ReadItem(raw)
		line := forms.Line(it.Name)
		if it.URI != "" {
			line = forms.Line(it.URI) + "  " + line
		}
		if it.Description != "" {
			line += "  " + forms.Line(it.Description)
		}
		fmt.Fprintln(c.g.env.stdout, strings.TrimSpace(line))
	}
	return nil
}

func (c *inspectOnce) printRaw(raw json.RawMessage) error {
	if c.f.json {
		fmt.Fprintf(c.g.env.stdout, "{\"result\":%s}\n", raw)
		return nil
	}
	fmt.Fprintln(c.g.env.stdout, forms.Block(inspect.Pretty(raw)))
	return nil
}

// failed gives the error that ends the process, with its exit code and its JSON.
func (c *inspectOnce) failed(err error) error {
	if e, ok := errors.AsType[*mcpmgr.ToolCallError](err); ok && !isFailure(err) {
		err = &callFailure{code: string(e.Code), message: forms.Block(e.Message), uncertain: e.Uncertain && e.Code == mcpmgr.CodeCancelled}
	}
	f, ok := errors.AsType[*callFailure](err)
	if !ok {
		return &exitError{code: exitCode(err), err: err, json: map[string]any{"error": c.named(genericCode(err), err)}}
	}
	exit := f.exit
	if exit == 0 {
		exit = codeExit(f.code)
	}
	body := c.named(f.code, f)
	if f.uncertain {
		body["uncertain"] = true
	}
	formError(body, f.cause)
	if u, ok := errors.AsType[*unanswered](f.cause); ok {
		for k, v := range u.json {
			body[k] = v
		}
	}
	return &exitError{code: exit, err: f, json: map[string]any{"error": body}}
}

// named is the JSON of an error with what was asked of whom.
func (c *inspectOnce) named(code string, err error) map[string]any {
	body := map[string]any{"code": code, "message": err.Error()}
	if c.server != "" {
		body["server"] = c.server
	}
	if c.f.method != "" {
		body["method"] = c.f.method
	}
	switch {
	case c.f.method == "tools/call":
		body["tool"] = c.f.name
	case c.f.name != "":
		body["name"] = c.f.name
	case c.f.uri != "":
		body["uri"] = c.f.uri
	}
	return body
}
