package tui

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"askback/tui/hostview"
)

// fakeHost is a Backend whose answers a test decides. Every call is counted.
type fakeHost struct {
	mu      sync.Mutex
	calls   []string
	answers []sentAnswer
	fail    map[string]error // by method: what the next call of it returns
	turns   int
	onCall  func(string)
	mode    string
	outcome *hostview.Outcome // of the next answer; nil: the answer given
	hold    chan struct{}     // Answer waits for it, where it is set
}

type sentAnswer struct {
	in hostview.Interaction
	a  hostview.Answer
}

func newFakeHost() *fakeHost { return &fakeHost{fail: map[string]error{}} }

func (f *fakeHost) call(name, arg string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, name+" "+arg)
	err := f.fail[name]
	delete(f.fail, name)
	return err
}

func (f *fakeHost) count(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, c := range f.calls {
		if len(c) >= len(name) && c[:len(name)] == name {
			n++
		}
	}
	return n
}

func (f *fakeHost) Run(ctx context.Context, send func(hostview.Event)) error {
	<-ctx.Done()
	return nil
}

func (f *fakeHost) Retry() { _ = f.call("retry", "") }

func (f *fakeHost) Open(ctx context.Context, id string) error  { return f.call("open", id) }
func (f *fakeHost) Older(ctx context.Context, id string) error { return f.call("older", id) }

func (f *fakeHost) Create(ctx context.Context, s hostview.NewSession) (hostview.Session, error) {
	err := f.call("create", s.Name+" "+s.Mode)
	return hostview.Session{ID: "s-" + s.Name, Name: s.Name, Mode: s.Mode}, err
}

func (f *fakeHost) Remove(ctx context.Context, s hostview.Session) error {
	return f.call("remove", s.ID)
}

func (f *fakeHost) SetMode(ctx context.Context, s hostview.Session, mode string) (hostview.Session, error) {
	err := f.call("mode", s.ID+" "+mode)
	s.Mode = mode
	return s, err
}

func (f *fakeHost) Start(ctx context.Context, session, text string) (hostview.Turn, error) {
	err := f.call("start", text)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.turns++
	return hostview.Turn{SessionID: session, TurnID: fmt.Sprintf("t%d", f.turns), RunID: "r", Status: "running"}, err
}

func (f *fakeHost) Stop(ctx context.Context, t hostview.Turn) (hostview.Turn, error) {
	err := f.call("stop", t.TurnID)
	t.Status = "cancelled"
	return t, err
}

func (f *fakeHost) Answer(ctx context.Context, in hostview.Interaction, a hostview.Answer) (hostview.Outcome, error) {
	if f.hold != nil {
		select {
		case <-f.hold:
		case <-ctx.Done():
			return hostview.Outcome{}, errors.New("the connection is gone")
		}
	}
	if err := f.call("answer", in.ID); err != nil {
		return hostview.Outcome{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers = append(f.answers, sentAnswer{in, a})
	if o := f.outcome; o != nil {
		f.outcome = nil
		return *o, nil
	}
	return hostview.Outcome{Status: hostview.StatusAnswered, Answer: a}, nil
}

// fakeServers is a fixed set of servers.
type fakeServers struct {
	servers []hostview.Server
	tools   []hostview.Tool
	changed chan struct{}
	mu      sync.Mutex
	begun   []string
}

func (f *fakeServers) Servers() []hostview.Server { return f.servers }
func (f *fakeServers) Tools() []hostview.Tool     { return f.tools }
func (f *fakeServers) Changed() <-chan struct{}   { return f.changed }
func (f *fakeServers) Restart(ctx context.Context, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begun = append(f.begun, name)
	return nil
}
