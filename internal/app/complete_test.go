package app

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// A shell completes servers, words and files where they belong; what the program cannot know completes to nothing.
func TestCompletion(t *testing.T) {
	w := newWorld(t)
	w.write("two.json", `{"mcpServers":{"deploys":{"command":"no-such-command"},"docs":{"url":"http://127.0.0.1:1"},"off":{"command":"x","disabled":true}}}`)
	for _, c := range []struct{ words, want string }{
		{"call --config two.json d", "deploys/\ndocs/\n:6"},
		{"call --config two.json deploys/x d", ":6"},
		{"tools --config two.json d", "deploys\ndocs\n:4"},
		{"authorize --config two.json d", "deploys\ndocs\n:4"},
		{"inspect --config two.json deploys d", "docs\n:4"},
		{"tools --config gone.json d", ":4"},
		{"tools d", ":4"},
		{"answer d", ":4"},
		{"pending d", ":4"},
		{"host token revoke d", ":4"},
		{"version d", ":4"},
		{"lint d", ":0"},
		{"play d", ":0"},
		{"lint --answer d", ":4"},
		{"call --set d", ":4"},
		{"tools --host d", ":4"},
		{"inspect --name d", ":4"},
		{"inspect --export d", ":0"},
		{"tools --config d", ":0"},
		{"call --answers d", ":0"},
		{"call --log-level w", "debug\ninfo\nwarn\nerror\n:4"},
		{"host token add x --role p", "client\nprovider\nboth\n:4"},
		{"inspect --era l", "auto\nmodern\nlegacy\n:4"},
	} {
		r := w.run(append([]string{"__complete"}, strings.Fields(c.words)...)...)
		if got := strings.TrimSpace(r.stdout); r.code != 0 || got != c.want {
			t.Errorf("%s: %q, want %q\n%s", c.words, got, c.want, r.stderr)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if r := w.run("completion", shell); r.code != 0 || !strings.Contains(r.stdout, "askback") {
			t.Errorf("%s: %+v", shell, r)
		}
	}
}

// Every command says in its help what it does and gives an example.
func TestHelpOfEveryCommand(t *testing.T) {
	n := 0
	root := newRoot(&env{stdin: strings.NewReader(""), stdout: new(strings.Builder), stderr: new(strings.Builder), getenv: func(string) string { return "" }})
	everyCommand(root, func(cmd *cobra.Command) {
		if cmd.Hidden || cmd.Name() == "help" {
			return
		}
		n++
		if cmd.Example == "" || cmd.Short == "" {
			t.Errorf("%s: %q, example %q", cmd.CommandPath(), cmd.Short, cmd.Example)
		}
	})
	if n < 20 {
		t.Errorf("%d commands", n)
	}
}
