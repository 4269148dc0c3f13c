package app

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"askback/mcpmgr/config"
)

// The inspector without a terminal: results, errors and exit codes.
func TestInspectOnce(t *testing.T) {
	w := newWorld(t)
	answers := w.write("answers.json", `[{"action":"accept","values":{"word":"one"}},{"action":"accept","values":{"word":"two"}}]`)
	one := w.write("one.json", `{"action":"accept","values":{"word":"one"}}`)
	for _, c := range []struct {
		name  string
		args  string // after inspect --config demo.json, split at blanks
		code  int
		wants string // part of stdout
		error string // code in the JSON
	}{
		{"describe", "demo --json", 0, `"era":"modern"`, ""},
		{"legacy", "demo --json --era legacy", 0, `"era":"legacy"`, ""},
		{"confirm", "demo --json --method tools/call --name mrtr_confirm --set confirm=true", 0, `"forms":1,"legs":2`, ""},
		{"confirm, text", "demo --method tools/call --name mrtr_confirm --set confirm=true", 0, `MRTR complete: accept {"confirm":true}`, ""},
		{"pushed", "demo --json --era legacy --method tools/call --name mrtr_confirm --set confirm=true", 0, `"forms":1,"legs":1`, ""},
		{"two steps", "demo --json --method tools/call --name mrtr_two_step --answers " + answers, 0, `then accept {\"word\":\"two\"}`, ""},
		{"too few answers", "demo --json --method tools/call --name mrtr_two_step --answers " + one, 3, "", "input_required"},
		{"declined", "demo --json --method tools/call --name mrtr_confirm --decline", 0, "MRTR complete: decline", ""},
		{"declined, and the tool failed", `demo --json --method tools/call --name deploy --args {"artifact":"b"} --decline`, 4, `"isError":true`, ""},
		{"the tool failed", "demo --json --method tools/call --name deploy", 1, `"isError":true`, ""},
		{"no answer", "demo --json --method tools/call --name mrtr_confirm", 3, "", "input_required"},
		{"a wrong answer", "demo --json --method tools/call --name mrtr_confirm --set confirm=maybe", 2, "", "invalid_answer"},
		{"sampling", "demo --json --method tools/call --name mrtr_sample --sample Paris", 0, "sampled Paris", ""},
		{"sampling rejected", "demo --json --method tools/call --name mrtr_sample --decline", 4, "", "cancelled"},
		{"sampling not answered", "demo --json --method tools/call --name mrtr_sample --set x=1", 3, "", "input_required"},
		{"roots", "demo --json --method tools/call --name mrtr_roots --root " + w.dir, 0, "1 roots", ""},
		{"no roots", "demo --json --method tools/call --name mrtr_roots", 1, "", "server_error"},
		{"loop", "demo --json --method tools/call --name mrtr_loop --set confirm=true", 1, "", "round_limit"},
		{"prompt", `demo --json --method prompts/get --name briefing --args {"topic":"x"} --set audience=team`, 0, "Brief the team on x.", ""},
		{"resource", "demo --json --method resources/read --uri demo://note --set reason=why", 0, "read because: why", ""},
		{"list", "demo --json --method prompts/list", 0, `"name":"briefing"`, ""},
		{"templates", "demo --method resources/templates/list", 0, "demo://topics/{topic}", ""},
		{"completion", `demo --json --method completion/complete --params {"ref":{"type":"ref/prompt","name":"briefing"},"argument":{"name":"topic","value":"r"}}`, 0, `"values":["releases"]`, ""},
		{"unknown method", "demo --json --method no/such", 1, "", "server_error"},
		{"unknown tool", "demo --json --method tools/call --name nothing", 5, "", "not_found"},
		{"unknown server", "nobody --json", 5, "", "not_found"},
		{"no name", "demo --json --method tools/call", 2, "", "usage"},
		{"params for a call", `demo --json --method tools/call --name plain --params {}`, 2, "", "usage"},
		{"arguments that are no object", `demo --json --method tools/call --name plain --args 1`, 2, "", "usage"},
		{"wrong era", "demo --json --era new", 2, "", "usage"},
		{"no folder", "demo --json --root /does/not/exist", 2, "", "usage"},
		{"a command and a server", "demo --json -- x", 2, "", "usage"},
		{"no terminal", "demo", 2, "", ""},
		{"answers without a method", "demo --decline", 2, "", ""},
		{"a name without a method", "demo --json --name plain", 2, "", "usage"},
		{"answers for none", "demo --json --set word=a", 2, "", "usage"},
		{"arguments for none", "demo --json --args {}", 2, "", "usage"},
		{"a list takes no params", `demo --json --method tools/list --params {"cursor":"x"}`, 2, "", "usage"},
		{"a list asks for nothing", "demo --json --method tools/list --decline", 2, "", "usage"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := w.run(append([]string{"inspect", "--config", w.path("demo.json")}, strings.Fields(c.args)...)...)
			if r.code != c.code || !strings.Contains(r.stdout, c.wants) {
				t.Fatalf("code %d, want %d\n%s\n%s", r.code, c.code, r.stdout, r.stderr)
			}
			if !strings.Contains(c.args, "--json") {
				return
			}
			var v struct {
				Error struct{ Code, Message, Server, Tool string }
			}
			if strings.HasPrefix(r.stdout, "[") {
				return
			}
			if err := json.Unmarshal([]byte(r.stdout), &v); err != nil || v.Error.Code != c.error {
				t.Errorf("%v: %s", err, r.stdout)
			}
			if c.code != exitUsage && v.Error.Code != "" && strings.Contains(c.args, "tools/call") && (v.Error.Server != "demo" || v.Error.Tool == "") {
				t.Errorf("the call is not named: %s", r.stdout)
			}
		})
	}
}

