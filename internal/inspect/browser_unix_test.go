//go:build unix

package inspect

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestIsABrowser is no test but the browser of the next one: it writes down whose session it runs in.
func TestIsABrowser(t *testing.T) {
	file := os.Getenv("ASKBACK_TEST_BROWSER")
	if file == "" {
		t.Skip("run by TestBrowserHasNoTerminal")
	}
	sid, err := unix.Getsid(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, fmt.Appendf(nil, "%t", sid == os.Getpid()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A browser for terminals cannot open ours: it has a session of its own.
func TestBrowserHasNoTerminal(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "alone")
	t.Setenv("ASKBACK_TEST_BROWSER", file)
	if err := Browser(self+" -test.run=^TestIsABrowser$").Open(t.Context(), ReadAddress("https://x.example/")); err != nil {
		t.Fatal(err)
	}
	var got []byte
	for range 300 { // on a busy machine it takes longer to begin than Open waits
		if got, err = os.ReadFile(file); len(got) > 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil || string(got) != "true" {
		t.Errorf("%v: alone in its session: %q", err, got)
	}
}
