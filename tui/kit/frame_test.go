package kit

import (
	"testing"

	"askback/forms"
	"askback/tui/theme"
)

// Where a text was cut, each theme has its own mark; a text's own signs are nobody's to change.
func TestDrawn(t *testing.T) {
	unicode := theme.New(theme.Attributes)
	const text = "a→b … 3×4 • µ · ⏎ ─ │ ▌ ←"
	for _, c := range []struct {
		frame string
		th    *theme.Theme
		want  string
	}{
		{"", unicode, ""},
		{text, unicode, text},
		{text, unicode.WithASCII(), text},
		{Clip("a text…", 7) + "\n" + Clip("a text… cut", 8) + "\nend", unicode, "a text…\na text……\nend"},
		{Clip("a text…", 7) + "\n" + Clip("a text… cut", 8) + "\nend", unicode.WithASCII(), "a text…\na text…~\nend"},
		{ClipMiddle("eu-west-1a-production", 11), unicode.WithASCII(), "eu-we~ction"},
	} {
		if got := Drawn(c.frame, c.th); got != c.want {
			t.Errorf("%q: %q, want %q", c.frame, got, c.want)
		}
	}
}

// Our mark is one cell, and no text from elsewhere can hold it.
func TestMoreIsOursAlone(t *testing.T) {
	if Width(More) != 1 || forms.Line(More) == More || forms.Block(More) == More {
		t.Errorf("%d cells, projected as %q", Width(More), forms.Line(More))
	}
}
