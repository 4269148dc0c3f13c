package formview

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/tui/draft"
	"askback/tui/kit"
	"askback/tui/tty"
)

// imePause is how soon an enter may follow characters that came at once and still be part of them: the key that confirms
// what an input method commits.
const imePause = 30 * time.Millisecond

func (m *Model) key(k tea.KeyMsg) Action {
	if m.tooSmall() {
		return nil
	}
	if !m.keys.Takes(m.now()) {
		return nil
	}
	m.status = ""
	if kit.KeyName(k) == "ctrl+f" {
		m.detail = nil
		return Leave{m.req.ID}
	}
	if m.detail != nil {
		m.detailKey(k)
		return nil
	}
	switch m.stage {
	case filling:
		return m.fillingKey(k)
	case reviewing:
		return m.reviewKey(k)
	case single:
		return m.singleKey(k)
	case confirming:
		return m.confirmKey(k)
	case settled:
		return m.settledKey(k)
	}
	return nil // sending waits
}

func (m *Model) current() *field { return m.fields[m.idx] }

func (m *Model) fillingKey(k tea.KeyMsg) Action {
	if k.Paste {
		m.form.Update(k)
		return nil
	}
	f := m.current()
	switch s := kit.KeyName(k); s {
	case "ctrl+s":
		m.openReview()
	case "ctrl+x":
		return m.confirm(forms.ActionDecline)
	case "esc":
		if f.list != nil && f.list.clearFilter() {
			f.changed()
			return nil
		}
		return m.confirm(forms.ActionCancel)
	case "ctrl+g":
		m.openDetail()
	case "ctrl+o":
		m.leaveOut(f)
	case "ctrl+r":
		m.reset(f)
	case "enter":
		m.enter(f)
	case "tab":
		if m.idx == len(m.fields)-1 {
			m.status = "the last field: ctrl+s reviews"
		}
		m.focus(m.idx + 1)
	case "shift+tab":
		m.focus(m.idx - 1)
	case "up", "down", "pgup", "pgdown":
		if f.input == nil {
			m.form.Update(k)
			return nil
		}
		m.focus(m.idx + map[string]int{"up": -1, "down": 1, "pgup": -m.bodyRoom(), "pgdown": m.bodyRoom()}[s])
	default:
		if k.Type == tea.KeyRunes && tty.Composed(k.Runes) {
			m.multiRune = m.now()
		}
		m.form.Update(k)
	}
	return nil
}

// leaveOut is ctrl+o. Where it does nothing, it says so.
func (m *Model) leaveOut(f *field) {
	if f.d.Out() == draft.OutNothing {
		m.status = "there is nothing to leave out"
		return
	}
	f.d.ToggleEmpty()
	f.sync()
}

// reset is ctrl+r. A field that started from nothing keeps what was typed.
func (m *Model) reset(f *field) {
	if f.d.ResetsTo() == draft.Nothing {
		if f.d.From() == draft.Person {
			m.status = "this field has no default"
		}
		return
	}
	f.d.Reset()
	f.sync()
}

// enter takes the row under the cursor of a select and goes on; on the last field it opens the review. A required select
// without a cursor keeps the focus: there is nothing to take.
func (m *Model) enter(f *field) {
	if m.now().Sub(m.multiRune) < imePause {
		f.note = "an enter right after composed text is ignored"
		f.changed()
		return
	}
	if f.list != nil && !f.list.multi {
		if !f.list.take() {
			m.status = "no row is chosen: up, down, or type"
			return
		}
		f.changed()
	}
	if m.idx < len(m.fields)-1 {
		m.focus(m.idx + 1)
		return
	}
	m.openReview()
}

// singleKey is for a form that is its own review: what is chosen is on the screen, s sends it.
func (m *Model) singleKey(k tea.KeyMsg) Action {
	switch kit.Command(k) {
	case "s", "ctrl+s":
		if !m.keys.Decides(m.now()) {
			return nil
		}
		return m.submit()
	case "ctrl+x":
		return m.confirm(forms.ActionDecline)
	case "esc":
		return m.confirm(forms.ActionCancel)
	case "ctrl+g":
		m.openDetail()
	case "ctrl+o":
		if m.form != nil {
			m.leaveOut(m.current())
		}
	case "ctrl+r":
		if m.form != nil {
			m.reset(m.current())
		}
	case "enter":
		if m.form != nil && m.current().list.take() {
			m.current().changed()
		}
	case "y", "n", " ":
		if m.form == nil {
			m.stray(k)
			break
		}
		if m.form.Update(k); k.Type == tea.KeySpace {
			m.keys.Wrote(m.now())
		}
	default:
		if m.stray(k); m.form != nil && !kit.Writes(k) {
			m.form.Update(k)
		}
	}
	return nil
}

// submit sends the draft's answer, which the screen shows.
func (m *Model) submit() Action {
	r, wrong := m.draft.Result()
	switch {
	case len(wrong) > 0:
		for _, f := range m.fields {
			f.visited = true
			f.changed()
		}
		m.status = m.countWrong(wrong)
		return nil
	case m.link != Connected:
		m.status = "no connection: nothing can be sent yet"
		return nil
	}
	return m.send(r)
}

func (m *Model) send(r forms.Result) Action {
	if m.stage != confirming { // that came from somewhere itself
		m.back = m.stage
	}
	m.stage, m.sent = sending, r
	return Submit{m.req.ID, r}
}

// confirm asks once before a decline or a dismissal. A form for arguments is left instead.
func (m *Model) confirm(a forms.Action) Action {
	if m.req.Arguments {
		if a == forms.ActionDecline {
			return nil
		}
		return Leave{m.req.ID}
	}
	m.back, m.stage, m.ask = m.stage, confirming, a
	m.guard()
	return nil
}

// confirmKey takes the answer to the question. ctrl+y is for a keyboard whose letters are not Latin.
func (m *Model) confirmKey(k tea.KeyMsg) Action {
	switch kit.Command(k) {
	case "y", "ctrl+y":
		if m.link != Connected {
			m.status = "no connection: nothing can be sent yet"
			return nil
		}
		return m.send(forms.Result{Action: m.ask})
	case "n", "esc", "enter":
		m.stage = m.back
		m.backToDeciding()
	default:
		m.stray(k)
		m.status = "y or n"
	}
	return nil
}

// backToDeciding is called when what lay over the form is gone: a screen where a letter decides has opened again.
func (m *Model) backToDeciding() {
	if m.stage == reviewing || m.stage == single {
		m.guard()
	}
}
