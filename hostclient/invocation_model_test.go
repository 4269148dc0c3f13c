package hostclient

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"askback/forms"
	"askback/protocol"
)

// hostModel is the Host's half of one invocation, after the tables of the protocol and the forms dialect: for each
// phase, what each frame of the provider does. A frame that would abort the provider's connection is an error.
type hostModel struct {
	phase   string // dispatched, accepted (before admitted is sent), admitted, awaiting, chunks, retired
	pending string
	seen    map[string]bool
	total   int
	current int
	length  int
	count   int
	next    int
	joined  []byte

	result  []byte // of a call that ended well
	failure string
}

func (h *hostModel) receive(f protocol.ClientFrame) error {
	abort := fmt.Errorf("%T in phase %s aborts the connection", f, h.phase)
	if h.phase == "retired" {
		return nil
	}
	switch f := f.(type) {
	case *protocol.CapabilityAccepted:
		if h.phase != "dispatched" {
			return abort
		}
		h.phase = "accepted"
	case *protocol.CapabilityRejected:
		if h.phase != "dispatched" {
			return abort
		}
		h.phase, h.failure = "retired", f.Message
	case *protocol.CapabilityProgress:
		switch {
		case h.phase == "dispatched":
			return abort
		case f.Current < 0 || f.Current > f.Total || f.Total < 1 || f.Total > 1024,
			h.total != 0 && (f.Total != h.total || f.Current < h.current):
			return fmt.Errorf("progress %d/%d after %d/%d", f.Current, f.Total, h.current, h.total)
		}
		h.total, h.current = f.Total, f.Current
	case *protocol.InteractionRequest:
		if h.phase != "admitted" || h.seen[f.InteractionID] {
			return abort
		}
		h.phase, h.pending = "awaiting", f.InteractionID
		h.seen[f.InteractionID] = true
	case *protocol.CapabilityFailed:
		if h.phase == "dispatched" {
			return abort
		}
		h.phase, h.failure = "retired", f.Message
	case *protocol.CapabilityResult:
		if h.phase != "accepted" && h.phase != "admitted" {
			return abort
		}
		h.phase, h.result = "retired", []byte("inline")
	case *protocol.CapabilityResultStart:
		if h.phase != "accepted" && h.phase != "admitted" {
			return abort
		}
		h.phase, h.length, h.count = "chunks", f.ByteLength, f.ChunkCount
		if want := (h.length + protocol.ChunkBytes - 1) / protocol.ChunkBytes; h.count != want {
			return fmt.Errorf("%d chunks for %d bytes", h.count, h.length)
		}
	case *protocol.CapabilityResultChunk:
		if h.phase != "chunks" || f.Index != h.next {
			return abort
		}
		h.next++
		h.joined = append(h.joined, f.Data...)
		if last := h.next == h.count; !last && len(f.Data) != protocol.ChunkBytes || last && len(h.joined) != h.length {
			return fmt.Errorf("chunk %d of %d has %d bytes", f.Index, h.count, len(f.Data))
		} else if last {
			h.phase, h.result = "retired", h.joined
		}
	default:
		return abort
	}
	return nil
}

// run is a provider's machine and a Host with frames under way in both directions.
type invocationRun struct {
	machine machine
	host    hostModel
	toHost  []protocol.ClientFrame
	toUs    []protocol.HostFrame
	result  []byte
	settled int // results and failures that were sent
	asked   int
	retired bool
}

func (r *invocationRun) out(f protocol.ClientFrame) {
	if f != nil {
		r.toHost = append(r.toHost, f)
	}
}

