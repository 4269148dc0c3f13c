package tui

import (
	tea "github.com/charmbracelet/bubbletea"

	"askback/tui/kit"
	"askback/tui/theme"
)

// Limits of the composer: a Turn's text at the Host, and how many texts are remembered.
const (
	maxTurnText = 48 << 10
	maxHistory  = 200
)

// composer is where a Turn's text is written. History is that of this run alone and in memory.
type composer struct {
	edit    editor
	history []string
	at      int    // index into history; len(history) is the draft
	draft   string // what was being written before history was looked at
	width   int
}

func newComposer() composer {
	return composer{edit: editor{multi: true, limit: maxTurnText}}
}

// resize sets the cells of one row of text, the prompt apart.
func (c *composer) resize(w int) { c.width = max(1, w-len(prompt)-1) }

const prompt = "> "

// key takes a key. Enter is the model's.
func (c *composer) key(k tea.KeyMsg) bool {
	switch kit.KeyName(k) {
	case "up":
		if !c.edit.up(c.width) {
			c.recall(-1)
		}
	case "down":
		if !c.edit.down(c.width) {
			c.recall(1)
		}
	case "ctrl+p":
		c.recall(-1)
	case "ctrl+n":
		c.recall(1)
	default:
		return c.edit.key(k)
	}
	return true
}

// recall shows an older (-1) or newer text.
func (c *composer) recall(by int) {
	next := c.at + by
	if next < 0 || next > len(c.history) {
		return
	}
	if c.at == len(c.history) {
		c.draft = c.edit.String()
	}
	c.at = next
	if next == len(c.history) {
		c.edit.set(c.draft)
	} else {
		c.edit.set(c.history[next])
	}
}

// remember keeps a sent text and starts an empty one.
func (c *composer) remember(text string) {
	if n := len(c.history); n == 0 || c.history[n-1] != text {
		c.history = append(c.history, text)
	}
	if len(c.history) > maxHistory {
		c.history = c.history[len(c.history)-maxHistory:]
	}
	c.clear()
}

func (c *composer) clear() {
	c.edit.set("")
	c.at, c.draft = len(c.history), ""
}

// height is how many rows it wants of at most room.
func (c *composer) height(room int) int {
	rows, _ := c.edit.rows(c.width)
	return max(1, min(room, len(rows)))
}

func (c *composer) view(h int, focus bool, th *theme.Theme) []string {
	rows := c.edit.view(c.width, h, focus, th.Cursor.Render)
	for i, r := range rows {
		lead := "  "
		if i == 0 {
			lead = th.Focus.Render(prompt[:1]) + " "
		}
		rows[i] = lead + r
	}
	return rows
}
