package kit

import "strings"

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

// ASCII is a frame for terminals that draw nothing else: our own signs, replaced cell by cell.
func ASCII(frame string) string { return asciiFrame.Replace(frame) }

var asciiFrame = strings.NewReplacer("…", "~", "·", "-", "─", "-", "│", "|", "▌", "#", "•", "*", "⏎", "/", "→", ">", "←", "<", "µ", "u", "×", "x")
