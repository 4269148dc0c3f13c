// Package lineapp is the terminal surface in lines: for terminals that draw no screen, for pipes, and for screen
// readers. It prints what happens, reads commands, and puts forms with linemode. It writes no escape byte, and
// what came from elsewhere stands only in lines that begin with "| ".
package lineapp

import (
	"context"
	"errors"
	"io"
	"time"

	"askback/forms"
	"askback/tui/draft"
	"askback/tui/hostview"
	"askback/tui/linemode"
)

// Options says what the surface shows. Backend, In and Out are needed.
type Options struct {
	Backend hostview.Backend
	Servers hostview.Servers // nil where none run here
	In      io.Reader
	Out     io.Writer

	Session, NewSession, PermissionMode, Version string
	TrustedTools                                 bool

	Why       string          // why there is no screen; said once
	Interrupt <-chan struct{} // a ctrl+c of the person
	Now       func() time.Time
	Columns   func() int // of the terminal, for rows that begin with our bar; nil where Out is none
	// DropTyped throws away what was typed and not read yet, so that it cannot answer a form. nil where the
	// input is no terminal; then nothing rings either.
	DropTyped func()
	// Ready waits until a line can be read, so that no read is under way when a form takes the prompt back. nil
	// where the input is no terminal.
	Ready func(context.Context) error
}

// ErrEnded is the end of the input. Nothing was answered by it.
var ErrEnded = linemode.ErrEnded

// Refused is the end of a connection that is not made again by itself: nothing more can be done in lines.
type Refused struct{ Why string }

func (e *Refused) Error() string { return "the Host cannot be used: " + e.Why }

// stopWindow is how long the second ctrl+c may take.
const stopWindow = 2 * time.Second

// app is one run. Everything but the reading of lines and what a request waits for happens on one goroutine.
type app struct {
	o     Options
	lines *linemode.Lines
	out   *printer

	events chan hostview.Event
	done   chan func() // ends of requests, to be run by the loop

	host     hostview.Host
	state    hostview.State
	sessions []hostview.Session
	listed   bool
	open     string
	turn     *hostview.Turn
	over     string // the Turn whose end was told
	ours     *hostview.Started
	waitFor  int // requests of ours that the prompt waits for
	pending  []hostview.Interaction
	left     map[string]bool // shown, and left pending on purpose
	answers  map[string]draft.Answers
	asking   *asking
	seen     map[string]bool // rows that were printed
	steps    map[string]int
	names    map[string]string // tool calls
	stopping bool
	armed    time.Time
	bypass   map[string]bool
	quit     bool
	refused  *Refused
	reached  bool            // the Host was ready once
	running  map[string]bool // calls of the Turn that was started last, without a result yet
	awaited  string          // the Turn whose results the prompt waited for last
	printed  func()          // ends the wait for their results
}

// run is Run's loop: what waits for the person comes first, then what has happened, then a command.
func (a *app) run(ctx context.Context) error {
	a.hello()
	for !a.quit {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if a.refused != nil {
			return a.refused
		}
		if in, ok := a.next(); ok {
			if err := a.ask(ctx, in); err != nil {
				return err
			}
			continue
		}
		if !a.prompting() {
			if err := a.wait(ctx); err != nil {
				return err
			}
			continue
		}
		if err := a.prompt(ctx); err != nil {
			return err
		}
	}
	return nil
}

// An App is the surface of one Host.
type App struct{ a *app }

// New returns a surface. Events may be given to it before Run.
func New(o Options, ours *hostview.Started) *App {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &App{&app{
		o: o, lines: linemode.NewLines(o.In), out: &printer{w: o.Out, columns: o.Columns}, ours: ours,
		events: make(chan hostview.Event, 1024), done: make(chan func(), 64),
		left: map[string]bool{}, answers: map[string]draft.Answers{}, seen: map[string]bool{},
		steps: map[string]int{}, names: map[string]string{}, running: map[string]bool{}, printed: func() {}, bypass: map[string]bool{},
	}}
}

// Tell gives an event of the Backend to the surface. It waits while the surface is far behind, until ctx ends.
func (p *App) Tell(ctx context.Context, e hostview.Event) {
	select {
	case p.a.events <- e:
	case <-ctx.Done():
	}
}

// Run shows the surface until the person leaves (nil), the input ends (ErrEnded), ctx ends (its cause) or Out
// fails. A Host that refuses the connection is a *Refused.
func (p *App) Run(ctx context.Context) error {
	defer p.a.lines.Close()
	return p.a.run(ctx)
}

