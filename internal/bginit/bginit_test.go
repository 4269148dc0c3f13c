package bginit_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/creack/pty"

	_ "askback/internal/bginit"
)

const child = "ASKBACK_BGINIT_CHILD"

// TestMain is also the program under test: linked with bubbletea, it prints one line as soon as main runs.
func TestMain(m *testing.M) {
	if os.Getenv(child) != "" {
		fmt.Println(tea.KeyCtrlC) // keeps bubbletea linked, whatever else this file uses
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// The first output comes within a second on a terminal that answers no query, and no query is sent.
func TestSilentTerminal(t *testing.T) {
	for _, noColor := range []bool{false, true} {
		t.Run(fmt.Sprintf("no_color=%v", noColor), func(t *testing.T) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(terminalEnv(), child+"=1", "TERM=xterm-256color")
			if noColor {
				cmd.Env = append(cmd.Env, "NO_COLOR=1")
			}
			start := time.Now()
			f, err := pty.Start(cmd)
			if err != nil {
				t.Skipf("no pty: %v", err)
			}
			defer f.Close()
			out, buf := []byte(nil), make([]byte, 256)
			for !bytes.Contains(out, []byte("\n")) {
				n, err := f.Read(buf)
				out = append(out, buf[:n]...)
				if err != nil {
					break
				}
			}
			if took := time.Since(start); took > time.Second {
				t.Errorf("first output after %v", took)
			}
			if bytes.Contains(out, []byte("\x1b]11")) || bytes.Contains(out, []byte("\x1b[6n")) {
				t.Errorf("the terminal was queried: %q", out)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("child: %v, output %q", err, out)
			}
		})
	}
}

// terminalEnv is the environment without what makes bubbletea skip its query.
func terminalEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return name == "CI" || name == "TERM" || name == "NO_COLOR" || name == "COLORFGBG"
	})
}
