package provider

import (
	"fmt"
	"strings"
	"unicode/utf16"

	"askback/hostclient"
	"askback/internal/strictjson"
	"askback/internal/toolschema"
)

// Limits of what one connection may offer (wire protocol, 7.1).
const (
	maxOffers          = 32
	maxToolsPerOffer   = 64
	maxTools           = 256
	maxManifest        = 56 << 10
	maxToolName        = 128
	maxToolDescription = 8192
	maxLabel           = 128
)

// LeftOut is a tool that cannot be offered.
type LeftOut struct {
	Server, Tool string
	Reason       string // completes "the tool … is not offered: "
}

func (l LeftOut) String() string {
	return fmt.Sprintf("%s/%s is not offered: %s", l.Server, l.Tool, l.Reason)
}

// Plan is what is offered of a list of tools.
type Plan struct {
	Offers  []hostclient.Offer
	Tools   []ToolInfo // those offered, in order
	LeftOut []LeftOut
}

// NewPlan makes offers of tools, in order, within the protocol's limits: one
// offer a server, more where it has more than 64 tools. What cannot be offered
// is named; the rest is not harmed by it. label names this provider to people.
func NewPlan(tools []ToolInfo, label string) Plan {
	p := &planner{
		names:  make(map[string]string, len(tools)),
		offers: make(map[string]int),
		ids:    make(map[string]bool),
		label:  cutUnits(label, maxLabel),
		size:   manifestOverhead,
	}
	for _, server := range serversOf(tools) {
		p.reserved = append(p.reserved, idOf(server))
	}
	for _, t := range tools {
		if reason := p.add(t); reason != "" {
			p.plan.LeftOut = append(p.plan.LeftOut, LeftOut{t.Server, t.Name, reason})
		}
	}
	return p.plan
}

// serversOf lists the servers in order of first appearance.
func serversOf(tools []ToolInfo) (list []string) {
	seen := make(map[string]bool)
	for _, t := range tools {
		if !seen[t.Server] {
			seen[t.Server] = true
			list = append(list, t.Server)
		}
	}
	return list
}

type planner struct {
	plan     Plan
	label    string
	names    map[string]string // model name → who has it
	offers   map[string]int    // server → index of its open offer
	ids      map[string]bool   // offer ids taken
	reserved []string          // ids that servers get first
	size     int               // bytes of the manifest, an upper bound
}

// The JSON around the tools, rounded up: the request's input, and an offer with
// its id, label and description counted apart.
const (
	manifestOverhead = 256
	offerOverhead    = 192
	toolOverhead     = 96
)

// add offers t, or says why not.
func (p *planner) add(t ToolInfo) string {
	if len(p.plan.Tools) >= maxTools {
		return fmt.Sprintf("only %d tools fit", maxTools)
	}
	switch n := units(t.Name); {
	case n == 0:
		return "it has no name"
	case n > maxToolName:
		return fmt.Sprintf("its name is longer than %d characters", maxToolName)
	case units(t.Server) == 0 || units(t.Server) > maxToolName:
		return "its server's name does not fit"
	}
	who := t.Server + "/" + t.Name
	name := modelName(t.Server, t.Name)
	if other, taken := p.names[name]; taken {
		if other == who {
			return "its server lists it twice"
		}
		return fmt.Sprintf("a model could not tell its name from that of %s", other)
	}
	schema, err := toolschema.Rewrite(t.InputSchema)
	if err != nil {
		return "its input schema cannot be offered: " + err.Error()
	}
	tool := hostclient.Tool{
		ServerID:    t.Server,
		Name:        t.Name,
		Description: cutUnits(t.Description, maxToolDescription),
		InputSchema: schema,
		Annotations: annotationsOf(t),
	}
	if reason := p.place(t.Server, tool); reason != "" {
		return reason
	}
	p.names[name] = who
	p.plan.Tools = append(p.plan.Tools, t)
	return ""
}

