package toolschema

import (
	"fmt"
	"slices"
	"strings"

	"askback/internal/strictjson"
)

// Rewrite brings a server's inputSchema within what a Host accepts. The result
// accepts everything that raw does, and more where a keyword had to go: callers
// check arguments against raw itself. The error says why the tool cannot be
// offered: no object, a reference out of the schema, too large.
func Rewrite(raw []byte) ([]byte, error) {
	v, _, err := strictjson.ParseSchema(raw, strictjson.Limits{MaxBytes: maxSource, MaxDepth: 2 * MaxDepth})
	if err != nil {
		return nil, err
	}
	if err := v.Want(strictjson.Object); err != nil {
		return nil, err
	}
	r := &rewriter{lookup: newLookup(v), moved: map[string]string{}}
	if id, ok := v.Get("$id"); ok {
		r.id, _ = id.Text()
		r.id = strings.TrimSuffix(r.id, "#")
	}
	out, err := r.rootObject()
	if err != nil {
		return nil, err
	}
	if err := Check(out); err != nil {
		return nil, err
	}
	return out, nil
}

// maxSource bounds the schemas that are looked at; much of one may be notes
// that are stripped.
const maxSource = 1 << 20

type rewriter struct {
	*lookup
	id    string            // the root's $id
	moved map[string]string // reference → name of its copy in $defs
	queue []move            // copies still to be written
	wider int               // counts constraints that were dropped
}

type move struct {
	name   string
	target strictjson.Value
}

// annotations say nothing about what a schema accepts.
var annotations = []string{"$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary", "$comment",
	"deprecated", "readOnly", "writeOnly", "contentEncoding", "contentMediaType", "contentSchema"}

// rootObject writes the root: of type object, with the copies that references
// needed among its $defs.
func (r *rewriter) rootObject() ([]byte, error) {
	typ, ok := r.root.Get("type")
	if ok && !allowsObject(typ) {
		return nil, strictjson.At("type", strictjson.Bad("must allow an object"))
	}
	body, err := r.members(r.root, nil, func(name string) bool { return name == "type" })
	if err != nil {
		return nil, err
	}
	out := append([]byte(`{"type":"object"`), prefixed(body)...)
	if len(r.queue) == 0 {
		return append(out, '}'), nil
	}
	// A copy may need further copies.
	var defs []byte
	if have, ok := r.root.Get("$defs"); ok && have.Kind() == strictjson.Object {
		body, err := r.members(r.root, nil, func(name string) bool { return name == "type" || name == "$defs" })
		if err != nil {
			return nil, err
		}
		out = append([]byte(`{"type":"object"`), prefixed(body)...)
		inner, err := r.schemaMap(have)
		if err != nil {
			return nil, err
		}
		defs = inner[1 : len(inner)-1]
	}
	for i := 0; i < len(r.queue); i++ {
		copied, err := r.schema(r.queue[i].target)
		if err != nil {
			return nil, err
		}
		if len(defs) > 0 {
			defs = append(defs, ',')
		}
		defs = strictjson.AppendString(defs, r.queue[i].name)
		defs = append(append(defs, ':'), copied...)
		if len(defs) > MaxBytes {
			return nil, strictjson.Bad("is over %d bytes with what it refers to", MaxBytes)
		}
	}
	out = append(out, `,"$defs":{`...)
	out = append(out, defs...)
	return append(out, "}}"...), nil
}

// maxMoves bounds the copies that references may need.
const maxMoves = 64

// prefixed is the members of an object text, each after a comma.
func prefixed(members []byte) []byte {
	if len(members) == 0 {
		return nil
	}
	return append([]byte{','}, members...)
}

func allowsObject(typ strictjson.Value) bool {
	if typ.Kind() != strictjson.Array {
		return string(typ.Raw()) == `"object"`
	}
	for t := range typ.Elements() {
		if string(t.Raw()) == `"object"` {
			return true
		}
	}
	return false
}

// schema writes a subschema. What is no schema at all accepts anything.
func (r *rewriter) schema(v strictjson.Value) ([]byte, error) {
	switch v.Kind() {
	case strictjson.Boolean:
		return v.Raw(), nil
	case strictjson.Object:
		body, err := r.members(v, nil, nil)
		if err != nil {
			return nil, err
		}
		return append(append([]byte{'{'}, body...), '}'), nil
	}
	r.wider++
	return []byte("true"), nil
}

