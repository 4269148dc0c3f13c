package tui

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/tui/hostview"
)

// sequences is how many random runs TestSequences makes: ASKBACK_SEQUENCES, or a few.
func sequences(t *testing.T) int {
	if v := os.Getenv("ASKBACK_SEQUENCES"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			t.Fatalf("ASKBACK_SEQUENCES: %v", err)
		}
		return n
	}
	return 300
}

// TestSequences plays random keys, pastes, sizes and Host events, and checks after each that the frame is sound
// and that no answer left which its review did not show. ASKBACK_FIRST_SEED is where it begins, so that a long run can be
// cut into several.
func TestSequences(t *testing.T) {
	first, _ := strconv.ParseUint(os.Getenv("ASKBACK_FIRST_SEED"), 10, 64)
	n := uint64(sequences(t))
	for seed := first; seed < first+n; seed++ {
		p := newPlayer(t, seed)
		p.play(60)
		if t.Failed() {
			return
		}
	}
	t.Logf("seed=%d n=%d ok", first, n)
}

// player plays one random run.
type player struct {
	*driver
	t        testing.TB
	r        *rand.Rand
	seed     uint64
	pending  []hostview.Interaction
	settled  map[string]bool
	made     int
	answers  int
	log      []string
	before   string // the frame before the last step
	beforeUp *entry
}

func newPlayer(t testing.TB, seed uint64) *player {
	p := &player{t: t, r: rand.New(rand.NewPCG(seed, 1)), seed: seed, settled: map[string]bool{}}
	sizes := [][2]int{{40, 12}, {80, 24}, {120, 40}, {200, 60}, {53, 17}}
	size := sizes[p.r.IntN(len(sizes))]
	p.driver = calling(t, size[0], size[1], func(o *Options) {
		if p.r.IntN(3) == 0 {
			o.Servers = nil
		}
	})
	return p
}

func (p *player) play(steps int) {
	defer func() {
		if v := recover(); v != nil {
			p.t.Errorf("seed %d: panic: %v\nafter %s", p.seed, v, strings.Join(p.log, ", "))
			panic(v)
		}
	}()
	for range steps {
		p.before, p.beforeUp = p.frame(), p.m.formUp()
		start := time.Now()
		name := p.step()
		p.log = append(p.log, name)
		if took := time.Since(start); took > 5*time.Second {
			p.t.Errorf("seed %d: %s took %v", p.seed, name, took)
		}
		if p.quit || p.m.quitting {
			return
		}
		p.check()
		if p.t.Failed() {
			return
		}
	}
}

func (p *player) fail(format string, args ...any) {
	p.t.Helper()
	p.t.Errorf("seed %d: %s\nafter %s\nbefore:\n%s\nnow:\n%s", p.seed, fmt.Sprintf(format, args...), strings.Join(p.log, ", "), p.before, p.frame())
}

var keyPool = []string{
	"enter", "tab", "shift+tab", "esc", "space", "up", "down", "left", "right", "home", "end", "pgup", "pgdown", "backspace", "delete",
	"ctrl+a", "ctrl+b", "ctrl+c", "ctrl+d", "ctrl+e", "ctrl+f", "ctrl+g", "ctrl+j", "ctrl+k", "ctrl+l", "ctrl+n", "ctrl+o", "ctrl+p",
	"ctrl+r", "ctrl+s", "ctrl+t", "ctrl+u", "ctrl+w", "ctrl+x", "ctrl+y", "ctrl+q", "f1", "?", "/", "y", "n", "s", "e", "c", "d", "G", "g",
	"alt+b", "alt+d", "alt+f", "a", "1", "-", "漢", "👩‍👩‍👧", "e\u0301", "日本", "dsx",
}

// step does one random thing and says what.
func (p *player) step() string {
	switch n := p.r.IntN(100); {
	case n < 52:
		k := keyPool[p.r.IntN(len(keyPool))]
		p.press(k)
		return k
	case n < 60:
		// A person who gets somewhere: the way through a form.
		for _, k := range []string{"down", "enter", "down", "enter", "ctrl+s"} {
			p.before, p.beforeUp = p.frame(), p.m.formUp()
			p.press(k)
			p.sent(p.frame())
			p.tick(past)
		}
		p.before, p.beforeUp = p.frame(), p.m.formUp()
		p.press("s")
		return "through"
	case n < 65:
		return p.mark()
	case n < 68:
		p.paste("line one\nline two\x1b[2J\ttab" + strings.Repeat("x", p.r.IntN(300)))
		return "paste"
	case n < 76:
		p.tick(time.Duration(p.r.IntN(900)) * time.Millisecond)
		return "tick"
	case n < 80:
		w, h := 40+p.r.IntN(170), 12+p.r.IntN(50)
		if p.r.IntN(6) == 0 {
			w, h = 1+p.r.IntN(60), 1+p.r.IntN(20)
		}
		p.send(tea.WindowSizeMsg{Width: w, Height: h})
		return fmt.Sprintf("%dx%d", w, h)
	default:
		return p.event()
	}
}

