package protocol

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// The rules of a "wire" tag, separated by commas:
//
//	opt        the key may be missing; a zero value is not written
//	always     with opt: written even when zero
//	null       nil is the JSON null
//	full       missing only from a record of an unsupported kind
//	for=a b? * the key belongs to variants a and (optionally) b of the struct's
//	           first field; * is every other variant
//	one=a|b    the value is one of these
//	id, plain  an entity id, a plain id
//	composition  a composition id
//	len=m:n    UTF-16 units of a string
//	bytes=m:n  bytes of a string's UTF-8 or of decoded base64
//	items=m:n  elements of an array
//	each=m:n   bytes of each string of an array
//	min=, max= an integer's range
//	json=n     bytes of the value's compact JSON
//	object     raw JSON that must be an object
//	lax        this field and everything below it is only shown
//
// On a struct's blank field: open (the struct and everything below it is only
// shown), extra (unknown keys are dropped).
type rules struct {
	opt, always, null, full, object, lax bool
	entity, plain, composition           bool
	one                                  []string
	variants                             []variant
	length, bytes, items, each           *bounds
	min, max                             *int64
	json                                 int
}

type variant struct {
	name string // "*" is every variant without an entry of its own
	opt  bool
}

type bounds struct{ min, max int }

// plan is how a struct type is read and written.
type plan struct {
	fields  []field
	open    bool
	extra   bool
	checked bool // the type has checkWire
}

type field struct {
	rules
	name  string
	key   string // `"name":`
	index []int
	typ   reflect.Type
}

// checker is a type with rules that no tag can say.
type checker interface{ checkWire(d Dialect) error }

var plans sync.Map // reflect.Type → *plan

func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p := &plan{checked: reflect.PointerTo(t).Implements(reflect.TypeFor[checker]())}
	p.collect(t, nil)
	got, _ := plans.LoadOrStore(t, p)
	return got.(*plan)
}

func (p *plan) collect(t reflect.Type, at []int) {
	for i := range t.NumField() {
		sf := t.Field(i)
		index := append(slices.Clone(at), i)
		name, tag := sf.Tag.Get("json"), sf.Tag.Get("wire")
		switch {
		case sf.Name == "_":
			p.open = p.open || tag == "open"
			p.extra = p.extra || tag == "extra"
		case sf.Anonymous:
			p.collect(sf.Type, index)
		case name != "" && name != "-":
			f := field{rules: parseRules(tag), name: name, key: `"` + name + `":`, index: index, typ: sf.Type}
			p.fields = append(p.fields, f)
		}
	}
}

// parseRules panics on a tag that it does not know: tags are part of the
// program, and a test compiles them all.
func parseRules(tag string) (r rules) {
	if tag == "" {
		return r
	}
	for rule := range strings.SplitSeq(tag, ",") {
		name, arg, _ := strings.Cut(rule, "=")
		switch name {
		case "opt":
			r.opt = true
		case "always":
			r.always = true
		case "null":
			r.null = true
		case "full":
			r.full = true
		case "object":
			r.object = true
		case "lax":
			r.lax = true
		case "id":
			r.entity = true
		case "plain":
			r.plain = true
		case "composition":
			r.composition = true
		case "one":
			r.one = strings.Split(arg, "|")
		case "for":
			for v := range strings.FieldsSeq(arg) {
				bare, opt := strings.CutSuffix(v, "?")
				r.variants = append(r.variants, variant{bare, opt})
			}
		case "len":
			r.length = parseBounds(arg)
		case "bytes":
			r.bytes = parseBounds(arg)
		case "items":
			r.items = parseBounds(arg)
		case "each":
			r.each = parseBounds(arg)
		case "min":
			r.min = parseInt(arg)
		case "max":
			r.max = parseInt(arg)
		case "json":
			r.json = int(*parseInt(arg))
		default:
			panic("protocol: unknown rule " + rule)
		}
	}
	return r
}

func parseInt(arg string) *int64 {
	n, err := strconv.ParseInt(arg, 10, 64)
	if err != nil {
		panic("protocol: bad number in rule: " + arg)
	}
	return &n
}

func parseBounds(arg string) *bounds {
	lo, hi, _ := strings.Cut(arg, ":")
	return &bounds{int(*parseInt(lo)), int(*parseInt(hi))}
}

// presence says whether a key may or must stand in a struct whose first field
// is disc.
type presence int

const (
	required presence = iota
	optional
	foreign // belongs to another variant
)

func (f *field) presence(disc string) presence {
	switch {
	case len(f.variants) > 0:
		rest := foreign
		for _, v := range f.variants {
			p := required
			if v.opt {
				p = optional
			}
			if v.name == disc {
				return p
			}
			if v.name == "*" {
				rest = p
			}
		}
		return rest
	case f.opt:
		return optional
	case f.full && disc == KindUnsupportedLegacyRecord:
		return optional
	}
	return required
}

// checkString holds a string to its field's rules. A value that is only shown
// is held to none.
func (r *rules) checkString(s string, lax bool) string {
	if lax || (r.opt && s == "" && r.length == nil) {
		return ""
	}
	switch {
	case r.entity && !ValidEntityID(s):
		return "must be 1 to 128 of A-Z a-z 0-9 _ -"
	case r.plain && !ValidPlainID(s):
		return "must be 1 to 128 characters"
	case r.composition && !validCompositionID(s):
		return "is not a composition id"
	case r.length != nil && !r.length.holdUnits(s):
		return fmt.Sprintf("must be %d to %d characters", r.length.min, r.length.max)
	case r.bytes != nil && !r.bytes.hold(len(s)):
		return fmt.Sprintf("must be %d to %d bytes", r.bytes.min, r.bytes.max)
	case r.one != nil && !slices.Contains(r.one, s):
		return "must be one of " + strings.Join(r.one, ", ")
	}
	return ""
}

func (r *rules) checkInt(n int64) string {
	if (r.min != nil && n < *r.min) || (r.max != nil && n > *r.max) {
		return "out of range"
	}
	return ""
}

func (r *rules) checkItems(n int, lax bool) string {
	if !lax && r.items != nil && !r.items.hold(n) {
		return fmt.Sprintf("must have %d to %d entries", r.items.min, r.items.max)
	}
	return ""
}

func (b *bounds) hold(n int) bool { return b.min <= n && n <= b.max }

func (b *bounds) holdUnits(s string) bool {
	// UTF-16 units are never more than bytes and never fewer than a third.
	if len(s) <= b.max && len(s) >= 3*b.min {
		return true
	}
	return b.hold(UTF16Len(s))
}

// UTF16Len is the length of s as JavaScript counts it.
func UTF16Len(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xffff {
			n++
		}
	}
	return n
}

// ValidEntityID reports whether s can name a session, Turn, run, message,
// Interaction, invocation, registration or offer.
func ValidEntityID(s string) bool {
	if len(s) == 0 || len(s) > MaxID {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// ValidPlainID reports whether s can be a request, connection, subscription or
// client instance id.
func ValidPlainID(s string) bool {
	return s != "" && (len(s) <= MaxID || UTF16Len(s) <= MaxID) && utf8.ValidString(s)
}

func validCompositionID(s string) bool {
	if s == "" || len(s) > MaxID {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && (i == 0 || (c != '.' && c != '-')) {
			return false
		}
	}
	return true
}
