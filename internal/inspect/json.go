package inspect

import (
	"bytes"
	"encoding/json"
	"errors"
)

// member is one member of a JSON object, in the order of the text.
type member struct {
	key string
	val json.RawMessage
}

var errNoObject = errors.New("not an object")

// members reads an object leniently: what a server sent is to be shown, not judged.
func members(raw json.RawMessage) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errNoObject
	}
	var out []member
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, err
		}
		m := member{key: t.(string)}
		if err := dec.Decode(&m.val); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// get finds a value by its path of keys, or nil.
func get(raw json.RawMessage, path ...string) json.RawMessage {
	for _, key := range path {
		ms, err := members(raw)
		if err != nil {
			return nil
		}
		raw = nil
		for _, m := range ms {
			if m.key == key {
				raw = m.val
			}
		}
	}
	return raw
}

// text is the text of a JSON string, or "".
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

func isObject(raw json.RawMessage) bool {
	return len(raw) > 0 && bytes.TrimLeft(raw, " \t\r\n")[0] == '{'
}

// quoted writes s as a JSON string without escaping what needs none.
func quoted(s string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always can be
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// object writes members as an object.
func object(ms []member) json.RawMessage {
	out := []byte{'{'}
	for i, m := range ms {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, quoted(m.key)...), ':'), m.val...)
	}
	return append(out, '}')
}

// maxIndent bounds what Pretty adds to a text: many short values deep within others would become a thousand times as
// long. Of a message with many such texts in it, each adds no more than belongs to its own length.
const maxIndent = 4 << 20

func mayIndent(raw json.RawMessage) int { return min(maxIndent, 4<<10+16*len(raw)) }

// Pretty sets a JSON text on several lines, two blanks a level, keys in their order and numbers as they are written.
// What is no JSON, or is made to have no end as lines, comes back as it is.
func Pretty(raw json.RawMessage) string {
	var out bytes.Buffer
	if indentation(raw) > mayIndent(raw) || json.Indent(&out, raw, "", "  ") != nil {
		return string(raw)
	}
	return out.String()
}

// indentation is how many line ends and blanks Pretty would add, counted no further than is of interest.
func indentation(raw json.RawMessage) (sum int) {
	depth := 0
	for rest := []byte(raw); len(rest) > 0 && sum <= maxIndent; {
		switch rest[0] {
		case '{', '[':
			depth++
			sum += 1 + 2*depth
		case '}', ']':
			depth = max(0, depth-1)
			sum += 1 + 2*depth
		case ',':
			sum += 1 + 2*depth
		}
		rest = rest[tokenLen(rest):]
	}
	return sum
}

// Text is the text of a JSON string, or "".
func Text(raw json.RawMessage) string { return text(raw) }

// Member is the value of an object's member, or nil.
func Member(raw json.RawMessage, key string) json.RawMessage { return get(raw, key) }
