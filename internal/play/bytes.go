package play

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"
)

// sequences are what a terminal sends for the keys that are no characters, xterm's way.
var sequences = map[string]string{
	"enter": "\r", "tab": "\t", "esc": "\x1b", "backspace": "\x7f", " ": " ", "space": " ",
	"up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D",
	"home": "\x1b[H", "end": "\x1b[F", "pgup": "\x1b[5~", "pgdown": "\x1b[6~",
	"insert": "\x1b[2~", "delete": "\x1b[3~", "shift+tab": "\x1b[Z",
	"shift+up": "\x1b[1;2A", "shift+down": "\x1b[1;2B", "shift+right": "\x1b[1;2C", "shift+left": "\x1b[1;2D",
	"ctrl+up": "\x1b[1;5A", "ctrl+down": "\x1b[1;5B", "ctrl+right": "\x1b[1;5C", "ctrl+left": "\x1b[1;5D",
	"ctrl+home": "\x1b[1;5H", "ctrl+end": "\x1b[1;5F", "ctrl+pgup": "\x1b[5;5~", "ctrl+pgdown": "\x1b[6;5~",
	"f1": "\x1bOP", "f2": "\x1bOQ", "f3": "\x1bOR", "f4": "\x1bOS", "f5": "\x1b[15~", "f6": "\x1b[17~",
	"f7": "\x1b[18~", "f8": "\x1b[19~", "f9": "\x1b[20~", "f10": "\x1b[21~", "f11": "\x1b[23~", "f12": "\x1b[24~",
}

// encode is what a terminal sends for a key. ok is false for keys that terminals cannot send.
func encode(k tea.KeyMsg) (seq string, ok bool) {
	plain := k
	plain.Alt = false
	switch {
	case k.Type == tea.KeyRunes:
		seq = string(k.Runes)
	case sequences[plain.String()] != "":
		seq = sequences[plain.String()]
	case k.Type >= 0 && k.Type < 32: // ctrl+letter
		seq = string(rune(k.Type))
	default:
		return "", false
	}
	if k.Alt {
		seq = "\x1b" + seq
	}
	return seq, true
}

// bracketed is a paste as a terminal with bracketed paste sends it. An end mark inside the text would end it early,
// which terminals prevent the same way.
func bracketed(text string) string {
	text = strings.ReplaceAll(text, "\x1b[201~", "")
	return "\x1b[200~" + strings.ReplaceAll(text, "\n", "\r") + "\x1b[201~"
}
