package strictjson

import "github.com/go-json-experiment/json/jsontext"

// AppendString appends s as a JSON string. Only the quote, the backslash and
// what JSON must escape (the C0 controls) are escaped; invalid UTF-8 becomes
// U+FFFD.
func AppendString(dst []byte, s string) []byte {
	plain := true
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= 0x7f {
			plain = false
			break
		}
	}
	if plain {
		dst = append(dst, '"')
		dst = append(dst, s...)
		return append(dst, '"')
	}
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

// AppendKey appends `"key":`, with a comma before it unless it opens the
// object.
func AppendKey(dst []byte, key string) []byte {
	if n := len(dst); n > 0 && dst[n-1] != '{' && dst[n-1] != ',' {
		dst = append(dst, ',')
	}
	dst = AppendString(dst, key)
	return append(dst, ':')
}
