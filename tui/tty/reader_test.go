package tty

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

func TestIncomplete(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     bool
	}{
		{"nothing", "", false},
		{"letters", "abc", false},
		{"lone escape", "\x1b", true},
		{"letters and escape", "abc\x1b", true},
		{"half an arrow", "\x1b[", true},
		{"arrow", "\x1b[A", false},
		{"half a paste mark", "\x1b[20", true},
		{"paste mark", "\x1b[200~", false},
		{"half a paste end", "\x1b[200~x\x1b[201", true},
		{"alt letter", "\x1bx", false},
		{"application arrow", "\x1bO", true},
		{"whole application arrow", "\x1bOA", false},
		{"linux function key", "\x1b[[", true},
		{"whole linux function key", "\x1b[[A", false},
		{"alt arrow", "\x1b\x1b[", true},
		{"half a character", "a\xe6\xbc", true},
		{"character", "a\xe6\xbc\xa2", false},
		{"stray continuation", "a\xbc", false},
		{"half a colour reply", "\x1b]11;rgb:00", true},
		{"colour reply", "\x1b]11;rgb:00/00/00\x1b\\", false},
		{"alt bracket, more to come", "\x1b]", true},
		{"alt bracket and a letter", "\x1b]a", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := incomplete([]byte(tc.in)); got != tc.want {
				t.Errorf("incomplete(%q) = %v, want %v", tc.in, got, tc.want)
			}
		})
	}
}

func TestFilter(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"keys", "a\x1b[A\x1bOP\r", "a\x1b[A\x1bOP\r"},
		{"colour reply", "a\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\b", "ab"},
		{"colour reply with bell", "\x1b]11;rgb:1e1e/1e1e/2e2e\x07b", "b"},
		{"device attributes", "\x1b[?62;4;22cq", "q"},
		{"shift right of rxvt", "\x1b[c", "\x1b[c"},
		{"cursor position", "\x1b[24;80Rq", "q"},
		{"modified f3", "\x1b[1;2R", "\x1b[1;2R"},
		{"mode report", "\x1b[?2026;2$y", ""},
		{"focus", "\x1b[I\x1b[O", ""},
		{"mouse", "\x1b[<0;10;5M\x1b[<0;10;5mz", "z"},
		{"old mouse", "\x1b[M !!z", "z"},
		{"device control", "\x1bP>|term 1.0\x1b\\z", "z"},
		{"replies inside a paste stay", "\x1b[200~\x1b[24;80R\x1b[201~", "\x1b[200~\x1b[24;80R\x1b[201~"},
		{"a keypad writes what stands on it", "\x1bOp\x1bOs\x1bOy\x1bOj\x1bOk\x1bOl\x1bOm\x1bOn\x1bOo\x1bOX\x1bOM", "039*+,-./=\r"},
		{"its arrows and function keys stay", "\x1bOA\x1bOD\x1bOP\x1bOS", "\x1bOA\x1bOD\x1bOP\x1bOS"},
		{"home and end by the names that are known", "\x1bOH\x1bOF", "\x1b[H\x1b[F"},
		{"other keys of its kind say nothing", "a\x1bOE\x1bO5P\x1bOzb\x1bO", "ab"},
		{"alt+O and a control", "\x1bO\r", "\r"},
		{"a keypad inside of a paste stays", "\x1b[200~\x1bOy\x1b[201~", "\x1b[200~\x1bOy\x1b[201~"},
		{"after a paste they go", "\x1b[200~x\x1b[201~\x1b[24;80R", "\x1b[200~x\x1b[201~"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var f filter
			b := []byte(tc.in)
			if got := string(b[:f.apply(b)]); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestFlood(t *testing.T) {
	start := time.Now()
	for _, tc := range []struct{ name, in, want string }{
		{"a line and its enter", "prod\r", "prod\r"},
		{"two lines", "prod\ryes\r", "prod\nyes\n"},
		{"a line and a begun one", "prod\ry", "prod\ny"},
		{"lines of a table", "a\tb\rc\td\r", "a b\nc d\n"},
		{"a field, a tab and the next", "Ada\tLovelace", "Ada\tLovelace"},
		{"fields and an enter", "Ada\tLovelace\r", "Ada\tLovelace\r"},
		{"enters alone", "\r\r", "\r\r"},
		{"arrows and enters", "\x1b[B\r\x1b[B\r", "\x1b[B\r\x1b[B\r"},
		{"an enter before a line", "\rabc", "\rabc"},
		{"marked pastes are told by their marks", "\x1b[200~", "\x1b[200~"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var f flood
			b := []byte(tc.in)
			if f.apply(b, start); string(b) != tc.want {
				t.Errorf("got %q, want %q", b, tc.want)
			}
		})
	}
	var f flood
	f.apply([]byte("a\rb"), start)
	next := []byte("c\r")
	if f.apply(next, start.Add(floodPause-1)); string(next) != "c\n" {
		t.Errorf("what follows at once: %q", next)
	}
	next = []byte("c\r")
	if f.apply(next, start.Add(time.Second)); string(next) != "c\r" {
		t.Errorf("what follows later: %q", next)
	}
}

