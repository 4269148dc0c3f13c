package kit

import (
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// Terminals count cells in two ways: by clusters of characters, as a reader sees them, or by adding up code points, as
// wcwidth does. A Thai SARA AM, an Indic vowel sign or a skin tone takes no cell in one and one or two in the other. Which
// of them a terminal does cannot be asked, so everything here takes a cluster for the wider of both: a row then fits
// wherever it is drawn, and nothing of it stands past the edge.

// Width is how many cells a text takes at most.
func Width(s string) int {
	n := 0
	for i := 0; i < len(s); {
		if single(s, i) {
			n++
			i++
			continue
		}
		p, w := Next(s[i:])
		n += w
		i += len(p)
	}
	return n
}

// single says whether the i-th byte is a character of one cell that nothing combines with.
func single(s string, i int) bool {
	return s[i] >= 0x20 && s[i] < 0x7f && (i+1 == len(s) || s[i+1] < 0x80)
}

// Next is what s begins with, a cluster of characters or an escape sequence, and how many cells it takes at most. It is
// empty for an empty text only.
func Next(s string) (p string, cells int) {
	switch {
	case s == "":
		return "", 0
	case single(s, 0):
		return s[:1], 1
	case s[0] == 0x1b:
		return s[:escape(s)], 0
	case s[0] < 0x20 || s[0] == 0x7f:
		return s[:1], 0
	}
	cluster, w := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	if cluster == "" { // never, but a loop over a text must end
		return s[:1], 1
	}
	return cluster, max(w, counted(cluster))
}

// escape is the length of the escape sequence that s begins with.
func escape(s string) int {
	_, _, n, _ := ansi.DecodeSequence(s, ansi.NormalState, nil)
	return max(1, n)
}

// counted is the width of a cluster to a terminal that adds up code points.
func counted(cluster string) int {
	n := 0
	for _, r := range cluster {
		n += runeCells(r)
	}
	return n
}

// runeCells is what wcwidth says of one code point. Where its tables differ between systems, it is the most.
func runeCells(r rune) int {
	switch {
	case r < 0x300, regional(r):
		return 1
	case jamoTail(r), unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r >= 0x3248 && r <= 0x324f: // numbers in circles on black squares: two cells to the GNU C library alone
		return 2
	}
	return max(1, ansi.StringWidth(string(r)))
}

// regional is half of a flag.
func regional(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

// jamoTail is a Hangul vowel or final consonant, which stands in the cells of the consonant before it.
func jamoTail(r rune) bool { return r >= 0x1160 && r <= 0x11ff || r >= 0xd7b0 && r <= 0xd7ff }

// Start is the beginning of s in at most w cells, with all its escape sequences.
func Start(s string, w int) string { return truncate(s, w, "") }

// truncate cuts s to w cells, the last of which are the tail's. Escape sequences after the cut stay.
func truncate(s string, w int, tail string) string {
	room := w - Width(tail)
	if room < 0 {
		return ""
	}
	var b strings.Builder
	for used := 0; s != ""; {
		p, n := Next(s)
		if used += n; used > room {
			b.WriteString(tail)
			break
		}
		b.WriteString(p)
		s = s[len(p):]
	}
	for s = fromEscape(s); s != ""; s = fromEscape(s) {
		n := escape(s)
		b.WriteString(s[:n])
		s = s[n:]
	}
	return b.String()
}

func fromEscape(s string) string {
	if i := strings.IndexByte(s, 0x1b); i >= 0 {
		return s[i:]
	}
	return ""
}

// End is the end of s in at most w cells.
func End(s string, w int) string {
	type piece struct{ at, cells int }
	var pieces []piece
	used := 0
	for at := 0; at < len(s); {
		p, n := Next(s[at:])
		pieces = append(pieces, piece{at, n})
		used += n
		at += len(p)
	}
	for _, p := range pieces {
		if used <= w {
			return s[p.at:]
		}
		used -= p.cells
	}
	return ""
}

// ClipMiddle cuts a name to w cells in the middle, since the ends of names tell them apart.
func ClipMiddle(s string, w int) string {
	if Width(s) <= w {
		return s
	}
	tail := (w - 1) / 2
	if tail < 1 {
		return Clip(s, w)
	}
	return Start(s, w-1-tail) + More + End(s, tail)
}

// HardWrap breaks a line into rows of w cells, wherever that is.
func HardWrap(s string, w int) []string {
	w = max(1, w)
	var out []string
	from, used := 0, 0
	for at := 0; at < len(s); {
		p, n := within(s[at:], w)
		if used+n > w {
			out = append(out, s[from:at])
			from, used = at, 0
		}
		used += n
		at += len(p)
	}
	return append(out, s[from:])
}

// within is Next, in at most w cells: a cluster that fits in no row is broken where its characters are.
func within(s string, w int) (p string, cells int) {
	if p, cells = Next(s); cells <= w {
		return p, cells
	}
	cells = 0
	for i, r := range p {
		if n := runeCells(r); i > 0 && cells+n > w {
			return p[:i], cells
		} else {
			cells += n
		}
	}
	return p, cells
}

// wrapLine breaks one line into rows of at most w cells, at blanks where it can, and after hyphens and the given
// characters.
func wrapLine(line string, w int, after string) []string {
	b := breaker{s: line, w: w}
	for b.at < len(line) {
		p, n := within(line[b.at:], w)
		if p == " " && b.used == w {
			b.row(b.at, b.at+1)
			b.at++
			continue
		}
		b.fit(n)
		b.at += len(p)
		b.used += n
		if p == " " || p == "-" || len(p) == 1 && strings.Contains(after, p) {
			b.soft, b.softUsed = b.at, b.used
		}
	}
	return append(b.out, line[b.from:])
}

// breaker makes rows of a line. The row begins at from and is read up to at, in used cells; it may end at soft, in
// softUsed cells, if that is not 0.
type breaker struct {
	s              string
	w              int
	out            []string
	from, at, used int
	soft, softUsed int
}

// fit ends rows until n more cells fit.
func (b *breaker) fit(n int) {
	for b.used+n > b.w && b.at > b.from {
		if b.soft > b.from {
			used := b.used - b.softUsed
			b.row(b.soft, b.soft)
			b.used = used
		} else {
			b.row(b.at, b.at)
		}
	}
}

// row ends the row at end and begins the next at from.
func (b *breaker) row(end, from int) {
	b.out = append(b.out, b.s[b.from:end])
	b.from, b.used, b.soft, b.softUsed = from, 0, 0, 0
}
