package screen

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"askback/forms"
	"askback/tui/theme"
)

func width(s string) int { return ansi.StringWidth(s) }

// clip cuts a line at its end to w cells.
func clip(s string, w int) string {
	if w <= 0 {
		return ""
	}
	if width(s) <= w {
		return s
	}
	return ansi.Truncate(s, w, "…")
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
func wrap(s string, w int) []string { return wrapAfter(s, w, "") }

// wrapAfter breaks after the given characters, too: JSON on one line has few blanks.
func wrapAfter(s string, w int, after string) []string {
	w = max(1, w)
	var out []string
	for line := range strings.SplitSeq(s, "\n") {
		if len(line) <= w {
			out = append(out, line)
			continue
		}
		for part := range strings.SplitSeq(ansi.Wrap(line, w, after), "\n") {
			out = append(out, strings.TrimRight(part, " "))
		}
	}
	return out
}

// hardWrap breaks a line into rows of exactly w cells, but for the last: for what must stay whole, such as addresses.
func hardWrap(s string, w int) []string {
	return strings.Split(ansi.Hardwrap(s, max(1, w), true), "\n")
}

// count says a number with its noun.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// elapsed is a duration by the second, for what goes on.
func elapsed(d time.Duration) string {
	s := int(max(0, d) / time.Second)
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// took is a duration with three digits, for what is over.
func took(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return elapsed(d)
}

// size is a number of bytes.
func size(n int) string {
	switch {
	case n < 10<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// fit makes exactly h rows of at most w cells each.
func fit(rows []string, w, h int) []string {
	out := make([]string, h)
	for i := range min(h, len(rows)) {
		out[i] = clip(rows[i], w)
	}
	return out
}

// barred sets a text of a server behind the bar.
func barred(s string, w int, th *theme.Theme) []string {
	var out []string
	for _, r := range wrap(forms.Block(s), max(8, w-3)) {
		out = append(out, th.Dim.Render(th.Glyphs.Bar)+" "+r)
	}
	return out
}

// maxShown is how much of one text is laid out; an export has all of it.
const maxShown = 256 << 10

// shown cuts a text to what is laid out.
func shown(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + fmt.Sprintf("\n… and %d bytes more, which an export has", len(s)-maxShown)
}

// hint is one key with what it does, for the last row.
type hint struct{ key, does string }

// hintRow draws as many hints as fit, in their order. On a narrow screen ctrl is a caret.
func hintRow(hints []hint, w int, th *theme.Theme) string {
	var b strings.Builder
	used := 0
	for _, h := range hints {
		key := h.key
		if w < 60 {
			key = strings.ReplaceAll(key, "ctrl+", "^")
		}
		sep := ""
		if used > 0 {
			sep = " " + th.Glyphs.Dot + " "
		}
		n := width(sep) + width(key) + 1 + width(h.does)
		if used+n > w && h.key == "esc" { // the way out is told even where its word has no room
			h.does = ""
			n = width(sep) + width(key)
		}
		if used+n > w {
			continue
		}
		used += n
		b.WriteString(th.Dim.Render(sep))
		b.WriteString(th.Key.Render(key))
		if h.does != "" {
			b.WriteString(" " + h.does)
		}
	}
	return b.String()
}

func ruleOf(w int, th *theme.Theme) string { return strings.Repeat(th.Glyphs.Rule, max(0, w)) }

// ruleRow is a rule with a text in it.
func ruleRow(text string, w int, th *theme.Theme, paint theme.Style) string {
	if text == "" {
		return th.Dim.Render(ruleOf(w, th))
	}
	text = clip(forms.Line(text), w-6)
	rest := max(0, w-4-width(text))
	return th.Dim.Render(ruleOf(2, th)) + " " + paint.Render(text) + " " + th.Dim.Render(ruleOf(rest, th))
}

// asciiFrame is for terminals that draw nothing else.
var asciiFrame = strings.NewReplacer("…", "~", "·", "-", "─", "-", "│", "|", "▌", "#", "•", "*", "→", ">", "←", "<", "µ", "u", "×", "x")
