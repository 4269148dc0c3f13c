package tui

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"
	"github.com/muesli/termenv"

	"askback/forms"
	"askback/internal/screen"
	"askback/tui/hostview"
	"askback/tui/kit"
	"askback/tui/theme"
)

func TestMain(m *testing.M) {
	if runChild() {
		return
	}
	lipgloss.SetColorProfile(termenv.ANSI)
	lipgloss.SetHasDarkBackground(true)
	os.Exit(m.Run())
}

// fakeClock moves when a test says so.
type fakeClock struct {
	now    time.Time
	timers []fakeTimer
}

type fakeTimer struct {
	at  time.Time
	msg tea.Msg
}

func newFakeClock() *fakeClock {
	return &fakeClock{now: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)}
}

func (c *fakeClock) Now() time.Time                       { return c.now }
func (c *fakeClock) After(time.Duration) <-chan time.Time { panic("a timer beside the model's") }

// driver runs a model by hand: no program, no renderer, no real clock. Commands run at once; those that wait
// for the clock are kept until it moves.
type driver struct {
	t      testing.TB
	m      *Model
	clock  *fakeClock
	host   *fakeHost
	term   *fakeTerminal
	quit   bool
	frames int
	held   []tea.Cmd // commands that a test lets go on its own
	hold   bool
}

type fakeTerminal struct {
	bells  int
	copied []string
}

func (f *fakeTerminal) Bell()            { f.bells++ }
func (f *fakeTerminal) Copy(text string) { f.copied = append(f.copied, text) }

func newDriver(t testing.TB, w, h int, set ...func(*Options)) *driver {
	d := &driver{t: t, clock: newFakeClock(), host: newFakeHost(), term: &fakeTerminal{}}
	o := Options{Backend: d.host, Servers: demoServers(), Clock: d.clock, Theme: theme.New(theme.Dark), Version: "test"}
	for _, f := range set {
		f(&o)
	}
	d.m = newModel(t.Context(), o, d.term)
	d.m.after = func(by time.Duration, msg tea.Msg) tea.Cmd {
		d.clock.timers = append(d.clock.timers, fakeTimer{d.clock.now.Add(by), msg})
		return nil
	}
	d.run(d.m.Init())
	d.send(tea.WindowSizeMsg{Width: w, Height: h})
	return d
}

func (d *driver) send(msg tea.Msg) {
	if msg == nil || d.quit {
		return
	}
	switch msg := msg.(type) {
	case tea.QuitMsg:
		d.quit = true
		return
	case tea.BatchMsg:
		for _, c := range msg {
			d.run(c)
		}
		return
	}
	_, cmd := d.m.Update(msg)
	d.run(cmd)
}

// run executes a command, or keeps it while the test holds commands back.
func (d *driver) run(cmd tea.Cmd) {
	switch {
	case cmd == nil:
	case d.hold:
		d.held = append(d.held, cmd)
	default:
		d.send(cmd())
	}
}

// release lets the oldest command go that was held back.
func (d *driver) release() {
	cmd := d.held[0]
	d.held = d.held[1:]
	msg := cmd()
	if batch, ok := msg.(tea.BatchMsg); ok {
		for _, c := range batch {
			if c != nil {
				d.held = append(d.held, c)
			}
		}
		return
	}
	d.send(msg)
}

// tick moves the clock and lets what waited for it go on.
func (d *driver) tick(by time.Duration) *driver {
	end := d.clock.now.Add(by)
	for {
		i := -1
		for k, t := range d.clock.timers {
			if !t.at.After(end) && (i < 0 || t.at.Before(d.clock.timers[i].at)) {
				i = k
			}
		}
		if i < 0 {
			break
		}
		t := d.clock.timers[i]
		d.clock.now = t.at
		d.clock.timers = slices.Delete(d.clock.timers, i, i+1)
		d.send(t.msg)
	}
	d.clock.now = end
	return d
}

func (d *driver) tell(events ...hostview.Event) *driver {
	d.send(toldAll(events))
	return d
}

