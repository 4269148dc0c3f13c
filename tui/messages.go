package tui

import (
	"context"
	"errors"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/tui/hostview"
	"askback/tui/kit"
)

// What reaches the model beside keys and window sizes.
type (
	// toldAll are events of the Host, in their order.
	toldAll []hostview.Event
	// served is the new state of our servers.
	served struct {
		servers []hostview.Server
		tools   []hostview.Tool
	}
	// ended asks the program to end without anybody having decided it.
	ended struct{ outcome Outcome }

	tick     struct{} // a second has passed
	disarmed struct{} // ctrl+c is no longer armed

	answered struct {
		in      hostview.Interaction
		outcome hostview.Outcome
		err     error
	}
	opened struct {
		id  string
		err error
	}
	created struct {
		s   hostview.Session
		err error
	}
	removed struct {
		s   hostview.Session
		err error
	}
	moded struct {
		s   hostview.Session
		err error
	}
	started struct {
		session, text string
		turn          hostview.Turn
		err           error
	}
	stopped struct {
		turn hostview.Turn
		err  error
	}
	older struct {
		session string
		err     error
	}
	restarted struct {
		name string
		err  error
	}
	reloaded struct {
		told string
		err  error
	}
	// done ends a request that has nothing to tell.
	done struct{}
)

// answer marks the messages that end a request.
type answer interface{ ends() }

func (answered) ends()  {}
func (opened) ends()    {}
func (created) ends()   {}
func (removed) ends()   {}
func (moded) ends()     {}
func (started) ends()   {}
func (stopped) ends()   {}
func (older) ends()     {}
func (restarted) ends() {}
func (reloaded) ends()  {}
func (done) ends()      {}

func reloadedFrom(told string, err error) reloaded { return reloaded{told, err} }

// request runs f, whose message ends the request.
func (m *Model) request(f func() tea.Msg) tea.Cmd {
	m.busy++
	return f
}

// onClock sends a message when some time has passed.
func (m *Model) onClock(d time.Duration, msg tea.Msg) tea.Cmd {
	c := m.clock.After(d)
	return func() tea.Msg {
		select {
		case <-c:
			return msg
		case <-m.ctx.Done():
			return nil
		}
	}
}

func (m *Model) bell() tea.Cmd {
	return func() tea.Msg { m.io.Bell(); return nil }
}

// copy hands a text to the terminal, which does not tell whether it took it: not every one does.
func (m *Model) copy(text string) tea.Cmd {
	m.notice = "given to the terminal to copy"
	if len(text) > kit.MaxCopy {
		m.notice = "the first 64 KiB given to copy"
	}
	return func() tea.Msg { m.io.Copy(text); return nil }
}

// errorText is an error as one line for a person.
func errorText(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.Canceled):
		return "it was called off"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	}
	if e, ok := errors.AsType[*hostview.Error](err); ok {
		if e.Message == "" {
			return forms.Line(string(e.Code))
		}
		return forms.Line(e.Message + " (" + string(e.Code) + ")")
	}
	return forms.Line(err.Error())
}
