package tui

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/tui/kit"
)

// rawargs takes a tool's arguments as JSON.
type rawargs struct {
	server, tool string
	why          []string // why the form could not be shown; nil when the person wanted JSON
	edit         editor
	problem      string
	width        int
	line         string // what it was sent as
}

func newRawArgs(server, tool, text string, why []string) *rawargs {
	r := &rawargs{server: server, tool: tool, why: why, edit: editor{multi: true, limit: maxTurnText}}
	r.edit.set(text)
	if text == "{}" {
		r.edit.cur = 1
	}
	return r
}

func (r *rawargs) title() string { return "arguments " + forms.Line(r.server+"/"+r.tool) }

func (r *rawargs) key(k tea.KeyMsg, v view) action {
	r.width = max(1, v.w-4)
	switch kit.KeyName(k) {
	case "esc", "ctrl+c":
		if t := strings.TrimSpace(r.edit.String()); t == "" || t == "{}" {
			return doClose{}
		}
		return doThen{doClose{}, doKeep{r}}
	case "enter":
		r.edit.insert("\n")
	case "ctrl+s":
		args, err := compactObject(r.edit.String())
		if err != nil {
			r.problem = err.Error()
			return nil
		}
		r.line = callLine(r.server, r.tool, args)
		return doThen{doKeep{r}, doThen{doClose{}, doCall{r.line}}}
	case "up":
		r.edit.up(r.width)
	case "down":
		r.edit.down(r.width)
	default:
		r.edit.key(k)
		r.problem = ""
	}
	return nil
}

// callLine is the line that calls a tool.
func callLine(server, tool, args string) string {
	line := "/call " + server + "/" + tool
	if args != "{}" {
		line += " " + args
	}
	return line
}

func (r *rawargs) rows(v view) []string {
	var out []string
	for i, w := range r.why {
		if i == 3 || len(out) >= v.h/3 {
			out = append(out, v.th.Dim.Render("  "+kit.Count(len(r.why)-i, "more reason", "more reasons")))
			break
		}
		for _, row := range kit.Wrap(forms.Line(w), max(8, v.w-4)) {
			out = append(out, v.th.Warn.Render("! ")+row)
		}
	}
	var wrong []string
	if r.problem != "" {
		wrong, _ = few(forms.Line(r.problem), max(8, v.w-3), 3)
	}
	h := max(1, v.h-len(out)-len(wrong))
	for _, row := range r.edit.view(max(1, v.w-4), h, true, v.th.Cursor.Render) {
		out = append(out, v.th.Focus.Render(v.th.Glyphs.FocusBar)+" "+row)
	}
	for i, row := range wrong {
		lead := "  "
		if i == 0 {
			lead = v.th.Error.Render("!") + " "
		}
		out = append(out, lead+row)
	}
	return out
}

func (r *rawargs) hints(v view) []kit.Hint {
	return []kit.Hint{{"ctrl+s", "call"}, {"enter", "new line"}, {"esc", "back"}}
}
