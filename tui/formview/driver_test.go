package formview

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"askback/forms"
	"askback/tui/kit"
	"askback/tui/theme"
)

func TestMain(m *testing.M) {
	lipgloss.SetColorProfile(termenv.Ascii)
	os.Exit(m.Run())
}

// driver drives a Model synchronously: no program, no goroutine, a clock of its own.
type driver struct {
	t    testing.TB
	m    *Model
	now  time.Time
	w, h int
	acts []Action
}

func plainTheme() *theme.Theme { return theme.New(theme.Attributes) }

func drive(t testing.TB, req Request, w, h int) *driver {
	t.Helper()
	return driveWith(t, req, w, h, plainTheme())
}

func driveWith(t testing.TB, req Request, w, h int, th *theme.Theme) *driver {
	t.Helper()
	d := &driver{t: t, now: time.Unix(1000, 0), w: w, h: h}
	if req.ID == "" {
		req.ID = "i1"
	}
	d.m = New(req, Options{Theme: th, Now: func() time.Time { return d.now }})
	d.m.Resize(w, h)
	return d.wait(kit.Pause)
}

func (d *driver) wait(by time.Duration) *driver {
	d.now = d.now.Add(by)
	return d
}

func (d *driver) send(msg tea.Msg) *driver {
	if a := d.m.Update(msg); a != nil {
		d.acts = append(d.acts, a)
	}
	return d
}

var namedKeys = map[string]tea.KeyType{
	"enter": tea.KeyEnter, "tab": tea.KeyTab, "shift+tab": tea.KeyShiftTab, "esc": tea.KeyEsc,
	"up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight,
	"home": tea.KeyHome, "end": tea.KeyEnd, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown,
	"backspace": tea.KeyBackspace, "delete": tea.KeyDelete, "space": tea.KeySpace, "ctrl+left": tea.KeyCtrlLeft,
	"f1": tea.KeyF1, "f2": tea.KeyF2,
}

func keyMsg(name string) tea.KeyMsg {
	if t, ok := namedKeys[name]; ok {
		k := tea.KeyMsg{Type: t}
		if name == "space" {
			k.Runes = []rune{' '}
		}
		return k
	}
	if c, ok := strings.CutPrefix(name, "ctrl+"); ok && len(c) == 1 {
		return tea.KeyMsg{Type: tea.KeyCtrlA + tea.KeyType(c[0]-'a')}
	}
	if rest, ok := strings.CutPrefix(name, "alt+"); ok {
		k := keyMsg(rest)
		k.Alt = true
		return k
	}
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(name)}
}

// press sends keys by name; a name that is none is typed as one run of characters. Between keys passes a moment that no
// guard minds; where a screen opened, press waits for its guard.
func (d *driver) press(keys ...string) *driver {
	for _, k := range keys {
		if d.m.Guarded() {
			d.wait(kit.Pause)
		}
		d.send(keyMsg(k))
		d.wait(50 * time.Millisecond)
	}
	return d
}

// typed sends one key a character.
func (d *driver) typed(s string) *driver {
	for _, r := range s {
		if r == ' ' {
			d.press("space")
			continue
		}
		d.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}})
	}
	return d.wait(50 * time.Millisecond)
}

func (d *driver) paste(s string) *driver {
	return d.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(s), Paste: true})
}

// view is the frame with trailing blanks cut.
func (d *driver) view() string { return trim(d.m.View()) }

func trim(s string) string {
	rows := strings.Split(s, "\n")
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " ")
	}
	return strings.Join(rows, "\n")
}

// submitted is the one answer that left.
func (d *driver) submitted() forms.Result {
	d.t.Helper()
	var out []forms.Result
	for _, a := range d.acts {
		if s, ok := a.(Submit); ok {
			out = append(out, s.Result)
		}
	}
	if len(out) != 1 {
		d.t.Fatalf("%d answers left, want one; actions %#v\n%s", len(out), d.acts, d.view())
	}
	return out[0]
}

func (d *driver) silent() *driver {
	d.t.Helper()
	if len(d.acts) != 0 {
		d.t.Fatalf("actions %#v, want none\n%s", d.acts, d.view())
	}
	return d
}

func (d *driver) shows(want ...string) *driver {
	d.t.Helper()
	v := ansi.Strip(d.view())
	for _, s := range want {
		if !strings.Contains(v, s) {
			d.t.Errorf("not on the screen: %q\n%s", s, box(v, d.w))
		}
	}
	return d
}

func (d *driver) hides(no ...string) *driver {
	d.t.Helper()
	v := ansi.Strip(d.view())
	for _, s := range no {
		if strings.Contains(v, s) {
			d.t.Errorf("on the screen: %q\n%s", s, box(v, d.w))
		}
	}
	return d
}

func values(t testing.TB, r forms.Result) string {
	t.Helper()
	b, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func box(s string, w int) string {
	var b strings.Builder
	edge := "+" + strings.Repeat("-", w) + "+\n"
	b.WriteString(edge)
	for _, l := range strings.Split(s, "\n") {
		fmt.Fprintf(&b, "|%s%s|\n", l, strings.Repeat(" ", max(0, w-ansi.StringWidth(l))))
	}
	return b.String() + edge
}
