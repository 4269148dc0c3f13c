package tui

import (
	"cmp"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/tui/hostview"
	"askback/tui/kit"
)

// sessionlist chooses, creates and removes sessions.
type sessionlist struct {
	list
	name   *editor // not nil while a new session is named
	filter editor
}

func newSessionList(m *Model) *sessionlist {
	s := &sessionlist{filter: editor{limit: 64}}
	for i, e := range s.shown(m) {
		if e.ID == m.open {
			s.at = i
		}
	}
	return s
}

func (s *sessionlist) title() string {
	if s.name != nil {
		return "new session"
	}
	return "sessions"
}

// shown are the sessions that match the filter, in the Host's order.
func (s *sessionlist) shown(m *Model) []hostview.Session {
	var out []hostview.Session
	for _, e := range m.sessions {
		if matches(s.filter.String(), e.Name+" "+e.ID) {
			out = append(out, e)
		}
	}
	return out
}

// matches says whether every word of filter is in text.
func matches(filter, text string) bool {
	text = strings.ToLower(text)
	for word := range strings.FieldsSeq(strings.ToLower(filter)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

func (s *sessionlist) key(k tea.KeyMsg, v view) action {
	if s.name != nil {
		return s.nameKey(k)
	}
	all := s.shown(v.m)
	s.clamp(len(all))
	key := kit.KeyName(k)
	if s.list.key(key, max(1, v.h-3)) {
		return nil
	}
	switch key {
	case "esc", "ctrl+g", "ctrl+c":
		if key == "esc" && !s.filter.empty() {
			s.filter.set("")
			return nil
		}
		return doClose{}
	case "enter":
		if len(all) > 0 {
			return doThen{doClose{}, doSession{all[s.at].ID}}
		}
	case "ctrl+t":
		s.name = &editor{limit: 128}
	case "ctrl+x":
		if len(all) > 0 {
			return doOpen{removeSession(all[s.at], v.now)}
		}
	default:
		s.filter.key(k)
		s.at = 0
	}
	return nil
}

func (s *sessionlist) nameKey(k tea.KeyMsg) action {
	switch kit.KeyName(k) {
	case "esc", "ctrl+c":
		s.name = nil
	case "enter":
		if name := strings.TrimSpace(s.name.String()); name != "" {
			return doThen{doClose{}, doCreate{name}}
		}
	default:
		s.name.key(k)
	}
	return nil
}

func removeSession(s hostview.Session, now time.Time) dialog {
	return &confirm{
		name: "remove session " + forms.Line(s.Name),
		text: []string{
			"Remove the session \"" + forms.Line(s.Name) + "\" from the Host, with its transcript and the answers that were given in it?",
			"This cannot be undone.",
		},
		yes: "remove it", then: doRemove{s.ID}, keys: kit.Guarded(now),
	}
}

func (s *sessionlist) rows(v view) []string {
	if s.name != nil {
		return []string{
			"  Name of the new session:",
			"  " + v.th.Focus.Render(">") + " " + s.name.view(v.w-5, 1, true, v.th.Cursor.Render)[0],
			"",
			v.th.Dim.Render(kit.Clip("  It gets the Host's default mode.", v.w)),
		}
	}
	all := s.shown(v.m)
	s.clamp(len(all))
	out := []string{filterRow(&s.filter, v)}
	if len(all) == 0 {
		return append(out, v.th.Dim.Render("  no session "+none(&s.filter)))
	}
	return append(out, s.draw(v.w, v.h-1, v.th, func(i, w int) string { return sessionRow(all[i], w, v) })...)
}

// none says why a list is empty.
func none(filter *editor) string {
	if filter.empty() {
		return "here yet"
	}
	return "matches; esc clears the filter"
}

func filterRow(e *editor, v view) string {
	if e.empty() {
		return v.th.Dim.Render("  type to filter")
	}
	return "  " + v.th.Dim.Render("filter:") + " " + e.view(v.w-12, 1, true, v.th.Cursor.Render)[0]
}

func sessionRow(e hostview.Session, w int, v view) string {
	mark := "  "
	if e.ID == v.m.open {
		mark = v.th.Glyphs.Chosen + " "
	}
	right := sessionStatus(e.Status)
	if e.Mode == hostview.ModeBypass {
		right += " bypass"
	}
	if w >= 70 && !e.LastUsed.IsZero() {
		right += "  " + ago(v.now.Sub(e.LastUsed))
	}
	name := forms.Line(cmp.Or(e.Name, e.ID))
	left := mark + clipMiddle(name, max(8, w-kit.Width(right)-4))
	right = strings.TrimSpace(right)
	if e.Status == hostview.StatusWaitingForUser {
		return kit.Spread(left, v.th.Warn.Render(right), w)
	}
	return kit.Spread(left, v.th.Dim.Render(right), w)
}

// sessionStatus says a status in words.
func sessionStatus(s string) string {
	switch s {
	case hostview.StatusWaitingForUser:
		return "waits for you"
	case "active", "":
		return ""
	}
	return forms.Line(s)
}

func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return kit.Count(int(d/time.Minute), "minute", "minutes") + " ago"
	case d < 48*time.Hour:
		return kit.Count(int(d/time.Hour), "hour", "hours") + " ago"
	}
	return kit.Count(int(d/(24*time.Hour)), "day", "days") + " ago"
}

func (s *sessionlist) hints(v view) []kit.Hint {
	if s.name != nil {
		return []kit.Hint{{"enter", "create"}, {"esc", "back"}}
	}
	if len(s.shown(v.m)) == 0 {
		return []kit.Hint{{"ctrl+t", "new"}, {"esc", "back"}}
	}
	return []kit.Hint{{"enter", "open"}, {"ctrl+t", "new"}, {"ctrl+x", "remove"}, {"esc", "back"}}
}
