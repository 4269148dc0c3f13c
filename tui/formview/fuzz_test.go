package formview

import (
	"fmt"
	"math/rand"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"askback/forms"
	emulator "askback/internal/screen"
	"askback/tui/draft"
	"askback/tui/kit"
	"askback/tui/theme"
)

// sequences is how many random journeys are driven.
func sequences(t *testing.T) int {
	if s := os.Getenv("ASKBACK_SEQUENCES"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return 300
}

// mark stands in every text that comes from the server in a fuzzed form.
const mark = "SRV"

func fuzzKeys() []tea.KeyMsg {
	var keys []tea.KeyMsg
	for _, k := range []string{
		"enter", "enter", "tab", "tab", "shift+tab", "esc", "up", "down", "down", "left", "right", "home", "end", "pgup", "pgdown", "backspace", "delete", "space", "space",
		"ctrl+a", "ctrl+d", "ctrl+e", "ctrl+g", "ctrl+k", "ctrl+n", "ctrl+o", "ctrl+p", "ctrl+r", "ctrl+s", "ctrl+s", "ctrl+t", "ctrl+u", "ctrl+v", "ctrl+w", "ctrl+x", "ctrl+h", "ctrl+left",
		"a", "x", "/", "j", "k", "g", "G", "y", "n", "s", "s", "e", "z", "q", "c", "漢", "👩‍👩‍👧", "e\u0301", "กำ", "नी", "👍🏽", "1", "3", "9", "-", ".", "opt", "yes\u202e",
		"alt+b", "alt+f", "alt+d", "alt+u", "alt+c", "alt+x", "alt+delete", "alt+backspace", "alt+left", "alt+enter", "f1",
	} {
		keys = append(keys, keyMsg(k))
	}
	for _, p := range []string{"pasted\nline\u202e two", "s", "y\n", "prod\ryes\r", strings.Repeat("長い", 500), strings.Repeat("กำ", 60), strings.Repeat("👍🏽கோ", 40)} {
		keys = append(keys, tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(p), Paste: true})
	}
	return keys
}

// fuzzForm is a random form. Its texts hold mark, so that a row that shows one can be told.
func fuzzForm(r *rand.Rand) forms.Form {
	texts := []string{mark, mark + " plain words", "長い" + mark + "テキスト 👩‍👩‍👧 e\u0301", mark + " API key", mark + strings.Repeat(" a long text that wraps", 1+r.Intn(12)),
		mark + "\x1b[2J\u202e\x07", mark + "\nline two " + mark + "\nctrl+s review " + mark, "https://x.example/" + mark,
		strings.Repeat("กำ", 39) + mark + strings.Repeat("กำ", 39), mark + strings.Repeat(" नीकोகோ👍🏽", 1+r.Intn(12)), mark + strings.Repeat("👩‍", 40) + "👩"}
	pick := func() string { return texts[r.Intn(len(texts))] }
	f := forms.Form{Message: pick(), Requester: forms.Requester{Name: "tool", Source: "server"}}
	kinds := []forms.Kind{forms.KindString, forms.KindNumber, forms.KindInteger, forms.KindBoolean, forms.KindSingleSelect, forms.KindMultiSelect}
	n := []int{0, 1, 1, 2, 3, 5, 12, 32}[r.Intn(8)]
	for i := range n {
		fd := forms.Field{Kind: kinds[r.Intn(len(kinds))], Name: fmt.Sprintf("n%d", i), Label: pick(), Required: r.Intn(2) == 0}
		if r.Intn(2) == 0 {
			fd.Description = pick()
		}
		switch fd.Kind {
		case forms.KindString:
			if r.Intn(3) == 0 {
				fd.Default = forms.TextValue([]string{"", "text", "two\nlines", "x" + strings.Repeat("y", 250)}[r.Intn(4)])
			} else if r.Intn(3) == 0 {
				fd.Format = []forms.Format{forms.FormatEmail, forms.FormatURI, forms.FormatDate, forms.FormatDateTime}[r.Intn(4)]
			}
		case forms.KindInteger, forms.KindNumber:
			fd.Minimum, fd.Maximum = number("0"), number("9")
			if r.Intn(3) == 0 {
				fd.Default = numberValue("3")
			}
		case forms.KindBoolean:
			if r.Intn(3) == 0 {
				fd.Default = forms.BoolValue(r.Intn(2) == 0)
			}
		default:
			count := 1 + r.Intn(40)
			for j := range count {
				fd.Options = append(fd.Options, forms.Option{Value: fmt.Sprintf("v%d", j), Label: fmt.Sprintf("%s opt %d %s", mark, j, strings.Repeat("กำ", r.Intn(2)*r.Intn(40)))})
			}
			if fd.Kind == forms.KindSingleSelect && r.Intn(3) == 0 {
				fd.Default = forms.TextValue("v0")
			}
			if fd.Kind == forms.KindMultiSelect && r.Intn(3) == 0 {
				fd.Default, fd.MaxItems = forms.ListValue([]string{"v0"}), ptr(2)
			}
		}
		f.Fields = append(f.Fields, fd)
	}
	return f
}

