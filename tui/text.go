package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"askback/tui/kit"
)

// clipMiddle cuts a name to w cells in the middle, since the ends of names tell them apart.
func clipMiddle(s string, w int) string {
	n := kit.Width(s)
	if n <= w {
		return s
	}
	if w < 3 {
		return kit.Clip(s, w)
	}
	left := w / 2
	right := w - left - 1
	return ansi.Truncate(s, left, "") + "…" + ansi.TruncateLeft(s, n-right, "")
}

// plainRows is a sentence of ours where a list would be.
func plainRows(text string, w int) []string {
	rows := kit.Wrap(text, max(8, w-3))
	for i, r := range rows {
		rows[i] = "  " + r
	}
	return rows
}

// few wraps like wrap and stops after n rows, so that a long text costs no more than what is shown. more
// is how many lines of the text were not looked at, as far as that is cheap to say.
func few(s string, w, n int) (rows []string, more int) {
	for s != "" || rows == nil {
		line, rest, _ := strings.Cut(s, "\n")
		if room := (n + 1) * max(1, w) * 4; len(line) > room {
			line = strings.ToValidUTF8(line[:room], "")
		}
		for _, r := range kit.Wrap(line, w) {
			if len(rows) == n {
				if rest != "" {
					more = 1 + strings.Count(rest, "\n")
				}
				return rows, more + 1
			}
			rows = append(rows, r)
		}
		s = rest
	}
	return rows, 0
}
