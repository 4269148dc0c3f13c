package screen

import (
	tea "github.com/charmbracelet/bubbletea"

	"askback/tui/kit"
)

// help lists the keys.
type help struct{ kit.Scroller }

func (h *help) title(m *Model) string { return "help" }

func (h *help) key(k tea.KeyMsg, m *Model) tea.Cmd {
	if !h.Scroller.Key(k, max(1, m.h-5)) {
		m.pop()
	}
	return nil
}

func (h *help) rows(m *Model, w, height int) []string {
	keys := min(24, w/3)
	var out []string
	if m.opt.Version != "" {
		out = append(out, m.th.Dim.Render("askback "+m.opt.Version))
	}
	where := ""
	for _, b := range bindings {
		if b.where != where {
			where = b.where
			out = append(out, m.th.Strong.Render(where))
		}
		names, does := kit.Wrap(b.key, keys), kit.Wrap(b.does, max(8, w-keys-4))
		for i := range max(len(names), len(does)) {
			left, right := "", ""
			if i < len(names) {
				left = names[i]
			}
			if i < len(does) {
				right = does[i]
			}
			out = append(out, "  "+m.th.Key.Render(kit.Pad(left, keys))+"  "+right)
		}
	}
	rows, _ := h.Cut(out, height)
	return rows
}

func (h *help) hints(*Model) []kit.Hint {
	return []kit.Hint{{"esc", "back"}, {"up/down", "scroll"}, {"pgdn", "page"}}
}

// confirm asks once whether something should be done.
type confirm struct {
	name, text, yes string
	then            func(*Model) tea.Cmd
	keys            kit.Guard
}

func (c *confirm) title(*Model) string { return c.name }

func (c *confirm) key(k tea.KeyMsg, m *Model) tea.Cmd {
	s := kit.Command(k)
	if s != "ctrl+c" && !c.keys.Takes(m.now()) {
		return nil
	}
	switch s {
	case "y", "ctrl+y":
		m.pop()
		return c.then(m)
	case "n", "esc", "ctrl+c":
		m.pop()
	default:
		stray(&c.keys, k, m)
	}
	return nil
}

func (c *confirm) show(m *Model)          { c.keys.Start(m.now()) }
func (c *confirm) ignoring(m *Model) bool { return c.keys.Ignoring(m.now()) }

func (c *confirm) rows(m *Model, w, h int) []string {
	rows := []string{""}
	for _, r := range kit.Wrap(c.text, w-2) {
		rows = append(rows, " "+r)
	}
	return append(rows, "", " "+m.th.Key.Render("y")+" "+c.yes, " "+m.th.Key.Render("n, esc")+" go back")
}

func (c *confirm) hints(*Model) []kit.Hint {
	return []kit.Hint{{"y", c.yes}, {"n", "no"}, {"esc", "back"}}
}
