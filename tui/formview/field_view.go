package formview

import (
	"strings"
	"unicode/utf8"

	"askback/forms"
)

const leaveOutKey = "ctrl+o"

// lines are the rows of the field: one where it is not focused, else its label, what fits of its description, the
// control, and a last row that says what is wrong or what will be sent.
func (f *field) lines() []string {
	if f.rows == nil {
		if f.focused {
			f.rows = f.focusedRows()
		} else {
			f.rows = []string{f.row()}
		}
	}
	return f.rows
}

// row is the field out of focus.
func (f *field) row() string {
	bar := f.th.Glyphs.Bar + " "
	mark, tail := "", ""
	if f.visited {
		if p := f.problem(); p != "" {
			mark, tail = "! ", "  "+p
		}
	}
	secret := f.secretMark()
	room := f.w - 1 - cells(bar) - cells(mark) - cells(secret)
	label := f.d.Shown.Label
	if f.w >= wide {
		label += " (" + f.d.Need() + ")"
	}
	label = cut(label, max(10, room*3/5)) + ": "
	room -= cells(label)
	value := oneLine(f.d.Summary(), f.th)
	if tail != "" && f.d.HasAnswer() { // what is wrong is told beside a long value, too
		value = cut(value, max(room-cells(tail), room/2))
	}
	value = cut(value, room)
	room -= cells(value)
	if m := f.d.Mark(); m != "" && tail == "" {
		tail = "  " + m
	}
	if room < cells(tail) && room < 12 {
		tail = ""
	}
	tail = cut(tail, room)
	style := f.th.Dim
	if mark != "" {
		style = f.th.Error
	}
	return f.th.Dim.Render(bar) + f.th.Error.Render(mark) + f.th.Loud.Render(secret) + label + value + style.Render(tail)
}

// focusedRows draws the field in focus, in at most room rows.
func (f *field) focusedRows() []string {
	out := []string{f.head()}
	room := f.room - 2
	if desc := f.d.Shown.Description; desc != "" {
		rows, whole := f.description(desc, room-f.controlNeeds())
		out, f.whole = append(out, rows...), whole
		room -= len(rows)
	} else {
		f.whole = true
	}
	return append(append(out, f.control(max(1, room))...), f.last(max(1, room)))
}

func (f *field) bar() string { return f.th.Focus.Render(f.th.Glyphs.FocusBar) + " " }

// head is the label with what the field takes. The label is never cut for the sake of the hint.
func (f *field) head() string {
	secret := f.secretMark()
	room := f.w - 3 - cells(secret)
	need := " (" + f.d.Need() + ")"
	label := cut(f.d.Shown.Label, max(8, room-len(need)))
	hint, h := need, f.d.Hint()
	f.hinted = h == ""
	if full := " (" + f.d.Need() + ", " + h + ")"; h != "" && cells(label)+cells(full) <= room {
		hint, f.hinted = full, true
	}
	return f.bar() + f.th.Loud.Render(secret) + f.th.Strong.Render(label) + f.th.Dim.Render(cut(hint, room-cells(label)))
}

// secretLead is the loud warning's own mark.
const secretLead = "!! "

// secretMark stands before the label of a field that looks like a secret: the warning has room for the name of one.
func (f *field) secretMark() string {
	if f.d.Secret {
		return secretLead
	}
	return ""
}

// controlNeeds is how many rows the control must have before a description gets any.
func (f *field) controlNeeds() int {
	if f.input != nil {
		return 1
	}
	return min(len(f.list.rows), 5)
}

// controlRows is how many rows the control would like to have.
func (f *field) controlRows() int {
	if f.input != nil {
		return 1
	}
	return len(f.list.rows)
}

const maxDescription = 6

func (f *field) description(desc string, room int) (rows []string, whole bool) {
	if room < 1 {
		return nil, false
	}
	rows, whole = wrapTo(desc, f.w-3, min(room, maxDescription))
	for i, r := range rows {
		rows[i] = f.bar() + f.th.Dim.Render(r)
	}
	return rows, whole
}

// natural is the height the field would like to have in focus.
func (f *field) natural(w int) int {
	n := 2 + f.controlRows()
	if d := f.d.Shown.Description; d != "" {
		n += min(maxDescription, len(wrap(d, w-3)))
	}
	return n
}

// listRoom is the height of the list's window as it was last drawn.
func (f *field) listRoom() int { return max(1, len(f.rows)-2) }

func (f *field) control(room int) []string {
	if f.input != nil {
		row := f.input.row(min(f.w-3, maxInput), f.th)
		return []string{f.bar() + strings.TrimRight(row, " ")}
	}
	rows := f.list.lines(room)
	for i, r := range rows {
		rows[i] = f.bar() + r
	}
	return rows
}

// last is the row under the control.
func (f *field) last(room int) string {
	width := f.w - 3
	if f.list != nil && f.list.filter != "" {
		return f.bar() + cut(f.list.info(room), width)
	}
	if f.note != "" {
		return f.bar() + f.th.Dim.Render(cut(f.note, width))
	}
	if f.visited {
		if p := f.problem(); p != "" {
			return f.bar() + f.th.Error.Render(cut("! "+p, width))
		}
	}
	return f.bar() + f.th.Dim.Render(cut(f.state(room, width), width))
}

// state says what will be sent where that is not plain to see, and, as far as there is room, what the field takes where
// the label's row could not say so, where a long list stands, or how long a text is.
func (f *field) state(room, width int) string {
	more := []string{""}
	if f.list != nil {
		more[0] = f.list.info(room)
	} else if f.d.Spec.Kind == forms.KindString {
		more[0] = f.count()
	}
	if more[0] == "" && !f.hinted {
		more = f.d.Hints()
	}
	short, long := f.d.State(""), f.d.State(leaveOutKey)
	switch {
	case cells(long)+cells(more[0])+3 <= width || more[0] == "" && cells(long) <= width:
		short = long
	case f.d.SendsEmpty():
		more = nil
	case cells(short)+cells(more[0])+3 > width && f.d.Mark() == "":
		short = "" // the rest of the field shows it
	}
	var parts []string
	used := 0
	for _, s := range append([]string{short}, more...) {
		if n := cells(s); s != "" && used+n <= width {
			parts = append(parts, s)
			used += n + 3
		}
	}
	return strings.Join(parts, " "+f.th.Glyphs.Dot+" ")
}

// count is the length of a text against its limit, once it matters.
func (f *field) count() string {
	limit, n := f.d.MaxLength(), utf8.RuneCountInString(f.d.Text())
	if n == 0 || n*4 < limit*3 {
		return ""
	}
	return itoa(n) + " of " + plural(limit, "character")
}
