package screen

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
)

// Rows do not break by themselves on the inspector's screen, and do again after it, however a run ends.
func TestRunGivesAutowrapBack(t *testing.T) {
	var left, stopped bytes.Buffer
	p := startProgram(t, 80, 24, &left)
	p.wait("mrtr_confirm")
	p.keep("\x11", "") // ctrl+q
	if err := p.ended(); err != nil {
		t.Fatal(err)
	}
	p = startProgram(t, 80, 24, &stopped)
	p.wait("mrtr_confirm")
	p.end()
	if err := p.ended(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for name, log := range map[string]string{"left": left.String(), "stopped": stopped.String()} {
		if !strings.Contains(log, "\x1b[?1049h\x1b[?7l") || !strings.Contains(log, "\x1b[?7h\x1b[?1049l") || strings.LastIndex(log, "\x1b[?7l") > strings.LastIndex(log, "\x1b[?7h") {
			t.Errorf("%s: autowrap was not turned off with the screen and on again at its end", name)
		}
	}
}
