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
	begun bool          // the first line, before which a byte order mark may stand, was read
	wasCR bool          // the last line ended with a carriage return: a newline right after it belongs to that end
	id    string        // of the last event that had one and is whole: what a stream is resumed after
	given string        // the last id that was read, of an event that may break off yet
	retry time.Duration // what the server asks to wait before a stream is resumed; 0: nothing asked
}

func newSSEReader(r io.Reader, limit int) *sseReader {
	return &sseReader{r: bufio.NewReaderSize(r, 16<<10), limit: limit}
}

// next returns the data of the next event that has any and is a message: events of other types, such
// as the pings of some servers, mean nothing here. An event that the stream breaks off in is not
// one: the error is io.ErrUnexpectedEOF then and io.EOF at the end of a whole stream.
func (s *sseReader) next() ([]byte, error) {
	var data []byte
	size, any, typ := 0, false, ""
	for {
		line, err := s.line(&size)
		if err != nil {
			if errors.Is(err, io.EOF) && (any || len(line) > 0) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if len(line) == 0 { // the end of an event
			s.id = s.given
			if any && len(data) > 0 && (typ == "" || typ == "message") {
				return data[:len(data)-1], nil
			}
			data, size, any, typ = data[:0], 0, false, ""
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
		case "event":
			typ = string(value)
		case "id":
			if bytes.IndexByte(value, 0) < 0 {
				s.given = string(value)
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

// line reads one line without its end, which is a newline, a carriage return, or both. It does not
// wait for what may follow a carriage return. size counts the bytes of lines, without their ends.
func (s *sseReader) line(size *int) ([]byte, error) {
	var line []byte
	for {
		if _, err := s.r.Peek(1); err != nil {
			return line, err
		}
		part, _ := s.r.Peek(s.r.Buffered())
		if s.wasCR {
			s.wasCR = false
			if part[0] == '\n' {
				_, _ = s.r.Discard(1)
				continue
			}
		}
		n := len(part)
		end := bytes.IndexAny(part, "\r\n")
		if end >= 0 {
			s.wasCR = part[end] == '\r'
			part, n = part[:end], end+1
		}
		if *size += len(part); *size > s.limit {
			return nil, &errTooLarge{fmt.Sprintf("an event of the server's reply is over the limit of %d bytes", s.limit)}
		}
		line = append(line, part...)
		_, _ = s.r.Discard(n)
		if end < 0 {
			continue
		}
		if !s.begun {
			s.begun = true
			line = bytes.TrimPrefix(line, bom)
		}
		return line, nil
	}
}
