package tty

import (
	"slices"
	"unicode"
)

// Composed says whether characters that came at once look like the commit of an input method, whose confirming enter
// follows them and is not meant for the program. Those of another program that types, and of a fast typist over a slow
// line, are ASCII; several lines that come at once are told apart by the Reader.
func Composed(runes []rune) bool {
	return len(runes) > 1 && slices.ContainsFunc(runes, func(r rune) bool { return r > unicode.MaxASCII })
}
