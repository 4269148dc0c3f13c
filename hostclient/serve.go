package hostclient

import (
	"context"
	"encoding/json"
	"time"

	"askback/forms"
	"askback/protocol"
)

// Aliases for users that deal in offers and results and in no frames.
type (
	Offer        = protocol.Offer
	Tool         = protocol.Tool
	Annotations  = protocol.Annotations
	ToolResult   = protocol.ToolResult
	ContentBlock = protocol.ContentBlock
)

// progressEvery is the least time between two progress frames of one invocation.
const progressEvery = 100 * time.Millisecond

// Handler serves invocations. Serve runs on a goroutine of its own for each, at most protocol.MaxActiveInvocations at
// once that have not ended; it settles inv with Result or Fail, else it is failed when Serve returns. ctx ends with the
// invocation: its cause is an *Error with CodeCancelled, CodeReleased, or the code of the connection's end.
type Handler interface {
	Serve(ctx context.Context, inv *Invocation)
}

// HandlerFunc is a Handler.
type HandlerFunc func(ctx context.Context, inv *Invocation)

// Serve calls f.
func (f HandlerFunc) Serve(ctx context.Context, inv *Invocation) { f(ctx, inv) }

// Call is what the Host asks for. Arguments is a JSON object that nobody has checked; ToolCallID is whatever the model
// made up.
type Call struct {
	InvocationID   string
	RegistrationID string
	OfferID        string
	ServerID       string
	ToolName       string
	Arguments      json.RawMessage
	SessionID      string
	TurnID         string
	ToolCallID     string
	Cwd            string
	HostEpoch      string
}

// Invocation is one call being served, on the connection that it came on and no other. Its methods may be called
// concurrently; once it has ended they fail with CodeRetired and send nothing.
type Invocation struct {
	call   Call
	p      *Provider
	link   *link
	ctx    context.Context
	cancel context.CancelCauseFunc

	// What follows is guarded by the Provider's lock, so that frames leave in the order of the machine's transitions.
	machine  machine
	answer   chan forms.Result // one slot; of the pending form
	lastStep time.Time
	stepTime *time.Timer // set while progress waits to be sent
}

// Call is what the Host asks for.
func (inv *Invocation) Call() Call { return inv.call }

// CanAsk reports whether a form can reach a person over this connection.
func (inv *Invocation) CanAsk() bool { return inv.link.host.Forms() }

// Progress says how far the tool is. It is sent at most every 100 ms, never backwards, in at most 1024 steps of a total
// that stays what it first was; a report without a positive total is dropped.
func (inv *Invocation) Progress(current, total float64) {
	inv.p.mu.Lock()
	defer inv.p.mu.Unlock()
	inv.machine.advance(current, total)
	if inv.stepTime != nil {
		return
	}
	if wait := progressEvery - time.Since(inv.lastStep); !inv.lastStep.IsZero() && wait > 0 {
		inv.stepTime = time.AfterFunc(wait, func() {
			inv.p.mu.Lock()
			defer inv.p.mu.Unlock()
			inv.stepTime = nil
			inv.sendStep()
		})
		return
	}
	inv.sendStep()
}

func (inv *Invocation) sendStep() {
	if f := inv.machine.step(); f != nil && inv.link.send(f) == nil {
		inv.lastStep = time.Now()
	}
}

// Ask has a person fill in a form, and waits as long as that takes. One form at a time. An error from the Host's side is
// the cause of the invocation's context; when ctx ends first, the form stays pending and the call can only fail.
// A form that the contract does not allow is refused here, with CodeTooLarge.
func (inv *Invocation) Ask(ctx context.Context, form forms.Form) (forms.Result, error) {
	answer, err := inv.request(form)
	if err != nil {
		return forms.Result{}, err
	}
	select {
	case r := <-answer:
		if err := inv.ctx.Err(); err != nil {
			return forms.Result{}, context.Cause(inv.ctx)
		}
		return r, nil
	case <-inv.ctx.Done():
		return forms.Result{}, context.Cause(inv.ctx)
	case <-ctx.Done():
		return forms.Result{}, context.Cause(ctx)
	}
}

func (inv *Invocation) request(form forms.Form) (<-chan forms.Result, error) {
	inv.p.mu.Lock()
	defer inv.p.mu.Unlock()
	id := NewID()
	f, bad := inv.machine.ask(form, id)
	if bad != nil {
		return nil, inv.ended(bad)
	}
	if err := inv.link.send(f); err != nil {
		return nil, err
	}
	inv.machine.asked(id)
	inv.answer = make(chan forms.Result, 1)
	return inv.answer, nil
}

// ended gives a CodeRetired its cause.
func (inv *Invocation) ended(bad *Error) *Error {
	if bad.Code == CodeRetired {
		bad.Cause = causeOf(context.Cause(inv.ctx))
	}
	return bad
}

// Result settles the call with what the tool returned. A result over 24 MiB, or one that the protocol does not allow, is
// refused with CodeTooLarge, and the call can still fail; so it is while a form is pending, with CodeAskPending.
func (inv *Invocation) Result(r ToolResult) error {
	if r.Content == nil {
		r.Content = []ContentBlock{}
	}
	data, err := protocol.EncodeToolResult(&r) // outside the lock: it may be large
	if err != nil {
		return errorf(CodeTooLarge, "the result cannot be sent: %v", err)
	}
	inv.p.mu.Lock()
	defer inv.p.mu.Unlock()
	if bad := inv.machine.maySettle(); bad != nil {
		return inv.ended(bad)
	}
	inv.sendStep()
	if len(data) > protocol.ChunkThresholdBytes {
		inv.machine.finishInChunks(data)
		inv.link.out.putSource((*chunkSource)(inv))
		return nil
	}
	if err := inv.link.send(&protocol.CapabilityResult{InvocationID: inv.call.InvocationID, Result: r}); err != nil {
		return err
	}
	inv.machine.finish()
	return nil
}

// Fail settles the call as failed, also while a form is pending, which the Host then closes. The message reaches the
// model unchanged, up to 4096 characters.
func (inv *Invocation) Fail(message string) error {
	inv.p.mu.Lock()
	defer inv.p.mu.Unlock()
	if bad := inv.machine.mayRun(); bad != nil {
		return inv.ended(bad)
	}
	inv.sendStep()
	f, _ := inv.machine.fail(message)
	return inv.link.send(f)
}

// chunkSource makes a chunked result's frames when the writer has room for them, until the call ends.
type chunkSource Invocation

func (s *chunkSource) next() []byte {
	inv := (*Invocation)(s)
	inv.p.mu.Lock()
	f := inv.machine.chunk()
	inv.p.mu.Unlock()
	if f == nil {
		return nil
	}
	data, err := protocol.Encode(f, inv.link.host.Dialect)
	if err != nil { // the result was checked whole
		inv.link.end(errorf(CodeClosed, "a chunk could not be encoded: %v", err))
		return nil
	}
	return data
}
