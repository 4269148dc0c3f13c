package broker

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"askback/forms"
	"askback/protocol"
)

type machine struct {
	*rig
	m    *model
	next int
}

func (s *machine) fresh(prefix string) string {
	s.next++
	return fmt.Sprint(prefix, s.next)
}

func pickOf[T any](t *rapid.T, name string, list []T) T {
	if len(list) == 0 {
		t.Skip("none")
	}
	return list[rapid.IntRange(0, len(list)-1).Draw(t, name)]
}

func (s *machine) conn(t *rapid.T) *mConn {
	return s.m.conns[pickOf(t, "conn", slices.Sorted(maps.Keys(s.m.conns)))]
}

func (s *machine) live() (list []*mCall) {
	for _, id := range slices.Sorted(maps.Keys(s.m.calls)) {
		if s.m.calls[id].phase != "" {
			list = append(list, s.m.calls[id])
		}
	}
	return list
}

func (s *machine) in(phases ...string) (list []*mCall) {
	for _, c := range s.live() {
		if slices.Contains(phases, c.phase) {
			list = append(list, c)
		}
	}
	return list
}

func (s *machine) Connect(t *rapid.T) {
	if len(s.m.conns) >= 6 {
		t.Skip("enough")
	}
	c := &mConn{id: s.fresh("c"), principal: pickOf(t, "principal", []string{"p1", "p2"}), instance: pickOf(t, "instance", []string{"x", "y"}), retired: map[string]bool{}}
	s.m.conns[c.id] = c
	s.connect(Conn{ID: c.id, Principal: c.principal, Instance: c.instance, Publish: true})
}

func (s *machine) Disconnect(t *rapid.T) {
	c := s.conn(t)
	s.m.gone(c)
	s.disconnect(c.id)
}

var modelOffers = map[string]protocol.Offer{
	"v1": offerOf("wire-offer", "wire", "echo"),
	"v2": func() protocol.Offer { o := offerOf("wire-offer", "wire", "echo"); o.Version = "2"; return o }(),
}

func (s *machine) Replace(t *rapid.T) {
	c := s.conn(t)
	contract := pickOf(t, "contract", []string{"v1", "v1", "v1", "v2"})
	id := s.fresh("r")
	_, fx, err := s.b.Replace(c.id, &protocol.CapabilityReplaceInput{RegistrationID: id, Offers: []protocol.Offer{modelOffers[contract]}})
	if c.superseded != (err != nil) {
		t.Fatalf("replace: %v", err)
	}
	if err != nil {
		return
	}
	for _, o := range s.m.conns {
		if o != c && o.principal == c.principal && o.instance == c.instance && o.published && !o.superseded {
			o.superseded = true
			s.m.retire(o, "superseded")
		}
	}
	for _, r := range s.m.regs {
		if r.conn == c {
			r.current = false
		}
	}
	c.published = true
	s.m.regs = append(s.m.regs, &mReg{id: id, conn: c, contract: contract, current: true, turns: map[Turn]bool{}})
	for _, b := range s.m.bound {
		maps.DeleteFunc(b, func(k string, to *mConn) bool {
			return to.principal == c.principal && to.instance == c.instance && k != contract
		})
	}
	s.do(fx)
}

func (s *machine) Unregister(t *rapid.T) {
	r := pickOf(t, "registration", s.m.regs)
	if s.m.conns[r.conn.id] == nil {
		t.Skip("gone")
	}
	_, fx, err := s.b.Unregister(r.conn.id, r.id)
	if r.current != (err == nil) {
		t.Fatalf("unregister: %v", err)
	}
	if err == nil {
		r.current = false
		for _, b := range s.m.bound {
			maps.DeleteFunc(b, func(_ string, to *mConn) bool {
				return to.principal == r.conn.principal && to.instance == r.conn.instance
			})
		}
	}
	s.do(fx)
}

func (s *machine) BindTurn(t *rapid.T) {
	if len(s.m.turns) >= 4 {
		t.Skip("enough")
	}
	tn := turnOf(pickOf(t, "session", []string{"s1", "s2"}), s.fresh("t"))
	by := Initiator{pickOf(t, "principal", []string{"p1", "p2", "p3"}), pickOf(t, "instance", []string{"x", "y", "z"})}
	chosen, ok := map[string]*mReg{}, true
	for _, contract := range []string{"v1", "v2"} {
		r, fine := s.m.choose(tn.Session, contract, by)
		ok = ok && fine
		if r != nil {
			chosen[contract] = r
		}
	}
	ok = ok && len(chosen) < 2 // both have a tool wire/echo
	if err := s.b.BindTurn(tn, "run", by); (err == nil) != ok {
		t.Fatalf("bind: %v, the model says %v", err, ok)
	}
	if !ok {
		return
	}
	s.m.turns[tn] = chosen
	for contract, r := range chosen {
		r.turns[tn] = true
		if s.m.bound[tn.Session] == nil {
			s.m.bound[tn.Session] = map[string]*mConn{}
		}
		s.m.bound[tn.Session][contract] = r.conn
	}
}

