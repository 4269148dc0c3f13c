// Package theme holds the looks of the terminal surface: dark, light, and one of attributes alone.
//
// Colour is never the only carrier of a meaning. What has the focus, what is chosen, what is wrong and what is a
// warning is told by marks and words; a theme only repeats it. The attribute theme (NO_COLOR) keeps bold, faint and
// reverse video, so that the cursor and the focus stay visible.
package theme

import (
	"github.com/charmbracelet/huh"
	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"

	_ "askback/internal/bginit" // before bubbletea asks the terminal for its background
)

// Name is what a theme is called in ASKBACK_THEME.
type Name string

// The themes. Attributes is what NO_COLOR means.
const (
	Dark       Name = "dark"
	Light      Name = "light"
	Attributes Name = "attributes"
)

// Theme is one look. It is read-only after New and may be shared.
type Theme struct {
	Name   Name
	Glyphs Glyphs

	Text   Style // what somebody wrote
	Strong Style // names and labels
	Dim    Style // hints, times, what is not in focus
	Title  Style // the row that says who asks
	Warn   Style // the standing warning
	Loud   Style // the warning that names a field
	Error  Style // what is wrong
	Good   Style // what went well
	Focus  Style // the bar and cursor of what has the focus
	Picked Style // the row under the cursor
	Key    Style // keys in the last row
	Cursor Style // the cell under a text cursor

	huh *huh.Theme
}

// Glyphs are the signs that we draw. They are one cell wide, but for Break. In ASCII, too, they take the place of nothing
// that a server wrote or a person typed: that stays as it is.
type Glyphs struct {
	Bar, FocusBar, Chosen, Dot, Rule string

	More    string // where a text was cut
	Break   string // a line break in one row
	In, Out string // which way a message went
	Micro   string // a millionth
}

var (
	unicodeGlyphs = Glyphs{Bar: "│", FocusBar: "▌", Chosen: "•", Dot: "·", Rule: "─", More: "…", Break: "⏎", In: "←", Out: "→", Micro: "µ"}
	asciiGlyphs   = Glyphs{Bar: "|", FocusBar: "#", Chosen: "x", Dot: "-", Rule: "-", More: "~", Break: `\n`, In: "<", Out: ">", Micro: "u"}
)

// Huh is the theme for huh's groups: no borders or margins, so that heights are exact.
func (t *Theme) Huh() *huh.Theme { return t.huh }

// New builds a theme under lipgloss's present colour profile.
func New(name Name) *Theme {
	t := &Theme{Name: name, Glyphs: unicodeGlyphs}
	n := lipgloss.NewStyle()
	color := func(c string) lipgloss.Style { return n.Foreground(lipgloss.Color(c)) }
	t.Strong, t.Dim = newStyle(n.Bold(true)), newStyle(n.Faint(true))
	t.Cursor = newStyle(n.Reverse(true))
	switch name {
	case Light:
		t.Title = newStyle(n.Bold(true).Foreground(lipgloss.Color("15")).Background(lipgloss.Color("4")))
		t.Warn, t.Loud = newStyle(color("5").Bold(true)), newStyle(n.Bold(true).Foreground(lipgloss.Color("15")).Background(lipgloss.Color("1")))
		t.Error, t.Good = newStyle(color("1").Bold(true)), newStyle(color("2"))
		t.Focus, t.Picked, t.Key = newStyle(color("4").Bold(true)), newStyle(color("4").Bold(true)), newStyle(color("4"))
	case Attributes:
		t.Title = newStyle(n.Reverse(true))
		t.Warn, t.Loud = newStyle(n.Bold(true)), newStyle(n.Bold(true).Reverse(true))
		t.Error, t.Good = newStyle(n.Bold(true)), newStyle(n)
		t.Focus, t.Picked, t.Key = newStyle(n.Bold(true)), newStyle(n.Bold(true)), newStyle(n)
	default:
		t.Name = Dark
		t.Title = newStyle(n.Bold(true).Foreground(lipgloss.Color("0")).Background(lipgloss.Color("14")))
		t.Warn, t.Loud = newStyle(color("11").Bold(true)), newStyle(n.Bold(true).Foreground(lipgloss.Color("15")).Background(lipgloss.Color("1")))
		t.Error, t.Good = newStyle(color("9").Bold(true)), newStyle(color("10"))
		t.Focus, t.Picked, t.Key = newStyle(color("14").Bold(true)), newStyle(color("14").Bold(true)), newStyle(color("6"))
	}
	t.huh = huhTheme()
	return t
}

// huhTheme sets the separator of a group; fields draw themselves.
func huhTheme() *huh.Theme {
	h := &huh.Theme{}
	h.FieldSeparator = lipgloss.NewStyle().SetString("\n")
	return h
}

// FromEnv picks the theme for a terminal from its environment and settles lipgloss's colour profile for it, which is
// global: call it once, before any style is built. The terminal itself is never asked.
//
// ASKBACK_THEME names a theme; NO_COLOR, whatever its value as long as it has one, means attributes; else COLORFGBG
// tells a light background, and dark is what is left. A locale of C or POSIX, or one that names an encoding other than
// UTF-8, gets marks in ASCII.
func FromEnv(getenv func(string) string) *Theme {
	name := Dark
	switch asked := Name(getenv("ASKBACK_THEME")); {
	case getenv("NO_COLOR") != "":
		name = Attributes
	case asked == Dark || asked == Light || asked == Attributes:
		name = asked
	case lightBackground(getenv("COLORFGBG")):
		name = Light
	}
	if name == Attributes || lipgloss.ColorProfile() == termenv.Ascii {
		// Ascii would drop the attributes too, and with them the cursor.
		lipgloss.SetColorProfile(termenv.ANSI)
		name = Attributes
	}
	t := New(name)
	if asciiLocale(getenv) {
		return t.WithASCII()
	}
	return t
}

// WithASCII is the theme with marks in ASCII.
func (t *Theme) WithASCII() *Theme {
	c := *t
	c.Glyphs = asciiGlyphs
	return &c
}