// mark types a text that names the call whose form is on screen.
func (p *player) mark() string {
	if p.beforeUp == nil {
		return "nothing"
	}
	p.typing("mk" + p.beforeUp.in.ToolUseID + "k")
	return "mark"
}

// event lets the Host tell something.
func (p *player) event() string {
	switch p.r.IntN(12) {
	case 0, 1, 2:
		p.made++
		call := fmt.Sprintf("call%d", 1+p.r.IntN(4))
		p.pending = append(p.pending, interaction(fmt.Sprintf("i%d", p.made), call, p.form()))
		p.project()
		return "form"
	case 3, 4:
		return p.end()
	case 5:
		lost(p.driver)
		return "lost"
	case 6:
		p.tell(ready(oursAt("wss://devbox:7443"))...)
		p.project()
		return "back"
	case 7:
		result(p.driver, hostile+strings.Repeat("\nmore", p.r.IntN(30)), p.r.IntN(2) == 0, false)
		return "result"
	case 8:
		p.tell(hostview.ToolEvent{SessionID: "s1", TurnID: "t1", ToolUseID: fmt.Sprintf("call%d", p.r.IntN(5)), Phase: hostview.PhaseStart, Name: "tool", Time: p.clock.now},
			hostview.Text{SessionID: "s1", TurnID: "t1", Key: "a1", Append: "漢字 text "})
		return "live"
	case 9:
		p.tell(hostview.Catalog{Sessions: []hostview.Session{deploys(), {ID: "s2", Name: "other", Status: hostview.StatusWaitingForUser}}})
		return "catalog"
	case 10:
		errs := []error{errors.New("cut off"), &hostview.Error{Code: hostview.CodeOperationConflict, Message: "no"}, &hostview.Error{Code: hostview.CodeAlreadyResolved, Message: "late"}}
		p.host.fail["answer"] = errs[p.r.IntN(len(errs))]
		return "next answer fails"
	}
	p.hold = !p.hold
	if !p.hold {
		for len(p.held) > 0 {
			p.before, p.beforeUp = p.frame(), p.m.formUp()
			p.release()
		}
	}
	return "hold"
}

func (p *player) project() {
	if p.m.open != "s1" {
		return
	}
	var left []hostview.Interaction
	for _, in := range p.pending {
		if !p.settled[in.ID] {
			left = append(left, in)
		}
	}
	p.pending = left
	status := "running"
	if len(left) > 0 {
		status = "waiting_for_user"
	}
	p.tell(hostview.Projection{SessionID: "s1", Turn: turn(status), Pending: left})
}

// end settles a pending Interaction from elsewhere.
func (p *player) end() string {
	if len(p.pending) == 0 {
		return "nothing"
	}
	in := p.pending[p.r.IntN(len(p.pending))]
	p.settled[in.ID] = true
	o := hostview.Outcome{Status: hostview.StatusClosed, Reason: "provider_disconnected"}
	if p.r.IntN(2) == 0 {
		o = hostview.Outcome{Status: hostview.StatusAnswered, Answer: hostview.Answer{Kind: hostview.KindForm, Form: forms.Decline()}}
	}
	p.project()
	p.tell(hostview.Settled{SessionID: "s1", InteractionID: in.ID, Outcome: o})
	return "ended"
}

