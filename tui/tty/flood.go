package tty

import "time"

// floodPause is how soon more has to follow to belong to the same flood.
const floodPause = 30 * time.Millisecond

// flood turns the enters inside of what arrived at once into line feeds, and its tabs into blanks. Where a terminal does
// not mark pastes, the lines of one come like typed ones, each with an enter; nobody types two lines within one read. A
// single line stays what it is, with an enter behind it or a tab in it: another program may type like that, and so does a
// person over a slow line.
type flood struct{ until time.Time }

// apply changes p in place.
func (f *flood) apply(p []byte, now time.Time) {
	on := now.Before(f.until)
	if !on && !manyLines(p) {
		return
	}
	f.until = now.Add(floodPause)
	for i := 0; i < len(p); i++ {
		if p[i] == esc {
			if n := sequence(p[i:]); n > 0 {
				i += n - 1
			}
			continue
		}
		switch p[i] {
		case '\r':
			p[i] = '\n'
		case '\t':
			p[i] = ' '
		}
	}
}

// manyLines says whether p has text, an enter, and text again.
func manyLines(p []byte) bool {
	text, enter := false, false
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case c == esc:
			if n := sequence(p[i:]); n > 0 {
				i += n - 1
			}
		case c == '\r':
			enter = text
		case c >= 0x20 && c != 0x7f:
			if text && enter {
				return true
			}
			text = true
		}
	}
	return false
}
