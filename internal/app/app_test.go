package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// asProgram makes the test binary the program itself.
const asProgram = "ASKBACK_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(Main(os.Args[1:]))
	}
	if signal.Ignored(syscall.SIGHUP) { // as under nohup, which what is started would inherit
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	goleak.VerifyTestMain(m)
}

// world is a home of its own for the program under test.
type world struct {
	t   *testing.T
	dir string
	env []string
}

func newWorld(t *testing.T) *world {
	dir := t.TempDir()
	w := &world{t: t, dir: dir}
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "XDG_") && !strings.HasPrefix(kv, "ASKBACK_") && !strings.HasPrefix(kv, "HOME=") {
			w.env = append(w.env, kv)
		}
	}
	w.env = append(w.env, asProgram+"=1", "HOME="+dir, "XDG_STATE_HOME="+filepath.Join(dir, "state"), "XDG_CONFIG_HOME="+filepath.Join(dir, "config"), "TMPDIR="+dir, "GORACE=atexit_sleep_ms=0")
	w.write("demo.json", `{"mcpServers":{"demo":{"command":"`+os.Args[0]+`","args":["demo-server","--record","`+filepath.Join(dir, "record.jsonl")+`"],"env":{"`+asProgram+`":"1"}}}}`)
	return w
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

func (w *world) write(name, content string) string {
	w.t.Helper()
	if err := os.WriteFile(w.path(name), []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return w.path(name)
}

// command is a run of the program, not started yet.
func (w *world) command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env, cmd.Dir = w.env, w.dir
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

type ran struct {
	code           int
	stdout, stderr string
}

func (w *world) run(args ...string) ran {
	w.t.Helper()
	return w.wait(w.command(args...))
}

func (w *world) wait(cmd *exec.Cmd) ran {
	w.t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	return w.finish(cmd, &out, &errs)
}

func (w *world) finish(cmd *exec.Cmd, out, errs *bytes.Buffer) ran {
	w.t.Helper()
	late := time.AfterFunc(30*time.Second, func() { cmd.Process.Kill() })
	defer late.Stop()
	err := cmd.Wait()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		w.t.Fatal(err)
	}
	return ran{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// slowCall starts a call that lasts for long and returns once the server has read it. finish waits for its end.
func (w *world) slowCall() (cmd *exec.Cmd, finish func() ran) {
	w.t.Helper()
	cmd = w.command("--config", w.path("demo.json"), "call", "demo/slow", "--args", `{"steps":100,"every":200}`, "--json")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.awaitCalls(1)
	return cmd, func() ran {
		w.t.Helper()
		return w.finish(cmd, &out, &errs)
	}
}

// calls counts the tools/call that the demo server received.
func (w *world) calls() int {
	data, _ := os.ReadFile(w.path("record.jsonl"))
	return bytes.Count(data, []byte(`"method":"tools/call"`))
}

// json wants exactly one JSON value on stdout.
func (r ran) json(t *testing.T) map[string]any {
	t.Helper()
	var v map[string]any
	dec := json.NewDecoder(strings.NewReader(r.stdout))
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("stdout is no JSON: %v\n%q\nstderr: %s", err, r.stdout, r.stderr)
	}
	if dec.More() {
		t.Errorf("more than one value on stdout: %q", r.stdout)
	}
	return v
}

func (r ran) errorCode(t *testing.T) string {
	t.Helper()
	e, ok := r.json(t)["error"].(map[string]any)
	if !ok {
		t.Fatalf("no error in %s", r.stdout)
	}
	code, _ := e["code"].(string)
	return code
}
