package strictjson

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf16"
)

// ParseSchema is [Parse] for a JSON Schema, or for an object with one in it, as
// servers write them: half of a surrogate pair, which is left where a program
// has cut a text in the middle of an emoji, becomes U+FFFD in what is only
// shown, and mended says so. A default that holds one becomes null. In a key,
// and in whatever else has to go back or to match as it is, it stays an error.
func ParseSchema(data []byte, lim Limits) (v Value, mended bool, err error) {
	v, err = Parse(data, lim)
	if e, ok := errors.AsType[*Error](err); !ok || e.Problem != LoneSurrogate {
		return v, false, err
	}
	loose := lim
	loose.LoneSurrogates = true
	if v, err = Parse(bytes.Clone(data), loose); err != nil {
		return v, false, err
	}
	v.mend("")
	v, err = Parse(v.raw, lim) // what is left of them is in the way
	return v, err == nil, err
}

// identities are the keywords of a schema whose strings are no text for people.
var identities = map[string]bool{
	"enum": true, "const": true, "required": true, "type": true, "format": true, "pattern": true,
	"$ref": true, "$dynamicRef": true, "$recursiveRef": true, "$id": true, "$anchor": true, "$dynamicAnchor": true,
	"dependentRequired": true, "mode": true,
}

// named are the keywords whose keys are names, and no keywords.
var named = map[string]bool{
	"properties": true, "patternProperties": true, "$defs": true, "definitions": true, "dependentSchemas": true,
}

// mend overwrites the halves in the strings of v, which stands under key; key is
// empty where it is a name.
func (v Value) mend(key string) {
	switch v.Kind() {
	case String:
		if !identities[key] {
			eachHalf(v.raw, func(at int) { copy(v.raw[at:], `\ufffd`) })
		}
	case Array:
		for e := range v.Elements() {
			e.mend(key)
		}
	case Object:
		for k, m := range v.Members() {
			switch {
			case named[key]:
				m.mend("")
			case k == "default" && m.hasHalf():
				copy(m.raw, "null"+strings.Repeat(" ", len(m.raw)))
			default:
				m.mend(k)
			}
		}
	}
}

// hasHalf reports whether a half stands anywhere in v, keys included.
func (v Value) hasHalf() bool {
	found := false
	eachHalf(v.raw, func(int) { found = true })
	return found
}

// eachHalf calls f with the offset of the escape of each half in raw, checked
// JSON text. Backslashes stand in strings alone.
func eachHalf(raw []byte, f func(at int)) {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		length, _ := escaped(raw[i:])
		if length == 6 && utf16.IsSurrogate(unit(raw[i:])) {
			f(i)
		}
		i += length - 1
	}
}
