package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"askback/internal/strictjson"
	"askback/protocol"
)

type callFlags struct {
	args    string
	json    bool
	answers answerFlags
}

func newCall(g *globals) *cobra.Command {
	f := &callFlags{}
	cmd := &cobra.Command{
		Use:   "call SERVER/TOOL",
		Short: "Call one tool, and answer what it asks",
		Long: `call starts the named server, calls one tool through a Host and prints the result. A form that the tool asks for
is answered from the flags, or by you when this is a terminal; without either the call ends at once with exit
code 3 and says what was asked. End of input is never an answer.`,
		Example: `  askback call demo/deploy --args '{"artifact":"build-42"}' --set environment=staging --set confirm=true
  askback call demo/survey --answers answers.json --json
  askback call demo/deploy --args @args.json --decline`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runCall(cmd.Context(), g, f, args[0])
		},
	}
	cmd.Flags().StringVar(&f.args, "args", "{}", "the tool's arguments: a `JSON` object, or @file (@- is the standard input)")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON value on stdout and nothing else")
	f.answers.register(cmd)
	return cmd
}

// callFailure is a call that ended without a result: one of the stable codes, and what else the JSON says.
type callFailure struct {
	code      string
	message   string
	uncertain bool
	cause     error // a *noAnswer or *wrongAnswer
	exit      int   // 0: that of the code
}

func (e *callFailure) Error() string {
	if e.cause != nil {
		return e.cause.Error()
	}
	return e.message
}

func runCall(ctx context.Context, g *globals, f *callFlags, name string) error {
	ctx, stop := withSignals(ctx)
	defer stop()
	server, tool, ok := strings.Cut(name, "/")
	if !ok || server == "" || tool == "" {
		return usagef(fmt.Errorf("%q is not SERVER/TOOL, for example demo/deploy", name))
	}
	c := &caller{g: g, server: server, tool: tool}
	out, err := c.prepareAndRun(ctx, f)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errSignal) && !isFailure(err) {
		err = &callFailure{code: "cancelled", message: cause.Error()}
	}
	if err != nil {
		return c.failed(err, f.json)
	}
	return c.succeeded(out, f.json)
}

// prepareAndRun reads the flags, before anything is started.
func (c *caller) prepareAndRun(ctx context.Context, f *callFlags) (out *callOutput, err error) {
	if strings.ContainsAny(c.tool, " \t\r\n") {
		return nil, usagef(fmt.Errorf("the tool's name %q holds a blank, which ends a name in a /call line; inspect can call it", c.tool))
	}
	if c.args, err = c.g.readArguments(ctx, f.args); err != nil {
		return nil, err
	}
	if c.answers, err = f.answers.prepare(ctx, c.g); err != nil {
		return nil, err
	}
	return c.run(ctx)
}

func isFailure(err error) bool {
	_, ok := errors.AsType[*callFailure](err)
	return ok
}

// readArguments reads --args into one line of JSON, which a /call line can hold.
func (g *globals) readArguments(ctx context.Context, arg string) (json.RawMessage, error) {
	data := []byte(arg)
	if file, ok := strings.CutPrefix(arg, "@"); ok {
		var err error
		if data, err = g.readInput(ctx, file, 1<<20); err != nil {
			return nil, usagef(fmt.Errorf("--args: %w", err))
		}
	}
	v, err := strictjson.Parse(data, strictjson.Limits{MaxBytes: 1 << 20})
	if err != nil {
		return nil, usagef(fmt.Errorf("--args: %w", err))
	}
	if v.Kind() != strictjson.Object {
		return nil, usagef(errors.New("--args must be a JSON object"))
	}
	var line bytes.Buffer
	if err := json.Compact(&line, data); err != nil {
		return nil, usagef(fmt.Errorf("--args: %w", err))
	}
	if line.Len() > protocol.MaxTextBytes/2 {
		return nil, usagef(fmt.Errorf("--args is too large: %d bytes, and a call may have %d", line.Len(), protocol.MaxTextBytes/2))
	}
	return line.Bytes(), nil
}

// callOutput is a call that succeeded.
type callOutput struct {
	result json.RawMessage // {"content":[…],"structuredContent"?}
	forms  int
}

func (c *caller) succeeded(out *callOutput, asJSON bool) error {
	c.answers.tellUnused(c.g)
	if asJSON {
		fmt.Fprintf(c.g.env.stdout, "{\"result\":%s,\"forms\":%d}\n", out.result, out.forms)
		return nil
	}
	text, err := resultText(out.result)
	if err != nil {
		return err
	}
	fmt.Fprint(c.g.env.stdout, text)
	return nil
}

// failed prints the JSON of a failure and gives the error that ends the process.
func (c *caller) failed(err error, asJSON bool) error {
	f, ok := errors.AsType[*callFailure](err)
	if !ok {
		body := map[string]any{"code": genericCode(err), "message": err.Error(), "server": c.server, "tool": c.tool}
		return &exitError{code: exitCode(err), err: err, json: map[string]any{"error": body}}
	}
	exit := f.exit
	if exit == 0 {
		exit = codeExit(f.code)
	}
	if !asJSON {
		return &exitError{code: exit, err: f}
	}
	body := map[string]any{"code": f.code, "message": f.Error(), "server": c.server, "tool": c.tool}
	if f.uncertain {
		body["uncertain"] = true
	}
	formError(body, f.cause)
	return &exitError{code: exit, err: f, json: map[string]any{"error": body}}
}
