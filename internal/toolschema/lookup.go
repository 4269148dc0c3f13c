package toolschema

import (
	"strconv"
	"strings"

	"askback/internal/strictjson"
)

// lookup follows references within one schema. Each object and array that they
// lead through is indexed once, so that a schema of many references into large
// definitions is not walked again for each.
type lookup struct {
	root    strictjson.Value
	objects map[*byte]map[string]strictjson.Value // by where the object begins
	arrays  map[*byte][]strictjson.Value
	anchors map[string]strictjson.Value
}

func newLookup(root strictjson.Value) *lookup {
	return &lookup{
		root:    root,
		objects: map[*byte]map[string]strictjson.Value{},
		arrays:  map[*byte][]strictjson.Value{},
	}
}

// definition follows a local reference into $defs or definitions.
func (l *lookup) definition(ref string) (strictjson.Value, bool) {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return strictjson.Value{}, false
	}
	first, _, deeper := strings.Cut(path, "/")
	if !deeper || first != "$defs" && first != "definitions" {
		return strictjson.Value{}, false
	}
	return l.pointer(path)
}

// any follows any local reference: the root, a pointer or an anchor.
func (l *lookup) any(ref string) (strictjson.Value, bool) {
	fragment := strings.TrimPrefix(ref, "#")
	if fragment == "" {
		return l.root, true
	}
	if path, ok := strings.CutPrefix(fragment, "/"); ok {
		return l.pointer(path)
	}
	if l.anchors == nil {
		l.anchors = map[string]strictjson.Value{}
		l.collectAnchors(l.root)
	}
	v, ok := l.anchors[fragment]
	return v, ok
}

// pointer follows a JSON pointer without its first slash.
func (l *lookup) pointer(path string) (v strictjson.Value, ok bool) {
	v = l.root
	for step := range strings.SplitSeq(path, "/") {
		if v, ok = l.child(v, pointerStep(step)); !ok {
			return strictjson.Value{}, false
		}
	}
	return v, true
}

func (l *lookup) child(v strictjson.Value, name string) (strictjson.Value, bool) {
	if v.Kind() != strictjson.Array {
		m, ok := l.object(v)[name]
		return m, ok
	}
	items := l.array(v)
	i, err := strconv.Atoi(name)
	if err != nil || i < 0 || i >= len(items) || strconv.Itoa(i) != name {
		return strictjson.Value{}, false
	}
	return items[i], true
}

func (l *lookup) object(v strictjson.Value) map[string]strictjson.Value {
	if v.Kind() != strictjson.Object {
		return nil
	}
	at := &v.Raw()[0]
	index, ok := l.objects[at]
	if !ok {
		index = map[string]strictjson.Value{}
		for name, m := range v.Members() {
			index[name] = m
		}
		l.objects[at] = index
	}
	return index
}

func (l *lookup) array(v strictjson.Value) []strictjson.Value {
	at := &v.Raw()[0]
	index, ok := l.arrays[at]
	if !ok {
		for m := range v.Elements() {
			index = append(index, m)
		}
		l.arrays[at] = index
	}
	return index
}

// collectAnchors notes every schema that has an $anchor; of two of one name the
// first counts.
func (l *lookup) collectAnchors(v strictjson.Value) {
	if a, ok := v.Get("$anchor"); ok {
		if name, err := a.Text(); err == nil {
			if _, taken := l.anchors[name]; !taken {
				l.anchors[name] = v
			}
		}
	}
	for _, m := range v.Members() {
		l.collectAnchors(m)
	}
	for m := range v.Elements() {
		l.collectAnchors(m)
	}
}

var pointerEscapes = strings.NewReplacer("~1", "/", "~0", "~")

func pointerStep(step string) string { return pointerEscapes.Replace(unpercent(step)) }