// prompting says whether a line of the person would be read now: not while a Turn of theirs runs.
func (a *app) prompting() bool {
	return a.waitFor == 0 && !a.ours.Busy() && (a.open != "" || a.listed)
}

// next is the first form that wants an answer.
func (a *app) next() (hostview.Interaction, bool) {
	if a.state != hostview.StateReady {
		return hostview.Interaction{}, false
	}
	for _, in := range a.pending {
		if !a.left[in.ID] {
			return in, true
		}
	}
	return hostview.Interaction{}, false
}

// wait lets one thing happen.
func (a *app) wait(ctx context.Context) error {
	select {
	case e := <-a.events:
		a.event(ctx, e)
	case f := <-a.done:
		f()
	case <-a.o.Interrupt:
		a.interrupt(ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return a.out.err
}

// request runs f beside the loop; what it returns is run by the loop.
func (a *app) request(ctx context.Context, f func() func()) {
	a.waitFor++
	go func() {
		end := f()
		select {
		case a.done <- func() { a.waitFor--; end() }:
		case <-ctx.Done():
		}
	}()
}

// errTaken takes a prompt back because something else has come up.
var errTaken = errors.New("something else came up")

// prompt reads one command.
func (a *app) prompt(ctx context.Context) error {
	text, err := a.readLine(ctx, "> ", func() bool {
		_, form := a.next()
		return form || !a.prompting()
	})
	switch {
	case errors.Is(err, errTaken):
		return a.out.err
	case err != nil:
		return err
	}
	return a.command(ctx, text)
}

// readLine reads one line of the person. Something that happens meanwhile is printed; taken says whether it takes
// the prompt back, and then the error is errTaken. A line that was begun before does not count.
func (a *app) readLine(ctx context.Context, prompt string, taken func() bool) (string, error) {
	lineCtx, take := context.WithCancelCause(ctx)
	defer take(nil)
	type line struct {
		text string
		err  error
	}
	got := make(chan line, 1)
	a.out.text("%s", prompt)
	go func() {
		if a.o.Ready != nil {
			if err := a.o.Ready(lineCtx); err != nil {
				got <- line{"", err}
				return
			}
		}
		s, err := a.lines.Read(lineCtx)
		got <- line{s, err}
	}()
	for {
		before := a.out.n
		select {
		case l := <-got:
			switch {
			case errors.Is(l.err, linemode.ErrEnded):
				a.out.line("")
				return "", ErrEnded
			case errors.Is(l.err, errTaken):
				a.out.line("")
				return "", errTaken
			case l.err != nil && ctx.Err() != nil:
				return "", context.Cause(ctx)
			case l.err != nil:
				a.out.line("! That line was dropped. Write it again.")
				return "", errTaken
			}
			return l.text, a.out.err
		case e := <-a.events:
			a.event(ctx, e)
		case f := <-a.done:
			f()
		case <-a.o.Interrupt:
			a.out.line("")
			a.interrupt(ctx)
		}
		if a.quit || a.refused != nil || taken() {
			take(errTaken)
		} else if a.out.n != before {
			a.out.text("%s", prompt)
		}
	}
}

// interrupt is ctrl+c: twice within two seconds stops the Turn, or leaves where none runs.
func (a *app) interrupt(ctx context.Context) {
	again := !a.armed.IsZero() && a.o.Now().Sub(a.armed) < stopWindow
	a.armed = a.o.Now()
	running := a.turn != nil && !a.turn.Terminal()
	switch {
	case running && a.stopping:
		a.out.line("The Turn is being stopped.")
	case running && again:
		a.stop(ctx)
	case running:
		a.out.line("ctrl+c again stops the Turn.")
	case again:
		a.quit = true
	default:
		a.out.line("ctrl+c again leaves.")
	}
}

func (a *app) stop(ctx context.Context) {
	t := *a.turn
	a.stopping, a.armed = true, time.Time{}
	a.out.line("Stopping the Turn.")
	a.request(ctx, func() func() {
		after, err := a.o.Backend.Stop(ctx, t)
		return func() {
			a.stopping = false
			if err != nil {
				a.out.line("! The Turn could not be stopped: %s", reason(err))
				return
			}
			a.ours.Saw(after)
			if a.turn != nil && a.turn.TurnID == after.TurnID && after.Terminal() {
				a.turn = &after
			}
		}
	})
}

// reason is an error as one line.
func reason(err error) string {
	if e, ok := errors.AsType[*hostview.Error](err); ok {
		return forms.Line(e.Message + " (" + string(e.Code) + ")")
	}
	return forms.Line(err.Error())
}