func TestFilterCapsPaste(t *testing.T) {
	var f filter
	var got bytes.Buffer
	in := "\x1b[200~" + strings.Repeat("x", MaxPaste+1000) + "\x1b[201~ok"
	for chunk := range slicesOf([]byte(in), 256) {
		got.Write(chunk[:f.apply(chunk)])
	}
	want := "\x1b[200~" + strings.Repeat("x", MaxPaste) + "\x1b[201~ok"
	if got.String() != want {
		t.Errorf("got %d bytes, want %d", got.Len(), len(want))
	}
}

// Where a read ends says nothing about what is a paste: with every length of one, its marks fall on the end of a read.
func TestMarksOnTheEndOfARead(t *testing.T) {
	for n := 200; n < 520; n++ {
		in, out, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r := NewReader(in, func(string) string { return "" })
		want := strings.Repeat("k", n-150) + "\x1b[200~" + strings.Repeat("漢", n/3) + "\x1b[201~\x1b[A"
		out.WriteString(want)
		var got strings.Builder
		for b := make([]byte, 256); got.Len() < len(want); {
			k, err := r.Read(b)
			if err != nil || incomplete(b[:k]) {
				t.Fatalf("%d: ends inside of something: %q, %v", n, b[:k], err)
			}
			got.Write(b[:k])
		}
		if got.String() != want || r.filter.paste || r.filter.pasted != 3*(n/3) {
			t.Fatalf("%d: a paste is open: %v, after %d bytes; got %q", n, r.filter.paste, r.filter.pasted, got.String())
		}
		in.Close()
		out.Close()
	}
}

// TM-03: a reply that is longer than a read types nothing, and what follows it or breaks it off is read.
func TestLongReplies(t *testing.T) {
	long := strings.Repeat("QUJD", 500)
	for _, tc := range []struct{ in, want string }{
		{"\x1b]52;c;" + long + "\x07k", "k"},
		{"\x1bP1+r" + long + "\x1b\\k", "k"},
		{"\x1b]52;c;" + long + "\x03k", "\x03k"},
		{"\x1b]52;c;" + long + "\x1b[Ak", "\x1b[Ak"},
		{"kkk\x1b]52;c;" + long + "\x07\x1b[200~x\x1b[201~", "kkk\x1b[200~x\x1b[201~"},
	} {
		in, out, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r := NewReader(in, func(string) string { return "" })
		out.WriteString(tc.in)
		out.Close()
		var got strings.Builder
		for b := make([]byte, 256); ; {
			n, err := r.Read(b)
			got.Write(b[:n])
			if err != nil {
				break
			}
		}
		if got.String() != tc.want {
			t.Errorf("%.20q…: got %.60q, want %q", tc.in, got.String(), tc.want)
		}
		in.Close()
	}
}

