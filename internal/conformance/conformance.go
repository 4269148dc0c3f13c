// Package conformance is the adapter between the MCP conformance suite and mcpmgr: it plays the
// client of one scenario against the server that the suite runs. The suite judges what it sees on
// the wire; nothing here decides whether a scenario passes.
package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"askback/forms"
	"askback/mcpmgr"
	"askback/mcpmgr/config"
)

// Options are what the suite hands over: the server's address as the last argument, the rest in
// MCP_CONFORMANCE_SCENARIO, MCP_CONFORMANCE_PROTOCOL_VERSION and MCP_CONFORMANCE_CONTEXT (JSON).
type Options struct {
	URL      string
	Scenario string
	Version  string // of the protocol; "" is any
	Context  string
	Client   string    // the version of askback
	Log      io.Writer // what a person who runs the suite reads
}

// Scenarios lists the scenarios that Run knows.
func Scenarios() []string { return slices.Sorted(maps.Keys(scenarios)) }

// client is the state of one scenario.
type client struct {
	ctx   context.Context
	m     *mcpmgr.Manager
	log   io.Writer
	hints struct {
		ToolCalls []struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"toolCalls"`
	}
}

const server = "suite"

var scenarios = map[string]func(*client) error{
	"initialize":                          (*client).connect,
	"request-metadata":                    (*client).connect,
	"tools_call":                          (*client).addNumbers,
	"sse-retry":                           (*client).callAll,
	"elicitation-sep1034-client-defaults": (*client).callAll,
	"json-schema-ref-no-deref":            (*client).connect,
	"json-schema-2020-12-preservation":    (*client).echoSchema,
	"sep-2322-client-request-state":       (*client).roundTrips,
	"http-standard-headers":               (*client).everyMethod,
	"http-custom-headers":                 (*client).givenCalls,
	"http-invalid-tool-headers":           (*client).callAll,
	"auth":                                (*client).authorized,
}

// Run plays one scenario. An error says that the client could not do its part.
func Run(ctx context.Context, o Options) error {
	play := scenarios[o.Scenario]
	if strings.HasPrefix(o.Scenario, "auth/") {
		play = scenarios["auth"]
	}
	if play == nil {
		return fmt.Errorf("the scenario %q is not known here; known are %s", o.Scenario, strings.Join(Scenarios(), ", "))
	}
	c := &client{log: o.Log}
	if o.Context != "" {
		if err := json.Unmarshal([]byte(o.Context), &c.hints); err != nil {
			return fmt.Errorf("the context of the scenario is not understood: %w", err)
		}
	}
	var cancel context.CancelFunc
	c.ctx, cancel = context.WithTimeout(ctx, 25*time.Second) // the suite waits 30 s
	defer cancel()
	h := c.handlers()
	c.m = mcpmgr.New(mcpmgr.Options{
		Name: "askback", Version: o.Client, Logger: slog.New(slog.NewTextHandler(o.Log, nil)),
		Inspect: &mcpmgr.Inspect{Push: mcpmgr.Handlers{Form: h.Form}},
	})
	defer c.m.Close()
	cfg := config.Server{Name: server, Transport: config.HTTP, URL: o.URL, Protocol: config.Auto}
	if o.Version != "" && o.Version < "2026-07-28" {
		cfg.Protocol = config.Legacy
	}
	c.m.Apply([]config.Server{cfg})
	return play(c)
}

// handlers answer every form as a person in a hurry would: with its defaults, and yes.
func (c *client) handlers() mcpmgr.Handlers {
	return mcpmgr.Handlers{Form: func(_ context.Context, q mcpmgr.FormRequest) (forms.Result, error) {
		vals := forms.Values{}
		for _, f := range q.Form.Fields {
			switch {
			case !f.Default.IsZero():
				vals[f.Name] = f.Default
			case f.Kind == forms.KindBoolean:
				vals[f.Name] = forms.BoolValue(true)
			case f.Required && f.Kind == forms.KindSingleSelect:
				vals[f.Name] = forms.TextValue(f.Options[0].Value)
			case f.Required && f.Kind == forms.KindString:
				vals[f.Name] = forms.TextValue("askback")
			}
		}
		return forms.Accept(vals), nil
	}}
}

func (c *client) connect() error { return c.m.Wait(c.ctx, server) }

func (c *client) call(name string, arguments json.RawMessage) {
	t, err := c.m.Tool(server, name)
	if err == nil {
		_, err = c.m.CallTool(c.ctx, t.Binding, arguments, c.handlers())
	}
	if err != nil {
		fmt.Fprintf(c.log, "call %s: %v\n", name, err) // many scenarios want a call to fail
	}
}

func (c *client) addNumbers() error {
	if err := c.connect(); err != nil {
		return err
	}
	c.call("add_numbers", json.RawMessage(`{"a":5,"b":3}`))
	return nil
}

// callAll calls every tool that was not left out.
func (c *client) callAll() error {
	if err := c.connect(); err != nil {
		return err
	}
	for _, t := range c.m.Tools() {
		c.call(t.Name, json.RawMessage(`{"region":"us-west1"}`))
	}
	return nil
}

// roundTrips makes the four calls of the round-trip scenario, one after the other.
func (c *client) roundTrips() error {
	if err := c.connect(); err != nil {
		return err
	}
	for _, name := range []string{"test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type"} {
		c.call(name, json.RawMessage(`{}`))
	}
	return nil
}

func (c *client) givenCalls() error {
	if err := c.connect(); err != nil {
		return err
	}
	for _, t := range c.hints.ToolCalls {
		args := t.Arguments
		if args == nil {
			args = json.RawMessage(`{}`)
		}
		c.call(t.Name, args)
	}
	return nil
}

// echoSchema sends one tool's schema, as it came, to the tool that looks at it.
func (c *client) echoSchema() error {
	if err := c.connect(); err != nil {
		return err
	}
	t, err := c.m.Tool(server, "json_schema_2020_12_tool")
	if err != nil {
		return err
	}
	c.call("json_schema_echo", slices.Concat([]byte(`{"schema":`), t.InputSchema, []byte(`}`)))
	return nil
}

// everyMethod uses a tool, a resource and a prompt once each.
func (c *client) everyMethod() error {
	if err := c.connect(); err != nil {
		return err
	}
	if tools := c.m.Tools(); len(tools) > 0 {
		c.call(tools[0].Name, json.RawMessage(`{}`))
	}
	name := func(method, key string) string {
		items, err := c.m.List(c.ctx, server, method)
		if err != nil || len(items) == 0 {
			return ""
		}
		var v map[string]any
		_ = json.Unmarshal(items[0], &v)
		s, _ := v[key].(string)
		return s
	}
	if uri := name("resources/list", "uri"); uri != "" {
		if _, err := c.m.ReadResource(c.ctx, server, uri, c.handlers()); err != nil {
			fmt.Fprintln(c.log, err)
		}
	}
	if prompt := name("prompts/list", "name"); prompt != "" {
		if _, err := c.m.GetPrompt(c.ctx, server, prompt, json.RawMessage(`{}`), c.handlers()); err != nil {
			fmt.Fprintln(c.log, err)
		}
	}
	return nil
}

// authorized authorizes as the user's act, with a browser that agrees, and makes one call.
func (c *client) authorized() error {
	if err := c.connect(); err == nil {
		return fmt.Errorf("the server asked for no authorization")
	}
	if err := c.m.Authorize(c.ctx, server, agree); err != nil {
		return err
	}
	for {
		st, _ := c.m.Server(server)
		if st.State == mcpmgr.StateReady {
			break
		}
		if st.State == mcpmgr.StateFailed && st.NeedsAuth && c.ctx.Err() != nil {
			return fmt.Errorf("still not authorized: %s", st.Reason)
		}
		select {
		case <-c.m.Changed():
		case <-time.After(50 * time.Millisecond):
		case <-c.ctx.Done():
			return context.Cause(c.ctx)
		}
	}
	c.call("test-tool", json.RawMessage(`{}`))
	return nil
}

// agree follows the authorization server's redirect to our own listener.
func agree(ctx context.Context, address string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
