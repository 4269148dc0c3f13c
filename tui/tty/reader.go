package tty

import (
	"bytes"
	"io"
	"os"
	"sync"
	"time"
)

// How long an unfinished escape sequence is waited for: a lone ESC acts after that time.
const (
	WaitLocal  = 40 * time.Millisecond
	WaitRemote = 100 * time.Millisecond
)

// burst is how long the rest of a text is waited for that began to arrive: a terminal hands over what was pasted
// or committed at once in pieces, and only as one piece can it be told from what a person types.
const burst = 2 * time.Millisecond

// MaxPaste is how many bytes of one bracketed paste are let through; the rest is dropped.
const MaxPaste = 64 << 10

// A Reader reads a terminal so that one Read never ends in the middle of a character or of an escape
// sequence, which the screen program would take for keys. Replies that a terminal sends on its own (device
// attributes, colours, cursor position, focus, mouse) are dropped, and so is what a paste has beyond
// MaxPaste. Keys of a keypad come as the characters that stand on them. Enters inside of several lines that arrive at once come as line feeds, tabs as blanks. It is used by one goroutine; it keeps the file's descriptor, so raw mode and cancelling work.
type Reader struct {
	*os.File
	// Wait is how long an unfinished tail is waited for; 0 is WaitLocal.
	Wait time.Duration

	filter filter
	flood  flood
	held   []byte    // the beginning of what the last Read had no room for
	last   time.Time // of the last input
	ended  chan struct{}
	once   sync.Once
}

// NewReader returns a Reader on a terminal. Over ssh, sequences are waited for longer.
func NewReader(f *os.File, getenv func(string) string) *Reader {
	r := &Reader{File: f, Wait: WaitLocal, ended: make(chan struct{})}
	if getenv("SSH_CONNECTION") != "" || getenv("SSH_TTY") != "" || getenv("MOSH_CONNECTION") != "" {
		r.Wait = WaitRemote
	}
	return r
}

// Ended is closed when the terminal has no more input: it was closed, or its other side went away. The
// screen program swallows that, so whoever runs it must watch.
func (r *Reader) Ended() <-chan struct{} { return r.ended }

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	for {
		began := copy(p, r.held)
		r.held = r.held[:0]
		n := began
		if n == 0 {
			var err error
			if n, err = r.File.Read(p); err != nil || n == 0 {
				r.once.Do(func() { close(r.ended) })
				if err == nil {
					err = io.EOF
				}
				return n, err
			}
		}
		n = r.complete(p, n)
		if tail := unfinished(p[:n]); n == len(p) && tail < n {
			r.held = append(r.held, p[n-tail:n]...)
			n -= tail
		}
		n = r.freed(p, n, began)
		if tail := r.lateEnd(p[:n]); tail > 0 && n > began { // of what came now: a terminal that has gone sends no more
			r.held = append(r.held, p[n-tail:n]...)
			if n -= tail; n == 0 {
				return 0, nil
			}
		}
		if !r.filter.paste {
			r.flood.apply(p[:n], time.Now())
		}
		if n = r.filter.apply(p[:n]); n > 0 {
			return n, nil
		}
	}
}

// stuck is how long a paste has been silent when the person means the program with ctrl+c, not the paste.
const stuck = 500 * time.Millisecond

// lateEnd is how many bytes at the end of b begin the mark that ends a paste, and no more of it has come in time. No person
// has pressed escape there; handed over, it would be a part of the paste, which then has no end.
func (r *Reader) lateEnd(b []byte) int {
	if !r.filter.paste && bytes.LastIndex(b, pasteStart) <= bytes.LastIndex(b, pasteEnd) {
		return 0
	}
	if tail := unfinished(b); bytes.HasPrefix(pasteEnd, b[len(b)-tail:]) {
		return tail
	}
	return 0
}

// freed ends a paste whose end was lost, but for the bytes that it began with: until it comes every key is part of the paste, and nothing but ctrl+c says that
// somebody waits.
func (r *Reader) freed(p []byte, n, began int) int {
	now := time.Now()
	silent := now.Sub(r.last) >= stuck
	r.last = now
	r.filter.half = r.filter.half && !silent // who types now has pressed alt+O before
	if r.filter.paste && silent && n == began+1 && p[began] == 0x03 && len(p) >= len(pasteEnd) {
		return copy(p, pasteEnd)
	}
	return n
}

// complete reads on while p[:n] ends inside a sequence, for at most Wait, or while more of a text arrives.
func (r *Reader) complete(p []byte, n int) int {
	wait := r.Wait
	if wait == 0 {
		wait = WaitLocal
	}
	deadline := time.Now().Add(wait)
	for n < len(p) {
		left := time.Until(deadline)
		if !incomplete(p[:n]) {
			if p[n-1] < 0x20 && p[n-1] != '\r' {
				break // a control key says all it has to say
			}
			left = min(left, burst)
		} else {
			left = max(left, time.Millisecond) // what has come is read, whenever this process gets its turn
		}
		if left <= 0 || !readable(r.File, left) {
			break
		}
		m, err := r.File.Read(p[n:])
		n += m
		if m == 0 || err != nil {
			break // the error comes again with the next Read
		}
	}
	return n
}
