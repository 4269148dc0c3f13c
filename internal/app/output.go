package app

import (
	"encoding/json"
	"io"
	"os"
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

// fileOf is the file below a standard stream, or nil where it is none.
func fileOf(stream any) *os.File {
	if o, ok := stream.(*output); ok {
		stream = o.w
	}
	f, _ := stream.(*os.File)
	return f
}
