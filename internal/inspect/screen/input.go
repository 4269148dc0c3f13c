package screen

import (
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/textarea"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	"askback/forms"
	"askback/tui/kit"
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
	k, ok := kit.ForInput(k)
	if !ok {
		return
	}
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
type areaInput struct {
	textarea.Model
	safe func(string) string // makes what would not be seen visible
}

func newArea(text string, safe func(string) string) areaInput {
	a := textarea.New()
	a.Prompt, a.ShowLineNumbers, a.CharLimit, a.MaxHeight = "", false, maxAreaText, 10_000
	a.EndOfBufferCharacter = ' '
	plain := textarea.Style{}
	a.FocusedStyle, a.BlurredStyle = plain, plain
	a.Cursor.Style = lipgloss.NewStyle().Reverse(true)
	a.Cursor.SetMode(cursor.CursorStatic)
	a.SetWidth(60)
	a.SetValue(safe(text))
	a.Focus()
	return areaInput{a, safe}
}

// blanks are those that JSON lets stand between its tokens.
var blanks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\t", " ")

// jsonBlock writes what would not be seen as JSON's own escapes, so that the text stays the JSON that it was: such
// characters stand within strings.
func jsonBlock(s string) string {
	var b strings.Builder
	for _, r := range blanks.Replace(s) {
		switch one := string(r); {
		case r == '\n' || forms.Block(one) == one:
			b.WriteString(one)
		default:
			for _, u := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04x`, u)
			}
		}
	}
	return b.String()
}

func (a *areaInput) take(k tea.KeyMsg) {
	k, ok := kit.ForInput(k)
	if !ok || a.noWordBefore(k) {
		return
	}
	if k.Type == tea.KeyRunes {
		k.Runes = []rune(a.safe(string(k.Runes)))
	}
	a.Model, _ = a.Model.Update(k)
}

// noWordBefore says whether a key goes to the word before the cursor where there is none: bubbles never stops looking.
func (a *areaInput) noWordBefore(k tea.KeyMsg) bool {
	if name := kit.KeyName(k); name != "alt+b" && name != "alt+left" {
		return false
	}
	lines, at := strings.Split(a.Value(), "\n"), a.LineInfo()
	line := []rune(lines[a.Line()])
	before := string(line[:min(len(line), at.StartColumn+at.ColumnOffset)])
	return strings.TrimSpace(strings.Join(append(lines[:a.Line()], before), "")) == ""
}

// size gives the text its room; the cursor stays in view.
func (a *areaInput) size(w, h int) {
	if a.Width() != w || a.Height() != h {
		a.SetWidth(max(4, w))
		a.SetHeight(max(1, h))
		a.Model, _ = a.Model.Update(nil)
	}
}
