package tui

import (
	"strings"

	"askback/tui/kit"
)

// clipMiddle cuts a name to w cells in the middle, since the ends of names tell them apart.
func clipMiddle(s string, w int) string { return kit.ClipMiddle(s, w) }

// short cuts a name for a notice, which is projected when it is drawn: kit.More would be shown as what it is there.
func short(name string, w int) string {
	if kit.Width(name) <= w {
		return name
	}
	return kit.Start(name, w-3) + "..."
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
		room := (n + 1) * max(1, w) * 4
		long := len(line) > room
		if long {
			line = strings.ToValidUTF8(line[:room], "")
		}
		for _, r := range kit.Wrap(line, w) {
			if len(rows) == n {
				return rows, 1 + lines(rest)
			}
			rows = append(rows, r)
		}
		if long { // characters of many bytes: what was left off is not shown
			return rows, 1 + lines(rest)
		}
		s = rest
	}
	return rows, 0
}

func lines(s string) int {
	if s == "" {
		return 0
	}
	return 1 + strings.Count(s, "\n")
}
