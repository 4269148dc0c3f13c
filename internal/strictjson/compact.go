package strictjson

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// CompactLen is the length that a valid JSON text has when it is written anew, without blanks and with no escape that
// JSON does not ask for. Limits on JSON count it so: a peer that escapes everything beyond ASCII says no more with it.
func CompactLen(raw []byte) int {
	n, inString := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString && c == '\\':
			skip, size := escaped(raw[i:])
			i += skip - 1
			n += size
			continue
		case c == '"':
			inString = !inString
		case !inString && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			continue
		}
		n++
	}
	return n
}

// escaped is how long an escape is, and how long what it means is when it is written anew.
func escaped(raw []byte) (length, size int) {
	switch {
	case len(raw) > 1 && raw[1] == '/':
		return 2, 1
	case len(raw) < 6 || raw[1] != 'u':
		return 2, 2
	}
	r := unit(raw)
	switch {
	case r == '\b' || r == '\f' || r == '\n' || r == '\r' || r == '\t' || r == '"' || r == '\\':
		return 6, 2
	case r < 0x20:
		return 6, 6
	case utf16.IsSurrogate(r):
		if len(raw) >= 12 && raw[6] == '\\' && raw[7] == 'u' && utf16.DecodeRune(r, unit(raw[6:])) != utf8.RuneError {
			return 12, 4
		}
		return 6, 6 // half of a pair stays as it is
	}
	return 6, utf8.RuneLen(r)
}

// unit is the code unit of a \\uXXXX.
func unit(raw []byte) rune {
	n, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	if err != nil {
		return 0
	}
	return rune(n)
}
