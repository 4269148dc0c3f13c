package app

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"askback/internal/acceptance/peer"
)

const deployArgs = `{"artifact":"build-42"}`

// Every row of the exit-code table, as the program itself, with the JSON that scripts get.
func TestExitCodes(t *testing.T) {
	w := newWorld(t)
	answers := w.write("answers.json", `{"action":"accept","values":{"environment":"staging","confirm":true}}`)
	short := w.write("one.json", `[{"action":"accept","values":{"name":"a","kind":"library"}}]`)
	wrong := w.write("wrong.json", `{"action":"accept","values":{"environment":"moon","confirm":true}}`)
	broken := w.write("broken.json", `{"mcpServers":{"x":{"command":7}}}`)
	for _, c := range []struct {
		name string
		args []string
		exit int
		code string // of the error; "" for a result
	}{
		{"result", []string{"call", "demo/plain"}, 0, ""},
		{"SC-09 accepted by --set", []string{"call", "demo/deploy", "--args", deployArgs, "--set", "environment=staging", "--set", "confirm=true"}, 0, ""},
		{"result by --answers", []string{"call", "demo/deploy", "--args", deployArgs, "--answers", answers}, 0, ""},
		{"result by --accept", []string{"call", "demo/confirm", "--accept"}, 0, ""},
		{"the tool's own error", []string{"call", "demo/deploy", "--args", deployArgs, "--set", "environment=staging", "--set", "confirm=false"}, 1, "server_error"},
		{"round limit", []string{"call", "demo/mrtr_loop", "--decline"}, 1, "round_limit"},
		{"arguments against the schema", []string{"call", "demo/deploy", "--args", `{"artifact":7}`}, 1, "protocol_error"},
		{"unknown flag", []string{"call", "demo/plain", "--nope"}, 2, "usage"},
		{"no tool", []string{"call", "demo"}, 2, "usage"},
		{"arguments are no JSON", []string{"call", "demo/plain", "--args", "{"}, 2, "usage"},
		{"no answers file", []string{"call", "demo/plain", "--answers", "gone.json"}, 2, "usage"},
		{"wrong answer", []string{"call", "demo/deploy", "--args", deployArgs, "--answers", wrong}, 2, "invalid_answer"},
		{"unknown field", []string{"call", "demo/deploy", "--args", deployArgs, "--set", "moon=1"}, 2, "invalid_answer"},
		{"input required", []string{"call", "demo/deploy", "--args", deployArgs}, 3, "input_required"},
		{"too few answers", []string{"call", "demo/wizard", "--answers", short}, 3, "input_required"},
		{"SC-06 --accept does not fill in required fields", []string{"call", "demo/deploy", "--args", deployArgs, "--accept"}, 3, "input_required"},
		{"SC-09 declined", []string{"call", "demo/deploy", "--args", deployArgs, "--decline"}, 4, "server_error"},
		{"SC-09 dismissed", []string{"call", "demo/deploy", "--args", deployArgs, "--cancel"}, 4, "server_error"},
		{"unknown server", []string{"call", "moon/plain"}, 5, "not_found"},
		{"unknown tool", []string{"call", "demo/moon"}, 5, "not_found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := w.run(append(append([]string{"--config", w.path("demo.json")}, c.args...), "--json")...)
			if r.code != c.exit {
				t.Errorf("exit %d, want %d\nstdout %s\nstderr %s", r.code, c.exit, r.stdout, r.stderr)
			}
			if c.code == "" {
				if r.json(t)["result"] == nil {
					t.Errorf("no result: %s", r.stdout)
				}
			} else if got := r.errorCode(t); got != c.code {
				t.Errorf("code %q, want %q", got, c.code)
			}
		})
	}
	t.Run("configuration", func(t *testing.T) {
		if r := w.run("--config", broken, "tools", "--json"); r.code != 2 || r.errorCode(t) != "usage" || !strings.Contains(r.stderr, "command") {
			t.Errorf("%+v", r)
		}
		if r := w.run("tools", "--json"); r.code != 2 || r.errorCode(t) != "usage" {
			t.Errorf("without a configuration: %+v", r)
		}
	})
	t.Run("Host not there", func(t *testing.T) {
		token := w.write("token", "askb_rh_"+strings.Repeat("A", 43))
		if r := w.run("--config", w.path("demo.json"), "call", "demo/plain", "--host", "ws://127.0.0.1:1", "--token-file", token, "--json"); r.code != 5 || r.errorCode(t) != "unreachable" {
			t.Errorf("%+v", r)
		}
	})
}

