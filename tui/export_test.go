package tui

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"
)

// ProgramModel is the model that Run runs, for tests that make the tea.Program themselves. start starts what Run
// has beside the program; stop, which it returns, ends that and waits. ctx is the run's.
func ProgramModel(ctx context.Context, o Options) (model tea.Model, start func(*tea.Program) (stop func())) {
	o = withDefaults(o)
	run, end := context.WithCancelCause(ctx)
	term := openTerminal(o)
	s := &shell{m: newModel(run, o, term), logger: o.Logger, watch: o.Watch}
	return s, func(p *tea.Program) func() {
		r := &runner{o: o, p: p, end: end}
		alive, release := context.WithCancel(ctx)
		r.start(alive, run, term)
		return func() {
			end(nil)
			release()
			r.wg.Wait()
		}
	}
}
