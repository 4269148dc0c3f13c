package screen

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/internal/inspect"
	"askback/mcpmgr"
	"askback/mcpmgr/config"
	"askback/tui/kit"
)

// servers is the list of open servers.
type servers struct{ names []string }

func (s *servers) gather(m *Model, filter string) int {
	s.names = nil
	for _, n := range m.ins.Names() {
		if matches(filter, n) {
			s.names = append(s.names, n)
		}
	}
	return len(s.names)
}

func (s *servers) row(m *Model, i, w int) string {
	st := m.status[s.names[i]]
	return kit.Spread(forms.Line(s.names[i])+"  "+stateWord(st), m.th.Dim.Render(kit.Count(st.Tools, "tool", "tools")), w)
}

func stateWord(st mcpmgr.ServerStatus) string {
	switch st.State {
	case mcpmgr.StateReady:
		return string(st.Era) + " " + forms.Line(st.Version)
	case mcpmgr.StateFailed:
		return "failed: " + forms.Line(st.Reason)
	}
	return "connecting"
}

func (s *servers) key(k tea.KeyMsg, m *Model, i int) tea.Cmd {
	if i < 0 {
		return nil
	}
	return serverKey(k, m, s.names[i])
}

func (s *servers) hints(*Model) []kit.Hint {
	return []kit.Hint{{"enter", "more"}, {"r", "connect anew"}, {"l", "log level"}, {"a", "authorize"}}
}

func (s *servers) empty(*Model) string { return "no server" }

func serverKey(k tea.KeyMsg, m *Model, name string) tea.Cmd {
	switch kit.KeyName(k) {
	case "enter":
		m.push(&serverPage{name: name})
	case "r":
		m.push(&confirm{name: "connect anew", text: "Connecting to " + forms.Line(name) + " anew ends its calls.", yes: "connect anew",
			then: func(m *Model) tea.Cmd {
				return func() tea.Msg { return done{"connecting to " + name + " anew", m.ins.Reconnect(name)} }
			}, keys: kit.Guarded(m.now())})
	case "l":
		m.push(&levels{server: name})
	case "a":
		return m.authorize(name)
	}
	return nil
}

// serverPage is all that is known of a server.
type serverPage struct {
	name string
	kit.Scroller
}

func (p *serverPage) title(*Model) string { return "server " + p.name }

func (p *serverPage) key(k tea.KeyMsg, m *Model) tea.Cmd {
	if p.Scroller.Key(k, max(1, m.h-5)) {
		return nil
	}
	switch kit.KeyName(k) {
	case "esc", "q", "ctrl+c":
		m.pop()
	case "enter":
	default:
		return serverKey(k, m, p.name)
	}
	return nil
}

func (p *serverPage) rows(m *Model, w, h int) []string {
	st := m.ins.Status(p.name) // stderr goes on without a change of state
	var out []string
	row := func(name, value string) {
		if value == "" {
			return
		}
		for i, r := range kit.Wrap(forms.Line(value), max(8, w-15)) {
			if i > 0 {
				name = ""
			}
			out = append(out, " "+m.th.Strong.Render(kit.Pad(name, 12))+" "+r)
		}
	}
	cfg, _ := m.ins.Config(p.name)
	row("state", string(st.State))
	row("reason", st.Reason)
	row("runs", cfg.Describe())
	row("era", string(st.Era))
	row("why", st.EraReason)
	row("version", st.Version)
	row("server", strings.TrimSpace(st.Info.Name+" "+st.Info.Version))
	row("title", st.Info.Title)
	row("notices", st.Notices)
	row("roots", rootsText(cfg.Roots))
	block := func(name, text string) {
		if text == "" {
			return
		}
		out = append(out, " "+m.th.Strong.Render(name))
		out = append(out, barred(text, w, m.th)...)
	}
	block("instructions", st.Instructions)
	if len(st.Capabilities) > 0 {
		block("capabilities", inspect.Pretty(st.Capabilities))
	}
	block("left out", strings.Join(st.Warnings, "\n"))
	block("stderr", strings.Join(st.Stderr, "\n"))
	rows, _ := p.Cut(out, h)
	return rows
}

func rootsText(roots []config.Root) string {
	if len(roots) == 0 {
		return "none; the server sees no roots capability"
	}
	var out []string
	for _, r := range roots {
		out = append(out, r.URI)
	}
	return strings.Join(out, ", ")
}

func (p *serverPage) hints(m *Model) []kit.Hint {
	hs := []kit.Hint{{"esc", "back"}, {"r", "connect anew"}, {"l", "log level"}}
	if m.status[p.name].NeedsAuth {
		hs = append(hs, kit.Hint{"a", "authorize"})
	}
	return append(hs, kit.Hint{"up/down", "scroll"})
}

// levels chooses the least level of log messages.
type levels struct {
	list
	server string
}

var logLevels = []string{"", "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

func (l *levels) title(*Model) string { return "log level of " + l.server }

func (l *levels) key(k tea.KeyMsg, m *Model) tea.Cmd {
	l.clamp(len(logLevels))
	if l.list.key(kit.KeyName(k), 4) {
		return nil
	}
	switch kit.KeyName(k) {
	case "esc", "q", "ctrl+c":
		m.pop()
	case "enter":
		level, server := logLevels[l.at], l.server
		m.pop()
		return func() tea.Msg {
			text := fmt.Sprintf("%s sends log messages from %s on", forms.Line(server), level)
			if level == "" {
				text = forms.Line(server) + " sends no log messages"
			}
			return done{text, m.ins.SetLogLevel(m.ctx, server, level)}
		}
	}
	return nil
}

func (l *levels) rows(m *Model, w, h int) []string {
	l.clamp(len(logLevels))
	return l.draw(w, h, m.th, func(i, w int) string {
		if i == 0 {
			return "none"
		}
		return logLevels[i]
	})
}

func (l *levels) hints(*Model) []kit.Hint { return []kit.Hint{{"enter", "take"}, {"esc", "back"}} }
