package tui

import (
	"reflect"

	tea "github.com/charmbracelet/bubbletea"

	"askback/tui/formview"
	"askback/tui/hostview"
	"askback/tui/kit"
)

// argslayer is a form for the arguments of a tool. It takes the whole window.
type argslayer struct {
	server, tool string
	f            *formview.Model
	line         string // what it was sent as
}

func (a *argslayer) title() string               { return "arguments" }
func (a *argslayer) hints(v view) []kit.Hint     { return nil }
func (a *argslayer) rows(v view) []string        { return nil }
func (a *argslayer) key(tea.KeyMsg, view) action { return nil }
func (a *argslayer) resize(w, h int)             { a.f.Resize(w, h) }
func (a *argslayer) show(m *Model)               { a.f.Show() }

// argsKey gives a key to an arguments form.
func (m *Model) argsKey(a *argslayer, k tea.KeyMsg) tea.Cmd {
	switch act := a.f.Update(k).(type) {
	case formview.Submit:
		a.line = callLine(a.server, a.tool, string(a.f.Form().Object(act.Result)))
		m.leaveArgs(a)
		return m.act(doCall{a.line})
	case formview.Leave, formview.Close:
		m.leaveArgs(a)
	case formview.Copy:
		return m.copy(act.Text)
	}
	return m.awaken(a.f)
}

// leaveArgs puts an arguments form away. What was typed in it is shown again when the tool is chosen again.
func (m *Model) leaveArgs(a *argslayer) {
	if a.f.Touched() {
		m.keepArgs(a)
	}
	m.pop()
}

// argsDrafts are the arguments that were written for a tool and have not been sent. They live in memory only.
type argsDrafts map[argsOf]argsDraft

// argsOf is what they were written for, and how.
type argsOf struct {
	server, tool string
	raw          bool
}

// argsDraft is a screen on which arguments are written.
type argsDraft interface {
	dialog
	of() argsOf
	sentAs() string // the line that was made of it last
}

func (a *argslayer) of() argsOf { return argsOf{server: a.server, tool: a.tool} }
func (r *rawargs) of() argsOf   { return argsOf{server: r.server, tool: r.tool, raw: true} }

func (a *argslayer) sentAs() string { return a.line }
func (r *rawargs) sentAs() string   { return r.line }

const argsKept = "kept until this tool is called"

func (m *Model) keepArgs(d argsDraft) {
	m.args[d.of()] = d
	m.notice = argsKept
}

// argsSent drops what has been sent: a call that could not be made leaves its arguments to be sent again.
func (m *Model) argsSent(text string) {
	for of, d := range m.args {
		if line := d.sentAs(); line != "" && (line == text || hostview.CallLines(line) == text) {
			delete(m.args, of)
		}
	}
}

// reopened is the form that was left for the same tool, unless the tool has come to ask for something else.
func (m *Model) reopened(a *argslayer) dialog {
	d, ok := m.args[a.of()].(*argslayer)
	if !ok || !reflect.DeepEqual(d.f.Form(), a.f.Form()) {
		return a
	}
	d.f.Resize(m.w, m.h)
	d.f.Reopen()
	return d
}

// reopenedRaw is the same for arguments as JSON.
func (m *Model) reopenedRaw(r *rawargs) dialog {
	if d, ok := m.args[r.of()].(*rawargs); ok {
		d.why, d.problem = r.why, ""
		return d
	}
	return r
}
