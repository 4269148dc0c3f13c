package screen

import (
	"encoding/json"
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"askback/forms"
	"askback/internal/inspect"
	"askback/tui/kit"
)

func strip(s string) string { return ansi.Strip(s) }

// messages is the list of all messages that fit the filter. What was looked at once is not looked at again.
type messages struct {
	all    []*inspect.Message
	filter string
	seen   int // Seq of the last message that was looked at
}

func (s *messages) gather(m *Model, filter string) int {
	ms := m.log.Messages
	if filter != s.filter || len(ms) > 0 && len(s.all) > 0 && s.all[0].Seq < ms[0].Seq {
		s.all, s.filter, s.seen = nil, filter, 0
	}
	if len(ms) == 0 {
		return 0
	}
	f := inspect.ParseFilter(filter)
	for _, msg := range ms[max(0, s.seen+1-ms[0].Seq):] {
		if f.Fits(msg) {
			s.all = append(s.all, msg)
		}
		s.seen = msg.Seq
	}
	return len(s.all)
}

func (s *messages) row(m *Model, i, w int) string {
	msg := s.all[i]
	arrow := m.th.Glyphs.In
	if msg.Sent {
		arrow = m.th.Glyphs.Out
	}
	lead := arrow + " "
	if w < 60 {
		if msg.ID != "" {
			lead += kit.Clip(forms.Line(msg.ID), 6) + " "
		}
		lead = m.th.Dim.Render(msg.Time.Format("04:05")) + " " + lead // the hour is in the message
	}
	if w >= 60 {
		lead = m.th.Dim.Render(msg.Time.Format("15:04:05.000")) + " " + lead
		if len(m.ins.Names()) > 1 {
			lead += kit.Pad(forms.Line(msg.Server), 10) + " "
		}
		lead += kit.Pad(forms.Line(msg.ID), 4) + " "
	}
	what, how := forms.Line(msg.Method), ""
	switch {
	case msg.Failed:
		how = " " + m.th.Error.Render("error")
	case msg.Response:
		how = " result"
	}
	if w < 60 { // of a long method the beginning is enough
		what = kit.Clip(what, max(8, w-kit.Width(lead)-kit.Width(how)-kit.Width(size(msg.Size))-1))
	}
	what += how
	if c := m.log.Conversation(msg); c != nil && msg.Call != 0 && w >= 60 {
		what += m.th.Dim.Render(fmt.Sprintf(" %s leg %d of %d", m.th.Glyphs.Dot, msg.Leg, len(c.Legs)))
	}
	return kit.Spread(lead+what, m.th.Dim.Render(size(msg.Size)), w)
}

func (s *messages) key(k tea.KeyMsg, m *Model, i int) tea.Cmd {
	if kit.KeyName(k) == "E" {
		return m.export(inspect.ParseFilter(s.filter))
	}
	if i < 0 {
		return nil
	}
	switch kit.KeyName(k) {
	case "enter":
		p := newMessagePage(s.all[i])
		p.among = s.all
		m.push(p)
	case "d":
		m.pushDiff(s.all[i])
	}
	return nil
}

func (s *messages) hints(*Model) []kit.Hint {
	return []kit.Hint{{"enter", "in full"}, {"d", "diff"}, {"E", "export"}}
}

func (s *messages) empty(*Model) string { return "no message yet" }

// pushDiff shows what a retry changes against the original request of its call.
func (m *Model) pushDiff(msg *inspect.Message) {
	var c *inspect.Conversation
	if msg != nil {
		c = m.log.Conversation(msg)
	}
	if c == nil || msg.Leg < 2 || c.Legs[0].Request == nil || c.Legs[msg.Leg-1].Request == nil {
		m.notice = "this is no retry: a diff is between a later leg and the first"
		return
	}
	a, b := c.Legs[0].Request, c.Legs[msg.Leg-1].Request
	if a.Raw == nil || b.Raw == nil {
		m.notice = "the text of these messages is not kept any more"
		return
	}
	m.push(&diffPage{name: fmt.Sprintf("leg %d against leg 1", msg.Leg), changes: inspect.Diff(a, b)})
}

// diffPage shows a diff.
type diffPage struct {
	name    string
	changes []inspect.Change
	kit.Scroller
}

func (p *diffPage) title(*Model) string { return p.name }

func (p *diffPage) key(k tea.KeyMsg, m *Model) tea.Cmd {
	if p.Scroller.Key(k, max(1, m.h-5)) {
		return nil
	}
	switch kit.KeyName(k) {
	case "esc", "q", "d", "ctrl+c":
		m.pop()
	case "c":
		var b strings.Builder
		for _, c := range p.changes {
			fmt.Fprintf(&b, "%c %s\n", c.Mark, forms.Block(c.Text))
		}
		return m.copy(b.String(), "the diff")
	}
	return nil
}

func (p *diffPage) rows(m *Model, w, h int) []string {
	var out []string
	for _, c := range p.changes {
		style := m.th.Dim
		switch c.Mark {
		case '+':
			style = m.th.Good
		case '-':
			style = m.th.Error
		}
		for _, r := range kit.Wrap(forms.Line(c.Text), max(8, w-3)) {
			out = append(out, style.Render(string(c.Mark)+" "+r))
		}
	}
	rows, _ := p.Cut(out, h)
	return rows
}

func (p *diffPage) hints(*Model) []kit.Hint {
	return []kit.Hint{{"esc", "back"}, {"c", "copy"}, {"up/down", "scroll"}}
}

func resultOf(msg *inspect.Message) json.RawMessage { return inspect.Member(msg.Raw, "result") }
func errorOf(msg *inspect.Message) json.RawMessage  { return inspect.Member(msg.Raw, "error") }
