package tui

import (
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"askback/tui/kit"
	"askback/tui/tty"
)

// stopWindow is how long the second ctrl+c may take.
const stopWindow = 2 * time.Second

// burstPause is how soon an enter may follow several characters that came at once and still be part of what
// was pasted without marks, or of what an input method committed.
const burstPause = 30 * time.Millisecond

// key hands a key to what is on top.
func (m *Model) key(k tea.KeyMsg) tea.Cmd {
	s := kit.KeyName(k)
	if s == "ctrl+c" {
		return m.interrupt()
	}
	if m.tooSmall() {
		return nil
	}
	m.armed, m.notice = time.Time{}, ""
	switch s {
	case "ctrl+q":
		return m.quit()
	case "ctrl+l":
		return tea.ClearScreen
	case "ctrl+z":
		if tty.CanSuspend() && m.opt.Terminal == nil {
			return tea.Suspend
		}
		m.notice = "nothing here could continue a suspended program"
		return nil
	case "f1":
		if _, ok := m.top().(*help); !ok {
			m.push(&help{version: m.opt.Version})
			return nil
		}
	}
	if e := m.formUp(); e != nil {
		return m.formKey(e, k)
	}
	if a, ok := m.top().(*argslayer); ok {
		return m.argsKey(a, k)
	}
	if s == "ctrl+f" {
		m.showForms("")
		return nil
	}
	if d := m.top(); d != nil {
		return m.act(d.key(k, m.view(m.w, m.bodyHeight())))
	}
	if m.log.browse {
		return m.browseKey(s)
	}
	return m.composerKey(k, s)
}

// interrupt is ctrl+c: it clears what is being typed, else it stops the Turn or leaves when it is pressed
// twice.
func (m *Model) interrupt() tea.Cmd {
	if !m.tooSmall() {
		if e := m.formUp(); e != nil && e.settled() {
			m.leaveSettled(e)
			return nil
		}
		if a, ok := m.top().(*argslayer); ok {
			m.notice = ""
			m.leaveArgs(a)
			return nil
		}
		if d := m.top(); d != nil && m.formUp() == nil {
			return m.act(d.key(tea.KeyMsg{Type: tea.KeyCtrlC}, m.view(m.w, m.bodyHeight())))
		}
		if len(m.stack) == 0 && !m.comp.edit.empty() {
			m.comp.clear()
			m.armed = time.Time{}
			return nil
		}
	}
	now := m.now()
	again := !m.armed.IsZero() && now.Sub(m.armed) < stopWindow
	if m.running() && !m.tooSmall() {
		if m.stopping() {
			m.notice = "the Turn is being stopped"
			return nil
		}
		if again {
			m.armed, m.notice = time.Time{}, ""
			return m.stopTurn()
		}
		m.notice = "ctrl+c again to stop the Turn"
	} else {
		if again {
			return m.leave()
		}
		m.notice = "ctrl+c again to leave"
	}
	m.armed = now
	return m.after(stopWindow, disarmed{})
}

// leaveSettled is ctrl+c on a form that is over. One that has just closed under the second ctrl+c, which stops the
// Turn, would go with a third; one that holds what was typed is left and not dropped.
func (m *Model) leaveSettled(e *entry) {
	m.armed, m.notice = time.Time{}, ""
	switch {
	case e.view.Guarded():
		m.notice = "it has closed; ctrl+c again leaves it"
	case e.view.Keeps():
		m.leaveForm(e)
	default:
		m.dropForm(e.in.ID)
	}
}

// quit leaves, and asks once while a call is open.
func (m *Model) quit() tea.Cmd {
	if !m.callOpen() {
		return m.leave()
	}
	for _, d := range m.stack {
		if c, ok := d.(*confirm); ok && c.name == quitTitle {
			return nil
		}
	}
	text := []string{"A Turn is running."}
	switch {
	case m.running():
	case m.ours.Elsewhere(m.open):
		text[0] = "A Turn is running in another session."
	default:
		text[0] = "A Turn is being started."
	}
	switch {
	case m.servers != nil:
		text = append(text, "Its tools run in this program: leaving stops it. A form that waits closes without an answer.")
	default:
		text = append(text, "It goes on without this program. A form that waits goes on waiting at the Host.")
	}
	m.push(&confirm{name: quitTitle, text: text, yes: "leave", then: doQuit{}, keys: kit.Guarded(m.now())})
	return nil
}

