package protocol

import (
	"reflect"
	"strings"
	"testing"
)

// TestPlans compiles the rules of every type that can stand in a frame.
func TestPlans(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var visit func(reflect.Type)
	visit = func(typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice:
			visit(typ.Elem())
		case reflect.Interface:
			for _, c := range unions[typ] {
				visit(c.typ)
			}
		case reflect.Struct:
			if seen[typ] || typ.PkgPath() != reflect.TypeFor[Hello]().PkgPath() || reflect.PointerTo(typ).Implements(wireDecoderType) {
				return
			}
			seen[typ] = true
			p := planOf(typ)
			if len(p.fields) > 64 {
				t.Errorf("%s has %d fields, the decoder counts 64", typ, len(p.fields))
			}
			names := map[string]bool{}
			for _, f := range p.fields {
				if names[f.name] {
					t.Errorf("%s has two keys %q", typ, f.name)
				}
				names[f.name] = true
				if len(f.variants) > 0 && p.fields[0].typ.Kind() != reflect.String {
					t.Errorf("%s has variants and its first field is no discriminator", typ)
				}
				visit(f.typ)
			}
		}
	}
	for typ := range kindOfFrame {
		visit(typ)
	}
	for _, op := range operations {
		if op.input != nil {
			visit(op.input)
			visit(op.result)
		}
	}
	visit(reflect.TypeFor[Row]())
	if len(seen) < 60 {
		t.Errorf("only %d types", len(seen))
	}
}

func TestUnknownRulePanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a tag with an unknown rule was accepted")
		}
	}()
	parseRules("opt,nope")
}

func TestIdentifiers(t *testing.T) {
	long := strings.Repeat("a", 128)
	for _, c := range []struct {
		id             string
		entity, plain_ bool
	}{
		{"a", true, true}, {"A-z_09", true, true}, {long, true, true},
		{"", false, false}, {long + "a", false, false},
		{"a.b", false, true}, {"a b", false, true}, {"é /", false, true},
		{strings.Repeat("é", 128), false, true}, {strings.Repeat("é", 129), false, false},
		{strings.Repeat("𝄞", 64), false, true}, {strings.Repeat("𝄞", 65), false, false}, // two UTF-16 units each
		{"a\xff", false, false},
	} {
		if got := ValidEntityID(c.id); got != c.entity {
			t.Errorf("ValidEntityID(%q) = %v", c.id, got)
		}
		if got := ValidPlainID(c.id); got != c.plain_ {
			t.Errorf("ValidPlainID(%q) = %v", c.id, got)
		}
	}
	for id, want := range map[string]bool{
		"maka.interactive": true, "test.other": true, "a-1.b": true,
		"": false, "Bad_ID": false, ".a": false, "a b": false,
	} {
		if got := validCompositionID(id); got != want {
			t.Errorf("validCompositionID(%q) = %v", id, got)
		}
	}
}

func TestBoundsCountUTF16(t *testing.T) {
	b := bounds{1, 4}
	for s, want := range map[string]bool{"": false, "a": true, "abcd": true, "abcde": false, "éééé": true, "𝄞𝄞": true, "𝄞𝄞a": false, "é": true} {
		if got := b.holdUnits(s); got != want {
			t.Errorf("holdUnits(%q) = %v", s, got)
		}
	}
}
