package testhost39

import (
	"net"
	"sync/atomic"

	"askback/protocol"
)

// floodListener makes connections that watch for floods.
type floodListener struct{ net.Listener }

func (l floodListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &floodConn{Conn: c}, nil
}

// readSize is how much the real Host takes from the network at once.
const readSize = 64 << 10

// floodConn counts the messages that come in one read, all of which wait at once:
// the real Host drops a connection that has more than 64 unprocessed ones. Large
// messages never do that. Reads are the connection's own goroutine's.
type floodConn struct {
	net.Conn
	upgraded atomic.Bool // WebSocket frames from here on
	flooded  atomic.Bool

	header    []byte
	left      int  // payload bytes of the frame that is being read
	last      bool // it is the last of a message
	fragments int  // of the message that is being read
}

func (c *floodConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p[:min(len(p), readSize)])
	// One is being processed while the others wait.
	if c.upgraded.Load() && (c.count(p[:n]) > protocol.MaxInboundFrames+1 || c.fragments > protocol.MaxFragments) {
		c.flooded.Store(true)
		_ = c.Close()
		return 0, net.ErrClosed
	}
	return n, err
}

// count counts the messages that end in b.
func (c *floodConn) count(b []byte) (messages int) {
	for len(b) > 0 {
		if c.left > 0 {
			n := min(c.left, len(b))
			c.left, b = c.left-n, b[n:]
			if c.left == 0 && c.last {
				messages++
			}
			continue
		}
		c.header, b = append(c.header, b[0]), b[1:]
		size, payload, whole := frameHeader(c.header)
		if !whole || len(c.header) < size {
			continue
		}
		c.fragment(c.header[0])
		c.header, c.left = c.header[:0], payload
		if payload == 0 && c.last {
			messages++
		}
	}
	return messages
}

// fragment takes in a frame by its first byte. Past the limit the number of fragments stays.
func (c *floodConn) fragment(first byte) {
	data, final := first&0x08 == 0, first&0x80 != 0
	c.last = data && final
	if data && c.fragments <= protocol.MaxFragments {
		c.fragments++
	}
	if c.last && c.fragments <= protocol.MaxFragments {
		c.fragments = 0
	}
}

// frameHeader reads the size of a header and of its payload, once it is there.
func frameHeader(h []byte) (size, payload int, whole bool) {
	if len(h) < 2 {
		return 0, 0, false
	}
	size, payload = 2, int(h[1]&0x7f)
	extra := map[int]int{126: 2, 127: 8}[payload]
	if len(h) < size+extra {
		return 0, 0, false
	}
	if extra > 0 {
		payload = 0
		for _, b := range h[size : size+extra] {
			payload = payload<<8 | int(b)
		}
	}
	size += extra
	if h[1]&0x80 != 0 {
		size += 4
	}
	return size, payload, true
}
