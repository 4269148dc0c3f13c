package screen

import (
	"fmt"
	"strings"
	"time"

	"askback/forms"
	"askback/tui/kit"
	"askback/tui/theme"
)

// hardWrap breaks a line into rows of exactly w cells, but for the last: for what must stay whole, such as addresses.
func hardWrap(s string, w int) []string { return kit.HardWrap(s, w) }

// took is a duration with three digits, for what is over.
func took(d time.Duration, th *theme.Theme) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%d %ss", d.Microseconds(), th.Glyphs.Micro)
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return kit.Elapsed(d)
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

// barred sets a text of a server behind the bar.
func barred(s string, w int, th *theme.Theme) []string {
	var out []string
	for _, r := range kit.Wrap(forms.Block(s), max(8, w-3)) {
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

func ruleOf(w int, th *theme.Theme) string { return strings.Repeat(th.Glyphs.Rule, max(0, w)) }

// ruleRow is a rule with a text in it.
func ruleRow(text string, w int, th *theme.Theme, paint theme.Style) string {
	if text == "" {
		return th.Dim.Render(ruleOf(w, th))
	}
	text = kit.Clip(forms.Line(text), w-6)
	rest := max(0, w-4-kit.Width(text))
	return th.Dim.Render(ruleOf(2, th)) + " " + paint.Render(text) + " " + th.Dim.Render(ruleOf(rest, th))
}
