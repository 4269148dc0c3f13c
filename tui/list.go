package tui

import (
	"askback/tui/kit"
	"askback/tui/theme"
)

// list is a choice among rows, with a window that follows the cursor.
type list struct{ at, n int }

// key moves the cursor and says whether it was a movement. Letters belong to the filter.
func (l *list) key(k string, page int) (moved bool) {
	switch k {
	case "ctrl+p":
		k = "up"
	case "ctrl+n":
		k = "down"
	}
	l.at, moved = kit.Step(k, l.at, l.n, page)
	return moved
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
