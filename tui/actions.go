package tui

import (
	"cmp"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/tui/hostview"
	"askback/tui/kit"
)

// act does what a part wants done.
func (m *Model) act(a action) tea.Cmd {
	switch a := a.(type) {
	case nil:
		return nil
	case doClose:
		m.pop()
	case doOpen:
		m.push(a.d)
	case doReplace:
		m.pop()
		m.push(a.d)
	case doThen:
		return tea.Batch(m.act(a.first), m.act(a.second))
	case doSession:
		return m.openSession(a.id)
	case doCreate:
		return m.createSession(a.name)
	case doRemove:
		return m.removeSession(a.id)
	case doMode:
		return m.setMode(a.id, a.mode)
	case doCall:
		m.closeDialogs()
		m.notice = ""
		return m.send(a.line)
	case doEdit:
		m.keepText(a.text)
	case doSend:
		return m.start(a.text)
	case doArgs:
		return m.askArgs(a)
	case doKeep:
		m.keepArgs(a.d)
	case doRestart:
		name := a.server
		m.notice = restarting(name)
		return m.request(func() tea.Msg { return restarted{name, m.servers.Restart(m.ctx, name)} })
	case doReload:
		if r, ok := m.servers.(hostview.Reloader); ok {
			return m.request(func() tea.Msg { return reloadedFrom(r.Reload(m.ctx)) })
		}
		m.notice = "no file names these servers"
	case doRetry:
		r, ok := m.backend.(hostview.Retrier)
		if !ok {
			return nil
		}
		m.notice = tryingAgain
		return m.request(func() tea.Msg { r.Retry(); return done{} })
	case doStop:
		return m.stopTurn()
	case doQuit:
		return m.leave()
	case doAwake:
		return m.after(kit.Pause, awake{})
	}
	return nil
}

// What is said until a connection is there again.
const (
	notReachable = "the Host is not reachable now"
	tryingAgain  = "trying again"
)

func restarting(server string) string { return "restarting " + forms.Line(server) }

// closeDialogs leaves only the forms.
func (m *Model) closeDialogs() {
	kept := m.stack[:0]
	for _, d := range m.stack {
		if _, ok := d.(formlayer); ok {
			kept = append(kept, d)
		}
	}
	m.stack = kept
}

// command does what a line with a slash says.
func (m *Model) command(text string) tea.Cmd {
	name := strings.Fields(text)[0]
	rest := strings.TrimSpace(text[len(name):])
	switch name {
	case "/quit", "/exit":
		m.comp.clear()
		return m.quit()
	case "/help":
		m.push(&help{version: m.opt.Version})
	case "/tools":
		m.push(newPalette())
	case "/sessions":
		m.push(newSessionList(m))
	case "/servers":
		m.openServers()
	case "/host":
		m.push(&hostpanel{})
	case "/log":
		m.push(&logview{})
	case "/new":
		if rest == "" {
			m.notice = "/new NAME"
			return nil
		}
		m.comp.clear()
		return m.createSession(forms.Line(rest))
	case "/stop":
		m.comp.clear()
		if !m.running() {
			m.notice = "no Turn is running"
			return nil
		}
		return m.stopTurn()
	default:
		m.notice = "unknown command " + short(forms.Line(name), 20) + "; /help lists them, // sends it as a text"
		return nil
	}
	m.comp.clear()
	return nil
}

// send sends a text as a Turn. A /call line to a Host that would hand it to an agent is asked about first.
func (m *Model) send(text string) tea.Cmd {
	switch {
	case m.open == "":
		m.notice = "no session is open; ctrl+g lists them"
		return nil
	case m.links[hostview.LinkView].State != hostview.StateReady:
		m.notice = notReachable
		return nil
	case len(text) > maxTurnText:
		m.notice = "a text has at most 48 KiB; this one has " + size(len(text))
		m.keepText(text)
		return nil
	case m.running():
		m.notice = "a Turn is running; ctrl+c twice stops it"
		m.keepText(text)
		return nil
	}
	if m.host.Foreign() && isCall(text) {
		m.push(&confirm{
			name: "send this to an agent?",
			text: []string{
				"The Host " + forms.Line(m.host.Name()) + " does not run /call lines itself. It would hand this text to its agent, which reads it as it likes and may do something else.",
				forms.Line(text),
			},
			yes: "send it", then: doSend{text}, no: doEdit{text}, keys: kit.Guarded(m.now()),
		})
		return nil
	}
	if !m.host.Foreign() {
		text = hostview.CallLines(text)
	}
	return m.start(text)
}

// keepText puts a text that could not be sent where it can be sent from.
func (m *Model) keepText(text string) {
	if m.comp.edit.empty() {
		m.comp.edit.set(text)
	}
}

func (m *Model) start(text string) tea.Cmd {
	if typed := strings.TrimSpace(m.comp.edit.String()); typed == text || typed == "" || typed == "/"+text || hostview.CallLines(typed) == text {
		m.comp.remember(cmp.Or(typed, text))
	}
	m.log.end()
	m.log.browse = false
	id := m.open
	if names := hostview.StartingFor(m.servers, text); len(names) > 0 {
		m.notice = "waiting for " + forms.Line(strings.Join(names, ", ")) + " to start"
	}
	return m.request(func() tea.Msg {
		t, err := m.ours.Start(func() (hostview.Turn, error) {
			hostview.AwaitTools(m.ctx, m.servers, text)
			return m.backend.Start(m.ctx, id, text)
		})
		return started{session: id, text: text, turn: t, err: err}
	})
}

func (m *Model) started(msg started) {
	if msg.err == nil {
		m.argsSent(msg.text)
	}
	if msg.session != m.open {
		return
	}
	if msg.err != nil {
		m.say("not sent: "+errorText(msg.err), true)
		m.keepText(msg.text)
		return
	}
	if m.turn == nil || m.turn.Terminal() && m.turn.TurnID != msg.turn.TurnID {
		t := msg.turn
		m.turn = &t
	}
}

// stopping says whether the open Turn has been asked to stop and has not ended.
func (m *Model) stopping() bool { return m.running() && m.stopped[m.turn.TurnID] }

func (m *Model) stopTurn() tea.Cmd {
	if !m.running() || m.stopping() {
		return nil
	}
	t := *m.turn
	m.stopped[t.TurnID] = true
	return m.request(func() tea.Msg {
		after, err := m.backend.Stop(m.ctx, t)
		return stopped{turn: after, err: err}
	})
}

func (m *Model) stoppedTurn(msg stopped) {
	if msg.err != nil {
		clear(m.stopped)
		m.say("the Turn could not be stopped: "+errorText(msg.err), true)
		return
	}
	m.ours.Saw(msg.turn)
	if m.turn != nil && m.turn.TurnID == msg.turn.TurnID && msg.turn.Terminal() {
		t := msg.turn
		m.turn = &t
		m.log.endTurn(t.TurnID)
		delete(m.stopped, t.TurnID)
	}
}
