package mcpmgr

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// This file walks JSON without decoding it, so that what goes back to a server is what came from
// it, byte for byte. The functions expect text that a JSON decoder accepted; on other text they
// fail without reading past its end.

// member is one key and value of an object, both verbatim.
type member struct {
	name   string          // decoded; lone surrogates as WTF-8, so that distinct keys stay distinct
	rawKey json.RawMessage // the string token
	val    json.RawMessage
}

var errJSON = errors.New("malformed JSON")

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// stringEnd returns the index after the string token that starts at b[i].
func stringEnd(b []byte, i int) (int, error) {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '"':
			return i + 1, nil
		case '\\':
			i++
		}
	}
	return 0, errJSON
}

// valueEnd returns the index after the value that starts at b[i].
func valueEnd(b []byte, i int) (int, error) {
	if i >= len(b) {
		return 0, errJSON
	}
	switch b[i] {
	case '"':
		return stringEnd(b, i)
	case '{', '[':
		for depth := 0; i < len(b); {
			switch b[i] {
			case '"':
				end, err := stringEnd(b, i)
				if err != nil {
					return 0, err
				}
				i = end
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1, nil
				}
			}
			i++
		}
		return 0, errJSON
	}
	start := i
	for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' && b[i] != ' ' && b[i] != '\t' && b[i] != '\n' && b[i] != '\r' {
		i++
	}
	if i == start {
		return 0, errJSON
	}
	return i, nil
}

// members splits an object into its members in wire order. Duplicate keys are an error, also
// when they are spelt differently.
func members(raw []byte) ([]member, error) {
	ms, err := split(raw)
	if err == nil {
		err = duplicate(ms)
	}
	if err != nil {
		return nil, err
	}
	return ms, nil
}

// split is members with duplicates.
func split(raw []byte) ([]member, error) {
	i := skipSpace(raw, 0)
	if i >= len(raw) || raw[i] != '{' {
		return nil, errors.New("not an object")
	}
	var out []member
	i = skipSpace(raw, i+1)
	if i < len(raw) && raw[i] == '}' {
		return nil, trailing(raw, i+1)
	}
	for i < len(raw) && raw[i] == '"' {
		end, err := stringEnd(raw, i)
		if err != nil {
			return nil, err
		}
		m := member{rawKey: raw[i:end:end], name: string(unescape(raw[i+1 : end-1]))}
		i = skipSpace(raw, end)
		if i >= len(raw) || raw[i] != ':' {
			return nil, errJSON
		}
		i = skipSpace(raw, i+1)
		if end, err = valueEnd(raw, i); err != nil {
			return nil, err
		}
		m.val = raw[i:end:end]
		out = append(out, m)
		i = skipSpace(raw, end)
		if i < len(raw) && raw[i] == '}' {
			return out, trailing(raw, i+1)
		}
		if i >= len(raw) || raw[i] != ',' {
			return nil, errJSON
		}
		i = skipSpace(raw, i+1)
	}
	return nil, errJSON
}

func duplicate(ms []member) error {
	if len(ms) <= 16 {
		for i := range ms {
			for j := range i {
				if ms[i].name == ms[j].name {
					return fmt.Errorf("the key %s is given twice", clipText(ms[i].name, 64))
				}
			}
		}
		return nil
	}
	seen := make(map[string]struct{}, len(ms))
	for _, m := range ms {
		if _, ok := seen[m.name]; ok {
			return fmt.Errorf("the key %s is given twice", clipText(m.name, 64))
		}
		seen[m.name] = struct{}{}
	}
	return nil
}

func trailing(raw []byte, i int) error {
	if skipSpace(raw, i) != len(raw) {
		return errors.New("there is more after the value")
	}
	return nil
}

// elements splits an array into its values.
func elements(raw []byte) ([]json.RawMessage, error) {
	i := skipSpace(raw, 0)
	if i >= len(raw) || raw[i] != '[' {
		return nil, errors.New("not a list")
	}
	var out []json.RawMessage
	i = skipSpace(raw, i+1)
	if i < len(raw) && raw[i] == ']' {
		return nil, trailing(raw, i+1)
	}
	for i < len(raw) {
		end, err := valueEnd(raw, i)
		if err != nil {
			return nil, err
		}
		out = append(out, raw[i:end:end])
		i = skipSpace(raw, end)
		if i < len(raw) && raw[i] == ']' {
			return out, trailing(raw, i+1)
		}
		if i >= len(raw) || raw[i] != ',' {
			return nil, errJSON
		}
		i = skipSpace(raw, i+1)
	}
	return nil, errJSON
}

// find returns the named member's value.
func find(ms []member, name string) (json.RawMessage, bool) {
	for _, m := range ms {
		if m.name == name {
			return m.val, true
		}
	}
	return nil, false
}

// lookup returns the value of one key of an object, or nothing.
func lookup(raw []byte, name string) (json.RawMessage, bool) {
	ms, err := members(raw)
	if err != nil {
		return nil, false
	}
	return find(ms, name)
}

