//go:build unix

package mcpmgr

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"askback/mcpmgr/config"

	"golang.org/x/sys/unix"
)

// oddDiscovers are errors in reply to server/discover that only mean that it is not known.
var oddDiscovers = map[string]string{
	"beside a null":     `{"jsonrpc":"2.0","id":$ID,"result":null,"error":{"code":-32601,"message":"x"}}`,
	"float code":        `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601.0,"message":"x"}}`,
	"text for a code":   `{"jsonrpc":"2.0","id":$ID,"error":{"code":"-32601","message":"x"}}`,
	"null for a text":   `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":null}}`,
	"text for an error": `{"jsonrpc":"2.0","id":$ID,"error":"no such method"}`,
	"without an id":     `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`,
}

func init() {
	childPeers["std"] = func() *peer { return newPeer().handle("tools/call", askOnce(`{"k":`+yesForm+`}`, `"S1"`)) }
	childPeers["dies"] = func() *peer {
		fmt.Fprintln(os.Stderr, "starting up")
		return newPeer().handle("tools/call", func(r *preq) {
			if r.str("name") == "t" && r.raw("arguments", "ask") != "" && r.raw("inputResponses") == "" {
				r.result(inputRequired(`{"k":`+yesForm+`}`, `"S1"`))
				go func() {
					time.Sleep(50 * time.Millisecond)
					fmt.Fprintln(os.Stderr, "panic: while you think")
					os.Exit(4)
				}()
				return
			}
			fmt.Fprintln(os.Stderr, "panic: out of cheese")
			os.Exit(3)
		})
	}
	childPeers["garbled"] = func() *peer {
		return newPeer().handle("tools/call", func(r *preq) { fmt.Println("INFO reply: {}") })
	}
	childPeers["reply and exit"] = func() *peer {
		return newPeer().handle("tools/call", func(r *preq) { r.result(complete); os.Exit(0) })
	}
	childPeers["noisy"] = func() *peer {
		fmt.Println("Server started on stdio")
		fmt.Println()
		fmt.Println(`{"level":"info","msg":"not JSON-RPC"}`)
		fmt.Println(`{"jsonrpc":"2.0","method":7}`)
		fmt.Println(`{"jsonrpc":"2.0","id":{},"result":{}}`)
		fmt.Println(`[]`)
		fmt.Println(`{"jsonrpc":"2.0","id":4711,"result":{}}`)
		return newPeer()
	}
	childPeers["odd replies"] = func() *peer {
		return newPeer().handle("tools/call", func(r *preq) {
			id := string(r.ID)
			reply := map[string]string{
				"error a string":  `{"jsonrpc":"2.0","id":` + id + `,"error":"boom"}`,
				"error no code":   `{"jsonrpc":"2.0","id":` + id + `,"error":{"message":"x"}}`,
				"both":            `{"jsonrpc":"2.0","id":` + id + `,"result":{},"error":{"code":1,"message":"x"}}`,
				"neither":         `{"jsonrpc":"2.0","id":` + id + `}`,
				"no version":      `{"id":` + id + `,"result":{}}`,
				"deep":            `{"jsonrpc":"2.0","id":` + id + `,"result":{"x":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}}`,
				"duplicate":       `{"jsonrpc":"2.0","id":` + id + `,"result":{},"result":{}}`,
				"null result":     `{"jsonrpc":"2.0","id":` + id + `,"result":null}`,
				"two replies":     `{"jsonrpc":"2.0","id":` + id + `,"result":` + complete + "}\n" + `{"jsonrpc":"2.0","id":` + id + `,"result":{"content":"late"}}`,
				"NaN":             `{"jsonrpc":"2.0","id":` + id + `,"result":{"structuredContent":{"x":NaN}}}`,
				"string id":       `{"jsonrpc":"2.0","id":"` + id + `","result":` + complete + `}`,
				"float id":        `{"jsonrpc":"2.0","id":` + id + `.0,"result":` + complete + `}`,
				"null beside":     `{"jsonrpc":"2.0","id":` + id + `,"result":null,"error":{"code":1,"message":"no"}}`,
				"float code":      `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-3.0,"message":null}}`,
				"half id":         `{"jsonrpc":"2.0","id":` + id + `.5,"result":{"content":"wrong"}}` + "\n" + `{"jsonrpc":"2.0","id":` + id + `,"result":` + complete + `}`,
				"alone":           `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`,
				"bad in a batch":  `[{"jsonrpc":"2.0","id":4711,"result":{}},7,{"jsonrpc":"2.0","id":` + id + `,"result":` + complete + `},{"jsonrpc":"2.0","method":"notifications/x"},{}]`,
				"one in a batch":  `[7,{"jsonrpc":"2.0","id":` + id + `,"result":` + complete + `}]`,
				"asks twice":      `[{"jsonrpc":"2.0","id":` + id + `,"result":` + complete + `},{"jsonrpc":"2.0","id":5,"method":"ping"},{"jsonrpc":"2.0","id":5.0,"method":"ping"}]`,
				"replies batched": `[{"jsonrpc":"2.0","id":` + id + `,"result":` + complete + `}]`,
			}[r.str("arguments", "k")]
			r.done(reply)
		})
	}
	for name, reply := range oddDiscovers {
		childPeers["discover "+name] = func() *peer {
			p := newPeer().handle("server/discover", func(r *preq) { r.done(strings.ReplaceAll(reply, "$ID", string(r.ID))) })
			return p
		}
	}
	childPeers["endless"] = func() *peer {
		return newPeer().handle("tools/call", func(r *preq) {
			w := bufio.NewWriterSize(os.Stdout, 1<<20)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"x":"`, r.ID)
			for {
				if _, err := w.WriteString(strings.Repeat("x", 1<<20)); err != nil {
					os.Exit(0)
				}
			}
		})
	}
	childPeers["leaky"] = func() *peer {
		return newPeer().handle("tools/call", func(r *preq) {
			if st := r.raw("requestState"); st != "" {
				var s string
				_ = json.Unmarshal([]byte(st), &s)
				fmt.Fprintf(os.Stderr, "got state %s and raw %s end\n", s, st)
				fmt.Fprintln(os.Stderr, strings.Repeat("y", stderrLine-20)+s)
				r.result(complete)
				return
			}
			r.result(inputRequired("", `"state-\u00e9-0123456789-abcdef"`))
		})
	}
	childPeers["prints what it sends"] = func() *peer {
		return newPeer().handle("tools/call", func(r *preq) {
			if st := r.raw("requestState"); st != "" {
				var s string
				_ = json.Unmarshal([]byte(st), &s)
				fmt.Fprint(os.Stderr, "got ", s)
				r.result(complete)
				return
			}
			const state = "-----BEGIN STATE-----\\nMIIBsecret0123456789\\nQUJDsecret0123456789\\n"
			fmt.Fprintln(os.Stderr, "minted "+strings.ReplaceAll(state, `\n`, "\n"))
			time.Sleep(30 * time.Millisecond) // the line is read before the result
			r.result(inputRequired("", `"`+state+`"`))
		})
	}
	childMains["stubborn"] = func() {
		signal.Ignore(syscall.SIGTERM)
		go newPeer().stream(os.Stdin, os.Stdout)
		time.Sleep(time.Hour)
	}
	childMains["deaf"] = func() { // answers the first requests, then never reads again
		p := newPeer()
		sc := bufio.NewScanner(os.Stdin)
		for range 2 {
			sc.Scan()
			r := parseReq(sc.Bytes())
			r.done = func(l string) { fmt.Println(l) }
			p.serve(r)
		}
		time.Sleep(time.Hour)
	}
	childMains["grandchild"] = func() {
		c := exec.Command("sleep", "300")
		c.Stdout, c.Stderr = os.Stdout, os.Stderr // holds both pipes open
		_ = c.Start()
		_ = os.WriteFile(os.Getenv("ASKBACK_TEST_FILE"), []byte(strconv.Itoa(c.Process.Pid)), 0o600)
		newPeer().handle("tools/call", func(*preq) { os.Exit(5) }).stream(os.Stdin, os.Stdout)
	}
	childMains["reply with its input closed"] = func() { // the second of two writes finds the pipe broken
		p := newPeer().handle("tools/call", func(r *preq) {
			_ = syscall.Close(0)
			time.Sleep(300 * time.Millisecond)
			r.result(complete)
			fmt.Fprintln(os.Stderr, "enough for today")
			os.Exit(6)
		})
		p.stream(os.Stdin, os.Stdout)
	}
	childMains["closes stdout"] = func() {
		p := newPeer().handle("tools/call", func(*preq) { os.Stdout.Close() })
		p.stream(os.Stdin, os.Stdout)
	}
	childMains["environment"] = func() {
		dir, _ := os.Getwd()
		pgid, _ := syscall.Getpgid(0)
		sid, _ := unix.Getsid(0) // one that is not ours has no hold of the terminal
		text, _ := json.Marshal(fmt.Sprint(os.Args[1:], os.Getenv("ASKBACK_TOKEN"), os.Getenv("X_TEST"), " ", dir, " ", pgid == os.Getpid(), " ", sid == os.Getpid()))
		newPeer().handle("tools/call", func(r *preq) { r.result(`{"content":[{"type":"text","text":` + string(text) + `}]}`) }).stream(os.Stdin, os.Stdout)
	}
}

