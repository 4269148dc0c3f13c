package formview

import (
	"strconv"
	"strings"

	"askback/forms"
	"askback/tui/kit"
)

// View draws the form: exactly the window's height, and at most its width.
func (m *Model) View() string { return kit.Drawn(m.frame(), m.th) }

func (m *Model) frame() string {
	if m.tooSmall() {
		return m.smallView()
	}
	rows := make([]string, 0, m.h)
	rows = append(rows, m.head.rows...)
	body := m.detailBody()
	if body == nil {
		rows = append(rows, m.messageRows()...)
		body = m.body()
	}
	rows = append(rows, body...)
	for len(rows) < m.h-2 {
		rows = append(rows, "")
	}
	rows = append(rows[:m.h-2], m.statusRow(), m.keysRow())
	return strings.Join(rows, "\n")
}

func (m *Model) smallView() string {
	rows := []string{"too small: " + itoa(m.w) + "x" + itoa(m.h), "needs " + itoa(MinWidth) + "x" + itoa(MinHeight)}
	for i, r := range rows {
		rows[i] = cut(r, m.w)
	}
	return strings.Join(rows[:max(1, min(len(rows), m.h))], "\n")
}

// messageRows are the rows of the message that have room; the overlay has all of them.
func (m *Model) messageRows() []string {
	bar := m.th.Dim.Render(m.th.Glyphs.Bar) + " "
	out := make([]string, 0, m.messageRoom)
	for i := range m.messageRoom {
		row := m.message[i]
		if i == m.messageRoom-1 && !m.messageWhole {
			row = cutOff(row, m.w-3)
		}
		out = append(out, bar+row)
	}
	return out
}

func (m *Model) body() []string {
	switch m.stage {
	case filling:
		return m.fillingBody()
	case reviewing:
		return m.reviewBody()
	case single:
		return m.singleBody()
	case confirming:
		return m.confirmBody()
	case sending:
		return m.sendingBody()
	}
	return m.end.page.window(m.bodyRoom())
}

// fillingBody is the window of the form's rows round the focused field. Every other field has one row. huh's own view of
// the group would wrap, pad and measure all of it again at every key.
func (m *Model) fillingBody() []string {
	focused, room := m.current().lines(), m.bodyRoom()
	total := len(m.fields) - 1 + len(focused)
	top := clampTop(m.idx-max(0, (room-len(focused))/2), room, total)
	rows := make([]string, 0, room)
	for i, at := 0, 0; i < len(m.fields) && at < top+room; i++ {
		lines := m.fields[i].lines()
		for _, row := range lines {
			if at >= top && at < top+room {
				rows = append(rows, row)
			}
			at++
		}
	}
	return rows
}

func (m *Model) singleBody() []string {
	if m.form == nil {
		text := "No values are asked for. To submit is to say yes."
		if m.req.Arguments {
			text = "This tool takes no arguments."
		}
		return append([]string{""}, wrap(text, m.w-1)...)
	}
	return m.current().lines()
}

func (m *Model) confirmBody() []string {
	rows := []string{"", "Dismiss this form without an answer?", "The server learns that you closed it."}
	if m.ask == forms.ActionDecline {
		rows = []string{"", "Decline, and tell the server no?", "It learns only that you refuse."}
	}
	rows[1] = m.th.Strong.Render(rows[1])
	return append(rows, "", "y       "+askVerb(m.ask), "n, esc  go back")
}

func askVerb(a forms.Action) string {
	if a == forms.ActionDecline {
		return "decline"
	}
	return "dismiss"
}

func (m *Model) sendingBody() []string {
	what := map[forms.Action]string{
		forms.ActionAccept:  "Sending your answer.",
		forms.ActionDecline: "Sending: declined.",
		forms.ActionCancel:  "Sending: dismissed.",
	}[m.sent.Action]
	return []string{"", m.th.Strong.Render(what), "Waiting for the Host to confirm it."}
}

// statusRow is the last row but one: where the person is, and what the last key did.
func (m *Model) statusRow() string {
	text, style := m.where(), m.th.Text
	switch {
	case m.Ignoring():
		text, style = kit.Ignoring, m.th.Warn
	case m.status != "":
		text, style = m.status, m.th.Error
	}
	tail := ""
	if m.link != Connected {
		tail = m.dot() + string(m.link)
		if i := strings.LastIndex(text, m.dot()); m.status == "" && i >= 0 && cells(text)+cells(tail) > m.w-1 {
			text = text[:i] // how to get on gives way
		}
	}
	return style.Render(cut(text, m.w-1-cells(tail))) + m.th.Error.Render(tail)
}

// where says where the person is.
func (m *Model) where() string {
	switch {
	case m.detail != nil:
		at := place(m.detail.top, m.detailRoom(), len(m.detail.rows))
		if at == "" {
			return "everything in full"
		}
		return "everything in full" + m.dot() + at
	case m.stage == reviewing:
		return m.reviewPlace()
	case m.stage == single:
		return m.singlePlace()
	case m.stage == confirming:
		return "nothing is sent yet"
	case m.stage == settled:
		if at := place(m.end.page.top, m.bodyRoom(), len(m.end.page.rows)); at != "" {
			return at
		}
		return "this form is over"
	case m.stage != filling:
		return ""
	}
	parts := []string{"field " + itoa(m.idx+1) + " of " + itoa(len(m.fields))}
	switch {
	case m.textIsCut() && m.w < wide:
		parts = append(parts, "^g shows all text")
	case m.textIsCut():
		parts = append(parts, "ctrl+g shows all the text")
	case m.draft.FromEarlier() && m.w < wide:
		parts = append(parts, "from your last answers")
	case m.draft.FromEarlier():
		parts = append(parts, "starts from your last answers")
	}
	if len(parts) == 1 {
		parts = append(parts, m.enterDoes(m.w-1-m.aside-cells(parts[0]+m.dot())))
	}
	return strings.Join(parts, m.dot())
}

// enterDoes says in at most room cells how one gets on from the focused field.
func (m *Model) enterDoes(room int) string {
	next := "enter next"
	if m.idx == len(m.fields)-1 {
		next = "enter reviews"
	}
	switch f := m.current(); {
	case f.list == nil:
		return next
	case len(f.list.visible) == 0:
		return "esc clears the filter"
	case f.list.multi && cells("space takes, "+next) > room:
		return "space takes"
	case f.list.multi:
		return "space takes, " + next
	case cells("space or enter takes") > room:
		return "enter takes"
	}
	return "space or enter takes"
}

// textIsCut says whether the message or the focused field's description is not shown in full.
func (m *Model) textIsCut() bool {
	return !m.messageWhole || m.form != nil && !m.current().whole
}

// singlePlace says what s would send, on the form that is its own review, and whether there is more to read before.
func (m *Model) singlePlace() string {
	what := m.singleAnswer()
	switch {
	case !m.textIsCut():
		return what
	case m.w < wide:
		return "^g shows all text" + m.dot() + what
	}
	return "ctrl+g shows all the text" + m.dot() + what
}

func (m *Model) singleAnswer() string {
	if m.form == nil && m.req.Arguments {
		return "s calls the tool"
	}
	if m.form == nil {
		return "s sends your yes"
	}
	f := m.current().d
	if f.Wrong() != "" && m.textIsCut() && m.w < wide {
		return "y or n"
	}
	if f.Wrong() != "" {
		return "no answer yet: y or n"
	}
	if _, present := f.Value(); !present {
		return "s leaves it out"
	}
	return "s sends: " + f.Summary()
}

func itoa(n int) string { return strconv.Itoa(n) }

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return itoa(n) + " " + noun + "s"
}
