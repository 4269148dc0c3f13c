package tui

import (
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/tui/hostview"
	"askback/tui/kit"
)

// hostpanel shows the Host and both connections.
type hostpanel struct{ kit.Scroller }

func (p *hostpanel) title() string { return "Host" }

func (p *hostpanel) key(k tea.KeyMsg, v view) action {
	if p.Scroller.Key(k, max(1, v.h-1)) {
		return nil
	}
	switch kit.KeyName(k) {
	case "esc", "q", "enter", "ctrl+o", "ctrl+c":
		return doClose{}
	case "r":
		if v.m.someLinkDown() {
			return doRetry{}
		}
	}
	return nil
}

func (m *Model) someLinkDown() bool {
	for _, l := range m.links {
		if l.State != hostview.StateReady {
			return true
		}
	}
	return false
}

func (p *hostpanel) rows(v view) []string {
	h := v.m.host
	var out []string
	line := func(name, text string) {
		if text == "" {
			return
		}
		for i, r := range kit.Wrap(text, max(8, v.w-14)) {
			lead := kit.Pad("", 12)
			if i == 0 {
				lead = kit.Pad(name, 12)
			}
			out = append(out, "  "+v.th.Dim.Render(lead)+r)
		}
	}
	line("address", forms.Line(h.Address))
	line("view", p.link(v, hostview.LinkView))
	if v.m.servers != nil {
		line("provider", p.link(v, hostview.LinkProvider))
	}
	kind := "another program's; a Turn's text goes to its agent"
	if !h.Foreign() {
		kind = "our own; it runs /call lines itself"
	}
	if h.Revision != "" {
		line("kind", kind)
		line("revision", forms.Line(h.Revision))
	}
	if h.Dialect != 0 {
		speaks := fmt.Sprintf("epoch %d", h.Dialect)
		if h.Dialect < formsDialect {
			speaks += "; it cannot hold forms"
		}
		line("protocol", speaks)
	}
	line("root", forms.Line(h.RootID))
	line("start", forms.Line(h.Epoch))
	line("sessions", fmt.Sprint(len(v.m.sessions)))
	rows, _ := p.Cut(out, v.h)
	return rows
}

// formsDialect is the first protocol epoch in which a Host holds forms.
const formsDialect = 81

func (p *hostpanel) link(v view, l hostview.Link) string {
	c, ok := v.m.links[l]
	if !ok {
		return "not connected yet"
	}
	return linkText(c, v)
}

// linkText says how a link stands, with the reason.
func linkText(c hostview.Connection, v view) string {
	text := string(c.State)
	if c.State == hostview.StateReconnecting {
		if c.Attempt > 0 {
			text += fmt.Sprintf(" (attempt %d)", c.Attempt)
		}
		if d := c.Retry.Sub(v.now); d > 0 {
			text += " in " + kit.Elapsed(d)
		}
	}
	if c.Detail != "" {
		text += ": " + forms.Line(c.Detail)
	}
	return text
}

func (p *hostpanel) hints(v view) []kit.Hint {
	out := []kit.Hint{{"esc", "back"}}
	if v.m.someLinkDown() {
		out = append(out, kit.Hint{"r", "connect again now"})
	}
	return append(out, p.ScrollHints()...)
}