var named = map[string]tea.KeyType{
	"enter": tea.KeyEnter, "tab": tea.KeyTab, "shift+tab": tea.KeyShiftTab, "esc": tea.KeyEsc, "space": tea.KeySpace,
	"up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight, "home": tea.KeyHome, "end": tea.KeyEnd,
	"pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "backspace": tea.KeyBackspace, "delete": tea.KeyDelete, "f1": tea.KeyF1,
	"ctrl+home": tea.KeyCtrlHome, "ctrl+end": tea.KeyCtrlEnd,
}

func key(s string) tea.KeyMsg {
	if t, ok := named[s]; ok {
		k := tea.KeyMsg{Type: t}
		if s == "space" {
			k.Runes = []rune{' '}
		}
		return k
	}
	if l, ok := strings.CutPrefix(s, "ctrl+"); ok && len(l) == 1 {
		return tea.KeyMsg{Type: tea.KeyType(l[0] & 0x1f)}
	}
	if l, ok := strings.CutPrefix(s, "alt+"); ok {
		return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(l), Alt: true}
	}
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(s)}
}

func (d *driver) press(keys ...string) *driver {
	for _, k := range keys {
		d.send(key(k))
	}
	return d
}

func (d *driver) typing(s string) *driver {
	for _, r := range s {
		if r == ' ' {
			d.press("space")
			continue
		}
		d.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}})
	}
	return d
}

// text comes in one piece, without the marks of a paste.
func (d *driver) text(s string) *driver {
	d.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(s)})
	return d
}

func (d *driver) paste(s string) *driver {
	d.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(s), Paste: true})
	return d
}

// frame is the screen as text, checked to fit.
func (d *driver) frame() string {
	d.t.Helper()
	d.frames++
	raw := d.m.View()
	if strings.Contains(raw, kit.More) || strings.Contains(raw, forms.Line(kit.More)) {
		d.t.Fatalf("the mark of a cut was not drawn, or was projected:\n%s", raw)
	}
	rows := strings.Split(raw, "\n")
	if !d.quit && len(rows) > max(1, d.m.h) {
		d.t.Fatalf("the frame has %d rows on a screen of %d:\n%s", len(rows), d.m.h, raw)
	}
	for i, r := range rows {
		if w := max(ansi.StringWidth(r), screen.Counted(ansi.Strip(r))); w > max(1, d.m.w) {
			d.t.Fatalf("row %d has %d cells on a screen of %d: %q", i, w, d.m.w, r)
		}
		rows[i] = strings.TrimRight(ansi.Strip(r), " ")
	}
	return strings.Join(rows, "\n")
}

func (d *driver) want(texts ...string) *driver {
	d.t.Helper()
	f := d.frame()
	for _, s := range texts {
		if !strings.Contains(f, s) {
			d.t.Fatalf("%q is not on screen:\n%s", s, f)
		}
	}
	return d
}

func (d *driver) wantNot(texts ...string) *driver {
	d.t.Helper()
	f := d.frame()
	for _, s := range texts {
		if strings.Contains(f, s) {
			d.t.Fatalf("%q is on screen:\n%s", s, f)
		}
	}
	return d
}

func (d *driver) golden(t *testing.T) { t.Helper(); golden.RequireEqual(t, []byte(d.frame()+"\n")) }

// Things that tests talk about.

func at(s string) time.Time {
	c, err := time.Parse("15:04:05", s)
	if err != nil {
		panic(err)
	}
	return time.Date(2026, 1, 2, c.Hour(), c.Minute(), c.Second(), 0, time.UTC)
}

