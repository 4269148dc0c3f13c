package screen

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"askback/internal/inspect"
	"askback/internal/inspect/peer"
)

// pageFile is the document whose frames are drawn here.
var pageFile = filepath.Join("..", "..", "..", "docs", "inspector.md")

// release is a server whose form asks for a list of objects at first, which no form can, and for choices after fixed.
func release(fixed func() bool) *peer.Server {
	wrong := `{"type":"object","properties":{"version":{"type":"string","title":"Version","minLength":1},"targets":{"type":"array","title":"Targets","items":{"type":"object","properties":{"host":{"type":"string"}}}}},"required":["version","targets"]}`
	right := `{"type":"object","properties":{"version":{"type":"string","title":"Version","minLength":1},"targets":{"type":"array","title":"Targets","items":{"type":"string","enum":["staging","production"]},"minItems":1}},"required":["version","targets"]}`
	return peer.Scripted(map[string]peer.Reply{
		"server/discover": func(peer.Message, func(string)) string {
			return `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"releases","version":"0.3.0"}}}`
		},
		"tools/list": func(peer.Message, func(string)) string {
			return `{"resultType":"complete","tools":[{"name":"release","description":"Releases a version, after asking which and where to.","inputSchema":{"type":"object","properties":{},"additionalProperties":false}}]}`
		},
		"tools/call": func(m peer.Message, _ func(string)) string {
			time.Sleep(3100 * time.Microsecond) // of the bubble
			if inspect.Member(m.Params, "inputResponses") != nil {
				return `{"content":[{"type":"text","text":"Released 1.4.0 to staging."}]}`
			}
			schema := wrong
			if fixed() {
				schema = right
			}
			return `{"resultType":"input_required","requestState":"eyJzdGVwIjoxLCJieSI6InJlbGVhc2VzIn0","inputRequests":{"what":{"method":"elicitation/create","params":{"mode":"form","message":"What shall be released?","requestedSchema":` + schema + `}}}}`
		},
	})
}

// The frames of the page are what the program draws. -update writes them.
func TestDocumentedFrames(t *testing.T) {
	frames := map[string]string{}
	fixed := false
	bubble(t, func() *peer.Server { return release(func() bool { return fixed }) }, setup{w: 80, h: 24, options: func(o *inspect.Options) {
		o.Servers[0].Name = "releases"
		o.Transports["releases"] = o.Transports[peer.Name]
	}}, func(r *rig) {
		f := &film{rig: r}
		f.even()
		shot := func(name string) {
			time.Sleep(100 * time.Millisecond)
			r.settle()
			frames[name] = dense(r.frame())
		}
		shot("tools")
		r.tool("release")
		shot("refused")
		r.press("enter")
		r.press("/", "items", "enter")
		shot("message")
		fixed = true
		r.press("esc", "e", "ctrl+s")
		shot("asked")
		r.press("1.4.0", "tab", "space", "ctrl+s")
		shot("review")
		r.press("s")
		shot("done")
		r.press("d")
		shot("diff")
		r.press("6", "/", "round", "enter")
		shot("messages")
	})
	frames["keys"] = keyTable()
	raw, err := os.ReadFile(pageFile)
	if err != nil {
		t.Fatal(err)
	}
	text, used := string(raw), map[string]bool{}
	for name, frame := range frames {
		mark := "<!-- frame: " + name + " -->\n```text\n"
		from := strings.Index(text, mark)
		if from < 0 {
			continue
		}
		used[name] = true
		from += len(mark)
		to := from + strings.Index(text[from:], "```")
		if text[from:to] != frame {
			if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
				text = text[:from] + frame + text[to:]
				continue
			}
			t.Errorf("the frame %q of the page is\n%s\nand the program draws\n%s", name, text[from:to], frame)
		}
	}
	if len(used) < 6 || strings.Count(text, "<!-- frame: ") != len(used) {
		t.Errorf("frames of the page that nobody draws: %d of %d are known", len(used), strings.Count(text, "<!-- frame: "))
	}
	if text != string(raw) {
		if err := os.WriteFile(pageFile, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// keyTable is the help as the page has it.
func keyTable() string {
	var out strings.Builder
	where := ""
	for _, b := range bindings {
		if b.where != where {
			where = b.where
			fmt.Fprintln(&out, where)
		}
		fmt.Fprintf(&out, "  %-36s %s\n", b.key, b.does)
	}
	return out.String()
}

// dense is a frame without its empty rows.
func dense(frame string) string {
	var out []string
	for row := range strings.Lines(frame) {
		if strings.TrimSpace(row) != "" && strings.Trim(row, "▌ \n") != "" {
			out = append(out, row)
		}
	}
	return strings.Join(out, "")
}
