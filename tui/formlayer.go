package tui

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/tui/draft"
	"askback/tui/formview"
	"askback/tui/hostview"
	"askback/tui/kit"
)

// formlayer is the form on screen: the queue's. It takes the whole window.
type formlayer struct{}

func (formlayer) title() string               { return "form" }
func (formlayer) key(tea.KeyMsg, view) action { return nil }
func (formlayer) hints(v view) []kit.Hint     { return nil }
func (formlayer) rows(v view) []string        { return nil }

func (formlayer) show(m *Model) {
	if e := m.queue.showing(); e != nil {
		e.view.Show()
	}
}

// openForm makes the view of an Interaction.
func (m *Model) openForm(in hostview.Interaction, earlier draft.Answers) *formview.Model {
	f := formview.New(formview.Request{ID: in.ID, Form: hostview.FormOf(in, forms.Line(m.host.Name())), Earlier: earlier},
		formview.Options{Theme: m.th, Now: m.now})
	f.Resize(m.w, m.h)
	return f
}

// formUp is the entry on screen, or nil while another screen is on top or the forms were left.
func (m *Model) formUp() *entry {
	if _, ok := m.top().(formlayer); !ok {
		return nil
	}
	return m.queue.showing()
}

// showForms puts the queue on top. id is the entry to show; empty keeps the current one.
func (m *Model) showForms(id string) {
	m.hideForms()
	if len(m.queue.entries) == 0 {
		return
	}
	if id != "" {
		m.queue.current = id
	}
	m.push(formlayer{})
	m.faceForm()
}

// faceForm is called when another entry has come on screen.
func (m *Model) faceForm() {
	if e := m.queue.showing(); e != nil {
		m.queue.current = e.in.ID
		e.seen = true
		e.view.Resize(m.w, m.h)
		e.view.Show()
	}
}

func (m *Model) hideForms() {
	for i, d := range m.stack {
		if _, ok := d.(formlayer); ok {
			m.stack = append(m.stack[:i:i], m.stack[i+1:]...)
			return
		}
	}
}

// formsShown says whether the queue lies anywhere on the stack.
func (m *Model) formsShown() bool {
	for _, d := range m.stack {
		if _, ok := d.(formlayer); ok {
			return true
		}
	}
	return false
}

// formKey gives a key to the form on screen.
func (m *Model) formKey(e *entry, k tea.KeyMsg) tea.Cmd {
	if len(m.queue.entries) > 1 && (kit.KeyName(k) == "ctrl+n" || kit.KeyName(k) == "ctrl+p") {
		by := 1
		if kit.KeyName(k) == "ctrl+p" {
			by = -1
		}
		m.queue.turn(by)
		m.faceForm()
		return nil
	}
	switch a := e.view.Update(k).(type) {
	case formview.Submit:
		return m.submit(e, a.Result)
	case formview.Leave:
		m.leaveForm(e)
	case formview.Copy:
		return m.copy(a.Text)
	case formview.Close:
		m.dropForm(e.in.ID)
	}
	return m.awaken(e.view)
}

// leaveForm puts the forms away. Where one is left that has ended and holds what was typed, how to get back to it is said:
// nothing waits there that would.
func (m *Model) leaveForm(e *entry) {
	m.pop()
	if e.view.Keeps() {
		m.notice = "ctrl+f shows the closed form again"
	}
}

// awaken draws the form again when the keys that it ignores now may act, and it stops saying so.
func (m *Model) awaken(f *formview.Model) tea.Cmd {
	if !f.Ignoring() {
		return nil
	}
	return m.after(kit.Pause, awake{})
}

// dropForm takes an entry out of the queue and shows the next, if the queue is shown.
func (m *Model) dropForm(id string) {
	up := m.formUp()
	m.queue.drop(id)
	switch {
	case len(m.queue.entries) == 0:
		m.hideForms()
		m.comeBack()
	case up != nil && up != m.queue.showing():
		m.faceForm()
	}
}

