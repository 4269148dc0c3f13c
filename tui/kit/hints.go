package kit

import (
	"strings"

	"askback/tui/theme"
)

// Hint is one key with what it does, for the last row.
type Hint = struct{ Key, Does string }

// ScrollHints are those of a text that is scrolled; none where all of it is shown.
func (s *Scroller) ScrollHints() []Hint {
	if !s.More {
		return nil
	}
	return []Hint{{"up/down", "scroll"}, {"pgdn", "page"}, {"home/end", "ends"}}
}

// narrow is below what width signs stand for words.
const narrow = 60

// HintRow draws as many hints as fit, in their order. On a narrow screen ctrl is a caret, and blanks part the hints where
// that makes room for more.
//
// The last column stays free: after a frame of fewer rows the renderer erases what is below from the cell under the
// cursor on, and in a full row most terminals take that to be its last cell.
func HintRow(hints []Hint, w int, th *theme.Theme) string {
	row, all := hintRow(hints, w, " "+th.Glyphs.Dot+" ", th)
	if !all && w < narrow {
		row, _ = hintRow(hints, w, "  ", th)
	}
	return row
}

func hintRow(hints []Hint, w int, between string, th *theme.Theme) (row string, all bool) {
	var b strings.Builder
	used := 0
	all = true
	for _, h := range hints {
		key := h.Key
		if w < narrow {
			key = strings.ReplaceAll(key, "ctrl+", "^")
		}
		sep := ""
		if used > 0 {
			sep = between
		}
		n := Width(sep) + Width(key) + 1 + Width(h.Does)
		if used+n >= w && h.Key == "esc" { // the way out is told even where its word has no room
			h.Does = ""
			n = Width(sep) + Width(key)
			all = false
		}
		if used+n >= w {
			all = false
			continue
		}
		used += n
		b.WriteString(th.Dim.Render(sep))
		b.WriteString(th.Key.Render(key))
		if h.Does != "" {
			b.WriteString(" " + h.Does)
		}
	}
	return b.String(), all
}
