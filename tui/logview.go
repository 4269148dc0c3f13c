package tui

import (
	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/tui/hostview"
	"askback/tui/kit"
)

// maxLog is how many lines of the log are kept.
const maxLog = 2000

// logs is a ring of the last lines.
type logs struct{ lines []hostview.LogEntry }

func (l *logs) add(e hostview.LogEntry) {
	if len(e.Text) > 4096 {
		e.Text = e.Text[:4096]
	}
	e.Text, e.Level = forms.Line(e.Text), forms.Line(e.Level)
	l.lines = append(l.lines, e)
	if len(l.lines) >= 2*maxLog {
		l.lines = append([]hostview.LogEntry(nil), l.lines[len(l.lines)-maxLog:]...)
	}
}

// logview shows the log, the last line at the bottom.
type logview struct {
	up   int // how many lines above the end the window ends
	size int // lines when up was set, so that new ones do not move what is read
}

func (l *logview) title() string { return "log" }

func (l *logview) key(k tea.KeyMsg, v view) action {
	n := len(v.m.logs.lines)
	page := max(1, v.h-1)
	if l.up > 0 {
		l.up += max(0, n-l.size)
	}
	switch kit.KeyName(k) {
	case "up", "k":
		l.up++
	case "down", "j":
		l.up--
	case "pgup", "b":
		l.up += page
	case "pgdown", " ":
		l.up -= page
	case "home", "g":
		l.up = n
	case "end", "G":
		l.up = 0
	case "esc", "q", "ctrl+y", "ctrl+c":
		return doClose{}
	}
	l.up, l.size = max(0, min(l.up, n-1)), n
	return nil
}

func (l *logview) rows(v view) []string {
	lines := v.m.logs.lines
	if len(lines) == 0 {
		return []string{v.th.Dim.Render("  nothing was logged")}
	}
	up := l.up
	if up > 0 {
		up += max(0, len(lines)-l.size)
	}
	var out []string
	for i := max(0, len(lines)-up) - 1; i >= 0 && len(out) < v.h; i-- {
		e := lines[i]
		lead := kit.Pad(e.Level, 6)
		if v.w >= 60 && !e.Time.IsZero() {
			lead = e.Time.Format("15:04:05") + " " + lead
		}
		rows := kit.Wrap(e.Text, max(8, v.w-kit.Width(lead)-2))
		for k := len(rows) - 1; k >= 0 && len(out) < v.h; k-- {
			row := v.th.Dim.Render(kit.Pad("", kit.Width(lead))) + rows[k]
			if k == 0 {
				row = v.th.Dim.Render(lead) + rows[k]
			}
			out = append(out, row)
		}
	}
	for i, k := 0, len(out)-1; i < k; i, k = i+1, k-1 {
		out[i], out[k] = out[k], out[i]
	}
	return out
}

func (l *logview) hints(v view) []kit.Hint {
	if len(v.m.logs.lines) == 0 {
		return []kit.Hint{{"esc", "back"}}
	}
	return []kit.Hint{{"esc", "back"}, {"up/down", "scroll"}, {"G", "end"}}
}
