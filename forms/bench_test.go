package forms

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// benchForm is a form of 32 fields and just under 16 KiB, and benchAnswer an
// answer to it.
func benchForm() (raw, answer []byte) {
	var fields []string
	vals := Values{}
	for i := range 32 {
		name := fmt.Sprintf("field_%02d", i)
		words := strings.Repeat("some words about what is asked ", 10)
		common := fmt.Sprintf(`"name":%q,"label":"Field number %d","required":true,"description":%q`, name, i, words)
		switch i % 4 {
		case 0:
			fields = append(fields, `{"kind":"string",`+common+`,"minLength":1,"maxLength":100}`)
			vals[name] = TextValue("a short answer")
		case 1:
			fields = append(fields, `{"kind":"integer",`+common+`,"minimum":0,"maximum":1000,"default":5}`)
			vals[name] = NumberValue(NumberOf(i))
		case 2:
			fields = append(fields, `{"kind":"single_select",`+common+`,"options":[{"value":"staging","label":"Staging"},{"value":"production","label":"Production"}]}`)
			vals[name] = TextValue("staging")
		case 3:
			fields = append(fields, `{"kind":"boolean",`+common+`,"default":false}`)
			vals[name] = BoolValue(true)
		}
	}
	raw = []byte(one(fields...))
	answer, _ = Accept(vals).Encode()
	return raw, answer
}

// benchSchema is the same form as a server's schema.
func benchSchema() []byte {
	var ps, names []string
	for i := range 32 {
		words := strings.Repeat("some words about what is asked ", 10)
		common := fmt.Sprintf(`"title":"Field number %d","description":%q`, i, words)
		p := []string{
			`{"type":"string",` + common + `,"minLength":1,"maxLength":100}`,
			`{"type":"integer",` + common + `,"minimum":0,"maximum":1000,"default":5}`,
			`{"type":"string",` + common + `,"oneOf":[{"const":"staging","title":"Staging"},{"const":"production","title":"Production"}]}`,
			`{"type":"boolean",` + common + `,"default":false}`,
		}[i%4]
		ps = append(ps, fmt.Sprintf(`"field_%02d":%s`, i, p))
		names = append(names, fmt.Sprintf(`"field_%02d"`, i))
	}
	return []byte(props(strings.Join(ps, ","), `"required":[`+strings.Join(names, ",")+`]`))
}

func BenchmarkUnmarshalAny(b *testing.B) {
	raw, _ := benchForm()
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		unmarshalAny(b, raw)
	}
}

func unmarshalAny(tb testing.TB, raw []byte) {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		tb.Fatal(err)
	}
}

func BenchmarkDecodeForm(b *testing.B) {
	raw, _ := benchForm()
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeForm(raw, OurLimits()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadSchema(b *testing.B) {
	raw := benchSchema()
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		s, err := ReadSchema(raw, SchemaOptions{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := (Form{Message: "m", Requester: Requester{Name: "t"}, Fields: s.Fields}).Fit(OurLimits()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUnmarshalSchema(b *testing.B) {
	raw := benchSchema()
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		unmarshalAny(b, raw)
	}
}

func BenchmarkCheckAnswer(b *testing.B) {
	raw, answer := benchForm()
	f := mustForm(b, string(raw))
	b.SetBytes(int64(len(answer)))
	b.ReportAllocs()
	for b.Loop() {
		r, err := DecodeResult(answer, OurLimits())
		if err != nil || f.Check(r) != nil {
			b.Fatal(err, f.Check(r))
		}
	}
}

func BenchmarkUnmarshalAnswer(b *testing.B) {
	_, answer := benchForm()
	b.SetBytes(int64(len(answer)))
	b.ReportAllocs()
	for b.Loop() {
		unmarshalAny(b, answer)
	}
}

func BenchmarkProject(b *testing.B) {
	raw, _ := benchForm()
	f := mustForm(b, string(raw))
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		f.Project()
	}
}

// BenchmarkProjectHostile projects a text in which nearly every character must
// be escaped.
func BenchmarkProjectHostile(b *testing.B) {
	s := strings.Repeat("a\u202e\x1b[2Jé\u200b👩\u200d🚀", 300)
	b.SetBytes(int64(len(s)))
	b.ReportAllocs()
	for b.Loop() {
		Block(s)
	}
}

// TestWithinSixTimesUnmarshal holds each step to six times what json.Unmarshal
// needs for the same bytes. The best of several runs counts on both sides, so
// that a busy machine does not decide.
func TestWithinSixTimesUnmarshal(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector slows the two sides differently")
	}
	raw, answer := benchForm()
	schema := benchSchema()
	if len(raw) > 16<<10 || len(raw) < 12<<10 {
		t.Fatalf("the form has %d bytes", len(raw))
	}
	f := mustForm(t, string(raw))
	hostile := f
	hostile.Fields = append([]Field{}, f.Fields...)
	for i := range hostile.Fields {
		hostile.Fields[i].Description = strings.Repeat("a\u202e\x1b[2Jé", 30)
	}
	for _, tc := range []struct {
		name string
		json []byte
		step func()
	}{
		{"reading and admitting a form", raw, func() { _, _ = DecodeForm(raw, OurLimits()) }},
		{"reading and admitting a schema", schema, func() {
			s, _ := ReadSchema(schema, SchemaOptions{})
			_, _ = Form{Message: "m", Requester: Requester{Name: "t"}, Fields: s.Fields}.Fit(OurLimits())
		}},
		{"checking its answer", answer, func() { r, _ := DecodeResult(answer, OurLimits()); f.Check(r) }},
		{"projecting it", raw, func() { f.Project() }},
		{"projecting a hostile one", raw, func() { hostile.Project() }},
	} {
		var base, took time.Duration
		for range 3 { // a busy machine gets another chance
			base, took = fastest(func() { unmarshalAny(t, tc.json) }, tc.step)
			if took <= 6*base {
				break
			}
		}
		t.Logf("%s: %v, json.Unmarshal %v, %.1f times", tc.name, took, base, float64(took)/float64(base))
		if took > 6*base {
			t.Errorf("%s takes %v, over six times the %v of json.Unmarshal", tc.name, took, base)
		}
	}
}

// fastest is the shortest run of each of two steps, which take turns.
func fastest(a, b func()) (ta, tb time.Duration) {
	ta, tb = time.Hour, time.Hour
	for range 50 {
		start := time.Now()
		a()
		middle := time.Now()
		b()
		ta, tb = min(ta, middle.Sub(start)), min(tb, time.Since(middle))
	}
	return ta, tb
}
