package host

import (
	"errors"

	"askback/internal/strictjson"
	"askback/protocol"
)

// refusal is an error answer.
func refusal(code protocol.ErrorCode, message string) *protocol.Error {
	return &protocol.Error{Code: code, Message: message}
}

// errAnswered says that a handler has sent its response itself.
var errAnswered = errors.New("answered")

// errMalformed ends the connection: the input does not decode.
var errMalformed = errors.New("malformed input")

// persistence logs a failed write and makes the answer to it.
func (h *Host) persistence(action string, err error) error {
	h.log.Error("store", "action", action, "path", h.store.path, "error", err.Error())
	return refusal(protocol.CodePersistenceFailed, "The Host could not store the change")
}

// unreadable is persistence for what is read. A refusal stays what it is.
func (h *Host) unreadable(action string, err error) error {
	if _, ok := errors.AsType[*protocol.Error](err); ok {
		return err
	}
	h.log.Error("store", "action", action, "path", h.store.path, "error", err.Error())
	return refusal(protocol.CodePersistenceFailed, "The Host could not read what it has stored")
}

type grant int

const (
	grantAny     grant = iota
	grantOwner         // an owner's credential
	grantPublish       // one that may publish capabilities
)

// operation is one that this Host serves. One that waits runs beside the connection's
// queue; all others run in it, in order.
type operation struct {
	grant grant
	waits bool
	serve func(h *Host, c *conn, req *protocol.Request) (protocol.Result, error)
}

// serve adapts a handler of one input type.
func serve[In protocol.Input](fn func(h *Host, c *conn, in In) (protocol.Result, error)) func(*Host, *conn, *protocol.Request) (protocol.Result, error) {
	return func(h *Host, c *conn, req *protocol.Request) (protocol.Result, error) {
		in, ok := req.Input.(In)
		if !ok {
			return nil, errMalformed
		}
		return fn(h, c, in)
	}
}

// operations are all that are served; every other one that the protocol names answers
// operation_unavailable.
var operations = map[protocol.Operation]operation{
	protocol.OpHostStatus:               {grant: grantAny, serve: serve((*Host).hostStatus)},
	protocol.OpSessionCatalogQuery:      {grant: grantOwner, serve: serve((*Host).sessionCatalogQuery)},
	protocol.OpSessionCreate:            {grant: grantOwner, serve: serve((*Host).sessionCreate)},
	protocol.OpSessionMetadataUpdate:    {grant: grantOwner, serve: serve((*Host).sessionMetadataUpdate)},
	protocol.OpSessionRemove:            {grant: grantOwner, serve: serve((*Host).sessionRemove)},
	protocol.OpProjectCatalogQuery:      {grant: grantOwner, serve: serve((*Host).projectCatalogQuery)},
	protocol.OpConnectionCatalogQuery:   {grant: grantOwner, serve: serve((*Host).connectionCatalogQuery)},
	protocol.OpExecutionBoundaryQuery:   {grant: grantOwner, serve: serve((*Host).executionBoundaryQuery)},
	protocol.OpSubscriptionOpen:         {grant: grantOwner, serve: (*Host).subscriptionOpen},
	protocol.OpSubscriptionClose:        {grant: grantOwner, serve: serve((*Host).subscriptionClose)},
	protocol.OpTranscriptPage:           {grant: grantOwner, serve: serve((*Host).transcriptPage)},
	protocol.OpTranscriptOverlayRelease: {grant: grantOwner, serve: serve((*Host).transcriptOverlayRelease)},
	protocol.OpTurnStart:                {grant: grantOwner, serve: serve((*Host).turnStart)},
	protocol.OpTurnQuery:                {grant: grantOwner, serve: serve((*Host).turnQuery)},
	protocol.OpTurnStop:                 {grant: grantOwner, waits: true, serve: serve((*Host).turnStop)},
	protocol.OpTurnMessageSubmit:        {grant: grantOwner, serve: serve((*Host).turnMessageSubmit)},
	protocol.OpInteractionQuery:         {grant: grantOwner, serve: serve((*Host).interactionQuery)},
	protocol.OpInteractionAnswer:        {grant: grantOwner, serve: serve((*Host).interactionAnswer)},
	protocol.OpCapabilityReplace:        {grant: grantPublish, serve: (*Host).capabilityReplace},
	protocol.OpCapabilityUnregister:     {grant: grantPublish, serve: (*Host).capabilityUnregister},
}

func (g grant) allows(c *conn) bool {
	switch g {
	case grantOwner:
		return c.cred.Grants.Owner
	case grantPublish:
		return c.cred.Grants.Publish
	}
	return true
}

// handle acts on one frame of an accepted connection.
func (h *Host) handle(c *conn, frame protocol.ClientFrame) {
	switch f := frame.(type) {
	case *protocol.Request:
		h.request(c, f)
	case *protocol.Hello:
		c.violation("a second hello")
	default:
		h.gate.frame(h, c, frame)
	}
}