// Without a configuration: a command after --, and what an export holds.
func TestInspectCommandAndExport(t *testing.T) {
	w := newWorld(t)
	for _, values := range []bool{false, true} {
		out := w.path(fmt.Sprintf("messages-%v.jsonl", values))
		args := []string{"inspect", "--json", "--method", "tools/call", "--name", "mrtr_two_step", "--set", "word=marker-word", "--export", out}
		if values {
			args = append(args, "--include-values")
		}
		if r := w.run(append(args, "--", os.Args[0], "demo-server")...); r.code != 0 {
			t.Fatal(r.code, r.stderr)
		}
		b, err := os.ReadFile(out)
		if err != nil || strings.Contains(string(b), "marker-word") != values || !strings.Contains(string(b), `"stateEchoed":true`) {
			t.Errorf("values %v, %v\n%s", values, err, b)
		}
		if info, err := os.Stat(out); err != nil || info.Mode().Perm() != 0o600 {
			t.Error(err, info.Mode())
		}
	}
	call := []string{"inspect", "--json", "--method", "tools/call", "--name", "mrtr_two_step", "--set", "word=a", "--export"}
	if r := w.run(append(call, w.path("gone/messages"), "--", os.Args[0], "demo-server", "--record", w.path("record.jsonl"))...); r.code != exitUsage || w.calls() != 0 {
		t.Errorf("a file that cannot be written: %d calls, %+v", w.calls(), r)
	}
	old := w.write("old.jsonl", "what it held\n")
	for _, wrong := range []string{"[", "@gone", "@" + w.write("empty.json", "")} {
		r := w.run(append(call, old, "--args", wrong, "--", os.Args[0], "demo-server", "--record", w.path("record.jsonl"))...)
		if b, err := os.ReadFile(old); r.code != exitUsage || w.calls() != 0 || string(b) != "what it held\n" {
			t.Errorf("--args %s: %q %v %+v", wrong, b, err, r)
		}
	}
	if _, err := os.Stat("/dev/full"); err == nil {
		r := w.run(append(call, "/dev/full", "--", os.Args[0], "demo-server")...)
		if r.code != exitFailed || r.json(t)["result"] == nil || !strings.Contains(r.stderr, "no space") {
			t.Errorf("a full device: %+v", r)
		}
	}
	if r := w.run("inspect", "--json", "http://127.0.0.1:1/mcp"); r.code != 5 || !strings.Contains(r.stdout, `"state":"failed"`) {
		t.Errorf("%d %s", r.code, r.stdout)
	}
	if r := w.run("inspect", "--json", "https://user:pw@example.com/mcp"); r.code != 2 || strings.Contains(r.stdout+r.stderr, "pw@") {
		t.Errorf("%d %s %s", r.code, r.stdout, r.stderr)
	}
}

func TestServerNames(t *testing.T) {
	for in, want := range map[string]string{"node": "node", "server.mjs": "server.mjs", "a b/ü": "a-b--", "": "server", "---": "server", "::1": "1", strings.Repeat("x", 99): strings.Repeat("x", 64)} {
		got := serverName(in)
		if got != want || !config.ValidName(got) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
