package screen

import (
	"askback/tui/kit"
	"askback/tui/theme"
)

// list is a choice among rows, with a window that follows the cursor.
type list struct{ at, n int }

// key moves the cursor and says whether it was a movement.
func (l *list) key(k string, page int) (moved bool) {
	if name, ok := letters[k]; ok {
		k = name
	}
	l.at, moved = kit.Step(k, l.at, l.n, page)
	return moved
}

// letters are those of a pager, for lists without a filter.
var letters = map[string]string{"k": "up", "j": "down", "g": "home", "G": "end"}

// clamp keeps the cursor inside of n rows.
func (l *list) clamp(n int) {
	l.n = n
	l.at = max(0, min(l.at, n-1))
}

// draw draws the window: row draws one entry without its mark.
func (l *list) draw(w, h int, th *theme.Theme, row func(i, w int) string) []string {
	return kit.Choice(l.n, l.at, w, h, th, row)
}
