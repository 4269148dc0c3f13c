package tty

// A terminal in application mode sends ESC O and a letter for the keys of its keypad. The screen program knows few of
// those and takes any other for alt+O and then the letter, which on a screen where letters decide is a decision: the 9
// would be a y, the 3 an s.

// ss3Sequence measures a key that begins with ESC O: numbers of its modifiers may come before its letter.
func ss3Sequence(b []byte) int {
	for i, c := range b[2:] {
		switch {
		case c >= '0' && c <= '9' || c == ';':
		case c < 0x20 || c > 0x7e:
			return i + 2 // not a sequence: leave the character alone
		default:
			return i + 3
		}
	}
	return -1
}

// keypad are the characters of the keys that have some, from j on.
const keypad = "*+,-./0123456789"

// ss3Key is what stands for ESC O and c, and whether it is such a key. One that means nothing to the program is empty.
func ss3Key(c byte) (key []byte, known bool) {
	switch {
	case c >= 'A' && c <= 'D', c >= 'P' && c <= 'S': // arrows, and the first function keys
		return []byte{esc, 'O', c}, true
	case c == 'H', c == 'F': // home and end, which the program knows by their other names
		return []byte{esc, '[', c}, true
	case c >= 'j' && c <= 'y':
		return []byte{keypad[c-'j']}, true
	case c == 'M':
		return []byte{'\r'}, true
	case c == 'X':
		return []byte{'='}, true
	case c == 'I':
		return []byte{'\t'}, true
	case c == ' ':
		return []byte{' '}, true
	}
	return nil, false
}
