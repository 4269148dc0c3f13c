package forms

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

// judge is an independent validator of a JSON Schema, formats asserted. It is
// nil for a schema that is none by its own meta-schema.
func judge(raw []byte) func(content []byte) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	for _, name := range []string{"uuid", "password", "int32"} {
		// Unknown to MCP, so an annotation.
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(any) error { return nil }})
	}
	if err := c.AddResource("mem:///schema.json", doc); err != nil {
		return nil
	}
	sch, err := c.Compile("mem:///schema.json")
	if err != nil {
		return nil
	}
	return func(content []byte) error {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
		if err != nil {
			return err
		}
		return sch.Validate(v)
	}
}

// TestReadingNeverWidens: whatever answer the form accepts satisfies the
// server's own schema, by another validator.
func TestReadingNeverWidens(t *testing.T) {
	accepted := 0
	rapid.Check(t, func(t *rapid.T) { accepted += neverWidens(t) })
	t.Logf("%d accepted answers judged", accepted)
	if accepted == 0 {
		t.Error("no answer was accepted: the property was not tested")
	}
}

// neverWidens draws a schema and answers, and returns how many were accepted.
func neverWidens(t *rapid.T) (accepted int) {
	raw := drawSchema(t)
	valid := judge(raw)
	if valid == nil {
		t.Skip("no schema")
	}
	s, err := ReadSchema(raw, SchemaOptions{})
	if err != nil {
		return 0
	}
	fit, err := Form{Message: "m", Requester: Requester{Name: "t"}, Fields: s.Fields}.Fit(OurLimits())
	if err != nil {
		return 0
	}
	if errs := fit.Check(Accept(fit.answer())); errs != nil {
		t.Fatalf("the witness does not fit: %v\nschema %s", errs, raw)
	}
	for range 4 {
		r := Accept(drawValues(t, fit))
		if fit.Check(r) != nil {
			r = Accept(fit.answer())
		}
		accepted++
		for _, r := range []Result{r, fit.Canonical(r)} {
			content, _ := json.Marshal(r.Values)
			if err := valid(content); err != nil {
				t.Fatalf("schema  %s\ncontent %s\nwas accepted, but: %v", raw, content, err)
			}
		}
		if got := fit.Canonical(r); fit.Check(got) != nil || !Equivalent(got, r) {
			t.Fatalf("canonical %v of %v", got, r)
		}
		if size := len(r.append(nil)); size > OurLimits().Answer {
			t.Fatalf("an answer of %d bytes fits", size)
		}
	}
	return accepted
}

// drawValues answers a form: required fields, some others, some defaults.
func drawValues(t *rapid.T, f Form) Values {
	vals := Values{}
	for _, fd := range f.Fields {
		if fd.Required || rapid.Bool().Draw(t, "answered") {
			vals[fd.Name] = drawAnswer(t, fd)
		}
	}
	for _, fd := range f.Fields {
		if !fd.Default.IsZero() && rapid.Bool().Draw(t, "keep default") {
			vals[fd.Name] = fd.Default
		}
	}
	return vals
}

// answer is a witness: an answer that fits an admitted form.
func (f Form) answer() Values {
	vals := Values{}
	for i := range f.Fields {
		vals[f.Fields[i].Name] = f.Fields[i].witness()
	}
	return vals
}

func (fd *Field) witness() Value {
	switch fd.Kind {
	case KindBoolean:
		return BoolValue(false)
	case KindSingleSelect:
		return TextValue(fd.Options[0].Value)
	case KindMultiSelect:
		n := 0
		if fd.MinItems != nil {
			n = *fd.MinItems
		}
		var list []string
		for _, o := range fd.Options[:n] {
			list = append(list, o.Value)
		}
		return ListValue(list)
	case KindNumber, KindInteger:
		return fd.witnessNumber()
	}
	n := fd.minLength()
	switch fd.Format {
	case FormatEmail:
		return TextValue(witnessEmail(max(n, 5)))
	case FormatURI:
		return TextValue("a:" + strings.Repeat("b", max(n, 3)-2))
	case FormatDate:
		return TextValue("2026-01-31")
	case FormatDateTime:
		switch {
		case n <= 20:
			return TextValue("2026-01-31T09:30:00Z")
		case n == 21:
			n = 22
		}
		return TextValue("2026-01-31T09:30:00." + strings.Repeat("5", n-21) + "Z")
	}
	return TextValue(strings.Repeat("x", n))
}

