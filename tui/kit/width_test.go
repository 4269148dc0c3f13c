package kit

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"askback/internal/screen"
)

// What terminals disagree about: how many cells a text takes by its clusters and by its code points.
var scripts = []struct {
	name, text        string
	clusters, counted int
}{
	{"ASCII", "two words", 9, 9},
	{"Thai SARA AM", "กำ", 1, 2},
	{"Thai marks", "ที่นี่", 2, 2},
	{"Devanagari vowel sign", "नी", 1, 2},
	{"Devanagari word", "नमस्ते", 3, 4},
	{"Tamil vowel signs", "கோ", 1, 2},
	{"skin tone", "👍🏽", 2, 4},
	{"ZWJ family", "👩‍👩‍👧", 2, 6},
	{"ZWJ with skin tones", "👩🏽‍🤝‍👨🏿", 2, 10},
	{"flag", "🇯🇵", 2, 2},
	{"VS16", "✌️", 2, 1},
	{"keycap", "1️⃣", 2, 1},
	{"Hangul syllable", "한", 2, 2},
	{"Hangul jamo", "한", 2, 2},
	{"combining marks", "e\u0301\u0323x", 2, 2},
	{"CJK", "漢字", 4, 4},
}

func TestWidthIsTheWiderOfBothCounts(t *testing.T) {
	for _, s := range scripts {
		if n := ansi.StringWidth(s.text); n != s.clusters {
			t.Errorf("%s: %d cells by clusters, want %d", s.name, n, s.clusters)
		}
		if n := screen.Counted(s.text); n != s.counted {
			t.Errorf("%s: %d cells by code points, want %d", s.name, n, s.counted)
		}
		// A text of several clusters may be wider than either count has it.
		if n := Width(s.text); n < max(s.clusters, s.counted) || n > s.clusters+s.counted {
			t.Errorf("%s: %d cells", s.name, n)
		}
		if n := Width("\x1b[1m" + s.text + "\x1b[0m"); n != Width(s.text) {
			t.Errorf("%s: %d cells with attributes, %d without", s.name, n, Width(s.text))
		}
	}
	if n := Width("กำกำ ✌️"); n != 4+1+2 {
		t.Errorf("%d cells for what either way of counting finds narrower somewhere", n)
	}
}

// fits says whether a row fits into w cells wherever it is drawn.
func fits(row string, w int) bool {
	row = ansi.Strip(row)
	return ansi.StringWidth(row) <= w && screen.Counted(row) <= w
}

// Nothing that is cut or broken is too wide, and nothing of it is lost but what a mark stands for.
func TestRowsFitByBothCounts(t *testing.T) {
	var all []string
	for _, s := range scripts {
		all = append(all, s.text, strings.Repeat(s.text, 30), strings.Repeat(s.text+" ", 20), "word-"+s.text+" and "+s.text+s.text+"-more, "+s.text)
	}
	all = append(all, strings.Repeat("👩‍", 60)+"👩", "a\nกำ b\n\n"+strings.Repeat("กำ", 9))
	for _, s := range all {
		for w := 1; w < 30; w++ {
			for name, got := range map[string]string{"Clip": Clip(s, w), "Start": Start(s, w), "End": End(s, w), "ClipMiddle": ClipMiddle(s, w), "Pad": Pad(s, w), "bold": Clip("\x1b[1m"+s+"\x1b[0m", w)} {
				if !fits(got, w) {
					t.Errorf("%s(%q, %d) is too wide: %q", name, s, w, got)
				}
			}
			if got := Clip(s, w); got != s && !strings.HasSuffix(got, More) {
				t.Errorf("Clip(%q, %d) tells no cut: %q", s, w, got)
			}
			if !strings.HasPrefix(s, Start(s, w)) || !strings.HasSuffix(s, End(s, w)) {
				t.Errorf("Start and End of %q in %d: %q, %q", s, w, Start(s, w), End(s, w))
			}
			if w < 2 {
				continue
			}
			for name, rows := range map[string][]string{"Wrap": Wrap(s, w), "WrapAfter": WrapAfter(s, w, ","), "HardWrap": HardWrap(strings.ReplaceAll(s, "\n", " "), w)} {
				for _, r := range rows {
					if !fits(r, w) {
						t.Errorf("%s(%q, %d) has a row that is too wide: %q", name, s, w, r)
					}
				}
				if a, b := squeezed(strings.Join(rows, "")), squeezed(s); a != b {
					t.Errorf("%s(%q, %d) lost something: %q", name, s, w, rows)
				}
			}
		}
	}
}

func squeezed(s string) string { return strings.NewReplacer(" ", "", "\n", "").Replace(s) }

func TestWrapBreaksAtBlanks(t *testing.T) {
	for _, c := range []struct {
		text string
		w    int
		want string
	}{
		{"กำกำ กำกำ กำ", 9, "กำกำ กำกำ|กำ"},
		{"กำกำ กำกำ กำ", 8, "กำกำ|กำกำ กำ"},
		{"กำกำ-กำกำ", 6, "กำกำ-|กำกำ"},
		{"กำกำกำกำ", 5, "กำกำ|กำกำ"},
		{"กำ  กำ", 3, "กำ|กำ"},
	} {
		if got := strings.Join(Wrap(c.text, c.w), "|"); got != c.want {
			t.Errorf("Wrap(%q, %d) = %q, want %q", c.text, c.w, got, c.want)
		}
	}
	if got := strings.Join(WrapAfter("กำ,กำ,กำ", 6, ","), "|"); got != "กำ,กำ,|กำ" {
		t.Error(got)
	}
}

func BenchmarkWidth(b *testing.B) {
	for name, s := range map[string]string{"ASCII": strings.Repeat("all work and no play ", 5), "styled": "\x1b[1mwho\x1b[0m  \x1b[2m" + strings.Repeat("all work ", 8) + "\x1b[0m", "Thai": strings.Repeat("กำ", 40)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Width(s)
			}
		})
	}
}
