package formview

import (
	tea "github.com/charmbracelet/bubbletea"

	"askback/tui/kit"
)

// guard makes the form deaf until the keys have paused: it came on the screen, or something on it opened, while the
// person may be writing for something else.
func (m *Model) guard() { m.keys.Start(m.now()) }

// Guarded says whether keys are still ignored.
func (m *Model) Guarded() bool { return m.keys.Deaf(m.now()) }

// Ignoring says whether a key was ignored and the next one would be: the form says so then, and can be drawn again
// when the keys have paused.
func (m *Model) Ignoring() bool { return m.keys.Ignoring(m.now()) }

// stray takes a key that means nothing on a screen where letters decide. Whoever types there is writing something else,
// and the next letter of it could be the one that sends an answer.
func (m *Model) stray(k tea.KeyMsg) {
	if kit.Writes(k) {
		m.keys.Ignore(m.now())
	}
}
