package screen

import (
	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/textarea"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	"askback/forms"
)

const (
	maxLineText = 4 << 10   // runes of a one-line text
	maxAreaText = 256 << 10 // runes of a text of several lines
)

// lineInput is a text of one line being typed.
type lineInput struct{ textinput.Model }

func newLine(text string) lineInput {
	in := textinput.New()
	in.Prompt, in.CharLimit = "", maxLineText
	in.Cursor.Style = lipgloss.NewStyle().Reverse(true)
	in.Cursor.SetMode(cursor.CursorStatic)
	in.SetValue(text)
	in.Focus()
	return lineInput{in}
}

// take takes a key. What would not be seen is typed as an escape, as everywhere.
func (l *lineInput) take(k tea.KeyMsg) {
	if k.Type == tea.KeyRunes {
		k.Runes = []rune(forms.Line(string(k.Runes)))
	}
	l.Model, _ = l.Model.Update(k)
}

func (l *lineInput) view(w int) string {
	l.Width = max(4, w-2)
	return l.View()
}

// areaInput is a text of several lines being typed.
type areaInput struct{ textarea.Model }

func newArea(text string) areaInput {
	a := textarea.New()
	a.Prompt, a.ShowLineNumbers, a.CharLimit, a.MaxHeight = "", false, maxAreaText, 10_000
	a.EndOfBufferCharacter = ' '
	plain := textarea.Style{}
	a.FocusedStyle, a.BlurredStyle = plain, plain
	a.Cursor.Style = lipgloss.NewStyle().Reverse(true)
	a.Cursor.SetMode(cursor.CursorStatic)
	a.SetWidth(60)
	a.SetValue(text)
	a.Focus()
	return areaInput{a}
}

func (a *areaInput) take(k tea.KeyMsg) {
	if k.Type == tea.KeyRunes {
		k.Runes = []rune(forms.Block(string(k.Runes)))
	}
	a.Model, _ = a.Model.Update(k)
}

// size gives the text its room; the cursor stays in view.
func (a *areaInput) size(w, h int) {
	if a.Width() != w || a.Height() != h {
		a.SetWidth(max(4, w))
		a.SetHeight(max(1, h))
		a.Model, _ = a.Model.Update(nil)
	}
}
