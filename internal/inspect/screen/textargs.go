package screen

import (
	"encoding/json"
	"reflect"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/internal/inspect"
	"askback/tui/kit"
	"askback/tui/tty"
)

// textArgs asks for the arguments of a prompt, or for the variables of a template: texts, which the server may
// complete.
type textArgs struct {
	q      inspect.Request
	item   inspect.Item
	values []lineInput
	at     int

	asked   int // completions asked for; the latest counts
	offers  []string
	choice  list
	waiting bool
	problem string

	composed time.Time // characters came at once, as from an input method
}

// imePause is how soon an enter may follow characters that came at once and still be the key that confirms them.
const imePause = 30 * time.Millisecond

// completed is the answer to a completion.
type completed struct {
	of     *textArgs
	asked  int
	values []string
	err    error
}

func newTextArgs(q inspect.Request, item inspect.Item) *textArgs {
	p := &textArgs{q: q, item: item}
	for range item.Arguments {
		p.values = append(p.values, newLine(""))
	}
	return p
}

// resume implements argsPage, unless the server has come to ask for something else.
func (p *textArgs) resume(fresh argsPage) bool {
	p.problem, p.offers = "", nil
	return reflect.DeepEqual(p.item.Arguments, fresh.(*textArgs).item.Arguments)
}

func (p *textArgs) title(*Model) string {
	if p.item.Template {
		return "variables of " + p.item.URI
	}
	return "arguments of " + p.item.Name
}

func (p *textArgs) key(k tea.KeyMsg, m *Model) tea.Cmd {
	if len(p.offers) > 0 {
		return p.offerKey(k)
	}
	p.problem = ""
	p.asked, p.waiting = p.asked+1, false // whoever goes on does not wait for what the server suggests
	switch kit.KeyName(k) {
	case "esc", "ctrl+c":
		m.leaveArgs(p)
	case "ctrl+s":
		return p.send(m)
	case "ctrl+t":
		return p.complete(m)
	case "enter":
		switch {
		case m.now().Sub(p.composed) < imePause:
			p.problem = "an enter right after composed text is ignored"
		case p.at == len(p.values)-1:
			return p.send(m)
		default:
			p.at++
		}
	case "tab", "down":
		p.at = min(p.at+1, len(p.values)-1)
	case "shift+tab", "up":
		p.at = max(p.at-1, 0)
	default:
		if k.Type == tea.KeyRunes && !k.Paste && tty.Composed(k.Runes) {
			p.composed = m.now()
		}
		p.values[p.at].take(k)
	}
	return nil
}

// offerKey chooses among what the server suggests.
func (p *textArgs) offerKey(k tea.KeyMsg) tea.Cmd {
	p.choice.clamp(len(p.offers))
	if k.Type != tea.KeyRunes && p.choice.key(kit.KeyName(k), 5) {
		return nil
	}
	switch kit.KeyName(k) {
	case "enter", "tab":
		p.values[p.at].SetValue(forms.Line(p.offers[p.choice.at]))
		p.values[p.at].CursorEnd()
		p.offers = nil
	case "esc", "ctrl+c", "ctrl+t":
		p.offers = nil
	default:
		p.offers = nil
		p.values[p.at].take(k)
	}
	return nil
}

func (p *textArgs) complete(m *Model) tea.Cmd {
	p.asked++
	p.waiting = true
	c := inspect.Completion{Server: p.q.Server, Argument: p.item.Arguments[p.at].Name, Value: p.values[p.at].Value(), Others: p.given(p.at)}
	if p.item.Template {
		c.Template = p.item.URI
	} else {
		c.Prompt = p.item.Name
	}
	asked := p.asked
	return func() tea.Msg {
		values, err := m.ins.Complete(m.ctx, c)
		return completed{p, asked, values, err}
	}
}

func (p *textArgs) completed(msg completed) {
	if msg.asked != p.asked {
		return
	}
	p.waiting, p.choice = false, list{}
	switch {
	case msg.err != nil:
		p.problem = errorText(msg.err)
	case len(msg.values) == 0:
		p.problem = "the server suggests nothing"
	default:
		p.offers = msg.values
	}
}

// given are the values that are not empty, but for one.
func (p *textArgs) given(except int) map[string]string {
	out := map[string]string{}
	for i, a := range p.item.Arguments {
		if v := p.values[i].Value(); v != "" && i != except {
			out[a.Name] = v
		}
	}
	return out
}

func (p *textArgs) send(m *Model) tea.Cmd {
	given := p.given(-1)
	for i, a := range p.item.Arguments {
		if _, ok := given[a.Name]; a.Required && !ok {
			p.at, p.problem = i, forms.Line(a.Name)+" is required"
			return nil
		}
	}
	q := p.q
	if p.item.Template {
		q.Name = inspect.ExpandTemplate(p.item.URI, given)
		return m.send(p, q)
	}
	out := []byte{'{'}
	for _, a := range p.item.Arguments {
		v, ok := given[a.Name]
		if !ok {
			continue
		}
		name, _ := json.Marshal(a.Name) // strings always can be
		value, _ := json.Marshal(v)
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, name...), ':'), value...)
	}
	q.Arguments = append(out, '}')
	return m.send(p, q)
}

func (p *textArgs) rows(m *Model, w, h int) []string {
	var out []string
	focus := 0
	for i, a := range p.item.Arguments {
		need := "optional"
		if a.Required {
			need = "required"
		}
		name := a.Name
		if a.Title != "" {
			name = a.Title
		}
		label := m.th.Strong.Render(forms.Line(name)) + m.th.Dim.Render(" ("+need+")  "+forms.Line(a.Description))
		value := "  " + forms.Line(p.values[i].Value())
		if i == p.at {
			focus = len(out)
			value = m.th.Focus.Render(m.th.Glyphs.FocusBar) + " " + p.values[i].view(w-4)
		}
		out = append(out, label, value)
	}
	below := p.below(m, w, h/2)
	room := max(2, h-len(below))
	top := max(0, min(focus-room/2, len(out)-room))
	return append(out[top:min(len(out), top+room)], below...)
}

// below is what stands under the arguments: suggestions, a problem, or the address that is made.
func (p *textArgs) below(m *Model, w, h int) []string {
	switch {
	case len(p.offers) > 0:
		p.choice.clamp(len(p.offers))
		rows := []string{m.th.Dim.Render("suggested by the server")}
		return append(rows, p.choice.draw(w, max(1, h-1), m.th, func(i, _ int) string { return forms.Line(p.offers[i]) })...)
	case p.problem != "":
		return []string{m.th.Error.Render("! ") + kit.Clip(forms.Line(p.problem), w-3)}
	case p.waiting:
		return []string{m.th.Dim.Render("asking the server")}
	case p.item.Template:
		return append([]string{""}, hardWrap("reads "+forms.Line(inspect.ExpandTemplate(p.item.URI, p.given(-1))), w-1)...)
	}
	return nil
}

func (p *textArgs) hints(*Model) []kit.Hint {
	if len(p.offers) > 0 {
		return []kit.Hint{{"enter", "take"}, {"esc", "none of them"}}
	}
	does := "get"
	if p.item.Template {
		does = "read"
	}
	return []kit.Hint{{"ctrl+s", does}, {"ctrl+t", "complete"}, {"tab", "next"}, {"esc", "back"}}
}
