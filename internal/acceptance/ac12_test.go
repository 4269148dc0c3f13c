package acceptance

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"askback/hostclient"
	"askback/protocol"
)

// The states as they could stand anywhere, and what the person types.
var (
	stateMarkers  = []string{stateOne, stateTwo, stateTwoRaw, "state-of-the-second"}
	answerMarkers = []string{"typed-by-hand-1111", "typed-by-hand-2222", "typed-by-hand-3333", "typed-by-hand-4444", "given-by-a-script-5555", "given-by-a-script-6666"}
)

// 12. requestState and raw answers are absent from model-visible events, logs, telemetry, stored records and frames that
// do not carry them, screens, transcripts and results.
func TestAC12_what_is_told_to_nobody(t *testing.T) { ac12(live{t}) }

// leaks is everything that was written while servers gave their states back and a person typed answers.
type leaks struct {
	m       *machines
	events  []hostclient.Event
	screens []string // without an open form
	opened  []string // with one
	rows    []protocol.Row
	raw     string // what the terminal was sent on the main run, escape sequences and all
	host    string // its log
	log     string // the program's, at debug level
	call    struct{ stdout, stderr, log string }
}

func ac12(t T) {
	t.Parallel()
	l := leak(t)
	t.Run("events", func(t T) {
		if len(l.events) < 20 {
			t.Errorf("only %d events", len(l.events))
		}
		for _, ev := range l.events {
			if s, ok := ev.(hostclient.InteractionSettled); ok {
				absent(t, "an event", jsonOf(t, ev), stateMarkers)
				s.Interaction.Outcome = nil // the answer's place
				ev = s
			}
			absent(t, "an event", jsonOf(t, ev), stateMarkers, answerMarkers)
		}
	})
	t.Run("records", func(t T) { l.m.left(t, 4) })
	t.Run("frames", l.frames)
	t.Run("screen", func(t T) {
		for _, s := range l.screens {
			absent(t, "the screen", s, stateMarkers, answerMarkers)
		}
		if len(l.opened) != 4 {
			t.Errorf("%d forms were seen", len(l.opened))
		}
		for i, s := range l.opened {
			absent(t, "a form", s, stateMarkers)
			if !strings.Contains(s, answerMarkers[i]) {
				t.Errorf("the form does not show %s:\n%s", answerMarkers[i], s)
			}
		}
		absent(t, "the terminal's bytes", l.raw, stateMarkers)
	})
	t.Run("log_debug", func(t T) {
		for name, log := range map[string]string{"the Host's": l.host, "the program's": l.log, "that of call": l.call.log} {
			absent(t, name+" log", log, stateMarkers, answerMarkers)
			if !strings.Contains(log, `"level":"`) {
				t.Errorf("%s log: %q", name, log)
			}
		}
		if n := strings.Count(l.log, "debug: state"); n != 5 || strings.Count(l.log, "[redacted]") < n {
			t.Errorf("the program's log has %d of the servers' lines:\n%s", n, l.log)
		}
	})
	t.Run("stderr", func(t T) {
		absent(t, "stderr of call", l.call.stderr, stateMarkers, answerMarkers)
		absent(t, "stderr of the Host", l.host, stateMarkers, answerMarkers)
	})
	t.Run("transcript", func(t T) {
		n := map[string]int{}
		for _, row := range l.rows {
			n[string(row.Type)]++
			absent(t, "a row", jsonOf(t, row), stateMarkers, answerMarkers)
		}
		if n["tool_call"] != 4 || n["tool_result"] != 4 {
			t.Errorf("rows: %v", n)
		}
	})
	t.Run("result", func(t T) {
		redacted := 0
		for _, row := range l.rows {
			if row.Type == protocol.RowToolResult {
				text := jsonOf(t, row)
				absent(t, "a result", text, stateMarkers, answerMarkers)
				redacted += strings.Count(text, "[redacted]")
			}
		}
		if redacted < 6 {
			t.Errorf("%d states are replaced in the results, and the servers gave back more", redacted)
		}
		absent(t, "the result of call", l.call.stdout, stateMarkers, answerMarkers)
		if strings.Count(l.call.stdout, "[redacted]") < 4 || !json.Valid([]byte(l.call.stdout)) {
			t.Errorf("the result of call: %s", l.call.stdout)
		}
	})
	t.Run("after_a_crash", crash)
}

// startReflecting has the servers that give their states back as the configuration, and a Host that logs all it can.
func startReflecting(t T) *machines {
	m := startMachines(t)
	servers := map[string]any{}
	for name := range reflecting {
		env := map[string]string{serveAs: name, recordTo: m.path("record-" + name), "GORACE": "atexit_sleep_ms=0", asProgram: ""}
		if f := t.Fault(); f != nil && f.tell {
			env[tellAnswers] = "1"
		}
		servers[name] = map[string]any{"command": os.Args[0], "env": env}
	}
	m.write("demo.json", jsonOf(t, map[string]any{"mcpServers": servers}))
	m.host.end(syscall.SIGTERM)
	m.args = append(m.args, "--log-level", "debug")
	m.restart()
	return m
}

