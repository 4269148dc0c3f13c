package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"askback/forms"
	"askback/internal/inspect"
	"askback/internal/strictjson"
	"askback/mcpmgr"
	"askback/tui/linemode"
)

// inspectOnce is one request of an inspector without a screen, and the answers that it takes.
type inspectOnce struct {
	g       *globals
	f       *inspectFlags
	server  string
	args    json.RawMessage
	params  json.RawMessage
	answers *prepared
	samples []json.RawMessage
	ins     *inspect.Inspector
	log     *inspect.Log
	lines   *linemode.Lines // of a person, where there is one

	inbox   inbox
	queue   []*inspect.Ask
	asking  *inspect.Ask
	stop    context.CancelFunc // of asking
	given   chan askedReply
	forms   int  // answered, pushed ones too
	refused bool // something was declined, dismissed or rejected
}

type askedReply struct {
	ask   *inspect.Ask
	reply inspect.Reply
	err   error
}

// inbox collects events from any goroutine without making it wait.
type inbox struct {
	mu     sync.Mutex
	events []inspect.Event
	some   chan struct{}
}

func (b *inbox) put(e inspect.Event) {
	b.mu.Lock()
	b.events = append(b.events, e)
	b.mu.Unlock()
	select {
	case b.some <- struct{}{}:
	default:
	}
}

func (b *inbox) take() []inspect.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	events := b.events
	b.events = nil
	return events
}

func runInspectOnce(ctx context.Context, g *globals, f *inspectFlags, opt inspect.Options) error {
	c := &inspectOnce{g: g, f: f, log: inspect.NewLog(), given: make(chan askedReply, 1), inbox: inbox{some: make(chan struct{}, 1)}}
	if err := c.prepare(ctx, opt); err != nil {
		return err
	}
	export, err := c.openExport()
	if err != nil {
		return err
	}
	defer export.Close() // a nil or a closed one, too
	opt.Tell = c.inbox.put
	c.ins = inspect.Open(opt)
	out, err := c.run(ctx)
	c.ins.Close()
	c.drain()
	if c.lines != nil {
		c.lines.Close()
	}
	xerr := c.writeExport(export)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errSignal) && !isFailure(err) {
		err = &callFailure{code: "cancelled", message: cause.Error()}
	}
	if err != nil {
		return c.failed(err)
	}
	c.answers.tellUnused(g)
	if err := out(); err != nil {
		return err
	}
	return xerr
}

// prepare reads the flags, before anything is started.
func (c *inspectOnce) prepare(ctx context.Context, opt inspect.Options) (err error) {
	if c.answers, err = c.f.answers.prepare(ctx, c.g); err != nil {
		return err
	}
	for _, s := range c.f.sample {
		raw, err := c.g.readSample(ctx, s)
		if err != nil {
			return usagef(fmt.Errorf("--sample: %w", err))
		}
		c.samples = append(c.samples, raw)
	}
	if c.f.method == "" {
		if c.f.ofRequest() {
			return usagef(errOfRequest)
		}
		return nil
	}
	if c.args, err = c.g.readObject(ctx, "args", c.f.args); err != nil {
		return err
	}
	if c.params, err = c.g.readObject(ctx, "params", c.f.params); err != nil {
		return err
	}
	if len(opt.Servers) != 1 {
		return usagef(fmt.Errorf("--method speaks to one server; name one of the %d that are configured", len(opt.Servers)))
	}
	c.server = opt.Servers[0].Name
	return c.checkMethod()
}

// checkMethod wants the flags that the method needs, and no others.
func (c *inspectOnce) checkMethod() error {
	f := c.f
	needs := map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}[f.method]
	switch {
	case needs == "name" && f.name == "":
		return usagef(fmt.Errorf("%s needs --name", f.method))
	case needs == "uri" && f.uri == "":
		return usagef(fmt.Errorf("%s needs --uri", f.method))
	case needs != "name" && (f.name != "" || f.args != ""), needs != "uri" && f.uri != "":
		return usagef(errors.New("--name and --args belong to tools/call and prompts/get, --uri to resources/read"))
	case needs != "" && f.params != "":
		return usagef(fmt.Errorf("%s takes its params from --name, --uri and --args", f.method))
	case strings.HasSuffix(f.method, "/list") && f.params != "":
		return usagef(fmt.Errorf("%s reads all pages, and takes no --params", f.method))
	case needs == "" && (f.answers.prepared() || len(f.sample) > 0):
		return usagef(fmt.Errorf("%s asks for nothing: answers belong to tools/call, prompts/get and resources/read", f.method))
	}
	return nil
}

func (g *globals) readSample(ctx context.Context, s string) (json.RawMessage, error) {
	if file, ok := strings.CutPrefix(s, "@"); ok {
		data, err := g.readInput(ctx, file, 1<<20)
		if err != nil {
			return nil, err
		}
		s = string(data)
	}
	return inspect.SamplingAnswer(s)
}

// readObject reads a flag that is a JSON object, or @file; "" is nil. The text is kept as it is.
func (g *globals) readObject(ctx context.Context, flag, s string) (json.RawMessage, error) {
	if s == "" {
		return nil, nil
	}
	data := []byte(s)
	if file, ok := strings.CutPrefix(s, "@"); ok {
		var err error
		if data, err = g.readInput(ctx, file, 4<<20); err != nil {
			return nil, usagef(fmt.Errorf("--%s: %w", flag, err))
		}
	}
	v, err := strictjson.Parse(data, strictjson.Limits{MaxBytes: 4 << 20})
	if err != nil {
		return nil, usagef(fmt.Errorf("--%s: %w", flag, err))
	}
	if v.Kind() != strictjson.Object {
		return nil, usagef(fmt.Errorf("--%s must be a JSON object", flag))
	}
	return v.Raw(), nil
}

