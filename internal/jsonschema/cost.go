package jsonschema

import (
	"iter"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A small schema and a small value can ask for more work than there is time:
// two references to itself under items double with each level of the value.
// The library cannot be interrupted, so the work is counted before it starts.
const (
	leastSteps = 1 << 20 // schemas held against values: as many for any value,
	stepsANode = 16      // more for each value within a large one,
	mostSteps  = 1 << 24 // never more than some seconds' work
	mostNested = 1 << 11 // calls within calls; each costs all that are around it
)

// affordable reports whether validating v takes a bounded number of steps. It
// follows the compiled schema as the library does, without its shortcuts.
func affordable(s *jsonschema.Schema, v any) bool {
	c := &stepCounter{left: min(max(leastSteps, stepsANode*nodes(v)), mostSteps), lists: map[*jsonschema.Schema]int{}}
	return c.walk(s, v, nil, 0)
}

// nodes is the number of values within v, itself included.
func nodes(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for _, m := range v {
			n += nodes(m)
		}
	case []any:
		for _, m := range v {
			n += nodes(m)
		}
	}
	return n
}

type stepCounter struct {
	left  int
	lists map[*jsonschema.Schema]int // steps for the lists of a schema
}

// itself is the steps that s takes at v without any other schema.
func (c *stepCounter) itself(s *jsonschema.Schema, v any) int {
	n := 1 + c.listSteps(s)
	switch v := v.(type) {
	case string:
		const aStep = 256 // bytes
		if n += len(v) / aStep; s.Pattern != nil {
			n += steps(s.Pattern, v)
		}
	case []any:
		if s.UniqueItems {
			const aStep = 4 // values
			n += nodes(v) / aStep
		}
	}
	return n
}

// listSteps is the steps for going through the lists of s.
func (c *stepCounter) listSteps(s *jsonschema.Schema) int {
	n, ok := c.lists[s]
	if ok {
		return n
	}
	n = len(s.Required) + len(s.Dependencies) + len(s.DependentSchemas)
	for _, dep := range s.Dependencies {
		if names, ok := dep.([]string); ok {
			n += len(names)
		}
	}
	for _, names := range s.DependentRequired {
		n += 1 + len(names)
	}
	if s.Enum != nil {
		n += nodes(s.Enum.Values)
	}
	if s.Const != nil {
		n += nodes(*s.Const)
	}
	const aStep = 16 // entries
	c.lists[s] = n / aStep
	return n / aStep
}

// held is the schemas that led to this one at the same value.
type held struct {
	schema *jsonschema.Schema
	by     *held
}

func (h *held) has(s *jsonschema.Schema) bool {
	for ; h != nil; h = h.by {
		if h.schema == s {
			return true
		}
	}
	return false
}

// walk counts holding v to s and to all that follows from it; false when that
// is too much.
func (c *stepCounter) walk(s *jsonschema.Schema, v any, by *held, depth int) bool {
	if c.left -= c.itself(s, v); c.left < 0 || depth > mostNested {
		return false
	}
	if s.Bool != nil || by.has(s) || !typeFits(s, v) {
		return true // the library stops here, too
	}
	here := &held{s, by}
	for _, sub := range besides(s, v) {
		if !c.walk(sub, v, here, depth+1) {
			return false
		}
	}
	for sub, member := range c.within(s, v) {
		if !c.walk(sub, member, nil, depth+1) {
			return false
		}
	}
	return c.left >= 0
}

// typeBits are the types that a value may count as.
func typeBits(names ...string) (bits jsonschema.Types) {
	for _, name := range names {
		bits.Add(name)
	}
	return bits
}

var (
	nullBits    = typeBits("null")
	booleanBits = typeBits("boolean")
	numberBits  = typeBits("number", "integer")
	stringBits  = typeBits("string")
	arrayBits   = typeBits("array")
	objectBits  = typeBits("object")
)

// typeFits reports whether v may be of a type that s wants.
func typeFits(s *jsonschema.Schema, v any) bool {
	if s.Types == nil || s.Types.IsEmpty() {
		return true
	}
	bits := numberBits
	switch v.(type) {
	case map[string]any:
		bits = objectBits
	case []any:
		bits = arrayBits
	case string:
		bits = stringBits
	case bool:
		bits = booleanBits
	case nil:
		bits = nullBits
	}
	return *s.Types&bits != 0
}

