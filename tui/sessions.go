package tui

import (
	"cmp"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/tui/hostview"
	"askback/tui/kit"
)

// catalog takes the Host's list. The first one decides which session is opened.
func (m *Model) catalog(e hostview.Catalog) tea.Cmd {
	before := m.sessions
	m.sessions = slices.DeleteFunc(slices.Clone(e.Sessions), func(s hostview.Session) bool { return s.Archived })
	m.unlisted = ""
	m.ours.SawSessions(e.Sessions, m.open)
	if m.listed || m.open != "" || m.opening != "" {
		return tea.Batch(m.askBypass(), m.callTo(before))
	}
	m.listed = true
	if m.opt.Session != "" {
		return m.openNamed(m.opt.Session)
	}
	if len(m.sessions) > 0 {
		last := slices.MaxFunc(m.sessions, func(a, b hostview.Session) int { return a.LastUsed.Compare(b.LastUsed) })
		return m.openSession(last.ID)
	}
	if m.opt.NewSession != "" {
		return m.createSession(m.opt.NewSession)
	}
	return nil
}

// callTo rings for a session that is not open and has begun to wait for the person. One whose forms are known has rung.
func (m *Model) callTo(before []hostview.Session) tea.Cmd {
	waited := func(id string) bool {
		q := m.queues[id]
		return q != nil && q.waiting() > 0 || slices.ContainsFunc(before, func(s hostview.Session) bool {
			return s.ID == id && s.Status == hostview.StatusWaitingForUser
		})
	}
	if slices.ContainsFunc(m.sessions, func(s hostview.Session) bool {
		return s.ID != m.open && s.Status == hostview.StatusWaitingForUser && !waited(s.ID)
	}) {
		return m.bell()
	}
	return nil
}

func (m *Model) openNamed(want string) tea.Cmd {
	s, n := hostview.FindSession(m.sessions, want)
	switch n {
	case 1:
		return m.openSession(s.ID)
	case 0:
		m.say("no session is called \""+forms.Line(want)+"\"", true)
	default:
		m.say(kit.Count(n, "session is", "sessions are")+" called \""+forms.Line(want)+"\"; choose one, or give its id", true)
	}
	m.push(newSessionList(m))
	return nil
}

// openSession makes a session the open one. What was typed in the forms of the one before is kept.
func (m *Model) openSession(id string) tea.Cmd {
	if id == "" || id == m.open && m.opening == "" {
		return nil
	}
	m.switchTo(id)
	m.opening = id
	return m.request(func() tea.Msg { return opened{id, m.backend.Open(m.ctx, id)} })
}

// switchTo clears what belongs to the session before.
func (m *Model) switchTo(id string) {
	var left []*entry // forms of a session that is gone, with what was typed in them
	if m.open != "" {
		m.queues[m.open] = m.queue
	} else {
		left = m.queue.entries
	}
	m.hideForms()
	m.open, m.turn, m.queued, m.armed = id, nil, 0, armedNever
	m.log = newTranscript()
	if m.queue = m.queues[id]; m.queue == nil {
		m.queue = newQueue(m.w, m.h)
		m.queue.link = formConnection(m.links[hostview.LinkView].State)
	}
	delete(m.queues, id)
	m.queue.entries = append(m.queue.entries, left...)
	m.queue.resize(m.w, m.h)
	m.layout()
	if len(m.queue.entries) > 0 {
		m.showForms("")
	}
}

// leaveSession is for a session that the Host does not have any more. What was typed in its forms can still be copied.
func (m *Model) leaveSession(why string) {
	m.hideForms()
	delete(m.queues, m.open)
	m.queue.close(why)
	m.open, m.opening, m.turn = "", "", nil
	m.log = newTranscript()
	m.layout()
	if _, ok := m.top().(*sessionlist); !ok { // it may have been removed there
		m.push(newSessionList(m))
	}
	m.showForms("")
	m.say(why, true)
}

// unopened is for a session that could not be opened now. Its forms may wait, with what was typed in them.
func (m *Model) unopened(why string) {
	id, q := m.open, m.queue
	m.queue = newQueue(m.w, m.h)
	m.leaveSession(why)
	if len(q.entries) > 0 {
		m.queues[id] = q
	}
}

