package screen

import (
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/internal/inspect"
	"askback/tui/kit"
)

// messagePage is one message in full.
type messagePage struct {
	msg   *inspect.Message
	among []*inspect.Message // those that n and p go through
	kit.Scroller

	lines []string // of the message, projected
	width int
	cache []string // the same, wrapped
	from  []int    // the line that each row of the cache belongs to

	search    lineInput
	searching bool
	found     int // line of the last hit; -1: none
}

func newMessagePage(msg *inspect.Message) *messagePage {
	text := "the text of this message is not kept any more"
	if msg.Raw != nil {
		text = shown(inspect.Pretty(msg.Raw))
	}
	return &messagePage{msg: msg, lines: strings.Split(forms.Block(text), "\n"), search: newLine(""), found: -1}
}

func (p *messagePage) title(m *Model) string {
	msg := p.msg
	dir := "received"
	if msg.Sent {
		dir = "sent"
	}
	parts := []string{msg.Method, dir}
	if msg.ID != "" {
		parts = append(parts, "id "+msg.ID)
	}
	if c := m.log.Conversation(msg); c != nil && msg.Call != 0 {
		parts = append(parts, fmt.Sprintf("leg %d of %d", msg.Leg, len(c.Legs)))
	}
	return strings.Join(parts, " "+m.th.Glyphs.Dot+" ")
}

func (p *messagePage) key(k tea.KeyMsg, m *Model) tea.Cmd {
	if p.searching {
		p.searchKey(k, m)
		return nil
	}
	if p.Scroller.Key(k, max(1, m.h-5)) {
		return nil
	}
	switch kit.KeyName(k) {
	case "esc", "q", "enter", "ctrl+c":
		m.pop()
	case "c":
		return m.copy(strings.Join(p.lines, "\n")+"\n", "the message")
	case "d":
		m.pushDiff(p.msg)
	case "/":
		p.searching = true
	case "n":
		p.next(m)
	case "right", "l":
		p.step(1, m)
	case "left", "h":
		p.step(-1, m)
	}
	return nil
}

// step goes to the message before or after.
func (p *messagePage) step(by int, m *Model) {
	i := slices.Index(p.among, p.msg) + by
	if i < 0 || i >= len(p.among) || len(p.among) == 0 {
		m.notice = "there is no other message"
		return
	}
	next := newMessagePage(p.among[i])
	next.among, next.search = p.among, p.search
	*p = *next
}

func (p *messagePage) searchKey(k tea.KeyMsg, m *Model) {
	switch kit.KeyName(k) {
	case "esc", "ctrl+c":
		p.search.SetValue("")
		p.searching, p.found = false, -1
	case "enter":
		p.searching = false
		p.found = -1
		p.next(m)
	default:
		p.search.take(k)
	}
}

// next goes to the next line that holds what is searched, round the end.
func (p *messagePage) next(m *Model) {
	want := strings.ToLower(p.search.Value())
	if want == "" {
		m.notice = "/ searches"
		return
	}
	for n := range len(p.lines) {
		i := (p.found + 1 + n) % len(p.lines)
		if strings.Contains(strings.ToLower(p.lines[i]), want) {
			p.found = i
			p.layout(m.w)
			p.Top = max(0, slices.Index(p.from, i)-2)
			return
		}
	}
	p.found = -1
	m.notice = "not found"
}

func (p *messagePage) layout(w int) {
	if p.cache != nil && p.width == w {
		return
	}
	p.cache, p.from, p.width = nil, nil, w
	for i, l := range p.lines {
		for _, r := range kit.Wrap(l, max(8, w-3)) {
			p.cache, p.from = append(p.cache, r), append(p.from, i)
		}
	}
}

func (p *messagePage) rows(m *Model, w, h int) []string {
	p.layout(w)
	var head []string
	for _, r := range kit.Wrap(p.about(m), w-1) {
		head = append(head, m.th.Dim.Render(" "+r))
	}
	if p.searching {
		head = append(head, m.th.Focus.Render("/ ")+p.search.view(w-4))
	}
	h = max(1, h-len(head))
	top := max(0, min(p.Top, len(p.cache)-h))
	rows, _ := p.Cut(p.cache, h)
	out := make([]string, len(rows))
	for i, r := range rows {
		bar := m.th.Dim.Render(m.th.Glyphs.Bar)
		if p.from[top+i] == p.found {
			bar, r = m.th.Focus.Render(m.th.Glyphs.FocusBar), m.th.Strong.Render(r)
		}
		out[i] = bar + " " + r
	}
	return append(head, out...)
}

// about is what is known of the message beside its text.
func (p *messagePage) about(m *Model) string {
	dot := " " + m.th.Glyphs.Dot + " "
	s := p.msg.Time.Format("15:04:05.000") + dot + forms.Line(p.msg.Server) + dot + size(p.msg.Size)
	if p.msg.StateBytes >= 0 {
		s += dot + "state " + stateText(p.msg)
	}
	return s
}

func (p *messagePage) hints(*Model) []kit.Hint {
	if p.searching {
		return []kit.Hint{{"enter", "find"}, {"esc", "clear"}}
	}
	hs := []kit.Hint{{"esc", "back"}, {"c", "copy"}, {"/", "search"}, {"n", "next hit"}, {"d", "diff"}}
	if len(p.among) > 1 {
		hs = append(hs, kit.Hint{"left/right", "other messages"})
	}
	return hs
}
