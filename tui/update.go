package tui

import (
	"cmp"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/tui/formview"
	"askback/tui/hostview"
	"askback/tui/kit"
)

// Update implements tea.Model: it hands a message to the part it belongs to.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if _, ok := msg.(answer); ok {
		m.busy--
	}
	cmd := m.route(msg)
	if !m.tooSmall() {
		m.layout()
	}
	return m, tea.Batch(cmd, m.clockwork())
}

func (m *Model) route(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.unsized = msg.Width == 0 || msg.Height == 0
		m.resize(cmp.Or(msg.Width, kit.DefaultWidth), cmp.Or(msg.Height, kit.DefaultHeight))
	case tea.KeyMsg:
		return m.key(msg)
	case tea.ResumeMsg:
		m.comeBack() // what was typed at the shell is not for us
	case toldAll:
		var cmds []tea.Cmd
		for _, e := range msg {
			cmds = append(cmds, m.told(e))
		}
		return tea.Batch(cmds...)
	case served:
		m.serverList, m.tools = msg.servers, msg.tools
	case tick:
		m.ticking = false
		if m.watchesServers() {
			m.refreshServers()
		}
	case disarmed:
		if !m.armed.IsZero() && m.now().Sub(m.armed) >= stopWindow {
			m.armed, m.notice = time.Time{}, ""
		}
	case ended:
		m.outcome = msg.outcome
		m.quitting = true
		return tea.Quit
	case answered:
		m.answered(msg)
	case started:
		m.started(msg)
	case stopped:
		m.stoppedTurn(msg)
	case opened, created, removed, moded:
		return m.sessionMsg(msg)
	case older:
		if msg.err != nil {
			m.log.asked = false
		}
	case reloaded:
		switch {
		case msg.err != nil:
			m.say("the configuration was not read again: "+errorText(msg.err), true)
		case msg.told != "":
			m.say("the configuration was read again; "+msg.told, true)
		default:
			m.notice = "the configuration was read again"
		}
	case restarted:
		if msg.err != nil {
			m.say("the server could not be restarted: "+errorText(msg.err), true)
		} else if m.notice == restarting(msg.name) {
			m.notice = "" // from here on the server's row tells
		}
	}
	return nil
}

// told takes an event of the Host.
func (m *Model) told(e hostview.Event) tea.Cmd {
	switch e := e.(type) {
	case hostview.Connection:
		m.connection(e)
	case hostview.Catalog:
		return m.catalog(e)
	case hostview.Unlisted:
		m.unlisted = e.Why
	case hostview.Logged:
		m.logs.add(e.Entry)
	case hostview.Projection:
		if e.SessionID == m.open {
			return m.projection(e)
		}
	case hostview.Settled:
		m.settle(m.queueOf(e.SessionID), e.InteractionID, e.Outcome)
	case hostview.Rows:
		if e.SessionID == m.open {
			m.rows(e)
			return m.scrolled(m.log.unseen())
		}
	case hostview.Text:
		if e.SessionID == m.open {
			m.log.write(e, m.now())
		}
	case hostview.ToolEvent:
		if e.SessionID == m.open {
			m.log.tool(e)
			m.log.waiting(m.queue.calls(), m.now())
			if e.Phase == hostview.PhaseEnd {
				m.queue.forget(e.ToolUseID)
			}
		}
	case hostview.Removed:
		if e.SessionID == m.open {
			why := "this session was removed"
			if e.Why != "" {
				why = "this session cannot be shown: " + forms.Line(e.Why)
			}
			m.leaveSession(why)
		}
	}
	return nil
}

func (m *Model) connection(e hostview.Connection) {
	m.links[e.Link] = e
	if e.Host.RootID != "" || m.host.RootID == "" {
		m.host = e.Host // a lost Host stays what it was
	}
	if e.State == hostview.StateReady && (m.notice == tryingAgain || e.Link == hostview.LinkView && m.notice == notReachable) {
		m.notice = "" // it is, by now
	}
	if e.Link != hostview.LinkView {
		return
	}
	c := formConnection(e.State)
	m.queue.connection(c)
	for _, q := range m.queues {
		q.connection(c)
	}
}

// formConnection is the state of the view's connection as a form tells it.
func formConnection(s hostview.State) formview.Connection {
	switch s {
	case hostview.StateReady:
		return formview.Connected
	case hostview.StateRefused, hostview.StateClosed:
		return formview.NotConnected
	}
	return formview.Reconnecting
}

func (m *Model) projection(e hostview.Projection) tea.Cmd {
	m.turn, m.queued = e.Turn, e.Queued
	if e.Turn != nil {
		m.ours.Saw(*e.Turn)
		if e.Turn.Terminal() {
			m.log.endTurn(e.Turn.TurnID)
			if e.Turn.Status == "failed" {
				m.log.failed(e.Turn.TurnID, e.Turn.Message)
			}
			delete(m.stopped, e.Turn.TurnID)
			clear(m.queue.answers)
			m.armed = time.Time{}
		}
	}
	return m.pending(e.Pending)
}

func (m *Model) rows(e hostview.Rows) {
	m.log.add(e)
	for _, r := range e.Rows {
		if r.Kind == hostview.RowToolResult {
			m.queue.forget(r.ToolUseID)
		}
		if !e.Reset && !e.Older {
			m.bypassRefused(r)
		}
	}
	m.log.waiting(m.queue.calls(), m.now())
	m.causes()
}

// say adds a line of our own to the transcript.
func (m *Model) say(text string, problem bool) {
	m.said++
	m.log.say(itoa(m.said), text, problem, m.now())
	if problem && m.top() != nil {
		m.notice = text // the transcript is covered
	}
}

// clockwork asks for the next second while something on screen counts, and for nothing else.
func (m *Model) clockwork() tea.Cmd {
	if m.ticking || m.quitting || !m.counting() {
		return nil
	}
	m.ticking = true
	now := m.now()
	return m.after(now.Truncate(time.Second).Add(time.Second).Sub(now), tick{})
}

// counting says whether something on screen changes with the time alone.
func (m *Model) counting() bool {
	if m.tooSmall() {
		return false
	}
	for _, c := range m.links {
		if c.State == hostview.StateReconnecting && c.Retry.After(m.now()) && m.formUp() == nil {
			return true
		}
	}
	return m.watchesServers() || len(m.stack) == 0 && m.log.ticking()
}