// A paste whose end was lost takes every key; ctrl+c ends it, after a silence.
func TestStuckPaste(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	r := NewReader(in, func(string) string { return "" })
	b := make([]byte, 256)
	for _, step := range []struct {
		silence  time.Duration
		in, want string
	}{{0, "\x1b[200~text", "\x1b[200~text"}, {0, "\x03", "\x03"}, {stuck, "k", "k"}, {stuck, "\x03", "\x1b[201~"}, {stuck, "\x03", "\x03"}} {
		r.last = time.Now().Add(time.Minute) // however long this test is kept waiting
		if step.silence > 0 {
			r.last = time.Now().Add(-step.silence)
		}
		out.WriteString(step.in)
		if n, _ := r.Read(b); string(b[:n]) != step.want {
			t.Errorf("%q after %v: got %q, want %q", step.in, step.silence, b[:n], step.want)
		}
	}
}

// The mark that ends a paste does so however late the rest of it comes, and ctrl+c where it never does. What a terminal that
// has gone has sent last is handed over.
func TestPasteEndInPieces(t *testing.T) {
	for at := 1; at < len(pasteEnd); at++ {
		for name, c := range map[string]struct{ first, rest, want string }{
			"in the paste":       {"text" + string(pasteEnd[:at]), string(pasteEnd[at:]) + "k", string(pasteEnd) + "k"},
			"alone":              {string(pasteEnd[:at]), string(pasteEnd[at:]), string(pasteEnd)},
			"behind its start":   {string(pasteEnd) + string(pasteStart) + "x" + string(pasteEnd[:at]), string(pasteEnd[at:]), string(pasteEnd)},
			"something else":     {"text" + string(pasteEnd[:at]), "zz", string(pasteEnd[:at]) + "zz"},
			"lost, after ctrl+c": {"text" + string(pasteEnd[:at]), "\x03", string(pasteEnd)},
		} {
			in, out, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			r := NewReader(in, func(string) string { return "" })
			r.Wait = time.Millisecond
			b := make([]byte, 256)
			read := func() string { n, _ := r.Read(b); return string(b[:n]) }
			out.WriteString("\x1b[200~")
			got := read()
			out.WriteString(c.first)
			if got = read(); got != strings.TrimSuffix(c.first, string(pasteEnd[:at])) {
				t.Errorf("%s, %d bytes: got %q first", name, at, got)
			}
			r.last = time.Now().Add(-stuck)
			out.WriteString(c.rest)
			if got = read(); got != c.want {
				t.Errorf("%s, %d bytes: got %q, want %q", name, at, got, c.want)
			}
			in.Close()
			out.Close()
		}
	}
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	r := NewReader(in, func(string) string { return "" })
	r.Wait = time.Millisecond
	out.WriteString("\x1b[200~text\x1b[2")
	out.Close()
	var got string
	for range 10 {
		b := make([]byte, 256)
		n, err := r.Read(b)
		if got += string(b[:n]); err != nil {
			break
		}
	}
	select {
	case <-r.Ended():
	default:
		t.Error("the end of the input was not told")
	}
	if got != "\x1b[200~text\x1b[2" {
		t.Errorf("got %q", got)
	}
}

// A key of a keypad that comes in pieces, the last one late, is no letter either; one typed long after alt+O is.
func TestKeypadInPieces(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	r := NewReader(in, func(string) string { return "" })
	r.Wait = time.Millisecond
	b := make([]byte, 256)
	for _, step := range []struct {
		late     string
		silent   bool
		in, want string
	}{{"", false, "\x1bOyk", "9k"}, {"y", false, "", "9"}, {"Ak", false, "", "k"}, {"zk", false, "", "zk"}, {"y", true, "", "y"}} {
		if step.late != "" {
			out.WriteString("x\x1bO")
			if n, _ := r.Read(b); string(b[:n]) != "x" {
				t.Fatalf("the beginning of a key: got %q", b[:n])
			}
		}
		if r.last = time.Now().Add(time.Minute); step.silent {
			r.last = time.Now().Add(-stuck)
		}
		out.WriteString(step.in + step.late)
		if n, _ := r.Read(b); string(b[:n]) != step.want {
			t.Errorf("%q: got %q, want %q", step.late+step.in, b[:n], step.want)
		}
	}
}

