package linemode

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
)

// ErrEnded is the end of the input, within a line or between two. Nothing was answered.
var ErrEnded = errors.New("the input ended before the form was answered; nothing was sent")

// errStale is a line that was under way when its prompt was taken back.
var errStale = errors.New("a line that was typed for something that is over")

// maxLine bounds one line. It holds the longest value of a form several times over.
const maxLine = 64 * 1024

// errLong is a line over maxLine; the rest of it was skipped.
var errLong = errors.New("that line is too long")

// Lines reads lines for prompts that may be taken back. One Lines owns its reader for as long as the reader lives: a
// read that is under way when its prompt ends cannot be called off, and its line must not become the answer to the next
// prompt. It is dropped, and the next prompt says so.
//
// One prompt at a time may read. The goroutine that reads ends with the input or with Close.
type Lines struct {
	in *bufio.Reader

	mu    sync.Mutex
	want  chan struct{} // asks the goroutine for a line; nil before the first
	got   chan line
	owed  bool // a read is under way whose prompt is over
	ended bool
}

type line struct {
	text string
	err  error
}

// NewLines takes over in.
func NewLines(in io.Reader) *Lines {
	r, ok := in.(*bufio.Reader)
	if !ok {
		r = bufio.NewReader(in)
	}
	return &Lines{in: r}
}

// Read is the next line without its end. It returns ErrEnded for the end of the input, also within a line: a line that
// nobody finished says nothing. When ctx ends first, it returns its cause.
func (l *Lines) Read(ctx context.Context) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return "", ErrEnded
	}
	if err := context.Cause(ctx); err != nil {
		return "", err
	}
	if l.want == nil {
		l.want, l.got = make(chan struct{}, 1), make(chan line, 1)
		go l.run()
	}
	stale := l.owed
	if !stale {
		l.want <- struct{}{}
	}
	select {
	case got := <-l.got:
		l.owed = false
		if errors.Is(got.err, ErrEnded) {
			l.ended = true
			close(l.want)
			return "", ErrEnded
		}
		if stale {
			return "", errStale
		}
		return got.text, got.err
	case <-ctx.Done():
		l.owed = true
		return "", context.Cause(ctx)
	}
}

// Close ends the goroutine, at the latest when a read that is under way has its line. Read returns ErrEnded from then
// on. It must not be called while a prompt reads.
func (l *Lines) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended && l.want != nil {
		close(l.want)
	}
	l.ended = true
}

func (l *Lines) run() {
	for range l.want {
		text, err := l.next()
		l.got <- line{text, err}
	}
}

// next reads to the end of a line, keeping no more of it than maxLine.
func (l *Lines) next() (string, error) {
	var b strings.Builder
	for {
		part, err := l.in.ReadSlice('\n')
		if b.Len() <= maxLine {
			b.Write(part)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return "", ErrEnded
		case b.Len() > maxLine:
			return "", errLong
		}
		return strings.TrimSuffix(strings.TrimSuffix(b.String(), "\n"), "\r"), nil
	}
}
