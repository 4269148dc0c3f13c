package theme

import (
	"strings"
	"testing"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"
)

func setProfile(t *testing.T, p termenv.Profile) {
	t.Helper()
	old := lipgloss.ColorProfile()
	lipgloss.SetColorProfile(p)
	t.Cleanup(func() { lipgloss.SetColorProfile(old) })
}

func TestFromEnv(t *testing.T) {
	for _, c := range []struct {
		name string
		env  map[string]string
		want Name
		bar  string
	}{
		{"nothing", nil, Dark, "│"},
		{"light background", map[string]string{"COLORFGBG": "0;15"}, Light, "│"},
		{"three parts", map[string]string{"COLORFGBG": "0;default;7"}, Light, "│"},
		{"dark background", map[string]string{"COLORFGBG": "15;0"}, Dark, "│"},
		{"dark grey", map[string]string{"COLORFGBG": "15;8"}, Dark, "│"},
		{"garbled", map[string]string{"COLORFGBG": "15;default"}, Dark, "│"},
		{"asked", map[string]string{"ASKBACK_THEME": "light"}, Light, "│"},
		{"unknown", map[string]string{"ASKBACK_THEME": "pink"}, Dark, "│"},
		{"NO_COLOR beats all", map[string]string{"NO_COLOR": "0", "ASKBACK_THEME": "light", "COLORFGBG": "0;15"}, Attributes, "│"},
		{"C locale", map[string]string{"LANG": "C"}, Dark, "|"},
		{"LC_ALL wins", map[string]string{"LC_ALL": "C.UTF-8", "LANG": "C"}, Dark, "│"},
		{"Latin-1", map[string]string{"LC_ALL": "en_US.ISO-8859-1"}, Dark, "|"},
		{"Latin-9 with a modifier", map[string]string{"LANG": "de_DE.ISO8859-15@euro"}, Dark, "|"},
		{"UTF-8 however it is spelt", map[string]string{"LANG": "de_DE.utf8@euro"}, Dark, "│"},
		{"no encoding named", map[string]string{"LANG": "de_DE"}, Dark, "│"},
		{"POSIX", map[string]string{"LC_CTYPE": "POSIX", "LANG": "de_DE.UTF-8"}, Dark, "|"},
	} {
		t.Run(c.name, func(t *testing.T) {
			setProfile(t, termenv.ANSI256)
			th := FromEnv(func(k string) string { return c.env[k] })
			if th.Name != c.want || th.Glyphs.Bar != c.bar {
				t.Errorf("theme %s with bar %q, want %s with %q", th.Name, th.Glyphs.Bar, c.want, c.bar)
			}
		})
	}
}

// TM-12: no colour at all, yet the cursor, the focus and the warning keep an attribute.
func TestAttributesHaveNoColour(t *testing.T) {
	setProfile(t, termenv.Ascii) // what lipgloss makes of NO_COLOR
	th := FromEnv(func(k string) string { return map[string]string{"NO_COLOR": "1"}[k] })
	for name, s := range map[string]Style{"cursor": th.Cursor, "focus": th.Focus, "picked": th.Picked, "title": th.Title, "warn": th.Warn, "loud": th.Loud, "error": th.Error, "strong": th.Strong} {
		got := s.Render("x")
		if !strings.HasPrefix(got, "\x1b[") {
			t.Errorf("%s: no attribute in %q", name, got)
		}
		for _, seq := range []string{"3", "4", "9", "10"} {
			for c := range 8 {
				if strings.Contains(got, ";"+seq+string(rune('0'+c))+"m") || strings.Contains(got, "["+seq+string(rune('0'+c))+"m") {
					t.Errorf("%s: colour in %q", name, got)
				}
			}
		}
	}
}

func TestStyle(t *testing.T) {
	setProfile(t, termenv.ANSI)
	for _, name := range []Name{Dark, Light, Attributes} {
		th := New(name)
		for _, s := range []Style{th.Text, th.Strong, th.Dim, th.Title, th.Warn, th.Loud, th.Error, th.Good, th.Focus, th.Picked, th.Key, th.Cursor} {
			if s.Render("") != "" {
				t.Errorf("%s: paints an empty text", name)
			}
			for _, text := range []string{"a", "x and x", "漢字", "  spaces  "} {
				got := s.Render(text)
				if ansi.Strip(got) != text {
					t.Errorf("%s: %q became %q", name, text, got)
				}
				if want := s.lip.Render(text); got != want {
					t.Errorf("%s: %q, lipgloss gives %q", name, got, want)
				}
			}
		}
	}
}

func TestGlyphsAreOneCell(t *testing.T) {
	for _, g := range []Glyphs{unicodeGlyphs, asciiGlyphs} {
		for _, s := range []string{g.Bar, g.FocusBar, g.Chosen, g.Dot, g.Rule, g.More, g.In, g.Out, g.Micro} {
			if ansi.StringWidth(s) != 1 {
				t.Errorf("%q is %d cells", s, ansi.StringWidth(s))
			}
		}
	}
	for _, s := range []string{asciiGlyphs.Bar, asciiGlyphs.FocusBar, asciiGlyphs.Chosen, asciiGlyphs.Dot, asciiGlyphs.Rule, asciiGlyphs.More, asciiGlyphs.Break, asciiGlyphs.In, asciiGlyphs.Out, asciiGlyphs.Micro} {
		if s[0] >= 0x80 {
			t.Errorf("%q is not ASCII", s)
		}
	}
}