func (h *Host) request(c *conn, req *protocol.Request) {
	if why := c.begin(req); why != "" {
		c.violation(why)
		return
	}
	op, served := operations[req.Operation]
	var err error
	switch {
	case h.draining():
		err = refusal(protocol.CodeHostDraining, "Runtime Host is draining")
	case !served:
		err = refusal(protocol.CodeOperationUnavailable, "Runtime Host does not serve "+string(req.Operation))
	case !op.grant.allows(c):
		err = refusal(protocol.CodeUnauthorized, "Runtime Host operation is not authorized")
	}
	if err != nil {
		c.respond(req, nil, err)
		c.worked()
		return
	}
	if !c.waitRoom(answerRoom) {
		c.worked()
		return
	}
	run := func() {
		defer c.worked()
		result, err := op.serve(h, c, req)
		c.respond(req, result, err)
	}
	if op.waits {
		c.async.Go(run)
		return
	}
	run()
}

// begin counts a request in, or says why the connection must end (wire protocol, 4).
func (c *conn) begin(req *protocol.Request) (violation string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch n := len(c.inflight); {
	case c.inflight[req.RequestID]:
		return "a request id that is in flight was used again"
	case n > protocol.MaxRequestsInFlight, n == protocol.MaxRequestsInFlight && req.Operation != protocol.OpHostStatus:
		return "too many requests in flight"
	}
	c.inflight[req.RequestID] = true
	c.working++
	return ""
}

// worked counts a request out whose answer is in the outbox.
func (c *conn) worked() {
	c.mu.Lock()
	c.working--
	c.mu.Unlock()
	c.maybeFinish()
}

// finish lets the writer end once what is being worked on is answered, and what waits is written: the answer to a
// turn.stop follows the end of the Turn, which may be the last thing that a drain waits for.
func (c *conn) finish() {
	c.mu.Lock()
	c.finishing = true
	c.mu.Unlock()
	c.maybeFinish()
}

func (c *conn) maybeFinish() {
	c.mu.Lock()
	now := c.finishing && c.working == 0
	c.mu.Unlock()
	if now {
		c.out.finishSoon()
	}
}

// respond answers a request and counts it out.
func (c *conn) respond(req *protocol.Request, result protocol.Result, err error) {
	c.mu.Lock()
	delete(c.inflight, req.RequestID)
	c.mu.Unlock()
	refused, _ := errors.AsType[*protocol.Error](err)
	switch {
	case err == nil:
		c.send(&protocol.Response{RequestID: req.RequestID, Operation: req.Operation, OK: true, Result: result}, nil)
	case errors.Is(err, errAnswered):
	case errors.Is(err, errMalformed):
		c.violation("malformed input of " + string(req.Operation))
	case refused != nil:
		c.send(&protocol.Response{RequestID: req.RequestID, Operation: req.Operation, Error: refused}, nil)
	default:
		c.log.Error("request failed", "operation", string(req.Operation), "error", err.Error())
		c.send(&protocol.Response{RequestID: req.RequestID, Operation: req.Operation,
			Error: refusal(protocol.CodeInternalFailure, "Runtime Host operation failed")}, nil)
	}
}

// answerRoom is how much room in the outbound queue a request waits for: about what the
// largest common answer takes.
const answerRoom = 64 << 10

// waitRoom waits until about n bytes of answer fit into the outbound queue, so that a
// client which asks for much at once is slowed down, not cut off. It reports false when
// the connection has ended meanwhile.
func (c *conn) waitRoom(n int) bool {
	for {
		room := c.out.roomFor(n)
		if room == nil {
			return true
		}
		select {
		case <-room:
		case <-c.ctx.Done():
			return false
		}
	}
}

func (h *Host) hostStatus(c *conn, _ *protocol.HostStatusInput) (protocol.Result, error) {
	h.mu.Lock()
	conns, turns := len(h.conns), h.turns
	h.mu.Unlock()
	c.mu.Lock()
	active := len(c.inflight)
	c.mu.Unlock()
	return &protocol.HostStatusResult{
		HostEpoch: h.epoch, CompositionID: protocol.CompositionID, CompositionRevision: h.opt.CompositionRevision,
		State: protocol.HostReady, Connections: conns, ActiveOperations: active, ActiveResidencies: turns,
	}, nil
}

func (h *Host) connectionCatalogQuery(c *conn, in *protocol.RawInput) (protocol.Result, error) {
	if kind, ok := onlyText(in.Raw, "kind"); !ok || kind != "start" {
		return nil, errMalformed
	}
	return &protocol.RawResult{Raw: connectionCatalog}, nil
}

func (h *Host) executionBoundaryQuery(c *conn, in *protocol.RawInput) (protocol.Result, error) {
	id, ok := onlyText(in.Raw, "sessionId")
	if !ok || !protocol.ValidEntityID(id) {
		return nil, errMalformed
	}
	raw, err := h.executionBoundary(id)
	if err != nil {
		return nil, err
	}
	return &protocol.RawResult{Raw: raw}, nil
}

// onlyText reads an input of exactly one member, a text.
func onlyText(raw []byte, key string) (string, bool) {
	v, err := strictjson.Parse(raw, strictjson.Limits{})
	if err != nil {
		return "", false
	}
	f := strictjson.Read(v)
	text := f.Text(key)
	return text, f.Done() == nil
}
