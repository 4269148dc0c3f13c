package kit

import (
	"strings"

	"askback/tui/theme"
)

// Hint is one key with what it does, for the last row.
type Hint = struct{ Key, Does string }

// HintRow draws as many hints as fit, in their order. On a narrow screen ctrl is a caret.
func HintRow(hints []Hint, w int, th *theme.Theme) string {
	var b strings.Builder
	used := 0
	for _, h := range hints {
		key := h.Key
		if w < 60 {
			key = strings.ReplaceAll(key, "ctrl+", "^")
		}
		sep := ""
		if used > 0 {
			sep = " " + th.Glyphs.Dot + " "
		}
		n := Width(sep) + Width(key) + 1 + Width(h.Does)
		if used+n > w && h.Key == "esc" { // the way out is told even where its word has no room
			h.Does = ""
			n = Width(sep) + Width(key)
		}
		if used+n > w {
			continue
		}
		used += n
		b.WriteString(th.Dim.Render(sep))
		b.WriteString(th.Key.Render(key))
		if h.Does != "" {
			b.WriteString(" " + h.Does)
		}
	}
	return b.String()
}