// witnessEmail is an address of n characters.
func witnessEmail(n int) string {
	host := "c"
	for len("a@")+len(host) < n {
		label := min(63, n-len("a@")-len(host)-1)
		if label == 0 {
			return "aa@" + host
		}
		host = strings.Repeat("b", label) + "." + host
	}
	return "a@" + host
}

func (fd *Field) witnessNumber() Value {
	if fd.Kind == KindNumber {
		switch {
		case fd.Minimum != nil:
			return NumberValue(*fd.Minimum)
		case fd.Maximum != nil:
			return NumberValue(*fd.Maximum)
		}
		return NumberValue(NumberOf(0))
	}
	n := NumberOf(0)
	if fd.Minimum != nil && fd.Minimum.Cmp(n) > 0 {
		n = fd.Minimum.ceil()
	}
	if fd.Maximum != nil && fd.Maximum.Cmp(n) < 0 {
		n = fd.Maximum.floor()
	}
	return NumberValue(n)
}

// TestAdmittedHasAnswer: every admitted form has an accepted answer, whatever
// the bounds, and even its longest answer is under the limit.
func TestAdmittedHasAnswer(t *testing.T) {
	admitted := 0
	rapid.Check(t, func(t *rapid.T) {
		if hasAnswer(t) {
			admitted++
		}
	})
	if admitted == 0 {
		t.Error("no form was admitted")
	}
}

// hasAnswer draws a form and returns whether it was admitted.
func hasAnswer(t *rapid.T) bool {
	lim := rapid.SampledFrom([]Limits{OurLimits(), ForeignLimits()}).Draw(t, "limits")
	f := drawForm(t)
	fit, err := f.Fit(lim)
	if (err == nil) != (f.Admit(lim) == nil) {
		t.Fatalf("Fit says %v, Admit %v", err, f.Admit(lim))
	}
	if err != nil {
		return false
	}
	if errs := fit.Check(Accept(fit.answer())); errs != nil {
		raw, _ := f.Encode()
		t.Fatalf("%s\nis admitted, but %v", raw, errs)
	}
	longest := Accept(fit.longestValues())
	if errs := fit.Check(longest); errs != nil {
		t.Fatalf("the longest answer does not fit: %v", errs)
	}
	outcome := append(longest.AppendMembers([]byte(`{"kind":"form_answer"`)), `,"committedAt":9007199254740991}`...)
	if size := len(longest.append(nil)); size > lim.Answer || len(outcome) > lim.Answer {
		t.Fatalf("a legal answer has %d bytes and its outcome %d, over %d", size, len(outcome), lim.Answer)
	}
	again, err := fit.Fit(lim)
	if err != nil || !reflect.DeepEqual(again, fit) {
		t.Fatalf("Fit is not settled: %v", err)
	}
	raw, _ := fit.Encode()
	back, err := DecodeForm(raw, lim)
	if err != nil || !reflect.DeepEqual(normal(back), normal(fit)) {
		t.Fatalf("decode(encode) differs: %v\n%s", err, raw)
	}
	if raw2, _ := back.Encode(); !bytes.Equal(raw, raw2) {
		t.Fatalf("encode(decode) differs:\n%s\n%s", raw, raw2)
	}
	return true
}

// normal makes nil and empty slices alike.
func normal(f Form) Form {
	if f.Fields == nil {
		f.Fields = []Field{}
	}
	return f
}

// longestValues answers every field with as much as it can take.
func (f Form) longestValues() Values {
	vals := Values{}
	for i := range f.Fields {
		fd := &f.Fields[i]
		v := fd.witness()
		switch {
		case fd.Kind == KindString && fd.Format == "":
			v = TextValue(strings.Repeat("😀", fd.maxLength(defaultLength)))
		case fd.Kind == KindString && fd.Format == FormatEmail:
			v = TextValue(witnessEmail(min(254, fd.maxLength(defaultLength))))
		case fd.Kind == KindString && fd.Format == FormatURI:
			v = TextValue("a:" + strings.Repeat("b", fd.maxLength(defaultLength)-2))
		case fd.Kind == KindSingleSelect:
			for _, o := range fd.Options {
				if len(TextValue(o.Value).append(nil)) > len(v.append(nil)) {
					v = TextValue(o.Value)
				}
			}
		case fd.Kind == KindMultiSelect:
			var list []string
			for _, o := range fd.Options {
				if fd.MaxItems == nil || len(list) < *fd.MaxItems {
					list = append(list, o.Value)
				}
			}
			v = ListValue(list)
		}
		vals[fd.Name] = v
	}
	return vals
}