const quitTitle = "leave askback?"

func (m *Model) leave() tea.Cmd {
	m.outcome, m.quitting = Outcome{Reason: ReasonQuit}, true
	return tea.Quit
}

func (m *Model) composerKey(k tea.KeyMsg, s string) tea.Cmd {
	v := m.view(m.w, m.bodyHeight())
	if s == "?" && m.comp.edit.empty() {
		m.push(&help{version: m.opt.Version})
		return nil
	}
	switch s {
	case "enter":
		if m.now().Sub(m.burst) < burstPause {
			m.burst = m.now()
			m.comp.edit.insert("\n")
			return nil
		}
		return m.enter()
	case "ctrl+t":
		m.push(newPalette())
	case "ctrl+g":
		m.push(newSessionList(m))
	case "ctrl+r":
		m.openServers()
	case "ctrl+o":
		m.push(&hostpanel{})
	case "ctrl+y":
		m.push(&logview{})
	case "tab":
		m.log.browse = len(m.log.items) > 0
		m.log.current = max(0, len(m.log.items)-1)
		m.log.choose(0, v.now, v.th)
	case "pgup":
		return m.scrolled(m.log.scroll(-max(1, m.log.h-1), v.now, v.th))
	case "pgdown":
		m.log.scroll(max(1, m.log.h-1), v.now, v.th)
	case "ctrl+home":
		m.log.home(v.now, v.th)
		return m.scrolled(true)
	case "ctrl+end":
		m.log.end()
	default:
		if k.Type == tea.KeyRunes && !k.Paste && tty.Composed(k.Runes) {
			m.burst = m.now()
		}
		m.comp.key(k)
		if m.comp.edit.full {
			m.notice = "a text has at most 48 KiB; the rest was left out"
		}
	}
	return nil
}

// browseKey moves among the rows of the transcript.
func (m *Model) browseKey(s string) tea.Cmd {
	v := m.view(m.w, m.bodyHeight())
	switch s {
	case "up", "k":
		return m.scrolled(m.log.choose(-1, v.now, v.th))
	case "down", "j":
		m.log.choose(1, v.now, v.th)
	case "pgup":
		return m.scrolled(m.log.scroll(-max(1, m.log.h-1), v.now, v.th))
	case "pgdown":
		m.log.scroll(max(1, m.log.h-1), v.now, v.th)
	case "home", "g":
		return m.scrolled(m.log.choose(-len(m.log.items), v.now, v.th))
	case "end", "G":
		m.log.choose(len(m.log.items), v.now, v.th)
		m.log.end()
	case "enter":
		if m.log.current < len(m.log.items) {
			m.push(&detail{it: m.log.items[m.log.current]})
		}
	case "esc", "tab", "q":
		m.log.browse = false
		m.log.end()
	}
	return nil
}

// scrolled asks for older rows when the first known one came in sight.
func (m *Model) scrolled(first bool) tea.Cmd {
	if !first || m.log.start || m.log.asked || m.open == "" {
		return nil
	}
	m.log.asked = true
	id := m.open
	return m.request(func() tea.Msg { return older{id, m.backend.Older(m.ctx, id)} })
}

// enter sends the composer's text, or does what its command says.
func (m *Model) enter() tea.Cmd {
	text := strings.TrimSpace(m.comp.edit.String())
	if text == "" {
		return nil
	}
	if rest, ok := strings.CutPrefix(text, "//"); ok {
		return m.send("/" + rest)
	}
	if strings.HasPrefix(text, "/") && !isCall(text) {
		return m.command(text)
	}
	return m.send(text)
}

// isCall says whether a text begins with a /call line.
func isCall(text string) bool {
	rest, ok := strings.CutPrefix(text, "/call")
	return ok && (rest == "" || rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\n')
}
