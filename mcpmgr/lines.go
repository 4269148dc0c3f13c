package mcpmgr

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// bom is the byte order mark that some programs begin their output with, or each line of it.
var bom = []byte("\xef\xbb\xbf")

var (
	errNoRequest = errors.New("it is a reply to no request")
	errRepeated  = errors.New("it is a request under an id that its batch has given to another")
	errOddID     = errors.New("it is a request whose id cannot be given back as it is")
)

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
	alone func(e *jsonrpc.Error) bool // nil, or gives an error without an id to whom it must be for; false: nobody
	asked func(a *asking)             // nil, or takes a request whose id the SDK would give back as another
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
			f.line = f.batch(msgs)
			return
		}
	}
	if m := f.pass(line); m != nil {
		f.line = append(m, '\n') // it may share f.buf, which nobody reads any more
	}
}

// batch passes on what is good in a batch, so that one bad element keeps no reply from its request.
func (f *lineFilter) batch(msgs []json.RawMessage) []byte {
	var good [][]byte
	asked := map[string]bool{}
	for _, m := range msgs {
		if m = f.pass(m); m == nil {
			continue
		}
		if id := askedUnder(m); id != "" {
			if asked[id] {
				f.noise(m, errRepeated) // the SDK refuses all of the batch for it
				continue
			}
			asked[id] = true
		}
		good = append(good, m)
	}
	switch len(good) {
	case 0:
		return nil
	case 1:
		return append(bytes.Clone(good[0]), '\n')
	}
	return slices.Concat([]byte("["), bytes.Join(good, []byte(",")), []byte("]\n"))
}

// askedUnder is the id of a request that passed, in one spelling, or "".
func askedUnder(raw []byte) string {
	m, err := parseMessage(raw)
	if err != nil || m.response() || m.id == nil {
		return ""
	}
	if text, ok := stringValue(m.id); ok {
		return string(quoteString(text))
	}
	n, _ := idNumber(m.id)
	return strconv.FormatInt(n, 10)
}

// pass is one message as the SDK is to have it, or nil where it is none.
func (f *lineFilter) pass(raw []byte) []byte {
	m, err := parseMessage(raw)
	switch {
	case err != nil && m != nil && m.response() && m.id != nil:
		if id, ok := m.number(); ok {
			f.bad(id, err)
			return nil
		}
	case err != nil:
		if odd, ok := errors.AsType[*oddError](err); ok && m != nil && f.orphan(odd.rpc()) {
			return nil
		}
	case !m.response():
		if m.id == nil || keepsID(m.id) {
			return raw
		}
		if f.asked != nil { // cloned: it is answered while the next line is read
			f.asked(&asking{raw: bytes.Clone(m.id), method: m.method, params: bytes.Clone(m.params)})
			return nil
		}
		err = errOddID
	case m.id == nil:
		if f.orphan(m.err) {
			return nil
		}
		err = errNoRequest
	default:
		if _, ok := m.number(); ok && m.err == nil {
			return raw
		} else if ok {
			return encodeError(m)
		}
		err = errNoRequest
	}
	f.noise(raw, err)
	return nil
}

// orphan gives an error without an id to whom it must be for. The data is cloned: it is read while the next line is.
func (f *lineFilter) orphan(e *jsonrpc.Error) bool {
	if e == nil || f.alone == nil {
		return false
	}
	return f.alone(&jsonrpc.Error{Code: e.Code, Message: e.Message, Data: bytes.Clone(e.Data)})
}

// keepsID reports whether the SDK gives an id of the server's back as it was: it holds numbers as whole ones, and no
// lone surrogates in text.
func keepsID(id json.RawMessage) bool {
	if text, ok := stringValue(id); ok {
		return !strings.ContainsRune(text, utf8.RuneError)
	}
	f, err := strconv.ParseFloat(string(id), 64)
	return err == nil && f == math.Trunc(f) && math.Abs(f) <= safeInteger
}

// encodeError writes an error as the SDK reads it: servers spell them in more ways.
func encodeError(m *message) []byte {
	b, _ := json.Marshal(m.err) // a code, a text and what was valid JSON
	return slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), m.id, []byte(`,"error":`), b, []byte("}"))
}
