package screen

import (
	"strconv"

	tea "github.com/charmbracelet/bubbletea"

	"askback/tui/theme"
)

// list is a choice among rows, with a window that follows the cursor.
type list struct{ at, n int }

// key moves the cursor and says whether it was a movement.
func (l *list) key(k string, page int) bool {
	switch k {
	case "up", "k":
		l.at--
	case "down", "j":
		l.at++
	case "pgup":
		l.at -= page
	case "pgdown":
		l.at += page
	case "home", "g":
		l.at = 0
	case "end", "G":
		l.at = l.n - 1
	default:
		return false
	}
	l.clamp(l.n)
	return true
}

// clamp keeps the cursor inside of n rows.
func (l *list) clamp(n int) {
	l.n = n
	l.at = max(0, min(l.at, n-1))
}

// draw draws the window: row draws one entry without its mark.
func (l *list) draw(w, h int, th *theme.Theme, row func(i, w int) string) []string {
	first := max(0, min(l.at-h/2, l.n-h))
	out := make([]string, 0, h)
	for i := first; i < l.n && len(out) < h; i++ {
		mark := "  "
		if i == l.at {
			mark = th.Focus.Render(">") + " "
		}
		out = append(out, mark+clip(row(i, w-3), w-3))
	}
	return out
}

// scroller is a window on rows that is moved by keys.
type scroller struct{ top int }

func (s *scroller) key(k tea.KeyMsg, page int) bool {
	switch k.String() {
	case "up", "k":
		s.top--
	case "down", "j":
		s.top++
	case "pgup", "b":
		s.top -= page
	case "pgdown", " ":
		s.top += page
	case "home", "g":
		s.top = 0
	case "end", "G":
		s.top = 1 << 30
	default:
		return false
	}
	s.top = max(0, s.top)
	return true
}

// cut is the visible part of rows. It also says how far down it is, where not all are visible.
func (s *scroller) cut(rows []string, h int) (out []string, where string) {
	s.top = max(0, min(s.top, len(rows)-h))
	if len(rows) <= h {
		return rows, ""
	}
	switch {
	case s.top == 0:
		where = "top"
	case s.top+h >= len(rows):
		where = "end"
	default:
		where = strconv.Itoa(100*s.top/(len(rows)-h)) + "%"
	}
	return rows[s.top : s.top+h], where
}
