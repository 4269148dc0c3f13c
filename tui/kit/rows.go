package kit

import (
	"strconv"

	tea "github.com/charmbracelet/bubbletea"

	"askback/tui/theme"
)

// Window is the first of height rows of n that are shown around row at.
func Window(n, at, height int) int { return max(0, min(at-height/2, n-height)) }

// Choice draws the window of a list of n rows around the chosen one, at: row draws one entry without its mark.
func Choice(n, at, w, h int, th *theme.Theme, row func(i, w int) string) []string {
	out := make([]string, 0, h)
	for i := Window(n, at, h); i < n && len(out) < h; i++ {
		text := row(i, w-3)
		mark := "  "
		if i == at {
			mark = th.Focus.Render(">") + " "
		}
		out = append(out, mark+Clip(text, w-3))
	}
	return out
}

// Step moves the cursor at of a list of n rows, and says whether the key is one that moves it.
func Step(key string, at, n, page int) (int, bool) {
	switch key {
	case "up":
		at--
	case "down":
		at++
	case "pgup":
		at -= page
	case "pgdown":
		at += page
	case "home":
		at = 0
	case "end":
		at = n - 1
	default:
		return at, false
	}
	return max(0, min(at, n-1)), true
}

// Scroller is a window on rows that is moved by keys.
type Scroller struct {
	Top  int
	More bool // Cut left rows out: there is something to scroll
}

// Key moves the window and says whether it was a movement.
func (s *Scroller) Key(k tea.KeyMsg, page int) bool {
	switch KeyName(k) {
	case "up", "k":
		s.Top--
	case "down", "j":
		s.Top++
	case "pgup", "b":
		s.Top -= page
	case "pgdown", " ":
		s.Top += page
	case "home", "g":
		s.Top = 0
	case "end", "G":
		s.Top = 1 << 30
	default:
		return false
	}
	s.Top = max(0, s.Top)
	return true
}

// Cut is the visible part of rows. It also says how far down it is, where not all are visible.
func (s *Scroller) Cut(rows []string, h int) (out []string, where string) {
	s.Top = max(0, min(s.Top, len(rows)-h))
	s.More = len(rows) > h
	if !s.More {
		return rows, ""
	}
	return rows[s.Top : s.Top+h], Position(s.Top, h, len(rows))
}

// Position says how far down a window of h of n rows is.
func Position(top, h, n int) string {
	switch {
	case top == 0:
		return "top"
	case top+h >= n:
		return "end"
	}
	return strconv.Itoa(100*top/(n-h)) + "%"
}
