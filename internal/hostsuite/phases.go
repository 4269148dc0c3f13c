package hostsuite

import (
	"strings"
	"testing"

	"askback/hostclient"
	"askback/protocol"
)

// phase is where an invocation is when its Turn is stopped.
type phase int

const (
	phaseDispatched phase = iota
	phaseAccepted
	phaseChunks
)

// chunkedLength is what the raw provider announces and does not send whole.
const chunkedLength = protocol.ChunkBytes + 1

// raw makes a provider by hand, starts a Turn that calls it, and takes the call.
func (s *suite) raw(t *testing.T) (*rawProvider, *protocol.TurnSnapshot, string) {
	t.Helper()
	server := "raw-suite-" + hostclient.NewID()[:8]
	p := dialRaw(t, s.target.Options)
	p.replace([]protocol.Offer{s.offer(server)})
	id := s.session(t)
	turn := s.start(t, id, "/call "+server+"/echo {}")
	call := p.call()
	if call.ServerID != server || call.ToolName != "echo" || call.TurnID != turn.TurnID || call.SessionID != id {
		t.Errorf("the call is %+v", call)
	}
	return p, turn, call.InvocationID
}

func (s *suite) stop(t *testing.T, at phase) {
	p, turn, inv := s.raw(t)
	if at != phaseDispatched {
		p.send(&protocol.CapabilityAccepted{InvocationID: inv})
		if f := p.next().(*protocol.CapabilityAdmitted); f.InvocationID != inv {
			t.Errorf("admitted is %+v", f)
		}
	}
	if at == phaseChunks {
		p.send(&protocol.CapabilityResultStart{InvocationID: inv, ByteLength: chunkedLength, ChunkCount: protocol.ChunkCount(chunkedLength)})
		p.send(&protocol.CapabilityResultChunk{InvocationID: inv, Index: 0, Data: []byte(strings.Repeat("x", protocol.ChunkBytes))})
		p.status() // so that the Host has read them
	}
	_, err := s.view.StopTurn(t.Context(), turn.SessionID, turn.TurnID, "no-such-run")
	if hostclient.RefusalOf(err) != protocol.CodeOperationConflict {
		t.Errorf("stopping another run: %v", err)
	}
	got, err := s.view.StopTurn(t.Context(), turn.SessionID, turn.TurnID, turn.RunID)
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != protocol.TurnCancelled || got.AbortSource != protocol.AbortStopButton {
		t.Errorf("the stopped Turn is %+v", got)
	}
	if f, ok := p.next().(*protocol.CapabilityCancel); !ok || f.InvocationID != inv {
		t.Errorf("no cancel for the invocation")
	}
	if f, ok := p.next().(*protocol.CapabilityRelease); !ok || f.InvocationID != inv {
		t.Errorf("no release for the invocation")
	}
	row := s.result(t, turn)
	uncertain := row.Content.UncertainOutcome != nil
	if !*row.IsError || uncertain != (at != phaseDispatched) || strings.HasPrefix(said(row), "outcome_unknown: ") != uncertain {
		t.Errorf("the result is %q, uncertain %v", said(row), uncertain)
	}
	// What comes late for a retired invocation is ignored.
	p.send(&protocol.CapabilityAccepted{InvocationID: inv})
	p.send(&protocol.CapabilityResult{InvocationID: inv, Result: protocol.ToolResult{Content: []protocol.ContentBlock{}}})
	p.status()
	if again, err := s.view.StopTurn(t.Context(), turn.SessionID, turn.TurnID, turn.RunID); err != nil || again.TerminalEventID != got.TerminalEventID {
		t.Errorf("stopping again: %+v, %v", again, err)
	}
	p.unregister()
}

func (s *suite) rejected(t *testing.T) {
	p, turn, inv := s.raw(t)
	p.send(&protocol.CapabilityRejected{InvocationID: inv, Message: "I do not want to"})
	if f, ok := p.next().(*protocol.CapabilityRelease); !ok || f.InvocationID != inv {
		t.Error("no release for the invocation")
	}
	row := s.result(t, turn)
	if !*row.IsError || said(row) != "I do not want to" {
		t.Errorf("the result is %q", said(row))
	}
	s.ends(t, turn, protocol.TurnCompleted)
	p.unregister()
}

// providerLost breaks the protocol on purpose: the Host drops the connection
// without a word, and the call that it carried is uncertain.
func (s *suite) providerLost(t *testing.T) {
	p, turn, inv := s.raw(t)
	p.send(&protocol.CapabilityAccepted{InvocationID: inv})
	if _, ok := p.next().(*protocol.CapabilityAdmitted); !ok {
		t.Error("the call was not admitted")
	}
	p.send(&protocol.CapabilityAccepted{InvocationID: inv}) // twice
	p.dropped()
	row := s.result(t, turn)
	if !*row.IsError || row.Content.UncertainOutcome == nil {
		t.Errorf("the result is %q", said(row))
	}
	s.ends(t, turn, protocol.TurnCompleted)
	// The same identity comes back and leaves in good order, so that no session
	// of a Host that binds stays blocked.
	back := redialRaw(t, s.target.Options, p)
	back.replace(p.offers)
	back.unregister()
}
