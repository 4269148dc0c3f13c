package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"askback/forms"
	"askback/mcpmgr"
)

// Rounds is how often a call is repeated with answers before it fails.
const Rounds = 10

// Request is a call to be made: of a tool, a prompt or a resource.
type Request struct {
	Server    string
	Method    string // tools/call, prompts/get or resources/read
	Name      string // the tool, the prompt, or the resource's address
	Arguments json.RawMessage
}

// Run is a call that this program makes.
type Run struct {
	ID uint64
	Request
	Began, Ended time.Time      // Ended is zero while it runs
	Result       *mcpmgr.Result // in a Log without what it says
	Err          *mcpmgr.ToolCallError
	Progress     *mcpmgr.Progress // the latest
}

// Open says whether the call has not ended.
func (r *Run) Open() bool { return r.Ended.IsZero() }

var (
	errAborted  = errors.New("the call was aborted")
	errClosed   = errors.New("the inspector was closed")
	errRejected = &mcpmgr.ToolCallError{Code: mcpmgr.CodeCancelled, Message: "the sampling request was rejected"}
)

// running is a call under way.
type running struct {
	id     uint64
	cancel context.CancelCauseFunc
	free   func() // lets the server's next call begin
}

// Call begins a call and returns its run's id. Its end is told as Ended.
func (i *Inspector) Call(q Request) uint64 {
	i.mu.Lock()
	i.lastRun++
	id := i.lastRun
	ctx, cancel := context.WithCancelCause(i.ctx)
	r := &running{id: id, cancel: cancel}
	i.runs[id] = r
	i.mu.Unlock()
	i.opt.Tell(Started{Run{ID: id, Request: q, Began: i.opt.Now()}})
	i.spawn(func() {
		defer cancel(nil)
		res, err := i.run(ctx, r, q)
		i.mu.Lock()
		delete(i.runs, id)
		i.mu.Unlock()
		i.opt.Tell(Ended{id, i.opt.Now(), res, err})
	})
	return id
}

// Abort ends a call at once, whatever it does: with a panel open nothing more is sent.
func (i *Inspector) Abort(run uint64) {
	i.mu.Lock()
	r := i.runs[run]
	i.mu.Unlock()
	if r != nil {
		r.cancel(errAborted)
	}
}

func (i *Inspector) run(ctx context.Context, r *running, q Request) (*mcpmgr.Result, *mcpmgr.ToolCallError) {
	s := i.byName[q.Server]
	if s == nil {
		return nil, &mcpmgr.ToolCallError{Code: mcpmgr.CodeConnectionLost, Server: q.Server, Tool: q.Name, Message: "no such server is open"}
	}
	if err := s.begin(ctx, r); err != nil {
		return nil, &mcpmgr.ToolCallError{Code: mcpmgr.CodeCancelled, Server: q.Server, Tool: q.Name, Message: "the call was ended"}
	}
	defer r.free()
	res, err := s.call(ctx, q, i.handlers(s, r.id))
	if err == nil {
		res.Raw = mcpmgr.HideState(res.Raw)
		return res, nil
	}
	e, ok := errors.AsType[*mcpmgr.ToolCallError](err)
	if !ok {
		e = &mcpmgr.ToolCallError{Code: mcpmgr.CodeProtocolError, Server: q.Server, Tool: q.Name, Message: err.Error()}
	}
	if e.Code == mcpmgr.CodeCancelled && errors.Is(context.Cause(ctx), errAborted) {
		aborted := *e
		aborted.Message = errAborted.Error()
		e = &aborted
	}
	return nil, e
}

func (s *server) call(ctx context.Context, q Request, h mcpmgr.Handlers) (*mcpmgr.Result, error) {
	switch q.Method {
	case "tools/call":
		t, err := s.mgr.Tool(q.Server, q.Name)
		if err != nil {
			return nil, err
		}
		return s.mgr.CallTool(ctx, t.Binding, q.Arguments, h)
	case "prompts/get":
		return s.mgr.GetPrompt(ctx, q.Server, q.Name, q.Arguments, h)
	case "resources/read":
		return s.mgr.ReadResource(ctx, q.Server, q.Name, h)
	}
	return nil, &mcpmgr.ToolCallError{Code: mcpmgr.CodeProtocolError, Server: q.Server, Tool: q.Name, Message: q.Method + " is no call"}
}

// handlers are everything that a call's server may ask for. Roots are declared only where some are configured.
func (i *Inspector) handlers(s *server, run uint64) mcpmgr.Handlers {
	h := mcpmgr.Handlers{
		Form: func(ctx context.Context, q mcpmgr.FormRequest) (forms.Result, error) {
			if q.Pushed {
				q.Form.Requester.Source = ownRequest
			}
			a, err := i.ask(ctx, &Ask{Run: run, Kind: AskForm, Origin: q.Origin, Form: q})
			return a.Result, err
		},
		URL: func(ctx context.Context, q mcpmgr.URLRequest) (forms.Action, error) {
			a, err := i.ask(ctx, &Ask{Run: run, Kind: AskURL, Origin: q.Origin, URL: q})
			if at := ReadAddress(q.URL); err == nil && a.Result.Action == forms.ActionAccept && at.Refused != "" {
				err = &mcpmgr.ToolCallError{Code: mcpmgr.CodeInvalidAnswer, Message: "the address cannot be accepted: " + at.Refused}
			}
			return a.Result.Action, err
		},
		Sampling: func(ctx context.Context, q mcpmgr.SamplingRequest) (json.RawMessage, error) {
			a, err := i.ask(ctx, &Ask{Run: run, Kind: AskSampling, Origin: q.Origin, Sampling: q})
			if err == nil && a.Reject {
				err = errRejected
			}
			return a.Message, err
		},
	}
	if roots := s.cfg.Roots; len(roots) > 0 {
		h.Roots = func(context.Context, mcpmgr.RootsRequest) ([]mcpmgr.Root, error) { return roots, nil }
	}
	if run != 0 {
		h.Progress = func(p mcpmgr.Progress) { i.opt.Tell(Progressed{run, p}) }
		h.Log = func(m mcpmgr.LogMessage) {
			i.opt.Tell(Noticed{run, mcpmgr.Event{Time: i.opt.Now(), Server: s.cfg.Name, Kind: mcpmgr.EventLog, Log: m}})
		}
	}
	return h
}