func (s *machine) StartCall(t *rapid.T) {
	tn := pickOf(t, "turn", slices.SortedFunc(maps.Keys(s.m.turns), func(a, b Turn) int { return strings.Compare(a.ID, b.ID) }))
	id := s.fresh("i")
	s.call(tn, id)
	var reg *mReg
	for _, r := range s.m.turns[tn] {
		reg = r
	}
	active := 0
	for _, c := range s.live() {
		if reg != nil && c.reg.conn == reg.conn {
			active++
		}
	}
	if reg == nil || reg.retired || active >= 8 {
		if s.settled[id].Reason != ExitNotStarted {
			t.Fatalf("call came to %+v", s.settled[id])
		}
		return
	}
	s.m.calls[id] = &mCall{id: id, turn: tn, reg: reg, phase: "dispatched", nested: map[string]bool{}}
	if s.sent[reg.conn.id][len(s.sent[reg.conn.id])-1].(*protocol.CapabilityCall).RegistrationID != reg.id {
		t.Fatalf("the call names another registration")
	}
}

func (s *machine) endCalls(tn Turn, reason string) {
	for _, c := range s.live() {
		if c.turn == tn {
			s.m.settle(c, reason)
		}
	}
}

func (s *machine) turn(t *rapid.T) Turn {
	return pickOf(t, "turn", slices.SortedFunc(maps.Keys(s.m.turns), func(a, b Turn) int { return strings.Compare(a.ID, b.ID) }))
}

func (s *machine) StopTurn(t *rapid.T) {
	tn := s.turn(t)
	s.endCalls(tn, "stopped")
	s.do(s.b.StopTurn(tn))
}

func (s *machine) EndTurn(t *rapid.T) {
	tn := s.turn(t)
	s.endCalls(tn, "turn_ended")
	for _, r := range s.m.turns[tn] {
		delete(r.turns, tn)
	}
	delete(s.m.turns, tn)
	s.do(s.b.EndTurn(tn))
}

func (s *machine) Advance(t *rapid.T) {
	c := pickOf(t, "call", s.in("dispatched", "accepted", "admitted", "committing", "delivering", "chunks"))
	var names []string
	for name, cell := range cells[c.phase] {
		if cell != "abort" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	s.send(t, c.reg.conn, c.id, pickOf(t, "frame", names))
}

func (s *machine) Anything(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "rarely") != 0 {
		t.Skip("a violation ends much")
	}
	conn := s.conn(t)
	id := pickOf(t, "id", append(slices.Sorted(maps.Keys(s.m.calls)), "never"))
	s.send(t, conn, id, pickOf(t, "frame", slices.Sorted(maps.Keys(cells["admitted"]))))
}

func (s *machine) send(t *rapid.T, conn *mConn, id, name string) {
	f := frameNamed(name, id)
	call := s.m.calls[id]
	nested := pickOf(t, "nested", []string{"n1", "n2", "n3", s.fresh("n")})
	if q, ok := f.(*protocol.InteractionRequest); ok {
		q.InteractionID = nested
	}
	if call != nil && call.reg.conn == conn && call.phase == "chunks" && name == "result_chunk" {
		f.(*protocol.CapabilityResultChunk).Index = call.cur // see below
	}
	s.expect(conn, id, name, nested)
	s.frame(conn.id, f)
}

// expect tells the model of a frame.
func (s *machine) expect(conn *mConn, id, name, nested string) {
	call := s.m.calls[id]
	want := "abort"
	switch {
	case call != nil && call.phase != "" && call.reg.conn == conn:
		want = cells[call.phase][name]
		if len(call.held) > 0 {
			want = "held"
		}
	case conn.retired[id]:
		want = "ignored"
	}
	if want == "Opening" && call.nested[nested] {
		want = "abort"
	}
	if call != nil && want == "stays" && name == "result_chunk" {
		want = "stays"
		if call.cur > 0 { // a second full chunk is longer than what is left
			want = "abort"
		}
		call.cur++
	}
	switch want {
	case "abort":
		s.m.gone(conn)
	case "ignored", "stays":
	case "held":
		call.held = append(call.held, func() { s.expect(conn, id, name, nested) })
	case "result", "failed", "rejected", "inconsistent":
		s.m.settle(call, want)
	case "Opening":
		call.asks++
		call.nested[nested] = true
		call.commit, call.told = false, false
		call.phase = "opening"
	default:
		call.phase = strings.ToLower(want)
		if call.phase == "chunks" {
			call.cur = 0
		}
	}
}