// members writes the keywords of a schema object, without the braces.
func (r *rewriter) members(v strictjson.Value, out []byte, skip func(string) bool) ([]byte, error) {
	dropped := r.contextual(v)
	add := func(name string, value []byte) {
		if len(out) > 0 {
			out = append(out, ',')
		}
		out = strictjson.AppendString(out, name)
		out = append(append(out, ':'), value...)
	}
	for name, member := range v.Members() {
		if skip != nil && skip(name) {
			continue
		}
		sh, known := keywords[name]
		if !known || slices.Contains(dropped, name) {
			if !slices.Contains(annotations, name) && !strings.HasPrefix(name, "x-") {
				r.wider++
			}
			continue
		}
		before := r.wider
		value, err := r.keyword(name, sh, member)
		if err != nil {
			return nil, strictjson.At(name, err)
		}
		if value == nil {
			r.wider++
			continue
		}
		if name == "oneOf" && r.wider > before {
			// Branches that became wider may both match now; anyOf lets that pass.
			if _, taken := v.Get("anyOf"); taken {
				continue
			}
			name = "anyOf"
		}
		add(name, value)
	}
	return out, nil
}

// contextual lists keywords whose meaning depends on a neighbour that has to
// go: without it they would refuse what the schema accepts.
func (r *rewriter) contextual(v strictjson.Value) (dropped []string) {
	if _, ok := v.Get("patternProperties"); ok {
		dropped = append(dropped, "additionalProperties")
	}
	if _, ok := v.Get("prefixItems"); ok {
		dropped = append(dropped, "items")
	}
	if props, ok := v.Get("properties"); ok {
		for name := range props.Members() {
			if badKey(name) {
				dropped = append(dropped, "additionalProperties")
				break
			}
		}
	}
	return dropped
}

func badKey(name string) bool { return name == "" || len([]rune(name)) > MaxKey }

// keyword writes the value of one keyword; nil leaves it out.
func (r *rewriter) keyword(name string, sh shape, v strictjson.Value) ([]byte, error) {
	switch sh {
	case oneSchema:
		return r.schema(v)
	case items:
		if v.Kind() != strictjson.Array {
			return r.schema(v)
		}
		return r.list(v)
	case schemaList:
		if v.Kind() != strictjson.Array || v.Len() == 0 {
			return nil, nil
		}
		return r.list(v)
	case schemaMap:
		if v.Kind() != strictjson.Object {
			return nil, nil
		}
		return r.schemaMap(v)
	case reference:
		return r.reference(v)
	case pattern:
		if text, err := v.Text(); err != nil || CheckPattern(text) != nil {
			return nil, nil
		}
	case anyValue:
		if hasBadKey(v) {
			return nil, nil
		}
	}
	return v.Raw(), nil
}

func hasBadKey(v strictjson.Value) bool {
	for name, member := range v.Members() {
		if badKey(name) || hasBadKey(member) {
			return true
		}
	}
	for item := range v.Elements() {
		if hasBadKey(item) {
			return true
		}
	}
	return false
}

func (r *rewriter) list(v strictjson.Value) ([]byte, error) {
	out := []byte{'['}
	i := 0
	for item := range v.Elements() {
		if i > 0 {
			out = append(out, ',')
		}
		s, err := r.schema(item)
		if err != nil {
			return nil, strictjson.AtIndex(i, err)
		}
		out = append(out, s...)
		i++
	}
	return append(out, ']'), nil
}

func (r *rewriter) schemaMap(v strictjson.Value) ([]byte, error) {
	out := []byte{'{'}
	for name, member := range v.Members() {
		if badKey(name) {
			r.wider++
			continue
		}
		s, err := r.schema(member)
		if err != nil {
			return nil, strictjson.At(name, err)
		}
		out = strictjson.AppendKey(out, name)
		out = append(out, s...)
	}
	return append(out, '}'), nil
}

// reference keeps what points into the definitions, and copies there what
// points to another place of the schema.
func (r *rewriter) reference(v strictjson.Value) ([]byte, error) {
	ref, err := v.Text()
	if err != nil {
		return nil, err
	}
	if r.id != "" {
		if local, ok := strings.CutPrefix(ref, r.id); ok && (local == "" || local[0] == '#') {
			ref = "#" + strings.TrimPrefix(local, "#")
		}
	}
	if !strings.HasPrefix(ref, "#") {
		return nil, strictjson.Bad("refers to something outside the schema, which is never fetched")
	}
	if _, ok := r.definition(ref); ok {
		return strictjson.AppendString(nil, ref), nil
	}
	name, ok := r.moved[ref]
	if !ok {
		if len(r.queue) > maxMoves {
			return nil, strictjson.Bad("refers to too many places within itself")
		}
		target, found := r.any(ref)
		if !found {
			return nil, strictjson.Bad("refers to something that is not there")
		}
		name = r.freeName()
		r.moved[ref] = name
		r.queue = append(r.queue, move{name, target})
	}
	return strictjson.AppendString(nil, "#/$defs/"+name), nil
}

func (r *rewriter) freeName() string {
	defs := r.object(r.object(r.root)["$defs"])
	for i := len(r.moved) + 1; ; i++ {
		name := fmt.Sprint("ref", i)
		if _, taken := defs[name]; !taken {
			return name
		}
	}
}
