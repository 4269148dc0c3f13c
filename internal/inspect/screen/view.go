package screen

import (
	"fmt"
	"strconv"
	"strings"

	"askback/forms"
	"askback/mcpmgr"
	"askback/tui/kit"
)

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
		text := fmt.Sprintf("too small: %dx%d, needs %dx%d", m.w, m.h, minWidth, minHeight)
		if m.notice != "" {
			text = forms.Line(m.notice)
		}
		rows := kit.Wrap(text, max(1, m.w-1))
		return strings.Join(kit.Fit(rows, m.w, max(1, min(m.h, len(rows)))), "\n")
	}
	top := m.top()
	switch {
	case m.over != nil:
		top = m.over
	case m.up != nil:
		return m.panelView()
	}
	if f, ok := top.(*formArgs); ok {
		return m.saying(f.view(m), m.notice)
	}
	h := m.h - 4
	rows := make([]string, 0, m.h)
	rows = append(rows, m.statusRow())
	var body []string
	var hints []kit.Hint
	if top != nil {
		rows = append(rows, ruleRow(top.title(m), m.w, m.th, m.th.Strong))
		body, hints = top.rows(m, m.w, h), top.hints(m)
	} else {
		t := m.tabs[m.tab]
		rows = append(rows, m.tabsRow())
		body, hints = t.rows(m, m.w, h), t.hintsOf(m)
	}
	rows = append(rows, kit.Fit(body, m.w, h)...)
	notice := m.notice
	if m.ignoring() {
		notice = kit.Ignoring
	}
	rows = append(rows, ruleRow(notice, m.w, m.th, m.th.Warn), kit.HintRow(hints, m.w, m.th))
	return strings.Join(rows, "\n")
}

// statusRow is the first row: who is connected, what is open and what waits.
func (m *Model) statusRow() string {
	where := m.serversText()
	open := 0
	for _, c := range m.log.Conversations {
		if c.Run != nil && c.Run.Open() {
			open++
		}
	}
	right := ""
	if open > 0 {
		right = kit.Count(open, "call open", "calls open")
	}
	if n := len(m.panels); n > 0 {
		right = m.th.Warn.Render("! " + kit.Count(n, "question waits", "questions wait"))
		if open > 1 && m.w >= 60 {
			right = kit.Count(open, "call open", "calls open") + "  " + right
		}
	}
	return kit.Spread(m.th.Strong.Render("inspect")+"  "+where, right, m.w)
}

func (m *Model) serversText() string {
	names := m.ins.Names()
	ready := 0
	for _, n := range names {
		if m.status[n].State == mcpmgr.StateReady {
			ready++
		}
	}
	if len(names) != 1 {
		return fmt.Sprintf("%d of %d servers ready", ready, len(names))
	}
	st := m.status[names[0]]
	text := forms.Line(names[0]) + " " + m.th.Glyphs.Dot + " "
	switch {
	case st.State == mcpmgr.StateReady:
		return text + string(st.Era) + " " + forms.Line(st.Version)
	case st.State == mcpmgr.StateFailed:
		return text + m.th.Error.Render("failed")
	}
	return text + "connecting"
}

// tabsRow names the lists, the present one in brackets.
func (m *Model) tabsRow() string {
	name := func(i int) string {
		return strconv.Itoa(i+1) + " " + m.tabs[i].name
	}
	if m.w >= 76 {
		var out []string
		for i := range m.tabs {
			if i == m.tab {
				out = append(out, m.th.Strong.Render("["+name(i)+"]"))
				continue
			}
			out = append(out, " "+name(i)+" ")
		}
		return kit.Clip(strings.Join(out, " "), m.w)
	}
	return kit.Clip(m.th.Strong.Render("["+name(m.tab)+"]")+m.th.Dim.Render(" tab, 1-7: other lists"), m.w)
}
