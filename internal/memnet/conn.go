// Package memnet is a buffered network inside the process: a net.Listener and net.Conn pair for the embedded Host and
// for tests in a synctest bubble. Unlike net.Pipe a write does not wait for the reader until the buffer is full, as with
// a socket. Tests can cut a connection or let it go silent.
package memnet

import (
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// BufferSize is how many unread bytes a direction holds before a write waits, about what two socket buffers hold.
const BufferSize = 1 << 20

// Addr is the address of an end: a name and a number, "NAME:7".
type Addr struct {
	Name string
	N    int64
}

// Network is "memory".
func (Addr) Network() string { return "memory" }

// String is NAME:N, which net.SplitHostPort can take apart.
func (a Addr) String() string { return net.JoinHostPort(a.Name, strconv.FormatInt(a.N, 10)) }

var lastAddr atomic.Int64

// Conn is one end of a connection. All methods may be called concurrently.
type Conn struct {
	in, out       *half
	local, remote Addr
	closed        sync.Once
	onClose       func()
}

// Pipe returns the two ends of a new connection.
func Pipe() (*Conn, *Conn) { return pipe("pipe") }

func pipe(name string) (*Conn, *Conn) {
	a, b := newHalf(BufferSize), newHalf(BufferSize)
	here, there := Addr{name, lastAddr.Add(1)}, Addr{name, lastAddr.Add(1)}
	return &Conn{in: a, out: b, local: here, remote: there}, &Conn{in: b, out: a, local: there, remote: here}
}

// Read reads what is there, or waits. After the other end's Close it returns what was written before, then io.EOF;
// after a Cut, ECONNRESET.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.in.readInto(p)
	return n, c.wrap("read", err)
}

// Write queues p, waiting while the buffer is full.
func (c *Conn) Write(p []byte) (int, error) {
	n, err := c.out.writeFrom(p)
	return n, c.wrap("write", err)
}

func (c *Conn) wrap(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return &net.OpError{Op: op, Net: c.local.Network(), Source: c.local, Addr: c.remote, Err: err}
}

// Close ends this end. The other end reads what is queued for it and then io.EOF.
func (c *Conn) Close() error {
	c.closed.Do(func() {
		c.in.change(func() { c.in.readerClosed = true })
		c.out.change(func() { c.out.writerClosed = true })
		// Each end owns one deadline of each direction, and clearing them here lets no timer outlive the connection.
		c.in.setDeadline(&c.in.read, time.Time{})
		c.out.setDeadline(&c.out.write, time.Time{})
		if c.onClose != nil {
			c.onClose()
		}
	})
	return nil
}

// Cut breaks the connection as a reset does: what is queued is lost, both ends fail at once, with ECONNRESET.
func (c *Conn) Cut() {
	for _, h := range []*half{c.in, c.out} {
		h.change(func() { h.reset, h.held = true, false })
	}
}

// Silence makes the connection half-open, as after a sleep or a dead route: writes are taken until the buffer is full,
// nothing arrives, and neither end learns that the other has closed. Resume ends it and delivers what was held.
func (c *Conn) Silence() {
	for _, h := range []*half{c.in, c.out} {
		h.change(func() { h.held = true })
	}
}

// Resume ends a Silence.
func (c *Conn) Resume() {
	for _, h := range []*half{c.in, c.out} {
		h.change(func() { h.held = false })
	}
}

// LocalAddr is this end's address.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr is the other end's address.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline sets both deadlines; the zero time means none.
func (c *Conn) SetDeadline(t time.Time) error {
	c.in.setDeadline(&c.in.read, t)
	c.out.setDeadline(&c.out.write, t)
	return nil
}

// SetReadDeadline makes reads fail with os.ErrDeadlineExceeded from t on.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.in.setDeadline(&c.in.read, t)
	return nil
}

// SetWriteDeadline makes writes fail with os.ErrDeadlineExceeded from t on.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.out.setDeadline(&c.out.write, t)
	return nil
}
