package screen

import (
	"cmp"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/internal/inspect"
	"askback/mcpmgr"
	"askback/tui/formview"
	"askback/tui/kit"
)

// tools is the list of tools.
type tools struct{ all []mcpmgr.Tool }

func (s *tools) gather(m *Model, filter string) int {
	s.all = nil
	for _, n := range m.ins.Names() {
		for _, t := range m.ins.Tools(n) {
			if matches(filter, t.Server+"/"+t.Name+" "+t.Title+" "+t.Description) {
				s.all = append(s.all, t)
			}
		}
	}
	return len(s.all)
}

func (s *tools) row(m *Model, i, w int) string {
	t := s.all[i]
	return named(m.named(t.Server, t.Name), t.Description, w, m)
}

// named is a name with what is said of it, in two columns where there is room.
func named(name, about string, w int, m *Model) string {
	if w < 50 {
		return kit.Clip(name, w)
	}
	column := min(max(24, kit.Width(name)), w/2)
	return kit.Pad(name, column) + " " + m.th.Dim.Render(kit.Clip(forms.Line(about), max(0, w-column-1)))
}

func (s *tools) key(k tea.KeyMsg, m *Model, i int) tea.Cmd {
	if kit.KeyName(k) == "r" {
		m.notice = "changed tools are listed when the server tells of them, or anew: 1, r"
		return nil
	}
	if i < 0 {
		return nil
	}
	t := s.all[i]
	switch kit.KeyName(k) {
	case "enter":
		m.askTool(t)
	case "e":
		m.ask(newJSONArgs(inspect.Request{Server: t.Server, Method: "tools/call", Name: t.Name}, "{}", nil))
	case "d":
		m.push(describeTool(t))
	}
	return nil
}

func (s *tools) hints(*Model) []kit.Hint {
	return []kit.Hint{{"enter", "call"}, {"e", "with JSON"}, {"d", "describe"}}
}

func (s *tools) empty(m *Model) string { return m.unready("no server has tools") }

// askTool asks for a tool's arguments: with the form where its schema can be read, else as JSON, and says why.
func (m *Model) askTool(t mcpmgr.Tool) {
	q := inspect.Request{Server: t.Server, Method: "tools/call", Name: t.Name}
	form, why := forms.ArgumentsForm(t.InputSchema, forms.Requester{Name: t.Name, Source: t.Server}, t.Description)
	if why != nil {
		m.ask(newJSONArgs(q, "{}", why))
		return
	}
	f := formview.New(formview.Request{ID: "arguments", Form: form, Arguments: true}, formview.Options{Theme: m.th, Now: m.now})
	m.ask(&formArgs{q: q, f: f})
}

func describeTool(t mcpmgr.Tool) page {
	parts := []part{{"", strings.TrimSpace(t.Title + "\n" + t.Description)}, {"input schema", inspect.Pretty(t.InputSchema)}}
	if t.OutputSchema != nil {
		parts = append(parts, part{"output schema", inspect.Pretty(t.OutputSchema)})
	}
	if t.Annotations != nil {
		parts = append(parts, part{"annotations (hints)", inspect.Pretty(t.Annotations)})
	}
	parts = append(parts, part{"definition", inspect.Pretty(t.Raw)})
	return &describePage{name: "tool " + t.Name, parts: parts, call: func(m *Model) { m.askTool(t) }}
}

// part is one section of a description, in a server's words.
type part struct{ name, text string }

// describePage shows what a server says of a thing.
type describePage struct {
	name  string
	parts []part
	call  func(m *Model) // what enter does
	// copies names the last part, which c copies; "" is the definition.
	copies string
	keys   kit.Guard // of a page that opened by itself
	kit.Scroller
}

func (p *describePage) title(*Model) string { return p.name }

func (p *describePage) ignoring(m *Model) bool { return p.keys.Ignoring(m.now()) }

func (p *describePage) key(k tea.KeyMsg, m *Model) tea.Cmd {
	if !p.keys.Takes(m.now()) {
		return nil
	}
	if p.Scroller.Key(k, max(1, m.h-5)) {
		return nil
	}
	switch kit.KeyName(k) {
	case "esc", "q", "d", "ctrl+c":
		m.pop()
	case "enter":
		p.call(m)
	case "c":
		last := p.parts[len(p.parts)-1]
		return m.copy(forms.Block(last.text), p.copied())
	}
	return nil
}

func (p *describePage) copied() string { return cmp.Or(p.copies, "the definition") }

func (p *describePage) rows(m *Model, w, h int) []string {
	var out []string
	for _, t := range p.parts {
		if t.text == "" {
			continue
		}
		if t.name != "" {
			out = append(out, " "+m.th.Strong.Render(t.name))
		}
		out = append(out, barred(shown(t.text), w, m.th)...)
	}
	rows, _ := p.Cut(out, h)
	return rows
}

func (p *describePage) hints(*Model) []kit.Hint {
	return []kit.Hint{{"enter", "use"}, {"esc", "back"}, {"c", "copy " + p.copied()}, {"up/down", "scroll"}}
}