// besides are the schemas that s holds the same value to.
func besides(s *jsonschema.Schema, v any) []*jsonschema.Schema {
	subs := slices.Concat(s.AllOf, s.AnyOf, s.OneOf)
	for _, sub := range []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else} {
		if sub != nil {
			subs = append(subs, sub)
		}
	}
	if s.DynamicRef != nil {
		subs = append(subs, s.DynamicRef.Ref)
	}
	obj, ok := v.(map[string]any)
	if !ok {
		return subs
	}
	for name, dep := range s.Dependencies {
		if sub, ok := dep.(*jsonschema.Schema); ok && has(obj, name) {
			subs = append(subs, sub)
		}
	}
	for name, sub := range s.DependentSchemas {
		if has(obj, name) {
			subs = append(subs, sub)
		}
	}
	return subs
}

func has(obj map[string]any, name string) bool {
	_, ok := obj[name]
	return ok
}

// within are the schemas that s holds the members or items of v to.
func (c *stepCounter) within(s *jsonschema.Schema, v any) iter.Seq2[*jsonschema.Schema, any] {
	return func(yield func(*jsonschema.Schema, any) bool) {
		switch v := v.(type) {
		case map[string]any:
			for name, m := range v {
				for _, sub := range c.ofMember(s, name) {
					if !yield(sub, m) {
						return
					}
				}
				if c.left < 0 {
					return
				}
				if s.PropertyNames != nil && !yield(s.PropertyNames, name) {
					return
				}
			}
		case []any:
			for i, m := range v {
				for _, sub := range ofItem(s, i) {
					if !yield(sub, m) {
						return
					}
				}
			}
		}
	}
}

// ofMember are the schemas for the member named name.
func (c *stepCounter) ofMember(s *jsonschema.Schema, name string) (subs []*jsonschema.Schema) {
	if sub, ok := s.Properties[name]; ok {
		subs = append(subs, sub)
	}
	for re, sub := range s.PatternProperties {
		if c.left -= steps(re, name); c.left < 0 {
			return nil
		}
		if re.MatchString(name) {
			subs = append(subs, sub)
		}
	}
	if len(subs) > 0 {
		return subs
	}
	switch more := s.AdditionalProperties.(type) {
	case *jsonschema.Schema:
		return append(subs, more)
	case bool:
		return nil
	}
	if s.UnevaluatedProperties != nil {
		subs = append(subs, s.UnevaluatedProperties)
	}
	return subs
}

// ofItem are the schemas for the item at i.
func ofItem(s *jsonschema.Schema, i int) (subs []*jsonschema.Schema) {
	first := s.PrefixItems
	if tuple, ok := s.Items.([]*jsonschema.Schema); ok {
		first = tuple
	}
	more, _ := s.AdditionalItems.(*jsonschema.Schema)
	if all, ok := s.Items.(*jsonschema.Schema); ok {
		more = all
	}
	if s.Items2020 != nil {
		more = s.Items2020
	}
	switch {
	case i < len(first):
		subs = append(subs, first[i])
	case more != nil:
		subs = append(subs, more)
	case s.UnevaluatedItems != nil:
		subs = append(subs, s.UnevaluatedItems)
	}
	if s.Contains != nil {
		subs = append(subs, s.Contains)
	}
	return subs
}

// severalTargets reports whether a dynamic reference in doc may lead to one
// place or another, depending on where it is read from.
func severalTargets(doc any) bool {
	anchors := map[string]bool{}
	var walk func(v any, root bool) bool
	walk = func(v any, root bool) bool {
		switch v := v.(type) {
		case map[string]any:
			if name, ok := v["$dynamicAnchor"].(string); ok {
				if anchors[name] {
					return true
				}
				anchors[name] = true
			}
			if on, _ := v["$recursiveAnchor"].(bool); on && !root {
				return true
			}
			for _, m := range v {
				if walk(m, false) {
					return true
				}
			}
		case []any:
			for _, m := range v {
				if walk(m, false) {
					return true
				}
			}
		}
		return false
	}
	return walk(doc, true)
}