// resume lets the model work on what waited.
func (s *machine) resume(c *mCall) {
	held := c.held
	c.held = nil
	for _, expect := range held {
		if s.m.conns[c.reg.conn.id] == nil {
			return
		}
		expect()
	}
}

func (s *machine) Admit(t *rapid.T) {
	c := pickOf(t, "call", s.in("accepted"))
	c.phase = "admitted"
	s.do(s.b.Admit(c.id))
}

func (s *machine) Stored(t *rapid.T) {
	c := pickOf(t, "call", s.live())
	if c.phase == "opening" {
		c.phase = "awaiting"
	}
	s.do(s.b.Stored(Ask{c.id, c.asks}))
}

func (s *machine) Refused(t *rapid.T) {
	c := pickOf(t, "call", s.live())
	if c.phase == "opening" {
		s.m.settle(c, "refused")
	}
	s.do(s.b.Refused(Ask{c.id, c.asks}, "limit_exceeded: no"))
}

// asked picks an ask of any call, mostly the one that a call in that phase waits for; it is reports whether it is one.
func (s *machine) asked(t *rapid.T, phase string) (c *mCall, a Ask, is bool) {
	c = s.m.calls[pickOf(t, "call", slices.Sorted(maps.Keys(s.m.calls)))]
	if likely := s.in(phase); len(likely) > 0 && rapid.IntRange(0, 3).Draw(t, "any") > 0 {
		c = pickOf(t, phase, likely)
	}
	n := c.asks - rapid.IntRange(0, 3).Draw(t, "older")/3
	return c, Ask{c.id, n}, c.phase == phase && n == c.asks
}

func (s *machine) Reserve(t *rapid.T) {
	c, a, is := s.asked(t, "awaiting")
	if is {
		c.phase = "committing"
	}
	if got := s.b.Reserve(a); got != is {
		t.Fatalf("reserved: %v, the model says %v", got, is)
	}
}

func (s *machine) Committed(t *rapid.T) {
	c, a, is := s.asked(t, "committing")
	if is {
		c.phase, c.commit = "delivering", true
		s.m.answers++
		s.resume(c)
	}
	s.do(s.b.Committed(a, forms.Result{Action: forms.ActionCancel}))
}

func (s *machine) NotCommitted(t *rapid.T) {
	c, a, is := s.asked(t, "committing")
	if is {
		c.phase = "awaiting"
		s.resume(c)
	}
	s.do(s.b.NotCommitted(a))
}

func (s *machine) Delivered(t *rapid.T) {
	c := pickOf(t, "call", s.live())
	if likely := s.in("delivering"); len(likely) > 0 && rapid.IntRange(0, 3).Draw(t, "any") > 0 {
		c = pickOf(t, "delivering", likely)
	}
	if c.commit && !c.told {
		c.told = true
		if c.phase == "delivering" {
			c.phase = "admitted"
		}
		s.do(s.b.Delivered(Ask{c.id, c.asks}))
		s.want("arm")
		return
	}
	s.do(s.b.Delivered(Ask{c.id, c.asks}))
	s.want("")
}

func (s *machine) Deadline(t *rapid.T) {
	c := pickOf(t, "call", s.live())
	gen := s.timers[c.id]
	if rapid.Bool().Draw(t, "stale") {
		gen = uint64(rapid.IntRange(0, 5).Draw(t, "generation"))
	}
	if c.phase != "awaiting" && c.phase != "committing" && gen == s.timers[c.id] {
		s.m.settle(c, "deadline")
	}
	s.do(s.b.Deadline(c.id, gen))
}

func (s *machine) Unanswered(t *rapid.T) {
	c := pickOf(t, "call", s.live())
	if c.phase == "awaiting" {
		s.m.settle(c, "unanswered")
	}
	s.do(s.b.Unanswered(Ask{c.id, c.asks}))
}

func (s *machine) Check(t *rapid.T) {
	s.m.release()
	for id, c := range s.m.calls {
		phase := s.b.PhaseOf(id).String()
		if c.phase == "" {
			if phase != "retired" || s.settled[id].Reason.String() != c.reason {
				t.Fatalf("%s settled %v in phase %s, the model says %s", id, s.settled[id].Reason, phase, c.reason)
			}
			continue
		}
		if _, over := s.settled[id]; over || phase != c.phase {
			t.Fatalf("%s is %s (settled %v), the model says %s", id, phase, over, c.phase)
		}
		if runs := s.timers[id] != 0; runs == (c.phase == "awaiting" || c.phase == "committing") {
			t.Fatalf("%s in phase %s: deadline runs %v", id, phase, runs)
		}
	}
	if s.b.Active() != len(s.live()) {
		t.Fatalf("%d active, the model has %d", s.b.Active(), len(s.live()))
	}
	for id := range s.conns {
		if s.m.conns[id] == nil {
			t.Fatalf("connection %s lives", id)
		}
	}
	for id := range s.m.conns {
		if !s.conns[id] {
			t.Fatalf("connection %s was aborted: %s", id, s.aborted[id])
		}
	}
	s.checkFrames(t)
}

