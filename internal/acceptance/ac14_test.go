package acceptance

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"syscall"
	"testing"
)

// surfaces is one table of forms and answers: how a person gives them on the screen, how a script does, and what the
// server must be sent, one line for each leg that brings answers.
var surfaces = []struct {
	name, call, args string
	keys             string   // lines of a play script; the form is open and takes keys
	shows            string   // on the screen at the end
	flags            []string // of the call command
	answers          string   // its --answers file
	exit             int
	want             string
}{
	{name: "accept", call: "deploy", args: `{"artifact":"one"}`, keys: "key down enter\nkey down enter\nwait 500ms\nkey s", shows: "Deployed one to staging.",
		flags: []string{"--set", "environment=staging", "--set", "confirm=true"},
		want:  `{"target":{"action":"accept","content":{"environment":"staging","confirm":true}}}`},
	{name: "no", call: "deploy", args: `{"artifact":"two"}`, keys: "key down down enter\nkey down down enter\nwait 500ms\nkey s", shows: "Deployment of two to production was not confirmed", exit: 1,
		answers: `{"action":"accept","values":{"environment":"production","confirm":false}}`,
		want:    `{"target":{"action":"accept","content":{"environment":"production","confirm":false}}}`},
	{name: "decline", call: "deploy", args: `{"artifact":"three"}`, keys: "key ctrl+x\nwait 500ms\nkey y", shows: "Deployment of three was declined", flags: []string{"--decline"}, exit: 4,
		want: `{"target":{"action":"decline"}}`},
	{name: "cancel", call: "deploy", args: `{"artifact":"four"}`, keys: "key esc\nwait 500ms\nkey y", shows: "Deployment of four was dismissed", answers: `{"action":"cancel"}`, exit: 4,
		want: `{"target":{"action":"cancel"}}`},
	{name: "consent", call: "confirm", args: `{}`, keys: "key s", shows: "The index is being rebuilt.", flags: []string{"--accept"},
		want: `{"go":{"action":"accept","content":{}}}`},
	{name: "every_kind", call: "survey", args: `{}`,
		keys: `type "Ada Ł 漢"
key enter
type "ada@example.org"
key enter enter
type "0"
key enter enter
type "4.5"
key enter
type "2026-01-02"
key enter enter
key down enter
key down down enter
key enter
key down space down space enter
key enter
wait 500ms
key s`, shows: `"colour":"#0a0"`,
		flags: []string{"--set", "name=Ada Ł 漢", "--set", "email=ada@example.org", "--set", "age=0", "--set", "seats=2", "--set", "rating=4.5", "--set", "start=2026-01-02", "--set", "rules=true", "--set", "colour=#0a0", "--set", "days=we,fr"},
		want: `{"survey":{"action":"accept","content":{"name":"Ada Ł 漢","email":"ada@example.org","motto":"ask before you act","age":0,"seats":2,"rating":4.5,"start":"2026-01-02",` +
			`"newsletter":false,"rules":true,"colour":"#0a0","size":"M","days":["we","fr"],"extras":["lunch"]}}}`},
	{name: "left_out", call: "survey", args: `{}`,
		keys: `type "Bo"
key enter enter ctrl+o enter enter enter enter enter
key up up enter
key down down enter
key down down down enter
key up up enter
key space enter
key ctrl+o enter
wait 500ms
key s`, shows: `"name":"Bo"`,
		answers: `[{"action":"accept","values":{"name":"Bo","seats":2,"rules":false,"colour":"#00d","days":["mo"]}}]`,
		want:    `{"survey":{"action":"accept","content":{"name":"Bo","seats":2,"rules":false,"colour":"#00d","days":["mo"]}}}`},
	{name: "two_rounds", call: "wizard", args: `{}`, keys: "type \"askback\"\nkey enter down down enter\nwait 500ms\nkey s\nwait \"Step 2 of 2\"\nwait 500ms\nkey enter enter\nwait 500ms\nkey s", shows: "Created the service askback on port 8080.",
		answers: `[{"action":"accept","values":{"name":"askback","kind":"service"}},{"action":"accept","values":{"name":"askback","port":8080}}]`,
		want: `{"project":{"action":"accept","content":{"name":"askback","kind":"service"}}}
{"details":{"action":"accept","content":{"name":"askback","port":8080}}}`},
	{name: "two_forms", call: "pair", args: `{}`, keys: "type \"Ada\"\nkey enter\nwait 500ms\nkey s\nwait \"Second of two\"\nwait 500ms\nkey ctrl+x\nwait 500ms\nkey y", shows: "Reviewer Ada, urgency (decline).",
		answers: `[{"action":"accept","values":{"reviewer":"Ada"}},{"action":"decline"}]`,
		want:    `{"z":{"action":"accept","content":{"reviewer":"Ada"}},"a":{"action":"decline"}}`},
}

