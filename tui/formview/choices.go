package formview

import (
	"fmt"
	"strings"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/tui/draft"
	"askback/tui/kit"
	"askback/tui/theme"
)

const leaveOutRow = "(leave out)"

// choices is the option list of a boolean or select field: rows, a cursor, a filter, and the window that fits.
//
// The list is ours, not huh's Select or MultiSelect: those draw every option several times a key (256 options cost more
// than a frame may), change the value when the cursor moves, toggle by label, and panic on a filter without a match. A
// choice here is an act, and the cursor may stand on no row at all.
type choices struct {
	f     *draft.Field
	th    *theme.Theme
	multi bool

	rows   []int    // option of each row; draft.None is the row that leaves the field out
	labels []string // of each row, cut to the width and unlike each other
	match  []string // of each row, for the filter
	width  int

	filter  string
	visible []int // rows that the filter leaves
	cur     int   // in visible; -1 on no row
}

func newChoices(f *draft.Field, th *theme.Theme) *choices {
	c := &choices{f: f, th: th, multi: f.Spec.Kind == forms.KindMultiSelect}
	if !c.multi && !f.Spec.Required {
		c.rows = append(c.rows, draft.None)
	}
	for i := range f.Labels() {
		c.rows = append(c.rows, i)
	}
	for _, row := range c.rows {
		c.match = append(c.match, folded(c.full(row)))
	}
	c.show()
	c.toChoice()
	return c
}

func (c *choices) full(option int) string {
	if option == draft.None {
		return leaveOutRow
	}
	return c.f.Labels()[option]
}

func folded(s string) string { return strings.ReplaceAll(strings.ToLower(s), " ", "") }

// fit cuts the labels to the width, in the middle and so that no two rows read the same.
func (c *choices) fit(width int) {
	if width == c.width {
		return
	}
	c.width = width
	c.labels = make([]string, len(c.rows))
	room := max(8, width-8) // "> (•) " and a spare column
	taken := make(map[string]bool, len(c.rows))
	for i, row := range c.rows {
		l := cutMiddle(c.full(row), room)
		for n := 2; taken[l]; n++ {
			suffix := fmt.Sprintf(" #%d", n)
			l = cutMiddle(c.full(row), room-len(suffix)) + suffix
		}
		taken[l] = true
		c.labels[i] = l
	}
}

// show applies the filter.
func (c *choices) show() {
	want := folded(c.filter)
	c.visible = make([]int, 0, len(c.rows))
	for i, m := range c.match {
		if want == "" || c.rows[i] != draft.None && strings.Contains(m, want) {
			c.visible = append(c.visible, i)
		}
	}
}

// toChoice puts the cursor on what is chosen: on "(leave out)" where nothing is and that can be, on no row where a
// choice is still to be made.
func (c *choices) toChoice() {
	c.cur = -1
	if c.multi {
		c.cur = 0
		return
	}
	for i, row := range c.visible {
		if c.rows[row] == c.f.Choice() {
			c.cur = i
		}
	}
}

// setFilter narrows or widens the list; the cursor goes to the first match, or stays with its row when the filter ends.
func (c *choices) setFilter(s string) {
	at := -1
	if c.cur >= 0 && c.cur < len(c.visible) {
		at = c.visible[c.cur]
	}
	c.filter = s
	c.show()
	c.cur = min(0, len(c.visible)-1)
	if s == "" {
		c.cur = -1
		for i, row := range c.visible {
			if row == at {
				c.cur = i
			}
		}
	}
}

// clearFilter ends the filter and says whether there was one.
func (c *choices) clearFilter() bool {
	if c.filter == "" {
		return false
	}
	c.setFilter("")
	return true
}

// take makes the row under the cursor the choice, or toggles it in a multi select. It says whether there was a row.
func (c *choices) take() bool {
	if c.cur < 0 || c.cur >= len(c.visible) {
		return false
	}
	option := c.rows[c.visible[c.cur]]
	if c.multi {
		c.f.Pick(option, !c.f.Picked(option))
	} else {
		c.f.Choose(option)
	}
	return true
}

func (c *choices) move(by int) {
	last := len(c.visible) - 1
	switch {
	case last < 0:
		c.cur = -1
	case c.cur < 0 && by < 0:
		c.cur = last
	default:
		c.cur = min(max(0, c.cur+by), last)
	}
}

