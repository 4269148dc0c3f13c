package tui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"askback/internal/screen"
)

// What is typed in the composer breaks before the edge, whichever way a terminal counts cells, and loses nothing.
func TestComposerBreaksByBothCounts(t *testing.T) {
	for _, piece := range []string{"กำ", "नी", "கோ", "👍🏽", "👩‍👩‍👧", "漢", "e\u0301", "a"} {
		for _, size := range [][2]int{{40, 12}, {80, 24}} {
			text := strings.Repeat(piece, 50)
			d := connected(t, size[0], size[1]).typing(text)
			d.frame() // which checks the rows
			var e editor
			e.multi = true
			e.set(text)
			var got strings.Builder
			for _, r := range e.view(30, 100, false, nil) {
				if n := max(ansi.StringWidth(r), screen.Counted(r)); n > 30 {
					t.Errorf("%q: a row of %d cells", piece, n)
				}
				got.WriteString(r)
			}
			if got.String() != text {
				t.Errorf("%q: lost in %q", piece, got.String())
			}
		}
	}
}

// A preview tells what it leaves off, also where the characters of one line have very many bytes.
func TestFewTellsWhatItLeavesOff(t *testing.T) {
	marks := strings.Repeat("e\u0301\u0323\u0302\u0304", 100)
	for _, s := range []string{marks, marks + "\nand a second line", strings.Repeat("กำ", 300)} {
		rows, more := few(s, 20, 3)
		if shown := strings.Join(rows, "\n"); more == 0 && !strings.Contains(shown, s) {
			t.Errorf("%d rows of %q, and nothing is said of the rest", len(rows), s)
		}
	}
}
