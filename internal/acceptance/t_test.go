package acceptance

import (
	"context"
	"testing"
	"time"
)

// T is what a criterion needs of a test, so that it can also be run by one that wants it to fail.
type T interface {
	Helper()
	Log(args ...any)
	Logf(format string, args ...any)
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Failed() bool
	Cleanup(func())
	Context() context.Context
	TempDir() string
	Parallel()
	Run(name string, f func(T)) bool
	// Fault is what this run breaks; nil in a run that is meant to pass.
	Fault() *fault
}

// live is a T that is a test.
type live struct{ *testing.T }

func (l live) Run(name string, f func(T)) bool {
	return l.T.Run(name, func(t *testing.T) { f(live{t}) })
}

func (l live) Fault() *fault { return nil }

// patienceOf bounds the wait for a Turn's end; what is broken is not waited for that long.
func patienceOf(t T) time.Duration {
	if t.Fault() != nil {
		return 4 * time.Second
	}
	return patience
}
