package acceptance

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"askback/forms"
	"askback/internal/inspect"
	"askback/mcpmgr/config"
)

// openInspector keeps an inspector open beside a test, with a legacy and a modern connection of its own on which forms
// and sampling wait to be answered.
type openInspector struct {
	ins  *inspect.Inspector
	mu   sync.Mutex
	asks []*inspect.Ask
	some chan struct{}
	ends chan inspect.Ended
}

func inspectBeside(t *testing.T) *openInspector {
	t.Helper()
	servers := map[string]config.Protocol{"modern": config.Modern, "legacy": config.Legacy}
	i := &openInspector{some: make(chan struct{}, 64), ends: make(chan inspect.Ended, 64)}
	o := inspect.Options{Name: "inspector", Version: "1", Tell: i.tell}
	for name, era := range servers {
		o.Servers = append(o.Servers, config.Server{Name: name, Transport: config.Stdio, Command: os.Args[0], Protocol: era,
			Env:   []config.Pair{{Name: serveAs, Value: "stdio"}, {Name: recordTo, Value: filepath.Join(t.TempDir(), name)}, {Name: "GORACE", Value: "atexit_sleep_ms=0"}},
			Roots: []config.Root{{URI: "file:///"}}})
	}
	i.ins = inspect.Open(o)
	t.Cleanup(i.ins.Close)
	for name := range servers {
		if err := i.ins.Wait(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		for _, tool := range []string{"mrtr_confirm", "mrtr_sample"} {
			i.ins.Call(inspect.Request{Server: name, Method: "tools/call", Name: tool})
		}
	}
	for range 4 {
		select {
		case <-i.some:
		case <-time.After(patience):
			t.Fatal("the inspector is not asked")
		}
	}
	return i
}

func (i *openInspector) tell(e inspect.Event) {
	switch e := e.(type) {
	case inspect.Asked:
		i.mu.Lock()
		i.asks = append(i.asks, e.Ask)
		i.mu.Unlock()
		i.some <- struct{}{}
	case inspect.Ended:
		i.ends <- e
	}
}

// finish answers what waits: nothing that happened beside it has ended a call of the inspector.
func (i *openInspector) finish(t *testing.T) {
	t.Helper()
	sample, err := inspect.SamplingAnswer("Paris")
	if err != nil {
		t.Fatal(err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, a := range i.asks {
		r := inspect.Reply{Result: forms.Accept(forms.Values{"confirm": forms.BoolValue(true)})}
		if a.Kind == inspect.AskSampling {
			r = inspect.Reply{Message: sample}
		}
		if !i.ins.Answer(a.ID, r) {
			t.Errorf("%s of %s was taken back", a.Kind, a.Origin.Server)
		}
	}
	for range i.asks {
		select {
		case e := <-i.ends:
			if e.Err != nil {
				t.Error(e.Err)
			}
		case <-time.After(patience):
			t.Fatal("a call of the inspector does not end")
		}
	}
}

// The Host path is what it is, whatever an inspector in the same program declares, asks and holds open.
func TestCriteriaBesideAnInspector(t *testing.T) {
	i := inspectBeside(t)
	t.Run("beside", func(t *testing.T) { // ends when its parallel tests have
		for name, criterion := range map[string]func(T){"AC11": ac11, "AC13": ac13, "AC15": ac15} {
			t.Run(name, func(t *testing.T) { criterion(live{t}) })
		}
	})
	i.finish(t)
}