// form is a random form of all kinds.
func (p *player) form() forms.Form {
	f := forms.Form{Message: "Please " + strings.Repeat("answer this. ", 1+p.r.IntN(20)), Requester: forms.Requester{Name: "tool", Source: "demo"}}
	switch p.r.IntN(8) {
	case 0:
		f.Message = hostile
	case 1: // what terminals find wider than a count of clusters
		f.Message = strings.Repeat("กำ", 39) + "x\n" + strings.Repeat("नी👍🏽 கோ", 1+p.r.IntN(20))
	}
	for i := range p.r.IntN(7) {
		fd := forms.Field{Name: fmt.Sprintf("f%d", i), Label: fmt.Sprintf("Field %d", i), Required: p.r.IntN(2) == 0}
		if p.r.IntN(4) == 0 {
			fd.Description = strings.Repeat("described at length ", 1+p.r.IntN(12))
		}
		switch p.r.IntN(6) {
		case 0:
			fd.Kind = forms.KindString
			if p.r.IntN(3) == 0 {
				fd.Default = forms.TextValue("preset")
			}
		case 1:
			fd.Kind = forms.KindInteger
		case 2:
			fd.Kind = forms.KindNumber
		case 3:
			fd.Kind = forms.KindBoolean
		case 4:
			fd.Kind, fd.Options = forms.KindSingleSelect, options(1+p.r.IntN(40))
		case 5:
			fd.Kind, fd.Options = forms.KindMultiSelect, options(1+p.r.IntN(12))
		}
		f.Fields = append(f.Fields, fd)
	}
	return f
}

func options(n int) []forms.Option {
	out := make([]forms.Option, n)
	for i := range out {
		out[i] = forms.Option{Value: fmt.Sprintf("v%d", i), Label: fmt.Sprintf("Option %d", i)}
	}
	return out
}

// check holds the frame to its rules.
func (p *player) check() {
	f := p.frame() // which checks rows and cells
	p.sent(f)
	if p.m.tooSmall() {
		return
	}
	rows := strings.Split(f, "\n")
	if len(rows) != p.m.h {
		p.fail("the frame has %d rows on a screen of %d", len(rows), p.m.h)
		return
	}
	if rows[len(rows)-1] == "" {
		p.fail("no keys in the last row")
	}
	up := p.m.formUp()
	if up == nil {
		return
	}
	if !strings.HasPrefix(rows[0], "tool · demo") {
		p.fail("who asks is not in the first row: %q", rows[0])
	}
	if !warns(rows[1]) {
		p.fail("the warning is not in the second row: %q", rows[1])
	}
	if last := rows[len(rows)-1]; strings.Contains(last, "s review") && len(up.in.Form.Fields) > 0 && !strings.Contains(f, "\n▌") {
		p.fail("the focused field is not on screen")
	}
	for i := range 5 {
		if call := fmt.Sprintf("call%d", i); call != up.in.ToolUseID && strings.Contains(f, "mk"+call+"k") {
			p.fail("a value typed for %s is in the form of %s", call, up.in.ToolUseID)
		}
	}
}

// warns says whether a row is the warning, with all four kinds.
func warns(row string) bool {
	return strings.HasPrefix(row, "!") && strings.Contains(row, "asswords") && strings.Contains(row, "API keys") &&
		strings.Contains(row, "tokens") && (strings.Contains(row, "payment data") || strings.Contains(row, "cards"))
}

// sent checks the answers that have gone out since the last time: the frame before must have asked for them.
func (p *player) sent(string) {
	for ; p.answers < len(p.host.answers); p.answers++ {
		a := p.host.answers[p.answers]
		p.settled[a.in.ID] = true
		if p.hold || len(p.log) > 0 && p.log[len(p.log)-1] == "hold" {
			continue // held back: the frame that asked for it is gone
		}
		last := p.before[strings.LastIndexByte(p.before, '\n')+1:]
		if a.a.Form.Action != forms.ActionAccept {
			if !strings.HasPrefix(last, "y ") {
				p.fail("%s went out without a confirmation", a.a.Form.Action)
			}
			continue
		}
		if !strings.Contains(last, "s submit") {
			p.fail("an answer went out without a review")
			continue
		}
		p.reviewed(a)
	}
}

// reviewed checks that the review showed every value, as far as it was not scrolled.
func (p *player) reviewed(a sentAnswer) {
	if strings.Contains(p.before, "rows ") || strings.Contains(p.before, "…") {
		return
	}
	for _, f := range a.in.Form.Fields {
		v, ok := a.a.Form.Values[f.Name]
		if !ok || v.Type() != forms.Text || len(v.Text()) > 10 || v.Text() == "" {
			continue
		}
		want := v.Text()
		for _, o := range f.Options {
			if o.Value == v.Text() {
				want = o.Label
			}
		}
		if !strings.Contains(p.before, forms.Line(want)) {
			p.fail("the review did not show %q of %s", want, f.Name)
		}
	}
}
