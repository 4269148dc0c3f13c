package formview

import (
	"strings"

	"github.com/rivo/uniseg"

	"askback/forms"
	"askback/tui/kit"
	"askback/tui/theme"
)

// Everything here counts terminal cells of projected text, which holds no control and no escape.

const ellipsis = kit.More

// cells is the width of s.
func cells(s string) int { return kit.Width(s) }

// cut shortens s to n cells, on a cluster border.
func cut(s string, n int) string { return kit.Clip(s, n) }

// cutMiddle shortens s to n cells in its middle: names tend to differ at their ends.
func cutMiddle(s string, n int) string {
	if n < 5 {
		return cut(s, n)
	}
	return kit.ClipMiddle(s, n)
}

// wrap breaks a projected block into rows of at most n cells, at blanks where it can.
func wrap(s string, n int) []string {
	n = max(1, n)
	rows := kit.Wrap(s, n)
	for i, r := range rows {
		rows[i] = cut(strings.TrimRight(r, " "), n)
	}
	return rows
}

// wrapTo is wrap with at most limit rows; whole says whether nothing was cut.
func wrapTo(s string, n, limit int) (rows []string, whole bool) {
	rows = wrap(s, n)
	if len(rows) <= limit {
		return rows, true
	}
	rows = rows[:max(1, limit)]
	last := len(rows) - 1
	rows[last] = cutOff(rows[last], n)
	return rows, false
}

// cutOff is s with the mark of a cut, in at most n cells.
func cutOff(s string, n int) string { return kit.Start(s, n-1) + ellipsis }

// oneLine puts a block on one row, its line breaks as a visible mark.
func oneLine(s string, th *theme.Theme) string {
	return strings.ReplaceAll(s, "\n", " "+th.Glyphs.Break+" ")
}

// flat makes a text fit for a field of one line and drops what could not be seen in it: a line break or TAB becomes a
// space, hidden characters go. It tells both, so that the field can.
func flat(s string) (out string, breaks, hidden bool) {
	plain := true
	for i := 0; i < len(s) && plain; i++ {
		plain = s[i] >= 0x20 && s[i] < 0x7f
	}
	if plain {
		return s, false, false
	}
	var b strings.Builder
	for state := -1; s != ""; {
		var cluster string
		cluster, s, _, state = uniseg.FirstGraphemeClusterInString(s, state)
		switch cluster {
		case "\n", "\r", "\r\n", "\t", "\u0085", "\u2028", "\u2029":
			breaks = true
			b.WriteByte(' ')
			continue
		}
		if forms.Line(cluster) == cluster {
			b.WriteString(cluster)
			continue
		}
		hidden = true
		for _, r := range cluster {
			if c := string(r); r != '\uFFFD' && forms.Line(c) == c {
				b.WriteString(c)
			}
		}
	}
	return b.String(), breaks, hidden
}
