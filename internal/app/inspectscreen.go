package app

import (
	"context"
	"errors"
	"fmt"

	"askback/internal/inspect"
	"askback/internal/inspect/screen"
)

// runInspectScreen shows the inspector on the terminal.
func runInspectScreen(ctx context.Context, g *globals, f *inspectFlags, opt inspect.Options) error {
	if f.ofRequest() || f.export != "" {
		return usagef(errOfRequest)
	}
	in, out := fileOf(g.env.stdin), fileOf(g.env.stdout)
	if in == nil || out == nil {
		return usagef(errors.New("inspect shows a screen, and there is no terminal; --json and --method work without one"))
	}
	if err := screen.Usable(in, out, g.env.getenv, g.accessible); err != nil {
		return usagef(fmt.Errorf("inspect shows a screen (%w); without one, --method makes one request and asks line by line", err))
	}
	err := screen.Run(ctx, screen.Options{
		Open: func(tell func(inspect.Event)) *inspect.Inspector {
			opt.Tell = tell
			return inspect.Open(opt)
		},
		Browser: inspect.Browser(g.env.getenv("BROWSER")), Values: f.values, Version: version,
		Getenv: g.env.getenv, In: in, Out: out, Logger: opt.Logger,
	})
	if e, ok := errors.AsType[*screen.Ended](err); ok {
		return &exitError{code: exitStopped, silent: true, err: e}
	}
	if err != nil && !errors.Is(err, errSignal) {
		return &exitError{code: exitFailed, err: err}
	}
	return err
}

var errOfRequest = errors.New("answers, arguments and --export belong to one request: name it with --method")

// ofRequest says whether a flag is given that means one request.
func (f *inspectFlags) ofRequest() bool {
	return f.answers.prepared() || len(f.sample) > 0 || f.name != "" || f.uri != "" || f.args != "" || f.params != ""
}

// prepared says whether any flag prepares an answer.
func (f *answerFlags) prepared() bool { p := prepared{flags: *f}; return p.given() }
