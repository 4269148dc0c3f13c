package screen

import (
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/internal/inspect"
	"askback/mcpmgr"
	"askback/tui/kit"
)

// maxNews is how many lines are kept.
const maxNews = 2000

// newsLine is a change notice or a log message.
type newsLine struct {
	at           time.Time
	server, text string
	full         string // what enter shows
}

func (m *Model) addNews(e inspect.Noticed) {
	n := newsLine{at: e.Event.Time, server: e.Event.Server}
	switch ev := e.Event; ev.Kind {
	case mcpmgr.EventLog:
		data := string(ev.Log.Data)
		n.text = strings.TrimSpace("["+ev.Log.Level+"] "+ev.Log.Logger) + " " + data
		n.full = inspect.Pretty(ev.Log.Data)
	case mcpmgr.EventResourceUpdated:
		n.text = "updated: " + ev.URI
	default:
		n.text = "changed: " + strings.TrimSuffix(string(ev.Kind), "/list_changed")
	}
	if n.at.IsZero() {
		n.at = m.now()
	}
	if n.full == "" {
		n.full = n.text
	}
	n.text = forms.Line(n.text[:min(len(n.text), 4096)])
	m.news = append(m.news, n)
	if len(m.news) >= 2*maxNews {
		m.news = append([]newsLine(nil), m.news[len(m.news)-maxNews:]...)
	}
}

// newsList lists what servers told by themselves.
type newsList struct{ all []newsLine }

func (s *newsList) gather(m *Model, filter string) int {
	s.all = nil
	for _, n := range m.news {
		if matches(filter, n.server+" "+n.text) {
			s.all = append(s.all, n)
		}
	}
	return len(s.all)
}

func (s *newsList) row(m *Model, i, w int) string {
	n := s.all[i]
	lead := ""
	if w >= 60 {
		lead = m.th.Dim.Render(n.at.Format("15:04:05")) + " "
	}
	if len(m.ins.Names()) > 1 {
		lead += forms.Line(n.server) + " "
	}
	return kit.Clip(lead+n.text, w)
}

func (s *newsList) key(k tea.KeyMsg, m *Model, i int) tea.Cmd {
	switch kit.KeyName(k) {
	case "enter":
		if i >= 0 {
			m.push(&describePage{name: "news of " + s.all[i].server, parts: []part{{"", s.all[i].full}}, copies: "it", call: (*Model).pop})
		}
	case "l":
		names := m.ins.Names()
		if i >= 0 {
			names = []string{s.all[i].server}
		}
		m.push(&levels{server: names[0]})
	}
	return nil
}

func (s *newsList) hints(*Model) []kit.Hint {
	return []kit.Hint{{"enter", "in full"}, {"l", "log level"}}
}

func (s *newsList) empty(m *Model) string {
	var without []string
	for _, n := range m.ins.Names() {
		if t := m.status[n].Notices; t != "" {
			without = append(without, forms.Line(n)+": "+forms.Line(t))
		}
	}
	return strings.Join(append([]string{"no log message and no change notice yet; l chooses a log level"}, without...), "\n")
}
