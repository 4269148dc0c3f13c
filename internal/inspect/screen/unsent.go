package screen

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"askback/internal/inspect"
)

// argsPage is a page on which arguments are written. Those that were typed stay until they are sent; they live in memory
// only.
type argsPage interface {
	page
	of() argsOf
	typed() bool
	// resume shows the page again in place of a fresh one, and says whether that asks for the same.
	resume(fresh argsPage) bool
}

// argsOf is what arguments are written for, and how.
type argsOf struct {
	server, method, name string
	how                  string
	again                *inspect.Conversation // the call that is made again, or nil
}

const argsKept = "kept until this is called"

// ask opens a page for arguments: the one that was left for the same, with what was typed there, or the fresh one.
func (m *Model) ask(fresh argsPage) {
	p := m.unsent[fresh.of()]
	if p == nil || !p.typed() || !p.resume(fresh) {
		p = fresh
	}
	m.unsent[p.of()] = p
	m.push(p)
}

// leaveArgs puts arguments away that are not sent.
func (m *Model) leaveArgs(p argsPage) {
	m.pop()
	if p.typed() && m.unsent[p.of()] == p {
		m.notice = argsKept
	}
}

// send begins the call that arguments were written for.
func (m *Model) send(p argsPage, q inspect.Request) tea.Cmd {
	delete(m.unsent, p.of())
	return m.call(q)
}

func (p *formArgs) of() argsOf { return argsOf{p.q.Server, p.q.Method, p.q.Name, "form", nil} }
func (p *jsonArgs) of() argsOf { return argsOf{p.q.Server, p.q.Method, p.q.Name, "JSON", p.again} }
func (p *textArgs) of() argsOf { return argsOf{p.q.Server, p.q.Method, p.q.Name, "texts", nil} }

func (p *formArgs) typed() bool { return p.f.Touched() }

func (p *jsonArgs) typed() bool {
	text := strings.TrimSpace(p.edit.Value())
	return text != "" && text != strings.TrimSpace(p.begun)
}

func (p *textArgs) typed() bool { return len(p.given(-1)) > 0 }
