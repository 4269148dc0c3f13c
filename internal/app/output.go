package app

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// printJSON writes one JSON value and a line feed. Nothing is escaped that JSON does not ask for.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// output is standard output. It remembers that a write failed, so that a run whose output is lost does not succeed.
type output struct {
	w   io.Writer
	err error // the first
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}

// unwritten is why standard output is lost, for a command that goes on after it has written something; nil while it is
// not.
func (e *env) unwritten() error {
	if o, ok := e.stdout.(*output); ok && o.err != nil {
		return &exitError{code: exitFailed, err: fmt.Errorf("the output cannot be written: %w", o.err)}
	}
	return nil
}

// unbroken is the same file under another number. A write to a pipe that nobody reads any more fails there, while one
// to standard output or standard error ends the process: a call in the middle, a Host or a provider, for a line that
// only tells.
func unbroken(f *os.File) *os.File {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return f
	}
	return os.NewFile(uintptr(fd), f.Name())
}

// fileOf is the file below a standard stream, or nil where it is none.
func fileOf(stream any) *os.File {
	if o, ok := stream.(*output); ok {
		stream = o.w
	}
	f, _ := stream.(*os.File)
	return f
}
