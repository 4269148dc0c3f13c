package protocol

import (
	"strings"

	"askback/internal/strictjson"
	"askback/internal/toolschema"
)

func (a *PermissionAnswer) checkWire(Dialect) error {
	if a.Decision == DecisionDeny && a.RememberForTurn {
		return strictjson.At("rememberForTurn", strictjson.Bad("cannot be true for a denial"))
	}
	return nil
}

func (p *CapabilityProgress) checkWire(Dialect) error {
	if p.Current > p.Total {
		return strictjson.At("current", strictjson.Bad("is over total"))
	}
	return nil
}

func (s *CapabilityResultStart) checkWire(Dialect) error {
	if s.ChunkCount != ChunkCount(s.ByteLength) {
		return strictjson.At("chunkCount", strictjson.Bad("does not fit byteLength"))
	}
	return nil
}

// ChunkCount is how many chunks a result of n bytes has.
func ChunkCount(n int) int { return (n + ChunkBytes - 1) / ChunkBytes }

func (b *ContentBlock) checkWire(Dialect) error {
	if b.Type == BlockImage && !strings.HasPrefix(b.MimeType, "image/") {
		return strictjson.At("mimeType", strictjson.Bad("must be an image type"))
	}
	return nil
}

func (c *Closure) checkWire(d Dialect) error {
	if !c.Reason.KnownIn(d) {
		return strictjson.At("reason", strictjson.Bad("is not in the protocol's list"))
	}
	return nil
}

// checkWire holds the parts of an Interaction together.
func (in *Interaction) checkWire(Dialect) error {
	_, closed := in.Outcome.(*Closure)
	switch in.Status {
	case InteractionPending:
		if in.Outcome != nil || in.Revision != 1 {
			return strictjson.At("status", strictjson.Bad("is pending with an outcome or a later revision"))
		}
		return nil
	case InteractionAnswered:
		if in.Outcome == nil || closed {
			return strictjson.At("outcome", strictjson.Bad("must be an answer"))
		}
	case InteractionClosed:
		if !closed {
			return strictjson.At("outcome", strictjson.Bad("must be a closure"))
		}
		return nil
	}
	return in.answerFits()
}

// checkWire counts what a manifest may hold as a whole.
func (in *CapabilityReplaceInput) checkWire(d Dialect) error {
	if len(in.Offers)+len(in.Services) == 0 {
		return strictjson.At("offers", strictjson.Bad("must not be empty without services"))
	}
	offers := make(map[string]bool, len(in.Offers))
	type identity struct{ server, name string }
	tools := make(map[identity]bool, MaxToolsPerOffer)
	for i, o := range in.Offers {
		if offers[o.OfferID] {
			return at("offers", i, strictjson.At("offerId", strictjson.Bad("stands twice")))
		}
		offers[o.OfferID] = true
		for j, t := range o.Tools {
			id := identity{t.ServerID, t.Name}
			if tools[id] {
				return at("offers", i, at("tools", j, strictjson.Bad("stands twice")))
			}
			tools[id] = true
			if err := toolschema.Check(t.InputSchema); err != nil {
				return at("offers", i, at("tools", j, strictjson.At("inputSchema", strictjson.Bad("%s", err))))
			}
		}
	}
	if len(tools) > MaxTools {
		return strictjson.At("offers", strictjson.Bad("hold %d tools, at most %d are allowed", len(tools), MaxTools))
	}
	services := make(map[string]bool, len(in.Services))
	for i, s := range in.Services {
		if services[s.ServiceID] {
			return at("services", i, strictjson.At("serviceId", strictjson.Bad("stands twice")))
		}
		services[s.ServiceID] = true
	}
	return nil
}

// checkManifest holds the JSON of a manifest to its limits.
func checkManifest(raw []byte) error {
	if len(raw) > MaxManifestBytes && strictjson.CompactLen(raw) > MaxManifestBytes {
		return strictjson.Bad("is over %d bytes of JSON", MaxManifestBytes)
	}
	return nil
}

func at(key string, i int, err error) error { return strictjson.At(key, strictjson.AtIndex(i, err)) }

// DecodeToolResult reads the joined bytes of a chunked result, at most
// MaxResultBytes.
func DecodeToolResult(data []byte) (*ToolResult, error) {
	v, err := parse(data, MaxResultBytes)
	if err != nil {
		return nil, decodeError(err)
	}
	out := &ToolResult{}
	if err := (&decoder{}).into(v, out); err != nil {
		return nil, decodeError(err)
	}
	return out, nil
}

// EncodeToolResult writes a result as it stands in one frame or in chunks. Over
// MaxInlineResultBytes it must be sent in chunks.
func EncodeToolResult(r *ToolResult) ([]byte, error) {
	e := &encoder{}
	if err := e.from(r); err != nil {
		return nil, encodeError(err)
	}
	if len(e.buf) > MaxResultBytes {
		return nil, &EncodeError{Reason: "the result is larger than 24 MiB"}
	}
	return e.buf, nil
}

// DecodeRow reads one joined row of a transcript and keeps its text in Raw.
func DecodeRow(data []byte) (*Row, error) {
	v, err := parse(data, 0)
	if err != nil {
		return nil, decodeError(err)
	}
	out := &Row{Raw: append(RawMessage(nil), v.Raw()...)}
	if err := (&decoder{}).into(v, out); err != nil {
		return nil, decodeError(err)
	}
	return out, nil
}

// EncodeRow writes one row of a transcript. Raw is not looked at.
func EncodeRow(r *Row) ([]byte, error) {
	e := &encoder{}
	if err := e.from(r); err != nil {
		return nil, encodeError(err)
	}
	return e.buf, nil
}

// EncodeSnapshot writes a snapshot alone, to measure it.
func EncodeSnapshot(s *Snapshot, d Dialect) ([]byte, error) {
	e := &encoder{dialect: d}
	if err := e.from(s); err != nil {
		return nil, encodeError(err)
	}
	return e.buf, nil
}

// EncodeInteraction writes an Interaction alone, as a store keeps it.
func EncodeInteraction(in *Interaction) ([]byte, error) {
	e := &encoder{dialect: Dialect81}
	if err := e.from(in); err != nil {
		return nil, encodeError(err)
	}
	return e.buf, nil
}

// ShowInteraction writes an Interaction for people and scripts to read: as it came, also where a foreign Host goes
// beyond what a client may send.
func ShowInteraction(in *Interaction) ([]byte, error) {
	e := &encoder{dialect: Dialect81, lax: true}
	if err := e.from(in); err != nil {
		return nil, encodeError(err)
	}
	return e.buf, nil
}

// DecodeInteraction reads what EncodeInteraction wrote.
func DecodeInteraction(data []byte) (*Interaction, error) {
	v, err := parse(data, 0)
	if err != nil {
		return nil, decodeError(err)
	}
	out := &Interaction{}
	if err := (&decoder{dialect: Dialect81}).into(v, out); err != nil {
		return nil, decodeError(err)
	}
	return out, nil
}

func (h *Hello) checkWire(Dialect) error {
	if h.ProtocolMin > h.ProtocolMax {
		return strictjson.At("protocolMin", strictjson.Bad("is over protocolMax"))
	}
	if h.Takeover != nil && h.Generation == "" {
		return strictjson.At("takeover", strictjson.Bad("needs a generation"))
	}
	return nil
}
