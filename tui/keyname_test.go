package tui

import (
	"strings"
	"testing"
)

// spelt are names of keys, as a text that came in one piece: from a slow line, which hands over two letters at once, or
// from a terminal that marks no pastes.
var spelt = []string{"up", "down", "end", "home", "tab", "enter", "esc", "delete", "left", "pgup", "f1", "ctrl+c", "ctrl+q", "ctrl+f", "ctrl+g", "ctrl+r", "ctrl+s", "ctrl+t", "ctrl+x", "shift+tab", "alt+b"}

// A text is written where texts are, whatever it spells.
func TestATextIsNoKey(t *testing.T) {
	for _, word := range spelt {
		d := connected(t, 80, 24)
		if d.text(word).want("> " + word); d.quit || d.m.comp.edit.String() != word {
			t.Errorf("%q became %q", word, d.m.comp.edit.String())
		}
		d = connected(t, 80, 24)
		d.press("ctrl+t").text(word).want(word).press("esc").typing("nested").press("ctrl+r").text(word).want("{" + word + "}")
		d = connected(t, 80, 24)
		d.press("ctrl+g").text(word).want("no session").press("esc", "ctrl+t").text(word).want("> " + word)
		d = connected(t, 80, 24)
		d.press("ctrl+t").typing("deploy").press("enter").tick(past).text(word).want("> " + word)
	}
}

// Where letters decide it decides nothing, and leads nowhere.
func TestATextDecidesNothing(t *testing.T) {
	for _, word := range append(spelt, "ctrl+y", "yes", "sy") {
		for name, d := range map[string]*driver{
			"review":   asking(t, 80, 24).tick(past).press("down", "enter").typing("y").press("ctrl+s"),
			"question": calling(t, 80, 24).press("ctrl+q"),
			"refusal":  asking(t, 80, 24).tick(past).press("ctrl+x"),
		} {
			above := func(frame string) string { return strings.Join(strings.Split(frame, "\n")[:22], "\n") }
			before := above(d.tick(past).frame())
			got := above(d.text(word).tick(past).frame())
			if d.quit || d.host.count("answer") != 0 || got != before {
				t.Errorf("%q on a %s: %q\n%s", word, name, d.host.calls, got)
			}
		}
	}
}
