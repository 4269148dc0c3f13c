package tui

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/creack/pty"

	"askback/forms"
	"askback/tui/hostview"
)

// manyRows is a session with n rows of some lines each.
func manyRows(t testing.TB, w, h, n int) *driver {
	d := connected(t, w, h)
	rows := make([]hostview.Row, n)
	for i := range rows {
		rows[i] = hostview.Row{Key: fmt.Sprint(i), Kind: hostview.RowAssistant, Time: at("12:00:01"),
			Text: fmt.Sprintf("paragraph %d says something that is long enough to be wrapped on most screens, and a bit more\nin two lines", i)}
	}
	d.tell(hostview.Rows{SessionID: "s1", Rows: rows, Start: true})
	return d
}

// A hundred thousand rows scroll like a hundred: no key costs more than a frame's time.
func TestManyRowsScroll(t *testing.T) {
	d := manyRows(t, 200, 60, 100_000)
	d.want("paragraph 99999")
	var took []time.Duration
	for _, k := range []string{"pgup", "pgup", "tab", "up", "down", "g", "down", "pgdown", "G", "pgup", "up", "esc", "ctrl+home", "pgdown", "ctrl+end", "x"} {
		start := time.Now()
		d.press(k)
		_ = d.m.View()
		took = append(took, time.Since(start))
	}
	d.want("paragraph 99999")
	slices.Sort(took)
	if median := took[len(took)/2]; median > 20*time.Millisecond {
		t.Errorf("a key takes %v with 100,000 rows", median)
	}
	d.press("ctrl+home").want("paragraph 0")
}

func benchKeys(b *testing.B, d *driver, keys ...string) {
	b.ReportAllocs()
	i := 0
	var worst []time.Duration
	for b.Loop() {
		start := time.Now()
		d.send(key(keys[i%len(keys)]))
		_ = d.m.View()
		worst = append(worst, time.Since(start))
		i++
	}
	slices.Sort(worst)
	b.ReportMetric(float64(worst[len(worst)*99/100].Microseconds()), "p99-µs")
}

func BenchmarkScroll100k(b *testing.B) {
	d := manyRows(b, 200, 60, 100_000)
	benchKeys(b, d, "pgup", "pgup", "pgdown", "pgup")
}

func BenchmarkTyping100k(b *testing.B) {
	benchKeys(b, manyRows(b, 200, 60, 100_000), "a", "b", "backspace")
}

func BenchmarkPaletteFilter(b *testing.B) {
	s := demoServers()
	s.tools = nil
	for i := range 256 {
		s.tools = append(s.tools, hostview.Tool{Server: "server", Name: fmt.Sprintf("tool_%d", i), Description: "does something"})
	}
	d := connected(b, 200, 60, func(o *Options) { o.Servers = s })
	d.press("ctrl+t")
	benchKeys(b, d, "t", "1", "backspace", "down")
}

// The largest forms that are admitted, through the whole surface.
func BenchmarkFormKey(b *testing.B) {
	opts := func(n int) []forms.Option { return options(n) }
	eight := forms.Form{Message: "m", Requester: forms.Requester{Name: "tool", Source: "demo"}}
	for i := range 8 {
		eight.Fields = append(eight.Fields, forms.Field{Kind: forms.KindSingleSelect, Name: fmt.Sprint("f", i), Label: fmt.Sprint("Field ", i), Options: opts(64)})
	}
	one := forms.Form{Message: "m", Requester: eight.Requester, Fields: []forms.Field{{Kind: forms.KindSingleSelect, Name: "f", Label: "Field", Options: opts(256)}}}
	mixed := forms.Form{Message: "m", Requester: eight.Requester}
	for i := range 32 {
		f := forms.Field{Kind: forms.KindString, Name: fmt.Sprint("f", i), Label: fmt.Sprint("Field ", i)}
		switch i % 4 {
		case 1:
			f.Kind = forms.KindInteger
		case 2:
			f.Kind = forms.KindBoolean
		case 3:
			f.Kind, f.Options = forms.KindMultiSelect, opts(8)
		}
		mixed.Fields = append(mixed.Fields, f)
	}
	for _, bc := range []struct {
		name string
		f    forms.Form
		w, h int
		keys []string
	}{
		{"8x64", eight, 200, 60, []string{"down", "down", "up", "tab", "shift+tab"}},
		{"1x256", one, 200, 60, []string{"down", "down", "up"}},
		{"32mixed", mixed, 80, 24, []string{"a", "tab", "1", "tab", "down", "shift+tab"}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			d := calling(b, bc.w, bc.h)
			d.tell(hostview.Projection{SessionID: "s1", Turn: turn("waiting_for_user"), Pending: []hostview.Interaction{interaction("i1", "call1", bc.f)}})
			d.tick(past)
			benchKeys(b, d, bc.keys...)
		})
	}
}

// BenchmarkFirstFrame measures from exec to the first output.
func BenchmarkFirstFrame(b *testing.B) {
	for b.Loop() {
		cmd := exec.Command(os.Args[0])
		cmd.Env = []string{childEnv + "=connected", childLog + "=" + os.DevNull, "TERM=xterm-256color"}
		f, err := pty.Start(cmd)
		if err != nil {
			b.Skip(err)
		}
		if _, err := f.Read(make([]byte, 4096)); err != nil {
			b.Fatal(err)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		f.Close()
	}
}
