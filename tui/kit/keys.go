package kit

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"
)

// KeyName is the name of a key, by which screens tell what it does. A text that came at once has none: what is pasted, and
// what a slow line, an input method or a terminal that marks no pastes hands over in one piece. Its letters could spell the
// name of another key, such as up, end or ctrl+c.
func KeyName(k tea.KeyMsg) string {
	if k.Type == tea.KeyRunes && (k.Paste || len(k.Runes) > 1) {
		return ""
	}
	return k.String()
}

// Command is the name of a key on a screen where letters are commands: caps lock changes nothing.
func Command(k tea.KeyMsg) string {
	if k.Type == tea.KeyRunes {
		return strings.ToLower(KeyName(k))
	}
	return KeyName(k)
}

// Writes says whether a key writes something where a text is typed.
func Writes(k tea.KeyMsg) bool { return k.Paste || k.Type == tea.KeyRunes || k.Type == tea.KeySpace }

// ForInput is a key as the text inputs of bubbles may see it, and whether they may. They ask it for its name themselves:
// what has none is marked as pasted. alt+d and alt+delete panic at the end of a text, ctrl+v reads the clipboard of the
// machine we run on, and other keys with alt write their letter.
func ForInput(k tea.KeyMsg) (_ tea.KeyMsg, ok bool) {
	k.Paste = k.Paste || KeyName(k) == ""
	switch {
	case k.Paste:
		k.Alt = false
		return k, true
	case !k.Alt:
		return k, k.Type != tea.KeyCtrlV
	}
	switch KeyName(k) {
	case "alt+b", "alt+f", "alt+left", "alt+right", "alt+backspace":
		return k, true
	}
	return k, false
}
