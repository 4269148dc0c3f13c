package formview

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/huh"

	"askback/tui/draft"
	"askback/tui/kit"
	"askback/tui/theme"
)

// maxTyped bounds a typed text. It is more than any field admits, so that a paste that is too long can be shortened by
// hand, and little enough for every key to be drawn at once.
const maxTyped = 16 * 1024

// maxInput bounds the width of the input: a row of it is written anew with each character once the text is longer, and a
// character should cost under 300 bytes on a slow line.
const maxInput = 120

// field is one field of the form as huh sees it. It draws its label, description and last row itself, so that its height
// is exact, and stands between huh and the text input, which panics or hangs on some keys.
//
// huh asks for a view several times a key, so the rows are kept until something changes.
type field struct {
	d  *draft.Field
	th *theme.Theme

	input *input   // typed fields
	seen  string   // what the input holds, flattened
	list  *choices // chosen fields

	w, room int // the width, and the rows it may have when focused
	focused bool
	visited bool // left once, or reviewed: what is wrong is said
	note    string
	broken  bool // the last key was a line break, which is written as a space once something follows it

	rows   []string // nil when they must be drawn
	whole  bool     // nothing of the description was cut
	hinted bool     // the label's row had room for the hint
	wrong  *string  // nil when it must be checked
}

func newField(d *draft.Field, th *theme.Theme) *field {
	f := &field{d: d, th: th}
	if d.IsText() {
		f.input = newInput()
		f.toInput()
	} else {
		f.list = newChoices(d, th)
	}
	f.fit(80, 8)
	return f
}

// unbound is a key map in which huh never moves, submits or aborts. A binding without keys stays off when huh enables
// it again, which a disabled one does not.
func unbound() *huh.KeyMap {
	k := huh.NewDefaultKeyMap()
	none := key.NewBinding()
	k.Quit = none
	k.Input = huh.InputKeyMap{AcceptSuggestion: none, Next: none, Prev: none, Submit: none}
	return k
}

// toInput gives the input the draft's text, flattened: a default with line breaks is sent as it came unless edited.
func (f *field) toInput() {
	f.seen, _, _ = flat(f.d.Text())
	f.input.set(f.seen)
}

// odd says what of the text the input cannot show.
func (f *field) odd() string {
	if f.input == nil || f.d.Text() == f.seen {
		return ""
	}
	if _, breaks, _ := flat(f.d.Text()); breaks {
		return "holds line breaks; typing makes them spaces"
	}
	return "holds hidden characters; typing drops them"
}

// changed forgets what was drawn and checked.
func (f *field) changed() { f.rows, f.wrong = nil, nil }

// fit sets the width and the rows for a focused field.
func (f *field) fit(w, room int) {
	if f.w == w && f.room == room && f.rows != nil {
		return
	}
	f.w, f.room, f.rows = w, room, nil
	if f.list != nil {
		f.list.fit(w - 2)
	}
}

// problem is what is wrong with the field, checked once a change.
func (f *field) problem() string {
	if f.wrong == nil {
		p := f.d.Wrong()
		f.wrong = &p
	}
	return *f.wrong
}

// Update implements huh.Field. Only keys reach the input: anything else arrives twice, and a blinking cursor would draw
// frames in which nothing changed.
func (f *field) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	k, ok := msg.(tea.KeyMsg)
	if !ok || !f.focused {
		return f, nil
	}
	f.changed()
	f.note = ""
	if f.list != nil {
		if k.Paste {
			f.note = "a paste chooses nothing"
		} else {
			f.list.key(k, f.listRoom()/2)
		}
		return f, nil
	}
	if k.Type == tea.KeyCtrlJ {
		f.broken, f.note = true, "line breaks become spaces"
		return f, nil
	}
	broken := f.broken
	f.broken = false
	if k, ok = kit.ForInput(k); !ok {
		return f, nil
	}
	if broken && k.Type == tea.KeyRunes {
		k.Runes = append([]rune{'\n'}, k.Runes...)
	}
	if k.Type == tea.KeyRunes || k.Type == tea.KeySpace {
		k = f.admit(k)
	}
	f.input.key(k)
	f.pull()
	return f, nil
}

// admit flattens what is typed or pasted and holds it to the room that is left.
func (f *field) admit(k tea.KeyMsg) tea.KeyMsg {
	text := string(k.Runes)
	if k.Paste {
		text = strings.TrimRight(text, "\r\n")
	}
	text, breaks, hidden := flat(text)
	switch {
	case hidden:
		f.note = "hidden characters were left out"
	case breaks:
		f.note = "line breaks became spaces"
	}
	left := max(0, maxTyped-utf8.RuneCountInString(f.seen))
	if r := []rune(text); len(r) > left {
		text = string(r[:left])
		f.note = fmt.Sprintf("cut at %d characters", maxTyped)
	}
	k.Type, k.Runes = tea.KeyRunes, []rune(text)
	return k
}

// pull copies what the input holds, if it has changed.
func (f *field) pull() {
	v := f.input.text()
	if v == f.seen {
		return
	}
	f.seen = v
	f.d.SetText(v)
}

// sync draws the widget from the draft again, after a key of ours changed it.
func (f *field) sync() {
	if f.input != nil {
		f.toInput()
	} else {
		f.list.setFilter("")
		f.list.toChoice()
	}
	f.note = f.odd()
	f.changed()
}

// Focus implements huh.Field.
func (f *field) Focus() tea.Cmd {
	f.focused, f.rows, f.note = true, nil, f.odd()
	if f.input != nil {
		f.input.focus()
	}
	return nil
}

// Blur implements huh.Field. It checks nothing: focus is never held back.
func (f *field) Blur() tea.Cmd {
	f.focused, f.visited, f.note, f.broken = false, true, "", false
	f.rows = nil
	if f.input != nil {
		f.input.blur()
	} else {
		f.list.clearFilter()
		f.list.toChoice()
	}
	return nil
}

// View implements huh.Field.
func (f *field) View() string { return strings.Join(f.lines(), "\n") }

// The rest of huh.Field. Sizes, theme and keys are ours to set; what is wrong is no concern of huh's.

func (f *field) Init() tea.Cmd                            { return nil }
func (f *field) Error() error                             { return nil }
func (f *field) Run() error                               { return errEmbedded }
func (f *field) RunAccessible(io.Writer, io.Reader) error { return errEmbedded }
func (f *field) Skip() bool                               { return false }
func (f *field) Zoom() bool                               { return false }
func (f *field) KeyBinds() []key.Binding                  { return nil }
func (f *field) GetKey() string                           { return f.d.Spec.Name }
func (f *field) GetValue() any                            { return nil }
func (f *field) WithTheme(*huh.Theme) huh.Field           { return f }
func (f *field) WithAccessible(bool) huh.Field            { return f }
func (f *field) WithKeyMap(*huh.KeyMap) huh.Field         { return f }
func (f *field) WithWidth(int) huh.Field                  { return f }
func (f *field) WithHeight(int) huh.Field                 { return f }
func (f *field) WithPosition(huh.FieldPosition) huh.Field { return f }

var (
	_           huh.Field = (*field)(nil)
	errEmbedded           = errors.New("a field of this form runs only inside it")
)
