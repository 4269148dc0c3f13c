package screen

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/internal/inspect"
	"askback/mcpmgr"
	"askback/tui/kit"
)

// calls is the list of conversations, the newest last.
type calls struct {
	all      []*inspect.Conversation
	filtered bool
}

func (s *calls) gather(m *Model, filter string) int {
	s.all, s.filtered = nil, filter != ""
	for _, c := range m.log.Conversations {
		if matches(filter, c.Server+" "+c.Method+" "+c.Name+" "+m.stateOf(c)) {
			s.all = append(s.all, c)
		}
	}
	return len(s.all)
}

func (s *calls) row(m *Model, i, w int) string {
	c := s.all[i]
	lead := ""
	if w >= 60 {
		lead = m.th.Dim.Render(c.Began.Format("15:04:05")) + " "
	}
	right := ""
	if c.Run != nil && c.Run.Open() {
		right = kit.Elapsed(m.now().Sub(c.Began))
	}
	return kit.Spread(lead+m.named(c.Server, c.Name)+"  "+m.stateOf(c), right, w)
}

// stateOf says where a call stands, in a few words.
func (m *Model) stateOf(c *inspect.Conversation) string {
	if c.Run == nil {
		return kit.Count(len(c.Legs), "leg", "legs")
	}
	if !c.Run.Open() {
		return m.outcome(c.Run)
	}
	if p := m.panelOf(c); p != nil {
		return "waits for you: " + string(p.ask().Kind)
	}
	n := len(c.Legs)
	switch {
	case n == 0:
		return "starts"
	case c.Legs[n-1].Reply != nil:
		return fmt.Sprintf("pauses after leg %d", n)
	}
	text := fmt.Sprintf("leg %d on the wire", n)
	if p := c.Run.Progress; p != nil {
		text += " " + m.th.Glyphs.Dot + " " + progressText(p)
	}
	return text
}

// panelOf is the panel that a call waits for, or nil.
func (m *Model) panelOf(c *inspect.Conversation) panel {
	for _, p := range m.panels {
		if c.Run != nil && p.ask().Run == c.Run.ID {
			return p
		}
	}
	return nil
}

func progressText(p *mcpmgr.Progress) string {
	s := fmt.Sprintf("%g", p.Progress)
	if p.Total > 0 {
		s += fmt.Sprintf("/%g", p.Total)
	}
	return strings.TrimSpace(s + " " + forms.Line(p.Message))
}

// outcome says how a call ended.
func (m *Model) outcome(r *inspect.Run) string {
	switch {
	case r.Err != nil && r.Err.Code == mcpmgr.CodeCancelled:
		return "ended: " + r.Err.Message
	case r.Err != nil:
		return "failed: " + string(r.Err.Code)
	case r.Result != nil && r.Result.IsError:
		return "done, the tool failed " + m.th.Glyphs.Dot + " " + kit.Count(r.Result.Legs, "leg", "legs")
	case r.Result != nil:
		return "done " + m.th.Glyphs.Dot + " " + kit.Count(r.Result.Legs, "leg", "legs")
	}
	return "ended"
}

func (s *calls) key(k tea.KeyMsg, m *Model, i int) tea.Cmd {
	if kit.KeyName(k) == "E" {
		f := inspect.ParseFilter("")
		if s.filtered {
			f = inspect.OfCalls(s.all...)
		}
		return m.export(f)
	}
	if i < 0 {
		return nil
	}
	switch kit.KeyName(k) {
	case "enter":
		m.push(&convPage{c: s.all[i]})
	default:
		return callKey(k, m, s.all[i])
	}
	return nil
}

// callKey does what can be done with a call wherever it is shown.
func callKey(k tea.KeyMsg, m *Model, c *inspect.Conversation) tea.Cmd {
	switch kit.KeyName(k) {
	case "e":
		m.ask(replay(c))
	case "x":
		if c.Run == nil || !c.Run.Open() {
			m.notice = "this call has ended"
			return nil
		}
		run := c.Run.ID
		m.push(&confirm{name: "abort", text: "Abort " + forms.Line(c.Name) + "? What is asked is not answered.", yes: "abort",
			then: func(m *Model) tea.Cmd { m.ins.Abort(run); return nil }, keys: kit.Guarded(m.now())})
	case "f":
		if p := m.panelOf(c); p != nil {
			m.raise(p)
			return nil
		}
		m.notice = "this call waits for nothing"
	case "E":
		return m.export(inspect.OfCalls(c))
	}
	return nil
}

func (s *calls) hints(*Model) []kit.Hint {
	return []kit.Hint{{"enter", "conversation"}, {"f", "panel"}, {"x", "abort"}, {"e", "again, edited"}}
}

func (s *calls) empty(*Model) string { return "no call yet: 2 tools, 3 prompts, 4 resources" }
