package screen

import "unicode"

// Counted is how many cells a row without escape sequences takes to a terminal that adds up code points, as Markus
// Kuhn's wcwidth and tmux do. The emulator counts clusters, so tests of what terminals disagree about need both.
func Counted(row string) int {
	n := 0
	for _, r := range row {
		n += cells(r)
	}
	return n
}

func cells(r rune) int {
	switch {
	case r < 0x20, r >= 0x1160 && r <= 0x11ff, unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r < 0x1100:
		return 1
	}
	for _, s := range wide {
		if r >= s[0] && r <= s[1] {
			return 2
		}
	}
	return 1
}

// wide are the code points of two cells.
var wide = [][2]rune{
	{0x1100, 0x115f}, {0x2e80, 0x303e}, {0x3041, 0xa4cf}, {0xa960, 0xa97f}, {0xac00, 0xd7a3}, {0xf900, 0xfaff}, {0xfe30, 0xfe6f}, {0xff00, 0xff60},
	{0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
}
