package formview

import (
	"bytes"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"

	"askback/tui/theme"
)

// program is a Model as a whole program, for what the renderer makes of its frames.
type program struct{ m *Model }

func (p program) Init() tea.Cmd { return nil }
func (p program) View() string  { return p.m.View() }
func (p program) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	p.m.Update(msg)
	return p, nil
}

// wire counts what goes to the terminal.
type wire struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.Write(p)
}

func (w *wire) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.buf.Reset()
	return w.buf.String()
}

// Over a slow line a typed character costs under 300 bytes, and a form in which nothing happens costs none.
func TestBytesOnTheWire(t *testing.T) {
	lipgloss.SetColorProfile(termenv.ANSI256)
	defer lipgloss.SetColorProfile(termenv.Ascii)
	for _, size := range [][2]int{{80, 24}, {200, 60}} {
		synctest.Test(t, func(t *testing.T) {
			form := everyKind()
			form.Fields[0].MaxLength = ptr(500)
			m := New(Request{ID: "i", Form: form}, Options{Theme: theme.New(theme.Dark)})
			out := &wire{}
			p := tea.NewProgram(program{m}, tea.WithInput(nil), tea.WithOutput(out), tea.WithAltScreen(), tea.WithoutSignalHandler())
			done := make(chan error, 1)
			go func() {
				_, err := p.Run()
				done <- err
			}()
			p.Send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			time.Sleep(time.Second)
			if out.take() == "" {
				t.Error("nothing was drawn")
			}
			most := 0
			for i := range 2 * size[0] {
				p.Send(keyMsg(string(rune('a' + i%26))))
				time.Sleep(100 * time.Millisecond)
				n := len(out.take())
				if most = max(most, n); n == 0 {
					t.Errorf("character %d was not drawn", i)
				}
			}
			if most >= 300 {
				t.Errorf("%v: a typed character costs %d bytes", size, most)
			}
			time.Sleep(time.Hour)
			if s := out.take(); s != "" {
				t.Errorf("%v: %q was written while nothing happened", size, s)
			}
			p.Quit()
			if err := <-done; err != nil {
				t.Error(err)
			}
			t.Logf("%v: at most %d bytes a character", size, most)
		})
	}
}
