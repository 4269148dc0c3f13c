package jsonschema

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// doubling is 40 schemas, each of which holds its value twice to the next; ref
// spells the reference to schema i, and anchor is a member of schema i.
func doubling(keyword string, ref, anchor func(i int) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{%q:%q,"$defs":{"end":true`, keyword, ref(0))
	for i := range 40 {
		r := fmt.Sprintf(`{%q:%q}`, keyword, ref(i+1))
		fmt.Fprintf(&b, `,"d%d":{%s"allOf":[%s,%s]}`, i, anchor(i), r, r)
	}
	fmt.Fprintf(&b, `,"d40":{%s"type":"string"}}}`, anchor(40))
	return b.String()
}

// many is n texts with commas between them; a %d in format is the number.
func many(n int, format string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = strings.ReplaceAll(format, "%d", strconv.Itoa(i))
	}
	return strings.Join(parts, ",")
}

// TestTooLong: a schema cannot keep the check busy, whatever way its references
// are spelt and however they multiply with the value.
func TestTooLong(t *testing.T) {
	none := func(int) string { return "" }
	member := func(key, value string) func(int) string {
		return func(i int) string { return fmt.Sprintf(`%q:%q,`, key, fmt.Sprintf(value, i)) }
	}
	ref := func(format string) func(int) string {
		return func(i int) string { return fmt.Sprintf(format, i) }
	}
	deep := strings.Repeat(`[`, 60) + strings.Repeat(`]`, 60)
	nested := strings.Repeat(`{"n":`, 60) + `1` + strings.Repeat(`}`, 60)
	for _, c := range []struct{ name, schema, value string }{
		{"percent escape", doubling("$ref", ref("#/$defs/%%64%d"), none), `{}`},
		{"percent escape of the keyword", doubling("$ref", ref("#/%%24defs/d%d"), none), `{}`},
		{"absolute", doubling("$ref", ref(location+"#/$defs/d%d"), none), `{}`},
		{"anchor", doubling("$ref", ref("#a%d"), member("$anchor", "a%d")), `{}`},
		{"id", doubling("$ref", ref("http://x/%d"), member("$id", "http://x/%d")), `{}`},
		{"dynamic", doubling("$dynamicRef", ref("#a%d"), member("$dynamicAnchor", "a%d")), `{}`},
		{"items", `{"allOf":[{"items":{"$ref":"#"}},{"items":{"$ref":"#"}}]}`, deep},
		{"tuples of draft-07", `{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"$ref":"#"}],"contains":{"$ref":"#"}}`, deep},
		{"additionalItems of draft-07", `{"$schema":"http://json-schema.org/draft-07/schema#","items":[true],"additionalItems":{"$ref":"#"},"contains":{"$ref":"#"}}`,
			strings.Repeat(`[0,`, 60) + `0` + strings.Repeat(`]`, 60)},
		{"prefixItems and contains", `{"prefixItems":[{"$ref":"#"}],"contains":{"$ref":"#"}}`, deep},
		{"unevaluatedItems", `{"allOf":[{"unevaluatedItems":{"$ref":"#"}},{"unevaluatedItems":{"$ref":"#"}}]}`, deep},
		{"properties and patterns", `{"properties":{"n":{"$ref":"#"}},"patternProperties":{"^n$":{"$ref":"#"}}}`, nested},
		{"additionalProperties", `{"anyOf":[false,{"additionalProperties":{"$ref":"#"}},{"additionalProperties":{"$ref":"#"}}],"minProperties":2}`, nested},
		{"unevaluatedProperties", `{"allOf":[{"unevaluatedProperties":{"$ref":"#"}},{"unevaluatedProperties":{"$ref":"#"}}]}`, nested},
		{"dependentSchemas", `{"dependentSchemas":{"n":{"properties":{"n":{"$ref":"#"}}}},"properties":{"n":{"$ref":"#"}}}`, nested},
		{"dependencies of draft-07", `{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"n":{"properties":{"n":{"$ref":"#"}}}},"properties":{"n":{"$ref":"#"}}}`, nested},
		{"conditions", `{"if":{"properties":{"n":{"$ref":"#"}}},"then":{"properties":{"n":{"$ref":"#"}}},"else":{"properties":{"n":{"$ref":"#"}}}}`, nested},
		{"not", `{"not":{"properties":{"n":{"$ref":"#"}}},"oneOf":[{"properties":{"n":{"$ref":"#"}}}]}`, nested},
		{"recursive", `{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"allOf":[{"items":{"$recursiveRef":"#"}},{"items":{"$recursiveRef":"#"}}]}`, deep},
		{"nested", `{"properties":{"n":{"$ref":"#"}},"required":["n"]}`, strings.Repeat(`{"n":`, 9_000) + `{}` + strings.Repeat(`}`, 9_000)},
		{"one pattern", `{"pattern":"^(a{0,1000}a{0,1000})*b$"}`, `"` + strings.Repeat("a", 1<<20) + `"`},
		{"patterns of names", `{"patternProperties":{` + many(2_000, `"x%d$":true`) + `}}`, `{` + many(200_000, `"k%d":1`) + `}`},
		{"a long enum", `{"items":{"enum":[` + many(50_000, `"x%d"`) + `]}}`, `[` + many(200_000, `"y%d"`) + `]`},
		{"a long list of names", `{"items":{"required":[` + many(20_000, `"x%d"`) + `]}}`, `[` + many(500_000, `{}`) + `]`},
		{"long texts", `{"allOf":[` + many(4_000, `{"minLength":%d}`) + `]}`, `"` + strings.Repeat("a", 8<<20) + `"`},
		{"unique items again and again", `{"allOf":[` + many(4_000, `{"uniqueItems":true,"maxItems":9%d}`) + `]}`, `[` + many(500_000, `%d`) + `]`},
		{"dynamic with two targets", `{"$dynamicAnchor":"m","allOf":[{"items":{"$ref":"http://x/x"}},{"items":{"$ref":"http://x/x"}}],"$defs":{"x":{"$id":"http://x/x","$ref":"#/$defs/y","$defs":{"y":{"$dynamicRef":"#m"},"m":{"$dynamicAnchor":"m"}}}}}`, deep},
	} {
		t.Run(c.name, func(t *testing.T) {
			done := make(chan error, 1)
			go func() { done <- New([]byte(c.schema)).Check([]byte(c.value)) }()
			select {
			case err := <-done:
				if err != nil {
					t.Errorf("verdict %v", err)
				}
			case <-time.After(time.Minute): // with the race detector, beside the tests of other packages
				t.Fatal("takes too long")
			}
		})
	}
}

// TestLongButNotTooLong: what has to be held against many schemas is still
// checked: a large value, a deep one, one of many alternatives.
func TestLongButNotTooLong(t *testing.T) {
	var kinds []string
	for i := range 200 {
		kinds = append(kinds, fmt.Sprintf(`{"type":"object","properties":{"k":{"const":"k%d"},"v":{"$ref":"#/$defs/s"}},"required":["k"]}`, i))
	}
	for _, c := range []struct{ name, schema, value string }{
		{"large", `{"items":{"anyOf":[{"type":"string"},{"$ref":"#/$defs/n"}]},"$defs":{"n":{"type":"null"}}}`, `[` + strings.Repeat(`null,`, 300_000) + `1]`},
		{"large, and nothing required", `{"items":{"$ref":"#/$defs/row"},"$defs":{"row":{"type":"object","properties":{"a":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"null"}]},"b":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"null"}]}}},"n":{"allOf":[{"allOf":[{"type":"integer"}]}]}}}`,
			`[` + strings.Repeat(`{"a":1,"b":null},`, 100_000) + `1]`},
		{"deep list", `{"properties":{"next":{"$ref":"#"}},"required":["v"]}`, strings.Repeat(`{"v":1,"next":`, 500) + `{}` + strings.Repeat(`}`, 500)},
		{"tree", `{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#"}},"n":{"type":"string"}},"additionalProperties":{"$ref":"#"}}`,
			`{"kids":[` + strings.Repeat(`{"kids":[{"n":"x"},{"n":"y"}]},`, 1_000) + `{"n":1}]}`},
		{"many alternatives", `{"items":{"oneOf":[` + strings.Join(kinds, ",") + `]},"$defs":{"s":{"type":"string"}}}`, `[` + strings.Repeat(`{"k":"k199","v":"x"},`, 500) + `{"k":"none"}]`},
		{"recursive with one anchor", `{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"type":"object","additionalProperties":{"$recursiveRef":"#"}}`, `{"a":{"b":1}}`},
		{"dynamic with one anchor", `{"$dynamicAnchor":"m","type":"object","additionalProperties":{"$dynamicRef":"#m"}}`, `{"a":{"b":1}}`},
		{"a long text", `{"maxLength":10,"format":"email"}`, `"` + strings.Repeat("a", 16<<20) + `"`},
		{"a long text with a pattern", `{"pattern":"^[a-z0-9 ]+$"}`, `"` + strings.Repeat("a", 4<<20) + `!"`},
		{"a long enum", `{"items":{"enum":[` + many(250, `"x%d"`) + `]}}`, `[` + many(10_000, `"x1"`) + `,1]`},
		{"a cycle in place", `{"$ref":"#"}`, `1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := New([]byte(c.schema))
			if err := s.Check([]byte(c.value)); err == nil {
				t.Errorf("not checked; unchecked %v", s.Unchecked())
			}
		})
	}
}

// TestPatternsTooLarge: the patterns of a schema cannot take all memory, and
// not everything about them is said.
func TestPatternsTooLarge(t *testing.T) {
	s := New([]byte(`{"type":"object","properties":{` + many(5_000, `"p%d":{"pattern":"%dx{1000}y{1000}x{1000}y{1000}"}`) + `}}`))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := s.Check([]byte(`[]`)); err == nil {
		t.Error("the rest is not checked")
	}
	runtime.ReadMemStats(&after)
	if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); held > 100<<20 {
		t.Errorf("holds %d MiB", held>>20)
	}
	u := s.Unchecked()
	if len(u) != mostNotes+1 || !strings.HasSuffix(u[mostNotes], "more patterns") {
		t.Errorf("%d notes, the last %q", len(u), u[len(u)-1])
	}
	long := New([]byte(`{"pattern":"` + strings.Repeat("x", mostPattern+1) + `"}`))
	if err := long.Check([]byte(`"y"`)); err != nil || len(long.Unchecked()) != 1 {
		t.Errorf("a long pattern: %v, unchecked %v", err, long.Unchecked())
	}
}

// TestRegexOfAValue: the format "regex" of older dialects asks about a value,
// which several checks may do at once and which is noted nowhere.
func TestRegexOfAValue(t *testing.T) {
	s := New([]byte(`{"$schema":"http://json-schema.org/draft-07/schema#","format":"regex"}`))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := s.Check([]byte(`"(hunter2"`)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if u := s.Unchecked(); u != nil {
		t.Errorf("noted %v", u)
	}
}
