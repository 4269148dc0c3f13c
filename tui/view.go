package tui

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"askback/forms"
	"askback/tui/hostview"
	"askback/tui/kit"
	"askback/tui/theme"
)

var armedNever time.Time

// View implements tea.Model.
func (m *Model) View() string {
	if m.quitting {
		return ""
	}
	frame := m.frame()
	if m.unsized {
		frame = kit.Filled(frame, m.w)
	}
	return kit.Drawn(frame, m.th)
}

func (m *Model) frame() string {
	if m.tooSmall() {
		return m.smallView()
	}
	if e := m.formUp(); e != nil {
		return m.formView(e)
	}
	if a, ok := m.top().(*argslayer); ok {
		return a.f.View()
	}
	if d := m.top(); d != nil {
		return m.dialogView(d)
	}
	return m.baseView()
}

// smallView fits anywhere.
func (m *Model) smallView() string {
	text := fmt.Sprintf("too small: %dx%d, needs %dx%d", m.w, m.h, minWidth, minHeight)
	if m.notice != "" {
		text = forms.Line(m.notice)
	}
	rows := kit.Wrap(text, max(1, m.w-1)) // the last column stays free, see kit.HintRow
	return strings.Join(kit.Fit(rows, m.w, max(1, min(m.h, len(rows)))), "\n")
}

// bodyHeight is what a dialog has between the status line and the keys.
func (m *Model) bodyHeight() int { return m.h - 4 }

func (m *Model) dialogView(d dialog) string {
	v := m.view(m.w, m.bodyHeight())
	rows := make([]string, 0, m.h)
	rows = append(rows, m.statusRow(), m.ruleRow(d.title(), false))
	rows = append(rows, kit.Fit(d.rows(v), m.w, v.h)...)
	rows = append(rows, m.ruleRow(m.notice, true), kit.HintRow(d.hints(v), m.w, m.th))
	return strings.Join(rows, "\n")
}

func (m *Model) baseView() string {
	rows := make([]string, 0, m.h)
	rows = append(rows, m.statusRow(), m.ruleRow("", false))
	now := m.now()
	if len(m.log.items) == 0 {
		rows = append(rows, m.emptyView()...)
	} else {
		for _, r := range m.log.view(now, m.th) {
			rows = append(rows, kit.Clip(r, m.w))
		}
	}
	rows = append(rows, m.ruleRow(m.message(now), m.notice != ""))
	for _, r := range m.comp.view(m.composerHeight(), !m.log.browse, m.th) {
		rows = append(rows, kit.Clip(r, m.w))
	}
	rows = append(rows, kit.HintRow(m.baseHints(), m.w, m.th))
	return strings.Join(rows, "\n")
}

func (m *Model) emptyView() []string {
	if m.open == "" {
		text := "Connecting to the Host."
		switch {
		case m.listed:
			text = "No session is open. ctrl+g lists the sessions and creates one."
		case m.unlisted != "":
			text = "The Host does not list its sessions.\n\n" + forms.Line(m.unlisted)
		case m.links[hostview.LinkView].State == hostview.StateReady:
			text = "Asking the Host for its sessions."
		case m.links[hostview.LinkView].Detail != "":
			text = "The Host cannot be reached.\n\n" + linkText(m.links[hostview.LinkView], m.view(m.w, m.h))
		}
		rows := kit.Wrap(text, max(8, m.w-2))
		for i, r := range rows {
			rows[i] = " " + m.th.Dim.Render(r)
		}
		return kit.Fit(rows, m.w, m.log.h)
	}
	return welcome(m.w, m.log.h, m.servers != nil, m.th)
}

// message is what the lower rule says when there is no notice.
func (m *Model) message(now time.Time) string {
	switch {
	case m.notice != "":
		return m.notice
	case m.stopping():
		return "stopping the Turn"
	case m.log.below():
		return "more below: pgdown, ctrl+end"
	}
	return ""
}

// ruleRow is a rule with a text in it.
func (m *Model) ruleRow(text string, loud bool) string {
	if text == "" {
		return m.th.Dim.Render(ruleOf(m.w, m.th))
	}
	text = kit.Clip(forms.Line(text), m.w-6)
	paint := m.th.Strong
	if loud {
		paint = m.th.Warn
	}
	rest := max(0, m.w-4-kit.Width(text))
	return m.th.Dim.Render(ruleOf(2, m.th)) + " " + paint.Render(text) + " " + m.th.Dim.Render(ruleOf(rest, m.th))
}

func ruleOf(w int, th *theme.Theme) string { return strings.Repeat(th.Glyphs.Rule, max(0, w)) }

