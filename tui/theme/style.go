package theme

import (
	"strings"

	"github.com/charmbracelet/lipgloss"
)

// Style paints one line of text. It holds the escape sequences that lipgloss makes of its attributes under the
// colour profile of the time it was built, so that painting a row costs a concatenation. The zero Style paints nothing.
type Style struct {
	open, close string
	lip         lipgloss.Style
}

// newStyle reads the sequences off a painted letter; under a profile without attributes there are none.
func newStyle(s lipgloss.Style) Style {
	open, end, _ := strings.Cut(s.Render("x"), "x")
	return Style{open: open, close: end, lip: s}
}

// Render paints text, which must hold no line break. An empty text stays empty.
func (s Style) Render(text string) string {
	if text == "" || s.open == "" {
		return text
	}
	return s.open + text + s.close
}
