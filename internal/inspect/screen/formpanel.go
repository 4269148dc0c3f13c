package screen

import (
	"strconv"

	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/internal/inspect"
	"askback/tui/draft"
	"askback/tui/formview"
	"askback/tui/kit"
)

// formPanel is a form, below a note that says where it came from. Where the screen has no room for both, the note has
// a screen of its own first.
type formPanel struct {
	a     *inspect.Ask
	f     *formview.Model
	note  []string
	intro bool // the note's own screen is shown
	keys  kit.Guard
	w, h  int
	size  [2]int // that the form has
}

func newFormPanel(a *inspect.Ask, m *Model) *formPanel {
	o := a.Origin
	f := formview.New(formview.Request{ID: strconv.FormatUint(a.ID, 10), Form: a.Form.Form, Position: o.Index, Total: o.Total,
		Earlier: m.drafts[a.Run]}, formview.Options{Theme: m.th, Now: m.now})
	return &formPanel{a: a, f: f, intro: true}
}

func (p *formPanel) ask() *inspect.Ask { return p.a }
func (p *formPanel) id() uint64        { return p.a.ID }

func (p *formPanel) show(m *Model) {
	p.keys.Start(m.now())
	p.f.Show()
}

func (p *formPanel) ignoring(m *Model) bool { return p.keys.Ignoring(m.now()) || p.f.Ignoring() }

func (p *formPanel) resize(w, h int) { p.w, p.h = w, h }

// layout gives the note its rows where the form can spare them.
func (p *formPanel) layout(m *Model) {
	p.note = noteRows(p.a, p.w, m.th)
	room := p.h - len(p.note)
	if room < formview.MinHeight {
		p.note, room = nil, p.h
	} else {
		p.intro = false
	}
	p.intro = p.intro && p.a.Note() != ""
	if size := [2]int{p.w, room}; size != p.size {
		p.size = size
		p.f.Resize(p.w, room)
	}
}

func (p *formPanel) key(k tea.KeyMsg, m *Model) tea.Cmd {
	p.layout(m)
	if p.intro {
		if !p.keys.Takes(m.now()) {
			return nil
		}
		switch kit.KeyName(k) {
		case "ctrl+f", "esc":
			m.leavePanel()
		case "enter", " ":
			p.intro = false
			p.f.Show()
		}
		return nil
	}
	switch a := p.f.Update(k).(type) {
	case formview.Submit:
		if a.Result.Action == forms.ActionAccept && p.a.Run != 0 {
			if m.drafts[p.a.Run] == nil {
				m.drafts[p.a.Run] = draft.Answers{}
			}
			m.drafts[p.a.Run].Remember(p.f.Form(), a.Result.Values)
		}
		return m.answer(p, inspect.Reply{Result: a.Result})
	case formview.Leave:
		m.leavePanel()
	case formview.Copy:
		return m.copy(a.Text, "what you typed")
	}
	return nil
}

func (p *formPanel) view(m *Model) string {
	p.layout(m)
	if p.intro {
		return p.introView(m)
	}
	out := ""
	for _, r := range p.note {
		out += r + "\n"
	}
	return out + p.f.View()
}

func (p *formPanel) introView(m *Model) string {
	head := []string{whoRow(p.a, "form", p.w, m.th)}
	body := append([]string{""}, noteRows(p.a, p.w, m.th)...)
	for _, r := range barred(p.a.Form.Form.Message, p.w, m.th) {
		if len(body) < p.h-4 {
			body = append(body, r)
		}
	}
	return frame(head, body, m.th.Dim.Render("nothing is sent yet"), []kit.Hint{{"enter", "open the form"}, {"ctrl+f", "leave for now"}}, m)
}
