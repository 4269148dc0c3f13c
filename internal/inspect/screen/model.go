package screen

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"askback/internal/inspect"
	"askback/mcpmgr"
	"askback/tui/formview"
	"askback/tui/kit"
	"askback/tui/theme"
)

// again is how soon a second ctrl+c counts.
const again = 2 * time.Second

// The smallest screen that everything fits on.
const (
	minWidth  = formview.MinWidth
	minHeight = formview.MinHeight
)

// terminalIO is what the model does to the terminal beside drawing.
type terminalIO interface {
	Bell()
	Copy(text string)
}

// page is a screen of its own over a list. It draws itself and takes keys; m is the model that it lies on.
type page interface {
	title(m *Model) string
	key(k tea.KeyMsg, m *Model) tea.Cmd
	rows(m *Model, w, h int) []string // at most h rows of w cells
	hints(m *Model) []kit.Hint
}

// Model is the screen program: what has happened, the lists, what lies on top of each other, and the panels that
// wait. Update and View run on one goroutine and wait for nothing.
type Model struct {
	opt  Options
	ctx  context.Context // of the commands
	ins  *inspect.Inspector
	log  *inspect.Log
	th   *theme.Theme
	io   terminalIO
	now  func() time.Time
	w, h int

	unsized bool // the terminal tells no size

	tab   int
	tabs  []*tab
	stack []page

	opening uint64 // the run whose page opens when it has started

	panels []panel // what servers ask, in their order
	up     panel   // the one on screen, or nil
	over   *help   // the help over a panel, or nil
	drafts drafts
	unsent map[argsOf]argsPage // arguments that were written, and not sent
	visits uint64              // panels of authorizations

	lists    map[listKey]*listing
	status   map[string]mcpmgr.ServerStatus
	news     []newsLine
	notice   string
	armed    armed // by the first ctrl+c
	ticking  bool
	quitting bool
}

// armed is what a second ctrl+c would do, as the first said it, and to which call.
type armed struct {
	say string
	run uint64
	at  time.Time
}

// listKey names a list of a server.
type listKey struct{ server, method string }

// listing is a list that was asked for.
type listing struct {
	items   []inspect.Item
	err     string
	loading bool
	loaded  bool
}

type (
	// told are events, in their order.
	told []inspect.Event
	// listed is the answer to a list.
	listed struct {
		key   listKey
		items []json.RawMessage
		err   error
	}
	tick struct{}
	// awake comes when ignored keys may act again, so that the screen stops saying otherwise.
	awake struct{}
	// done is the end of something that a key began, with what is to be said of it.
	done struct {
		text string
		err  error
	}
)

func newModel(ctx context.Context, o Options, ins *inspect.Inspector, io terminalIO) *Model {
	m := &Model{opt: o, ctx: ctx, ins: ins, log: inspect.NewLog(), th: o.Theme, io: io, now: o.Now, w: 80, h: 24,
		lists: map[listKey]*listing{}, status: map[string]mcpmgr.ServerStatus{}, drafts: drafts{}, unsent: map[argsOf]argsPage{}}
	m.tabs = newTabs()
	for _, n := range ins.Names() {
		m.status[n] = ins.Status(n)
	}
	m.tab = tabTools
	return m
}

// Init implements tea.Model.
func (m *Model) Init() tea.Cmd { return nil }

// Update implements tea.Model.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := m.route(msg)
	return m, tea.Batch(cmd, m.clockwork())
}

func (m *Model) route(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		small := m.tooSmall()
		m.unsized = msg.Width == 0 || msg.Height == 0
		m.w, m.h = cmp.Or(msg.Width, kit.DefaultWidth), cmp.Or(msg.Height, kit.DefaultHeight)
		for _, p := range m.panels {
			p.resize(m.w, m.h)
		}
		if small && !m.tooSmall() {
			m.comeBack() // what was typed meanwhile was for nothing on this screen
		}
	case tea.ResumeMsg:
		m.comeBack() // what was typed at the shell is not for us
	case tea.KeyMsg:
		cmd := m.key(msg)
		if m.ignoring() {
			return tea.Batch(cmd, tea.Tick(kit.Pause, func(time.Time) tea.Msg { return awake{} }))
		}
		return cmd
	case told:
		var cmds []tea.Cmd
		for _, e := range msg {
			cmds = append(cmds, m.event(e))
		}
		return tea.Batch(cmds...)
	case listed:
		m.listed(msg)
	case done:
		m.notice = msg.text
		if msg.err != nil {
			m.notice = errorText(msg.err)
		}
	case completed:
		msg.of.completed(msg)
	case opened:
		for _, p := range m.panels {
			if u, ok := p.(*urlPanel); ok && u.id() == msg.panel {
				u.opened(msg.err)
			}
		}
	case visit:
		m.visit(msg)
	case authorized:
		m.authorized(msg)
	case tick:
		m.ticking = false
	}
	return nil
}

