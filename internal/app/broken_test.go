package app

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

// unread is the writing end of a pipe that nobody reads, as a log that has ended leaves it.
func unread(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	t.Cleanup(func() { w.Close() })
	return w
}

// What is told to people on standard error may have no reader any more: the call goes on, and the program that reads
// standard output gets its value.
func TestNobodyReadsStandardError(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		exit int
		code string
	}{
		"SC-05 a form":      {[]string{"call", "demo/deploy", "--args", deployArgs, "--json"}, exitInput, "input_required"},
		"progress":          {[]string{"inspect", "demo", "--method", "tools/call", "--name", "slow", "--args", `{"steps":2,"every":1}`, "--json"}, exitOK, ""},
		"usage":             {[]string{"call", "demo", "--json"}, exitUsage, "usage"},
		"an unknown server": {[]string{"call", "moon/plain", "--json"}, exitUnreachable, "not_found"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			cmd := w.command(append([]string{"--config", w.path("demo.json")}, c.args...)...)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, unread(t)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			r := w.finish(cmd, &out, new(bytes.Buffer))
			if r.code != c.exit || c.code == "" && r.json(t)["result"] == nil || c.code != "" && r.errorCode(t) != c.code {
				t.Errorf("%+v", r)
			}
		})
	}
}

// A pipe gives its token once, and both connections of a call want it.
func TestTokenOfAPipe(t *testing.T) {
	w := newWorld(t)
	token := w.run("host", "token", "add", "me", "--role", "both")
	if token.code != exitOK {
		t.Fatalf("%+v", token)
	}
	ready := w.daemon("host", "--listen", "127.0.0.1:0").line("a Host", func(v map[string]any) bool { return v["ready"] == true })
	shell := exec.Command("sh", "-c", `printf %s "$TOKEN" | "$0" --token-file /dev/stdin "$@"`, os.Args[0], "--config", w.path("demo.json"),
		"call", "demo/plain", "--host", ready["endpoint"].(string), "--permission-mode", "bypass", "--json")
	shell.Env, shell.Dir = append(w.env, "TOKEN="+token.stdout), w.dir
	if r := w.wait(shell); r.code != exitOK {
		t.Errorf("%+v", r)
	}
}

// The folder that a script works in may be gone. That is nothing that a call did.
func TestWorkingFolderGone(t *testing.T) {
	w := newWorld(t)
	gone := w.path("gone")
	if err := os.Mkdir(gone, 0o700); err != nil {
		t.Fatal(err)
	}
	shell := exec.Command("sh", "-c", `rmdir "$PWD" && "$0" "$@"`, os.Args[0], "--config", w.path("demo.json"), "call", "demo/plain", "--json")
	shell.Env, shell.Dir = w.env, gone
	if r := w.wait(shell); r.code != exitUsage || r.errorCode(t) != "usage" || w.calls() != 0 {
		t.Errorf("%+v", r)
	}
}