func drawForm(t *rapid.T) Form {
	f := Form{Message: "m", Requester: Requester{Name: "tool", Source: drawText(t, "source", 20)}}
	n := rapid.SampledFrom([]int{0, 1, 2, 8, 32}).Draw(t, "fields")
	for i := range n {
		tail := strings.Repeat("\"", rapid.SampledFrom([]int{0, 0, 0, 1, 100}).Draw(t, "name tail"))
		f.Fields = append(f.Fields, drawField(t, "f"+string(rune('a'+i))+tail))
	}
	return f
}

func drawField(t *rapid.T, name string) Field {
	fd := Field{
		Kind: rapid.SampledFrom([]Kind{KindString, KindString, KindNumber, KindInteger, KindBoolean, KindSingleSelect, KindMultiSelect}).Draw(t, "kind"),
		Name: name, Label: "L" + cutTo(name, 100), Required: rapid.Bool().Draw(t, "required"),
	}
	count := func(label string, most int) *int {
		if rapid.IntRange(0, 2).Draw(t, label+" stated") > 0 {
			return nil
		}
		n := rapid.IntRange(0, most).Draw(t, label)
		return &n
	}
	switch fd.Kind {
	case KindString:
		fd.MinLength, fd.MaxLength = count("minLength", 60), count("maxLength", 600)
		fd.Format = rapid.SampledFrom([]Format{"", "", FormatEmail, FormatURI, FormatDate, FormatDateTime}).Draw(t, "format")
	case KindNumber, KindInteger:
		for _, at := range []**Number{&fd.Minimum, &fd.Maximum} {
			if rapid.Bool().Draw(t, "bound") {
				n := numberFrom(rapid.SampledFrom(drawnNumbers).Draw(t, "bound"))
				*at = &n
			}
		}
	case KindSingleSelect, KindMultiSelect:
		long := strings.Repeat("v", rapid.SampledFrom([]int{0, 0, 100, 1500}).Draw(t, "long"))
		for i := range rapid.IntRange(1, 5).Draw(t, "options") {
			o := string(rune('a'+i)) + long
			fd.Options = append(fd.Options, Option{Value: o, Label: o[:1]})
		}
		if fd.Kind == KindMultiSelect {
			fd.MinItems, fd.MaxItems = count("minItems", 5), count("maxItems", 6)
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "with default") == 0 {
		if v := drawAnswer(t, fd); fd.check(v) == nil {
			fd.Default = canonical(fd.Kind, v)
		}
	}
	return fd
}

// TestOrdinaryFormsHaveRoom: no form of ordinary size is refused for room that
// the server did not ask for.
func TestOrdinaryFormsHaveRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lim := rapid.SampledFrom([]Limits{OurLimits(), ForeignLimits()}).Draw(t, "limits")
		f := Form{Message: "Please fill this in.", Requester: Requester{Name: "tool"}}
		for i := range rapid.IntRange(0, 32).Draw(t, "fields") {
			fd := Field{Kind: KindString, Name: "field_" + string(rune('a'+i)), Label: "A field", Required: rapid.Bool().Draw(t, "required")}
			switch rapid.IntRange(0, 5).Draw(t, "sort") {
			case 0:
				fd.Kind = KindBoolean
			case 1:
				fd.Kind = KindInteger
			case 2:
				fd.Kind = KindMultiSelect
				for _, v := range []string{"small", "medium", "large"} {
					fd.Options = append(fd.Options, Option{Value: v, Label: v})
				}
			case 3:
				fd.Format = rapid.SampledFrom([]Format{FormatEmail, FormatURI, FormatDate, FormatDateTime}).Draw(t, "format")
			case 4:
				one := 1
				fd.MinLength = &one
			}
			f.Fields = append(f.Fields, fd)
		}
		if _, err := f.Fit(lim); err != nil {
			t.Fatalf("%d fields: %v", len(f.Fields), err)
		}
	})
}

// TestResultRoundTrip: decode(encode) of a result is the identity.
func TestResultRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Result{Action: rapid.SampledFrom([]Action{ActionAccept, ActionDecline, ActionCancel}).Draw(t, "action")}
		if r.Action == ActionAccept {
			r.Values = Values{}
			for range rapid.IntRange(0, 5).Draw(t, "values") {
				fd := drawField(t, drawText(t, "name", 6))
				r.Values[fd.Name] = drawAnswer(t, fd)
			}
		}
		raw, _ := r.Encode()
		back, err := DecodeResult(raw, OurLimits())
		if err != nil || !Equivalent(r, back) || !reflect.DeepEqual(r, back) {
			t.Fatalf("%s became %v: %v", raw, back, err)
		}
	})
}