func slicesOf(b []byte, n int) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(b) > 0 {
			k := min(n, len(b))
			if !yield(b[:k]) {
				return
			}
			b = b[k:]
		}
	}
}

// A sequence that arrives in pieces is one Read; a lone escape is handed over after Wait.
func TestReaderPutsPiecesTogether(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	r := NewReader(in, func(string) string { return "" })
	r.Wait = 2 * time.Second
	read := func() string {
		t.Helper()
		b := make([]byte, 256)
		n, err := r.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	for _, pieces := range [][]string{{"\x1b", "[", "A"}, {"\x1b[20", "0~x\x1b[2", "01~"}, {"\xf0\x9f", "\x91", "\xa9"}} {
		out.WriteString(pieces[0])
		got := make(chan string, 1)
		go func() { got <- read() }()
		for _, p := range pieces[1:] {
			select {
			case s := <-got:
				t.Fatalf("read ended early with %q", s)
			case <-time.After(5 * time.Millisecond):
			}
			out.WriteString(p)
		}
		if s, want := <-got, strings.Join(pieces, ""); s != want {
			t.Errorf("got %q, want %q", s, want)
		}
	}
	r.Wait = time.Millisecond
	out.WriteString("\x1b")
	if s := read(); s != "\x1b" {
		t.Errorf("lone escape: got %q", s)
	}
	out.WriteString("\x1b[?1;2c")
	out.WriteString("k")
	if s := read(); s != "k" {
		t.Errorf("reply was not dropped: %q", s)
	}
	out.Close()
	if _, err := r.Read(make([]byte, 8)); err != io.EOF {
		t.Errorf("end: %v", err)
	}
	select {
	case <-r.Ended():
	default:
		t.Error("the end of the input was not told")
	}
}

func TestDetect(t *testing.T) {
	env := func(m map[string]string) func(string) string { return func(k string) string { return m[k] } }
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, tc := range []struct {
		name  string
		env   map[string]string
		flag  bool
		empty bool // no reason is told
	}{
		{"flag", map[string]string{"TERM": "xterm"}, true, true},
		{"accessible", map[string]string{"TERM": "xterm", "ACCESSIBLE": "1"}, false, true},
		{"our own", map[string]string{"TERM": "xterm", "ASKBACK_ACCESSIBLE": "1"}, false, true},
		{"dumb", map[string]string{"TERM": "dumb"}, false, false},
		{"no TERM", nil, false, false},
		{"no terminal", map[string]string{"TERM": "xterm"}, false, false},
		{"switched off", map[string]string{"TERM": "xterm", "ACCESSIBLE": "0"}, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Detect(null, null, env(tc.env), tc.flag)
			if got.Screen || (got.Why == "") != tc.empty {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func FuzzFilter(f *testing.F) {
	f.Add([]byte("a\x1b[A\x1b]11;x\x07"), 3)
	f.Add([]byte("a\x1bOy\x1bOH\x1bO5P\x1bO"), 9)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		var fl filter
		b = bytes.Clone(b)
		cut = min(max(0, cut), len(b))
		for _, part := range [][]byte{b[:cut], b[cut:]} {
			twice := bytes.Contains(part, []byte("\x1b\x1b")) // what follows a lone escape may be dropped
			n := fl.apply(part)
			if n > len(part) {
				t.Fatal("grew")
			}
			if got := part[:n]; !fl.paste && !twice && bytes.Contains(got, []byte("\x1bOy")) && !bytes.Contains(got, pasteEnd) {
				t.Fatalf("a key of the keypad passes: %q", got)
			}
			incomplete(part)
		}
	})
}
