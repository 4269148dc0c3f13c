package screen

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/mcpmgr"
	"askback/tui/kit"
)

// The lists, by their number on screen less one.
const (
	tabServers = iota
	tabTools
	tabPrompts
	tabResources
	tabCalls
	tabMessages
	tabNews
)

// source is what a tab lists. gather is called before any of the others, with the filter's text.
type source interface {
	gather(m *Model, filter string) int
	row(m *Model, i, w int) string
	key(k tea.KeyMsg, m *Model, i int) tea.Cmd // i is -1 where the list is empty
	hints(m *Model) []kit.Hint
	empty(m *Model) string
}

// tab is one list with its cursor and its filter.
type tab struct {
	list
	name      string
	methods   []string // of lists to ask for when it is shown
	src       source
	filter    lineInput
	filtering bool
	follow    bool // the cursor stays at the end
}

func newTabs() []*tab {
	tabs := []*tab{
		{name: "servers", src: &servers{}},
		{name: "tools", src: &tools{}},
		{name: "prompts", src: &prompts{}, methods: []string{"prompts/list"}},
		{name: "resources", src: &resources{}, methods: []string{"resources/list", "resources/templates/list"}},
		{name: "calls", src: &calls{}},
		{name: "messages", src: &messages{}, follow: true},
		{name: "news", src: &newsList{}, follow: true},
	}
	for _, t := range tabs {
		t.filter = newLine("")
	}
	return tabs
}

func (t *tab) gather(m *Model) {
	n := t.src.gather(m, t.filter.Value())
	if t.follow {
		t.at = n - 1
	}
	t.clamp(n)
}

func (t *tab) key(k tea.KeyMsg, m *Model) tea.Cmd {
	t.gather(m)
	s := kit.KeyName(k)
	if t.list.key(s, max(1, m.h-5)) {
		t.follow = t.at == t.n-1 && (m.tab == tabMessages || m.tab == tabNews || m.tab == tabCalls)
		return nil
	}
	switch {
	case s == "/":
		t.filtering = true
		return nil
	case s == "esc":
		t.filter.SetValue("")
		return nil
	}
	i := t.at
	if t.n == 0 {
		i = -1
	}
	return t.src.key(k, m, i)
}

func (t *tab) filterKey(k tea.KeyMsg, m *Model) {
	switch kit.KeyName(k) {
	case "esc", "ctrl+c":
		t.filter.SetValue("")
		t.filtering = false
	case "enter", "down", "tab":
		t.filtering = false
	default:
		t.filter.take(k)
		t.at = 0
	}
}

func (t *tab) rows(m *Model, w, h int) []string {
	t.gather(m)
	var out []string
	if t.filtering || t.filter.Value() != "" {
		mark, text := m.th.Dim.Render("/ "), forms.Line(t.filter.Value())
		if t.filtering {
			mark, text = m.th.Focus.Render("/ "), t.filter.view(w-12)
		}
		out = append(out, kit.Spread(mark+text, m.th.Dim.Render(kit.Count(t.n, "fits", "fit")), w))
		h--
	}
	if t.n == 0 {
		text := t.src.empty(m)
		if t.filter.Value() != "" {
			text = "nothing fits the filter"
		}
		for _, r := range kit.Wrap(text, w-2) {
			out = append(out, "  "+m.th.Dim.Render(r))
		}
		return out
	}
	return append(out, t.draw(w, h, m.th, func(i, w int) string { return t.src.row(m, i, w) })...)
}

func (t *tab) hintsOf(m *Model) []kit.Hint {
	if t.filtering {
		return []kit.Hint{{"enter", "keep"}, {"esc", "clear"}}
	}
	hs := t.src.hints(m)
	return append(hs, kit.Hint{"/", "filter"}, kit.Hint{"?", "help"}, kit.Hint{"q", "quit"}, kit.Hint{"ctrl+f", "panels"})
}

// matches says whether every word of a filter is in a text.
func matches(filter, text string) bool {
	text = strings.ToLower(text)
	for w := range strings.FieldsSeq(strings.ToLower(filter)) {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// named is the name of a server's thing: with the server where several are open.
func (m *Model) named(server, name string) string {
	if len(m.ins.Names()) > 1 {
		return forms.Line(server) + "/" + forms.Line(name)
	}
	return forms.Line(name)
}

// unready says which servers are not there, for an empty list.
func (m *Model) unready(otherwise string) string {
	for _, n := range m.ins.Names() {
		st := m.status[n]
		switch st.State {
		case mcpmgr.StateFailed:
			return forms.Line(n) + " has failed: " + forms.Line(st.Reason) + "\n1 enter says more"
		case mcpmgr.StateReady:
		default:
			return "connecting to " + forms.Line(n)
		}
	}
	return otherwise
}
