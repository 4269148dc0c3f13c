package tui

import (
	"strings"
	"unicode"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/rivo/uniseg"

	"askback/forms"
	"askback/tui/kit"
)

// editor is a text being typed. Its positions are runes; the cursor moves by what a person sees as one
// character. A multi editor keeps line breaks.
type editor struct {
	text  []rune
	cur   int
	multi bool
	limit int // runes; 0 is none
	full  bool
}

func (e *editor) String() string { return string(e.text) }

func (e *editor) empty() bool { return len(e.text) == 0 }

func (e *editor) set(s string) {
	e.text, e.cur, e.full = nil, 0, false
	e.insert(s)
}

// insert puts a typed or pasted text at the cursor. What would not be seen is shown as an escape, as
// everywhere.
func (e *editor) insert(s string) {
	if e.multi {
		s = forms.Block(s)
	} else {
		s = forms.Line(s)
	}
	in := []rune(s)
	if e.full = e.limit > 0 && len(e.text)+len(in) > e.limit; e.full {
		in = in[:max(0, e.limit-len(e.text))]
	}
	out := make([]rune, 0, len(e.text)+len(in))
	out = append(append(append(out, e.text[:e.cur]...), in...), e.text[e.cur:]...)
	e.text, e.cur = out, e.cur+len(in)
}

func (e *editor) cut(from, to int) {
	from, to = max(0, from), min(len(e.text), to)
	if from >= to {
		return
	}
	e.text = append(e.text[:from:from], e.text[to:]...)
	e.cur, e.full = from, false
}

// before and after are the neighbouring character borders of the cursor.
func (e *editor) before() int {
	if e.cur == 0 {
		return 0
	}
	start := e.lineStart(e.cur)
	if start == e.cur {
		return e.cur - 1
	}
	at := start
	for g := uniseg.NewGraphemes(string(e.text[start:e.cur])); g.Next(); {
		n := len(g.Runes())
		if at+n >= e.cur {
			break
		}
		at += n
	}
	return at
}

func (e *editor) after() int {
	if e.cur >= len(e.text) {
		return len(e.text)
	}
	end := min(e.lineEnd(e.cur), e.cur+64)
	if end == e.cur {
		return e.cur + 1
	}
	cluster, _, _, _ := uniseg.FirstGraphemeClusterInString(string(e.text[e.cur:end]), -1)
	return e.cur + len([]rune(cluster))
}

func (e *editor) lineStart(at int) int {
	for at > 0 && e.text[at-1] != '\n' {
		at--
	}
	return at
}

func (e *editor) lineEnd(at int) int {
	for at < len(e.text) && e.text[at] != '\n' {
		at++
	}
	return at
}

func (e *editor) wordBefore() int {
	at := e.cur
	for at > 0 && unicode.IsSpace(e.text[at-1]) {
		at--
	}
	for at > 0 && !unicode.IsSpace(e.text[at-1]) {
		at--
	}
	return at
}

func (e *editor) wordAfter() int {
	at := e.cur
	for at < len(e.text) && unicode.IsSpace(e.text[at]) {
		at++
	}
	for at < len(e.text) && !unicode.IsSpace(e.text[at]) {
		at++
	}
	return at
}

// key takes one key and says whether it was one of the editor's. Up and down are the owner's.
func (e *editor) key(k tea.KeyMsg) bool {
	if k.Type == tea.KeyRunes && (!k.Alt || k.Paste) {
		e.insert(string(k.Runes))
		return true
	}
	switch kit.KeyName(k) {
	case " ":
		e.insert(" ")
	case "ctrl+j":
		if !e.multi {
			return false
		}
		e.insert("\n")
	case "backspace", "ctrl+h":
		e.cut(e.before(), e.cur)
	case "delete", "ctrl+d":
		at := e.cur
		e.cut(e.cur, e.after())
		e.cur = at
	case "left", "ctrl+b":
		e.cur = e.before()
	case "right":
		e.cur = e.after()
	case "alt+left", "ctrl+left", "alt+b":
		e.cur = e.wordBefore()
	case "alt+right", "ctrl+right", "alt+f":
		e.cur = e.wordAfter()
	case "home", "ctrl+a":
		e.cur = e.lineStart(e.cur)
	case "end", "ctrl+e":
		e.cur = e.lineEnd(e.cur)
	case "ctrl+u":
		e.cut(e.lineStart(e.cur), e.cur)
	case "ctrl+k":
		e.cut(e.cur, e.lineEnd(e.cur))
	case "ctrl+w", "alt+backspace":
		e.cut(e.wordBefore(), e.cur)
	default:
		return false
	}
	return true
}

// span is one drawn row of the text: runes [from,to).
type span struct{ from, to int }

// rows cuts the text into rows of at most width cells and says in which the cursor is.
func (e *editor) rows(width int) (rows []span, at int) {
	width = max(1, width)
	from := 0
	for {
		to := e.lineEnd(from)
		rows = appendRows(rows, e.text, from, to, width)
		if to >= len(e.text) {
			break
		}
		from = to + 1
	}
	for i, r := range rows {
		if e.cur >= r.from && e.cur <= r.to {
			at = i // the last that fits: at a soft break the cursor is on the lower row
		}
	}
	return rows, at
}

func appendRows(rows []span, text []rune, from, to, width int) []span {
	if to-from < width && ascii(text[from:to]) {
		return append(rows, span{from, to})
	}
	start, at, cells := from, from, 0
	for s := string(text[from:to]); s != ""; {
		cluster, w := kit.Next(s)
		if cells+w > width && at > start {
			rows = append(rows, span{start, at})
			start, cells = at, 0
		}
		cells += w
		at += utf8.RuneCountInString(cluster)
		s = s[len(cluster):]
	}
	rows = append(rows, span{start, to})
	if cells >= width { // the cursor after a full row needs one of its own
		rows = append(rows, span{to, to})
	}
	return rows
}

func ascii(r []rune) bool {
	for _, c := range r {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// up and down move the cursor by one drawn row; they say false at the first and the last.
func (e *editor) up(width int) bool   { return e.vertical(width, -1) }
func (e *editor) down(width int) bool { return e.vertical(width, 1) }

func (e *editor) vertical(width, by int) bool {
	rows, at := e.rows(width)
	next := at + by
	if next < 0 || next >= len(rows) {
		return false
	}
	column := kit.Width(string(e.text[rows[at].from:e.cur]))
	e.cur = rows[next].from
	for e.cur < rows[next].to {
		to := e.after()
		if kit.Width(string(e.text[rows[next].from:to])) > column {
			break
		}
		e.cur = to
	}
	return true
}

// view draws at most height rows round the cursor. With focus the cell under the cursor is drawn by cursor.
func (e *editor) view(width, height int, focus bool, cursor func(string) string) []string {
	rows, at := e.rows(width)
	first := kit.Window(len(rows), at, height)
	out := make([]string, 0, height)
	for i := first; i < len(rows) && len(out) < height; i++ {
		r := rows[i]
		line := string(e.text[r.from:r.to])
		if i == at && focus {
			line = e.cursorLine(r, cursor)
		}
		out = append(out, line)
	}
	return out
}

func (e *editor) cursorLine(r span, cursor func(string) string) string {
	var b strings.Builder
	b.WriteString(string(e.text[r.from:e.cur]))
	if e.cur >= r.to {
		b.WriteString(cursor(" "))
		return b.String()
	}
	next := min(e.after(), r.to)
	b.WriteString(cursor(string(e.text[e.cur:next])))
	b.WriteString(string(e.text[next:r.to]))
	return b.String()
}