// run makes the request and returns what prints its result.
func (c *inspectOnce) run(ctx context.Context) (func() error, error) {
	if c.f.method == "" {
		return c.describe(ctx)
	}
	if err := c.ready(ctx, c.server); err != nil {
		return nil, err
	}
	switch m := c.f.method; m {
	case "tools/call", "prompts/get", "resources/read":
		res, err := c.call(ctx, inspect.Request{Server: c.server, Method: m, Name: c.f.name + c.f.uri, Arguments: c.args})
		return func() error { return c.printResult(res) }, err
	case "tools/list", "prompts/list", "resources/list", "resources/templates/list":
		items, err := c.ins.List(ctx, c.server, m)
		return func() error { return c.printList(items) }, err
	default:
		raw, err := c.ins.Request(ctx, c.server, m, c.params)
		return func() error { return c.printRaw(raw) }, err
	}
}

func (c *inspectOnce) ready(ctx context.Context, server string) error {
	err := c.ins.Wait(ctx, server)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	lines := []string{fmt.Sprintf("the server %s is not ready: %s", server, forms.Line(err.Error()))}
	for _, l := range c.ins.Status(server).Stderr {
		lines = append(lines, "  "+forms.Line(l))
	}
	return &exitError{code: exitUnreachable, err: errors.New(strings.Join(lines, "\n"))}
}

// call runs one call to its end and answers what it asks.
func (c *inspectOnce) call(ctx context.Context, q inspect.Request) (*mcpmgr.Result, error) {
	if q.Method == "tools/call" && !c.hasTool(q.Name) {
		return nil, notFoundf("the server %s has no tool %q; try --method tools/list", q.Server, q.Name)
	}
	run := c.ins.Call(q)
	var failure error
	fail := func(err error) {
		if failure == nil {
			failure = err
			c.ins.Abort(run)
		}
	}
	done := ctx.Done()
	for {
		select {
		case <-c.inbox.some:
			if end := c.drain(); end != nil && end.Run == run {
				c.stopAsking()
				return c.ended(end, failure)
			}
		case a := <-c.given:
			c.asking = nil
			if err := c.reply(a); err != nil {
				fail(err)
			}
		case <-done:
			fail(&callFailure{code: "cancelled", message: context.Cause(ctx).Error()})
			done = nil
		}
		if failure == nil {
			c.next(ctx)
		}
	}
}

func (c *inspectOnce) hasTool(name string) bool {
	for _, t := range c.ins.Tools(c.server) {
		if t.Name == name {
			return true
		}
	}
	return false
}

// ended is the end of the call. What ended it from here says more than that it was aborted.
func (c *inspectOnce) ended(end *inspect.Ended, failure error) (*mcpmgr.Result, error) {
	if end.Err == nil && failure == nil {
		return end.Result, nil
	}
	f, ok := errors.AsType[*callFailure](failure)
	if failure != nil && !ok {
		return nil, failure
	}
	if f == nil {
		f = &callFailure{code: string(end.Err.Code), message: forms.Block(end.Err.Message)}
		if c.refused && (f.code == "cancelled" || f.code == "server_error") {
			f.exit = exitDeclined
		}
	}
	if end.Err != nil && f.code == "cancelled" {
		f.uncertain = end.Err.Uncertain
	}
	return nil, f
}

// drain takes what has happened and returns the end of a call, if one is among it.
func (c *inspectOnce) drain() *inspect.Ended {
	var end *inspect.Ended
	for _, e := range c.inbox.take() {
		c.log.Apply(e)
		switch e := e.(type) {
		case inspect.Asked:
			c.queue = append(c.queue, e.Ask)
		case inspect.Withdrawn:
			c.withdraw(e.Ask)
		case inspect.Ended:
			end = &e
		case inspect.Progressed:
			fmt.Fprintln(c.g.env.stderr, progressLine(e.Progress))
		case inspect.Noticed:
			if e.Event.Kind == mcpmgr.EventLog {
				l := e.Event.Log
				fmt.Fprintf(c.g.env.stderr, "[%s] %s\n", forms.Line(strings.TrimSpace(l.Level+" "+l.Logger)), forms.Line(string(l.Data)))
			}
		}
	}
	return end
}

func progressLine(p mcpmgr.Progress) string {
	s := fmt.Sprintf("progress %g", p.Progress)
	if p.Total > 0 {
		s += fmt.Sprintf("/%g", p.Total)
	}
	if p.Message != "" {
		s += " " + forms.Line(p.Message)
	}
	return s
}

// openExport opens the file of the messages before anything is called: what cannot be written is no reason to lose a
// result. What it held before stays until there is something to write.
func (c *inspectOnce) openExport() (*os.File, error) {
	if c.f.export == "" {
		return nil, nil
	}
	file, err := os.OpenFile(c.f.export, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, usagef(fmt.Errorf("--export: %w", err))
	}
	return file, nil
}

// writeExport writes the messages. That it fails is told beside the result.
func (c *inspectOnce) writeExport(file *os.File) error {
	if file == nil {
		return nil
	}
	if len(c.log.Messages) == 0 {
		return nil // nothing was started: what the file held stays
	}
	_ = file.Truncate(0) // a pipe or a device holds nothing
	err := c.log.Export(file, inspect.Filter{}, c.f.values)
	if err == nil {
		err = file.Close() // some systems tell only now what could not be written
	}
	if err != nil {
		err = fmt.Errorf("--export: %w", err)
		fmt.Fprintf(c.g.env.stderr, "askback: %v\n", err)
		return &exitError{code: exitFailed, silent: true, err: err}
	}
	return nil
}
