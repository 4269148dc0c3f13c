package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// width is how many cells a text takes.
func width(s string) int { return ansi.StringWidth(s) }

// clip cuts a line at its end to w cells.
func clip(s string, w int) string {
	if w <= 0 {
		return ""
	}
	if len(s) <= w || width(s) <= w {
		return s
	}
	return ansi.Truncate(s, w, "…")
}

// clipMiddle cuts a name to w cells in the middle, since the ends of names tell them apart.
func clipMiddle(s string, w int) string {
	n := width(s)
	if n <= w {
		return s
	}
	if w < 3 {
		return clip(s, w)
	}
	left := w / 2
	right := w - left - 1
	return ansi.Truncate(s, left, "") + "…" + ansi.TruncateLeft(s, n-right, "")
}

// pad fills a line with blanks to w cells, or cuts it.
func pad(s string, w int) string {
	n := width(s)
	if n > w {
		return clip(s, w)
	}
	return s + strings.Repeat(" ", w-n)
}

// spread puts left and right on one row of w cells; left yields.
func spread(left, right string, w int) string {
	r := width(right)
	if r == 0 || r+1 >= w {
		return clip(left, w)
	}
	return pad(left, w-r-1) + " " + right
}

// wrap breaks a text into rows of at most w cells, at blanks where it can.
func wrap(s string, w int) []string {
	w = max(1, w)
	var out []string
	for line := range strings.SplitSeq(s, "\n") {
		if len(line) <= w {
			out = append(out, line)
			continue
		}
		for part := range strings.SplitSeq(ansi.Wrap(line, w, ""), "\n") {
			out = append(out, strings.TrimRight(part, " "))
		}
	}
	return out
}

// few wraps like wrap and stops after n rows, so that a long text costs no more than what is shown. more
// is how many lines of the text were not looked at, as far as that is cheap to say.
func few(s string, w, n int) (rows []string, more int) {
	for s != "" || rows == nil {
		line, rest, _ := strings.Cut(s, "\n")
		if room := (n + 1) * max(1, w) * 4; len(line) > room {
			line = strings.ToValidUTF8(line[:room], "")
		}
		for _, r := range wrap(line, w) {
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

// elapsed is a duration by the second.
func elapsed(d time.Duration) string {
	s := int(max(0, d) / time.Second)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// count says a number with its noun.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// fit makes exactly h rows of at most w cells each.
func fit(rows []string, w, h int) []string {
	out := make([]string, h)
	for i := range min(h, len(rows)) {
		out[i] = clip(rows[i], w)
	}
	return out
}
