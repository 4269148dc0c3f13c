package tui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"askback/tui/kit"
	"askback/tui/theme"
)

// A dialog is a screen over the transcript. It draws itself, takes keys and says what it wants done; doing
// it is the model's.
type dialog interface {
	title() string
	key(k tea.KeyMsg, v view) action
	rows(v view) []string // at most v.h rows of v.w cells
	hints(v view) []kit.Hint
}

// view is what a part needs to know to draw itself or to take a key.
type view struct {
	w, h int
	now  time.Time
	th   *theme.Theme
	m    *Model // read only
}

// action is what a part wants done. nil is nothing.
type action interface{ action() }

type (
	doClose   struct{}                       // close the dialog on top
	doOpen    struct{ d dialog }             // put a dialog on top
	doReplace struct{ d dialog }             // close the one on top, then open
	doSession struct{ id string }            // open a session
	doCreate  struct{ name string }          // create a session and open it
	doRemove  struct{ id string }            // remove a session
	doMode    struct{ id, mode string }      // change a session's mode
	doCall    struct{ line string }          // send a /call line as a Turn
	doEdit    struct{ text string }          // put a text in the composer
	doSend    struct{ text string }          // send a text, without asking again
	doRestart struct{ server string }        // restart a server
	doReload  struct{}                       // read the configuration again
	doStop    struct{}                       // stop the open Turn
	doRetry   struct{}                       // connect again now
	doQuit    struct{}                       // leave, without asking again
	doAwake   struct{}                       // draw again when the keys may act
	doKeep    struct{ d argsDraft }          // keep arguments that were not sent
	doThen    struct{ first, second action } // both, in order
	doArgs    struct {
		server, tool string
		raw          bool
	} // ask for a tool's arguments
)

func (doClose) action()   {}
func (doOpen) action()    {}
func (doReplace) action() {}
func (doSession) action() {}
func (doCreate) action()  {}
func (doRemove) action()  {}
func (doMode) action()    {}
func (doCall) action()    {}
func (doEdit) action()    {}
func (doSend) action()    {}
func (doRestart) action() {}
func (doReload) action()  {}
func (doStop) action()    {}
func (doRetry) action()   {}
func (doQuit) action()    {}
func (doAwake) action()   {}
func (doKeep) action()    {}
func (doThen) action()    {}
func (doArgs) action()    {}

// awake comes when ignored keys may act again, so that the screen stops saying otherwise.
type awake struct{}

// confirm asks once whether something should be done. A text that does not fit is read to its end first.
type confirm struct {
	name string
	text []string // paragraphs
	yes  string   // what y does, in words
	then action
	no   action // what anything else does; nil closes
	keys kit.Guard
	kit.Scroller
	read bool // the end was on screen
}

func (c *confirm) title() string { return c.name }

func (c *confirm) key(k tea.KeyMsg, v view) action {
	s := kit.KeyName(k)
	if s != "ctrl+c" && !c.keys.Takes(v.now) {
		return doAwake{}
	}
	switch s {
	case "y", "Y", "ctrl+y":
		switch {
		case !c.keys.Decides(v.now):
			return doAwake{}
		case !c.seen(v):
			c.Scroller.Key(tea.KeyMsg{Type: tea.KeyPgDown}, max(1, v.h-1))
			return nil
		}
		return doThen{doClose{}, c.then}
	case "n", "N", "esc", "ctrl+c":
		if c.no != nil {
			return doThen{doClose{}, c.no}
		}
		return doClose{}
	}
	writes := k.Type == tea.KeyRunes || k.Type == tea.KeySpace
	switch scrolled := c.Scroller.Key(k, max(1, v.h-1)); {
	case scrolled && writes:
		c.keys.Wrote(v.now)
	case !scrolled && (writes || k.Paste): // somebody writes something else
		c.keys.Ignore(v.now)
		return doAwake{}
	}
	return nil
}

// show is called when what lay over the question is gone: the keys were for that.
func (c *confirm) show(m *Model) { c.keys.Start(m.now()) }

// seen says whether the end of the text is, or was, on screen.
func (c *confirm) seen(v view) bool {
	c.read = c.read || c.Top >= len(c.layout(v))-v.h
	return c.read
}

func (c *confirm) layout(v view) []string {
	var out []string
	for i, p := range c.text {
		if i > 0 {
			out = append(out, "")
		}
		for _, r := range kit.Wrap(p, min(v.w-4, 76)) {
			out = append(out, "  "+r)
		}
	}
	if len(out) > v.h || len(out)+2 <= v.h {
		out = append(out, "", "  "+v.th.Key.Render("y")+" "+c.yes)
	}
	return out
}

func (c *confirm) rows(v view) []string {
	c.seen(v)
	rows, _ := c.Cut(c.layout(v), v.h)
	return rows
}

func (c *confirm) hints(v view) []kit.Hint {
	switch {
	case c.keys.Ignoring(v.now):
		return []kit.Hint{{"pause", "keys are ignored until you do"}}
	case !c.read:
		return []kit.Hint{{"pgdn", "read on"}, {"n", "no"}, {"esc", "no"}}
	}
	return []kit.Hint{{"y", c.yes}, {"n", "no"}, {"esc", "no"}}
}
