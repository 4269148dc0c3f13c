package mcpmgr

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"
)

// slogger is a logger that drops everything where none was given.
type slogger struct{ *slog.Logger }

func newSlogger(l *slog.Logger) *slogger {
	if l == nil {
		l = slog.New(slog.DiscardHandler)
	}
	return &slogger{l}
}

// events are the session's ears for what a link hears.
func (s *session) events() peerEvents {
	ev := peerEvents{
		note:      s.note,
		arrived:   s.pushBegins,
		uninvited: s.uninvited,
		redact:    s.recent.text,
		drop: func(what string, args ...any) {
			for i, a := range args {
				if text, ok := a.(string); ok {
					args[i] = clipText(s.recent.text(text), 300)
				}
			}
			s.log.Debug("dropped", append([]any{"server", s.server, "what", what}, args...)...)
		},
	}
	if s.opt.Tap != nil {
		ev.tap = s.tap
	}
	return ev
}

// note handles a notification. from is the request on whose stream it came, where that is known.
func (s *session) note(from *request, method string, params json.RawMessage) {
	if from != nil && from.note != nil {
		from.note(method, params)
	}
	switch method {
	case "notifications/progress":
		s.noteProgress(params)
	case "notifications/message":
		if from == nil || from.call == 0 {
			s.noteLog(params)
		}
	case "notifications/subscriptions/acknowledged", "notifications/tools/list_changed", "notifications/prompts/list_changed",
		"notifications/resources/list_changed", "notifications/resources/updated", "notifications/cancelled":
		s.noteChange(method, params)
	default:
		s.log.Debug("notification without use", "server", s.server, "method", clipText(s.recent.text(method), 100))
	}
}

// noteProgress finds the leg by its token; a token of no leg that is on the wire is nobody's.
func (s *session) noteProgress(params json.RawMessage) {
	tok, _ := lookup(params, "progressToken")
	token, ok := stringValue(tok)
	s.mu.Lock()
	f := s.progress[token]
	s.mu.Unlock()
	if !ok || f == nil {
		s.log.Debug("progress of no leg on the wire", "server", s.server)
		return
	}
	f(params)
}

func (s *session) onProgress(token string, f func(json.RawMessage)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.progress == nil {
		s.progress = map[string]func(json.RawMessage){}
	}
	s.progress[token] = f
}

func (s *session) offProgress(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.progress, token)
}

func (s *session) readLog(params json.RawMessage) LogMessage {
	ms, _ := members(params)
	m := LogMessage{Server: s.server}
	if v, ok := find(ms, "level"); ok {
		m.Level, _ = stringValue(v)
	}
	if v, ok := find(ms, "logger"); ok {
		text, _ := stringValue(v)
		m.Logger = s.recent.text(text)
	}
	if v, ok := find(ms, "data"); ok {
		m.Data = hideStates(v, 1).raw
	}
	return m
}

func (s *session) noteLog(params json.RawMessage) {
	if s.opt.Inspect == nil {
		return
	}
	m := s.readLog(params)
	m.Data = json.RawMessage(s.recent.json(m.Data))
	s.event(Event{Kind: EventLog, Log: m})
}

func (s *session) event(e Event) {
	if s.opt.Inspect == nil || s.opt.Inspect.Event == nil {
		return
	}
	e.Time, e.Server, e.URI = time.Now(), s.server, s.recent.text(e.URI)
	s.opt.Inspect.Event(e)
}

// uninvited decides about a request of the server's own: dropped on a modern connection; on a
// legacy one ping is answered, and everything else only for an inspector that declared it.
func (s *session) uninvited(ctx context.Context, from *request, method string, params json.RawMessage) (json.RawMessage, int64, string, bool) {
	if s.eraNow() != EraLegacy {
		s.log.Warn("a request of the server's own was dropped", "server", s.server, "method", clipText(s.recent.text(method), 100))
		return nil, 0, "", false
	}
	if method == "ping" {
		return json.RawMessage("{}"), 0, "", true
	}
	if s.opt.Inspect != nil {
		if result, code, msg, ok := s.pushed(ctx, method, params); ok {
			return result, code, msg, context.Cause(ctx) != errTakenBack // who took a request back wants no answer
		}
	}
	s.log.Warn("a request of the server's own was refused", "server", s.server, "method", clipText(s.recent.text(method), 100))
	return nil, -32601, "this client answers no requests of this kind", true
}