func isString(raw []byte) bool { return len(raw) >= 2 && raw[0] == '"' }
func isObject(raw []byte) bool {
	i := skipSpace(raw, 0)
	return i < len(raw) && raw[i] == '{'
}
func isNull(raw []byte) bool { return string(bytes.TrimSpace(raw)) == "null" }

// means reports whether a token is this string, however its characters are spelt.
func means(token []byte, s string) bool {
	v, ok := stringValue(token)
	return ok && v == s
}

// stringValue decodes a string token as ordinary text.
func stringValue(raw []byte) (string, bool) {
	var s string
	if !isString(raw) || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

// unescape returns what the inside of a string token stands for. Unlike a JSON decoder it loses
// nothing: a lone surrogate becomes its three WTF-8 bytes, other bytes stay as they are. Without
// an escape the result shares memory with in.
func unescape(in []byte) []byte {
	i := bytes.IndexByte(in, '\\')
	if i < 0 {
		return in
	}
	out := append(make([]byte, 0, len(in)), in[:i]...)
	for i < len(in) {
		c := in[i]
		if c != '\\' || i+1 >= len(in) {
			out = append(out, c)
			i++
			continue
		}
		i += 2
		switch e := in[i-1]; e {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			u, ok := hex4(in, i)
			if !ok {
				out = append(out, '\\', 'u')
				continue
			}
			i += 4
			if utf16.IsSurrogate(rune(u)) && i+1 < len(in) && in[i] == '\\' && in[i+1] == 'u' {
				if lo, ok := hex4(in, i+2); ok {
					if r := utf16.DecodeRune(rune(u), rune(lo)); r != utf8.RuneError {
						out = utf8.AppendRune(out, r)
						i += 6
						continue
					}
				}
			}
			out = appendWTF8(out, u)
		default: // \" \\ \/
			out = append(out, e)
		}
	}
	return out
}

func hex4(b []byte, i int) (uint16, bool) {
	if i+4 > len(b) {
		return 0, false
	}
	var u uint16
	for _, c := range b[i : i+4] {
		switch {
		case c >= '0' && c <= '9':
			u = u<<4 | uint16(c-'0')
		case c >= 'a' && c <= 'f':
			u = u<<4 | uint16(c-'a'+10)
		case c >= 'A' && c <= 'F':
			u = u<<4 | uint16(c-'A'+10)
		default:
			return 0, false
		}
	}
	return u, true
}

func appendWTF8(out []byte, u uint16) []byte {
	if utf16.IsSurrogate(rune(u)) {
		return append(out, 0xE0|byte(u>>12), 0x80|byte(u>>6)&0xBF, 0x80|byte(u)&0xBF)
	}
	return utf8.AppendRune(out, rune(u))
}

// quote writes text as a string token that unescape reads back. The low half of a pair that came
// as two WTF-8 surrogates keeps its bytes: as an escape it would join the high half's.
func quote(text []byte) []byte {
	const digits = "0123456789abcdef"
	out := append(make([]byte, 0, len(text)+2), '"')
	high := false // the last thing written was the escape of a high surrogate
	for i := 0; i < len(text); i++ {
		c := text[i]
		u, surrogate := wtf8Surrogate(text[i:])
		low := u >= 0xDC00
		switch {
		case surrogate && high && low:
			out = append(out, text[i:i+3]...)
			i += 2
		case surrogate:
			out = append(out, '\\', 'u', digits[u>>12], digits[u>>8&15], digits[u>>4&15], digits[u&15])
			i += 2
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c < 0x20:
			out = append(out, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		default:
			out = append(out, c)
		}
		high = surrogate && !low
	}
	return append(out, '"')
}

// wtf8Surrogate reads the three bytes that appendWTF8 writes for a lone surrogate.
func wtf8Surrogate(b []byte) (u uint16, ok bool) {
	if len(b) < 3 || b[0] != 0xED || b[1]>>5 != 0b101 || b[2]>>6 != 0b10 {
		return 0, false
	}
	return 0xD000 | uint16(b[1]&0x3F)<<6 | uint16(b[2]&0x3F), true
}

func quoteString(s string) json.RawMessage { return quote([]byte(s)) }

// builder writes an object member by member, values verbatim.
type builder struct{ b bytes.Buffer }

func (o *builder) raw(key, val []byte) *builder {
	if o.b.Len() == 0 {
		o.b.WriteByte('{')
	} else {
		o.b.WriteByte(',')
	}
	o.b.Write(key)
	o.b.WriteByte(':')
	o.b.Write(val)
	return o
}

func (o *builder) add(key string, val []byte) *builder { return o.raw(quoteString(key), val) }

func (o *builder) bytes() json.RawMessage {
	if o.b.Len() == 0 {
		return json.RawMessage("{}")
	}
	o.b.WriteByte('}')
	return o.b.Bytes()
}

// clipText shortens text for a message, on a rune border.
func clipText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