// place puts a tool into its server's open offer, or into a new one.
func (p *planner) place(server string, tool hostclient.Tool) string {
	size := toolSize(tool)
	i, open := p.offers[server]
	fresh := !open || len(p.plan.Offers[i].Tools) >= maxToolsPerOffer
	var offer hostclient.Offer
	if fresh {
		if len(p.plan.Offers) >= maxOffers {
			return fmt.Sprintf("only %d groups of tools fit", maxOffers)
		}
		offer = p.offer(server)
		size += offerOverhead + len(offer.OfferID) + quotedLen(offer.Label) + quotedLen(offer.Description)
	}
	if p.size+size > maxManifest {
		return fmt.Sprintf("the offers would be larger than %d KiB", maxManifest>>10)
	}
	p.size += size
	if fresh {
		i = len(p.plan.Offers)
		p.offers[server] = i
		p.ids[offer.OfferID] = true
		p.plan.Offers = append(p.plan.Offers, offer)
	}
	p.plan.Offers[i].Tools = append(p.plan.Offers[i].Tools, tool)
	return ""
}

// offer is an empty offer for a server under an id of its own.
func (p *planner) offer(server string) hostclient.Offer {
	return hostclient.Offer{
		OfferID:        p.freeID(server),
		Version:        "1",
		Affinity:       "session",
		HostPathAccess: "none",
		Label:          p.label,
		Description:    "Tools of the MCP server " + cutUnits(server, 256) + ".",
	}
}

// freeID is the server's id, or the first free one with a number; the plain id
// of another server stays that server's.
func (p *planner) freeID(server string) string {
	base := idOf(server)
	first := true // whether server is the first with that id
	for _, s := range p.offersOf(base) {
		first = first && s == server
	}
	if first && !p.ids[base] {
		return base
	}
	for n := 2; ; n++ {
		id := fmt.Sprintf("%s-%d", cutBytes(base, 100), n)
		if !p.ids[id] && !p.isReserved(id) {
			return id
		}
	}
}

// offersOf lists the servers that have an offer already whose plain id is base.
func (p *planner) offersOf(base string) (servers []string) {
	for s := range p.offers {
		if idOf(s) == base {
			servers = append(servers, s)
		}
	}
	return servers
}

func (p *planner) isReserved(id string) bool {
	for _, r := range p.reserved {
		if r == id {
			return true
		}
	}
	return false
}

// idOf makes an entity id of a server's name: what may not stand in one becomes
// an underscore.
func idOf(server string) string {
	return cutBytes(strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z') {
			return r
		}
		return '_'
	}, server), 128)
}

func cutBytes(s string, n int) string { return s[:min(len(s), n)] }

// modelName is what a Host calls the tool to a model, which knows fewer
// characters than MCP. Two tools of one such name make a Host refuse them all.
func modelName(server, tool string) string {
	return "mcp__" + idOf(server) + "__" + idOf(tool)
}

func units(s string) int { return len(utf16.Encode([]rune(s))) }

// toolSize is at least the length of the tool's JSON.
func toolSize(t hostclient.Tool) int {
	n := toolOverhead + quotedLen(t.ServerID) + quotedLen(t.Name) + quotedLen(t.Description) + len(t.InputSchema)
	if t.Annotations != nil {
		n += 160 + quotedLen(t.Annotations.Title)
	}
	return n
}

func quotedLen(s string) int { return len(strictjson.AppendString(nil, s)) }

// annotationsOf passes on the hints that the protocol knows.
func annotationsOf(t ToolInfo) *hostclient.Annotations {
	a := hostclient.Annotations{Title: t.Title}
	v, _, err := strictjson.ParseSchema(t.Annotations, strictjson.Limits{})
	if err != nil {
		v = strictjson.Value{}
	}
	if title, ok := v.Get("title"); ok && a.Title == "" {
		a.Title, _ = title.Text()
	}
	a.Title = cutUnits(a.Title, maxTitle)
	for key, hint := range map[string]**bool{
		"readOnlyHint": &a.ReadOnlyHint, "destructiveHint": &a.DestructiveHint,
		"idempotentHint": &a.IdempotentHint, "openWorldHint": &a.OpenWorldHint,
	} {
		if member, ok := v.Get(key); ok {
			if b, err := member.Bool(); err == nil {
				*hint = &b
			}
		}
	}
	if a == (hostclient.Annotations{}) {
		return nil
	}
	return &a
}

const maxTitle = 256
