package formview

import (
	"slices"
	"testing"
	"time"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"

	"askback/forms"
	"askback/tui/theme"
)

// The costs that are promised: from a key to its frame, at the 99th percentile.
var costs = []struct {
	name  string
	form  func() forms.Form
	w, h  int
	p99   time.Duration
	steps []string
}{
	{"8 selects of 64, 200x60", func() forms.Form { return selects(8, 64) }, 200, 60, 2 * time.Millisecond, []string{"down", "down", "space", "pgdown", "up", "o", "3", "backspace", "backspace", "tab"}},
	{"1 select of 256, 200x60", func() forms.Form { return selects(1, 256) }, 200, 60, 2 * time.Millisecond, []string{"down", "down", "space", "pgdown", "end", "up", "o", "2", "5", "backspace", "home"}},
	{"32 mixed, 80x24", func() forms.Form { return manyFields(32) }, 80, 24, 600 * time.Microsecond, []string{"a", "b", "down", "tab", "1", "2", "tab", "down", "space", "tab", "y", "tab", "space", "tab", "1", "tab"}},
	{"a text of 2048, 80x24", longText, 80, 24, 600 * time.Microsecond, []string{"a", "b", "left", "backspace", "home", "end", "x"}},
}

func longText() forms.Form {
	text := ""
	for len(text) < 2000 {
		text += "all work and no play "
	}
	return form("Edit.", forms.Field{Kind: forms.KindString, Name: "t", Label: "Text", MaxLength: ptr(2048), Default: forms.TextValue(text[:2000])})
}

func BenchmarkKeyToFrame(b *testing.B) {
	lipgloss.SetColorProfile(termenv.ANSI256)
	b.Cleanup(func() { lipgloss.SetColorProfile(termenv.Ascii) })
	for _, c := range costs {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			var took []time.Duration
			d := driveWith(b, Request{Form: c.form()}, c.w, c.h, theme.New(theme.Dark))
			i := 0
			for b.Loop() {
				k := keyMsg(c.steps[i%len(c.steps)])
				start := time.Now()
				d.m.Update(k)
				frame = d.m.View()
				took = append(took, time.Since(start))
				if i++; i%200 == 0 {
					d = driveWith(b, Request{Form: c.form()}, c.w, c.h, theme.New(theme.Dark))
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}

var frame string

func BenchmarkOpen(b *testing.B) {
	for _, c := range costs {
		b.Run(c.name, func(b *testing.B) {
			f, th := c.form(), theme.New(theme.Dark)
			for b.Loop() {
				m := New(Request{Form: f}, Options{Theme: th})
				m.Resize(c.w, c.h)
				frame = m.View()
			}
		})
	}
}
