package formview

import (
	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/tui/draft"
	"askback/tui/kit"
)

// openDetail lays everything the form says over the form, in full: the message, and each field with its description and
// options. The field that the person is at comes first.
func (m *Model) openDetail() {
	m.detail = &pager{}
	m.detail.rows = m.detailRows()
}

func (m *Model) detailRows() []string {
	bar := m.th.Dim.Render(m.th.Glyphs.Bar) + " "
	var rows []string
	put := func(indent, text string, bold bool) {
		for _, r := range wrap(text, m.w-3-len(indent)) {
			if bold {
				r = m.th.Strong.Render(r)
			}
			rows = append(rows, bar+indent+r)
		}
	}
	req := m.draft.Shown.Requester
	put("", req.Name, true)
	if req.Source != "" {
		put("", req.Source, false)
	}
	rows = append(rows, bar)
	put("", m.draft.Shown.Message, false)
	if len(m.fields) == 0 {
		return rows
	}
	first := m.idx
	if m.stage == reviewing {
		first = m.review.mark
	}
	order := []int{first}
	for i := range m.fields {
		if i != first {
			order = append(order, i)
		}
	}
	for _, i := range order {
		rows = append(rows, bar)
		m.detailField(m.fields[i].d, put)
	}
	return rows
}

// detailField puts down what a field says, and a text that it holds.
func (m *Model) detailField(f *draft.Field, put func(indent, text string, bold bool)) {
	put("", f.Shown.Label, true)
	need := f.Need()
	if h := f.Hint(); h != "" {
		need += ", " + h
	}
	put("", "("+need+")", false)
	if f.Shown.Description != "" {
		put("", f.Shown.Description, false)
	}
	for _, o := range f.Shown.Options {
		put("  ", o.Label, false)
		if o.Description != "" {
			put("      ", o.Description, false)
		}
	}
	if f.Spec.Kind == forms.KindString && f.Text() != "" {
		put("", "Your text:", true)
		put("  ", f.Summary(), false)
	}
}

func (m *Model) detailRoom() int { return m.h - len(m.head.rows) - 2 }

// detailBody is the overlay's window, nil where there is none.
func (m *Model) detailBody() []string {
	if m.detail == nil {
		return nil
	}
	return m.detail.window(m.detailRoom())
}

func (m *Model) detailKey(k tea.KeyMsg) {
	switch key := kit.Command(k); key {
	case "esc", "enter", "q", "ctrl+g":
		m.detail = nil
		m.backToDeciding()
	default:
		m.detail.key(key, m.detailRoom()) // any other key means nothing here, and decides nothing
	}
}
