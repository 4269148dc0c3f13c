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
	retired bool // by the Host
	over    bool // the machine knows
	atEnd   int
}

func (r *invocationRun) out(f protocol.ClientFrame) {
	if f != nil {
		r.toHost = append(r.toHost, f)
	}
}

// event is something that can happen on one side. weight 0 is impossible now.
type event struct {
	name   string
	weight int
	do     func(*rapid.T)
}

func when(possible bool, weight int) int {
	if possible {
		return weight
	}
	return 0
}

// hostEvents is what a lawful Host can do in its phase.
func (r *invocationRun) hostEvents() []event {
	id := r.machine.id
	return []event{
		{"host admits", when(r.host.phase == "accepted", 10), func(t *rapid.T) {
			r.host.phase = "admitted"
			r.toUs = append(r.toUs, &protocol.CapabilityAdmitted{InvocationID: id})
		}},
		{"host answers", when(r.host.phase == "awaiting", 10), func(t *rapid.T) {
			r.toUs = append(r.toUs, &protocol.InteractionResult{InvocationID: id, InteractionID: r.host.pending})
			r.host.phase = "admitted"
		}},
		{"host ends", when(!r.retired, 1), func(t *rapid.T) {
			if r.host.phase != "retired" {
				r.toUs = append(r.toUs, &protocol.CapabilityCancel{InvocationID: id})
			}
			r.host.phase, r.retired = "retired", true
			r.toUs = append(r.toUs, &protocol.CapabilityRelease{InvocationID: id})
		}},
		{"host reads", when(len(r.toHost) > 0, 20), func(t *rapid.T) {
			f := r.toHost[0]
			r.toHost = r.toHost[1:]
			if err := r.host.receive(f); err != nil {
				t.Fatal(err)
			}
		}},
	}
}

// providerEvents is what can happen on our side. A tool tries what it may not do as well: the machine refuses.
func (r *invocationRun) providerEvents() []event {
	m := &r.machine
	return []event{
		{"provider reads", when(len(r.toUs) > 0, 20), r.read},
		{"accepts", when(m.phase == offered, 20), func(t *rapid.T) { r.out(m.accept()) }},
		{"rejects", when(m.phase == offered, 1), func(t *rapid.T) { r.out(m.reject("no")); r.settled++ }},
		{"progress", 3, func(t *rapid.T) {
			m.advance(rapid.Float64Range(-5, 5000).Draw(t, "current"), rapid.Float64Range(-5, 5000).Draw(t, "total"))
			r.out(m.step())
		}},
		{"asks", 5, func(t *rapid.T) {
			id := fmt.Sprint("q", r.asked)
			if f, bad := m.ask(forms.Form{Message: "?"}, id); bad == nil {
				r.out(f)
				m.asked(id)
				r.asked++
			}
		}},
		{"results", 1, func(t *rapid.T) {
			if m.maySettle() == nil {
				m.finish()
				r.out(&protocol.CapabilityResult{InvocationID: m.id})
				r.settled++
			}
		}},
		{"results in chunks", 2, func(t *rapid.T) {
			if m.maySettle() == nil {
				r.result = bytes.Repeat([]byte("x"), rapid.IntRange(1, 4*protocol.ChunkBytes).Draw(t, "bytes"))
				m.finishInChunks(r.result)
				r.settled++
			}
		}},
		{"chunks", 4, func(t *rapid.T) { r.out(m.chunk()) }},
		{"fails", 1, func(t *rapid.T) {
			if f, bad := m.fail("failed"); bad == nil {
				r.out(f)
				r.settled++
			}
		}},
	}
}

func (r *invocationRun) read(t *rapid.T) {
	f := r.toUs[0]
	r.toUs = r.toUs[1:]
	var bad *Error
	switch f := f.(type) {
	case *protocol.CapabilityAdmitted:
		_, bad = r.machine.admit()
	case *protocol.InteractionResult:
		_, bad = r.machine.answer(f.InteractionID)
	default:
		r.machine.retire()
		r.over = true
	}
	if bad != nil {
		t.Fatalf("%T of a lawful Host: %v", f, bad)
	}
}

func (r *invocationRun) check(t *rapid.T) {
	switch {
	case r.settled > 1:
		t.Fatalf("settled %d times", r.settled)
	case !r.machine.forms && r.asked > 0:
		t.Fatal("asked in a dialect without forms")
	case r.host.result != nil && r.result != nil && !bytes.Equal(r.host.result, r.result):
		t.Fatal("the result arrived changed")
	case r.over && len(r.toHost) > r.atEnd:
		t.Fatal("a frame went out after the end")
	}
	r.atEnd = len(r.toHost)
}

// TestInvocationAgainstModel: whatever happens in whatever order on both sides, no frame goes out that a Host would
// abort the connection for, a lawful Host's frame is never refused, a call is settled at most once, and nothing goes out
// after its end.
func TestInvocationAgainstModel(t *testing.T) {
	reached := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		r := &invocationRun{machine: machine{id: "i", forms: rapid.IntRange(0, 4).Draw(t, "forms") > 0}, host: hostModel{phase: "dispatched", seen: map[string]bool{}}}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			var choices []event
			for _, e := range append(r.hostEvents(), r.providerEvents()...) {
				for range e.weight {
					choices = append(choices, e)
				}
			}
			i := rapid.IntRange(0, len(choices)-1).Draw(t, "event")
			t.Log(choices[i].name)
			choices[i].do(t)
			r.check(t)
			reached[r.host.phase]++
		}
		if r.host.result != nil {
			reached["result"]++
		}
	})
	for _, phase := range []string{"dispatched", "accepted", "admitted", "awaiting", "chunks", "retired", "result"} {
		if reached[phase] == 0 {
			t.Errorf("the runs never reached %s", phase)
		}
	}
}