// checkProjected asserts what the projection promises of its output.
func checkProjected(t interface{ Fatalf(string, ...any) }, in, out string, lines bool) {
	if !utf8.ValidString(out) {
		t.Fatalf("%q: output is not valid UTF-8", in)
	}
	if len(out) > 4*len(in) {
		t.Fatalf("%q grew from %d to %d bytes", in, len(in), len(out))
	}
	runes := []rune(out)
	marks := 0
	for i, r := range runes {
		switch {
		case r == '\n':
			if !lines {
				t.Fatalf("%q: a line break in one line", in)
			}
		case unicode.IsControl(r), r == 0x2028, r == 0x2029:
			t.Fatalf("%q: control %U in the output", in, r)
		case r == zwj:
			if i == 0 || i+1 == len(runes) || !joins(runes[:i]) || !isPictograph(runes[i+1]) {
				t.Fatalf("%q: a ZWJ that joins no pictographs", in)
			}
		case r == vs15 || r == vs16:
			if i == 0 || !isSymbol(runes[i-1]) {
				t.Fatalf("%q: a variation selector after no symbol", in)
			}
		case unicode.In(r, unicode.Cf, unicode.Co, unicode.Other_Default_Ignorable_Code_Point,
			unicode.Variation_Selector, unicode.Noncharacter_Code_Point, unicode.Bidi_Control):
			t.Fatalf("%q: hidden character %U in the output", in, r)
		}
		if unicode.IsMark(r) && r != vs15 && r != vs16 {
			if marks++; marks > maxMarks {
				t.Fatalf("%q: more than %d marks on one base", in, maxMarks)
			}
		} else if r != vs15 && r != vs16 && r != zwj {
			marks = 0
		}
	}
}

// joins reports whether the runes before a ZWJ end in a pictograph, with its
// selectors and tones.
func joins(before []rune) bool {
	for i := len(before) - 1; i >= 0; i-- {
		r := before[i]
		if isPictograph(r) {
			return true
		}
		if r != vs15 && r != vs16 && !isSkinTone(r) {
			return false
		}
	}
	return false
}

func TestProjectionProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawHostile(t)
		line, block := Line(s), Block(s)
		checkProjected(t, s, line, false)
		checkProjected(t, s, block, true)
		if Line(line) != line || Block(block) != block {
			t.Fatalf("%q: not idempotent: %q %q", s, Line(line), Block(block))
		}
	})
}

// drawHostile is a text of everything that a projection must catch.
func drawHostile(t *rapid.T) string {
	parts := rapid.SliceOfN(rapid.SampledFrom([]string{
		"a", "Z9", " ", "é", "漢", "שלום", "👩", "🚀", "❤", "🏽", "+", "1", "#", "\u20e3",
		"\u200d", "\ufe0f", "\ufe0e", "\ufe00", "\u0301", "\u0302", "\u0303\u0304", "\u0951",
		"\r\n", "\r", "\n", "\t", "\u0085", "\u2028", "\u2029", "\x00", "\x1b", "\x1b[2J", "\x1b]52;c;ZXZpbA==\x07",
		"\x7f", "\u009b", "\u202e", "\u2066", "\u2069", "\u200b", "\u00ad", "\ufeff", "\u3164", "\u2800", "\u034f",
		"\U000e0041", "\U000e0100", "\ue000", "\ufdd0", "\U0010ffff", "\xff", "\xc3", "\xed\xa0\x80", `\u{202e}`, `\x1b`, "}",
	}), 0, 12).Draw(t, "parts")
	return strings.Join(parts, "")
}

// TestProjectedFormIsAdmitted: the projection of an admitted form is admitted
// by the limits for projected forms, is settled, and keeps every identity.
func TestProjectedFormIsAdmitted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawForm(t)
		f.Message = "m" + drawHostile(t)
		for i := range f.Fields {
			fd := &f.Fields[i]
			fd.Label = cutTo("l"+drawHostile(t), 256)
			for j := range fd.Options {
				fd.Options[j].Label = rapid.SampledFrom([]string{"x", "x\u200b", `x\u{200b}`, "y", "\u00a0"}).Draw(t, "label")
			}
		}
		if !utf8.ValidString(f.Message) || f.Admit(OurLimits()) != nil {
			return
		}
		p := f.Project()
		if err := p.Admit(OurLimits().Projected()); err != nil {
			t.Fatalf("%v\n%v", err, p)
		}
		if again := p.Project(); !reflect.DeepEqual(again, p) {
			t.Fatalf("not idempotent:\n%v\n%v", p, again)
		}
		for i, fd := range p.Fields {
			if fd.Name != f.Fields[i].Name {
				t.Fatal("a name changed")
			}
			for j, o := range fd.Options {
				if o.Value != f.Fields[i].Options[j].Value {
					t.Fatal("an option value changed")
				}
			}
		}
	})
}

