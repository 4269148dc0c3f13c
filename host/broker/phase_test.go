package broker

import (
	"strings"
	"testing"

	"askback/forms"
	"askback/protocol"
)

// The phase tables of the wire protocol and of the forms dialect, as a person reads them. One line a phase; the columns
// are the frames. "ends" and the like say what becomes of the invocation, "abort" of the provider's connection.
const phaseTable = `
             accepted  rejected  progress  result        result_start  result_chunk  failed   interaction_request
dispatched   Accepted  rejected  abort     abort         abort         abort         abort    abort
accepted     abort     abort     stays     result        Chunks        abort         failed   abort
admitted     abort     abort     stays     result        Chunks        abort         failed   Opening
opening      abort     abort     stays     inconsistent  inconsistent  abort         failed   abort
awaiting     abort     abort     stays     inconsistent  inconsistent  abort         failed   abort
committing   abort     abort     stays     held          held          abort         held     held
delivering   abort     abort     Admitted  result        Chunks        abort         failed   Opening
chunks       abort     abort     stays     abort         abort         stays         failed   abort
retired      ignored   ignored   ignored   ignored       ignored       ignored       ignored  ignored
`

var phasesByName = map[string]Phase{}

func init() {
	for i, n := range phaseNames {
		phasesByName[n] = Phase(i)
		phasesByName[strings.ToUpper(n[:1])+n[1:]] = Phase(i)
	}
}

func frameNamed(name, inv string) protocol.ClientFrame {
	switch name {
	case "accepted":
		return accepted(inv)
	case "rejected":
		return &protocol.CapabilityRejected{InvocationID: inv, Message: "no"}
	case "progress":
		return &protocol.CapabilityProgress{InvocationID: inv, Current: 1, Total: 2}
	case "result":
		return result(inv, "late")
	case "result_start":
		return &protocol.CapabilityResultStart{InvocationID: inv, ByteLength: 40000, ChunkCount: 2}
	case "result_chunk":
		return &protocol.CapabilityResultChunk{InvocationID: inv, Index: 0, Data: make([]byte, protocol.ChunkBytes)}
	case "failed":
		return failed(inv, "It broke")
	case "interaction_request":
		return request(inv, "fresh")
	}
	panic(name)
}

func TestPhaseTable(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(phaseTable), "\n")
	columns := strings.Fields(lines[0])
	if len(columns) != int(kindCount) || len(lines)-1 != len(phaseNames) {
		t.Fatalf("%d columns, %d rows", len(columns), len(lines)-1)
	}
	for _, line := range lines[1:] {
		cells := strings.Fields(line)
		phase := phasesByName[cells[0]]
		for i, want := range cells[1:] {
			t.Run(cells[0]+"/"+columns[i], func(t *testing.T) {
				r := running(t, phase)
				r.admit = false
				r.frame("P", frameNamed(columns[i], "i"))
				r.checkCell(phase, want)
			})
		}
	}
}

func (r *rig) checkCell(before Phase, want string) {
	r.t.Helper()
	_, aborted := r.aborted["P"]
	if aborted != (want == "abort") {
		r.t.Fatalf("aborted: %v (%s)", aborted, r.aborted["P"])
	}
	now := r.b.PhaseOf("i")
	switch want {
	case "abort":
		if out := r.settled["i"]; out.Reason != ExitLost {
			r.t.Errorf("the call came to %+v", out)
		}
	case "ignored":
		if len(r.last) != 0 {
			r.t.Errorf("effects: %s", show(r.last))
		}
	case "stays", "held":
		if now != before || want == "held" && len(r.last) != 0 {
			r.t.Errorf("phase %v, effects: %s", now, show(r.last))
		}
	case "result", "failed", "rejected", "inconsistent":
		if out := r.settled["i"]; out.Reason.String() != want || now != Retired {
			r.t.Errorf("the call came to %+v in phase %v", out, now)
		}
	default:
		if now != phasesByName[want] {
			r.t.Errorf("phase %v, wanted %s", now, want)
		}
	}
}

// A frame about an invocation that never was, or is another connection's, destroys the connection that sent it and
// leaves the invocation alone.
func TestForeignFrames(t *testing.T) {
	for _, name := range []string{"accepted", "rejected", "progress", "result", "result_start", "result_chunk", "failed", "interaction_request"} {
		for _, who := range []string{"provider", "view"} {
			for _, id := range []string{"i", "never"} {
				t.Run(name+"/"+who+"/"+id, func(t *testing.T) {
					r := running(t, Admitted)
					if who == "provider" {
						r.provider(Conn{ID: "X", Credential: "other"})
					} else {
						r.connect(Conn{ID: "X"})
					}
					r.frame("X", frameNamed(name, id))
					if r.aborted["X"] == "" || r.aborted["P"] != "" || r.b.PhaseOf("i") != Admitted {
						t.Errorf("aborted %v, phase %v", r.aborted, r.b.PhaseOf("i"))
					}
				})
			}
		}
	}
}

// A retired invocation of another connection is as unknown as any.
func TestForeignRetired(t *testing.T) {
	r := running(t, Retired)
	r.provider(Conn{ID: "X"})
	r.frame("X", result("i", "x"))
	if r.aborted["X"] == "" {
		t.Error("not aborted")
	}
}

