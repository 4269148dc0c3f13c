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

// next says how many bytes at the start of p belong together and whether they pass.
func (f *filter) next(p []byte) (n int, keep bool) {
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
		return len(p), true
	}
	if p[1] == '[' && n >= 3 && p[n-1] == 'M' && n == 3 {
		return min(len(p), n+3), false // the old mouse report has three bytes after its final
	}
	return n, !reply(p[:n])
}
