package tui

import (
	"strings"
	"unicode"

	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/tui/formview"
	"askback/tui/hostview"
)

// askArgs asks for a tool's arguments: with the form where its schema can be read, else as JSON, and says why.
// A tool without arguments is asked about as well: its form has no field, and its review is the question.
//
// A line of a Turn cannot name a tool whose name holds a blank.
func (m *Model) askArgs(a doArgs) tea.Cmd {
	if strings.ContainsFunc(a.tool, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		m.notice = "no /call line can name this tool: its name holds a blank"
		return nil
	}
	for _, t := range m.tools {
		if t.Server == a.server && t.Name == a.tool {
			m.push(m.argsDialog(t, a.raw))
			return nil
		}
	}
	m.notice = "this tool is not offered any more"
	return nil
}

func (m *Model) argsDialog(t hostview.Tool, raw bool) dialog {
	if raw {
		return m.reopenedRaw(newRawArgs(t.Server, t.Name, "{}", nil))
	}
	form, why := forms.ArgumentsForm(t.InputSchema, forms.Requester{Name: t.Name, Source: t.Server}, t.Description)
	if why != nil {
		return m.reopenedRaw(newRawArgs(t.Server, t.Name, "{}", why))
	}
	f := formview.New(formview.Request{ID: "arguments", Form: form, Arguments: true}, formview.Options{Theme: m.th, Now: m.now})
	f.Resize(m.w, m.h)
	return m.reopened(&argslayer{server: t.Server, tool: t.Name, f: f})
}
