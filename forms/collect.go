package forms

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"askback/internal/strictjson"
)

// The bounds of following references: how many in a row, how many in one
// schema, and to how many bytes in all, so that a small schema cannot stand for
// an enormous one.
const (
	maxRefDepth = 4
	maxRefs     = 256
	maxRefBytes = 1 << 20
)

// collector reads property schemas of one document.
type collector struct {
	root strictjson.Value
	lim  Limits
	refs int // references followed so far
	size int // bytes that they led to
}

// place is where a schema stands: the references that led to it, and whether
// an $id on the way gave local references another meaning.
type place struct {
	via     []string
	foreign bool
	item    bool // the items of an array
}

// collect reads a schema and all that it refers to into one property.
func (c *collector) collect(v strictjson.Value, at place) *property {
	p := &property{types: anyType}
	if at.foreign = at.foreign || hasOwnID(v); v.Kind() != strictjson.Object {
		p.reject("type", "the property must be an object that says its type")
		return p
	}
	var linked []*property
	for key, val := range v.Members() {
		if isAnnotation(key) || key == "additionalProperties" && val.Kind() == strictjson.Boolean {
			c.annotation(p, key, val)
			continue
		}
		p.saw(key)
		if understood[key] {
			linked = append(linked, c.keyword(p, v, key, val, at)...)
		}
	}
	for _, q := range linked {
		p.absorb(q)
	}
	return p
}

// hasOwnID reports a schema that is a resource of its own.
func hasOwnID(v strictjson.Value) bool {
	id, ok := v.Get("$id")
	if !ok {
		return false
	}
	s, err := id.Text()
	return err != nil || !strings.HasPrefix(s, "#")
}

func (c *collector) annotation(p *property, key string, val strictjson.Value) {
	switch key {
	case "title":
		if s, err := val.Text(); err == nil {
			p.title, p.hasTitle = s, true
		}
	case "description":
		if s, err := val.Text(); err == nil {
			p.description, p.hasDescr = s, true
		}
	case "default":
		p.def = val
	}
}

// keyword reads one constraint into p, and returns what it refers to.
func (c *collector) keyword(p *property, schema strictjson.Value, key string, val strictjson.Value, at place) []*property {
	switch key {
	case "type":
		p.readType(val)
	case "enum":
		p.decided = true
		p.readEnum(schema, val, c.lim)
	case "const":
		p.decided = true
		if s, err := val.Text(); err != nil {
			p.reject(key, "only a string can be a constant answer")
		} else {
			p.restrict(key, []Option{{Value: s, Label: s}})
		}
	case "oneOf":
		p.decided = true
		p.readChoices(key, val, c.lim)
	case "anyOf":
		return c.anyOf(p, val, at)
	case "allOf":
		if val.Kind() != strictjson.Array || val.Len() != 1 {
			p.reject(key, "only an allOf of a single schema is read")
			return nil
		}
		for only := range val.Elements() {
			return []*property{c.collect(only, at)}
		}
	case "$ref":
		if q := c.follow(p, val, at); q != nil {
			return []*property{q}
		}
	case "items":
		if val.Kind() != strictjson.Object {
			p.reject(key, "must be one schema that lists the choices")
			return nil
		}
		at.item = true
		p.items = c.collect(val, at)
	default:
		p.readBound(key, val)
	}
	return nil
}

// anyOf is a schema or null; under items it may also list choices.
func (c *collector) anyOf(p *property, val strictjson.Value, at place) []*property {
	if val.Kind() == strictjson.Array && val.Len() == 2 {
		elems := slices.Collect(val.Elements())
		if isNullSchema(elems[0]) {
			elems[0], elems[1] = elems[1], elems[0]
		}
		if isNullSchema(elems[1]) && !isNullSchema(elems[0]) {
			return []*property{c.collect(elems[0], at)}
		}
	}
	if at.item {
		p.decided = true
		p.readChoices("anyOf", val, c.lim)
		return nil
	}
	p.decided = true // the anyOf is the problem, not a missing type
	p.reject("anyOf", "only a schema beside null is read; list choices with enum, or with oneOf of const and title")
	return nil
}

// isNullSchema reports {"type":"null"}, annotations aside.
func isNullSchema(v strictjson.Value) bool {
	null := false
	for key, val := range v.Members() {
		switch {
		case key == "type":
			s, err := val.Text()
			null = err == nil && s == "null"
		case !isAnnotation(key):
			return false
		}
	}
	return null
}

// follow reads what a $ref refers to; nil when it cannot, with the reason in p.
func (c *collector) follow(p *property, val strictjson.Value, at place) *property {
	p.decided = true // what is missing is the reference, not a type
	ref, err := val.Text()
	switch {
	case err != nil:
		p.reject("$ref", "must be a string")
		return nil
	case at.foreign:
		p.reject("$ref", "stands inside a schema with an $id of its own, where it means something else")
		return nil
	case slices.Contains(at.via, ref):
		p.reject("$ref", "refers to itself")
		return nil
	case len(at.via) == maxRefDepth:
		p.reject("$ref", fmt.Sprintf("leads over more than %d references in a row", maxRefDepth))
		return nil
	}
	if c.refs++; c.refs > maxRefs {
		p.reject("$ref", fmt.Sprintf("is one of more than %d references", maxRefs))
		return nil
	}
	target, ok := c.resolve(ref)
	if !ok {
		p.reject("$ref", "must refer to an entry of this schema's own $defs or definitions; nothing else is looked up")
		return nil
	}
	if c.size += len(target.Raw()); c.size > maxRefBytes {
		p.reject("$ref", fmt.Sprintf("leads with the others to more than %d bytes of schemas", maxRefBytes))
		return nil
	}
	at.via = append(slices.Clip(at.via), ref)
	q := c.collect(target, at)
	if !q.decided && len(q.bad) == 0 {
		q.reject("type", "what $ref refers to must say its type")
	}
	return q
}

// resolve finds the target of a local reference.
func (c *collector) resolve(ref string) (strictjson.Value, bool) {
	pointer, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return strictjson.Value{}, false
	}
	pointer, err := url.PathUnescape(pointer)
	if err != nil {
		return strictjson.Value{}, false
	}
	tokens := strings.Split(pointer, "/")
	if len(tokens) < 2 || tokens[0] != "$defs" && tokens[0] != "definitions" {
		return strictjson.Value{}, false
	}
	at := c.root
	for _, tok := range tokens {
		tok = strings.ReplaceAll(strings.ReplaceAll(tok, "~1", "/"), "~0", "~")
		if at, ok = step(at, tok); !ok {
			return strictjson.Value{}, false
		}
	}
	return at, at.Kind() == strictjson.Object
}

// step goes to one member or element.
func step(v strictjson.Value, token string) (strictjson.Value, bool) {
	if v.Kind() != strictjson.Array {
		return v.Get(token)
	}
	n, err := strconv.Atoi(token)
	if err != nil || strconv.Itoa(n) != token {
		return strictjson.Value{}, false
	}
	for e := range v.Elements() {
		if n == 0 {
			return e, true
		}
		n--
	}
	return strictjson.Value{}, false
}
