package formview

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/tui/draft"
	"askback/tui/kit"
)

// ending is how the form ended: an answer, or a closure and its reason.
type ending struct {
	result *forms.Result
	ours   bool
	why    string
	told   bool // why holds the cause
	page   pager
}

// maxBecause is how much of a cause is told.
const maxBecause = 400

// Because adds the cause to the closure of a form, where that is known only later.
func (m *Model) Because(cause string) {
	if m.stage != settled || m.end.result != nil || m.end.told {
		return
	}
	m.end.told = true
	m.end.why += ": " + cut(forms.Line(cause), maxBecause)
	m.end.page.rows = m.endRows()
}

// endRows tell how the form ended; after a closure, or an answer from elsewhere, they offer what was typed.
func (m *Model) endRows() []string {
	var rows []string
	say := func(s string) {
		for _, r := range wrap(s, m.w-1) {
			rows = append(rows, m.th.Strong.Render(r))
		}
	}
	rows = append(rows, "")
	switch e := m.end; {
	case e.result == nil:
		say("Closed without an answer:")
		rows = append(rows, m.quoted(e.why)...)
	case e.ours:
		say("Your answer was stored: " + outcomeWord(e.result.Action) + ".")
	default:
		say("Answered elsewhere: " + outcomeWord(e.result.Action) + ".")
		rows = append(rows, m.valueRows(*e.result)...)
	}
	if m.end.ours || !m.draft.Touched() {
		return rows
	}
	rows = append(rows, "")
	say("What you typed, for copying:")
	return append(rows, m.quoted(m.typed(true))...)
}

// quoted are the rows of a text that came from elsewhere, behind the bar.
func (m *Model) quoted(text string) []string {
	rows := wrap(text, m.w-3)
	for i, r := range rows {
		rows[i] = m.th.Dim.Render(m.th.Glyphs.Bar) + " " + r
	}
	return rows
}

func outcomeWord(a forms.Action) string {
	switch a {
	case forms.ActionAccept:
		return "accepted"
	case forms.ActionDecline:
		return "declined"
	}
	return "dismissed"
}

// valueRows are the values of an answer, in the form's order.
func (m *Model) valueRows(r forms.Result) []string {
	if r.Action != forms.ActionAccept {
		return nil
	}
	var rows []string
	for _, f := range m.draft.Fields {
		if v, given := r.Values[f.Spec.Name]; given {
			rows = append(rows, m.quoted(f.Shown.Label+": "+f.Words(v))...)
		}
	}
	return rows
}

// typed is what the person gave, in this form or in the one before, one field a line; safe is for the screen, else as it was typed.
func (m *Model) typed(safe bool) string {
	var out []string
	for _, f := range m.draft.Fields {
		text := f.Text()
		if !f.IsText() || safe {
			text = f.Summary()
		}
		if f.HasAnswer() && f.From() != draft.Default {
			out = append(out, f.Shown.Label+": "+text)
		}
	}
	return strings.Join(out, "\n")
}

// settledKey takes a key of a form that is over. It closes on esc alone where it holds what was typed, and on nothing
// that a person who has not seen it end would press in a field.
func (m *Model) settledKey(k tea.KeyMsg) Action {
	switch key := kit.Command(k); key {
	case "esc":
		return Close{m.req.ID}
	case "enter":
		if !m.Keeps() {
			return Close{m.req.ID}
		}
		m.status = "esc closes it, with what you typed"
	case "c":
		if m.Keeps() {
			return Copy{m.req.ID, m.typed(false)}
		}
		m.stray(k)
	default:
		if !m.end.page.key(key, m.bodyRoom()) {
			m.stray(k)
		}
	}
	return nil
}

// Keeps says whether a form that is over holds what the person typed and nobody was sent: closing it loses that.
func (m *Model) Keeps() bool { return m.stage == settled && !m.end.ours && m.draft.Touched() }
