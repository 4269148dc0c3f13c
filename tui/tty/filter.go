package tty

import "bytes"

var (
	pasteStart = []byte("\x1b[200~")
	pasteEnd   = []byte("\x1b[201~")
)

// filter drops replies outside of pastes and what a paste has too much, and makes the keys of a keypad what they write.
// It remembers between reads whether a paste is open.
type filter struct {
	paste  bool
	pasted int
	reply  bool // inside of a reply that is longer than a read
	half   bool // the last read ended behind ESC O, whose key has not come in time
}

// apply compacts p in place and returns the new length.
func (f *filter) apply(p []byte) int {
	out := 0
	for i := 0; i < len(p); {
		n, kept := f.next(p[i:])
		out += copy(p[out:], kept)
		i += n
	}
	return out
}

// inReply takes what follows the beginning of a long reply: printable up to its end, which is BEL or ST. Anything else
// means that it broke off.
func (f *filter) inReply(p []byte) (n int, taken bool) {
	switch {
	case p[0] == 0x07:
		f.reply = false
		return 1, true
	case p[0] == esc && len(p) > 1 && p[1] == '\\':
		f.reply = false
		return 2, true
	case p[0] < 0x20 || p[0] == 0x7f:
		f.reply = false
		return 0, false
	}
	return 1, true
}

// next says how many bytes at the start of p belong together and what passes of them: never more.
func (f *filter) next(p []byte) (n int, kept []byte) {
	if f.reply {
		if n, taken := f.inReply(p); taken {
			return n, nil
		}
	}
	if f.half {
		f.half = false
		if k, ok := ss3Key(p[0]); ok {
			if len(k) > 1 { // for which there is no room any more
				k = nil
			}
			return 1, k
		}
	}
	if f.paste {
		if bytes.HasPrefix(p, pasteEnd) {
			f.paste = false
			return len(pasteEnd), p[:len(pasteEnd)]
		}
		if f.pasted++; f.pasted > MaxPaste {
			return 1, nil
		}
		return 1, p[:1]
	}
	if p[0] != esc {
		return 1, p[:1]
	}
	if bytes.HasPrefix(p, pasteStart) {
		f.paste, f.pasted = true, 0
		return len(pasteStart), p[:len(pasteStart)]
	}
	n = sequence(p)
	switch {
	case len(p) > 1 && p[1] == 'O':
		return f.ss3(p, n)
	case n < 0:
		if f.reply = len(p) >= maxSequence && p[1] != '['; f.reply {
			return len(p), nil
		}
		return len(p), p
	case n == 3 && p[1] == '[' && p[2] == 'M':
		return min(len(p), n+3), nil // the old mouse report has three bytes after its final
	case reply(p[:n]):
		return n, nil
	}
	return n, p[:n]
}

// ss3 takes a key that begins with ESC O and has n bytes.
func (f *filter) ss3(p []byte, n int) (int, []byte) {
	switch {
	case n < 0:
		f.half = true
		return len(p), nil
	case n == 3:
		k, _ := ss3Key(p[2])
		return n, k
	}
	return n, nil
}
