package forms

import (
	"reflect"
	"strings"
	"testing"
	"unicode"
)

func TestProjection(t *testing.T) {
	for _, tc := range []struct{ name, in, line, block string }{
		{"plain", "Environment", "Environment", "Environment"},
		{"empty", "", "", ""},
		{"letters of any script", "é漢字 שלום مرحبا हिन्दी", "é漢字 שלום مرحبا हिन्दी", "é漢字 שלום مرحبا हिन्दी"},
		{"LF", "a\nb", "a b", "a\nb"},
		{"CRLF", "a\r\nb", "a b", "a\nb"},
		{"CR", "a\rb", "a b", "a\nb"},
		{"CR CR LF", "a\r\r\nb", "a  b", "a\n\nb"},
		{"NEL", "a\u0085b", "a b", "a\nb"},
		{"line separator", "a\u2028b", "a b", "a\nb"},
		{"paragraph separator", "a\u2029b", "a b", "a\nb"},
		{"tab", "a\tb", "a b", "a b"},
		{"blanks are kept", "  a   b  ", "  a   b  ", "  a   b  "},
		{"invalid UTF-8", "a\xffb\xc3", "a\ufffdb\ufffd", "a\ufffdb\ufffd"},
		{"surrogate bytes", "\xed\xa0\x80", "\ufffd\ufffd\ufffd", "\ufffd\ufffd\ufffd"},
		{"replacement character itself", "\ufffd", "\ufffd", "\ufffd"},
		{"NUL", "a\x00b", `a\x00b`, `a\x00b`},
		{"ESC is not parsed", "\x1b[2Jx", `\x1b[2Jx`, `\x1b[2Jx`},
		{"an unterminated OSC hides nothing", "\x1b]0;PWN", `\x1b]0;PWN`, `\x1b]0;PWN`},
		{"BEL", "\x07", `\x07`, `\x07`},
		{"DEL", "\x7f", `\x7f`, `\x7f`},
		{"C1", "\u009b2J\u0080", `\x9b2J\x80`, `\x9b2J\x80`},
		{"raw 8-bit CSI", "\x9b2J", "\ufffd2J", "\ufffd2J"},
		{"bidi override", "a\u202eb", `a\u{202e}b`, `a\u{202e}b`},
		{"bidi isolates", "\u2066a\u2069", `\u{2066}a\u{2069}`, `\u{2066}a\u{2069}`},
		{"marks of direction", "\u200e\u200f\u061c", `\u{200e}\u{200f}\u{61c}`, `\u{200e}\u{200f}\u{61c}`},
		{"zero width", "a\u200bb\u200c\u2060\ufeff", `a\u{200b}b\u{200c}\u{2060}\u{feff}`, `a\u{200b}b\u{200c}\u{2060}\u{feff}`},
		{"soft hyphen", "a\u00adb", `a\u{ad}b`, `a\u{ad}b`},
		{"fillers", "\u3164\u115f\uffa0\u2800", `\u{3164}\u{115f}\u{ffa0}\u{2800}`, `\u{3164}\u{115f}\u{ffa0}\u{2800}`},
		{"combining grapheme joiner", "a\u034fb", `a\u{34f}b`, `a\u{34f}b`},
		{"tags", "\U000e0041", `\u{e0041}`, `\u{e0041}`},
		{"private use", "\ue000\U00100000", `\u{e000}\u{100000}`, `\u{e000}\u{100000}`},
		{"noncharacters", "\ufdd0\U0010ffff", `\u{fdd0}\u{10ffff}`, `\u{fdd0}\u{10ffff}`},
		{"ZWJ between pictographs", "👩\u200d🚀", "👩\u200d🚀", "👩\u200d🚀"},
		{"ZWJ after a skin tone", "👩🏽\u200d🚀", "👩🏽\u200d🚀", "👩🏽\u200d🚀"},
		{"ZWJ after a selector", "❤\ufe0f\u200d🔥", "❤\ufe0f\u200d🔥", "❤\ufe0f\u200d🔥"},
		{"ZWJ in a family", "👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧"},
		{"ZWJ between letters", "a\u200db", `a\u{200d}b`, `a\u{200d}b`},
		{"ZWJ before a pictograph", "a\u200d🚀", `a\u{200d}🚀`, `a\u{200d}🚀`},
		{"ZWJ at the end", "🚀\u200d", `🚀\u{200d}`, `🚀\u{200d}`},
		{"ZWJ twice", "👩\u200d\u200d🚀", `👩\u{200d}\u{200d}🚀`, `👩\u{200d}\u{200d}🚀`},
		{"VS16 after a symbol", "❤\ufe0f", "❤\ufe0f", "❤\ufe0f"},
		{"VS15 after a symbol", "☎\ufe0e", "☎\ufe0e", "☎\ufe0e"},
		{"VS16 after a letter", "a\ufe0f", `a\u{fe0f}`, `a\u{fe0f}`},
		{"VS16 after an ASCII symbol", "+\ufe0f", `+\u{fe0f}`, `+\u{fe0f}`},
		{"VS16 twice", "❤\ufe0f\ufe0f", `❤` + "\ufe0f" + `\u{fe0f}`, `❤` + "\ufe0f" + `\u{fe0f}`},
		{"VS1", "❤\ufe00", `❤\u{fe00}`, `❤\u{fe00}`},
		{"four marks", "a\u0301\u0302\u0303\u0304b", "a\u0301\u0302\u0303\u0304b", "a\u0301\u0302\u0303\u0304b"},
		{"the fifth mark", "a\u0301\u0302\u0303\u0304\u0305\u0306b\u0301", "a\u0301\u0302\u0303\u0304" + `\u{305}\u{306}` + "b\u0301", "a\u0301\u0302\u0303\u0304" + `\u{305}\u{306}` + "b\u0301"},
		{"marks without a base", "\u0301a", "\u0301a", "\u0301a"},
		{"its own escapes stay", `\x1b \u{202e}`, `\x1b \u{202e}`, `\x1b \u{202e}`},
		{"SE-01", "ok\x1b[2J\x1b]0;PWN\x07\x1b]52;c;ZXZpbA==\x07\u202e", `ok\x1b[2J\x1b]0;PWN\x07\x1b]52;c;ZXZpbA==\x07\u{202e}`, `ok\x1b[2J\x1b]0;PWN\x07\x1b]52;c;ZXZpbA==\x07\u{202e}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Line(tc.in); got != tc.line {
				t.Errorf("Line %q, want %q", got, tc.line)
			}
			if got := Block(tc.in); got != tc.block {
				t.Errorf("Block %q, want %q", got, tc.block)
			}
			checkProjected(t, tc.in, Line(tc.in), false)
			checkProjected(t, tc.in, Block(tc.in), true)
		})
	}
}

// TestEveryCharacter projects each code point alone and compares the tables
// with those of package unicode.
func TestEveryCharacter(t *testing.T) {
	blank := map[rune]bool{0x2800: true, 0x1d159: true, 0x16fe4: true}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if 0xd800 <= r && r <= 0xdfff {
			continue
		}
		hidden := blank[r] || unicode.In(r, unicode.Cf, unicode.Co, unicode.Other_Default_Ignorable_Code_Point,
			unicode.Variation_Selector, unicode.Noncharacter_Code_Point)
		if r >= 0x80 && isHidden(r) != hidden {
			t.Fatalf("%U: hidden is %v, want %v", r, isHidden(r), hidden)
		}
		out := Line(string(r))
		checkProjected(t, string(r), out, false)
		switch {
		case hidden, unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' && r != 0x85:
			if !strings.HasPrefix(out, `\`) {
				t.Fatalf("%U became %q", r, out)
			}
		case r == '\n', r == '\r', r == '\t', r == 0x85, r == 0x2028, r == 0x2029:
			if out != " " {
				t.Fatalf("%U became %q", r, out)
			}
		default:
			if out != string(r) {
				t.Fatalf("%U became %q", r, out)
			}
		}
		if Line(out) != out {
			t.Fatalf("%U: not idempotent", r)
		}
	}
}

func TestProjectForm(t *testing.T) {
	esc := "\x1b[2J"
	f := Form{
		Message:   "one\r\ntwo" + esc,
		Requester: Requester{Name: "tool" + esc + "\n", Source: "src\u202e"},
		Fields: []Field{
			{Kind: KindString, Name: "n" + esc, Label: "La\nbel" + esc, Description: "line\rline\u200b", Default: TextValue("kept\nas it is")},
			{Kind: KindString, Name: "tab", Label: "T", Default: TextValue("a\tb")},
			{Kind: KindString, Name: "zw", Label: "T", Default: TextValue("a\u200bb")},
			{Kind: KindSingleSelect, Name: "p", Label: "P", Default: TextValue("v" + esc), Options: []Option{
				{"v" + esc, "L" + esc, "D\n" + esc}, {"w", "\u00a0", ""},
			}},
		},
	}
	p := f.Project()
	want := Form{
		Message:   "one\ntwo" + `\x1b[2J`,
		Requester: Requester{Name: `tool\x1b[2J `, Source: `src\u{202e}`},
		Fields: []Field{
			{Kind: KindString, Name: "n" + esc, Label: `La bel\x1b[2J`, Description: "line\nline" + `\u{200b}`, Default: TextValue("kept\nas it is")},
			{Kind: KindString, Name: "tab", Label: "T"},
			{Kind: KindString, Name: "zw", Label: "T"},
			{Kind: KindSingleSelect, Name: "p", Label: "P", Default: TextValue("v" + esc), Options: []Option{
				{"v" + esc, `L\x1b[2J`, "D\n" + `\x1b[2J`}, {"w", `"w"`, ""},
			}},
		},
	}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("projected\n%+v\nwant\n%+v", p, want)
	}
	if f.Fields[3].Options[0].Label != "L"+esc || f.Fields[1].Default.IsZero() {
		t.Error("Project changed what it was given")
	}
}

func TestTellApart(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   []Option
		want []string
	}{
		{"different", []Option{{"1", "A", ""}, {"2", "B", ""}}, []string{"A", "B"}},
		{"equal", []Option{{"1", "A", ""}, {"2", "A", ""}, {"3", "B", ""}}, []string{"A (1)", "A (2)", "B"}},
		{"equal after projection", []Option{{"1", "x\u200b", ""}, {"2", `x\u{200b}`, ""}}, []string{"x\u200b (1)", `x\u{200b} (2)`}},
		{"values look alike", []Option{{"a\u200b", "A", ""}, {`a\u{200b}`, "A", ""}}, []string{`A (a\u{200b})`, `A (a\u{200b}) #2`}},
		{"clash with another label", []Option{{"1", "A", ""}, {"2", "A", ""}, {"3", "A (1)", ""}}, []string{"A (1) #2", "A (2)", "A (1)"}},
		{"blank values", []Option{{"", "A", ""}, {" ", "A", ""}}, []string{`A ("")`, `A (" ")`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tellApart(tc.in, 256)
			var got []string
			seen := map[string]bool{}
			for _, o := range tc.in {
				got = append(got, o.Label)
				if seen[Line(o.Label)] {
					t.Errorf("%q twice", Line(o.Label))
				}
				seen[Line(o.Label)] = true
			}
			if !reflect.DeepEqual(got, tc.want) {
				t.Errorf("labels %q, want %q", got, tc.want)
			}
		})
	}
	t.Run("long blanks", func(t *testing.T) {
		opts := []Option{{strings.Repeat(" ", 2048), "A", ""}, {strings.Repeat(" ", 2047), "A", ""}}
		tellApart(opts, 256)
		if opts[0].Label == opts[1].Label || len(opts[0].Label) > 256 {
			t.Errorf("labels %q", opts)
		}
	})
	t.Run("long", func(t *testing.T) {
		var opts []Option
		for i := range 200 {
			opts = append(opts, Option{Value: strings.Repeat("v", 2000) + string(rune('a'+i%26)), Label: strings.Repeat("é", 128)})
		}
		tellApart(opts, 256)
		seen := map[string]bool{}
		for _, o := range opts {
			if len(o.Label) > 256 || seen[o.Label] {
				t.Fatalf("label of %d bytes, seen before: %v", len(o.Label), seen[o.Label])
			}
			seen[o.Label] = true
		}
	})
}

func TestCut(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		limit    int
		want     string
	}{
		{"short", "abc", 3, "abc"},
		{"ASCII", "abcdefgh", 6, "abc…"},
		{"two-byte letters", "éééé", 7, "éé…"},
		{"not inside a cluster", "a👩\u200d🚀b", 10, "a…"},
		{"not before a mark", "abe\u0301xyz", 6, "ab…"},
		{"a whole cluster", "e\u0301e\u0301e\u0301", 6, "e\u0301…"},
		{"no room", "abcd", 2, ""},
		{"one cluster too long", "e" + strings.Repeat("\u0301", 10), 8, "e\u0301\u0301…"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := cutTo(tc.in, tc.limit); got != tc.want || len(got) > tc.limit {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}
