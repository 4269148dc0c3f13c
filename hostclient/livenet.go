package hostclient

import (
	"net"
	"sync/atomic"
	"time"
)

// heardConn notes when bytes last came in, so that a slow large frame counts as life.
type heardConn struct {
	net.Conn
	start time.Time
	heard atomic.Int64 // since start
}

func newHeardConn(c net.Conn) *heardConn { return &heardConn{Conn: c, start: time.Now()} }

func (c *heardConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.heard.Store(int64(time.Since(c.start)))
	}
	return n, err
}

// silence is how long nothing has come in.
func (c *heardConn) silence() time.Duration {
	return time.Since(c.start) - time.Duration(c.heard.Load())
}
