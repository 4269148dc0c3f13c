package formview

import (
	"unicode/utf8"

	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"

	"askback/tui/kit"
	"askback/tui/theme"
)

const inputPrompt = "> "

// input is the text of a typed field. bubbles edits it; its row is drawn here, because the window that bubbles draws
// counts cells in one way only: a terminal that counts in the other cuts it at the edge, and the cursor with it.
type input struct {
	edit textinput.Model
	from int // the first rune in the window
}

func newInput() *input {
	in := &input{edit: textinput.New()}
	in.edit.Cursor.SetMode(cursor.CursorStatic)
	return in
}

func (in *input) text() string { return in.edit.Value() }

func (in *input) set(s string) { in.edit.SetValue(s) }

func (in *input) focus() { in.edit.Focus() }

func (in *input) blur() { in.edit.Blur() }

func (in *input) key(k tea.KeyMsg) { in.edit, _ = in.edit.Update(k) }

// row draws the part of the text round the cursor in at most w cells. The last is kept for a cursor behind the text.
func (in *input) row(w int, th *theme.Theme) string {
	text, at := []rune(in.text()), in.edit.Position()
	under, used := " ", 0
	end := at
	if at < len(text) {
		under, used = character(text[at:])
		end += utf8.RuneCountInString(under)
	}
	room := w - kit.Width(inputPrompt) - 1 - used
	from := in.first(text[:at], room)
	room -= kit.Width(string(text[from:at]))
	to := end
	for to < len(text) {
		c, n := character(text[to:])
		if room -= n; room < 0 {
			break
		}
		to += utf8.RuneCountInString(c)
	}
	if to == len(text) && from > 0 { // no room is left empty behind the text
		from = min(from, backward(text[:from], room))
	}
	in.from = from
	return th.Focus.Render(inputPrompt) + string(text[from:at]) + th.Cursor.Render(under) + string(text[end:to])
}

// first is where the window begins: where it did, or as far behind that as the text before the cursor needs.
func (in *input) first(before []rune, room int) int {
	from := min(in.from, len(before))
	if kit.Width(string(before[from:])) > room {
		return backward(before, room)
	}
	return from
}

// backward is where the end of a text begins that takes at most room cells.
func backward(text []rune, room int) int {
	near := text[max(0, len(text)-8*max(8, room)):] // more than room cells, so that the rest need not be looked at
	if end := kit.End(string(near), room); end != "" || len(near) == 0 {
		return len(text) - utf8.RuneCountInString(end)
	}
	from := len(text) // a character that no row has room for is taken apart
	for used := 0; from > len(text)-len(near); from-- {
		if used += kit.Width(string(text[from-1])); used > room {
			break
		}
	}
	return from
}

// character is the first character of a text, as a reader sees it. One of very many code points is taken apart: no row
// would have room for it.
func character(text []rune) (s string, cells int) {
	s, cells = kit.Next(string(text[:min(len(text), maxCluster)]))
	if cells > maxCluster {
		s = string(text[:1])
		cells = kit.Width(s)
	}
	return s, cells
}

// maxCluster is how many code points, and how many cells, a character is looked at for. Families of emoji have eleven.
const maxCluster = 16