func startChildServer(t testing.TB, name string, opt Options, env ...config.Pair) *Manager {
	t.Helper()
	m := New(opt)
	m.grace = graces{eof: 100 * time.Millisecond, term: 100 * time.Millisecond}
	t.Cleanup(func() { m.Close() })
	m.Apply([]config.Server{childServer(name, env...)})
	waitReady(t, m, "s")
	return m
}

func TestChild(t *testing.T) {
	t.Parallel()
	t.Run("a form", func(t *testing.T) {
		log := filepath.Join(t.TempDir(), "in")
		m := startChildServer(t, "std", Options{}, config.Pair{Name: "ASKBACK_TEST_LOG", Value: log})
		if res, err := callT(t, m, `{"a": 9007199254740993}`, accept(yes)); err != nil || res.Legs != 2 {
			t.Fatal(res, err)
		}
		in, _ := os.ReadFile(log)
		if n := bytes.Count(in, []byte(`"arguments":{"a":9007199254740993}`)); n != 2 {
			t.Fatalf("%s", in)
		}
	})
	t.Run("TR-15 dies on the wire", func(t *testing.T) {
		m := startChildServer(t, "dies", Options{})
		b := bind(t, m, "t")
		began := time.Now()
		_, err := m.CallTool(t.Context(), b, nil, Handlers{})
		e := wantCode(t, err, CodeOutcomeUnknown)
		if !strings.Contains(e.Message, "exited with code 3") || !strings.Contains(e.Message, "panic: out of cheese") || !strings.Contains(e.Message, "starting up") {
			t.Fatal("ML-24:", e.Message)
		}
		if d := time.Since(began); d > 10*time.Second {
			t.Fatal("not at once:", d)
		}
		eventually(t, "the report", func() bool {
			st, _ := m.Server("s")
			return st.State != StateReady || st.Generation != b.Generation
		})
	})
	t.Run("dies while the form is open", func(t *testing.T) {
		m := startChildServer(t, "dies", Options{})
		f := newOpenForm()
		_, err := m.CallTool(t.Context(), bind(t, m, "t"), json.RawMessage(`{"ask":1}`), f.handlers())
		e := wantCode(t, err, CodeConnectionLost)
		if e.Uncertain || !strings.Contains(e.Message, "while you think") {
			t.Fatalf("%+v", e)
		}
		st, _ := m.Server("s")
		if st.State == StateFailed && !strings.Contains(st.Reason, "exited with code 4") {
			t.Fatalf("%+v", st)
		}
	})
	t.Run("replies and exits", func(t *testing.T) {
		m := startChildServer(t, "reply and exit", Options{})
		if _, err := callT(t, m, `{}`, Handlers{}); err != nil {
			t.Fatal("a reply that came was dropped:", err)
		}
	})
	t.Run("replies after its input broke", func(t *testing.T) {
		m := startChildServer(t, "reply with its input closed", Options{})
		first := begin(t.Context(), m, bind(t, m, "t"), Handlers{})
		v := m.server("s")
		s, _, _ := v.current()
		for range 3 { // a read that was on its way takes the first
			time.Sleep(50 * time.Millisecond)
			_ = s.link.notify(t.Context(), "notifications/x", nil)
		}
		if err := first.wait(t); err != nil {
			t.Error("a reply that came was dropped:", err)
		}
		eventually(t, "the report", func() bool {
			return strings.Contains(fmt.Sprint(s.link.lost()), "exited with code 6; its last words:\nenough for today")
		})
	})
	t.Run("killed from outside", func(t *testing.T) {
		m := startChildServer(t, "std", Options{})
		v := m.server("s")
		s, _, _ := v.current()
		f := newOpenForm()
		o := begin(t.Context(), m, bind(t, m, "t"), f.handlers())
		<-f.asked
		_ = syscall.Kill(s.child.cmd.Process.Pid, syscall.SIGKILL)
		if e := wantCode(t, o.wait(t), CodeConnectionLost); !strings.Contains(e.Message, "killed") {
			t.Fatal(e)
		}
	})
	t.Run("noise is dropped", func(t *testing.T) {
		var log syncBuffer
		m := startChildServer(t, "noisy", Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if _, err := callT(t, m, `{}`, Handlers{}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(log.String(), "Server started on stdio") || strings.Contains(log.String(), "not JSON-RPC") {
			t.Fatal("the log says too little or too much:", log.String())
		}
	})
	t.Run("odd replies", func(t *testing.T) {
		m := startChildServer(t, "odd replies", Options{})
		for _, k := range []string{"both", "neither", "no version", "deep", "null result", "duplicate", "NaN"} {
			_, err := callT(t, m, `{"k":"`+k+`"}`, Handlers{})
			if CodeOf(err) != CodeProtocolError {
				t.Errorf("%s: %v", k, err)
			}
		}
		for _, k := range []string{"error a string", "error no code", "null beside", "float code", "alone"} {
			_, err := callT(t, m, `{"k":"`+k+`"}`, Handlers{})
			if CodeOf(err) != CodeServerError {
				t.Errorf("%s: %v", k, err)
			}
		}
		for _, k := range []string{"half id", "bad in a batch", "one in a batch", "asks twice", "two replies", "replies batched", "string id", "float id"} {
			if _, err := callT(t, m, `{"k":"`+k+`"}`, Handlers{}); err != nil {
				t.Errorf("%s: %v", k, err)
			}
		}
	})
	for name := range oddDiscovers {
		t.Run("discover is refused by an odd error, "+name, func(t *testing.T) {
			m := startChildServer(t, "discover "+name, Options{})
			if st, _ := m.Server("s"); st.State != StateReady || st.Era != EraLegacy {
				t.Errorf("%+v", st)
			}
		})
	}
	t.Run("a garbled reply is shown", func(t *testing.T) {
		m := startChildServer(t, "garbled", Options{LegTimeout: 2 * time.Second})
		_, err := callT(t, m, `{}`, Handlers{})
		if e := wantCode(t, err, CodeTimeout); !strings.Contains(e.Message, "INFO reply") {
			t.Fatal(e)
		}
	})
	t.Run("an endless line", func(t *testing.T) {
		m := startChildServer(t, "endless", Options{})
		_, err := callT(t, m, `{}`, Handlers{})
		wantCode(t, err, CodeLimitExceeded)
	})
	t.Run("stops reading", func(t *testing.T) {
		m := startChildServer(t, "deaf", Options{LegTimeout: 200 * time.Millisecond})
		big := `{"x":"` + strings.Repeat("y", 1<<20) + `"}`
		began := time.Now()
		_, err := callT(t, m, big, Handlers{})
		wantCode(t, err, CodeTimeout)
		if e := wantCode(t, func() error { _, err := callT(t, m, `{}`, Handlers{}); return err }(), CodeTimeout); e.Uncertain {
			t.Fatal("the second call cannot have left")
		}
		m.Close()
		if d := time.Since(began); d > 10*time.Second {
			t.Fatal(d)
		}
	})
	t.Run("ignores end of input and SIGTERM", func(t *testing.T) {
		m := startChildServer(t, "stubborn", Options{})
		began := time.Now()
		m.Close()
		if d := time.Since(began); d < 200*time.Millisecond || d > 10*time.Second {
			t.Fatal(d)
		}
	})
	t.Run("a grandchild holds the pipes", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "pid")
		m := startChildServer(t, "grandchild", Options{}, config.Pair{Name: "ASKBACK_TEST_FILE", Value: file})
		text, _ := os.ReadFile(file)
		pid, _ := strconv.Atoi(string(text))
		began := time.Now()
		_, err := callT(t, m, `{}`, Handlers{})
		if e := wantCode(t, err, CodeOutcomeUnknown); !strings.Contains(e.Message, "code 5") {
			t.Fatal(e)
		}
		if d := time.Since(began); d > 10*time.Second {
			t.Fatal("not at once:", d)
		}
		eventually(t, "the end of the grandchild", func() bool {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			return err != nil || bytes.Contains(stat, []byte(") Z "))
		})
	})
	t.Run("closes its output", func(t *testing.T) {
		m := startChildServer(t, "closes stdout", Options{})
		_, err := callT(t, m, `{}`, Handlers{})
		wantCode(t, err, CodeOutcomeUnknown)
	})
	t.Run("environment", func(t *testing.T) {
		dir := t.TempDir()
		cfg := childServer("environment", config.Pair{Name: "X_TEST", Value: "v 1"})
		cfg.Args, cfg.Dir = []string{"a b", "$HOME"}, dir
		m := startServers(t, Options{}, cfg)
		waitReady(t, m, "s")
		res, err := callT(t, m, `{}`, Handlers{})
		if err != nil {
			t.Fatal(err)
		}
		if real, _ := filepath.EvalSymlinks(dir); !strings.Contains(string(res.Content[0]), `[a b $HOME]v 1 `+real+` true true`) {
			t.Fatalf("%s", res.Content[0])
		}
	})
}

