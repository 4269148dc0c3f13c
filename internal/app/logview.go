package app

import (
	"context"
	"log/slog"
	"strings"

	"askback/tui/hostview"
)

// viewLines is how many lines may wait for the log view. It is a view: what does not fit is not shown.
const viewLines = 256

// viewHandler is a slog.Handler that shows records in the terminal's log view and passes them on to another
// handler, if there is one.
type viewHandler struct {
	lines chan hostview.LogEntry
	next  slog.Handler
	attrs string // of With, rendered
}

func newViewHandler(next slog.Handler) *viewHandler {
	return &viewHandler{lines: make(chan hostview.LogEntry, viewLines), next: next}
}

// Enabled shows what happens, and leaves the detail to the file.
func (h *viewHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelInfo || h.next.Enabled(ctx, l)
}

func (h *viewHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelInfo {
		var b strings.Builder
		b.WriteString(r.Message)
		b.WriteString(h.attrs)
		r.Attrs(func(a slog.Attr) bool {
			b.WriteString(renderAttr(a))
			return true
		})
		select {
		case h.lines <- hostview.LogEntry{Time: r.Time, Level: r.Level.String(), Text: b.String()}:
		default:
		}
	}
	if h.next.Enabled(ctx, r.Level) {
		return h.next.Handle(ctx, r)
	}
	return nil
}

func renderAttr(a slog.Attr) string { return " " + a.Key + "=" + a.Value.String() }

func (h *viewHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	for _, a := range attrs {
		c.attrs += renderAttr(a)
	}
	c.next = h.next.WithAttrs(attrs)
	return &c
}

func (h *viewHandler) WithGroup(name string) slog.Handler {
	c := *h
	c.next = h.next.WithGroup(name)
	return &c
}
