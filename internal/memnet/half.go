package memnet

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// half is one direction of a connection: a bounded byte queue with one writer's end and one reader's end. Everything
// behind mu; cond wakes both ends, since either may wait on the other. Waiting on a sync.Cond is durably blocking, so
// that a synctest bubble's clock moves while an end waits.
type half struct {
	mu   sync.Mutex
	cond sync.Cond

	buf  []byte // unread bytes are buf[off:]
	off  int
	size int // the most that may be unread

	held         bool // bytes and end of stream stay invisible to the reader
	writerClosed bool
	readerClosed bool
	reset        bool

	read, write deadline
}

// deadline is a point in time after which one end's waits fail. due becomes true when it has passed.
type deadline struct {
	timer *time.Timer
	due   bool
}

func newHalf(size int) *half {
	h := &half{size: size}
	h.cond.L = &h.mu
	return h
}

func (h *half) setDeadline(d *deadline, t time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	d.due = false
	if !t.IsZero() {
		if wait := time.Until(t); wait <= 0 {
			d.due = true
		} else {
			var timer *time.Timer
			timer = time.AfterFunc(wait, func() {
				h.mu.Lock()
				defer h.mu.Unlock()
				if d.timer == timer { // else replaced while this one fired
					d.due = true
					h.cond.Broadcast()
				}
			})
			d.timer = timer
		}
	}
	h.cond.Broadcast()
}

func (h *half) readInto(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		unread := len(h.buf) - h.off
		switch {
		case h.readerClosed:
			return 0, net.ErrClosed
		case h.reset:
			return 0, syscall.ECONNRESET
		case h.read.due:
			return 0, os.ErrDeadlineExceeded
		case len(p) == 0:
			return 0, nil
		case unread > 0 && !h.held:
			n := copy(p, h.buf[h.off:])
			h.off += n
			if h.off == len(h.buf) {
				h.buf, h.off = h.buf[:0], 0
			}
			h.cond.Broadcast()
			return n, nil
		case h.writerClosed && !h.held:
			return 0, io.EOF
		}
		h.cond.Wait()
	}
}

func (h *half) writeFrom(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	written := 0
	for {
		room := h.size - (len(h.buf) - h.off)
		switch {
		case h.writerClosed:
			return written, net.ErrClosed
		case h.reset:
			return written, syscall.ECONNRESET
		case h.readerClosed && !h.held:
			return written, syscall.EPIPE
		case h.write.due:
			return written, os.ErrDeadlineExceeded
		case len(p) == 0:
			return written, nil
		case room > 0:
			n := min(room, len(p))
			h.compact(n)
			h.buf = append(h.buf, p[:n]...)
			written, p = written+n, p[n:]
			h.cond.Broadcast()
			continue
		}
		h.cond.Wait()
	}
}

// compact makes room for n more bytes by moving the unread ones to the front when append would have to grow.
func (h *half) compact(n int) {
	if h.off > 0 && len(h.buf)+n > cap(h.buf) {
		h.buf = h.buf[:copy(h.buf, h.buf[h.off:])]
		h.off = 0
	}
}

// change applies f and wakes both ends.
func (h *half) change(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
	h.cond.Broadcast()
}
