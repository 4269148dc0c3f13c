package tui

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/tui/hostview"
	"askback/tui/kit"
)

// serverpanel shows the MCP servers that run here. The chosen one shows all that is known of it.
type serverpanel struct{ list }

func (p *serverpanel) title() string { return "servers" }

func (p *serverpanel) key(k tea.KeyMsg, v view) action {
	p.clamp(len(v.m.serverList))
	key := kit.KeyName(k)
	if p.list.key(key, max(1, v.h/2)) {
		return nil
	}
	switch key {
	case "esc", "q", "ctrl+r", "ctrl+c":
		return doClose{}
	case "l":
		if v.m.servers != nil {
			return doReload{}
		}
	case "r":
		if p.at < len(v.m.serverList) {
			return doOpen{restartServer(v.m.serverList[p.at].Name, v)}
		}
	}
	return nil
}

// openServers shows the servers as they are now.
func (m *Model) openServers() {
	m.refreshServers()
	m.push(&serverpanel{})
}

// refreshServers reads what no change is told of: the lines of stderr.
func (m *Model) refreshServers() {
	if m.servers != nil {
		m.serverList = m.servers.Servers()
	}
}

// watchesServers says whether the servers are looked at while one of them starts.
func (m *Model) watchesServers() bool {
	_, ok := m.top().(*serverpanel)
	return ok && slices.ContainsFunc(m.serverList, hostview.Starting)
}

func restartServer(name string, v view) dialog {
	text := []string{"Restart the server \"" + forms.Line(name) + "\"?"}
	if v.m.running() {
		text = append(text, "Calls that run on it end, and the forms they wait for close.")
	}
	return &confirm{name: "restart " + forms.Line(name), text: text, yes: "restart it", then: doRestart{name}, keys: kit.Guarded(v.now)}
}

func (p *serverpanel) rows(v view) []string {
	if v.m.servers == nil {
		return plainRows("No server runs here: the tools of this Host come from somewhere else.", v.w)
	}
	all := v.m.serverList
	p.clamp(len(all))
	if len(all) == 0 {
		return []string{v.th.Dim.Render("  no server is configured")}
	}
	h := min(len(all), max(2, v.h/2))
	out := p.draw(v.w, h, v.th, func(i, w int) string { return serverRow(all[i], w, v) })
	out = append(out, v.th.Dim.Render(ruleOf(v.w, v.th)))
	return append(out, serverDetail(all[p.at], v, v.h-len(out))...)
}

func serverRow(s hostview.Server, w int, v view) string {
	state := forms.Line(s.State)
	paint := v.th.Warn
	switch {
	case s.Ready:
		paint = v.th.Good
		state += " " + v.th.Glyphs.Dot + " " + kit.Count(s.Tools, "tool", "tools")
	case s.Error != "":
		paint = v.th.Error
	}
	return kit.Spread(clipMiddle(forms.Line(s.Name), max(8, w-kit.Width(state)-2)), paint.Render(state), w)
}

// serverDetail is the error, the era and as many of the last stderr lines as there is room for.
func serverDetail(s hostview.Server, v view, h int) []string {
	var out []string
	if s.Error != "" {
		for i, r := range kit.Wrap(forms.Block(s.Error), max(8, v.w-4)) {
			lead := "  "
			if i == 0 {
				lead = v.th.Error.Render("!") + " "
			}
			out = append(out, lead+r)
		}
	}
	if s.Era != "" {
		out = append(out, v.th.Dim.Render("  MCP "+forms.Line(s.Era)))
	}
	for _, n := range s.Notes {
		for _, r := range kit.Wrap(forms.Line(n), max(8, v.w-4)) {
			out = append(out, v.th.Dim.Render("  "+r))
		}
	}
	out = out[:min(len(out), max(h, 0))]
	if room := h - len(out) - 1; room > 0 && len(s.Stderr) > 0 {
		out = append(out, v.th.Dim.Render("  last lines of stderr"))
		var lines []string
		for _, l := range s.Stderr[max(0, len(s.Stderr)-room):] {
			for _, r := range kit.Wrap(forms.Line(l), max(8, v.w-4)) {
				lines = append(lines, v.th.Dim.Render(v.th.Glyphs.Bar)+" "+r)
			}
		}
		out = append(out, lines[max(0, len(lines)-room):]...)
	}
	return out
}

func (p *serverpanel) hints(v view) []kit.Hint {
	out := []kit.Hint{{"esc", "back"}}
	if v.m.servers == nil {
		return out
	}
	if len(v.m.serverList) > 0 {
		out = append(out, kit.Hint{"r", "restart"})
	}
	out = append(out, kit.Hint{"l", "reload"})
	if len(v.m.serverList) > 1 {
		out = append(out, kit.Hint{"up/down", "choose"})
	}
	return out
}
