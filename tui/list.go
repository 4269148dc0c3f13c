package tui

import (
	"askback/tui/kit"
	"askback/tui/theme"
)

// list is a choice among rows, with a window that follows the cursor.
type list struct{ at, n int }

// key moves the cursor and says whether it was a movement.
func (l *list) key(k string, page int) bool {
	switch k {
	case "up", "ctrl+p":
		l.at--
	case "down", "ctrl+n":
		l.at++
	case "pgup":
		l.at -= page
	case "pgdown":
		l.at += page
	case "home":
		l.at = 0
	case "end":
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
	return kit.Choice(l.n, l.at, w, h, th, row)
}
