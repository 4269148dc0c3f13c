package atomicfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"askback/internal/atomicfile"
)

func TestWrite(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	real := filepath.Join(elsewhere, "real")
	for name, to := range map[string]string{
		"absolute": real,
		"relative": filepath.Join("..", filepath.Base(elsewhere), "real"),
		"chain":    "absolute",
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	for _, name := range []string{"absolute", "relative", "chain", "plain"} { // absolute: the file is not there yet
		path := filepath.Join(dir, name)
		before, _ := os.Lstat(path)
		if err := atomicfile.Write(path, []byte(name)); err != nil {
			t.Fatal(name, err)
		}
		file := real
		if name == "plain" {
			file = path
		} else if now, err := os.Lstat(path); err != nil || !os.SameFile(before, now) {
			t.Errorf("%s: the link was replaced: %v", name, err)
		}
		if data, err := os.ReadFile(file); err != nil || string(data) != name {
			t.Errorf("%s: %q, %v", name, data, err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// A file that cannot be replaced stays as it is, and nothing is left beside it.
func TestWriteFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(path, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if atomicfile.Write(path, []byte("x")) == nil {
		t.Error("a folder was replaced")
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Errorf("%v, %v", names, err)
	}
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Skip(err)
	}
	if got := atomicfile.Target(loop); got != loop {
		t.Errorf("a link to itself leads to %s", got)
	}
}