func (m *Model) sessionMsg(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case opened:
		if msg.id != m.opening {
			return nil
		}
		m.opening = ""
		if msg.err != nil {
			m.unopened("the session could not be opened: " + errorText(msg.err))
			return nil
		}
		return m.askBypass()
	case created:
		if msg.err != nil {
			m.say("no session was created: "+errorText(msg.err), true)
			return nil
		}
		if i := slices.IndexFunc(m.sessions, func(s hostview.Session) bool { return s.ID == msg.s.ID }); i < 0 {
			m.sessions = append([]hostview.Session{msg.s}, m.sessions...)
		}
		return m.openSession(msg.s.ID)
	case removed:
		if msg.err != nil {
			m.say("the session was not removed: "+errorText(msg.err), true)
			return nil
		}
		m.sessions = slices.DeleteFunc(m.sessions, func(s hostview.Session) bool { return s.ID == msg.s.ID })
		delete(m.queues, msg.s.ID)
		if msg.s.ID == m.open {
			m.leaveSession("the session was removed")
		}
	case moded:
		if msg.err != nil {
			m.say("the mode was not changed: "+errorText(msg.err), true)
			return nil
		}
		for i := range m.sessions {
			if m.sessions[i].ID == msg.s.ID {
				m.sessions[i] = msg.s
			}
		}
		m.say("this session runs in mode "+forms.Line(msg.s.Mode)+" now", false)
	}
	return nil
}

func (m *Model) createSession(name string) tea.Cmd {
	mode := ""
	if m.opt.PermissionMode == hostview.ModeBypass {
		mode = hostview.ModeBypass
	}
	return m.request(func() tea.Msg {
		s, err := m.backend.Create(m.ctx, hostview.NewSession{Name: name, Mode: mode})
		return created{s, err}
	})
}

func (m *Model) removeSession(id string) tea.Cmd {
	s, n := hostview.FindSession(m.sessions, id)
	if n != 1 {
		return nil
	}
	return m.request(func() tea.Msg { return removed{s, m.backend.Remove(m.ctx, s)} })
}

func (m *Model) setMode(id, mode string) tea.Cmd {
	s, n := hostview.FindSession(m.sessions, id)
	if n != 1 {
		return nil
	}
	return m.request(func() tea.Msg {
		after, err := m.backend.SetMode(m.ctx, s, mode)
		return moded{after, err}
	})
}

// needsBypass begins the text with which a Host refuses the tools of a program that is no provider of its own. What
// our servers say begins with a code and cannot bring the question up.
const needsBypass = "Client Capability tools require the Bypass execution boundary"

// askBypass asks, once for a session, whether the tools of this program may run in it: another program's Host
// runs them only where everything is allowed.
func (m *Model) askBypass() tea.Cmd {
	s, ok := m.session()
	if !ok || m.servers == nil || m.opening != "" || s.Mode == hostview.ModeBypass || m.asked[s.ID] {
		return nil
	}
	if m.opt.PermissionMode == hostview.ModeBypass {
		m.asked[s.ID] = true
		return m.setMode(s.ID, hostview.ModeBypass)
	}
	if m.host.Revision != "" && m.host.Foreign() && !m.opt.TrustedTools {
		m.bypassDialog(s)
	}
	return nil
}

// bypassRefused asks the same when a Host has just refused a call for that reason.
func (m *Model) bypassRefused(r hostview.Row) {
	s, ok := m.session()
	if ok && r.Kind == hostview.RowToolResult && r.IsError && strings.HasPrefix(r.Text, needsBypass) &&
		m.servers != nil && s.Mode != hostview.ModeBypass && !m.asked[s.ID] {
		m.bypassDialog(s)
	}
}

func (m *Model) bypassDialog(s hostview.Session) {
	m.asked[s.ID] = true
	host, name, mode := forms.Line(m.host.Name()), forms.Line(s.Name), forms.Line(cmp.Or(s.Mode, "ask"))
	allows := "In mode bypass the agent of " + host + " asks for nothing any more: it may read and write files, run commands and use the network there without your permission."
	if !m.host.Foreign() {
		allows = "In mode bypass the tools of every connected program run in this session, and " + host + " does not ask or hold anything back."
	}
	m.push(&confirm{
		name: "allow everything in this session?",
		text: []string{
			allows,
			"The tools of this program run on that Host only in bypass. The session \"" + name + "\" is in mode " + mode + ", where they are refused; everything else works.",
		},
		yes: "set bypass", then: doMode{s.ID, hostview.ModeBypass}, keys: kit.Guarded(m.now()),
	})
}
