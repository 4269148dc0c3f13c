package tty

import (
	"bytes"
	"unicode/utf8"
)

const esc = 0x1b

// maxSequence is how far back an unfinished sequence is looked for. Replies of terminals are longer than
// keys, but none that we drop is longer than this.
const maxSequence = 128

// incomplete says whether b ends inside a UTF-8 character or inside an escape sequence.
func incomplete(b []byte) bool { return unfinished(b) > 0 }

// unfinished is how many bytes at the end of b begin a character or a sequence that does not end there.
func unfinished(b []byte) int {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-i:]) {
				return i
			}
			break
		}
	}
	start := max(0, len(b)-maxSequence)
	for i := start; i < len(b); i++ {
		if b[i] != esc {
			continue
		}
		n := sequence(b[i:])
		if n < 0 {
			return len(b) - i
		}
		i += n - 1
	}
	return 0
}

// sequence returns the length of the escape sequence that b begins with, or -1 when its end is missing. A
// key with ESC before it (alt) has length 2.
func sequence(b []byte) int {
	if len(b) < 2 {
		return -1
	}
	switch b[1] {
	case '[':
		for i, c := range b[2:] {
			if c >= 0x40 && c <= 0x7e && !(c == '[' && i == 0) { // ESC [ [ A is a function key
				return i + 3
			}
			if c < 0x20 || c > 0x7e {
				return i + 2 // not a sequence: leave the character alone
			}
		}
		return -1
	case 'O':
		return ss3Sequence(b)
	case ']', 'P', '_':
		return stringSequence(b)
	case esc:
		return 1 // escape, then another sequence
	}
	return 2
}

// stringSequence measures a reply that ends with BEL or ST. A bracket or a P typed with alt is no reply:
// replies go on with a digit or one of "1$!>|".
func stringSequence(b []byte) int {
	if len(b) == 2 {
		return -1
	}
	if c := b[2]; (c < '0' || c > '9') && bytes.IndexByte([]byte("$!>|"), c) < 0 {
		return 2
	}
	for i := 3; i < len(b); i++ {
		switch {
		case b[i] == 0x07:
			return i + 1
		case b[i] == '\\' && b[i-1] == esc:
			return i + 1
		}
	}
	return -1
}

// reply says whether a whole sequence is a terminal's own message and no key.
func reply(s []byte) bool {
	if len(s) < 3 {
		return false
	}
	switch s[1] {
	case ']', 'P', '_':
		return true
	case '[':
		last, body := s[len(s)-1], s[2:len(s)-1]
		switch last {
		case 'c':
			return len(body) > 0 // device attributes; bare, it is a key of rxvt
		case 'n', 'y', 't':
			return true // status, mode and window reports
		case 'R':
			// A cursor position has a row and a column; F3 with a modifier is "1;n".
			return bytes.IndexByte(body, ';') > 0 && !bytes.HasPrefix(body, []byte("1;"))
		case 'I', 'O':
			return len(body) == 0 // focus
		case 'M', 'm':
			return true // mouse
		case 'u':
			return bytes.HasPrefix(body, []byte("?")) // keyboard flags
		}
	}
	return false
}