// hostEvents may be drawn when they are possible for a Host in its phase.
func (r *invocationRun) hostEvents() map[string]func(*rapid.T) {
	id := r.machine.id
	return map[string]func(*rapid.T){
		"host_admits": func(t *rapid.T) {
			if r.host.phase != "accepted" {
				t.Skip()
			}
			r.host.phase = "admitted"
			r.toUs = append(r.toUs, &protocol.CapabilityAdmitted{InvocationID: id})
		},
		"host_answers": func(t *rapid.T) {
			if r.host.phase != "awaiting" {
				t.Skip()
			}
			r.toUs = append(r.toUs, &protocol.InteractionResult{InvocationID: id, InteractionID: r.host.pending})
			r.host.phase = "admitted"
		},
		"host_ends": func(t *rapid.T) {
			if r.retired {
				t.Skip()
			}
			if r.host.phase != "retired" {
				r.toUs = append(r.toUs, &protocol.CapabilityCancel{InvocationID: id})
			}
			r.host.phase, r.retired = "retired", true
			r.toUs = append(r.toUs, &protocol.CapabilityRelease{InvocationID: id})
		},
		"host_reads": func(t *rapid.T) {
			if len(r.toHost) == 0 {
				t.Skip()
			}
			f := r.toHost[0]
			r.toHost = r.toHost[1:]
			if err := r.host.receive(f); err != nil {
				t.Fatal(err)
			}
		},
	}
}

func (r *invocationRun) providerEvents() map[string]func(*rapid.T) {
	m := &r.machine
	return map[string]func(*rapid.T){
		"provider_reads": func(t *rapid.T) {
			if len(r.toUs) == 0 {
				t.Skip()
			}
			f := r.toUs[0]
			r.toUs = r.toUs[1:]
			var bad *Error
			switch f := f.(type) {
			case *protocol.CapabilityAdmitted:
				_, bad = m.admit()
			case *protocol.InteractionResult:
				_, bad = m.answer(f.InteractionID)
			default:
				m.retire()
			}
			if bad != nil {
				t.Fatalf("%T of a lawful Host: %v", f, bad)
			}
		},
		"accepts": func(t *rapid.T) {
			if m.phase != offered {
				t.Skip()
			}
			r.out(m.accept())
		},
		"rejects": func(t *rapid.T) {
			if m.phase != offered || rapid.IntRange(0, 9).Draw(t, "rarely") != 0 {
				t.Skip()
			}
			r.out(m.reject("no"))
			r.settled++
		},
		"progress": func(t *rapid.T) {
			m.advance(rapid.Float64Range(-5, 5000).Draw(t, "current"), rapid.Float64Range(-5, 5000).Draw(t, "total"))
			if f := m.step(); f != nil {
				r.out(f)
			}
		},
		"asks": func(t *rapid.T) {
			id := fmt.Sprint("q", r.asked)
			if f, bad := m.ask(forms.Form{Message: "?"}, id); bad == nil {
				r.out(f)
				m.asked(id)
				r.asked++
			}
		},
		"results": func(t *rapid.T) {
			if m.maySettle() != nil {
				t.Skip()
			}
			m.finish()
			r.out(&protocol.CapabilityResult{InvocationID: m.id})
			r.settled++
		},
		"results_in_chunks": func(t *rapid.T) {
			if m.maySettle() != nil {
				t.Skip()
			}
			r.result = bytes.Repeat([]byte("x"), rapid.IntRange(1, 4*protocol.ChunkBytes).Draw(t, "bytes"))
			m.finishInChunks(r.result)
			r.settled++
		},
		"chunks": func(t *rapid.T) { r.out(m.chunk()) },
		"fails": func(t *rapid.T) {
			if f, bad := m.fail("failed"); bad == nil {
				r.out(f)
				r.settled++
			}
		},
	}
}

// TestInvocationAgainstModel: whatever happens in whatever order on both sides, no frame goes out that a Host would
// abort the connection for, a lawful Host's frame is never refused, and a call is settled at most once.
func TestInvocationAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &invocationRun{machine: machine{id: "i", forms: rapid.Bool().Draw(t, "forms")}, host: hostModel{phase: "dispatched", seen: map[string]bool{}}}
		actions := r.hostEvents()
		for name, f := range r.providerEvents() {
			actions[name] = f
		}
		actions[""] = func(t *rapid.T) {
			if r.settled > 1 {
				t.Fatalf("settled %d times", r.settled)
			}
			if !r.machine.forms && r.asked > 0 {
				t.Fatal("asked in a dialect without forms")
			}
			if r.machine.phase == retired && r.machine.chunk() != nil {
				t.Fatal("a retired call sends")
			}
			if r.host.result != nil && r.result != nil && !bytes.Equal(r.host.result, r.result) {
				t.Fatal("the result arrived changed")
			}
		}
		t.Repeat(actions)
	})
}
