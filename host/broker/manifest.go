package broker

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"askback/protocol"
)

// offer is one offer of a registration with its contract.
type offer struct {
	protocol.Offer
	contract string // hex SHA-256
}

func offersOf(in *protocol.CapabilityReplaceInput) []*offer {
	list := make([]*offer, len(in.Offers))
	for i, o := range in.Offers {
		list[i] = &offer{o, ContractOf(o)}
	}
	return list
}

// ContractOf returns what a session binds to: a hash over everything in an offer that a model can see or that changes
// how it is called, so not over its label. The order of keys in a schema does not matter; a number's spelling does.
func ContractOf(o protocol.Offer) string {
	type tool struct {
		ServerID, Name, Description string
		InputSchema                 json.RawMessage
		Annotations                 *protocol.Annotations
		ActivityKind                protocol.ActivityKind
	}
	var form struct {
		OfferID, Version string
		Affinity         protocol.Affinity
		HostPathAccess   protocol.HostPathAccess
		Tools            []tool
	}
	form.OfferID, form.Version, form.Affinity, form.HostPathAccess = o.OfferID, o.Version, o.Affinity, o.HostPathAccess
	for _, t := range o.Tools {
		form.Tools = append(form.Tools, tool{t.ServerID, t.Name, t.Description, sorted(t.InputSchema), t.Annotations, t.ActivityKind})
	}
	data, err := json.Marshal(form)
	if err != nil {
		panic("broker: a decoded offer does not encode: " + err.Error())
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// sorted returns the schema with its keys in one order and nothing else changed.
func sorted(schema json.RawMessage) json.RawMessage {
	v := jsontext.Value(slices.Clone(schema))
	err := v.Format(jsontext.ReorderRawObjects(true), jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false))
	if err != nil {
		return schema
	}
	return json.RawMessage(v)
}

// ModelName is the name that a model sees of a tool. Two tools of one name cannot be offered together.
func ModelName(serverID, name string) string {
	return "mcp__" + modelWord(serverID) + "__" + modelWord(name)
}

func modelWord(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, s)
}

// collision reports the first two tools of a manifest that a model could not tell apart.
func collision(offers []protocol.Offer) *protocol.Error {
	seen := map[string]protocol.Tool{}
	for _, o := range offers {
		for _, t := range o.Tools {
			name := ModelName(t.ServerID, t.Name)
			if first, ok := seen[name]; ok {
				return &protocol.Error{Code: protocol.CodeInvalidRequest, Message: Clip(fmt.Sprintf(
					"Client Capability tools %q of %q and %q of %q have the same model name", first.Name, first.ServerID, t.Name, t.ServerID))}
			}
			seen[name] = t
		}
	}
	return nil
}

// Clip keeps a message within what an error may hold, counted as the wire protocol counts.
func Clip(s string) string {
	n, cut := 0, 0
	for i, r := range s {
		if n < protocol.MaxErrorMessage {
			cut = i // the mark fits here
		}
		if n += 1; r > 0xffff {
			n++
		}
		if n > protocol.MaxErrorMessage {
			return s[:cut] + "…"
		}
	}
	return s
}
