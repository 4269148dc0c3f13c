package screen

import (
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
)

// everyKey is each key that a terminal can send, alone and with alt.
func everyKey() []tea.KeyMsg {
	var out []tea.KeyMsg
	add := func(k tea.KeyMsg) {
		alt := k
		alt.Alt = true
		out = append(out, k, alt)
	}
	for t := tea.KeyType(-120); t < 128; t++ {
		switch k := (tea.KeyMsg{Type: t}); {
		case t == tea.KeyRunes, k.String() == "":
		case t == tea.KeySpace:
			add(tea.KeyMsg{Type: t, Runes: []rune(" ")})
		default:
			add(k)
		}
	}
	for r := rune('!'); r < 0x7f; r++ {
		add(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}})
	}
	return out
}

// No key takes the program down or holds it up, wherever the cursor is, and none with alt writes its letter.
func TestEveryKeyOfAnInput(t *testing.T) {
	for _, text := range []string{"", " ", " one two", "one\n漢字", "\n \ntwo"} {
		for _, to := range []tea.KeyType{tea.KeyCtrlHome, tea.KeyCtrlEnd, tea.KeyHome} {
			line, area := newLine(""), newArea("", forms.Block)
			for _, k := range everyKey() {
				line.SetValue(forms.Line(text))
				area.SetValue(text)
				line.take(tea.KeyMsg{Type: to})
				area.take(tea.KeyMsg{Type: to})
				before := [2]string{line.Value(), area.Value()}
				func() {
					defer func() {
						if v := recover(); v != nil {
							t.Errorf("%s in %q: %v", k, text, v)
						}
					}()
					line.take(k)
					area.take(k)
				}()
				for i, after := range [2]string{line.Value(), area.Value()} {
					if k.Alt && len(after) > len(before[i]) {
						t.Errorf("%s wrote: %q became %q", k, before[i], after)
					}
				}
			}
		}
	}
}

// Where there is a word before the cursor, its key goes there, also over rows of blanks.
func TestWordBefore(t *testing.T) {
	area := newArea("one\n \n two", forms.Block)
	for _, want := range []string{"one\n \n |two", "|one\n \n two", "|one\n \n two"} {
		area.take(tea.KeyMsg{Type: tea.KeyLeft, Alt: true})
		area.InsertRune('|')
		if area.Value() != want {
			t.Errorf("%q, want %q", area.Value(), want)
		}
		area.take(tea.KeyMsg{Type: tea.KeyBackspace})
	}
}

// A text that comes in one piece is written, whatever it spells, and is no key: a slow line hands over two letters at once.
func TestATextIsNoKey(t *testing.T) {
	for _, word := range []string{"up", "end", "home", "tab", "enter", "esc", "delete", "left", "f1", "ctrl+c", "ctrl+q", "ctrl+s", "ctrl+t", "ctrl+x", "alt+b"} {
		bubble(t, demoServer, wide, func(r *rig) {
			word := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(word)}
			text := string(word.Runes)
			r.press("2", "e")
			r.send(word)
			r.wants("{" + text + "}")
			r.press("esc", "/")
			r.send(word)
			r.wants("/ " + text)
			r.press("esc", "6", "home", "enter", "/")
			r.send(word)
			if p, ok := r.m.top().(*messagePage); !ok || p.search.Value() != text {
				t.Errorf("%q was not searched for:\n%s", text, r.frame())
			}
			r.press("esc", "esc")
			r.tool("mrtr_sample")
			r.press("a")
			r.send(word)
			r.wants(r.m.th.Glyphs.FocusBar + " " + text)
			r.press("ctrl+s", "s")
			r.tool("mrtr_confirm")
			for range 2 { // none of it decides, and none of it is a key of ours
				r.send(word)
				time.Sleep(time.Second)
			}
			if r.m.up == nil || r.quit {
				t.Errorf("%q did something:\n%s", text, r.frame())
			}
		})
	}
}

// A held letter and a search that come in one piece are what they are when they come one by one.
func TestKeysInOnePiece(t *testing.T) {
	bubble(t, demoServer, wide, func(r *rig) {
		at := func() int { return r.m.tabs[r.m.tab].at }
		r.press("2", "home")
		for _, c := range []struct {
			keys string
			at   int
		}{{"jjj", 3}, {"kk", 1}, {"jk", 1}, {"quit", 1}} {
			if r.now(c.keys); at() != c.at || r.quit || len(r.m.stack) != 0 {
				t.Errorf("%q went to %d, want %d", c.keys, at(), c.at)
			}
		}
		r.now("/sur")
		r.now("//")
		r.wants("/ sur//")
		r.press("esc", "6", "enter")
		r.now("/plain")
		r.wants("plain")
		if p, ok := r.m.top().(*messagePage); !ok || p.search.Value() != "plain" {
			t.Errorf("nothing is searched:\n%s", r.frame())
		}
	})
}
