package kit

import "time"

// Pause is for how long the keys must be quiet before one counts on a screen that a Guard stands before.
const Pause = 400 * time.Millisecond

// Ignoring is what a screen says while it ignores keys.
const Ignoring = "keys are ignored until you pause"

// Guard stands before a screen on which a key decides: one that opened by itself, or asks. It ignores keys until they have
// been quiet for Pause, since what is typed on meanwhile is meant for something else. Each key that it ignores starts the
// quiet anew: with a fixed time the next letter of a word that somebody goes on writing, or of a key that is held down,
// would decide. The zero Guard lets every key pass.
type Guard struct {
	since   time.Time // keys are ignored for Pause from here
	ignored bool      // one was
	wrote   time.Time // a key that writes did something
}

// Guarded is a Guard before a screen that opens now.
func Guarded(now time.Time) Guard { return Guard{since: now} }

// Start makes the screen deaf again: it came to the front, or something on it opened.
func (g *Guard) Start(now time.Time) { g.since, g.ignored = now, false }

// Ignore ignores a key.
func (g *Guard) Ignore(now time.Time) { g.since, g.ignored = now, true }

// Deaf says whether a key would be ignored.
func (g *Guard) Deaf(now time.Time) bool { return now.Sub(g.since) < Pause }

// Takes takes a key, and says whether it counts.
func (g *Guard) Takes(now time.Time) bool {
	if g.Deaf(now) {
		g.Ignore(now)
		return false
	}
	g.ignored = false
	return true
}

// Ignoring says whether a key was ignored and the next one would be. The screen says so then, and is drawn again when
// Pause has passed.
func (g *Guard) Ignoring(now time.Time) bool { return g.ignored && g.Deaf(now) }

// Wrote tells of a key that did something here, and would have written a character elsewhere: a blank that scrolls.
func (g *Guard) Wrote(now time.Time) { g.wrote = now }

// Decides takes a key that Takes let through and that decides, and says whether it may: right behind one that Wrote it is
// the next letter of a text, and is ignored.
func (g *Guard) Decides(now time.Time) bool {
	if now.Sub(g.wrote) < Pause {
		g.Ignore(now)
		return false
	}
	return true
}
