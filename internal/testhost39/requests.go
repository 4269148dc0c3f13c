package testhost39

import (
	"encoding/json"

	"askback/protocol"
)

// providerOperations are all that a CapabilityProvider's credential may ask.
var providerOperations = map[protocol.Operation]bool{
	protocol.OpHostStatus: true, protocol.OpCapabilityReplace: true, protocol.OpCapabilityUnregister: true,
}

func refusal(code protocol.ErrorCode, message string) *protocol.Error {
	return &protocol.Error{Code: code, Message: message}
}

var (
	errUnauthorized  = refusal(protocol.CodeUnauthorized, "Runtime Host operation is not authorized")
	errNotReady      = refusal(protocol.CodeHostNotReady, "Runtime Host is not ready")
	errDraining      = refusal(protocol.CodeHostDraining, "Runtime Host is draining")
	errNoSession     = refusal(protocol.CodeNotFound, "Session does not exist")
	errNoTurn        = refusal(protocol.CodeNotFound, "Turn was not admitted")
	errNoInteraction = refusal(protocol.CodeNotFound, "Interaction was not found")
	errInternal      = refusal(protocol.CodeInternalFailure, "Runtime Host operation failed")
)

// request answers one request, now or later. h.mu is held.
func (c *conn) request(r *protocol.Request) error {
	if _, live := c.requests[r.RequestID]; live {
		return errDropped
	}
	if len(c.requests) >= protocol.MaxRequestsInFlight {
		extra := 0
		for _, op := range c.requests {
			if op == protocol.OpHostStatus {
				extra++
			}
		}
		if r.Operation != protocol.OpHostStatus || extra > 0 || len(c.requests) > protocol.MaxRequestsInFlight {
			return errDropped
		}
	}
	c.requests[r.RequestID] = r.Operation
	if e := c.mayAsk(r); e != nil {
		c.refuse(r, e)
		return nil
	}
	result, e := c.answer(r)
	switch {
	case e != nil:
		c.refuse(r, e)
	case result != nil:
		c.respond(r, result)
	}
	return nil
}

func (c *conn) mayAsk(r *protocol.Request) *protocol.Error {
	switch c.h.state {
	case protocol.HostDraining:
		return errDraining
	case protocol.HostReady:
	default:
		if r.Operation != protocol.OpHostStatus && r.Operation != protocol.OpHostDiagnosticsQuery {
			return errNotReady
		}
	}
	if c.cred.Kind == CapabilityProvider && !providerOperations[r.Operation] {
		return errUnauthorized
	}
	return nil
}

// respond answers a request that may have waited. h.mu is held.
func (c *conn) respond(r *protocol.Request, result protocol.Result) {
	delete(c.requests, r.RequestID)
	c.send(&protocol.Response{RequestID: r.RequestID, Operation: r.Operation, OK: true, Result: result})
}

func (c *conn) refuse(r *protocol.Request, e *protocol.Error) {
	delete(c.requests, r.RequestID)
	c.send(&protocol.Response{RequestID: r.RequestID, Operation: r.Operation, Error: e})
}

// answer runs an operation. Without result and error it is answered later.
func (c *conn) answer(r *protocol.Request) (protocol.Result, *protocol.Error) {
	h := c.h
	switch in := r.Input.(type) {
	case *protocol.HostStatusInput:
		return h.status(c), nil
	case *protocol.ProjectCatalogQueryInput:
		return h.projects(), nil
	case *protocol.SessionCatalogQueryInput:
		return h.querySessions(in)
	case *protocol.SessionCreateInput:
		return h.createSession(c, in)
	case *protocol.SessionRemoveInput:
		return h.removeSession(in)
	case *protocol.SessionMetadataUpdateInput:
		return h.updateMetadata(in)
	case *protocol.SessionConfigurationUpdateInput:
		return h.updateConfiguration(in)
	case *protocol.SubscriptionOpenInput:
		return c.open(in)
	case *protocol.SubscriptionCloseInput:
		c.close(in.SubscriptionID)
		return &protocol.SubscriptionCloseResult{SubscriptionID: in.SubscriptionID}, nil
	case *protocol.TranscriptPageInput:
		return c.page(in)
	case *protocol.TranscriptOverlayReleaseInput:
		return &protocol.TranscriptOverlayReleaseResult{SubscriptionID: in.SubscriptionID}, nil
	case *protocol.TurnStartInput:
		return h.startTurn(c, r, in)
	case *protocol.TurnQueryInput:
		return h.queryTurn(in)
	case *protocol.TurnStopInput:
		return h.stopTurn(c, r, in)
	case *protocol.TurnMessageSubmitInput:
		return h.submit(c, in)
	case *protocol.QueueRetractInput:
		return h.retract(in)
	case *protocol.TurnInterruptInput:
		return h.interrupt(c, r, in)
	case *protocol.InteractionQueryInput:
		i := h.interaction(in.SessionID, in.InteractionID)
		if i == nil {
			return nil, errNoInteraction
		}
		return i.snapshot(), nil
	case *protocol.InteractionAnswerInput:
		return h.answerInteraction(in)
	case *protocol.CapabilityReplaceInput:
		return c.replace(in)
	case *protocol.CapabilityUnregisterInput:
		return c.unregister(r, in)
	}
	if r.Operation == protocol.OpExecutionBoundaryQuery {
		return h.boundary(r.Input.(*protocol.RawInput))
	}
	return nil, errUnauthorized
}

func (h *Host) boundary(in *protocol.RawInput) (protocol.Result, *protocol.Error) {
	var asked struct{ SessionID string }
	_ = json.Unmarshal(in.Raw, &asked)
	s := h.sessions[asked.SessionID]
	switch {
	case s == nil:
		return nil, errNoSession
	case s.item.PermissionMode == protocol.PermissionBypass:
		return &protocol.RawResult{Raw: protocol.RawMessage(`{"kind":"bypass","revision":1}`)}, nil
	}
	return &protocol.RawResult{Raw: protocol.RawMessage(`{"kind":"managed","access":"writable","revision":0}`)}, nil
}

func (h *Host) status(asking *conn) *protocol.HostStatusResult {
	return &protocol.HostStatusResult{
		HostEpoch: h.epoch, CompositionID: protocol.CompositionID, CompositionRevision: "3", State: h.state,
		Connections: len(h.conns), ActiveOperations: len(asking.requests),
	}
}

func (h *Host) projects() *protocol.ProjectCatalogQueryResult {
	first := int64(0)
	return &protocol.ProjectCatalogQueryResult{
		Kind: protocol.KindPage, View: protocol.ViewSummary, Revision: "sha256:projects", ProjectCount: 1,
		Items: []protocol.ProjectItem{{
			Kind: "project", ID: h.opt.ProjectID, Name: h.opt.ProjectName, LocationCount: 1,
			PreferredLocationIndex: &first, Available: true,
		}},
	}
}
