package kit

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// Rows break by themselves nowhere on the screen that is ours, however a program writes its sequences.
func TestNoAutowrapOnOurScreen(t *testing.T) {
	var emulated bytes.Buffer
	path := filepath.Join(t.TempDir(), "tty")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for name, out := range map[string]io.Writer{"emulator": &writer{w: &emulated}, "file": &output{File: f}} {
		for _, s := range []string{"before", "\x1b[?1049h", "\x1b[2Jframe", "\x1b[?25h\x1b[?1049l", "after"} {
			if n, err := io.WriteString(out, s); n != len(s) || err != nil {
				t.Errorf("%s: %d bytes of %q were written: %v", name, n, s, err)
			}
		}
	}
	filed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const want = "before\x1b[?1049h\x1b[?7l\x1b[2Jframe\x1b[?25h\x1b[?7h\x1b[?1049lafter"
	for name, got := range map[string]string{"emulator": emulated.String(), "file": string(filed)} {
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
