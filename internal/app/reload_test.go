package app

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"askback/mcpmgr/config"
)

// What runs goes on when its entry cannot be read any more; what is no longer named does not.
func TestReload(t *testing.T) {
	w := newWorld(t)
	var errs bytes.Buffer
	g := &globals{config: w.path("c.json"), env: &env{stdin: strings.NewReader(""), stdout: io.Discard, stderr: &errs, getenv: os.Getenv}}
	w.write("c.json", `{"mcpServers":{"a":{"command":"one"},"b":{"command":"two"},"c":{"command":"three"}}}`)
	running, _, err := g.reload(nil)
	if err != nil || len(running) != 3 {
		t.Fatal(running, err)
	}
	w.write("c.json", `{"mcpServers":{"d":{"command":"four"},"b":{"command":2},"a":{"command":"five"}}}`)
	servers, told, err := g.reload(running)
	if err != nil || !strings.Contains(told, `server "b"`) || errs.Len() > 0 {
		t.Errorf("told %q, %v, on stderr %q", told, err, errs.String())
	}
	var got []string
	for _, s := range servers {
		got = append(got, s.Name+" "+s.Command)
	}
	if strings.Join(got, ", ") != "d four, a five, b two" {
		t.Errorf("%q", got)
	}
	if actions := config.Reconcile(servers, running); len(actions) != 4 {
		t.Errorf("%+v", actions)
	}
	w.write("c.json", `{"mcpServers":{"a":{"command":"one"},`)
	if _, _, err := g.reload(running); err == nil {
		t.Error("half a file was taken")
	}
}
