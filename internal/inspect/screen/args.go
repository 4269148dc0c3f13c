package screen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/internal/inspect"
	"askback/internal/strictjson"
	"askback/tui/formview"
	"askback/tui/kit"
)

// formArgs asks for a tool's arguments with the form. It also shows a server's form that closed without an answer, for
// what was typed into it.
type formArgs struct {
	q    inspect.Request
	f    *formview.Model
	size [2]int // that the form has
}

func (p *formArgs) title(*Model) string { return "arguments" }

// fit gives the form the whole screen.
func (p *formArgs) fit(m *Model) {
	if size := [2]int{m.w, m.h}; size != p.size {
		p.size = size
		p.f.Resize(m.w, m.h)
	}
}

func (p *formArgs) key(k tea.KeyMsg, m *Model) tea.Cmd {
	p.fit(m)
	if kit.KeyName(k) == "ctrl+c" {
		if p.f.Settled() && p.f.Guarded() { // a second ctrl+c for the call that has ended meanwhile
			m.notice = "it has closed; ctrl+c again leaves it"
			return nil
		}
		m.leaveArgs(p)
		return nil
	}
	switch a := p.f.Update(k).(type) {
	case formview.Submit:
		q := p.q
		q.Arguments = p.f.Form().Object(a.Result)
		return m.send(p, q)
	case formview.Leave, formview.Close:
		m.leaveArgs(p)
	case formview.Copy:
		return m.copy(a.Text, "what you typed")
	}
	return nil
}

func (p *formArgs) show(*Model)          { p.f.Show() }
func (p *formArgs) ignoring(*Model) bool { return p.f.Ignoring() }

// resume implements argsPage, unless the tool has come to ask for something else.
func (p *formArgs) resume(fresh argsPage) bool {
	if !reflect.DeepEqual(p.f.Form(), fresh.(*formArgs).f.Form()) {
		return false
	}
	p.f.Reopen()
	return true
}

func (p *formArgs) view(m *Model) string {
	p.fit(m)
	return p.f.View()
}

func (p *formArgs) rows(*Model, int, int) []string { return nil }
func (p *formArgs) hints(*Model) []kit.Hint        { return nil }

// jsonArgs takes arguments as JSON, or the address of a resource, also those of a call that is made again.
type jsonArgs struct {
	q       inspect.Request
	again   *inspect.Conversation // the call that is made again, or nil
	why     []string              // why the form could not be shown; nil when the person wanted JSON
	edit    areaInput
	begun   string // what stood in edit at first
	problem string
}

func newJSONArgs(q inspect.Request, text string, why []string) *jsonArgs {
	safe := jsonBlock
	if q.Method == "resources/read" {
		safe = forms.Line
	}
	p := &jsonArgs{q: q, why: why, edit: newArea(text, safe)}
	p.begun = p.edit.Value()
	if text == "{}" {
		p.edit.SetCursor(1)
	}
	return p
}

// replay edits the arguments of a call for another one.
func replay(c *inspect.Conversation) *jsonArgs {
	q := inspect.Request{Server: c.Server, Method: c.Method, Name: c.Name}
	text := c.Name
	if c.Method != "resources/read" {
		text = "{}"
		if args := c.Arguments(); args != nil {
			text = inspect.Pretty(args)
		}
	}
	p := newJSONArgs(q, text, nil)
	p.again = c
	return p
}

// resume implements argsPage: JSON may say anything.
func (p *jsonArgs) resume(fresh argsPage) bool {
	p.why, p.problem = fresh.(*jsonArgs).why, ""
	return true
}

func (p *jsonArgs) title(*Model) string {
	if p.q.Method == "resources/read" {
		return "read " + p.q.Name
	}
	return "arguments of " + p.q.Name + ", as JSON"
}

func (p *jsonArgs) key(k tea.KeyMsg, m *Model) tea.Cmd {
	switch kit.KeyName(k) {
	case "esc", "ctrl+c":
		m.leaveArgs(p)
		return nil
	case "ctrl+s":
		return p.send(m)
	}
	p.problem = ""
	if k.Paste && p.begun == "{}" && p.edit.Value() == p.begun && strings.HasPrefix(strings.TrimSpace(string(k.Runes)), "{") {
		p.edit.SetValue("") // a whole object takes the place of the empty one
	}
	p.edit.take(k)
	return nil
}

func (p *jsonArgs) send(m *Model) tea.Cmd {
	q, text := p.q, strings.TrimSpace(p.edit.Value())
	if q.Method == "resources/read" {
		if p.edit.Value() == p.begun { // its name as the server has it, whatever cannot be shown of it
			return m.send(p, q)
		}
		if text == "" || strings.ContainsAny(text, "\n\r") {
			p.problem = "an address of one line"
			return nil
		}
		q.Name = text
		return m.send(p, q)
	}
	args, err := readArguments(text)
	if err != nil {
		p.problem = err.Error()
		return nil
	}
	q.Arguments = args
	return m.send(p, q)
}

// readArguments checks that a text is one JSON object. The error says where it is wrong.
func readArguments(text string) (json.RawMessage, error) {
	if text == "" {
		return nil, nil
	}
	v, err := strictjson.Parse([]byte(text), strictjson.Limits{})
	if err != nil {
		if e, ok := err.(*strictjson.Error); ok && e.Offset > 0 {
			before := text[:min(len(text), int(e.Offset))]
			return nil, fmt.Errorf("line %d: the text %w", 1+strings.Count(before, "\n"), err)
		}
		return nil, fmt.Errorf("the text %w", err)
	}
	if v.Kind() != strictjson.Object {
		return nil, fmt.Errorf("arguments are one object: {...}")
	}
	var line bytes.Buffer
	if err := json.Compact(&line, v.Raw()); err != nil {
		return nil, err
	}
	return line.Bytes(), nil
}

func (p *jsonArgs) rows(m *Model, w, h int) []string {
	var out []string
	for i, why := range p.why {
		if len(out) >= h/3 {
			out = append(out, m.th.Dim.Render("  "+kit.Count(len(p.why)-i, "more reason", "more reasons")))
			break
		}
		for _, row := range kit.Wrap(forms.Line(why), max(8, w-4)) {
			out = append(out, m.th.Warn.Render("! ")+row)
		}
	}
	var wrong []string
	if p.problem != "" {
		wrong = kit.Wrap(forms.Line(p.problem), max(8, w-3))
		wrong = wrong[:min(3, len(wrong))]
	}
	p.edit.size(w-3, max(1, h-len(out)-len(wrong)))
	for row := range strings.SplitSeq(p.edit.View(), "\n") {
		out = append(out, m.th.Focus.Render(m.th.Glyphs.FocusBar)+" "+row)
	}
	for _, row := range wrong {
		out = append(out, m.th.Error.Render("! ")+row)
	}
	return out
}

func (p *jsonArgs) hints(*Model) []kit.Hint {
	return []kit.Hint{{"ctrl+s", "call"}, {"esc", "back"}, {"enter", "new line"}}
}
