package formview

import (
	"strings"
	"testing"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"askback/forms"
	emulator "askback/internal/screen"
	"askback/tui/theme"
)

// What is typed scrolls so that the cursor stands in the row, whichever way the terminal counts cells, and the row shows
// as much as it has room for.
func TestInputShowsItsCursor(t *testing.T) {
	lipgloss.SetColorProfile(termenv.ANSI)
	t.Cleanup(func() { lipgloss.SetColorProfile(termenv.Ascii) })
	for _, piece := range []string{"a", "กำ", "नी", "கோ", "👍🏽", "漢", "👩‍👩‍👧", "🇯🇵", "e\u0301"} {
		d := driveWith(t, Request{Form: form("Please type.", forms.Field{Kind: forms.KindString, Name: "t", Label: "T", MaxLength: ptr(2000)})}, 40, 12, theme.New(theme.Attributes))
		see := func(what string) string {
			t.Helper()
			for _, row := range strings.Split(d.m.View(), "\n") {
				plain := ansi.Strip(row)
				if !strings.HasPrefix(plain, "▌ > ") {
					continue
				}
				if n := max(ansi.StringWidth(plain), emulator.Counted(plain)); n > 39 {
					t.Errorf("%q %s: the row is %d wide: %q", piece, what, n, plain)
				}
				if !strings.Contains(row, "\x1b[7m") {
					t.Errorf("%q %s: no cursor in %q", piece, what, row)
				}
				return strings.TrimPrefix(plain, "▌ > ")
			}
			t.Fatalf("%q %s: no input\n%s", piece, what, d.view())
			return ""
		}
		d.paste(strings.Repeat(piece, 200) + "END")
		if row := see("at the end"); !strings.HasSuffix(strings.TrimRight(row, " "), "END") || !strings.Contains(row, piece) {
			t.Errorf("%q: the end is not shown: %q", piece, row)
		}
		for range 150 {
			d.press("left")
			see("going left")
		}
		d.press("home")
		if row := see("at the beginning"); !strings.HasPrefix(row, piece) {
			t.Errorf("%q: the beginning is not shown: %q", piece, row)
		}
		for range 60 {
			d.press("right")
			see("going right")
		}
		d.press("end")
		for range 96 { // what goes away at the end makes room for what is before
			d.press("backspace")
		}
		if row := see("shortened"); emulator.Counted(row) < 25 {
			t.Errorf("%q: the row is left empty: %q", piece, row)
		}
	}
}

// A cluster without an end is shown by its code points.
func TestInputTakesLongClustersApart(t *testing.T) {
	d := drive(t, req(text("t", true)), 40, 12)
	d.paste(strings.Repeat("👩‍", 60)+"👩").press("left", "left", "left").typed("x")
	for _, row := range strings.Split(d.view(), "\n") {
		if emulator.Counted(ansi.Strip(row)) > 40 {
			t.Errorf("too wide: %q", row)
		}
	}
	d.shows("👩\u200dx")
}
