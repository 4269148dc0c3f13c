package screen

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"go.uber.org/goleak"

	"askback/forms"
	"askback/internal/demo"
	"askback/internal/inspect"
	"askback/internal/inspect/peer"
	emulator "askback/internal/screen"
	"askback/mcpmgr"
	"askback/mcpmgr/config"
	"askback/tui/kit"
	"askback/tui/theme"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC // frames show times of day
	goleak.VerifyTestMain(m)
}

// demoServer is the demo server in this process.
func demoServer() *peer.Server {
	return peer.New(func(record io.Writer) func(context.Context, io.ReadCloser, io.WriteCloser) {
		d := demo.New(demo.Options{Version: "1", Record: record})
		return func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) { _ = d.ServeStdio(ctx, in, out) } // ends with the connection
	})
}

// rig is the screen over an inspector, inside of a synctest bubble: nothing moves but by what the test does.
type rig struct {
	t     *testing.T
	srv   *peer.Server
	ins   *inspect.Inspector
	m     *Model
	pump  *pump
	mu    sync.Mutex
	msgs  []tea.Msg
	quit  bool
	bells int
	clip  string
}

func (r *rig) Bell()            { r.mu.Lock(); r.bells++; r.mu.Unlock() }
func (r *rig) Copy(text string) { r.mu.Lock(); r.clip = text; r.mu.Unlock() }

type setup struct {
	w, h    int
	options func(*inspect.Options)
	screen  func(*Options)
}

func bubble(t *testing.T, build func() *peer.Server, s setup, f func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		srv := build()
		time.Sleep(time.Second) // the SDK's server tells of its new tools a moment after it has them
		r := &rig{t: t, srv: srv, pump: &pump{some: make(chan struct{}, 1)}}
		o := inspect.Options{Servers: []config.Server{srv.Config}, Name: "test", Version: "1", Transports: srv.Transports(), Tell: r.pump.put}
		if s.options != nil {
			s.options(&o)
		}
		so := Options{Theme: theme.New(theme.Attributes), Folder: t.TempDir()}
		if s.screen != nil {
			s.screen(&so)
		}
		r.ins = inspect.Open(o)
		defer time.Sleep(2 * time.Second) // for ticks that are under way
		defer srv.Wait()
		defer r.ins.Close()
		r.m = newModel(t.Context(), so.withDefaults(), r.ins, r)
		time.Sleep(time.Second) // the tools are listed once more after the subscription
		r.settle()
		r.send(tea.WindowSizeMsg{Width: s.w, Height: s.h})
		f(r)
	})
}

// send gives the model a message and carries out what it wants.
func (r *rig) send(msg tea.Msg) {
	r.t.Helper()
	_, cmd := r.m.Update(msg)
	r.do(cmd)
	r.settle()
}

func (r *rig) do(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		switch msg := cmd().(type) {
		case nil:
		case tea.QuitMsg:
			r.mu.Lock()
			r.quit = true
			r.mu.Unlock()
		case tea.BatchMsg:
			for _, c := range msg {
				r.do(c)
			}
		default:
			r.mu.Lock()
			r.msgs = append(r.msgs, msg)
			r.mu.Unlock()
		}
	}()
}

// settle goes on until nothing moves.
func (r *rig) settle() {
	r.t.Helper()
	for range 1000 {
		synctest.Wait()
		if evs := r.pump.take(); len(evs) > 0 {
			_, cmd := r.m.Update(told(evs))
			r.do(cmd)
			continue
		}
		r.mu.Lock()
		msgs := r.msgs
		r.msgs = nil
		r.mu.Unlock()
		if len(msgs) == 0 {
			return
		}
		for _, msg := range msgs {
			_, cmd := r.m.Update(msg)
			r.do(cmd)
		}
	}
	r.t.Fatal("the screen does not come to rest")
}

var keys = map[string]tea.KeyType{"enter": tea.KeyEnter, "esc": tea.KeyEsc, "tab": tea.KeyTab, "shift+tab": tea.KeyShiftTab, "up": tea.KeyUp,
	"down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight, "pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp, "home": tea.KeyHome, "end": tea.KeyEnd,
	"backspace": tea.KeyBackspace, "space": tea.KeySpace, "f1": tea.KeyF1}

// press presses keys, each after the pause in which a panel ignores them. Anything that is no key's name is typed.
func (r *rig) press(names ...string) {
	r.t.Helper()
	for _, n := range names {
		time.Sleep(500 * time.Millisecond)
		r.now(n)
	}
}

// now presses a key at once.
func (r *rig) now(n string) {
	r.t.Helper()
	k := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(n)}
	if t, ok := keys[n]; ok {
		k = tea.KeyMsg{Type: t}
		if n == "space" {
			k.Runes = []rune(" ")
		}
	} else if rest, ok := strings.CutPrefix(n, "ctrl+"); ok {
		k = tea.KeyMsg{Type: tea.KeyCtrlA + tea.KeyType(rest[0]-'a')}
	}
	r.send(k)
}

// frame is what is on screen, without attributes. It is checked for what every frame keeps.
func (r *rig) frame() string {
	r.t.Helper()
	rows := strings.Split(ansi.Strip(r.m.View()), "\n")
	if len(rows) != r.m.h && !r.m.tooSmall() {
		r.t.Errorf("%d rows on a screen of %d:\n%s", len(rows), r.m.h, strings.Join(rows, "\n"))
	}
	for i, row := range rows {
		if n := max(ansi.StringWidth(row), emulator.Counted(row)); n > r.m.w {
			r.t.Errorf("row %d is %d cells wide on a screen of %d: %s", i, n, r.m.w, row)
		}
		if strings.Contains(row, kit.More) || strings.Contains(row, forms.Line(kit.More)) {
			r.t.Errorf("the mark of a cut was not drawn, or was projected: %q", row)
		}
		rows[i] = strings.TrimRight(row, " ")
	}
	return strings.Join(rows, "\n") + "\n"
}

func (r *rig) wants(texts ...string) {
	r.t.Helper()
	f := r.frame()
	for _, s := range texts {
		if !strings.Contains(f, s) {
			r.t.Fatalf("%q is not on the screen:\n%s", s, f)
		}
	}
}

func (r *rig) wantsNot(texts ...string) {
	r.t.Helper()
	f := r.frame()
	for _, s := range texts {
		if strings.Contains(f, s) {
			r.t.Fatalf("%q is on the screen:\n%s", s, f)
		}
	}
}

// tool puts the cursor on a tool and calls it with what its arguments form starts from.
func (r *rig) tool(name string) {
	r.t.Helper()
	r.press("2")
	i := slices.IndexFunc(r.ins.Tools(r.ins.Names()[0]), func(t mcpmgr.Tool) bool { return t.Name == name })
	if i < 0 {
		r.t.Fatalf("no tool %s", name)
	}
	r.press("home")
	for range i {
		r.now("down")
	}
	r.press("enter", "s")
}

// conversation is the newest one.
func (r *rig) conversation() *inspect.Conversation {
	r.t.Helper()
	if len(r.m.log.Conversations) == 0 {
		r.t.Fatal("there is no call")
	}
	return r.m.log.Conversations[len(r.m.log.Conversations)-1]
}

func (r *rig) sent() string {
	var out []string
	for _, m := range r.srv.Got("") {
		out = append(out, m.Method)
	}
	return fmt.Sprint(out)
}
