package mcpmgr

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// bom is the byte order mark that some programs begin their output with, or each line of it.
var bom = []byte("\xef\xbb\xbf")

var errNoRequest = errors.New("it is a reply to no request")

// lineFilter stands between a child's stdout and the SDK's framing. It passes complete lines that
// hold a JSON-RPC message and drops the rest: many servers print a greeting or a log line where
// only messages belong, and one such line must not end the connection. A line over the limit ends
// it, since nothing can be known about what it held.
type lineFilter struct {
	r     *bufio.Reader
	limit int
	line  []byte // the current line, with its newline, as far as it is not handed out yet
	buf   []byte
	err   error

	mu      sync.Mutex
	stopped error // err, for other goroutines than the reader

	// noise hears of a dropped line, bad of a response that cannot be used but names its request.
	noise func(line []byte, why error)
	bad   func(id int64, why error)
}

func newLineFilter(r io.Reader, limit int, noise func([]byte, error), bad func(int64, error)) *lineFilter {
	return &lineFilter{r: bufio.NewReaderSize(r, 64<<10), limit: limit, noise: noise, bad: bad}
}

func (f *lineFilter) Read(p []byte) (int, error) {
	for len(f.line) == 0 {
		if f.err != nil {
			f.mu.Lock()
			f.stopped = f.err
			f.mu.Unlock()
			return 0, f.err
		}
		f.next()
	}
	n := copy(p, f.line)
	f.line = f.line[n:]
	return n, nil
}

// end returns why the lines ended, or nil while they go on.
func (f *lineFilter) end() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stopped
}

// next reads one line and leaves it in f.line when it is a message.
func (f *lineFilter) next() {
	if cap(f.buf) > 1<<20 {
		f.buf = nil // do not keep what one large message needed
	}
	f.buf = f.buf[:0]
	for {
		part, err := f.r.ReadSlice('\n')
		f.buf = append(f.buf, part...)
		if len(f.buf) > f.limit+1 {
			f.err = &errTooLarge{fmt.Sprintf("a line of the server's output is over the limit of %d bytes", f.limit)}
			return
		}
		if err == nil {
			break
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		f.err = err
		break
	}
	line := bytes.TrimSpace(bytes.TrimPrefix(f.buf, bom))
	if len(line) == 0 {
		return
	}
	if f.err != nil && !json.Valid(line) { // whole, it was only not ended
		f.noise(line, errors.New("the output ended in the middle of a line"))
		return
	}
	if line[0] == '[' { // a batch: allowed before 2025-06-18, checked by the framing
		if msgs, err := elements(line); err == nil && len(msgs) > 0 && len(msgs) <= 256 {
			for _, m := range msgs {
				pm, err := parseMessage(m)
				if err == nil && pm.response() && pm.id == nil {
					err = errNoRequest
				}
				if err != nil {
					f.noise(line, err)
					return
				}
			}
			f.line = append(line, '\n')
			return
		}
	}
	m, err := parseMessage(line)
	switch {
	case err == nil && m.response() && m.id == nil:
		f.noise(line, errNoRequest)
	case err == nil:
		f.line = append(line, '\n') // line shares f.buf, which nobody reads any more
	case m != nil && m.response() && m.id != nil:
		if id, ok := m.number(); ok {
			f.bad(id, err)
			return
		}
		f.noise(line, err)
	default:
		f.noise(line, err)
	}
}
