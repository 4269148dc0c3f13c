package app

import (
	"os"
	"strings"
	"testing"
)

// oddTools is a modern server in a few lines, with a tool that cannot be read, one that no Host can be offered, and one
// that is fine.
const oddTools = `while read -r line; do
  id=$(printf %s "$line" | sed -E 's/.*"id":([0-9]+).*/\1/')
  case "$line" in
  *server/discover*) r='{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}' ;;
  *tools/list*) r='{"resultType":"complete","tools":[{"name":"noschema"},{"name":"far","inputSchema":{"type":"object","properties":{"a":{"$ref":"https://x.example/s"}}}},{"name":"fine","inputSchema":{"type":"object"}}]}' ;;
  *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r"
done`

// A tool that a server has and nobody can call is named, with the reason, beside the list.
func TestToolsLeftOut(t *testing.T) {
	w := newWorld(t)
	w.write("odd.sh", oddTools)
	w.write("odd.json", `{"mcpServers":{"odd":{"command":"sh","args":["odd.sh"]}}}`)
	r := w.run("--config", "odd.json", "tools")
	if r.code != exitOK || r.stdout != "odd/far\nodd/fine\n" {
		t.Errorf("%+v", r)
	}
	for _, want := range []string{"noschema", "odd/far is not offered: "} {
		if !strings.Contains(r.stderr, want) {
			t.Errorf("no %q in %q", want, r.stderr)
		}
	}
	if strings.Contains(r.stderr, "fine") {
		t.Errorf("%q", r.stderr)
	}
}

// Who waits for a server that is silent is told so, and for which.
func TestToolsSaysWhatItWaitsFor(t *testing.T) {
	w := newWorld(t)
	demo, err := os.ReadFile(w.path("demo.json"))
	if err != nil {
		t.Fatal(err)
	}
	w.write("slow.json", `{"mcpServers":{"silent":{"protocol":"modern","command":"sh","args":["-c","sleep 3; exit 1"]},`+strings.TrimPrefix(string(demo), `{"mcpServers":{`))
	r := w.run("tools", "--config", w.path("slow.json"), "--json")
	if r.code != exitUnreachable || !strings.Contains(r.stderr, "waiting for ") || !strings.Contains(r.stderr, "silent\n") || !strings.Contains(r.stdout, `"server":"demo"`) {
		t.Errorf("%+v", r)
	}
}
