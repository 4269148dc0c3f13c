package kit

import (
	"strings"

	"askback/tui/theme"
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

// More is our mark of a cut, as it stands in rows until a frame is drawn. No projected text holds this code point, so the
// mark is never taken for a server's or a person's own "…", which must not become another sign with ours.
const More = "\uf500"

// Drawn is a frame as the terminal gets it, with the mark of a cut that the theme has. Nothing else is changed: with
// → as > a review would show another value than is sent, and two options might look alike.
func Drawn(frame string, th *theme.Theme) string {
	return strings.ReplaceAll(frame, More, th.Glyphs.More)
}