// key handles a key of the list; any other means nothing here. page is half a window.
func (c *choices) key(k tea.KeyMsg, page int) {
	switch kit.KeyName(k) {
	case "up", "ctrl+p":
		c.move(-1)
	case "down", "ctrl+n":
		c.move(1)
	case "pgup":
		c.move(-max(1, page))
	case "pgdown":
		c.move(max(1, page))
	case "home":
		c.cur = min(0, len(c.visible)-1)
	case "end":
		c.cur = len(c.visible) - 1
	case " ":
		c.take()
	case "backspace", "ctrl+h":
		if r := []rune(c.filter); len(r) > 0 {
			c.setFilter(string(r[:len(r)-1]))
		}
	case "ctrl+u", "ctrl+w":
		c.clearFilter()
	default:
		c.letters(k)
	}
}

// letters filters as one types; a leading "/" is what people try first and filters nothing. In a boolean field y and n
// choose.
func (c *choices) letters(k tea.KeyMsg) {
	if k.Type != tea.KeyRunes || k.Alt || k.Paste {
		return
	}
	s := string(k.Runes)
	if c.f.Spec.Kind == forms.KindBoolean {
		c.yesNo(s)
		return
	}
	if c.filter == "" {
		s = strings.TrimPrefix(s, "/")
	}
	s, _, _ = flat(s)
	if s != "" && utf8.RuneCountInString(c.filter+s) <= maxFilter {
		c.setFilter(c.filter + s)
	}
}

const maxFilter = 64

func (c *choices) yesNo(s string) {
	switch s {
	case "y", "Y":
		c.f.Choose(draft.Yes)
	case "n", "N":
		c.f.Choose(draft.No)
	default:
		return
	}
	c.toChoice()
}

// info is what the last row of the field says about the list: the filter, or where the window stands.
func (c *choices) info(room int) string {
	switch {
	case c.filter != "":
		return fmt.Sprintf("filter: %s %s %d of %d", c.filter, c.th.Glyphs.Dot, len(c.visible), len(c.f.Labels()))
	case len(c.visible) > room && c.cur >= 0:
		return fmt.Sprintf("%d of %d, type to filter", c.cur+1, len(c.visible))
	case len(c.visible) > room:
		return fmt.Sprintf("%d options, type to filter", len(c.visible))
	}
	return ""
}

// window is the part of the list that fits into room rows, with the cursor in it.
func (c *choices) window(room int) (from, to int) {
	n := len(c.visible)
	if n <= room {
		return 0, n
	}
	from = min(max(0, c.cur-room/2), n-room)
	return from, from + room
}

// lines draws the window. Rows are at most the width.
func (c *choices) lines(room int) []string {
	if len(c.visible) == 0 {
		return []string{c.th.Dim.Render("  no option matches")}
	}
	from, to := c.window(room)
	out := make([]string, 0, to-from)
	for i := from; i < to; i++ {
		out = append(out, c.line(c.visible[i], i == c.cur))
	}
	return out
}

func (c *choices) line(row int, under bool) string {
	option := c.rows[row]
	open, end, chosen := "(", ")", option == c.f.Choice()
	switch {
	case c.multi:
		open, end, chosen = "[", "]", c.f.Picked(option)
	case option == draft.None: // an answer given as a value never shows as left out
		chosen = c.f.Choice() == draft.None
	}
	mark := " "
	if chosen {
		mark = c.th.Glyphs.Chosen
	}
	cursor := "  "
	if under {
		cursor = "> "
	}
	head := cursor + open + mark + end + " " + c.labels[row]
	tail := c.tail(option, c.width-1-cells(head))
	if under {
		head = c.th.Picked.Render(head)
	} else if chosen {
		head = c.th.Strong.Render(head)
	}
	return head + c.th.Dim.Render(tail)
}

// tail is an option's description where it has one and enough of it fits.
func (c *choices) tail(option, room int) string {
	if option == draft.None || c.f.Spec.Kind == forms.KindBoolean {
		return ""
	}
	d := c.f.Shown.Options[option].Description
	if d == "" || room < 12 {
		return ""
	}
	return "  " + cut(oneLine(d, c.th), room-2)
}