// 14. Both surfaces pass the same contract, over stdio and over HTTP. The second surface is the scripting commands.
func TestAC14_both_surfaces_give_the_same(t *testing.T) { ac14(live{t}) }

func ac14(t T) {
	t.Parallel()
	for name, through := range map[string]func(*home){"terminal": throughTerminal, "script": throughScript} {
		t.Run(name, func(t T) {
			for _, transport := range []string{"stdio", "http"} {
				t.Run(transport, func(t T) {
					t.Parallel()
					h := newHome(t)
					stop := func() {}
					if transport == "stdio" {
						h.demoConfig()
					} else {
						stop = h.demoOverHTTP()
					}
					through(h)
					stop()
					h.sent()
				})
			}
		})
	}
}

// demoOverHTTP is a configuration of the demo server as a process that is there already.
func (h *home) demoOverHTTP() (stop func()) {
	d := h.daemon("demo-server", "--http", "127.0.0.1:0", "--record", h.path("record.jsonl"))
	url := d.line("the ready line", func(v map[string]any) bool { return v["ready"] == true })["url"]
	h.write("demo.json", jsonOf(h.t, map[string]any{"mcpServers": map[string]any{"demo": map[string]any{"url": url}}}))
	return func() { d.end(syscall.SIGTERM) }
}

// throughTerminal plays the table on the screen of one run of the program.
func throughTerminal(h *home) {
	var script strings.Builder
	script.WriteString("run --config demo.json\nsize 100x40\nwait \"servers 1/1\"\n")
	for _, s := range surfaces {
		script.WriteString("paste " + jsonOf(h.t, "/call demo/"+s.call+" "+s.args) + "\nkey enter\nwait-form\nwait 500ms\n")
		script.WriteString(s.keys + "\nwait " + jsonOf(h.t, s.shows) + "\n")
	}
	script.WriteString("wait 500ms\nkey ctrl+q\nexpect-exit 0\n")
	if code, out, errs := h.run("play", h.write("table.play", script.String())); code != 0 {
		h.t.Fatalf("play: %d %s%s", code, out, errs)
	}
}

// throughScript makes each call of the table a command.
func throughScript(h *home) {
	for _, s := range surfaces {
		args := append([]string{"call", "demo/" + s.call, "--config", h.path("demo.json"), "--args", s.args, "--json"}, s.flags...)
		if s.answers != "" {
			args = append(args, "--answers", h.write("answers.json", s.answers))
		}
		code, out, errs := h.run(args...)
		if code != s.exit || code == 0 && !strings.Contains(strings.ReplaceAll(out, `\"`, `"`), s.shows) {
			h.t.Errorf("%s: exit code %d, want %d: %s%s", s.name, code, s.exit, out, errs)
		}
	}
}

// sent wants that the server was sent the table's calls and answers, in order, and nothing else.
func (h *home) sent() {
	h.t.Helper()
	data, err := os.ReadFile(h.path("record.jsonl"))
	if err != nil {
		h.t.Fatal(err)
	}
	type leg struct{ call, answers any }
	var got, want []leg
	for line := range bytes.Lines(data) {
		var m struct {
			Method string
			Params struct {
				Name                      string
				Arguments, InputResponses any
			}
		}
		if err := json.Unmarshal(line, &m); err != nil {
			h.t.Fatal(err)
		}
		if m.Method == "tools/call" {
			got = append(got, leg{[]any{m.Params.Name, m.Params.Arguments}, m.Params.InputResponses})
		}
	}
	decode := func(s string) (v any) {
		if err := json.Unmarshal([]byte(s), &v); err != nil {
			h.t.Fatalf("%s: %v", s, err)
		}
		return v
	}
	for _, s := range surfaces {
		call := []any{s.call, decode(s.args)}
		want = append(want, leg{call, nil})
		for line := range strings.Lines(s.want) {
			want = append(want, leg{call, decode(line)})
		}
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !reflect.DeepEqual(got[i], want[i]) {
			h.t.Fatalf("leg %d of %d, %d wanted:\ngot  %v\nwant %v", i+1, len(got), len(want), got[min(i, len(got)):], want[min(i, len(want)):])
		}
	}
}
