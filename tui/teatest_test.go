package tui_test

import (
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/exp/teatest"

	"askback/host/access"
	"askback/hostclient"
	"askback/internal/screen"
	"askback/tui"
	"askback/tui/theme"
)

// TestTeatestDeploy is the main job as a whole program: real Host, real connections, real bubbletea. Its screens
// are the same in every run; the raw stream is not, since frames are drawn by a ticker.
func TestTeatestDeploy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.program(80, 24)
	p.see("session work", "Nothing was said").typing(`/call demo/deploy {"artifact":"build-42"}`).keys(tea.KeyEnter)
	p.see("Choose the target of build-42", "field 1 of 2").pause().snapshot("a form is asked")
	p.keys(tea.KeyDown, tea.KeyEnter).see("field 2 of 2").snapshot("the first field is answered")
	p.keys(tea.KeyDown, tea.KeyEnter).see("nothing is sent yet").pause().snapshot("its review")
	p.typing("s").see("demo · done", "Deployed build-42 to staging.", "enter send").snapshot("the same call has finished")
	if w.called() != 1 || len(w.given()) != 1 {
		t.Errorf("%d calls, answers %v", w.called(), w.given())
	}
	p.keys(tea.KeyCtrlQ)
	p.tm.WaitFinished(t, teatest.WithFinalTimeout(20*time.Second))
	teatest.RequireEqualOutput(t, []byte(p.frames.String()))
}

// program is a surface in a program that teatest runs.
type program struct {
	t      *testing.T
	tm     *teatest.TestModel
	screen *screen.Screen
	stream io.Reader // the program's output, shown on the screen as it is read
	frames strings.Builder
}

func (w *world) program(width, height int) *program {
	p := &program{t: w.t, screen: screen.New(width, height)}
	view := hostclient.NewView(w.dialing(&line{l: w.net}, access.RoleClient, "inst"))
	model, start := tui.ProgramModel(w.t.Context(), tui.Options{
		Backend:    tui.NewHostBackend(tui.HostOptions{View: view, Address: "ws://host", Provider: w.provider}),
		Servers:    rigServers{make(chan struct{})},
		NewSession: "work",
		Version:    "test",
		Theme:      theme.New(theme.Attributes),
		Clock:      quick{time.Now()},
		Terminal:   &tui.Terminal{Input: strings.NewReader(""), Output: io.Discard, Width: width, Height: height},
	})
	p.tm = teatest.NewTestModel(w.t, model, teatest.WithInitialTermSize(width, height))
	p.stream = io.TeeReader(p.tm.Output(), p.screen)
	stop := start(p.tm.GetProgram())
	w.t.Cleanup(func() {
		_ = p.tm.Quit()
		p.tm.WaitFinished(w.t, teatest.WithFinalTimeout(20*time.Second))
		stop()
		view.Close()
		p.screen.Close()
	})
	return p
}

func (p *program) see(texts ...string) *program {
	p.t.Helper()
	for _, want := range texts {
		seen := func([]byte) bool { return strings.Contains(p.screen.Text(), want) }
		teatest.WaitFor(p.t, p.stream, seen, teatest.WithDuration(20*time.Second), teatest.WithCheckInterval(10*time.Millisecond))
	}
	return p
}

func (p *program) keys(keys ...tea.KeyType) *program {
	for _, k := range keys {
		p.tm.Send(tea.KeyMsg{Type: k})
	}
	return p
}

func (p *program) typing(text string) *program {
	for _, r := range text {
		p.tm.Send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}})
	}
	return p
}

// pause is longer than what opens by itself ignores keys.
func (p *program) pause() *program {
	time.Sleep(500 * time.Millisecond / speed)
	return p
}

var clockTimes = regexp.MustCompile(`\d\d:\d\d:\d\d|\b\d+:\d\d$`)

// snapshot keeps the screen, with what the clock says taken out.
func (p *program) snapshot(name string) *program {
	p.frames.WriteString("=== " + name + "\n")
	for l := range strings.Lines(p.screen.Text()) {
		l = clockTimes.ReplaceAllStringFunc(strings.TrimSuffix(l, "\n"), func(s string) string {
			return strings.Map(func(r rune) rune {
				if r == ':' {
					return r
				}
				return '0'
			}, s)
		})
		p.frames.WriteString(l + "\n")
	}
	return p
}
