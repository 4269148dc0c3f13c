package tui

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"askback/tui/formview"
	"askback/tui/hostview"
	"askback/tui/kit"
	"askback/tui/theme"
)

// The smallest screen that everything fits on.
const (
	minWidth  = formview.MinWidth
	minHeight = formview.MinHeight
)

// Model is the screen program: what the Host told, the drafts, and what lies on top of each other. Update
// and View run on one goroutine and wait for nothing.
type Model struct {
	opt     Options
	ctx     context.Context // of the commands
	backend hostview.Backend
	servers hostview.Servers
	clock   Clock
	after   func(time.Duration, tea.Msg) tea.Cmd // a message when some time has passed
	th      *theme.Theme
	io      terminalIO
	w, h    int
	unsized bool // the terminal tells no size

	host     hostview.Host
	links    map[hostview.Link]hostview.Connection
	sessions []hostview.Session
	listed   bool   // a catalog has arrived
	unlisted string // why none does

	open    string // the open session
	opening string // the one that was asked for
	turn    *hostview.Turn
	queued  int
	ours    *hostview.Started
	stopped map[string]bool // Turns that we have asked to stop

	log    *transcript
	comp   composer
	queue  *queue
	queues map[string]*queue // by session: a draft outlives a look at another session
	stack  []dialog          // what lies over the transcript; the last is on top
	logs   logs
	args   argsDrafts

	serverList []hostview.Server
	tools      []hostview.Tool

	notice   string
	armed    time.Time // ctrl+c was pressed once
	burst    time.Time // several characters came at once
	ticking  bool
	busy     int // requests under way
	said     int // number of lines of our own
	asked    map[string]bool
	outcome  Outcome
	quitting bool
}

// terminalIO is what the model does to the terminal beside drawing. Each call is made from a command.
type terminalIO interface {
	Bell()
	Copy(text string)
}

// NewModel returns the program's model for a Backend whose events arrive as messages. ctx ends its commands.
func newModel(ctx context.Context, o Options, io terminalIO) *Model {
	m := &Model{
		opt: o, ctx: ctx, backend: o.Backend, servers: o.Servers, clock: o.Clock, th: o.Theme, io: io,
		links: map[hostview.Link]hostview.Connection{}, ours: hostview.NewStarted(), stopped: map[string]bool{},
		log: newTranscript(), comp: newComposer(), queue: newQueue(kit.DefaultWidth, kit.DefaultHeight), queues: map[string]*queue{},
		asked: map[string]bool{}, args: argsDrafts{}, w: kit.DefaultWidth, h: kit.DefaultHeight,
	}
	if m.clock == nil {
		m.clock = systemClock{}
	}
	m.after = m.onClock
	if m.th == nil {
		m.th = theme.New(theme.Attributes)
	}
	if m.servers != nil {
		m.serverList, m.tools = m.servers.Servers(), m.servers.Tools()
	}
	m.resize(m.w, m.h)
	return m
}

// Init implements tea.Model.
func (m *Model) Init() tea.Cmd { return nil }

func (m *Model) now() time.Time { return m.clock.Now() }

// running says whether the open session has a Turn that has not ended.
func (m *Model) running() bool { return m.turn != nil && !m.turn.Terminal() }

// callOpen says whether leaving would end or leave behind something.
func (m *Model) callOpen() bool { return m.running() || m.ours.Busy() }

func (m *Model) session() (hostview.Session, bool) {
	for _, s := range m.sessions {
		if s.ID == m.open {
			return s, true
		}
	}
	return hostview.Session{}, false
}

func (m *Model) tooSmall() bool { return m.w < minWidth || m.h < minHeight }

func (m *Model) view(w, h int) view { return view{w: w, h: h, now: m.now(), th: m.th, m: m} }

// top is the dialog on top, or nil.
func (m *Model) top() dialog {
	if len(m.stack) == 0 {
		return nil
	}
	return m.stack[len(m.stack)-1]
}

func (m *Model) push(d dialog) { m.stack = append(m.stack, d) }

func (m *Model) pop() {
	if len(m.stack) > 0 {
		m.stack = m.stack[:len(m.stack)-1]
	}
	m.comeBack()
}

// comeBack tells a form that lies on top again that it has just appeared.
func (m *Model) comeBack() {
	if f, ok := m.top().(interface{ show(*Model) }); ok {
		f.show(m)
	}
}

// resize lays everything out anew.
func (m *Model) resize(w, h int) {
	small := m.tooSmall()
	m.w, m.h = w, h
	m.queue.resize(w, h)
	if m.tooSmall() {
		return
	}
	if small { // what was typed meanwhile was for nothing on this screen
		m.comeBack()
	}
	m.comp.resize(w)
	m.layout()
	for _, d := range m.stack {
		if r, ok := d.(interface{ resize(w, h int) }); ok {
			r.resize(w, h)
		}
	}
}

// layout gives the transcript what the composer leaves.
func (m *Model) layout() {
	m.log.resize(m.w, m.h-4-m.composerHeight())
}

func (m *Model) composerHeight() int { return m.comp.height(max(1, min(6, m.h/4))) }
