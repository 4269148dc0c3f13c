package mcpmgr

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// sseReader reads the events of a text/event-stream body.
type sseReader struct {
	r     *bufio.Reader
	limit int           // bytes of one event, comments and all
	id    string        // of the last event that had one
	retry time.Duration // what the server asks to wait before a stream is resumed; 0: nothing asked
}

func newSSEReader(r io.Reader, limit int) *sseReader {
	return &sseReader{r: bufio.NewReaderSize(r, 16<<10), limit: limit}
}

// next returns the data of the next event that has any. An event that the stream breaks off in is
// not one: the error is io.ErrUnexpectedEOF then and io.EOF at the end of a whole stream.
func (s *sseReader) next() ([]byte, error) {
	var data []byte
	size, any := 0, false
	for {
		line, err := s.line(&size)
		if err != nil {
			if errors.Is(err, io.EOF) && (any || len(line) > 0) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if len(line) == 0 { // the end of an event
			if any && len(data) > 0 {
				return data[:len(data)-1], nil
			}
			data, size, any = data[:0], 0, false
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			any = true
			if len(value) > 0 || len(data) > 0 {
				data = append(append(data, value...), '\n')
			}
		case "id":
			if bytes.IndexByte(value, 0) < 0 {
				s.id = string(value)
			}
		case "retry":
			if n, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				s.retry = time.Duration(n) * time.Millisecond
			}
		case "": // a comment: keep-alives may go on for ever, so they do not count
			size -= len(line)
		}
	}
}

// line reads one line without its end, counting it into size.
func (s *sseReader) line(size *int) ([]byte, error) {
	var line []byte
	for {
		part, err := s.r.ReadSlice('\n')
		if *size += len(part); *size > s.limit {
			return nil, &errTooLarge{fmt.Sprintf("an event of the server's reply is over the limit of %d bytes", s.limit)}
		}
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return line, err
		}
		return bytes.TrimSuffix(line[:len(line)-1], []byte("\r")), nil
	}
}
