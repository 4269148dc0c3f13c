package screen

import (
	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/internal/inspect"
	"askback/tui/kit"
)

// entry is an item of a server's list.
type entry struct {
	server string
	item   inspect.Item
}

// entries are the items of the given lists of all servers that fit a filter.
func (m *Model) entries(filter string, methods ...string) []entry {
	var out []entry
	for _, n := range m.ins.Names() {
		for _, method := range methods {
			l := m.lists[listKey{n, method}]
			if l == nil {
				continue
			}
			for _, it := range l.items {
				if matches(filter, n+"/"+it.Name+" "+it.Title+" "+it.URI+" "+it.Description) {
					out = append(out, entry{n, it})
				}
			}
		}
	}
	return out
}

// listState says why a list is empty.
func (m *Model) listState(otherwise string, methods ...string) string {
	for _, n := range m.ins.Names() {
		for _, method := range methods {
			if l := m.lists[listKey{n, method}]; l != nil && l.err != "" {
				return forms.Line(n) + ": " + forms.Line(l.err)
			} else if l != nil && l.loading {
				return "asking " + forms.Line(n)
			}
		}
	}
	return m.unready(otherwise)
}

func (m *Model) listAgain(methods ...string) tea.Cmd {
	var cmds []tea.Cmd
	for _, n := range m.ins.Names() {
		for _, method := range methods {
			cmds = append(cmds, m.list(n, method))
		}
	}
	return tea.Batch(cmds...)
}

// prompts is the list of prompts.
type prompts struct{ all []entry }

func (s *prompts) gather(m *Model, filter string) int {
	s.all = m.entries(filter, "prompts/list")
	return len(s.all)
}

func (s *prompts) row(m *Model, i, w int) string {
	e := s.all[i]
	return named(m.named(e.server, e.item.Name), e.item.Description, w, m)
}

func (s *prompts) key(k tea.KeyMsg, m *Model, i int) tea.Cmd {
	if kit.KeyName(k) == "r" {
		return m.listAgain("prompts/list")
	}
	if i < 0 {
		return nil
	}
	e := s.all[i]
	q := inspect.Request{Server: e.server, Method: "prompts/get", Name: e.item.Name}
	use := func(m *Model) {
		if len(e.item.Arguments) == 0 {
			m.call(q)
			return
		}
		m.ask(newTextArgs(q, e.item))
	}
	switch kit.KeyName(k) {
	case "enter":
		use(m)
	case "e":
		m.ask(newJSONArgs(q, "{}", nil))
	case "d":
		m.push(&describePage{name: "prompt " + e.item.Name, call: use,
			parts: []part{{"", e.item.Description}, {"definition", inspect.Pretty(e.item.Raw)}}})
	}
	return nil
}

func (s *prompts) hints(*Model) []kit.Hint {
	return []kit.Hint{{"enter", "get"}, {"d", "describe"}, {"e", "with JSON"}, {"r", "list again"}}
}

func (s *prompts) empty(m *Model) string { return m.listState("no server has prompts", "prompts/list") }

// resources is the list of resources and of templates.
type resources struct{ all []entry }

func (s *resources) gather(m *Model, filter string) int {
	s.all = m.entries(filter, "resources/list", "resources/templates/list")
	return len(s.all)
}

func (s *resources) row(m *Model, i, w int) string {
	e := s.all[i]
	mark := ""
	switch {
	case e.item.Template:
		mark = "template"
	case m.ins.Watched(e.server, e.item.URI):
		mark = "watched"
	}
	return kit.Spread(m.named(e.server, e.item.URI)+"  "+m.th.Dim.Render(forms.Line(e.item.Name)), mark, w)
}

func (s *resources) key(k tea.KeyMsg, m *Model, i int) tea.Cmd {
	if kit.KeyName(k) == "r" {
		return m.listAgain("resources/list", "resources/templates/list")
	}
	if i < 0 {
		return nil
	}
	e := s.all[i]
	q := inspect.Request{Server: e.server, Method: "resources/read", Name: e.item.URI}
	use := func(m *Model) {
		if e.item.Template {
			m.ask(newTextArgs(q, e.item))
			return
		}
		m.call(q)
	}
	switch kit.KeyName(k) {
	case "enter":
		use(m)
	case "d":
		m.push(&describePage{name: "resource " + e.item.Name, call: use,
			parts: []part{{"", e.item.Description}, {"definition", inspect.Pretty(e.item.Raw)}}})
	case "w":
		if e.item.Template {
			m.notice = "a template is no resource: read one first"
			return nil
		}
		return m.watch(e.server, e.item.URI)
	}
	return nil
}

func (m *Model) watch(server, uri string) tea.Cmd {
	return func() tea.Msg {
		on, err := m.ins.Watch(m.ctx, server, uri)
		if on {
			return done{"updates of " + uri + " are told under 7 news", err}
		}
		return done{"updates of " + uri + " are not told any more", err}
	}
}

func (s *resources) hints(*Model) []kit.Hint {
	return []kit.Hint{{"enter", "read"}, {"d", "describe"}, {"w", "watch"}, {"r", "list again"}}
}

func (s *resources) empty(m *Model) string {
	return m.listState("no server has resources", "resources/list", "resources/templates/list")
}
