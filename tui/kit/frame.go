package kit

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// What a terminal has that tells no size, as a serial line or a terminal inside of a container may.
const (
	DefaultWidth  = 80
	DefaultHeight = 24
)

// Filled is a frame of whole rows, w cells each: on a terminal without a size the renderer erases nothing behind a row
// that has become shorter.
func Filled(frame string, w int) string {
	rows := strings.Split(frame, "\n")
	for i, r := range rows {
		rows[i] = Pad(r, w)
	}
	return strings.Join(rows, "\n")
}

// ASCII is a frame of w columns for terminals that draw nothing else: our own signs, replaced cell by cell. What came
// from elsewhere, or was typed, stays as it is: with → as > a review would show another value than is sent. It stands
// behind a bar, or was given through Keep.
func ASCII(frame string, w int) string {
	rows := strings.Split(frame, "\n")
	for i, r := range rows {
		own, rest := barred(r)
		if rest != "" && Width(r) >= w-1 { // a row that is full may end with the mark of a cut
			rest = endMark(rest)
		}
		rows[i] = asciiSigns.Replace(own) + rest
	}
	return keptSigns.Replace(strings.Join(rows, "\n"))
}

// Keep marks what in a row is no sign of ours, for ASCII to leave it.
func Keep(row string) string { return keepSigns.Replace(row) }

// barred parts a row at the bar that it begins with, if it does.
func barred(r string) (own, rest string) {
	i := strings.IndexAny(r, "|#")
	if i < 0 || strings.TrimSpace(ansi.Strip(r[:i])) != "" {
		return r, ""
	}
	return r[:i+1], r[i+1:]
}

// endMark replaces the mark of a cut at the end of a row.
func endMark(s string) string {
	i := strings.LastIndex(s, "…")
	if i < 0 || strings.TrimSpace(ansi.Strip(s[i+len("…"):])) != "" {
		return s
	}
	return s[:i] + "~" + s[i+len("…"):]
}

// signs are what we draw beside ASCII, and what stands for it. kept are the same as code points that no text shows.
var (
	signs = []string{"…", "~", "·", "-", "─", "-", "│", "|", "▌", "#", "•", "*", "⏎", "/", "→", ">", "←", "<", "µ", "u", "×", "x"}

	asciiSigns           = strings.NewReplacer(signs...)
	keepSigns, keptSigns = keepers()
)

func keepers() (keep, kept *strings.Replacer) {
	var to, back []string
	for i := 0; i < len(signs); i += 2 {
		private := string(rune(0xf500 + i))
		to, back = append(to, signs[i], private), append(back, private, signs[i])
	}
	return strings.NewReplacer(to...), strings.NewReplacer(back...)
}
