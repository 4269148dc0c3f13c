package screen

import (
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/internal/inspect"
	"askback/tui/draft"
	"askback/tui/kit"
	"askback/tui/theme"
)

// panel is one thing that a server asks, on the whole screen.
type panel interface {
	ask() *inspect.Ask
	id() uint64
	show(m *Model)          // it comes to the front: keys are ignored for a moment
	ignoring(m *Model) bool // a key was ignored, and the next would be
	resize(w, h int)
	key(k tea.KeyMsg, m *Model) tea.Cmd
	view(m *Model) string
}

// drafts are the answers that each call was given, for its next form.
type drafts map[uint64]draft.Answers

func (m *Model) asked(a *inspect.Ask) tea.Cmd {
	var p panel
	switch a.Kind {
	case inspect.AskForm:
		p = newFormPanel(a, m)
	case inspect.AskURL:
		p = newURLPanel(a)
	default:
		p = newSamplingPanel(a)
	}
	p.resize(m.w, m.h)
	m.panels = append(m.panels, p)
	if m.up == nil {
		m.raise(p)
	}
	return func() tea.Msg { m.io.Bell(); return nil }
}

// withdrawn takes a panel away whose call has ended.
func (m *Model) withdrawn(e inspect.Withdrawn) {
	for i, p := range m.panels {
		if p.id() == e.Ask {
			m.panels = slices.Delete(m.panels, i, i+1)
			if m.up == p {
				m.up = nil
				m.notice = "closed without an answer: " + e.Why
				m.nextWaiting()
			}
			if !e.Aborted {
				m.keep(p, e.Why)
			}
			return
		}
	}
}

// keep shows what was typed into a panel that has closed by itself, to be copied.
func (m *Model) keep(p panel, why string) {
	switch p := p.(type) {
	case *formPanel:
		if p.f.Touched() {
			p.f.Closed(why)
			m.push(&formArgs{f: p.f})
		}
	case *samplingPanel:
		if text := p.typed(); text != "" {
			m.push(&describePage{name: "closed without an answer", parts: []part{{"", why}, {"what you typed", text}},
				copies: "what you typed", call: (*Model).pop, keys: kit.Guarded(m.now())})
		}
	}
}

// raise brings a panel to the front.
func (m *Model) raise(p panel) {
	m.up, m.notice = p, ""
	p.resize(m.w, m.h)
	p.show(m)
}

// nextPanel goes to the panel that waits longest, and on the next time.
func (m *Model) nextPanel() {
	if len(m.panels) == 0 {
		m.notice = "no server asks for anything"
		return
	}
	m.raise(m.panels[0])
}

// leavePanel puts a panel away without deciding, behind the others.
func (m *Model) leavePanel() {
	if i := slices.Index(m.panels, m.up); i >= 0 {
		m.panels = append(slices.Delete(m.panels, i, i+1), m.up)
	}
	m.up = nil
	m.comeBack()
}

// nextWaiting shows the next panel after one has been answered, or what lies below.
func (m *Model) nextWaiting() {
	switch {
	case m.up != nil:
	case len(m.panels) > 0:
		m.raise(m.panels[0])
	default:
		m.comeBack()
	}
}

// answer gives an answer and takes the panel away.
func (m *Model) answer(p panel, r inspect.Reply) tea.Cmd {
	if i := slices.Index(m.panels, p); i >= 0 {
		m.panels = slices.Delete(m.panels, i, i+1)
	}
	if m.up == p {
		m.up = nil
	}
	if !m.ins.Answer(p.id(), r) {
		m.notice = "the call has ended: nothing was sent"
	}
	m.nextWaiting()
	return nil
}

func (m *Model) panelKey(k tea.KeyMsg) tea.Cmd {
	switch kit.KeyName(k) {
	case "ctrl+c":
	case "f1":
		m.over, m.notice = &help{}, ""
		return nil
	default:
		m.notice = ""
		return m.up.key(k, m)
	}
	a := m.up.ask()
	if p, ok := m.up.(*urlPanel); ok && p.visit != nil {
		m.notice = "esc gives the authorization up; there is no call to abort"
		return nil
	}
	if a.Run == 0 {
		m.notice = "the server asks by itself: ctrl+f leaves, x under 5 calls aborts"
		return nil
	}
	return m.twice(abortAgain, a.Run, func() tea.Cmd {
		m.ins.Abort(a.Run)
		return nil
	})
}

// stray takes a key that means nothing where letters decide. Whoever types there is writing something else, and the next
// letter of it could decide.
func stray(g *kit.Guard, k tea.KeyMsg, m *Model) {
	if kit.Writes(k) {
		g.Ignore(m.now())
	}
}

// panelView draws the panel on the screen.
func (m *Model) panelView() string {
	text := m.notice
	if f, ok := m.up.(*formPanel); m.ignoring() && (!ok || f.intro) { // a form says so itself
		text = kit.Ignoring
	}
	return m.saying(m.up.view(m), text)
}

// saying puts what the program has to say of the last key over the last row but one of a frame that has no row for it.
func (m *Model) saying(frame, text string) string {
	rows := strings.Split(frame, "\n")
	if text != "" && len(rows) >= 2 {
		rows[len(rows)-2] = ruleRow(text, m.w, m.th, m.th.Warn)
	}
	return strings.Join(rows, "\n")
}

// noteRows say where a request came from: nothing of a legacy server's own.
func noteRows(a *inspect.Ask, w int, th *theme.Theme) []string {
	if a.Note() == "" {
		return nil
	}
	var out []string
	for _, r := range kit.Wrap(noteText(a, th), w-1) {
		out = append(out, th.Strong.Render(r))
	}
	return out
}

func noteText(a *inspect.Ask, th *theme.Theme) string {
	return fmt.Sprintf("input_required %d/%d %s %s", a.Origin.Round, inspect.Rounds, th.Glyphs.Dot, a.Note())
}

// whoRow is the first row of a panel: who asks, and which of how many.
func whoRow(a *inspect.Ask, what string, w int, th *theme.Theme) string {
	who := forms.Line(a.Origin.Server)
	if a.Origin.Name != "" {
		who += " " + th.Glyphs.Dot + " " + forms.Line(a.Origin.Name)
	}
	place := what
	if a.Origin.Total > 1 {
		place += fmt.Sprintf(" %d of %d", a.Origin.Index, a.Origin.Total)
	}
	return th.Title.Render(kit.Pad(kit.Spread(who, place, w-1), w-1))
}

// frame fits a panel's rows: the head stays, the body scrolls, the last two rows are the program's.
func frame(head, body []string, status string, hints []kit.Hint, m *Model) string {
	rows := append([]string{}, head...)
	rows = append(rows, kit.Fit(body, m.w, max(0, m.h-len(head)-2))...)
	rows = append(rows[:m.h-2], kit.Clip(status, m.w), kit.HintRow(hints, m.w, m.th))
	return strings.Join(rows, "\n")
}
