package broker

import (
	"fmt"
	"slices"

	"askback/protocol"
)

// Initiator is the client that starts a Turn. It may be gone by the time a queued Turn starts.
type Initiator struct {
	Principal, Instance string
}

// turn is what a running Turn may call. It is fixed when the Turn starts.
type turn struct {
	Turn
	run       string
	initiator Initiator
	catalog   *catalog
	chosen    []*registration // for each group of the catalog; nil: chosen at each call
	calls     map[string]*invocation
}

// Tool names a tool that a Turn may call.
type Tool struct {
	Server, Name string
	ModelName    string
	DisplayName  string                // the annotation's title, else the name
	ActivityKind protocol.ActivityKind // honoured from a trusted provider only
}

var (
	errSeveral = &protocol.Error{Code: protocol.CodeOperationConflict,
		Message: "Multiple Client Capability providers offer the same contract and no initiating provider can be selected"}
)

// BindTurn fixes what a Turn may call, and binds its session to a provider for each offer of session affinity: the one it
// is bound to already, else the initiating client's own, else the only one. When that cannot be decided the Turn may not
// start, and nothing has changed.
func (b *Broker) BindTurn(t Turn, run string, by Initiator) *protocol.Error {
	if b.turns[t] != nil {
		return nil
	}
	c := b.catalogNow()
	if c.conflict != nil {
		return c.conflict
	}
	tn := &turn{Turn: t, run: run, initiator: by, catalog: c, calls: map[string]*invocation{}}
	for _, g := range c.groups {
		r, err := b.choose(t.Session, g, by)
		if err != nil {
			return err
		}
		tn.chosen = append(tn.chosen, r)
	}
	for i, g := range c.groups {
		r := tn.chosen[i]
		if r == nil {
			continue
		}
		b.use(r)
		if g.affinity == protocol.AffinitySession {
			b.bind(t.Session, g.contract, r.provider)
		}
	}
	b.turns[t] = tn
	return nil
}

// choose selects the provider of one contract at the start of a Turn; nil for an offer that is chosen at each call.
func (b *Broker) choose(session string, g *group, by Initiator) (*registration, *protocol.Error) {
	if g.affinity == protocol.AffinityCall {
		return nil, nil
	}
	if g.affinity == protocol.AffinitySession {
		if p := b.bindings[session][g.contract]; p != nil && slices.Contains(g.providers, p.current) {
			return p.current, nil
		}
	}
	if r := g.pick(by); r != nil {
		return r, nil
	}
	return nil, errSeveral
}

func (b *Broker) bind(session, contract string, p *provider) {
	m := b.bindings[session]
	if m == nil {
		m = map[string]*provider{}
		b.bindings[session] = m
	}
	m[contract] = p
}

// Tools lists what a Turn may call, in the order of publication.
func (b *Broker) Tools(t Turn) []Tool {
	tn := b.turns[t]
	if tn == nil {
		return nil
	}
	var list []Tool
	for i, g := range tn.catalog.groups {
		for _, tool := range g.tools {
			list = append(list, describe(tool, tn.chosen[i]))
		}
	}
	return list
}

// ToolOf describes one tool of a Turn.
func (b *Broker) ToolOf(t Turn, server, name string) (Tool, bool) {
	tn := b.turns[t]
	if tn == nil {
		return Tool{}, false
	}
	slot, ok := tn.catalog.index[toolKey{server, name}]
	if !ok {
		return Tool{}, false
	}
	return describe(tn.catalog.groups[slot.group].tools[slot.tool], tn.chosen[slot.group]), true
}

func describe(t protocol.Tool, r *registration) Tool {
	d := Tool{Server: t.ServerID, Name: t.Name, ModelName: ModelName(t.ServerID, t.Name), DisplayName: t.Name,
		ActivityKind: protocol.ActivityTool}
	if t.Annotations != nil && t.Annotations.Title != "" {
		d.DisplayName = t.Annotations.Title
	}
	if t.ActivityKind != "" && r != nil && r.conn.Trusted {
		d.ActivityKind = t.ActivityKind
	}
	return d
}

// StopTurn cancels what a Turn still runs, for turn.stop. The Turn stays bound until EndTurn.
func (b *Broker) StopTurn(t Turn) []Effect { return b.cancelTurn(t, ExitStopped) }

// DrainTurn does the same because the Host closes.
func (b *Broker) DrainTurn(t Turn) []Effect { return b.cancelTurn(t, ExitHostClosing) }

func (b *Broker) cancelTurn(t Turn, exit Exit) []Effect {
	if tn := b.turns[t]; tn != nil {
		for _, inv := range sortedInvocations(tn.calls) {
			b.end(inv, exit, "")
		}
	}
	return b.take()
}

// EndTurn ends a Turn: what still runs is cancelled, and registrations that it was the last to use are released.
func (b *Broker) EndTurn(t Turn) []Effect {
	tn := b.turns[t]
	if tn == nil {
		return nil
	}
	for _, inv := range sortedInvocations(tn.calls) {
		b.end(inv, ExitTurnEnded, "")
	}
	delete(b.turns, t)
	for _, r := range tn.chosen {
		if r != nil {
			b.unuse(r)
		}
	}
	return b.take()
}

// toolKey names a tool as a caller does.
type toolKey struct{ server, name string }

type toolSlot struct{ group, tool int }

// group is one contract and those who offer it.
type group struct {
	contract  string
	affinity  protocol.Affinity
	tools     []protocol.Tool
	providers []*registration
}

// pick returns the initiating client's own registration, else the only one, else nil. Own is first the very principal,
// then the same installation under another credential: a client may publish with one and start Turns with another.
func (g *group) pick(by Initiator) *registration {
	var own []*registration
	for _, r := range g.providers {
		if r.provider.instance != by.Instance {
			continue
		}
		if r.provider.principal == by.Principal {
			return r
		}
		own = append(own, r)
	}
	switch {
	case len(own) == 1:
		return own[0]
	case len(own) == 0 && len(g.providers) == 1:
		return g.providers[0]
	}
	return nil
}

// catalog is everything that is offered, by contract.
type catalog struct {
	groups   []*group
	index    map[toolKey]toolSlot
	conflict *protocol.Error // two contracts with tools of one model name
}

// catalogNow returns the catalog of the current registrations. It is made once for each state of the registry and never
// changed, since Turns keep it.
func (b *Broker) catalogNow() *catalog {
	if b.catalog != nil {
		return b.catalog
	}
	c := &catalog{index: map[toolKey]toolSlot{}}
	byContract := map[string]*group{}
	names := map[string]toolKey{}
	for _, r := range b.current {
		for _, o := range r.offers {
			if g := byContract[o.contract]; g != nil {
				g.providers = append(g.providers, r)
				continue
			}
			g := &group{contract: o.contract, affinity: o.Affinity, tools: o.Tools, providers: []*registration{r}}
			byContract[o.contract] = g
			c.add(g, names)
		}
	}
	b.catalog = c
	return c
}

func (c *catalog) add(g *group, names map[string]toolKey) {
	for i, t := range g.tools {
		key, name := toolKey{t.ServerID, t.Name}, ModelName(t.ServerID, t.Name)
		if first, ok := names[name]; ok && c.conflict == nil {
			c.conflict = &protocol.Error{Code: protocol.CodeOperationConflict, Message: Clip(fmt.Sprintf(
				"Different Client Capability contracts offer tools of one model name: %q of %q and %q of %q",
				first.name, first.server, key.name, key.server))}
		}
		names[name] = key
		c.index[key] = toolSlot{len(c.groups), i}
	}
	c.groups = append(c.groups, g)
}
