package mcpmgr

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"askback/mcpmgr/config"
)

// headerValue makes text safe as a header value: as it is where it is plain ASCII, else in the
// =?base64?…?= form (Streamable HTTP, "Value Encoding").
func headerValue(text string) string {
	plain := true
	for i := range len(text) {
		if c := text[i]; c < 0x20 || c > 0x7e {
			plain = false
		}
	}
	if n := len(text); n > 0 && (text[0] == ' ' || text[n-1] == ' ') {
		plain = false
	}
	if strings.HasPrefix(text, "=?base64?") && strings.HasSuffix(text, "?=") {
		plain = false
	}
	if plain {
		return text
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
}

// paramHeader ties a property of a tool's arguments to the header that mirrors it.
type paramHeader struct {
	path []string
	name string
}

// paramHeaders reads the x-mcp-header annotations of an input schema. An annotation that breaks
// the rules makes the whole tool unusable over HTTP, so it is an error that names the property.
func paramHeaders(schema json.RawMessage) ([]paramHeader, error) {
	var out []paramHeader
	seen := map[string]bool{}
	var walk func(schema json.RawMessage, path []string) error
	walk = func(schema json.RawMessage, path []string) error {
		props, ok := lookup(schema, "properties")
		if !ok {
			return nil
		}
		ms, err := members(props)
		if err != nil {
			return nil // not properties: nothing to mirror
		}
		for _, m := range ms {
			at := append(path[:len(path):len(path)], m.name)
			if !isObject(m.val) {
				continue
			}
			if name, ok := lookup(m.val, "x-mcp-header"); ok {
				h, err := checkParamHeader(m.val, name)
				if err != nil {
					return fmt.Errorf("property %q: %w", strings.Join(at, "."), err)
				}
				if seen[strings.ToLower(h)] {
					return fmt.Errorf("property %q: the header %q is used twice", strings.Join(at, "."), h)
				}
				seen[strings.ToLower(h)] = true
				out = append(out, paramHeader{path: at, name: h})
			}
			if len(at) < 64 {
				if err := walk(m.val, at); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := walk(schema, nil); err != nil {
		return nil, err
	}
	if strayHeader(schema, true, 0) {
		return nil, errStrayHeader
	}
	return out, nil
}

var errStrayHeader = errors.New("x-mcp-header stands where no argument is certain to be: only what properties alone lead to can have one")

// Keywords that hold schemas: one, or a list of them, and those by name.
var (
	inSchema = map[string]bool{
		"items": true, "prefixItems": true, "additionalItems": true, "unevaluatedItems": true, "contains": true,
		"additionalProperties": true, "unevaluatedProperties": true, "propertyNames": true,
		"not": true, "if": true, "then": true, "else": true, "allOf": true, "anyOf": true, "oneOf": true,
	}
	inSchemas = map[string]bool{"properties": true, "patternProperties": true, "dependentSchemas": true, "dependencies": true, "$defs": true, "definitions": true}
)

// strayHeader reports an x-mcp-header in schema that stands elsewhere than on a property which nothing but properties
// leads to; straight says that so far nothing else did. The schema itself is no property.
func strayHeader(schema json.RawMessage, straight bool, depth int) bool {
	if depth > 64 || !bytes.Contains(schema, []byte("x-mcp-header")) {
		return false
	}
	if list, err := elements(schema); err == nil {
		return slices.ContainsFunc(list, func(e json.RawMessage) bool { return strayHeader(e, false, depth+1) })
	}
	ms, _ := members(schema)
	for _, m := range ms {
		switch {
		case m.name == "x-mcp-header" && (!straight || depth == 0):
			return true
		case inSchema[m.name] && strayHeader(m.val, false, depth+1):
			return true
		case inSchemas[m.name]:
			named, _ := members(m.val)
			for _, n := range named {
				if strayHeader(n.val, straight && m.name == "properties", depth+1) {
					return true
				}
			}
		}
	}
	return false
}

func checkParamHeader(prop, name json.RawMessage) (string, error) {
	h, ok := stringValue(name)
	if !ok || h == "" {
		return "", errors.New("x-mcp-header is not a name")
	}
	for i := range len(h) {
		c := h[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0) {
			return "", fmt.Errorf("x-mcp-header %q is not a header name", clipText(h, 40))
		}
	}
	typ, _ := lookup(prop, "type")
	switch string(typ) {
	case `"string"`, `"integer"`, `"boolean"`:
		return h, nil
	}
	return "", errors.New("x-mcp-header is for strings, integers and booleans only")
}

// mirror returns the Mcp-Param headers for these arguments.
func mirror(hs []paramHeader, arguments json.RawMessage) []config.Pair {
	var out []config.Pair
	for _, h := range hs {
		v := arguments
		ok := true
		for _, p := range h.path {
			if v, ok = lookup(v, p); !ok {
				break
			}
		}
		if !ok {
			continue
		}
		if text, ok := primitive(v); ok {
			out = append(out, config.Pair{Name: "Mcp-Param-" + h.name, Value: headerValue(text)})
		}
	}
	return out
}

const safeInteger = 1<<53 - 1

// primitive is the header text of a string, boolean or safe integer.
func primitive(v json.RawMessage) (string, bool) {
	switch {
	case isString(v):
		return stringValue(v)
	case string(v) == "true", string(v) == "false":
		return string(v), true
	case len(v) == 0 || len(v) > 64 || v[0] != '-' && (v[0] < '0' || v[0] > '9'):
		return "", false
	}
	if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
		return strconv.FormatInt(n, 10), n >= -safeInteger && n <= safeInteger
	}
	f, err := strconv.ParseFloat(string(v), 64) // 5.0, 1e3
	if err != nil || f != math.Trunc(f) || math.Abs(f) > safeInteger {
		return "", false
	}
	return strconv.FormatInt(int64(f), 10), true
}