// The codes of calls to servers that an SDK would not write.
func TestExitCodesOfOddServers(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		exit   int
		code   string
	}{
		"url mode":            {peer.Round(`"s"`, `"u":{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://example.com/","elicitationId":"1"}}`), 1, "unsupported_input"},
		"sampling":            {peer.Round(`"s"`, `"u":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}`), 1, "unsupported_input"},
		"result type":         {`{"resultType":"hologram"}`, 1, "unsupported_result"},
		"schema":              {peer.Round(`"s"`, `"k":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string","pattern":"x"}}}}}`), 1, "invalid_form"},
		"state over 16 KiB":   {peer.Round(`"` + strings.Repeat("s", 17<<10) + `"`), 1, "limit_exceeded"},
		"neither":             {peer.Round(""), 1, "protocol_error"},
		"JSON-RPC error":      {`error:{"code":-32000,"message":"no"}`, 1, "server_error"},
		"connection in a leg": {peer.HangUp, 7, "outcome_unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s := peer.New(c.script, peer.Done)
			w.write("peer.json", `{"mcpServers":{"peer":{"protocol":"modern","url":"`+s.Start(t)+`"}}}`)
			r := w.run("--config", w.path("peer.json"), "call", "peer/ask", "--set", "v=x", "--json")
			if got := r.errorCode(t); r.code != c.exit || got != c.code {
				t.Errorf("exit %d code %q, want %d %q\n%s", r.code, got, c.exit, c.code, r.stderr)
			}
			if n := len(s.Calls()); n != 1 {
				t.Errorf("%d tools/call", n)
			}
		})
	}
	t.Run("timeout", func(t *testing.T) {
		w := newWorld(t)
		s := peer.New(peer.Done)
		defer s.Hold(1)()
		w.write("peer.json", `{"mcpServers":{"peer":{"protocol":"modern","timeout":5000,"url":"`+s.Start(t)+`"}}}`)
		r := w.run("--config", w.path("peer.json"), "call", "peer/ask", "--json")
		if r.code != 7 || r.errorCode(t) != "timeout" || len(s.Calls()) != 1 {
			t.Errorf("%+v", r)
		}
	})
}

// A server that dies in the middle of a leg: the effect is unknown, and nothing is repeated.
func TestKilledServerIsOutcomeUnknown(t *testing.T) {
	w := newWorld(t)
	cmd, finish := w.slowCall()
	killChildren(t, cmd.Process.Pid)
	r := finish()
	if r.code != 7 || r.errorCode(t) != "outcome_unknown" || w.calls() != 1 {
		t.Errorf("%d calls, %+v", w.calls(), r)
	}
}

func (w *world) awaitCalls(n int) {
	w.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); w.calls() < n; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("the server saw %d tools/call", w.calls())
		}
	}
}

// A signal stops the Turn and exits 6, without a retry: while a form could be open, and during a leg.
func TestSignalStopsTheTurn(t *testing.T) {
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		t.Run(sig.String(), func(t *testing.T) {
			w := newWorld(t)
			cmd, finish := w.slowCall()
			cmd.Process.Signal(sig)
			r := finish()
			if r.code != 6 || r.errorCode(t) != "cancelled" || w.calls() != 1 {
				t.Errorf("%d calls, %+v", w.calls(), r)
			}
			if e := r.json(t)["error"].(map[string]any); e["uncertain"] != true {
				t.Errorf("a leg was on the wire: %s", r.stdout)
			}
			if strings.Contains(r.stderr, "goroutine") { // what Go does at a SIGQUIT, which a terminal sends for ctrl+\
				t.Error(r.stderr)
			}
		})
	}
}

// A failure's code decides the exit code for every code of the closed list.
func TestCodeExit(t *testing.T) {
	want := map[string]int{"server_error": 1, "unsupported_input": 1, "unsupported_result": 1, "invalid_form": 1,
		"limit_exceeded": 1, "round_limit": 1, "protocol_error": 1, "invalid_answer": 2, "no_handler": 3,
		"connection_lost": 5, "stale_binding": 5, "cancelled": 6, "outcome_unknown": 7, "timeout": 7}
	for _, code := range callCodes {
		if got := codeExit(code); got != want[code] {
			t.Errorf("%s: exit %d, want %d", code, got, want[code])
		}
		if c, rest := splitCode(code + ": a sentence"); c != code || rest != "a sentence" {
			t.Errorf("%s: split into %q and %q", code, c, rest)
		}
	}
	if len(callCodes) != len(want) {
		t.Errorf("%d codes, %d rows", len(callCodes), len(want))
	}
	for _, m := range []string{"moon: x", "server_error", "no colon", "input_required: x"} {
		if c, rest := splitCode(m); c != "server_error" || rest != m {
			t.Errorf("%q: %q %q", m, c, rest)
		}
	}
}

// A result comes whole however large it is: a row of the transcript may hold 24 MiB.
func TestLargeResults(t *testing.T) {
	for _, bytes := range []int{900_000, 1_100_000, 9_000_000} {
		w := newWorld(t)
		s := peer.New(`{"resultType":"complete","content":[{"type":"image","mimeType":"image/png","data":"` + strings.Repeat("A", bytes/4*4) + `"},{"type":"text","text":"end"}]}`)
		w.write("peer.json", `{"mcpServers":{"peer":{"protocol":"modern","url":"`+s.Start(t)+`"}}}`)
		r := w.run("--config", w.path("peer.json"), "call", "peer/ask", "--json")
		if r.code != 0 || len(r.stdout) < bytes || !strings.Contains(r.stdout, `"text":"end"`) {
			t.Errorf("%d bytes: exit %d, %d bytes of output\n%s", bytes, r.code, len(r.stdout), r.stderr)
		}
	}
}

// killChildren kills the processes that a program has started, as a crash of each would end it.
func killChildren(t *testing.T, pid int) {
	t.Helper()
	killed := 0
	for _, child := range childrenOf(pid) {
		if syscall.Kill(child, syscall.SIGKILL) == nil {
			killed++
		}
	}
	if killed == 0 {
		t.Fatalf("no child of %d to kill", pid)
	}
}

func childrenOf(pid int) (children []int) {
	var list []byte
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // a child is its thread's
	for _, file := range threads {
		data, _ := os.ReadFile(file)
		list = append(append(list, data...), ' ')
	}
	if len(threads) == 0 { // no Linux
		list, _ = exec.Command("pgrep", "-P", strconv.Itoa(pid)).Output()
	}
	for _, f := range strings.Fields(string(list)) {
		if child, _ := strconv.Atoi(f); child > 0 {
			children = append(children, child)
		}
	}
	return children
}