// submit sends what review showed.
func (m *Model) submit(e *entry, r forms.Result) tea.Cmd {
	a, ok := hostview.AnswerOf(e.in, r)
	if !ok {
		what := "dismissed"
		if r.Action == forms.ActionAccept {
			what = "answered from here"
		}
		e.view.Refused("this kind of question cannot be " + what + "; it goes on waiting, ctrl+f leaves it")
		return nil
	}
	e.answer = &a
	in := e.in
	return m.request(func() tea.Msg {
		o, err := m.backend.Answer(m.ctx, in, a)
		return answered{in, o, err}
	})
}

// answered takes the end of an answer that we sent.
func (m *Model) answered(msg answered) {
	q := m.queueOf(msg.in.SessionID)
	e := q.find(msg.in.ID)
	if e == nil || e.settled() {
		return
	}
	if msg.err == nil {
		m.settle(q, msg.in.ID, msg.outcome)
		return
	}
	switch hostview.CodeOf(msg.err) {
	case "": // whether it was stored is told when the Host is there again
		e.view.Unconfirmed(errorText(msg.err))
		return
	case hostview.CodeAlreadyResolved:
		e.answer, e.gone = nil, true // how it ended is told by an event
		e.view.Refused("it was answered or closed meanwhile")
		return
	default:
		e.answer = nil
	}
	e.view.Refused(errorText(msg.err))
}

// settle takes the Host's canonical end of an Interaction.
func (m *Model) settle(q *queue, id string, o hostview.Outcome) {
	up := m.formUp()
	if text := q.outcome(id, o); text != "" && q == m.queue {
		m.say(text, false)
	}
	if q != m.queue {
		return
	}
	switch {
	case len(q.entries) == 0:
		if m.hideForms(); up != nil {
			m.comeBack()
		}
	case up != nil && q.showing() != up:
		m.faceForm()
	}
	m.log.waiting(q.calls(), m.now())
	m.causes()
}

// causes tells the forms that closed with their call how that ended. Either may be known first.
func (m *Model) causes() {
	for _, e := range m.queue.entries {
		if it := m.log.byKey["tool:"+e.in.ToolUseID]; e.withdrawn && it != nil && it.state == toolFailed && it.text != "" {
			e.view.Because(it.text)
		}
	}
}

// queueOf is the queue of a session.
func (m *Model) queueOf(session string) *queue {
	if session == m.open {
		return m.queue
	}
	q := m.queues[session]
	if q == nil {
		q = newQueue(m.w, m.h)
		m.queues[session] = q
	}
	return q
}

// pending takes the Host's list of what waits. A new form opens over whatever is there and rings once.
func (m *Model) pending(list []hostview.Interaction) tea.Cmd {
	fresh := m.queue.sync(list, m.openForm)
	m.log.waiting(m.queue.calls(), m.now())
	if len(fresh) == 0 {
		return nil
	}
	if !m.formsShown() {
		m.showForms(fresh[0].in.ID)
	}
	return m.bell()
}

// formView draws the form on screen. What we have to say meanwhile stands in the row above the keys.
func (m *Model) formView(e *entry) string {
	more := m.besideForm()
	e.view.Aside(0)
	if more != "" && m.notice == "" {
		e.view.Aside(kit.Width(more) + 1)
	}
	frame := e.view.View()
	rows := strings.Split(frame, "\n")
	if more == "" || len(rows) < 2 {
		return frame
	}
	at := len(rows) - 2
	rows[at] = beside(rows[at], more, m.th.Glyphs.Dot, m.notice != "", m.w)
	return strings.Join(rows, "\n")
}

// besideForm is what we have to say beside a form, or nothing.
func (m *Model) besideForm() string {
	switch {
	case m.notice != "":
		return m.th.Warn.Render(kit.Clip(forms.Line(m.notice), m.w))
	case m.stopping():
		return m.th.Warn.Render("stopping the Turn")
	case len(m.queue.entries) > 1 && m.w < 60:
		return m.th.Dim.Render("^n next")
	case len(m.queue.entries) > 1:
		return m.th.Dim.Render("ctrl+n next form")
	}
	return ""
}

// beside puts our word at the right of a row, which gives up its last parts for it, or at its place.
func beside(row, more, dot string, instead bool, w int) string {
	if instead {
		return more
	}
	for kit.Width(row)+1+kit.Width(more) > w {
		i := strings.LastIndex(row, " "+dot+" ")
		if i < 0 {
			break
		}
		row = row[:i]
	}
	return kit.Spread(row, more, w)
}
