package tui

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"

	tea "github.com/charmbracelet/bubbletea"

	"askback/tui/hostview"
	"askback/tui/kit"
)

// runner owns the goroutines beside the program: the Backend, the pump of its events, the servers' watcher,
// signals and the end of the input. All end with the contexts of start.
type runner struct {
	o   Options
	p   *tea.Program
	end context.CancelCauseFunc
	wg  sync.WaitGroup
}

// start starts them. The Backend lives as long as alive, the others as long as run.
func (r *runner) start(alive, run context.Context, t *kit.Terminal) {
	pump := newPump()
	r.spawn(func() {
		err := r.o.Backend.Run(alive, pump.put)
		if alive.Err() == nil {
			r.end(&cause{Outcome{Reason: ReasonFailed}, err})
		}
	})
	r.spawn(func() { pump.run(run, func(batch []hostview.Event) { r.p.Send(toldAll(batch)) }) })
	if s := r.o.Servers; s != nil {
		r.spawn(func() { watchServers(run, s, r.p.Send) })
	}
	if r.o.Logs != nil {
		r.spawn(func() { watchLogs(run, r.o.Logs, pump.put) })
	}
	watch(t, r, run)
}

// spawn starts a goroutine whose panic ends the program instead of the process, so that the terminal is
// restored.
func (r *runner) spawn(f func()) {
	r.wg.Go(func() {
		defer func() {
			if v := recover(); v != nil {
				r.o.Logger.Error("panic", "value", v, "stack", string(debug.Stack()))
				r.end(&cause{Outcome{Reason: ReasonFailed}, &panicError{v}})
			}
		}()
		f()
	})
}

// watchSignals ends the program with the first signal.
func (r *runner) watchSignals(run context.Context) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT)
	r.spawn(func() {
		defer signal.Stop(c)
		select {
		case s := <-c:
			r.end(&cause{outcome: Outcome{Reason: ReasonSignal, Signal: s}})
		case <-run.Done():
		}
	})
}

func watchServers(ctx context.Context, s Servers, send func(tea.Msg)) {
	for {
		select {
		case <-s.Changed():
			send(served{s.Servers(), s.Tools()})
		case <-ctx.Done():
			return
		}
	}
}

func watchLogs(ctx context.Context, logs <-chan hostview.LogEntry, put func(hostview.Event)) {
	for {
		select {
		case e, ok := <-logs:
			if !ok {
				return
			}
			put(hostview.Logged{Entry: e})
		case <-ctx.Done():
			return
		}
	}
}

// pump hands events to the program in batches, so that a storm of them costs one frame and not thousands. put
// never blocks.
type pump struct {
	mu    sync.Mutex
	batch []hostview.Event
	some  chan struct{}
}

func newPump() *pump { return &pump{some: make(chan struct{}, 1)} }

func (p *pump) put(e hostview.Event) {
	p.mu.Lock()
	p.batch = append(p.batch, e)
	p.mu.Unlock()
	select {
	case p.some <- struct{}{}:
	default:
	}
}

func (p *pump) run(ctx context.Context, send func([]hostview.Event)) {
	for {
		select {
		case <-p.some:
			p.mu.Lock()
			batch := p.batch
			p.batch = nil
			p.mu.Unlock()
			if len(batch) > 0 {
				send(batch)
			}
		case <-ctx.Done():
			return
		}
	}
}
