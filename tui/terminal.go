package tui

import (
	"context"

	"askback/tui/kit"
)

func openTerminal(o Options) *kit.Terminal {
	return kit.OpenTerminal(o.Terminal, o.In, o.Out, o.Getenv)
}

// watch starts what tells the program of sizes, signals and the end of the input.
func watch(t *kit.Terminal, r *runner, run context.Context) {
	if !t.Real() {
		r.spawn(func() { t.WatchSize(run, r.p) })
		return
	}
	r.watchSignals(run)
	r.spawn(func() {
		select {
		case <-t.Ended():
			r.end(&cause{outcome: Outcome{Reason: ReasonEnded}})
		case <-run.Done():
		}
	})
}
