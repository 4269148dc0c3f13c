package app

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What askback keeps is its owner's alone, whatever the umask and whatever was there before.
func TestPrivateFiles(t *testing.T) {
	w := newWorld(t)
	state := w.path("state/askback")
	if err := os.MkdirAll(filepath.Join(state, "host"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"host", "token", "add", "me"},
		{"call", "demo/plain", "--json", "--log-file", filepath.Join(state, "log")},
		{"pending", "--host", "ws://127.0.0.1:1", "--token-file", w.write("token", "askb_rh_"+strings.Repeat("A", 43))},
	} {
		cmd := w.command(append([]string{"--config", w.path("demo.json")}, args...)...)
		cmd.Args = append([]string{"sh", "-c", `umask 0; exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
		cmd.Path = "/bin/sh"
		w.wait(cmd)
	}
	n := 0
	filepath.WalkDir(state, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			t.Fatal(err)
		}
		info, err := d.Info()
		if err != nil {
			t.Fatal(err)
		}
		n++
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s: mode %o, want %o", path, info.Mode().Perm(), want)
		}
		return nil
	})
	if n < 6 {
		t.Errorf("%d files and folders: too few to mean something", n)
	}
}

// Without a usable folder the error says which and the exit code is that of the configuration.
func TestUnusableFolders(t *testing.T) {
	for name, c := range map[string]struct {
		args, env []string
		says      string
	}{
		"no home":        {[]string{"call", "demo/plain"}, []string{"HOME=", "XDG_STATE_HOME="}, "neither XDG_STATE_HOME nor HOME"},
		"a file":         {[]string{"call", "demo/plain"}, []string{"XDG_STATE_HOME=FILE"}, "folder for askback's data"},
		"no temporary":   {[]string{"call", "demo/plain"}, []string{"TMPDIR=/no/such/folder"}, "TMPDIR"},
		"data is a file": {[]string{"host", "--data", "FILE"}, nil, "not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			file := w.write("file", "x")
			cmd := w.command("--config", w.path("demo.json"))
			for _, a := range c.args {
				cmd.Args = append(cmd.Args, strings.ReplaceAll(a, "FILE", file))
			}
			for _, e := range c.env {
				cmd.Env = append(cmd.Env, strings.ReplaceAll(e, "FILE", file))
			}
			if r := w.wait(cmd); r.code != exitUsage || !strings.Contains(r.stderr, c.says) {
				t.Errorf("%+v", r)
			}
		})
	}
}
