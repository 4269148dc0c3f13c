package app

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
)

// What a flag reads from a file it reads from the standard input, too, as other editors and shells write it.
func TestInputOfFlags(t *testing.T) {
	const (
		bom    = "\ufeff"
		answer = `{"action":"accept","values":{"environment":"staging","confirm":true}}`
		form   = `{"type":"object","properties":{"a":{"type":"string"}}}`
	)
	deploy := []string{"call", "demo/deploy", "--args", deployArgs, "--answers", "-"}
	for name, c := range map[string]struct {
		args  []string
		input string
		exit  int
		says  string
	}{
		"answers":                    {deploy, answer + "\n", exitOK, "Deployed build-42"},
		"answers with a mark":        {deploy, bom + answer + "\r\n", exitOK, "Deployed build-42"},
		"no answers":                 {deploy, "", exitUsage, "there is no value"},
		"arguments":                  {[]string{"call", "demo/plain", "--args", "@-"}, `{"text":"from a pipe"}`, exitOK, "from a pipe"},
		"arguments with a mark":      {[]string{"call", "demo/plain", "--args", "@-"}, bom + `{"text":"from a pipe"}`, exitOK, "from a pipe"},
		"answers that nobody wanted": {[]string{"call", "demo/deploy", "--args", deployArgs, "--answers", "-"}, "[" + answer + "," + answer + "]", exitOK, "1 of 2 were not asked for"},
		"one input for two flags":    {[]string{"call", "demo/plain", "--args", "@-", "--answers", "-"}, `{"text":"x"}`, exitUsage, "--answers: the standard input was read by another flag already"},
		"a form":                     {[]string{"lint", "-"}, bom + form, exitOK, "ok: a form with 1 field"},
		"params":                     {[]string{"inspect", "demo", "--method", "completion/complete", "--params", "@-"}, "{", exitUsage, "--params: is not JSON"},
		"arguments of the inspector": {[]string{"inspect", "demo", "--method", "tools/call", "--name", "plain", "--args", "@-"}, `{"text":"from a pipe"}`, exitOK, "from a pipe"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			cmd := w.command(append([]string{"--config", w.path("demo.json")}, c.args...)...)
			cmd.Stdin = strings.NewReader(c.input)
			if r := w.wait(cmd); r.code != c.exit || !strings.Contains(r.stdout+r.stderr, c.says) {
				t.Errorf("%+v", r)
			}
		})
	}
	t.Run("a token with a mark", func(t *testing.T) {
		w := newWorld(t)
		g := &globals{env: &env{getenv: func(string) string { return "" }}}
		if got, err := g.token(w.write("token", bom+"askb_rh_x\r\n"))(); got != "askb_rh_x" || err != nil {
			t.Errorf("%q %v", got, err)
		}
	})
}

// A signal ends the wait for an input that never ends.
func TestSignalWhileInputIsRead(t *testing.T) {
	for _, args := range [][]string{
		{"call", "demo/plain", "--args", "@-", "--json"},
		{"call", "demo/plain", "--answers", "-", "--json"},
		{"inspect", "demo", "--method", "tools/call", "--name", "plain", "--answers", "-", "--json"},
		{"lint", "-", "--json"},
		{"answer", "s/i", "--host", "ws://127.0.0.1:1", "--answers", "-", "--json"},
	} {
		w := newWorld(t)
		cmd := w.command(append([]string{"--config", w.path("demo.json")}, args...)...)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		io.WriteString(in, strings.Repeat(" ", 256<<10)) // more than a pipe holds: what it returns after is being read
		cmd.Process.Signal(os.Interrupt)
		if r := w.finish(cmd, &out, &errs); r.code != exitStopped || r.errorCode(t) != "cancelled" || w.calls() != 0 {
			t.Errorf("%q: %+v", args, r)
		}
		in.Close()
	}
}
