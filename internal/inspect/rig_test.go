package inspect

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"askback/internal/demo"
	"askback/internal/inspect/peer"
	"askback/mcpmgr"
	"askback/mcpmgr/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// demoServer is the demo server in this process.
func demoServer() *peer.Server {
	return peer.New(func(record io.Writer) func(context.Context, io.ReadCloser, io.WriteCloser) {
		d := demo.New(demo.Options{Version: "1", Record: record})
		return func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) { _ = d.ServeStdio(ctx, in, out) } // ends with the connection
	})
}

// rig is an inspector with one server, inside of a synctest bubble.
type rig struct {
	t    *testing.T
	srv  *peer.Server
	ins  *Inspector
	log  *Log
	mu   sync.Mutex
	evs  []Event
	asks []*Ask // that wait
	ends map[uint64]Ended
}

// bubble runs f with an inspector on srv.
func bubble(t *testing.T, build func() *peer.Server, edit func(*Options), f func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		srv := build()
		time.Sleep(time.Second) // the SDK's server tells of its new tools a moment after it has them
		r := &rig{t: t, srv: srv, log: NewLog(), ends: map[uint64]Ended{}}
		o := Options{Servers: []config.Server{srv.Config}, Name: "test", Version: "1", Transports: srv.Transports(), Tell: func(e Event) {
			r.mu.Lock()
			r.evs = append(r.evs, e)
			r.mu.Unlock()
		}}
		if edit != nil {
			edit(&o)
		}
		r.ins = Open(o)
		if err := r.ins.Wait(t.Context(), peer.Name); err != nil {
			t.Fatal(err)
		}
		defer srv.Wait()
		defer r.ins.Close()
		time.Sleep(time.Second) // the tools are listed once more after the subscription
		r.settle()
		f(r)
	})
}

// settle waits until nothing moves and takes what has happened.
func (r *rig) settle() {
	r.t.Helper()
	synctest.Wait()
	r.mu.Lock()
	evs := r.evs
	r.evs = nil
	r.mu.Unlock()
	for _, e := range evs {
		r.log.Apply(e)
		switch e := e.(type) {
		case Asked:
			r.asks = append(r.asks, e.Ask)
		case Withdrawn:
			r.asks = slices.DeleteFunc(r.asks, func(a *Ask) bool { return a.ID == e.Ask })
		case Ended:
			r.ends[e.Run] = e
		}
	}
}

func (r *rig) call(method, name, args string) uint64 {
	r.t.Helper()
	q := Request{Server: peer.Name, Method: method, Name: name}
	if args != "" {
		q.Arguments = json.RawMessage(args)
	}
	id := r.ins.Call(q)
	r.settle()
	return id
}

// answer answers the one thing that is asked.
func (r *rig) answer(a Reply) {
	r.t.Helper()
	if len(r.asks) != 1 {
		r.t.Fatalf("%d things are asked", len(r.asks))
	}
	ask := r.asks[0]
	r.asks = nil
	if !r.ins.Answer(ask.ID, a) {
		r.t.Fatal("the ask had ended")
	}
	r.settle()
}

// ended is the end of a run.
func (r *rig) ended(run uint64) Ended {
	r.t.Helper()
	e, ok := r.ends[run]
	if !ok {
		r.t.Fatalf("run %d has not ended; %d asks", run, len(r.asks))
	}
	return e
}

func (r *rig) code(run uint64) mcpmgr.Code {
	r.t.Helper()
	e := r.ended(run)
	if e.Err == nil {
		r.t.Fatalf("run %d succeeded: %s", run, e.Result.Raw)
	}
	return e.Err.Code
}

// text is the text of a run's result.
func (r *rig) text(run uint64) string {
	r.t.Helper()
	e := r.ended(run)
	if e.Err != nil {
		r.t.Fatal(e.Err)
	}
	return ResultText(r.log.OfRun(run).Method, e.Result.Raw)
}

// legs are the params of the calls that reached the server.
func (r *rig) legs(method string) []peer.Message { return r.srv.Got(method) }

func param(m peer.Message, path ...string) string { return string(get(m.Params, path...)) }