// event takes what has happened.
func (m *Model) event(e inspect.Event) tea.Cmd {
	m.log.Apply(e)
	switch e := e.(type) {
	case inspect.Changed:
		was := m.status[e.Server]
		now := m.ins.Status(e.Server)
		m.status[e.Server] = now
		if was.Generation != now.Generation {
			return m.relist(e.Server, "prompts/list", "resources/list", "resources/templates/list")
		}
	case inspect.Started:
		if e.Run.ID == m.opening {
			m.push(&convPage{c: m.log.OfRun(e.Run.ID)})
		}
	case inspect.Asked:
		return m.asked(e.Ask)
	case inspect.Withdrawn:
		m.withdrawn(e)
	case inspect.Ended:
		delete(m.drafts, e.Run)
		m.saw(e)
	case inspect.Noticed:
		return m.noticed(e)
	}
	return nil
}

// saw says how a call ended, where its own page does not.
func (m *Model) saw(e inspect.Ended) {
	c := m.log.OfRun(e.Run)
	if p, ok := m.top().(*convPage); ok && p.c == c && m.up == nil {
		return
	}
	if c != nil {
		m.notice = c.Name + ": " + m.outcome(c.Run)
	}
}

func (m *Model) noticed(e inspect.Noticed) tea.Cmd {
	m.addNews(e)
	s := e.Event.Server
	switch e.Event.Kind {
	case mcpmgr.EventPromptsChanged:
		return m.relist(s, "prompts/list")
	case mcpmgr.EventResourcesChanged:
		return m.relist(s, "resources/list", "resources/templates/list")
	}
	return nil
}

// relist asks again for lists that were asked for before.
func (m *Model) relist(server string, methods ...string) tea.Cmd {
	var cmds []tea.Cmd
	for _, method := range methods {
		if m.lists[listKey{server, method}] != nil {
			cmds = append(cmds, m.list(server, method))
		}
	}
	return tea.Batch(cmds...)
}

// list asks for a list of a server that is ready.
func (m *Model) list(server, method string) tea.Cmd {
	k := listKey{server, method}
	l := m.lists[k]
	if l == nil {
		l = &listing{}
		m.lists[k] = l
	}
	if l.loading || m.status[server].State != mcpmgr.StateReady {
		return nil
	}
	l.loading = true
	return func() tea.Msg {
		items, err := m.ins.List(m.ctx, server, method)
		return listed{k, items, err}
	}
}

func (m *Model) listed(msg listed) {
	l := m.lists[msg.key]
	l.loading, l.loaded, l.err = false, true, ""
	if msg.err != nil {
		l.err = errorText(msg.err)
		return
	}
	l.items = nil
	for _, raw := range msg.items {
		l.items = append(l.items, inspect.ReadItem(raw))
	}
}

// top is the page on top, or nil.
func (m *Model) top() page {
	if len(m.stack) == 0 {
		return nil
	}
	return m.stack[len(m.stack)-1]
}

// comeBack tells what is on the screen again that it has just appeared.
func (m *Model) comeBack() {
	if m.up != nil {
		m.up.show(m)
	} else if p, ok := m.top().(interface{ show(*Model) }); ok {
		p.show(m)
	}
}

// ignoring says whether what is on the screen has ignored a key, and would the next.
func (m *Model) ignoring() bool {
	if m.over != nil {
		return false
	}
	if m.up != nil {
		return m.up.ignoring(m)
	}
	p, ok := m.top().(interface{ ignoring(*Model) bool })
	return ok && p.ignoring(m)
}

func (m *Model) push(p page) { m.stack, m.notice = append(m.stack, p), "" }

func (m *Model) pop() {
	if len(m.stack) > 0 {
		m.stack = m.stack[:len(m.stack)-1]
	}
	m.notice = ""
	m.comeBack()
}

// call begins a call and shows its conversation.
func (m *Model) call(q inspect.Request) tea.Cmd {
	m.stack = nil
	m.notice = ""
	m.tab, m.tabs[tabCalls].follow = tabCalls, true
	m.opening = m.ins.Call(q) // its Started opens the page
	return nil
}

func (m *Model) tooSmall() bool { return m.w < minWidth || m.h < minHeight }

// clockwork asks for the next second while something on screen counts.
func (m *Model) clockwork() tea.Cmd {
	if m.ticking || m.quitting || !m.counting() {
		return nil
	}
	m.ticking = true
	return tea.Tick(time.Second, func(time.Time) tea.Msg { return tick{} })
}

func (m *Model) counting() bool {
	if m.up != nil || m.tooSmall() {
		return false
	}
	for _, c := range m.log.Conversations {
		if c.Run != nil && c.Run.Open() {
			return true
		}
	}
	return false
}

func errorText(err error) string {
	if e, ok := err.(*mcpmgr.ToolCallError); ok {
		return string(e.Code) + ": " + e.Message
	}
	return err.Error()
}
