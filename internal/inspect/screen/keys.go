package screen

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"askback/tui/kit"
	"askback/tui/tty"
)

// binding is one key of the program, for the help.
type binding struct{ where, key, does string }

var bindings = []binding{
	{"everywhere", "f1", "this help; also ? outside of panels, where no text is typed"},
	{"everywhere", "ctrl+f", "leave a panel without deciding, and to the next that waits"},
	{"everywhere", "ctrl+q", "leave; asks once while a call is open"},
	{"everywhere", "ctrl+l", "draw the screen again"},
	{"everywhere", "ctrl+z", "suspend, where a shell can continue us"},
	{"lists", "1-7, tab", "the lists"},
	{"lists", "up, down, pgup, pgdown", "move"},
	{"lists", "/", "filter; esc clears"},
	{"lists", "q, ctrl+c twice", "leave"},
	{"servers", "enter", "era, version, capabilities, instructions, stderr"},
	{"servers", "r, l, a", "connect anew, log level, authorize"},
	{"tools, prompts", "enter, e, d", "call with a form, with JSON, describe"},
	{"resources", "enter, d, w", "read, describe, watch for updates"},
	{"prompts, resources", "r", "list again; tools are with their connection: servers, r"},
	{"calls", "enter", "the conversation: legs, what was asked and answered"},
	{"calls", "f", "the panel that the call waits for"},
	{"calls", "e", "call again with edited arguments"},
	{"calls", "x", "abort; asks once"},
	{"calls", "ctrl+c twice", "abort, in the conversation of a call that runs"},
	{"messages", "enter", "the message in full"},
	{"messages", "d", "what a retry changes against the original"},
	{"messages", "c", "copy, in a message"},
	{"messages", "/, n", "search, in a message"},
	{"calls, messages", "E", "export what the filter lets through as JSON lines; in a call, its own"},
	{"news", "enter, l", "in full, log level"},
	{"filter", "server: method: id: call: leg: text:", "look in one place"},
	{"filter", "sent received error round", "directions, errors, rounds; - before a word turns it round"},
	{"arguments", "ctrl+s", "review or call"},
	{"arguments", "ctrl+t", "complete the argument"},
	{"form", "ctrl+s", "review; s there submits"},
	{"form", "ctrl+x, esc", "decline, dismiss; each asks once"},
	{"address", "y, ctrl+y", "agree to open it"},
	{"address", "r, ctrl+r", "after that: done there, retry the call"},
	{"address", "c, p", "copy it; show it alone, to be selected"},
	{"sampling", "a, j", "answer as text, as JSON"},
	{"sampling", "ctrl+s, s", "review what would be sent, send it"},
	{"sampling", "ctrl+x", "reject, which fails the call of a modern server; asks once"},
	{"panels", "ctrl+c twice", "abort the call"},
	{"questions", "y, ctrl+y", "yes; n or esc goes back"},
}

func (m *Model) key(k tea.KeyMsg) tea.Cmd {
	s := kit.KeyName(k)
	if m.tooSmall() {
		if s == "ctrl+c" {
			return m.twice(leaveAgain, 0, m.quit)
		}
		return nil
	}
	switch s {
	case "ctrl+l":
		return tea.ClearScreen
	case "ctrl+q":
		return m.leave()
	case "ctrl+z":
		if m.opt.Terminal == nil && tty.CanSuspend() {
			return tea.Suspend
		}
		m.notice = "no shell is here that could continue this program"
		return nil
	}
	if m.over != nil {
		m.overKey(k)
		return nil
	}
	if m.up != nil {
		return m.panelKey(k)
	}
	m.notice = ""
	if one, rest, ok := strokes(k); ok && !m.typing() {
		return tea.Batch(m.key(one), m.key(rest))
	}
	if s == "ctrl+f" {
		m.nextPanel()
		return nil
	}
	if p := m.top(); p != nil {
		if s == "f1" || s == "?" && !typing(p) {
			if _, ok := p.(*help); !ok {
				m.push(&help{})
				return nil
			}
		}
		if len(s) == 1 && s >= "1" && s <= "7" && !typing(p) {
			m.stack = nil
			return m.show(int(s[0] - '1'))
		}
		return p.key(k, m)
	}
	t := m.tabs[m.tab]
	if t.filtering {
		t.filterKey(k, m)
		return nil
	}
	switch s {
	case "f1", "?":
		m.push(&help{})
	case "q":
		return m.leave()
	case "ctrl+c":
		return m.twice(leaveAgain, 0, m.leave)
	case "tab", "right":
		return m.show((m.tab + 1) % len(m.tabs))
	case "shift+tab", "left":
		return m.show((m.tab + len(m.tabs) - 1) % len(m.tabs))
	case "1", "2", "3", "4", "5", "6", "7":
		return m.show(int(s[0] - '1'))
	default:
		return t.key(k, m)
	}
	return nil
}

