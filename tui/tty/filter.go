package tty

import "bytes"

var (
	pasteStart = []byte("\x1b[200~")
	pasteEnd   = []byte("\x1b[201~")
)

// filter drops replies outside of pastes and what a paste has too much. It remembers between reads whether
// a paste is open.
type filter struct {
	paste  bool
	pasted int
	reply  bool // inside of a reply that is longer than a read
}

// apply compacts p in place and returns the new length.
func (f *filter) apply(p []byte) int {
	out := 0
	for i := 0; i < len(p); {
		n, keep := f.next(p[i:])
		if keep {
			out += copy(p[out:], p[i:i+n])
		}
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

// next says how many bytes at the start of p belong together and whether they pass.
func (f *filter) next(p []byte) (n int, keep bool) {
	if f.reply {
		if n, taken := f.inReply(p); taken {
			return n, false
		}
	}
	if f.paste {
		if bytes.HasPrefix(p, pasteEnd) {
			f.paste = false
			return len(pasteEnd), true
		}
		f.pasted++
		return 1, f.pasted <= MaxPaste
	}
	if p[0] != esc {
		return 1, true
	}
	if bytes.HasPrefix(p, pasteStart) {
		f.paste, f.pasted = true, 0
		return len(pasteStart), true
	}
	n = sequence(p)
	if n < 0 {
		f.reply = len(p) >= maxSequence && p[1] != '['
		return len(p), !f.reply
	}
	if p[1] == '[' && n >= 3 && p[n-1] == 'M' && n == 3 {
		return min(len(p), n+3), false // the old mouse report has three bytes after its final
	}
	return n, !reply(p[:n])
}
