package formview

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"
)

// ignoring is what the form says while it swallows keys.
const ignoring = "keys are ignored until you pause"

// guard makes the form deaf until the keys have been quiet for Guard: it came on the screen, or something on it opened,
// while the person may be writing for something else.
func (m *Model) guard() { m.since, m.swallowed = m.now(), false }

// Guarded says whether keys are still ignored.
func (m *Model) Guarded() bool { return m.now().Sub(m.since) < Guard }

// swallow ignores a key. Each one starts the quiet anew: with a fixed time the next letter of a word that somebody goes
// on writing, or of a key that is held down, would decide.
func (m *Model) swallow() { m.since, m.swallowed = m.now(), true }

// Ignoring says whether a key was swallowed and the next one would be: the form says so then, and can be drawn again
// when Guard has passed.
func (m *Model) Ignoring() bool { return m.swallowed && m.Guarded() }

// stray takes a key that means nothing on a screen where letters decide. Whoever types there is writing something else,
// and the next letter of it could be the one that sends an answer.
func (m *Model) stray(k tea.KeyMsg) {
	if printable(k) {
		m.swallow()
	}
}

// printable says whether a key writes something.
func printable(k tea.KeyMsg) bool { return k.Paste || k.Type == tea.KeyRunes || k.Type == tea.KeySpace }

// command is the name of a key on a screen where letters are commands: a paste is none, and caps lock changes nothing.
func command(k tea.KeyMsg) string {
	if k.Paste {
		return ""
	}
	s := k.String()
	if k.Type == tea.KeyRunes {
		return strings.ToLower(s)
	}
	return s
}
