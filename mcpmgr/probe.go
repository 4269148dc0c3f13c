package mcpmgr

import "fmt"

// This file decides the era of a stdio server, purely: events in, actions out. dial.go acts.
//
// The first child is asked with server/discover. While it is silent a second one may be asked with
// initialize; the first result decides, except that a late server/discover result still wins over
// a legacy session that has had no call.

// who names a child of one probe.
type who int

const (
	first who = iota
	second
)

// childState is what is known of one child.
type childState int

const (
	absent       childState = iota // not started
	discovering                    // server/discover is on its way
	initializing                   // initialize is on its way
	refusing                       // answered server/discover as a legacy server does; alive
	gone                           // ended, by itself or by us
)

// probeEvent is something that happened.
type probeEvent struct {
	kind    probeKind
	who     who
	version string // of sawVersions: the one that was chosen
	era     Era
	reason  string
	err     error
}

type probeKind int

const (
	sawVersions  probeKind = iota // a server/discover result, or a version error that lists some
	sawModern                     // a modern error that lists no versions
	sawNone                       // no version in common
	sawError                      // any other error in reply to server/discover
	sawExit                       // the child ended
	sawBroken                     // the reply cannot be used
	sawInit                       // initialize succeeded
	sawInitError                  // initialize failed
	sawQuiet                      // nothing from the first child for a while
	sawDeadline                   // nothing from anyone for long
)

// probeAction is something to do.
type probeAction struct {
	verb    probeVerb
	who     who
	version string
	reason  string
	err     error
}

type probeVerb int

const (
	doInitialize  probeVerb = iota // send initialize to a child that runs
	doStart                        // start a child and send initialize
	doEnd                          // end a child
	doModern                       // the child is the server, modern
	doLegacy                       // the child is the server, legacy
	doProvisional                  // as doLegacy, but keep waiting for the first child
	doFail
)

// probe is the state of one probe. The zero value with a pin is one that began by asking the first
// child: server/discover, or initialize when the pin is legacy.
type probe struct {
	pin     Era // "" is auto
	state   [2]childState
	reason  string // why it is taken for a legacy server
	lastErr error  // what a child that is of no use said
	done    bool
}

func newProbe(pin Era) *probe {
	p := &probe{pin: pin}
	p.state[first] = discovering
	if pin == EraLegacy {
		p.state[first] = initializing
	}
	return p
}

// on takes one event. After an action that decides, nothing follows.
func (p *probe) on(e probeEvent) []probeAction {
	if p.done {
		return nil
	}
	switch e.kind {
	case sawVersions:
		if e.era == EraModern {
			return p.decide(probeAction{verb: doModern, who: first, version: e.version})
		}
		if p.pin == EraModern {
			return p.fail(&permanent{fmt.Errorf("the server supports no modern version of the protocol, only %s", e.version)})
		}
		p.reason = "it lists only legacy versions"
		return append(p.end(second), p.initialize(first, e.version))
	case sawModern:
		return p.decide(probeAction{verb: doModern, who: first, version: modernVersions[0]})
	case sawNone, sawBroken:
		return p.fail(e.err)
	case sawError:
		return p.refused(e)
	case sawExit:
		return p.exited(e)
	case sawInit:
		a := probeAction{verb: doLegacy, who: e.who, reason: p.reason}
		if e.who == second && p.state[first] == discovering {
			a.verb = doProvisional
		}
		return p.decide(a)
	case sawInitError:
		p.lastErr = e.err
		out := p.end(e.who)
		return append(out, p.next()...)
	case sawQuiet:
		if p.pin == "" && p.state[first] == discovering && p.state[second] == absent {
			p.reason = "it does not answer server/discover"
			p.state[second] = initializing
			return []probeAction{{verb: doStart, who: second}}
		}
	case sawDeadline:
		if p.lastErr == nil {
			p.lastErr = fmt.Errorf("the server did not answer within %d seconds%s", int(probeDeadline.Seconds()), e.reason)
		}
		return p.fail(p.lastErr)
	}
	return nil
}

// refused handles an error in reply to server/discover that no modern server gives.
func (p *probe) refused(e probeEvent) []probeAction {
	if p.pin == EraModern {
		return p.fail(&permanent{fmt.Errorf("the server is not modern: %w", e.err)})
	}
	p.reason = e.reason
	switch p.state[second] {
	case initializing:
		return p.end(first) // the second child is further
	default:
		return []probeAction{p.initialize(first, legacyVersions[0])}
	}
}

func (p *probe) exited(e probeEvent) []probeAction {
	was := p.state[e.who]
	p.state[e.who] = gone
	p.lastErr = e.err
	if e.who == first && was == discovering && p.state[second] == absent && p.pin == "" {
		p.reason = "it exits on server/discover"
		p.state[second] = initializing
		return []probeAction{{verb: doEnd, who: first}, {verb: doStart, who: second}}
	}
	return append([]probeAction{{verb: doEnd, who: e.who}}, p.next()...)
}

// next goes on with whoever is left.
func (p *probe) next() []probeAction {
	for _, s := range p.state {
		if s == discovering || s == initializing {
			return nil // there is still someone to hear from
		}
	}
	return p.fail(p.lastErr)
}

func (p *probe) initialize(w who, version string) probeAction {
	p.state[w] = initializing
	return probeAction{verb: doInitialize, who: w, version: version}
}

func (p *probe) end(w who) []probeAction {
	if p.state[w] == absent || p.state[w] == gone {
		return nil
	}
	p.state[w] = gone
	return []probeAction{{verb: doEnd, who: w}}
}

// decide ends the probe with a: the other child is ended, or left asking for a provisional end.
func (p *probe) decide(a probeAction) []probeAction {
	p.done = true
	var out []probeAction
	if a.verb != doProvisional {
		out = p.end(1 - a.who)
	}
	return append(out, a)
}

func (p *probe) fail(err error) []probeAction {
	p.done = true
	out := append(p.end(first), p.end(second)...)
	return append(out, probeAction{verb: doFail, err: err})
}
