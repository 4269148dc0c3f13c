package app

import (
	"fmt"
	"io"
	"log/slog"
	"os"
)

// logger opens the log that --log-file names, or writes to otherwise (nil discards). close is never nil.
func (g *globals) logger(otherwise io.Writer) (log *slog.Logger, close func(), err error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(g.logLevel)); err != nil {
		return nil, nil, usagef(fmt.Errorf("--log-level %q: the levels are debug, info, warn and error", g.logLevel))
	}
	w, close := otherwise, func() {}
	if g.logFile != "" {
		f, err := os.OpenFile(g.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, nil, usagef(fmt.Errorf("--log-file: %w", err))
		}
		w, close = f, func() { f.Close() }
	}
	if w == nil {
		return slog.New(slog.DiscardHandler), close, nil
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level})), close, nil
}
