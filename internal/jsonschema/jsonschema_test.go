package jsonschema

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name, schema, value, want string
	}{
		{"fits", `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`, `{"n":3}`, ""},
		{"missing", `{"type":"object","required":["n"]}`, `{}`, `lacks "n"`},
		{"type", `{"properties":{"a":{"properties":{"b":{"type":["string","null"]}}}}}`, `{"a":{"b":7}}`, "a.b: must be null or string"},
		{"index", `{"properties":{"a":{"items":{"type":"string"}}}}`, `{"a":["x",1]}`, "a[1]: must be string"},
		{"key with a dot", `{"properties":{"a.b":{"type":"string"}}}`, `{"a.b":1}`, `["a.b"]: must be string`},
		{"extra", `{"additionalProperties":false}`, `{"a":1}`, `may not have "a"`},
		{"bounds", `{"properties":{"n":{"minimum":0.5}}}`, `{"n":0.25}`, "n: must be at least 1/2"},
		{"large integers", `{"properties":{"n":{"maximum":9007199254740993}}}`, `{"n":9007199254740994}`, "n: must be at most 9007199254740993"},
		{"large integer fits", `{"properties":{"n":{"maximum":9007199254740993}}}`, `{"n":9007199254740993}`, ""},
		{"anyOf", `{"anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{}`, "fits none, or more than one, of the allowed alternatives"},
		{"local ref", `{"$defs":{"s":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/s"}}}`, `{"a":1}`, "a: must be string"},
		{"draft-07", `{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"s":{"type":"string"}},"properties":{"a":{"$ref":"#/definitions/s"}}}`, `{"a":1}`, "a: must be string"},
		{"unknown dialect", `{"$schema":"https://example.org/mine","type":"object"}`, `[]`, "must be object"},
		{"an $id of its own", `{"$id":"https://example.org/x","$defs":{"s":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/s"}}}`, `{"a":1}`, "a: must be string"},
		{"pattern", `{"properties":{"a":{"pattern":"^x+$"}}}`, `{"a":"y"}`, `a: must match the pattern "^x+$"`},
		{"huge number", `{"type":"object"}`, `{"a":[1e999999999]}`, "a[0]: is a number that is too large to check"},
		{"not JSON", `{"type":"object"}`, `{`, "is not JSON"},
		{"true schema", `true`, `1`, ""},
		{"false schema", `false`, `1`, "is not allowed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := New([]byte(c.schema))
			got := ""
			if err := s.Check([]byte(c.value)); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if u := s.Unchecked(); u != nil {
				t.Errorf("unchecked: %v", u)
			}
		})
	}
}

func TestUnchecked(t *testing.T) {
	doubling := `{"$defs":{"a0":{"type":"string"}`
	for i := range 40 {
		doubling += fmt.Sprintf(`,"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`, i+1, i, i)
	}
	doubling += `},"$ref":"#/$defs/a40"}`
	for _, c := range []struct{ name, schema, value, why, verdict string }{
		{"remote ref", `{"properties":{"a":{"$ref":"https://example.org/s.json"}}}`, `{"a":1}`, "not followed", ""},
		{"file ref", `{"$ref":"file:///etc/passwd"}`, `{}`, "not followed", ""},
		{"not JSON", `{"type":`, `{}`, "not JSON", ""},
		{"not a schema", `{"type":"thing"}`, `{}`, "not a valid schema", ""},
		{"huge number", `{"maximum":1e99999999}`, `1`, "too large", ""},
		{"multiplying references", doubling, `"x"`, "multiply", ""},
		{"multiplying references in a property", strings.Replace(doubling, `"$ref":"#/$defs/a40"}`, `"properties":{"a":{"items":{"$ref":"#/$defs/a40"}}}}`, 1), `{"a":["x"]}`, "multiply", ""},
		{"JavaScript pattern", `{"type":"string","pattern":"(?=a)a"}`, `7`, "the pattern", "must be string"},
		{"JavaScript pattern passes", `{"type":"string","pattern":"(?=a)a"}`, `"b"`, "the pattern", ""},
		{"too large", `{"description":"` + strings.Repeat("x", MaxBytes) + `"}`, `1`, "larger than", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := New([]byte(c.schema))
			start := time.Now()
			err := s.Check([]byte(c.value))
			if took := time.Since(start); took > 2*time.Second {
				t.Errorf("took %v", took)
			}
			if got := fmt.Sprint(err); (c.verdict == "" && err != nil) || (c.verdict != "" && got != c.verdict) {
				t.Errorf("verdict %v", err)
			}
			if u := s.Unchecked(); len(u) != 1 || !strings.Contains(u[0], c.why) {
				t.Errorf("unchecked: %v", u)
			}
		})
	}
}

func TestMessagesBearNoValues(t *testing.T) {
	const secret = "hunter2hunter2"
	for _, schema := range []string{
		`{"properties":{"a":{"type":"number"}}}`, `{"properties":{"a":{"enum":["x"]}}}`, `{"properties":{"a":{"const":"x"}}}`,
		`{"properties":{"a":{"pattern":"^x$"}}}`, `{"properties":{"a":{"maxLength":2}}}`, `{"properties":{"a":{"not":{}}}}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"format":"email"}}}`,
	} {
		if err := New([]byte(schema)).Check([]byte(`{"a":"` + secret + `"}`)); err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", schema, err)
		}
	}
}

func TestConcurrent(t *testing.T) {
	s := New([]byte(`{"type":"object","properties":{"a":{"type":"string","pattern":"(?=x)"}}}`))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if s.Check([]byte(`{"a":1}`)) == nil || len(s.Unchecked()) != 1 {
				t.Error("verdicts differ")
			}
		})
	}
	wg.Wait()
}
