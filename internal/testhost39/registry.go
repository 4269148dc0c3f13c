package testhost39

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"askback/protocol"
)

// registration is one set of offers of one connection.
type registration struct {
	id      string
	conn    *conn
	offers  []protocol.Offer
	current bool
	users   int // Turns that have it bound
}

// release tells the provider that nobody uses a registration any more.
func (r *registration) release() {
	if r.current || r.users > 0 || r.conn.registrations[r.id] == nil {
		return
	}
	delete(r.conn.registrations, r.id)
	r.conn.send(&protocol.RegistrationRelease{RegistrationID: r.id})
}

// bound is a tool as a Turn has it.
type bound struct {
	reg       *registration
	offer     *protocol.Offer
	tool      *protocol.Tool
	modelName string
	group     string
	contract  string
}

var notInModelName = regexp.MustCompile(`[^A-Za-z0-9_-]`)

func modelToolName(t *protocol.Tool) string {
	return "mcp__" + notInModelName.ReplaceAllString(t.ServerID, "_") + "__" + notInModelName.ReplaceAllString(t.Name, "_")
}

// contractOf is what two offers must share to be the same to a model.
func contractOf(o *protocol.Offer) string {
	data, _ := json.Marshal([]any{o.OfferID, o.Version, o.Affinity, o.HostPathAccess, o.Tools})
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func (c *conn) groupOf(o *protocol.Offer) string {
	sum := sha256.Sum256([]byte(c.cred.Principal + "\x00" + c.instance))
	return "client_" + hex.EncodeToString(sum[:8]) + "_" + o.OfferID
}

func (c *conn) replace(in *protocol.CapabilityReplaceInput) (protocol.Result, *protocol.Error) {
	h := c.h
	if !c.cred.Publish {
		return nil, errUnauthorized
	}
	names := map[string]bool{}
	for _, o := range in.Offers {
		if c.cred.Kind == CapabilityProvider && (o.Affinity != protocol.AffinitySession || o.HostPathAccess != protocol.HostPathNone) {
			return nil, errTrustedOffers
		}
		if o.HostPathAccess == protocol.HostPathCwd && !c.cred.HostPaths {
			return nil, errUnauthorized
		}
		for _, t := range o.Tools {
			name := modelToolName(&t)
			if names[name] {
				return nil, refusal(protocol.CodeInvalidRequest, "Client Capability proxy tool name collision: "+name)
			}
			names[name] = true
		}
	}
	switch {
	case c.cred.Kind == CapabilityProvider && len(in.Services) > 0:
		return nil, errTrustedOffers
	case c.superseded:
		return nil, refusal(protocol.CodeInvalidRequest, "Client Capability connection has been superseded")
	case c.registrations[in.RegistrationID] != nil:
		return nil, refusal(protocol.CodeInvalidRequest, "Client Capability registration identity already exists")
	}
	if other := h.providers[c.identity()]; other != nil && other != c {
		other.supersede()
	}
	h.providers[c.identity()] = c
	old := c.current
	c.current = &registration{id: in.RegistrationID, conn: c, offers: in.Offers, current: true}
	c.registrations[in.RegistrationID] = c.current
	h.capabilities++
	if old != nil {
		old.current = false
		old.release()
	}
	return &protocol.CapabilityReplaceResult{RegistrationID: in.RegistrationID, Revision: h.capabilities}, nil
}

var errTrustedOffers = refusal(protocol.CodeInvalidRequest, "A trusted capability provider may publish only path-independent session capabilities")

// unregister answers before it releases, as the real Host does here.
func (c *conn) unregister(r *protocol.Request, in *protocol.CapabilityUnregisterInput) (protocol.Result, *protocol.Error) {
	h := c.h
	if !c.cred.Publish {
		return nil, errUnauthorized
	}
	if c.current == nil || c.current.id != in.RegistrationID {
		return nil, refusal(protocol.CodeInvalidRequest, "Client Capability registration is not current")
	}
	old := c.current
	old.current, c.current = false, nil
	if h.providers[c.identity()] == c {
		delete(h.providers, c.identity())
	}
	h.capabilities++
	h.unbind(c.identity())
	c.respond(r, &protocol.CapabilityUnregisterResult{RegistrationID: in.RegistrationID, Revision: h.capabilities})
	old.release()
	return nil, nil
}

// unbind frees every session from a provider that left in good order.
func (h *Host) unbind(id identity) {
	for _, s := range h.sessions {
		for contract, who := range s.bound {
			if who == id {
				delete(s.bound, contract)
			}
		}
	}
}

// supersede ends what an older connection of the same identity runs.
func (c *conn) supersede() {
	c.superseded = true
	c.failAll()
	if c.current != nil {
		c.current.current = false
		c.current.release()
		c.current = nil
	}
}

// disconnected ends what a lost connection ran; its bindings stay, and block.
func (c *conn) disconnected() {
	c.failAll()
	if c.h.providers[c.identity()] == c {
		delete(c.h.providers, c.identity())
		c.h.capabilities++
	}
	c.current = nil
	clear(c.registrations)
}

// bind chooses, at the start of a Turn, who serves which tool.
func (s *session) bind(initiator *conn) (map[string]*bound, []*registration, *protocol.Error) {
	h := s.h
	for _, who := range s.bound {
		if h.providers[who] == nil {
			return nil, nil, refusal(protocol.CodeOperationConflict, "A Session-bound Client Capability provider has not reconnected")
		}
	}
	type candidate struct {
		c     *conn
		offer *protocol.Offer
	}
	byContract := map[string][]candidate{}
	var contracts []string
	for _, c := range h.liveProviders() {
		for i := range c.current.offers {
			o := &c.current.offers[i]
			if o.Affinity == protocol.AffinityCall {
				continue
			}
			key := contractOf(o)
			if byContract[key] == nil {
				contracts = append(contracts, key)
			}
			byContract[key] = append(byContract[key], candidate{c, o})
		}
	}
	tools := map[string]*bound{}
	var held []*registration
	chosen := map[string]identity{}
	for _, key := range contracts {
		list := byContract[key]
		pick := list[0]
		if i := slices.IndexFunc(list, func(c candidate) bool { return c.c == initiator }); i >= 0 {
			pick = list[i]
		} else if i := slices.IndexFunc(list, func(c candidate) bool { return c.c.identity() == s.bound[key] }); i >= 0 {
			pick = list[i]
		} else if len(list) > 1 {
			return nil, nil, refusal(protocol.CodeOperationConflict, "Multiple Client Capability providers offer the same contract and no initiating provider can be selected")
		}
		for _, b := range boundTools(pick.c, pick.offer, key) {
			if tools[b.modelName] != nil {
				return nil, nil, refusal(protocol.CodeOperationConflict, "Client Capability tool names conflict: "+b.modelName)
			}
			tools[b.modelName] = b
		}
		if !slices.Contains(held, pick.c.current) {
			held = append(held, pick.c.current)
		}
		if pick.offer.Affinity == protocol.AffinitySession {
			chosen[key] = pick.c.identity()
		}
	}
	s.bound = chosen
	return tools, held, nil
}

// liveProviders lists the connections that offer something, in a stable order.
func (h *Host) liveProviders() (list []*conn) {
	for _, c := range h.providers {
		if c.current != nil {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b *conn) int {
		return slices.Compare([]byte(a.id), []byte(b.id))
	})
	return list
}

func boundTools(c *conn, o *protocol.Offer, contract string) (list []*bound) {
	for i := range o.Tools {
		t := &o.Tools[i]
		list = append(list, &bound{reg: c.current, offer: o, tool: t, modelName: modelToolName(t), group: c.groupOf(o), contract: contract})
	}
	return list
}

// toolsNow are the Turn's tools with those that are chosen at each call.
func (t *turn) toolsNow() map[string]*bound {
	all := map[string]*bound{}
	for _, c := range t.s.h.liveProviders() {
		for i := range c.current.offers {
			if o := &c.current.offers[i]; o.Affinity == protocol.AffinityCall {
				for _, b := range boundTools(c, o, contractOf(o)) {
					all[b.modelName] = b
				}
			}
		}
	}
	for name, b := range t.tools {
		// A Turn keeps its session-bound tools although their provider is lost.
		if b.offer.Affinity == protocol.AffinitySession || !b.reg.conn.gone {
			all[name] = b
		}
	}
	return all
}

// displayName is what surfaces call a tool.
func (b *bound) displayName() string {
	if b.tool.Annotations != nil && b.tool.Annotations.Title != "" {
		return b.tool.Annotations.Title
	}
	return b.tool.Name
}

func (b *bound) activityKind() string {
	if b.reg.conn.cred.Kind == CapabilityProvider && b.tool.ActivityKind != "" {
		return string(b.tool.ActivityKind)
	}
	return string(protocol.ActivityTool)
}

func (b *bound) String() string { return fmt.Sprintf("%s of %s", b.modelName, b.group) }
