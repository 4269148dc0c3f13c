package tui

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"askback/tui/theme"
	"askback/tui/tty"
)

// stopTime is how long the Host has for stopping our Turns when the program ends.
const stopTime = 3 * time.Second

// Run shows the terminal surface until the person leaves, a signal comes, ctx ends or the terminal is gone.
// It runs the Backend and returns when that has ended; it closes nothing else. Where the tools run here, our
// running Turns are stopped before the Backend ends. No way of ending sends an answer. The error is nil unless
// the reason is ReasonFailed.
func Run(ctx context.Context, o Options) (Outcome, error) {
	if o.Backend == nil {
		return Outcome{Reason: ReasonFailed}, errors.New("the terminal needs a Host")
	}
	o = withDefaults(o)
	if o.Terminal == nil {
		if s := tty.Detect(o.In, o.Out, o.Getenv, o.Accessible); !s.Screen {
			return runLines(ctx, o, s.Why)
		}
	}
	return runScreen(ctx, o)
}

func withDefaults(o Options) Options {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.In == nil {
		o.In = os.Stdin
	}
	if o.Out == nil {
		o.Out = os.Stdout
	}
	if o.Clock == nil {
		o.Clock = systemClock{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func runScreen(ctx context.Context, o Options) (Outcome, error) {
	if o.Theme == nil {
		o.Theme = theme.FromEnv(o.Getenv)
	}
	// Programs that stop the Turns need a Host that is still there, whatever ended ctx.
	alive, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	run, end := context.WithCancelCause(ctx)
	defer end(nil)

	term := openTerminal(o)
	model := newModel(run, o, term)
	shell := &shell{m: model, logger: o.Logger, watch: o.Watch}
	shell.fail = func(err error) { end(&cause{Outcome{Reason: ReasonFailed}, err}) }
	p := tea.NewProgram(shell, term.Options(run)...)

	r := &runner{o: o, p: p, end: end}
	r.start(alive, run, term)
	_, err := p.Run()
	term.Restore()
	// From here on nothing is drawn: what the program waits for below is bounded.
	out, err := r.outcome(model, shell, run, err)
	end(nil)
	if o.Servers != nil {
		stop, cancel := context.WithTimeout(alive, stopTime)
		out.Stopped = model.ours.StopAll(stop, o.Backend)
		cancel()
	}
	release()
	r.wg.Wait()
	return out, err
}

// cause is why the program was ended from outside.
type cause struct {
	outcome Outcome
	err     error
}

func (c *cause) Error() string {
	if c.err != nil {
		return c.err.Error()
	}
	return string(c.outcome.Reason)
}

// outcome decides why the program ended. Nothing but a person's leaving is a quit.
func (r *runner) outcome(m *Model, s *shell, run context.Context, err error) (Outcome, error) {
	if s.panicked != nil {
		return Outcome{Reason: ReasonFailed}, s.panicked
	}
	if c, ok := errors.AsType[*cause](context.Cause(run)); ok {
		return c.outcome, c.err
	}
	switch {
	case m.outcome.Reason != "":
		return m.outcome, nil
	case run.Err() != nil:
		return Outcome{Reason: ReasonSignal}, nil
	case err == nil:
		return Outcome{Reason: ReasonEnded}, nil
	}
	return Outcome{Reason: ReasonFailed}, fmt.Errorf("the terminal program failed: %w", err)
}

// panicError is a panic that was caught.
type panicError struct{ value any }

func (p *panicError) Error() string { return fmt.Sprintf("internal error: %v", p.value) }
