package mcpmgr

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
)

// Bounds of what is kept of a child's stderr.
const (
	stderrLines = 64      // lines in the ring
	stderrLine  = 4 << 10 // bytes of one line
	stderrScan  = 64 << 10
	reportLines = 5 // lines in a death report
	reportBytes = 1 << 10
)

// stderrRing keeps the last lines of a child's stderr and hands each to the log. It outlives the
// child, so that a panel can show why the last one died.
type stderrRing struct {
	mu    sync.Mutex
	lines []string
	start int // index in lines of the first line of the current child

	redact func(string) string
	log    func(line string)

	legs int      // on the wire
	held []string // lines that the log gets when they are over
}

func (r *stderrRing) add(line string) {
	line = r.redact(line)
	line = clipText(strings.TrimRight(line, "\r\n"), stderrLine)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = append(r.held, line)
	if r.legs == 0 {
		r.flush(0)
	} else {
		r.flush(stderrLines)
	}
	r.lines = append(r.lines, line)
	if over := len(r.lines) - stderrLines; over > 0 {
		r.lines = slices.Delete(r.lines, 0, over)
		r.start = max(0, r.start-over)
	}
}

// flush logs what is held but for the last lines; r.mu is held. A state may have become known after a line was read, so
// it is redacted once more.
func (r *stderrRing) flush(keep int) {
	n := max(0, len(r.held)-keep)
	for _, line := range r.held[:n] {
		if r.log != nil {
			r.log(r.redact(line))
		}
	}
	r.held = slices.Delete(r.held, 0, n)
}

// hold keeps lines from the log until release: a leg is on the wire.
func (r *stderrRing) hold() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.legs++
}

// release logs what came meanwhile, when no leg is on the wire any more.
func (r *stderrRing) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.legs--; r.legs == 0 {
		r.flush(0)
	}
}

// ended logs what is held: the child has nothing more to say.
func (r *stderrRing) ended() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flush(0)
}

// mark begins a new child: a report after it quotes no older lines.
func (r *stderrRing) mark() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.start = len(r.lines)
}

// tail returns the lines that are kept. A state may have become known after its line was read, so
// they are redacted once more.
func (r *stderrRing) tail() []string {
	r.mu.Lock()
	out := slices.Clone(r.lines)
	r.mu.Unlock()
	for i := range out {
		out[i] = r.redact(out[i])
	}
	return out
}

// report returns the last lines of the current child for an error message.
func (r *stderrRing) report() string {
	r.mu.Lock()
	own := slices.Clone(r.lines[r.start:])
	r.mu.Unlock()
	own = own[max(0, len(own)-reportLines):]
	size := 0
	for i, l := range slices.Backward(own) {
		if size += len(l) + 1; size > reportBytes {
			own = own[i+1:]
			break
		}
	}
	return r.redact(strings.Join(own, "\n"))
}

// copyFrom reads lines until r ends. A line is read whole up to stderrScan before it is redacted
// and cut, so that a state that reaches over the cut is still recognised; what a line has beyond
// that is dropped.
func (r *stderrRing) copyFrom(src io.Reader) {
	defer r.ended()
	br := bufio.NewReaderSize(src, stderrScan)
	for {
		line, err := br.ReadSlice('\n')
		if len(line) > 0 {
			r.add(string(line))
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = br.ReadSlice('\n')
		}
		if err != nil {
			return
		}
	}
}