// TestPathOfEntry: a command is found by the PATH that the entry sets, else by ours.
func TestPathOfEntry(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Symlink(os.Args[0], filepath.Join(dir, "only-there")); err != nil {
		t.Fatal(err)
	}
	cfg := childServer("noisy", config.Pair{Name: "PATH", Value: "/no/such:rel:" + dir})
	for _, command := range []string{"only-there", "sh"} {
		cfg.Command, cfg.Args = command, nil
		if command == "sh" {
			cfg.Args = []string{"-c", `exec "$0"`, os.Args[0]}
		}
		m := startServers(t, Options{}, cfg)
		waitReady(t, m, "s")
		m.Close()
	}
}

// TestNoStart: what does not start says why, once, and waits for a person.
func TestNoStart(t *testing.T) {
	t.Parallel()
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	lost := filepath.Join(t.TempDir(), "lost")
	if err := os.WriteFile(lost, []byte("#!/no/such/interpreter\r\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for says, cfg := range map[string]config.Server{
		`is there, but the interpreter`:                            {Command: lost},
		`"./lost" is there, but`:                                   {Command: "./lost", Dir: filepath.Dir(lost)},
		`"lost" is there, but`:                                     {Command: "lost", Env: []config.Pair{{Name: "PATH", Value: filepath.Dir(lost)}}},
		`"./gone" was not found`:                                   {Command: "./gone", Dir: filepath.Dir(lost)},
		`the command "no-such-command-anywhere" was not found`:     {Command: "no-such-command-anywhere"},
		`was not found; what stands after the program belongs`:     {Command: "no-such-command -y @scope/server"},
		`was not found; ~ means nothing here, ${HOME} does`:        {Command: "~/no such command"},
		`is not executable`:                                        {Command: plain},
		`the folder "/no/such/folder" to start the server in does`: {Command: os.Args[0], Dir: "/no/such/folder"},
	} {
		cfg.Name, cfg.Transport = "s", config.Stdio
		m := startServers(t, Options{}, cfg)
		err := m.Wait(t.Context(), "s")
		st, _ := m.Server("s")
		if err == nil || !strings.Contains(st.Reason, says) || !st.Retry.IsZero() {
			t.Errorf("%v %+v", err, st)
		}
	}
}

// TestStderrBeforeTheState: a line that betrays a state before the result that bears it, and a state of several lines,
// are in no log.
func TestStderrBeforeTheState(t *testing.T) {
	t.Parallel()
	var log syncBuffer
	m := startChildServer(t, "prints what it sends", Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if _, err := callT(t, m, `{}`, accept(nil)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "stderr", func() bool { return strings.Count(log.String(), "msg=stderr") >= 7 })
	st, _ := m.Server("s")
	if all := strings.Join(st.Stderr, "\n") + log.String(); strings.Contains(all, "secret") || !strings.Contains(all, "minted [redacted]") {
		t.Errorf("%s", all)
	}
}

func TestStderrStates(t *testing.T) {
	t.Parallel()
	var log syncBuffer
	m := startChildServer(t, "leaky", Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if _, err := callT(t, m, `{}`, accept(nil)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "stderr", func() bool { st, _ := m.Server("s"); return len(st.Stderr) == 2 })
	st, _ := m.Server("s")
	all := strings.Join(st.Stderr, "\n") + log.String()
	for _, leak := range []string{"0123456789", `\u00e9-0`, "state-é-01", "state-\\"} {
		if strings.Contains(all, leak) {
			t.Fatalf("SE-04: a state is in stderr or the log: %.300s", all)
		}
	}
	if !strings.Contains(st.Stderr[0], "got state [redacted] and raw") {
		t.Fatal(st.Stderr[0])
	}
}
