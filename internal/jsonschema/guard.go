package jsonschema

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// maxExponent keeps exact arithmetic on numbers cheap: 1e999999999 is short to
// write and a gigabyte to hold.
const maxExponent = 400

// maxDigits bounds the digits of one number, for the same reason.
const maxDigits = 1000

// hugeNumber finds a number whose exact value would be costly to hold.
func hugeNumber(v any, at string) (string, bool) {
	switch v := v.(type) {
	case json.Number:
		return at, huge(string(v))
	case map[string]any:
		for k, m := range v {
			if p, bad := hugeNumber(m, joinKey(at, k)); bad {
				return p, true
			}
		}
	case []any:
		for i, m := range v {
			if p, bad := hugeNumber(m, joinIndex(at, i)); bad {
				return p, true
			}
		}
	}
	return "", false
}

func huge(n string) bool {
	digits, exponent, has := strings.Cut(strings.ToLower(n), "e")
	if len(digits) > maxDigits {
		return true
	}
	if !has {
		return false
	}
	e, err := strconv.Atoi(exponent)
	return err != nil || e > maxExponent || e < -maxExponent
}

// maxPaths is how many subschemas one value may have to be held to.
const maxPaths = 1 << 12

// costly reports whether references make a schema branch so often that checking
// one small value takes forever: {"a":{"allOf":[b,b]},"b":{"allOf":[c,c]},…}.
func costly(doc any) bool {
	c := &counter{root: doc, known: map[string]int{}, open: map[string]bool{}, counted: map[uintptr]int{}}
	return c.anywhere(doc)
}

type counter struct {
	root    any
	known   map[string]int // by reference
	open    map[string]bool
	counted map[uintptr]int // by schema object
}

// anywhere reports whether any schema within v is costly.
func (c *counter) anywhere(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		if c.paths(v) > maxPaths {
			return true
		}
		for _, m := range v {
			if c.anywhere(m) {
				return true
			}
		}
	case []any:
		for _, m := range v {
			if c.anywhere(m) {
				return true
			}
		}
	}
	return false
}

// inPlace are the keywords whose subschemas apply to the same value.
var inPlace = []string{"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"}

// paths counts the subschemas that apply to one value, at most maxPaths+1.
func (c *counter) paths(v any) int {
	obj, ok := v.(map[string]any)
	if !ok {
		return 1
	}
	id := reflect.ValueOf(obj).Pointer()
	if n, ok := c.counted[id]; ok {
		return n
	}
	sum := 1
	for _, key := range [...]string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if ref, ok := obj[key].(string); ok {
			sum = capped(sum + c.ref(ref))
		}
	}
	for _, key := range inPlace {
		switch sub := obj[key].(type) {
		case []any:
			for _, s := range sub {
				sum = capped(sum + c.paths(s))
			}
		case map[string]any:
			sum = capped(sum + c.paths(sub))
			if strings.HasPrefix(key, "depend") {
				for _, s := range sub {
					sum = capped(sum + c.paths(s))
				}
			}
		}
	}
	if len(c.open) == 0 {
		c.counted[id] = sum // not while a cycle is cut short
	}
	return sum
}

func capped(n int) int { return min(n, maxPaths+1) }

// ref counts what a local reference leads to. A reference that leads back to
// itself in place never ends, which the compiler refuses itself.
func (c *counter) ref(ref string) int {
	if n, ok := c.known[ref]; ok {
		return n
	}
	if c.open[ref] {
		return 1
	}
	c.open[ref] = true
	defer delete(c.open, ref)
	n := 1
	if target, ok := pointer(c.root, ref); ok {
		n = c.paths(target)
	}
	c.known[ref] = n
	return n
}

func pointer(root any, ref string) (any, bool) {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, false
	}
	v := root
	for step := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if step == "" {
			continue
		}
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch parent := v.(type) {
		case map[string]any:
			if v, ok = parent[step]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(parent) {
				return nil, false
			}
			v = parent[i]
		default:
			return nil, false
		}
	}
	return v, true
}