// frameRules are what holds of every frame.
func frameRules(m *Model, v string, w, h int) error {
	if strings.Contains(v, kit.More) || strings.Contains(v, forms.Line(kit.More)) {
		return fmt.Errorf("the mark of a cut was not drawn, or was projected")
	}
	rows := strings.Split(ansi.Strip(v), "\n")
	for i, row := range rows {
		if n := max(ansi.StringWidth(row), emulator.Counted(row)); n > w {
			return fmt.Errorf("row %d is %d wide: %q", i, n, row)
		}
	}
	if m.tooSmall() {
		if len(rows) > max(1, h) {
			return fmt.Errorf("too small, and %d rows in a window of %d", len(rows), h)
		}
		return nil
	}
	if len(rows) != h {
		return fmt.Errorf("%d rows in a window of %d", len(rows), h)
	}
	if !strings.HasPrefix(strings.TrimPrefix(rows[0], "arguments · "), "tool · server") {
		return fmt.Errorf("the first row does not say who asks: %q", rows[0])
	}
	for _, kind := range [][]string{{"password"}, {"API keys"}, {"tokens"}, {"payment", "cards"}} {
		if !containsAny(rows[1], kind) {
			return fmt.Errorf("the warning does not name %q: %q", kind, rows[1])
		}
	}
	if rows[h-1] == "" {
		return fmt.Errorf("no keys in the last row")
	}
	focus := false
	for i, row := range rows {
		barred := strings.HasPrefix(row, "│ ") || strings.HasPrefix(row, "▌ ") || row == "│" || row == "▌"
		focus = focus || strings.HasPrefix(row, "▌ ")
		if strings.Contains(row, mark) && !barred && !(i == 2 && strings.HasPrefix(row, "!! ")) {
			return fmt.Errorf("row %d has server text and no bar: %q", i, row)
		}
		for _, r := range row {
			if r < 0x20 || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
				return fmt.Errorf("row %d holds %U: %q", i, r, row)
			}
		}
	}
	if m.stage == filling && m.detail == nil && !focus {
		return fmt.Errorf("the focused field is not on the screen")
	}
	return nil
}

func containsAny(s string, subs []string) bool {
	for _, sub := range subs {
		if strings.Contains(s, sub) {
			return true
		}
	}
	return false
}

// watcher collects what review has shown since it was opened.
type watcher struct {
	stage stage
	shown map[string]bool
}

func (w *watcher) frame(m *Model, v string) {
	if m.stage != w.stage {
		w.stage, w.shown = m.stage, map[string]bool{}
	}
	if m.stage == reviewing && m.detail == nil {
		for _, row := range strings.Split(ansi.Strip(v), "\n") {
			w.shown[strings.TrimRight(row, " ")] = true
		}
	}
}

// mayLeave says why an answer should not have left.
func (w *watcher) mayLeave(m *Model, s Submit, before stage) error {
	if s.Result.Action != forms.ActionAccept {
		if before != confirming {
			return fmt.Errorf("%s left without being asked", s.Result.Action)
		}
		return nil
	}
	if before != reviewing && before != single {
		return fmt.Errorf("an answer left from stage %d", before)
	}
	if errs := m.Form().Check(s.Result); errs != nil {
		return fmt.Errorf("a wrong answer left: %v", errs)
	}
	for i, f := range m.draft.Fields {
		want := draft.LeftOut
		if v, given := s.Result.Values[f.Spec.Name]; given {
			want = f.Words(v)
		}
		if f.Summary() != want {
			return fmt.Errorf("%s is sent as %q and shown as %q", f.Spec.Name, want, f.Summary())
		}
		if before == single {
			continue
		}
		for _, row := range reviewRows(i, f, "", m.w-3) {
			if !w.shown["│ "+row.text] && !w.shown["▌ "+row.text] {
				return fmt.Errorf("never shown in review: %q", row.text)
			}
		}
	}
	return nil
}