// baseHints are the keys that do something now, the most useful first.
func (m *Model) baseHints() []kit.Hint {
	if m.log.browse {
		return []kit.Hint{{"enter", "in full"}, {"up/down", "choose"}, {"esc", "back"}}
	}
	send, stop := kit.Hint{"enter", "send"}, kit.Hint{"ctrl+c", "stop"}
	tools, helps := kit.Hint{"ctrl+t", "tools"}, kit.Hint{"?", "help"}
	if !m.comp.edit.empty() { // ? is typed then, and ctrl+c is for the text first
		stop.Does, helps.Key = "clear", "f1"
	}
	form := kit.Hint{"ctrl+f", fmt.Sprintf("form (%d)", m.queue.waiting())}
	var out []kit.Hint
	switch {
	case m.queue.waiting() > 0 && m.w < 60:
		out = []kit.Hint{form, stop, helps}
	case m.queue.waiting() > 0:
		out = []kit.Hint{tools, form, stop, helps}
	case m.running():
		out = []kit.Hint{stop, tools, helps}
	case len(m.queue.entries) > 0: // one that has closed, with what was typed in it
		out = []kit.Hint{send, {"ctrl+f", "closed form"}, tools, helps}
	default:
		out = []kit.Hint{send, tools, helps}
	}
	sessions, servers, quit := kit.Hint{"ctrl+g", "sessions"}, kit.Hint{"ctrl+r", "servers"}, kit.Hint{"ctrl+q", "quit"}
	if m.w < 60 {
		out = append(out, quit, sessions, servers)
	} else {
		out = append(out, sessions, servers, quit)
	}
	out = append(out, kit.Hint{"tab", "transcript"})
	if m.w >= 100 {
		out = append(out, kit.Hint{"ctrl+o", "Host"}, kit.Hint{"ctrl+y", "log"})
	}
	return out
}

// statusRow is the first row: as much of it as fits, the most needed last to go.
func (m *Model) statusRow() string {
	host, state := forms.Line(m.host.Address), m.stateText()
	session := ""
	if s, ok := m.session(); ok {
		session = forms.Line(cmp.Or(s.Name, s.ID))
	}
	servers, tools := m.serverText()
	waits := m.elsewhere()
	where := state
	if host != "" {
		where = "host " + clipMiddle(host, max(12, m.w/3)) + " " + m.th.Glyphs.Dot + " " + state
	}
	if session != "" {
		session = clipMiddle(session, max(8, m.w/4))
	}
	named := ""
	if session != "" {
		named = "session " + session
	}
	long, short := "", ""
	if servers != "" {
		long = "servers " + servers + " " + m.th.Glyphs.Dot + " tools " + tools
		short = "servers " + servers
	}
	for _, row := range []string{
		joined([]string{"askback", where, named, long, waits}, "   "),
		joined([]string{where, named, long, waits}, "   "),
		joined([]string{where, session, short, waits}, " "+m.th.Glyphs.Dot+" "),
	} {
		if kit.Width(row) <= m.w {
			return m.paintStatus(row)
		}
	}
	return m.paintStatus(kit.Clip(joined([]string{waits, state, session, short}, " "+m.th.Glyphs.Dot+" "), m.w))
}

func joined(parts []string, sep string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, sep)
}

func (m *Model) paintStatus(row string) string {
	if l := m.links[hostview.LinkView]; l.State != hostview.StateReady {
		return m.th.Warn.Render(row)
	}
	if rest, ok := strings.CutPrefix(row, "askback"); ok {
		return m.th.Strong.Render("askback") + rest
	}
	return row
}

// stateText is how the connections stand, in a word or two.
func (m *Model) stateText() string {
	l, ok := m.links[hostview.LinkView]
	if !ok {
		return "connecting"
	}
	if l.State != hostview.StateReady {
		if l.State == hostview.StateReconnecting && l.Retry.After(m.now()) {
			return "reconnecting in " + kit.Elapsed(l.Retry.Sub(m.now()))
		}
		return string(l.State)
	}
	if p, ok := m.links[hostview.LinkProvider]; ok && p.State != hostview.StateReady && m.servers != nil {
		return "ready, tools " + string(p.State)
	}
	return "ready"
}

func (m *Model) serverText() (servers, tools string) {
	if m.servers == nil || len(m.serverList) == 0 {
		return "", ""
	}
	ready := 0
	for _, s := range m.serverList {
		if s.Ready {
			ready++
		}
	}
	return fmt.Sprintf("%d/%d", ready, len(m.serverList)), itoa(len(m.tools))
}

// elsewhere says how many other sessions wait for the person.
func (m *Model) elsewhere() string {
	n := 0
	for _, s := range m.sessions {
		if s.ID != m.open && s.Status == hostview.StatusWaitingForUser {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return "! " + kit.Count(n, "other session waits", "other sessions wait")
}
