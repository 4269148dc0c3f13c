package broker

import (
	"maps"
	"slices"
	"strings"
)

// The reference model: what a person would keep on paper about providers, Turns and calls. It knows nothing of how the
// Broker does it, and reads the phase table above.

type mConn struct {
	id, principal, instance string
	superseded, published   bool
	retired                 map[string]bool
}

type mReg struct {
	id       string
	conn     *mConn
	contract string
	current  bool
	retired  bool
	released bool
	turns    map[Turn]bool
}

type mCall struct {
	id     string
	turn   Turn
	reg    *mReg
	phase  string // of the table, or "" once settled
	reason string // how it was settled
	asks   int
	commit bool // the last ask was committed
	told   bool // and its delivery reported
	nested map[string]bool
	held   []func() // what the frames will do that wait for an answer to be stored
	total  int
	cur    int
}

type model struct {
	conns   map[string]*mConn
	regs    []*mReg
	calls   map[string]*mCall
	turns   map[Turn]map[string]*mReg // contract → registration
	bound   map[string]map[string]*mConn
	answers int
}

func (m *model) current() (list []*mReg) {
	for _, r := range m.regs {
		if r.current {
			list = append(list, r)
		}
	}
	return list
}

// choose is the rule of session affinity; ok is false for a conflict.
func (m *model) choose(session, contract string, by Initiator) (*mReg, bool) {
	var all, own []*mReg
	for _, r := range m.current() {
		if r.contract != contract {
			continue
		}
		all = append(all, r)
		if c := m.bound[session][contract]; c != nil && c.principal == r.conn.principal && c.instance == r.conn.instance {
			return r, true
		}
		if r.conn.instance == by.Instance {
			own = append(own, r)
		}
	}
	for _, r := range own {
		if r.conn.principal == by.Principal {
			return r, true
		}
	}
	switch {
	case len(own) == 1:
		return own[0], true
	case len(own) == 0 && len(all) == 1:
		return all[0], true
	}
	return nil, len(all) == 0
}

func (m *model) settle(c *mCall, reason string) {
	c.phase, c.reason, c.held = "", reason, nil
	c.reg.conn.retired[c.id] = true
}

func (m *model) release() {
	for _, r := range m.regs {
		busy := false
		for _, c := range m.calls {
			busy = busy || c.phase != "" && c.reg == r
		}
		if !r.current && !busy && len(r.turns) == 0 {
			r.released = true
		}
	}
}

// gone ends a connection.
func (m *model) gone(c *mConn) {
	delete(m.conns, c.id)
	m.retire(c, "lost")
	for _, b := range m.bound {
		maps.DeleteFunc(b, func(contract string, to *mConn) bool {
			if to.principal != c.principal || to.instance != c.instance {
				return false
			}
			return !slices.ContainsFunc(m.current(), func(r *mReg) bool {
				return r.conn.principal == c.principal && r.conn.instance == c.instance
			})
		})
	}
}

func (m *model) retire(c *mConn, reason string) {
	for _, r := range m.regs {
		if r.conn == c {
			r.current, r.retired = false, true
		}
	}
	for _, call := range m.calls {
		if call.phase != "" && call.reg.conn == c {
			m.settle(call, reason)
		}
	}
}

var cells = func() map[string]map[string]string {
	lines := strings.Split(strings.TrimSpace(phaseTable), "\n")
	columns := strings.Fields(lines[0])
	table := map[string]map[string]string{}
	for _, l := range lines[1:] {
		f := strings.Fields(l)
		table[f[0]] = map[string]string{}
		for i, c := range columns {
			table[f[0]][c] = f[i+1]
		}
	}
	return table
}()

// Advance sends what a good provider would.
// Anything sends any frame about any call on any connection.
// Check compares everything that shows.
// prelude takes calls some way, which random steps alone seldom do.
// empty ends everything and wants nothing left.
