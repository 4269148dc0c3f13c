package inspect

import (
	"bufio"
	"encoding/json"
	"io"
	"time"
)

// line is one line of an export.
type line struct {
	Seq        int             `json:"seq"`
	Time       string          `json:"time"`
	Server     string          `json:"server"`
	Direction  string          `json:"direction"`
	ID         json.RawMessage `json:"id,omitempty"`
	Method     string          `json:"method,omitempty"`
	Response   bool            `json:"response,omitempty"`
	Size       int             `json:"size"`
	Call       uint64          `json:"call,omitempty"`
	Leg        int             `json:"leg,omitempty"`
	StateBytes *int            `json:"stateBytes,omitempty"`
	Echoed     *bool           `json:"stateEchoed,omitempty"`
	Message    json.RawMessage `json:"message,omitempty"`
	NotKept    bool            `json:"notKept,omitempty"`
}

// Export writes the messages that fit the filter as JSON lines, oldest first. Answers are taken out unless values is
// set; the text of a requestState is in no message to begin with.
func (l *Log) Export(w io.Writer, f Filter, values bool) error {
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for _, m := range l.Messages {
		if !f.Fits(m) {
			continue
		}
		raw := m.Raw
		if !values {
			raw = l.Redact(m)
		}
		if err := enc.Encode(exportLine(m, raw)); err != nil {
			return err
		}
	}
	return out.Flush()
}

func exportLine(m *Message, raw json.RawMessage) line {
	l := line{Seq: m.Seq, Time: m.Time.UTC().Format(time.RFC3339Nano), Server: m.Server, Direction: "received",
		ID: json.RawMessage(m.ID), Method: m.Method, Response: m.Response, Size: m.Size, Call: m.Call, Leg: m.Leg,
		Message: raw, NotKept: m.Raw == nil}
	if m.Sent {
		l.Direction = "sent"
	}
	if m.StateBytes >= 0 {
		n := m.StateBytes
		l.StateBytes = &n
		if m.Sent {
			e := m.Echoed
			l.Echoed = &e
		}
	}
	return l
}
