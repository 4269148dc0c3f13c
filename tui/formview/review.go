package formview

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/tui/draft"
	"askback/tui/kit"
)

// review is the answer as it would be sent, and what is wrong with it.
//
// seen counts the rows from the top that have stood on the screen: nothing is sent before all have.
type review struct {
	from   int // the field it was opened from
	mark   int // the field that enter goes to
	result forms.Result
	wrong  []draft.Wrong

	rows  []reviewRow
	top   int
	seen  int
	width int
}

type reviewRow struct {
	field int
	first bool
	wrong bool
	text  string
}

// openReview shows what the draft makes. It opens with things wrong, too, and says which.
func (m *Model) openReview() {
	r := review{from: m.idx, mark: m.idx}
	r.result, r.wrong = m.draft.Result()
	for _, f := range m.fields {
		f.visited = true
		f.changed()
	}
	m.review, m.stage = r, reviewing
	m.guard()
	m.review.fit(m)
	if len(r.wrong) > 0 && r.wrong[0].Index >= 0 {
		m.review.mark = r.wrong[0].Index
		m.review.reveal(m.bodyRoom())
	}
}

// fit wraps the rows to the window. Rows that are wrapped anew have not been seen.
func (r *review) fit(m *Model) {
	if r.width != m.w {
		r.width, r.seen, r.rows = m.w, 0, nil
		for i, f := range m.draft.Fields {
			r.rows = append(r.rows, reviewRows(i, f, r.problem(i), m.w-3)...)
		}
		if p := r.problem(-1); p != "" {
			r.rows = append(r.rows, reviewRow{field: -1, wrong: true, text: cut("! "+p, m.w-3)})
		}
	}
	r.clamp(m.bodyRoom())
}

func (r *review) problem(index int) string {
	var out []string
	for _, w := range r.wrong {
		if w.Index == index {
			out = append(out, w.Message)
		}
	}
	return strings.Join(out, "; ")
}

// maxWrongRows is how much of a wrong text a review shows.
const maxWrongRows = 4

func reviewRows(i int, f *draft.Field, problem string, width int) []reviewRow {
	text := f.Shown.Label + ": " + f.Summary()
	if f.Secret {
		text = secretLead + text
	}
	if mark := f.Mark(); mark != "" {
		text += " (" + mark + ")"
	}
	lines := wrap(text, width-2)
	if problem != "" && len(lines) > maxWrongRows {
		lines = lines[:maxWrongRows] // it is not sent as it is; what is wrong must be in sight
		lines[maxWrongRows-1] = cutOff(lines[maxWrongRows-1], width-2)
	}
	var out []reviewRow
	for n, line := range lines {
		if n > 0 {
			line = "  " + line
		}
		out = append(out, reviewRow{field: i, first: n == 0, text: line})
	}
	if problem == "" {
		return out
	}
	for n, line := range wrap(problem, width-4) {
		lead := "  ! "
		if n > 0 {
			lead = "    "
		}
		out = append(out, reviewRow{field: i, wrong: true, text: lead + line})
	}
	return out
}

// clamp keeps the window inside and counts what it shows as seen.
func (r *review) clamp(room int) {
	r.top = max(0, min(r.top, len(r.rows)-room))
	if r.top <= r.seen {
		r.seen = max(r.seen, min(len(r.rows), r.top+room))
	}
}

// reveal scrolls to the marked field, where that does not hide the beginning of a review that fits.
func (r *review) reveal(room int) {
	first, last := -1, -1
	for i, row := range r.rows {
		if row.field == r.mark {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	switch {
	case first < 0:
	case first < r.top:
		r.top = first
	case last >= r.top+room:
		r.top = min(first, last-room+1)
	}
	r.clamp(room)
}

func (r *review) allSeen() bool { return r.seen >= len(r.rows) }

func (m *Model) reviewKey(k tea.KeyMsg) Action {
	r, room := &m.review, m.bodyRoom()
	switch key := kit.Command(k); key {
	case "s", "ctrl+s":
		if !m.keys.Decides(m.now()) { // the blank before it, or the j, was part of a text
			return nil
		}
		return m.submitReviewed()
	case "e", "esc":
		m.edit(r.from)
	case "enter":
		m.edit(r.mark)
	case "tab":
		r.mark = min(r.mark+1, len(m.fields)-1)
		r.reveal(room)
	case "shift+tab":
		r.mark = max(r.mark-1, 0)
		r.reveal(room)
	case "ctrl+x":
		return m.confirm(forms.ActionDecline)
	case "ctrl+g":
		m.openDetail()
	default:
		top, ok := scroll(key, r.top, room, len(r.rows))
		if !ok {
			m.stray(k)
			break
		}
		if kit.Writes(k) {
			m.keys.Wrote(m.now())
		}
		r.top = top
		r.clamp(room)
	}
	return nil
}

// edit goes back to a field.
func (m *Model) edit(i int) {
	m.stage = filling
	m.focus(i)
}

// submitReviewed sends what the review shows, once all of it has been on the screen and nothing is wrong.
func (m *Model) submitReviewed() Action {
	r, room := &m.review, m.bodyRoom()
	switch {
	case len(r.wrong) > 0:
		m.status = m.countWrong(r.wrong)
		return nil
	case !r.allSeen():
		r.top = r.seen
		r.clamp(room)
		m.guard()
		m.status = "there was more to see; s again"
		return nil
	case m.link != Connected:
		m.status = "no connection: nothing can be sent yet"
		return nil
	}
	return m.send(r.result)
}

func (m *Model) countWrong(wrong []draft.Wrong) string {
	return plural(len(wrong), "thing") + " to put right first"
}

// reviewBody draws the window of the review.
func (m *Model) reviewBody() []string {
	r, room := &m.review, m.bodyRoom()
	to := min(len(r.rows), r.top+room)
	out := make([]string, 0, room)
	for _, row := range r.rows[r.top:to] {
		bar := m.th.Dim.Render(m.th.Glyphs.Bar) + " "
		if row.field == r.mark {
			bar = m.th.Focus.Render(m.th.Glyphs.FocusBar) + " "
		}
		text := row.text
		switch {
		case row.wrong:
			text = m.th.Error.Render(text)
		case row.first:
			text = m.labelled(text, m.draft.Fields[row.field])
		}
		out = append(out, bar+text)
	}
	return out
}

// labelled paints the label that a row of the review begins with.
func (m *Model) labelled(text string, f *draft.Field) string {
	lead := ""
	if rest, ok := strings.CutPrefix(text, secretLead); ok && f.Secret {
		lead, text = m.th.Loud.Render(secretLead), rest
	}
	label := f.Shown.Label + ":"
	if rest, ok := strings.CutPrefix(text, label); ok {
		text = m.th.Strong.Render(label) + rest
	}
	return lead + text
}

// reviewPlace is the first part of the status row.
func (m *Model) reviewPlace() string {
	r, room := &m.review, m.bodyRoom()
	what := "review: nothing is sent yet"
	switch {
	case len(r.wrong) > 0 && m.w < wide:
		what = itoa(len(r.wrong)) + " to put right"
	case len(r.wrong) > 0:
		what = "review: " + plural(len(r.wrong), "thing") + " to put right"
	case m.w < wide:
		what = "nothing is sent yet"
	}
	if at := place(r.top, room, len(r.rows)); at != "" {
		what += m.dot() + at
	}
	return what
}