func (s *machine) checkFrames(t *rapid.T) {
	answers, released := 0, map[string]int{}
	for conn, frames := range s.sent {
		for _, f := range frames {
			switch f := f.(type) {
			case *protocol.InteractionResult:
				answers++
				if c := s.m.calls[f.InvocationID]; c.reg.conn.id != conn || !c.nested[f.InteractionID] {
					t.Fatalf("answer of %s went to %s", f.InvocationID, conn)
				}
			case *protocol.RegistrationRelease:
				released[f.RegistrationID]++
			}
		}
	}
	if answers != s.m.answers {
		t.Fatalf("%d answers handed over, %d were due", answers, s.m.answers)
	}
	for _, r := range s.m.regs {
		want := 0
		if r.released {
			want = 1
		}
		if s.m.conns[r.conn.id] == nil {
			want = min(want, released[r.id]) // it may have been told before it left
		}
		if released[r.id] != want {
			t.Fatalf("registration %s released %d times, the model says %d", r.id, released[r.id], want)
		}
	}
}

func (s *machine) prelude(t *rapid.T) {
	for _, id := range [][2]string{{"p1", "x"}, {"p1", "y"}, {"p2", "x"}} {
		c := &mConn{id: s.fresh("c"), principal: id[0], instance: id[1], retired: map[string]bool{}}
		s.m.conns[c.id] = c
		s.connect(Conn{ID: c.id, Principal: c.principal, Instance: c.instance, Publish: true})
	}
	s.Replace(t)
	if len(s.m.current()) == 1 {
		s.BindTurn(t)
		for range rapid.IntRange(0, 9).Draw(t, "calls") {
			s.StartCall(t)
		}
	}
	for _, c := range s.live() {
		for range rapid.IntRange(0, 5).Draw(t, "steps") {
			switch c.phase {
			case "dispatched":
				s.send(t, c.reg.conn, c.id, "accepted")
			case "accepted":
				c.phase = "admitted"
				s.do(s.b.Admit(c.id))
			case "admitted":
				s.send(t, c.reg.conn, c.id, "interaction_request")
			case "opening":
				c.phase = "awaiting"
				s.do(s.b.Stored(Ask{c.id, c.asks}))
			case "awaiting":
				c.phase = "committing"
				s.b.Reserve(Ask{c.id, c.asks})
			case "committing":
				c.phase, c.commit = "delivering", true
				s.m.answers++
				s.do(s.b.Committed(Ask{c.id, c.asks}, forms.Result{Action: forms.ActionCancel}))
			}
		}
	}
}

func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t)
		r.t, r.admit, r.deliver = rt, false, false
		s := &machine{rig: r, m: &model{conns: map[string]*mConn{}, calls: map[string]*mCall{}, turns: map[Turn]map[string]*mReg{}, bound: map[string]map[string]*mConn{}}}
		s.prelude(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"connect": s.Connect, "disconnect": s.Disconnect, "replace": s.Replace, "unregister": s.Unregister,
			"bind": s.BindTurn, "call": s.StartCall, "call2": s.StartCall, "stop": s.StopTurn, "end": s.EndTurn,
			"advance": s.Advance, "advance2": s.Advance, "advance3": s.Advance, "anything": s.Anything,
			"admit": s.Admit, "stored": s.Stored, "refused": s.Refused, "reserve": s.Reserve, "committed": s.Committed, "notCommitted": s.NotCommitted,
			"delivered": s.Delivered, "deadline": s.Deadline, "unanswered": s.Unanswered, "": s.Check,
		})
		s.empty(rt)
	})
}

func (s *machine) empty(t *rapid.T) {
	for tn := range s.m.turns {
		s.do(s.b.EndTurn(tn))
	}
	for id := range s.m.conns {
		s.disconnect(id)
	}
	for id := range s.started {
		if _, ok := s.settled[id]; !ok {
			t.Fatalf("call %s was never settled", id)
		}
	}
	b := s.b
	if len(b.conns)+len(b.identities)+len(b.current)+len(b.bindings)+len(b.turns)+len(b.invocations) != 0 {
		t.Fatalf("left behind: %+v", b)
	}
}
