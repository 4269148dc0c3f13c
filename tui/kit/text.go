// Package kit holds what the screens of this module share: cutting and wrapping of text, windows on rows, hints, and the
// terminal that a program draws on. Texts that came from elsewhere are projected before they get here.
package kit

import (
	"fmt"
	"strings"
	"time"
)

// Clip cuts a line at its end to w cells.
func Clip(s string, w int) string {
	if w <= 0 {
		return ""
	}
	if len(s) <= w || Width(s) <= w {
		return s
	}
	return truncate(s, w, More)
}

// Pad fills a line with blanks to w cells, or cuts it.
func Pad(s string, w int) string {
	n := Width(s)
	if n > w {
		return Clip(s, w)
	}
	return s + strings.Repeat(" ", w-n)
}

// Spread puts left and right on one row of w cells; left yields.
func Spread(left, right string, w int) string {
	r := Width(right)
	if r == 0 || r+1 >= w {
		return Clip(left, w)
	}
	return Pad(left, w-r-1) + " " + right
}

// Wrap breaks a text into rows of at most w cells, at blanks where it can.
func Wrap(s string, w int) []string { return WrapAfter(s, w, "") }

// WrapAfter breaks after the given characters, too: JSON on one line has few blanks.
func WrapAfter(s string, w int, after string) []string {
	w = max(1, w)
	var out []string
	for line := range strings.SplitSeq(s, "\n") {
		if len(line) <= w {
			out = append(out, line)
			continue
		}
		for _, part := range wrapLine(line, w, after) {
			out = append(out, strings.TrimRight(part, " "))
		}
	}
	return out
}

// Elapsed is a duration by the second, for what goes on.
func Elapsed(d time.Duration) string {
	s := int(max(0, d) / time.Second)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// Count says a number with its noun.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Fit makes exactly h rows of at most w cells each.
func Fit(rows []string, w, h int) []string {
	out := make([]string, h)
	for i := range min(h, len(rows)) {
		out[i] = Clip(rows[i], w)
	}
	return out
}