// overKey scrolls the help over a panel, or takes it away: the panel then ignores keys for a moment, as when it opened.
func (m *Model) overKey(k tea.KeyMsg) {
	if m.over.Scroller.Key(k, max(1, m.h-5)) {
		return
	}
	m.over = nil
	if m.up != nil {
		m.up.show(m)
	}
}

// typing says whether a page takes digits as text, or must be answered before anything else.
func typing(p page) bool {
	switch p := p.(type) {
	case *formArgs, *jsonArgs, *textArgs, *confirm:
		return true
	case *messagePage:
		return p.searching
	}
	return false
}

// typing says whether letters are text on what is shown.
func (m *Model) typing() bool {
	if p := m.top(); p != nil {
		return typing(p)
	}
	return m.tabs[m.tab].filtering
}

// strokes takes the first key off a text that a slow line has handed over in one piece where letters are commands: of one
// letter that is held, or of a search. No other text is taken for what it spells.
func strokes(k tea.KeyMsg) (one, rest tea.KeyMsg, ok bool) {
	r := k.Runes
	if k.Type != tea.KeyRunes || k.Paste || k.Alt || len(r) < 2 {
		return k, k, false
	}
	one, rest = k, k
	one.Runes, rest.Runes = r[:1], r[1:]
	same := !slices.ContainsFunc(r, func(c rune) bool { return c != r[0] })
	return one, rest, r[0] == '/' || same
}

// show goes to a list, and asks for it where nobody has yet.
func (m *Model) show(tab int) tea.Cmd {
	m.tab = tab
	var cmds []tea.Cmd
	for _, method := range m.tabs[tab].methods {
		for _, s := range m.ins.Names() {
			if l := m.lists[listKey{s, method}]; l == nil || !l.loaded {
				cmds = append(cmds, m.list(s, method))
			}
		}
	}
	return tea.Batch(cmds...)
}

// What the first ctrl+c says.
const (
	leaveAgain = "again to leave"
	abortAgain = "again to abort the call"
)

// twice does something at the second ctrl+c for the same thing: run is the call that it is about, or 0.
func (m *Model) twice(say string, run uint64, do func() tea.Cmd) tea.Cmd {
	now := m.now()
	if a := m.armed; a.say != say || a.run != run || now.Sub(a.at) > again {
		m.armed, m.notice = armed{say, run, now}, say
		return nil
	}
	m.armed = armed{}
	return do()
}

// leave leaves, and asks once while a call is open.
func (m *Model) leave() tea.Cmd {
	if _, ok := m.top().(*confirm); ok && m.up == nil {
		return nil
	}
	open := 0
	for _, c := range m.log.Conversations {
		if c.Run != nil && c.Run.Open() {
			open++
		}
	}
	if open == 0 {
		return m.quit()
	}
	m.up, m.over = nil, nil
	m.push(&confirm{name: "leave", text: "Leaving aborts " + kit.Count(open, "call that is open", "calls that are open") +
		". No answer is sent.", yes: "leave", then: (*Model).quit, keys: kit.Guarded(m.now())})
	return nil
}

func (m *Model) quit() tea.Cmd {
	m.quitting = true
	return tea.Quit
}

// copy puts a text on the clipboard, on the person's request.
func (m *Model) copy(text, what string) tea.Cmd {
	return func() tea.Msg {
		m.io.Copy(text)
		if len(text) > kit.MaxCopy {
			return done{text: "given to the terminal to copy: the first 64 KiB of " + what}
		}
		return done{text: "given to the terminal to copy: " + what}
	}
}
