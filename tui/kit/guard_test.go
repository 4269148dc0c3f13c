package kit

import (
	"strings"
	"testing"
	"time"
)

// Each step is a wait and what happens then: o opens, w writes, i is ignored by the screen, k is any key, d is a key that
// decides. want says what became of each: - was ignored, + counted, and ! where the screen says that it ignores keys.
func TestGuard(t *testing.T) {
	const ms = time.Millisecond
	type step struct {
		after time.Duration
		does  byte
	}
	for name, c := range map[string]struct {
		steps []step
		want  string
	}{
		"nothing has opened":                     {[]step{{0, 'k'}, {0, 'd'}}, "+ +"},
		"a pause":                                {[]step{{0, 'o'}, {Pause, 'k'}}, ". +"},
		"too early":                              {[]step{{0, 'o'}, {Pause - ms, 'k'}}, ". -!"},
		"typing on, for longer than one pause":   {[]step{{0, 'o'}, {300 * ms, 'k'}, {300 * ms, 'k'}, {300 * ms, 'k'}, {Pause, 'k'}}, ". -! -! -! +"},
		"opening again":                          {[]step{{0, 'o'}, {Pause, 'k'}, {0, 'o'}, {ms, 'd'}}, ". + . -!"},
		"opening again tells of no ignored key":  {[]step{{0, 'o'}, {ms, 'k'}, {ms, 'o'}, {Pause, 'd'}}, ". -! . +"},
		"a key that means nothing here":          {[]step{{0, 'o'}, {Pause, 'i'}, {ms, 'd'}, {Pause, 'd'}}, ". .! -! +"},
		"behind one that writes":                 {[]step{{0, 'w'}, {Pause - ms, 'd'}, {Pause, 'd'}}, ". -! +"},
		"well behind one that writes":            {[]step{{0, 'w'}, {Pause, 'd'}}, ". +"},
		"behind one that writes, but of no harm": {[]step{{0, 'w'}, {ms, 'k'}}, ". +"},
	} {
		var g Guard
		now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
		var got []string
		for _, s := range c.steps {
			now = now.Add(s.after)
			out := "."
			switch s.does {
			case 'o':
				g.Start(now)
			case 'w':
				g.Wrote(now)
			case 'i':
				g.Ignore(now)
			default:
				deaf := g.Deaf(now)
				counts := g.Takes(now)
				if counts == deaf {
					t.Errorf("%s: deaf and taken", name)
				}
				if s.does == 'd' {
					counts = counts && g.Decides(now)
				}
				out = map[bool]string{true: "+", false: "-"}[counts]
			}
			if g.Ignoring(now) {
				out += "!"
			}
			got = append(got, out)
		}
		if g.Ignoring(now.Add(Pause)) {
			t.Errorf("%s: keys are said to be ignored when they are not", name)
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	if g := Guarded(now); !g.Deaf(now.Add(Pause-ms)) || g.Deaf(now.Add(Pause)) || g.Ignoring(now) {
		t.Error("a screen that opens is not guarded for one pause")
	}
}