func TestRetiredRing(t *testing.T) {
	r := newRig(t)
	r.provider(Conn{ID: "P"})
	r.bind(t1, "P")
	const gone = 40 // how many are forgotten again
	ids := make([]string, protocol.MaxRetiredInvocations+gone)
	for i := range ids {
		ids[i] = "i" + string(rune('a'+i%26)) + strings.Repeat("x", i/26)
		r.call(t1, ids[i])
		r.frame("P", &protocol.CapabilityRejected{InvocationID: ids[i], Message: "no"})
	}
	for _, id := range ids[gone:] {
		r.frame("P", accepted(id))
	}
	if r.aborted["P"] != "" {
		t.Fatal("a straggler among the last 1024 aborted")
	}
	c := r.b.conns["P"]
	for _, id := range ids[:gone] {
		if c.retired.ids[id] {
			t.Errorf("%q is still remembered", id)
		}
	}
	if len(c.retired.ids) != protocol.MaxRetiredInvocations || len(c.retired.ring) != protocol.MaxRetiredInvocations {
		t.Errorf("%d ids are remembered", len(c.retired.ids))
	}
	r.frame("P", accepted(ids[gone-1]))
	if r.aborted["P"] == "" {
		t.Error("the 1025th last id was ignored")
	}
}

func TestFormNeedsDialect(t *testing.T) {
	r := newRig(t)
	r.provider(Conn{ID: "P", Dialect: protocol.Dialect39})
	r.bind(t1, "P")
	r.call(t1, "i")
	r.to("P", "i", Admitted)
	r.frame("P", request("i", "n1"))
	if r.aborted["P"] == "" {
		t.Error("a form in epoch 39 was taken")
	}
}

func TestNotACapabilityFrame(t *testing.T) {
	r := running(t, Admitted)
	r.frame("P", &protocol.Hello{ClientInstanceID: "x"})
	if r.aborted["P"] == "" {
		t.Error("not aborted")
	}
}

func TestFrameAfterTheEnd(t *testing.T) {
	r := running(t, Admitted)
	r.disconnect("P")
	r.frame("P", result("i", "late"))
	if len(r.last) != 0 {
		t.Errorf("effects: %s", show(r.last))
	}
}

func TestDuplicateNestedID(t *testing.T) {
	for _, second := range []Phase{Admitted, Delivering} {
		r := running(t, Delivering)
		if second == Admitted {
			r.do(r.b.Delivered(Ask{"i", 1}))
		}
		r.frame("P", request("i", "n1"))
		if r.aborted["P"] == "" {
			t.Errorf("%v: an interactionId was used again", second)
		}
	}
	// Another invocation has its own.
	r := running(t, Delivering)
	r.call(t1, "j")
	r.to("P", "j", Opening)
	if r.aborted["P"] != "" {
		t.Error("the id of another invocation counts")
	}
}

func TestAskLimit(t *testing.T) {
	r := running(t, Admitted)
	for n := range protocol.MaxAsksPerInvocation {
		a := r.ask("P", "i", "n"+strings.Repeat("x", n))
		if a.N != n+1 {
			t.Fatalf("ask %d is number %d", n+1, a.N)
		}
		r.do(r.b.Stored(a))
		r.do(r.commit(a, forms.Result{Action: forms.ActionCancel}))
	}
	r.frame("P", request("i", "one-more"))
	r.want("stop CapabilityCancel@P CapabilityRelease@P settle:asks")
	r.wantFailure("i", textAsks, false)
	if len(r.aborted) != 0 {
		t.Error("the connection was aborted")
	}
}

func TestProgress(t *testing.T) {
	type step = [2]int
	for _, tc := range []struct {
		name  string
		steps []step
		shown string
		abort bool
	}{
		{"forward", []step{{0, 2}, {1, 2}, {2, 2}}, "0/2 1/2 2/2", false},
		{"repeated is not shown", []step{{0, 2}, {1, 2}, {1, 2}, {2, 2}}, "0/2 1/2 2/2", false},
		{"most", []step{{1024, 1024}}, "1024/1024", false},
		{"backwards", []step{{2, 3}, {1, 3}}, "2/3", true},
		{"total changes", []step{{1, 3}, {1, 4}}, "1/3", true},
		{"above total", []step{{4, 3}}, "", true},
		{"total 1025", []step{{1, 1025}}, "", true},
		{"total 0", []step{{0, 0}}, "", true},
		{"negative", []step{{-1, 3}}, "", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := running(t, Admitted)
			var shown []string
			for _, s := range tc.steps {
				r.frame("P", &protocol.CapabilityProgress{InvocationID: "i", Current: s[0], Total: s[1]})
				for _, e := range r.last {
					if _, ok := e.(Progress); ok {
						shown = append(shown, strings.TrimPrefix(show([]Effect{e}), "steps:"))
					}
				}
			}
			if strings.Join(shown, " ") != tc.shown || (r.aborted["P"] != "") != tc.abort {
				t.Errorf("shown %v, aborted %q", shown, r.aborted["P"])
			}
		})
	}
}

// TestHeldFrames: what is held while an answer is being stored is bounded, and holds a whole result in chunks.
func TestHeldFrames(t *testing.T) {
	r := running(t, Committing)
	r.frame("P", &protocol.CapabilityResultStart{InvocationID: "i", ByteLength: protocol.MaxResultBytes, ChunkCount: protocol.MaxResultBytes/protocol.ChunkBytes + 1})
	for n := 1; n < maxHeld; n++ {
		r.frame("P", &protocol.CapabilityProgress{InvocationID: "i", Current: 1, Total: 2})
	}
	if len(r.aborted) != 0 || len(r.progress) != 0 {
		t.Fatalf("aborted %v, %d steps shown", r.aborted, len(r.progress))
	}
	r.frame("P", &protocol.CapabilityProgress{InvocationID: "i", Current: 1, Total: 2})
	if r.aborted["P"] == "" {
		t.Error("not aborted")
	}
	r.want("abort@P close:provider_disconnected settle:lost")
}