// reflected is a person before a terminal with those servers, which logs all it can.
func (m *machines) reflected(session string) *person {
	p := m.person(append([]string{"--config", m.path("demo.json"), "--provider-token-file", m.path("provider.token"), "--session", session,
		"--log-file", m.path("log"), "--log-level", "debug"}, m.flags...)...)
	p.see("servers 4/4", "session deploys")
	return p
}

// answer types a text into the form that opens and submits it; the screen is the form with the text.
func (p *person) answer(text string) (screen string) {
	p.t.Helper()
	p.see("Please", "field 1 of 1")
	p.ready()
	p.text(text)
	screen = p.screen.Text()
	p.press("\r")
	p.see("s submit")
	p.ready()
	p.press("s")
	p.gone(text)
	return screen
}

// crash wants no state in what is left when the program and its Host die while a form of the second round is open, and
// the program says where each of its goroutines was.
func crash(t T) {
	m := startReflecting(t)
	session := m.session()
	p := m.reflected(session)
	p.enter("/call result/ask {}")
	p.see("Please", "field 1 of 1")
	first := m.asked(session)
	p.answer(answerMarkers[0])
	waitFor(t, "the second form", func() bool {
		list := m.pending(session)
		return len(list) == 1 && list[0].InteractionID != first.InteractionID
	})
	p.see("Please", "field 1 of 1")
	p.end(syscall.SIGABRT)
	m.host.end(syscall.SIGKILL)
	if all := p.all.String(); !strings.Contains(all, "goroutine ") {
		t.Errorf("the program does not say where it was: %q", all[max(0, len(all)-500):])
	}
	absent(t, "the terminal's bytes", p.all.String(), stateMarkers)
	absent(t, "the Host's log", m.host.errs.String(), stateMarkers, answerMarkers)
	for _, f := range m.relay.seen() {
		absent(t, "a frame", f.text, stateMarkers)
	}
	m.left(t, 1)
	if legs := read(t, m.path("record-result")); strings.Count(legs, stateOne) != 1 || strings.Count(legs, `"tools/call"`) != 2 {
		t.Errorf("the server was sent %s", legs)
	}
}

// leak runs it all: four calls of a person on a Host, one of a script without.
func leak(t T) *leaks {
	m := startReflecting(t)
	l := &leaks{m: m}
	session := m.session()
	if err := m.view.Show(m.ctx(), session, hostclient.ShowOptions{Rows: true}); err != nil {
		t.Fatal(err)
	}
	watching, stop := context.WithCancel(context.Background())
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for {
			ev, err := m.view.Next(watching)
			if err != nil {
				return
			}
			l.events = append(l.events, ev)
		}
	}()
	defer stop()

	p := m.reflected(session)
	answer := func(marker string) { l.opened = append(l.opened, p.answer(marker)) }
	p.enter("/call result/ask {}")
	answer(answerMarkers[0])
	answer(answerMarkers[1])
	p.see("done")
	l.screens = append(l.screens, p.screen.Text())
	p.enter("/call iserror/ask {}")
	answer(answerMarkers[2])
	p.see("failed with")
	p.enter("/call error/ask {}")
	answer(answerMarkers[3])
	p.see("server_error")
	l.screens = append(l.screens, p.screen.Text())
	p.enter("/call form/ask {}")
	p.see("invalid_form")
	l.screens = append(l.screens, p.screen.Text())
	p.press("\x0c") // the whole screen anew
	if n := len(m.pending(session)); n != 0 {
		t.Errorf("%d forms are pending", n)
	}
	l.rows = m.rows(session)
	p.press(ctrlQ)
	select {
	case <-p.ended:
	case <-time.After(patience):
		t.Fatalf("the program does not end:\n%s", p.screen.Text())
	}
	stop()
	<-watched
	m.host.end(syscall.SIGTERM)
	l.raw, l.host, l.log = p.all.String(), m.host.errs.String(), read(t, m.path("log"))

	answers := m.write("answers", `[{"action":"accept","values":{"v":"`+answerMarkers[4]+`"}},{"action":"accept","values":{"w":"`+answerMarkers[5]+`"}}]`)
	var code int
	code, l.call.stdout, l.call.stderr = m.run("call", "result/ask", "--config", m.path("demo.json"), "--answers", answers, "--json", "--log-file", m.path("call-log"), "--log-level", "debug")
	if code != 0 {
		t.Errorf("call: %d %s%s", code, l.call.stdout, l.call.stderr)
	}
	l.call.log = read(t, m.path("call-log"))
	if err := os.Remove(answers); err != nil {
		t.Fatal(err)
	}
	// The answers did reach the servers, each in one retry.
	legs := ""
	for name := range reflecting {
		legs += read(t, m.path("record-"+name))
	}
	for _, a := range answerMarkers {
		if n := strings.Count(legs, a); n != 1 {
			t.Errorf("%s was sent %d times", a, n)
		}
	}
	if n := strings.Count(legs, `"tools/call"`); n != 3+2+2+2+3 {
		t.Errorf("%d tools/call", n)
	}
	return l
}

