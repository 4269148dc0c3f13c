package tui

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"askback/tui/hostview"
	"askback/tui/lineapp"
	"askback/tui/tty"
)

// runLines runs the surface without a screen. An interrupt is the person's key there; a hang-up and a
// termination end it like a screen.
func runLines(ctx context.Context, o Options, why string) (Outcome, error) {
	alive, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	run, end := context.WithCancelCause(ctx)
	defer end(nil)
	started := hostview.NewStarted()
	interrupt := make(chan struct{})
	lo := lineapp.Options{
		Backend: o.Backend, Servers: o.Servers, In: o.In, Out: o.Out,
		Session: o.Session, NewSession: o.NewSession, PermissionMode: o.PermissionMode, TrustedTools: o.TrustedTools, Version: o.Version,
		Why: why, Interrupt: interrupt, Now: o.Clock.Now,
	}
	if tty.IsTerminal(o.Out) {
		lo.Columns = func() int { return tty.Columns(o.Out) }
	}
	if tty.IsTerminal(o.In) {
		lo.DropTyped = func() { tty.DropTyped(o.In) }
		lo.Ready = func(ctx context.Context) error { return tty.WaitLine(ctx, o.In) }
	}
	app := lineapp.New(lo, started)

	r := &runner{o: o, end: end}
	r.spawn(func() {
		err := o.Backend.Run(alive, func(e hostview.Event) { app.Tell(run, e) })
		if alive.Err() == nil {
			end(&cause{Outcome{Reason: ReasonFailed}, err})
		}
	})
	r.lineSignals(run, interrupt)
	out, err := lineOutcome(app.Run(run), started.Busy())
	end(nil)
	if o.Servers != nil {
		stop, cancel := context.WithTimeout(alive, stopTime)
		out.Stopped = started.StopAll(stop, o.Backend)
		cancel()
	}
	release()
	r.wg.Wait()
	return out, err
}

// lineOutcome is why the lines ended.
func lineOutcome(err error, busy bool) (Outcome, error) {
	switch {
	case err == nil:
		return Outcome{Reason: ReasonQuit}, nil
	case errors.Is(err, lineapp.ErrEnded) && !busy:
		return Outcome{Reason: ReasonQuit}, nil // the usual way to leave lines, where nothing of ours is under way
	case errors.Is(err, lineapp.ErrEnded):
		return Outcome{Reason: ReasonEnded}, nil
	case errors.Is(err, context.Canceled):
		return Outcome{Reason: ReasonSignal}, nil
	}
	if c, ok := errors.AsType[*cause](err); ok {
		return c.outcome, c.err
	}
	return Outcome{Reason: ReasonFailed}, err
}

// lineSignals turns interrupts into the person's key and ends the run with the other signals.
func (r *runner) lineSignals(run context.Context, interrupt chan<- struct{}) {
	c := make(chan os.Signal, 4)
	signal.Notify(c, syscall.SIGTERM, syscall.SIGINT)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signal.Notify(c, syscall.SIGHUP)
	}
	r.spawn(func() {
		defer signal.Stop(c)
		for {
			select {
			case s := <-c:
				if s != syscall.SIGINT {
					r.end(&cause{outcome: Outcome{Reason: ReasonSignal, Signal: s}})
					return
				}
				select {
				case interrupt <- struct{}{}:
				case <-run.Done():
					return
				}
			case <-run.Done():
				return
			}
		}
	})
}
