package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"askback/mcpmgr"
)

// errSignal is the cause of a context that a signal ended.
var errSignal = errors.New("stopped by a signal")

// withSignals ends the context at SIGINT, SIGTERM, SIGQUIT and SIGHUP, with errSignal as its cause. A lost terminal
// sends more than one SIGHUP, from the kernel and from the shell, so a further one changes nothing while the command
// ends. A further one of the others ends the process at once, unless it is the same act: timeout(1) signals its child,
// and then the group that the child is in. The returned function comes last, when all has been ended.
func withSignals(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	stop := onSignals(func(s os.Signal) { cancel(fmt.Errorf("%w: %v", errSignal, s)) },
		syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGHUP)
	return ctx, func() { stop(); cancel(context.Canceled) }
}

// withEndSignals is withSignals for a terminal UI, where SIGINT is a key and the UI tells itself how it ended.
func withEndSignals(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	stop := onSignals(func(os.Signal) { cancel() }, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGHUP)
	return ctx, func() { stop(); cancel() }
}

// sameAct is how soon after the first signal another one tells nothing new.
const sameAct = 300 * time.Millisecond

// onSignals calls end with the first of the signals, and keeps the process alive through what may follow it. A SIGHUP
// that was ignored at the start, as nohup has it, stays ignored: to be notified of it would end that.
func onSignals(end func(os.Signal), sigs ...os.Signal) (stop func()) {
	sigs = slices.DeleteFunc(sigs, func(s os.Signal) bool { return s == syscall.SIGHUP && signal.Ignored(s) })
	ch, done, ended := make(chan os.Signal, 4), make(chan struct{}), make(chan struct{})
	signal.Notify(ch, sigs...)
	came := false // guarded by ended
	var first time.Time
	go func() {
		defer close(ended)
		for {
			select {
			case s := <-ch:
				switch {
				case !came:
					came, first = true, time.Now()
					end(s)
				case s != syscall.SIGHUP && time.Since(first) > sameAct:
					mcpmgr.KillChildren()
					signal.Reset(s)
					_ = syscall.Kill(os.Getpid(), s.(syscall.Signal))
				}
			case <-done:
				return
			}
		}
	}()
	return func() {
		close(done)
		<-ended
		if came { // what is left is to say so, which a further SIGHUP must not cut short
			signal.Ignore(syscall.SIGHUP)
		}
		signal.Stop(ch)
	}
}
