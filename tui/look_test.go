package tui

import (
	"fmt"
	"os"
	"testing"
)

func TestLook(t *testing.T) {
	if os.Getenv("LOOK") == "" {
		t.Skip()
	}
	for _, size := range [][2]int{{40, 12}, {80, 24}} {
		for name, f := range scenes() {
			if os.Getenv("LOOK") != "all" && os.Getenv("LOOK") != name {
				continue
			}
			d := f(t, size[0], size[1])
			fmt.Printf("=== %s %dx%d\n%s\n", name, size[0], size[1], d.frame())
		}
	}
}

func scenes() map[string]func(t testing.TB, w, h int) *driver {
	return map[string]func(t testing.TB, w, h int) *driver{
		"new":      func(t testing.TB, w, h int) *driver { return newDriver(t, w, h) },
		"empty":    func(t testing.TB, w, h int) *driver { return connected(t, w, h) },
		"calling":  func(t testing.TB, w, h int) *driver { return calling(t, w, h).tick(3e9) },
		"asking":   func(t testing.TB, w, h int) *driver { return asking(t, w, h) },
		"left":     func(t testing.TB, w, h int) *driver { return asking(t, w, h).tick(12e9).press("ctrl+f").tick(1e9) },
		"palette":  func(t testing.TB, w, h int) *driver { return connected(t, w, h).press("ctrl+t") },
		"help":     func(t testing.TB, w, h int) *driver { return connected(t, w, h).press("?") },
		"servers":  func(t testing.TB, w, h int) *driver { return connected(t, w, h).press("ctrl+r", "down") },
		"host":     func(t testing.TB, w, h int) *driver { return connected(t, w, h).press("ctrl+o") },
		"args":     func(t testing.TB, w, h int) *driver { return connected(t, w, h).press("ctrl+t", "enter") },
		"raw":      func(t testing.TB, w, h int) *driver { return connected(t, w, h).press("ctrl+t", "end", "enter") },
		"sessions": func(t testing.TB, w, h int) *driver { return connected(t, w, h).press("ctrl+g") },
		"quit":     func(t testing.TB, w, h int) *driver { return asking(t, w, h).press("ctrl+q") },
	}
}
