package app

import (
	"encoding/json"
	"io"
)

// printJSON writes one JSON value and a line feed. Nothing is escaped that JSON does not ask for.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
