package screen

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"askback/internal/inspect"
	"askback/tui/kit"
	"askback/tui/theme"
	"askback/tui/tty"
)

// Options say what a run shows and where. Open is needed.
type Options struct {
	// Open opens the inspector; tell must be its Options.Tell.
	Open func(tell func(inspect.Event)) *inspect.Inspector
	// Browser opens addresses, where the person agrees.
	Browser inspect.Browser
	// Folder is where exports are written; "" is the working folder.
	Folder string
	// Values leaves answers in exports.
	Values bool

	Version string
	Theme   *theme.Theme // nil: as the environment asks
	Getenv  func(string) string
	In, Out *os.File
	// Terminal replaces In and Out, and with them raw mode and signals.
	Terminal *kit.Emulator
	Now      func() time.Time
	Logger   *slog.Logger
}

// Ended is why a run ended without the person's leaving: a signal, or (nil) a terminal that went away.
type Ended struct{ Signal os.Signal }

func (e *Ended) Error() string {
	if e.Signal == nil {
		return "the terminal has gone"
	}
	return "stopped by a signal: " + e.Signal.String()
}

// Run shows the inspector until the person leaves (nil), a signal comes or the terminal is gone (*Ended), or ctx ends
// (its cause). It closes the inspector, which aborts what is open.
func Run(ctx context.Context, o Options) error {
	o = o.withDefaults()
	run, end := context.WithCancelCause(ctx)
	defer end(nil)
	pump := &pump{some: make(chan struct{}, 1)}
	ins := o.Open(pump.put)
	defer ins.Close()
	t := kit.OpenTerminal(o.Terminal, o.In, o.Out, o.Getenv)
	m := newModel(run, o, ins, t)
	net := &net{m: m, logger: o.Logger, fail: func(err error) { end(err) }}
	p := tea.NewProgram(net, t.Options(run)...)
	var wg sync.WaitGroup
	watch(t, run, p, end, func(f func()) { wg.Go(f) })
	wg.Go(func() { pump.run(run, func(events []inspect.Event) { p.Send(told(events)) }) })
	_, err := p.Run()
	t.Restore()
	left := m.quitting
	cause := context.Cause(run)
	end(nil)
	wg.Wait()
	switch {
	case net.panicked != nil:
		return net.panicked
	case left:
		return nil
	case cause != nil:
		return cause
	case err != nil:
		return fmt.Errorf("the terminal program failed: %w", err)
	}
	return &Ended{}
}

func (o Options) withDefaults() Options {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.In == nil {
		o.In = os.Stdin
	}
	if o.Out == nil {
		o.Out = os.Stdout
	}
	if o.Theme == nil {
		o.Theme = theme.FromEnv(o.Getenv)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Usable says why no screen can be drawn on the process's terminal; nil when one can.
func Usable(in, out *os.File, getenv func(string) string, accessible bool) error {
	s := tty.Detect(in, out, getenv, accessible)
	switch {
	case s.Screen:
		return nil
	case s.Why != "":
		return errors.New(s.Why)
	}
	return errors.New("lines were asked for")
}

// pump hands events to the program in batches, so that a storm of them costs one frame and not thousands.
type pump struct {
	mu    sync.Mutex
	batch []inspect.Event
	some  chan struct{}
}

func (p *pump) put(e inspect.Event) {
	p.mu.Lock()
	p.batch = append(p.batch, e)
	p.mu.Unlock()
	select {
	case p.some <- struct{}{}:
	default:
	}
}

func (p *pump) take() []inspect.Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.batch
	p.batch = nil
	return b
}

func (p *pump) run(ctx context.Context, send func([]inspect.Event)) {
	for {
		select {
		case <-p.some:
			if b := p.take(); len(b) > 0 {
				send(b)
			}
		case <-ctx.Done():
			return
		}
	}
}

// net is what the screen program runs: the model, with a net below it. A panic in Update, in View or in a command
// ends the program in order, with the terminal restored and the stack in the log.
type net struct {
	m        *Model
	logger   *slog.Logger
	fail     func(error)
	panicked error
	last     string
}

// crashed is a panic in a command.
type crashed struct{ err error }

// Init implements tea.Model.
func (n *net) Init() tea.Cmd { return n.m.Init() }

// Update implements tea.Model.
func (n *net) Update(msg tea.Msg) (_ tea.Model, cmd tea.Cmd) {
	defer func() {
		if v := recover(); v != nil {
			cmd = n.crash(v)
		}
	}()
	if c, ok := msg.(crashed); ok {
		n.panicked = c.err
		return n, tea.Quit
	}
	_, cmd = n.m.Update(msg)
	return n, n.safely(cmd)
}

// View implements tea.Model.
func (n *net) View() (frame string) {
	defer func() {
		if v := recover(); v != nil {
			n.crash(v)
			frame = n.last
		}
	}()
	if n.panicked != nil {
		return n.last
	}
	n.last = n.m.View()
	return n.last
}

func (n *net) crash(v any) tea.Cmd {
	n.logger.Error("panic", "value", v, "stack", string(debug.Stack()))
	if n.panicked == nil {
		n.panicked = fmt.Errorf("internal error: %v", v)
		n.fail(n.panicked)
	}
	return tea.Quit
}

// safely catches the panics of a command and of those that it makes.
func (n *net) safely(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() (msg tea.Msg) {
		defer func() {
			if v := recover(); v != nil {
				n.logger.Error("panic", "value", v, "stack", string(debug.Stack()))
				msg = crashed{fmt.Errorf("internal error: %v", v)}
			}
		}()
		msg = cmd()
		if batch, ok := msg.(tea.BatchMsg); ok {
			for i := range batch {
				batch[i] = n.safely(batch[i])
			}
		}
		return msg
	}
}