// TestCasesNeverWiden: every schema of the decode cases, with the witness and
// the defaults as answers.
func TestCasesNeverWiden(t *testing.T) {
	for _, c := range loadCases(t) {
		raw := c.schema()
		if raw == nil {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			s, err := ReadSchema(raw, SchemaOptions{})
			if err != nil {
				t.Skipf("refused: %v", err)
			}
			f := Form{Message: "m", Requester: Requester{Name: "t"}, Fields: s.Fields}
			valid := judge(raw)
			if valid == nil {
				t.Skip("not a schema of its own meta-schema")
			}
			for _, vals := range []Values{f.answer(), f.Defaults()} {
				r := Accept(vals)
				if f.Check(r) != nil {
					continue
				}
				content, _ := json.Marshal(r.Values)
				if err := valid(content); err != nil {
					t.Errorf("%s was accepted, but %v", content, err)
				}
			}
		})
	}
}

type decodeCase struct {
	ID    string
	Title string
	Input map[string]json.RawMessage
}

// schema is the case's schema, also where it gives one field alone.
func (c decodeCase) schema() []byte {
	if raw := c.Input["requestedSchema"]; raw != nil {
		return raw
	}
	if raw := c.Input["field"]; raw != nil {
		return []byte(`{"type":"object","properties":{"f":` + string(raw) + `}}`)
	}
	return nil
}

func loadCases(t *testing.T) []decodeCase {
	t.Helper()
	data, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []decodeCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

// TestFormatsAreNarrower: what passes one of our formats passes another
// validator's.
func TestFormatsAreNarrower(t *testing.T) {
	pieces := map[Format][]string{
		FormatEmail: {"a", "ada", ".", "@", "-", "b.c", "example", "_", "\"", " ", "é", "[", "1", "+", "\n"},
		FormatURI: {"a:", "http:", "//", "/", "host", ":", "80", "@", "[::1]", "[", "]", "?", "#", "%41", "%", "é", " ", "x=y", ".", "..", "&", "'", "\\", "1",
			"[1::2]", "%25", "a:b", "-", "{", "\n"},
	}
	dates := [][]string{{"2026", "2024", "0000", "1900", "2000", "x"}, {"-", "-", "-", "/"}, {"01", "02", "04", "12", "13", "00", "1"},
		{"-", "-", "-", ""}, {"01", "28", "29", "30", "31", "32", "00", "1"}, {"", "", "", "\n", " "}}
	times := append(slices.Clone(dates[:5]), []string{"T", "T", "t", " "}, []string{"10:00", "23:59", "24:00", "10:60"}, []string{":00", ":59", ":60", ""},
		[]string{"", "", ".5", ".", ".123456789", ",5"}, []string{"Z", "z", "+10:00", "-23:59", "+24:00", "+1000", ""}, []string{"", "", "", "\n"})
	formats := []Format{FormatEmail, FormatURI, FormatDate, FormatDateTime}
	judges := map[Format]func([]byte) error{}
	for _, f := range formats {
		judges[f] = judge([]byte(`{"type":"string","format":"` + string(f) + `"}`))
	}
	passed := map[Format]int{}
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom(formats).Draw(t, "format")
		var s string
		switch f {
		case FormatDate:
			s = drawEach(t, dates)
		case FormatDateTime:
			s = drawEach(t, times)
		default:
			s = strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces[f]), 1, 7).Draw(t, "pieces"), "")
		}
		if f.check(s) != "" {
			return
		}
		passed[f]++
		raw, _ := json.Marshal(s)
		if err := judges[f](raw); err != nil {
			t.Fatalf("%s %q passes, but %v", f, s, err)
		}
		n := utf8.RuneCountInString(s)
		if shortest, longest := f.lengths(); n < shortest || n > longest || !f.possible(n, n) {
			t.Fatalf("%s %q of %d characters is thought impossible", f, s, n)
		}
	})
	t.Log(passed)
}

// drawEach joins one of each list.
func drawEach(t *rapid.T, lists [][]string) string {
	var b strings.Builder
	for _, l := range lists {
		b.WriteString(rapid.SampledFrom(l).Draw(t, "part"))
	}
	return b.String()
}