// left wants nothing in any file but what a record must hold: an answer in its Interaction's outcome, of which there are
// so many.
func (m *machines) left(t T, answers int) {
	files := 0
	err := filepath.WalkDir(m.dir, func(path string, d fs.DirEntry, err error) error {
		name, relErr := filepath.Rel(m.dir, path)
		if err != nil || relErr != nil || d.IsDir() || strings.HasPrefix(name, "record-") {
			return err
		}
		files++
		text := read(t, path)
		absent(t, name, text, stateMarkers)
		if !strings.HasSuffix(name, ".db") {
			absent(t, name, text, answerMarkers)
			return nil
		}
		return stored(t, path, answers)
	})
	if err != nil || files < 8 {
		t.Errorf("%d files: %v", files, err)
	}
}

func stored(t T, path string, want int) error {
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return err
	}
	defer db.Close()
	answers := 0
	err = db.View(func(tx *bolt.Tx) error {
		return tx.ForEach(func(bucket []byte, b *bolt.Bucket) error {
			return b.ForEach(func(k, v []byte) error {
				absent(t, "a key", string(k), stateMarkers, answerMarkers)
				var rec map[string]json.RawMessage
				if string(bucket) == "interactions" {
					if err := json.Unmarshal(v, &rec); err != nil {
						return err
					}
					if bytes.Contains(rec["outcome"], []byte("typed-by-hand")) {
						answers++
					}
					delete(rec, "outcome")
					v = []byte(jsonOf(t, rec))
				}
				absent(t, "a record in "+string(bucket), string(v), stateMarkers, answerMarkers)
				return nil
			})
		})
	})
	if answers != want {
		t.Errorf("%d answers are on record, want %d", answers, want)
	}
	return err
}

// frames wants no state in any frame of either connection, and answers only in those that bring them.
func (l *leaks) frames(t T) {
	carried := map[string]int{}
	for _, f := range l.m.relay.seen() {
		var head struct{ Kind, Operation string }
		if err := json.Unmarshal([]byte(f.text), &head); err != nil {
			t.Fatalf("%s: %v", f.text, err)
		}
		absent(t, "a frame", f.text, stateMarkers)
		name := head.Kind + head.Operation
		switch {
		case f.up && name == "interaction.answer", !f.up && (name == "interaction.answer" || name == "interaction.query"),
			!f.up && f.role == asProvider && name == "client.capability.interaction_result":
			if strings.Contains(f.text, "typed-by-hand") {
				carried[name]++
			}
		default:
			absent(t, "a frame of the "+f.role, f.text, answerMarkers)
		}
	}
	if carried["interaction.answer"] < 4 || carried["client.capability.interaction_result"] != 4 {
		t.Errorf("answers were carried by %v", carried)
	}
}

// rows are a session's transcript as a surface that comes later reads it.
func (m *machines) rows(session string) (rows []protocol.Row) {
	m.t.Helper()
	v := m.newView()
	defer v.Close()
	if err := v.Ready(m.ctx()); err != nil {
		m.t.Fatal(err)
	}
	if err := v.Show(m.ctx(), session, hostclient.ShowOptions{Rows: true}); err != nil {
		m.t.Fatal(err)
	}
	for {
		ev, err := v.Next(m.ctx())
		if err != nil {
			m.t.Fatal(err)
		}
		if e, ok := ev.(hostclient.TranscriptRows); ok {
			for _, r := range e.Rows {
				rows = append(rows, r.Row)
			}
			return rows
		}
	}
}

func read(t T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// jsonOf is JSON without escapes that are not needed.
func jsonOf(t T, v any) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatalf("%T: %v", v, err)
	}
	return strings.TrimSpace(b.String())
}

// absent wants none of the markers in a text, neither as it stands nor, where it is JSON, in what it says.
func absent(t T, what, text string, lists ...[]string) {
	t.Helper()
	said := []string{text}
	var v any
	if json.Unmarshal([]byte(text), &v) == nil {
		said = append(said, words(v)...)
	}
	for _, list := range lists {
		for _, marker := range list {
			for _, s := range said {
				if i := strings.Index(s, marker); i >= 0 {
					t.Errorf("%s holds %s: …%s…", what, marker, s[max(0, i-200):min(len(s), i+100)])
				}
			}
		}
	}
}

// words are all strings in a JSON value, those of base64 as what they stand for, too: transcript rows are brought so.
func words(v any) (out []string) {
	switch v := v.(type) {
	case string:
		out = append(out, v)
		if data, err := base64.StdEncoding.DecodeString(v); err == nil && len(v) >= 16 {
			out = append(out, string(data))
			var inner any
			if json.Unmarshal(data, &inner) == nil {
				out = append(out, words(inner)...)
			}
		}
	case []any:
		for _, e := range v {
			out = append(out, words(e)...)
		}
	case map[string]any:
		for k, e := range v {
			out = append(append(out, k), words(e)...)
		}
	}
	return out
}