// TestAnyKeys drives random forms with random keys, pastes, window sizes, pauses and news from the Host.
func TestAnyKeys(t *testing.T) {
	keys, left := fuzzKeys(), map[forms.Action]int{}
	defer func() {
		t.Logf("answers that left: %v", left)
		for _, a := range []forms.Action{forms.ActionAccept, forms.ActionDecline, forms.ActionCancel} {
			if left[a] == 0 && !t.Failed() {
				t.Errorf("no %s in all sequences: the keys reach nothing", a)
			}
		}
	}()
	for seed := range sequences(t) {
		var hist []string
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("seed %d: panic %v after %q\n%s", seed, p, hist, debug.Stack())
				}
			}()
			anyKeys(t, seed, keys, &hist, left)
		}()
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			t.Fatalf("seed %d hangs after %q", seed, hist)
		}
		if t.Failed() {
			return
		}
	}
}

func anyKeys(t *testing.T, seed int, keys []tea.KeyMsg, hist *[]string, left map[forms.Action]int) {
	r := rand.New(rand.NewSource(int64(seed)))
	w, h := 40+r.Intn(161), 12+r.Intn(49)
	if r.Intn(3) == 0 {
		w, h = 40, 12
	}
	th, colours := plainTheme(), r.Intn(4) == 0
	if colours {
		lipgloss.SetColorProfile(termenv.ANSI)
		defer lipgloss.SetColorProfile(termenv.Ascii)
		th = theme.New(theme.Dark)
	}
	d := driveWith(t, Request{Form: fuzzForm(r), Position: 1, Total: r.Intn(3), Arguments: r.Intn(10) == 0}, w, h, th)
	seen := &watcher{}
	for range 80 {
		before, had := d.m.stage, len(d.acts)
		switch r.Intn(40) {
		case 0:
			w, h = 38+r.Intn(100), 10+r.Intn(40)
			*hist = append(*hist, fmt.Sprintf("size %dx%d", w, h))
			d.send(tea.WindowSizeMsg{Width: w, Height: h})
		case 1:
			*hist = append(*hist, news(d.m, r))
		default:
			k := keys[r.Intn(len(keys))]
			*hist = append(*hist, k.String())
			if r.Intn(3) > 0 {
				d.wait(kit.Pause)
			} else {
				d.wait(time.Duration(r.Intn(20)) * time.Millisecond)
			}
			d.send(k)
		}
		if len(d.acts) > had {
			if s, ok := d.acts[had].(Submit); ok {
				if err := seen.mayLeave(d.m, s, before); err != nil {
					t.Errorf("seed %d: %v after %q", seed, err, *hist)
					return
				}
				left[s.Result.Action]++
			}
		}
		v := d.m.View()
		if err := frameRules(d.m, v, w, h); err != nil {
			t.Errorf("seed %d: %v after %q\n%s", seed, err, *hist, box(trim(v), w))
			return
		}
		if colours && !d.m.tooSmall() && d.m.stage == filling && d.m.detail == nil && d.m.current().input != nil && !strings.Contains(v, "\x1b[7m") {
			t.Errorf("seed %d: no cursor after %q\n%s", seed, *hist, box(trim(ansi.Strip(v)), w))
			return
		}
		seen.frame(d.m, v)
	}
}

// news is something that happens to the form from outside.
func news(m *Model, r *rand.Rand) string {
	switch r.Intn(8) {
	case 0:
		m.Answered(forms.Decline())
		return "declined elsewhere"
	case 1:
		vals, _ := m.draft.Result()
		m.Answered(vals)
		return "answered"
	case 2:
		m.Closed("the provider was lost " + mark)
		return "closed"
	case 3, 4:
		m.Refused("wrong " + mark)
		return "refused"
	case 5:
		m.Connection([]Connection{Connected, Reconnecting, NotConnected}[r.Intn(3)])
		return "connection"
	case 6:
		m.Show()
		return "shown"
	}
	m.SetPlace(1+r.Intn(3), 3)
	return "place"
}
