package host

import (
	"bufio"
	"encoding/binary"
	"errors"
	"net"
	"net/http"

	"askback/protocol"
)

// errFragments is what a connection ends with that sends a message in too many fragments.
var errFragments = errors.New("message in too many fragments")

// fragmentGuard upgrades to connections that count the fragments of each message. The WebSocket library joins them and
// tells nobody how many there were; empty ones could go on for ever without reaching its limit.
type fragmentGuard struct{ http.ResponseWriter }

// Hijack implements http.Hijacker.
func (g fragmentGuard) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(g.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	return &fragmentConn{Conn: c}, rw, nil
}

// fragmentConn reads WebSocket frames of a client. One goroutine reads.
type fragmentConn struct {
	net.Conn
	header    [14]byte // of the frame that is being read, as far as it has come
	got       int
	left      uint64 // payload bytes still to come
	fragments int    // of the message that is being read
}

func (c *fragmentConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if !c.follow(p[:n]) {
		return 0, errFragments
	}
	return n, err
}

// follow takes in what was read. It reports false once a message has too many fragments.
func (c *fragmentConn) follow(b []byte) bool {
	for len(b) > 0 {
		if c.left > 0 {
			n := min(c.left, uint64(len(b)))
			c.left, b = c.left-n, b[n:]
			continue
		}
		c.header[c.got] = b[0]
		c.got++
		b = b[1:]
		payload, whole := framePayload(c.header[:c.got])
		if !whole {
			continue
		}
		c.got, c.left = 0, payload
		if !c.count(c.header[0]) {
			return false
		}
	}
	return true
}

// count counts a frame by its first byte. Control frames may come between the fragments of a message.
func (c *fragmentConn) count(first byte) bool {
	const final, control = 0x80, 0x08
	if first&control != 0 {
		return true
	}
	c.fragments++
	if c.fragments > protocol.MaxFragments {
		return false
	}
	if first&final != 0 {
		c.fragments = 0
	}
	return true
}

// framePayload reads the length of a frame's payload, once its header is whole.
func framePayload(h []byte) (n uint64, whole bool) {
	if len(h) < 2 {
		return 0, false
	}
	size, short := 2, h[1]&0x7f
	switch short {
	case 126:
		size += 2
	case 127:
		size += 8
	}
	mask := 0
	if h[1]&0x80 != 0 {
		mask = 4
	}
	if len(h) < size+mask {
		return 0, false
	}
	switch short {
	case 126:
		return uint64(binary.BigEndian.Uint16(h[2:])), true
	case 127:
		return binary.BigEndian.Uint64(h[2:]), true
	}
	return uint64(short), true
}
