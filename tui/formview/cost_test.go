package formview

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"

	"askback/tui/theme"
)

// TestCost holds the promised costs where the machine is quiet enough to say so: ASKBACK_COSTS=1. Of several runs the
// best counts; what another process takes is not ours.
func TestCost(t *testing.T) {
	if os.Getenv("ASKBACK_COSTS") == "" {
		t.Skip("ASKBACK_COSTS is not set")
	}
	lipgloss.SetColorProfile(termenv.ANSI256)
	defer lipgloss.SetColorProfile(termenv.Ascii)
	for _, c := range costs {
		t.Run(c.name, func(t *testing.T) {
			best := time.Hour
			for range 5 {
				d := driveWith(t, Request{Form: c.form()}, c.w, c.h, theme.New(theme.Dark))
				var took []time.Duration
				for i := range 500 {
					k := keyMsg(c.steps[i%len(c.steps)])
					start := time.Now()
					d.m.Update(k)
					frame = d.m.View()
					took = append(took, time.Since(start))
				}
				slices.Sort(took)
				best = min(best, took[len(took)*99/100])
			}
			if best > c.p99 {
				t.Errorf("p99 of %v from key to frame, promised are %v", best, c.p99)
			}
			t.Logf("p99 %v of %v", best, c.p99)
		})
	}
}

// A frame in which nothing changed is the same frame: a renderer that compares has nothing to write.
func TestStillFrame(t *testing.T) {
	d := drive(t, Request{Form: everyKind()}, 80, 24)
	before := d.m.View()
	d.wait(time.Hour)
	if d.m.View() != before {
		t.Error("time alone changes the frame")
	}
}
