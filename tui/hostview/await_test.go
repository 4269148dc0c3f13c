package hostview

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

type startingServers struct {
	mu   sync.Mutex
	list []Server
}

func (s *startingServers) Servers() []Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.list)
}
func (s *startingServers) set(list ...Server) { s.mu.Lock(); s.list = list; s.mu.Unlock() }
func (*startingServers) Tools() []Tool        { return nil }
func (*startingServers) Changed() <-chan struct{} {
	return nil
}
func (*startingServers) Restart(context.Context, string) error { return nil }
func (*startingServers) Reload(context.Context) error          { return nil }

func TestStartingFor(t *testing.T) {
	s := &startingServers{}
	s.set(Server{Name: "a", State: "connecting"}, Server{Name: "b", State: "offering its tools"}, Server{Name: "c", State: "ready", Ready: true}, Server{Name: "d", State: "failed"})
	for text, want := range map[string][]string{
		"/call a/x":                     {"a"},
		"/call a/x {}\n/call b/y\n":     {"a", "b"},
		"/call a/x\n/call a/y":          {"a"},
		"  /call  b/y {\"k\":\"a/b\"}":  {"b"},
		"/call c/x\n/call d/x":          nil,
		"/call nobody/x":                nil,
		"/call a":                       nil,
		"please look at a/x":            nil,
		"":                              nil,
		"/call a/x and\nmore\n/callb/y": {"a"},
	} {
		if got := StartingFor(s, text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if StartingFor(nil, "/call a/x") != nil {
		t.Error("no servers run here, and one is waited for")
	}
}

func TestAwaitTools(t *testing.T) {
	connecting, offering := Server{Name: "a", State: "connecting"}, Server{Name: "a", State: "offering its tools"}
	for name, c := range map[string]struct {
		steps []Server // one a second
		takes time.Duration
	}{
		"ready at once":  {[]Server{{Name: "a", State: "ready", Ready: true}}, 0},
		"becomes ready":  {[]Server{connecting, offering, {Name: "a", State: "ready", Ready: true}}, 2 * time.Second},
		"fails":          {[]Server{connecting, {Name: "a", State: "failed"}}, time.Second},
		"is taken out":   {[]Server{connecting, {Name: "b"}}, time.Second},
		"never offered":  {[]Server{connecting, offering}, time.Second + offerWait},
		"never connects": {[]Server{connecting}, startWait},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &startingServers{}
				s.set(c.steps[0])
				go func() {
					for _, v := range c.steps[1:] {
						time.Sleep(time.Second)
						s.set(v)
					}
				}()
				began := time.Now()
				AwaitTools(t.Context(), s, "/call a/x")
				if took := time.Since(began); took < c.takes || took > c.takes+3*awaitTick {
					t.Errorf("waited %v, want %v", took, c.takes)
				}
			})
		})
	}
	t.Run("given up", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := &startingServers{}
			s.set(connecting)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			began := time.Now()
			if AwaitTools(ctx, s, "/call a/x"); time.Since(began) != time.Second {
				t.Error(time.Since(began))
			}
		})
	})
}
