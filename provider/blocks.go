package provider

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"askback/hostclient"
	"askback/internal/strictjson"
)

// maxBlocks is how many content blocks a result may have (wire protocol, 7.2).
const maxBlocks = 256

// resultOf maps an MCP result. Nothing is lost: a block that the protocol does
// not know is kept as unknown, and blocks beyond the limit become one of those.
func resultOf(r CallResult) hostclient.ToolResult {
	out := hostclient.ToolResult{Content: make([]hostclient.ContentBlock, 0, min(len(r.Content), maxBlocks)), StructuredContent: inUTF8(r.Structured)}
	for i, raw := range r.Content {
		if i == maxBlocks-1 && len(r.Content) > maxBlocks {
			rest := append([]byte{'['}, bytes.Join(toBytes(r.Content[i:]), []byte{','})...)
			if rest = inUTF8(append(rest, ']')); !readable(rest) {
				rest = quoted(string(rest))
			}
			out.Content = append(out.Content, unknownBlock(rest))
			break
		}
		out.Content = append(out.Content, blockOf(raw))
	}
	if s := out.StructuredContent; len(s) > 0 && !readable(s) { // the tool has done its work all the same
		out.StructuredContent = nil
		if len(out.Content) < maxBlocks {
			out.Content = append(out.Content, unknownBlock(quoted(string(s))))
		} else {
			out.StructuredContent = quoted(string(s))
		}
	}
	return out
}

// readable reports whether the protocol carries the JSON text raw: it does not where a key stands
// twice, and not what is nested too deep.
func readable(raw []byte) bool {
	_, err := strictjson.Parse(raw, strictjson.Limits{MaxDepth: maxDepth, LoneSurrogates: true})
	return err == nil
}

// inUTF8 is raw with U+FFFD for what is no UTF-8: servers that write another encoding are many, and a
// Host takes none.
func inUTF8(raw json.RawMessage) json.RawMessage {
	if utf8.Valid(raw) {
		return raw
	}
	return bytes.ToValidUTF8(raw, []byte("\ufffd"))
}

func toBytes(list []json.RawMessage) [][]byte {
	out := make([][]byte, len(list))
	for i, raw := range list {
		out[i] = raw
	}
	return out
}

func unknownBlock(raw []byte) hostclient.ContentBlock {
	return hostclient.ContentBlock{Type: "unknown", Value: raw}
}

// blockOf maps one MCP content block; embedded resources are flattened.
func blockOf(raw json.RawMessage) hostclient.ContentBlock {
	raw = inUTF8(raw)
	v, err := strictjson.Parse(raw, strictjson.Limits{MaxDepth: maxDepth, LoneSurrogates: true})
	if err != nil {
		// It came as JSON of the server's reply; only its form is at fault.
		return unknownBlock(quoted(string(raw)))
	}
	b, ok := known(v)
	if !ok {
		return unknownBlock(v.Raw())
	}
	return b
}

// maxDepth is what the codec of the protocol reads.
const maxDepth = 200

func quoted(s string) []byte { return strictjson.AppendString(nil, s) }

func known(v strictjson.Value) (b hostclient.ContentBlock, ok bool) {
	typ, ok := text(v, "type")
	if !ok {
		return b, false
	}
	b.Type = typ
	switch typ {
	case "text":
		b.Text, ok = text(v, "text")
	case "image", "audio":
		b.Data, ok = text(v, "data")
		mime, hasMime := text(v, "mimeType")
		b.MimeType = mime
		ok = ok && hasMime && (typ == "audio" || strings.HasPrefix(mime, "image/"))
	case "resource":
		inner, has := v.Get("resource")
		if !has {
			return b, false
		}
		b.URI, ok = text(inner, "uri")
		b.MimeType, _ = text(inner, "mimeType")
		b.Text, _ = text(inner, "text")
		b.Blob, _ = text(inner, "blob")
	case "resource_link":
		b.URI, ok = text(v, "uri")
		b.Name, _ = text(v, "name")
		b.Description, _ = text(v, "description")
		b.MimeType, _ = text(v, "mimeType")
	default:
		return b, false
	}
	return b, ok
}

// text is the string member named key. Half a surrogate pair becomes U+FFFD.
func text(v strictjson.Value, key string) (string, bool) {
	member, ok := v.Get(key)
	if !ok || member.Kind() != strictjson.String {
		return "", false
	}
	if s, err := member.Text(); err == nil {
		return s, true
	}
	var s string
	err := json.Unmarshal(member.Raw(), &s)
	return s, err == nil
}

// toolError is the message of a tool that says that it failed: its texts, with
// a word for what is no text.
func toolError(r CallResult) *Error {
	var parts []string
	for _, raw := range r.Content {
		switch b := blockOf(raw); b.Type {
		case "text":
			parts = append(parts, b.Text)
		case "resource":
			if b.Text != "" {
				parts = append(parts, b.Text)
				continue
			}
			parts = append(parts, "["+b.Type+" "+b.URI+"]")
		case "resource_link":
			parts = append(parts, "["+b.Type+" "+b.URI+"]")
		default:
			parts = append(parts, strings.TrimSpace("["+b.Type+" "+b.MimeType)+"]")
		}
	}
	message := strings.TrimSpace(strings.Join(parts, "\n"))
	if message == "" && len(r.Structured) > 0 {
		message = string(r.Structured)
	}
	if message == "" {
		message = "The tool failed and did not say why."
	}
	return &Error{Code: CodeServerError, Message: message}
}
