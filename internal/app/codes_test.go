package app

import (
	"bytes"
	"testing"

	"askback/internal/acceptance/peer"
)

// The codes that need something to happen while a call runs. (no_handler cannot come to a script: call works with Hosts
// that show forms only.)
func TestCodesOfWhatHappensMeanwhile(t *testing.T) {
	t.Run("stale_binding", func(t *testing.T) {
		w := newWorld(t)
		s := peer.New(peer.Done)
		defer s.Hold(1)()
		w.write("peer.json", `{"mcpServers":{"peer":{"protocol":"modern","url":"`+s.Start(t)+`"}}}`)
		cmd := w.command("--config", w.path("peer.json"), "call", "peer/ask", "--json")
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		s.Await(t, 1)
		s.ChangeTool()
		r := w.finish(cmd, &out, &errs)
		if r.code != 5 || r.errorCode(t) != "stale_binding" || len(s.Calls()) != 1 {
			t.Errorf("%d legs, %+v", len(s.Calls()), r)
		}
	})
	t.Run("connection_lost", func(t *testing.T) {
		w := newWorld(t)
		s := w.atTerminal("--config", w.path("demo.json"), "call", "demo/deploy", "--args", deployArgs, "--json")
		s.await("environment")
		killChildren(t, s.cmd.Process.Pid)
		r := s.end()
		if r.code != 5 || r.errorCode(t) != "connection_lost" || w.calls() != 1 {
			t.Errorf("%d calls, %+v\n%s", w.calls(), r, s.text())
		}
	})
}