func demoServers() *fakeServers {
	return &fakeServers{
		changed: make(chan struct{}, 1),
		servers: []hostview.Server{
			{Name: "demo", State: "ready", Ready: true, Era: "2026-07-28", Tools: 3, Stderr: []string{"demo: listening", "demo: 3 tools"}},
			{Name: "files", State: "failed", Error: "exec: \"mcp-files\": executable file not found in $PATH", Stderr: []string{"no such file"}},
		},
		tools: []hostview.Tool{
			{Server: "demo", Name: "deploy", Title: "Deploy", Description: "Deploys an artifact to an environment.\nAsks where.", InputSchema: []byte(`{"type":"object","properties":{"artifact":{"type":"string","title":"Artifact"},"dry":{"type":"boolean"}},"required":["artifact"]}`)},
			{Server: "demo", Name: "survey", Title: "Survey", Description: "Asks everything.", InputSchema: []byte(`{"type":"object"}`)},
			{Server: "demo", Name: "nested", Description: "Takes a nested object.", InputSchema: []byte(`{"type":"object","properties":{"where":{"type":"object"}}}`)},
		},
	}
}

func oursAt(url string) hostview.Host {
	return hostview.Host{Address: url, RootID: strings.Repeat("ab", 32), Epoch: "e1", Dialect: 81, Revision: hostview.Ours}
}

func ready(h hostview.Host) []hostview.Event {
	return []hostview.Event{
		hostview.Connection{Link: hostview.LinkView, State: hostview.StateReady, Host: h},
		hostview.Connection{Link: hostview.LinkProvider, State: hostview.StateReady, Host: h},
	}
}

func deploys() hostview.Session {
	return hostview.Session{ID: "s1", Revision: "1", Name: "deploys", Status: "active", Mode: "ask", LastUsed: at("11:58:00")}
}

// connected is a driver with our own Host and one open session.
func connected(t testing.TB, w, h int, set ...func(*Options)) *driver {
	d := newDriver(t, w, h, set...)
	d.tell(ready(oursAt("wss://devbox:7443"))...)
	d.tell(hostview.Catalog{Sessions: []hostview.Session{deploys()}})
	d.tell(hostview.Projection{SessionID: "s1"}, hostview.Rows{SessionID: "s1", Reset: true, Start: true})
	return d
}

func turn(status string) *hostview.Turn {
	return &hostview.Turn{SessionID: "s1", TurnID: "t1", RunID: "r1", Status: status}
}

func deployForm() forms.Form {
	return forms.Form{
		Message:   "Choose the deployment target",
		Requester: forms.Requester{Name: "deploy", Source: "demo · via askback on devbox"},
		Fields: []forms.Field{
			{Kind: forms.KindSingleSelect, Name: "environment", Label: "Environment", Required: true, Options: []forms.Option{{Value: "staging", Label: "staging"}, {Value: "production", Label: "production"}}},
			{Kind: forms.KindBoolean, Name: "confirm", Label: "Confirm", Required: true},
			{Kind: forms.KindString, Name: "note", Label: "Note"},
		},
	}
}

func interaction(id, tool string, f forms.Form) hostview.Interaction {
	return hostview.Interaction{SessionID: "s1", ID: id, TurnID: "t1", RunID: "r1", Kind: hostview.KindForm, ToolUseID: tool, Form: f}
}

// calling is a session in which a tool runs.
func calling(t testing.TB, w, h int, set ...func(*Options)) *driver {
	d := connected(t, w, h, set...)
	d.tell(
		hostview.Projection{SessionID: "s1", Turn: turn("running")},
		hostview.Rows{SessionID: "s1", Rows: []hostview.Row{
			{Key: "u1", Kind: hostview.RowUser, TurnID: "t1", Time: at("12:00:00"), Text: `/call demo/deploy {"artifact":"build-42"}`},
			{Key: "c1", Kind: hostview.RowToolCall, TurnID: "t1", Time: at("12:00:00"), ToolUseID: "call1", Tool: "deploy", Server: "demo", Args: []byte(`{"artifact":"build-42"}`)},
		}},
	)
	return d
}

// asking is a session whose tool asks a form.
func asking(t testing.TB, w, h int, set ...func(*Options)) *driver {
	d := calling(t, w, h, set...)
	d.tell(hostview.Projection{SessionID: "s1", Turn: turn("waiting_for_user"), Pending: []hostview.Interaction{interaction("i1", "call1", deployForm())}})
	return d
}
