package tui

import (
	"log/slog"
	"runtime/debug"

	tea "github.com/charmbracelet/bubbletea"
)

// shell is what the screen program runs: the model, with a net below it. A panic in Update, in View or in a
// command ends the program in order, with the terminal restored and the stack in the log.
type shell struct {
	m        *Model
	logger   *slog.Logger
	watch    func(Watched)
	fail     func(error) // ends the program, also from View
	panicked error
	last     string
}

// crashed is a panic in a command.
type crashed struct{ err error }

// Init implements tea.Model.
func (s *shell) Init() tea.Cmd { return s.m.Init() }

// Update implements tea.Model.
func (s *shell) Update(msg tea.Msg) (_ tea.Model, cmd tea.Cmd) {
	defer func() {
		if v := recover(); v != nil {
			cmd = s.crash(v)
		}
	}()
	if c, ok := msg.(crashed); ok {
		s.panicked = c.err
		return s, tea.Quit
	}
	_, cmd = s.m.Update(msg)
	if s.watch != nil {
		s.watch(s.m.watched())
	}
	return s, s.safely(cmd)
}

// View implements tea.Model.
func (s *shell) View() (frame string) {
	defer func() {
		if v := recover(); v != nil {
			s.crash(v) // the frame before is kept until the program has ended
			frame = s.last
		}
	}()
	if s.panicked != nil {
		return s.last
	}
	s.last = s.m.View()
	return s.last
}

func (s *shell) crash(v any) tea.Cmd {
	s.logger.Error("panic", "value", v, "stack", string(debug.Stack()))
	if s.panicked == nil {
		s.panicked = &panicError{v}
		if s.fail != nil {
			s.fail(s.panicked)
		}
	}
	return tea.Quit
}

// safely catches the panics of a command and of those that it makes.
func (s *shell) safely(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() (msg tea.Msg) {
		defer func() {
			if v := recover(); v != nil {
				s.logger.Error("panic", "value", v, "stack", string(debug.Stack()))
				msg = crashed{&panicError{v}}
			}
		}()
		msg = cmd()
		if batch, ok := msg.(tea.BatchMsg); ok {
			for i := range batch {
				batch[i] = s.safely(batch[i])
			}
		}
		return msg
	}
}

// watched is what is told of the model.
func (m *Model) watched() Watched {
	waiting := m.queue.waiting()
	return Watched{
		Frame: m.View(),
		Busy:  m.busy > 0 || m.running() && waiting == 0 || m.sending(),
		Form:  m.formUp() != nil,
		Forms: waiting,
	}
}

// sending says whether an answer of ours is under way.
func (m *Model) sending() bool {
	for _, e := range m.queue.entries {
		if e.view.Sending() {
			return true
		}
	}
	return false
}
