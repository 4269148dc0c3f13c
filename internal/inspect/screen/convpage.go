package screen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/internal/inspect"
	"askback/mcpmgr"
	"askback/tui/kit"
)

// convPage is one call as a conversation: its legs, what was asked and what was answered between them.
type convPage struct {
	c *inspect.Conversation
	list
	lines []convLine
	seen  string // what the lines were made of
	moved bool   // the person has moved the cursor; else the end is shown
}

// convLine is one row of a conversation. message is what enter opens, or nil.
type convLine struct {
	text    string
	message *inspect.Message
}

func (p *convPage) title(m *Model) string { return p.c.Method + " " + p.c.Name }

func (p *convPage) key(k tea.KeyMsg, m *Model) tea.Cmd {
	p.layout(m, m.w)
	if p.list.key(kit.KeyName(k), max(1, m.h-5)) {
		p.moved = p.at < p.n-1
		return nil
	}
	var at *inspect.Message
	if p.at < len(p.lines) {
		at = p.lines[p.at].message
	}
	switch kit.KeyName(k) {
	case "ctrl+c":
		return p.interrupt(m)
	case "esc", "q":
		m.pop()
	case "enter":
		if at != nil {
			m.push(newMessagePage(at))
		} else {
			m.notice = "no message stands behind this row"
		}
	case "d":
		m.pushDiff(at)
	case "c":
		var b strings.Builder
		for _, l := range p.lines {
			b.WriteString(strip(l.text) + "\n")
		}
		return m.copy(b.String(), "the conversation")
	default:
		return callKey(k, m, p.c)
	}
	return nil
}

// interrupt aborts a call that runs, at the second time, as on its panels; from the page of any other it goes back.
func (p *convPage) interrupt(m *Model) tea.Cmd {
	if r := p.c.Run; r != nil && r.Open() {
		return m.twice(abortAgain, r.ID, func() tea.Cmd {
			m.ins.Abort(r.ID)
			return nil
		})
	}
	m.pop()
	return nil
}

func (p *convPage) layout(m *Model, w int) {
	if now := m.signature(p.c, w); now != p.seen {
		p.lines, p.seen = m.conversation(p.c, w-4), now
	}
	if !p.moved {
		p.at = len(p.lines) - 1
	}
	p.clamp(len(p.lines))
}

// signature changes when a conversation looks different.
func (m *Model) signature(c *inspect.Conversation, w int) string {
	n := 0
	for _, l := range c.Legs {
		n += len(l.Notes)
		for _, p := range l.Pushes {
			n++
			if p.Answer != nil {
				n++
			}
		}
		if l.Reply != nil {
			n++
		}
	}
	s := fmt.Sprint(w, len(c.Legs), n, m.stateOf(c))
	if c.Run != nil && c.Run.Open() {
		s += kit.Elapsed(m.now().Sub(c.Began))
	}
	return s
}

func (p *convPage) rows(m *Model, w, h int) []string {
	p.layout(m, w)
	return p.draw(w, h, m.th, func(i, _ int) string { return p.lines[i].text })
}

func (p *convPage) hints(m *Model) []kit.Hint {
	hs := []kit.Hint{{"enter", "message"}}
	if r := p.c.Run; r != nil && r.Open() {
		if m.panelOf(p.c) != nil {
			hs = append(hs, kit.Hint{"f", "panel"})
		}
		hs = append(hs, kit.Hint{"ctrl+c", "abort"})
	}
	return append(hs, kit.Hint{"esc", "back"}, kit.Hint{"d", "diff"}, kit.Hint{"e", "again, edited"}, kit.Hint{"c", "copy"})
}

// conversation lays a call out in rows of at most w cells.
func (m *Model) conversation(c *inspect.Conversation, w int) []convLine {
	var out []convLine
	say := func(msg *inspect.Message, lead, s string) {
		for i, r := range kit.WrapAfter(forms.Block(s), max(8, w-kit.Width(lead)), ",") {
			if i == 1 { // a server's text stays behind the bar
				rest, barred := strings.CutSuffix(lead, m.bar())
				lead = strings.Repeat(" ", kit.Width(rest))
				if barred {
					lead += m.bar()
				}
			}
			out = append(out, convLine{m.th.Dim.Render(lead) + r, msg})
		}
	}
	head := forms.Line(c.Server) + " " + m.th.Glyphs.Dot + " " + m.stateOf(c)
	if r := c.Run; r != nil && r.Open() {
		head += " " + m.th.Glyphs.Dot + " " + kit.Elapsed(m.now().Sub(c.Began))
	}
	say(nil, "", head)
	if args := c.Arguments(); args != nil {
		say(c.First(), "arguments ", compact(args))
	}
	for i, l := range c.Legs {
		m.leg(c, i, l, say, &out)
	}
	if r := c.Run; r != nil && r.Err != nil {
		how := "failed " + string(r.Err.Code)
		if r.Err.Code == mcpmgr.CodeCancelled {
			how = "ended"
		}
		var about *inspect.Message // what it failed on, if anything came back
		if n := len(c.Legs); n > 0 && r.Err.Code != mcpmgr.CodeCancelled {
			about = c.Legs[n-1].Reply
		}
		out = append(out, convLine{m.th.Error.Render(how), about})
		say(about, "  "+m.bar(), r.Err.Message)
	}
	return out
}

// bar stands before a server's text.
func (m *Model) bar() string { return m.th.Glyphs.Bar + " " }

// leg lays out one leg and what follows from it.
func (m *Model) leg(c *inspect.Conversation, i int, l *inspect.Leg, say func(*inspect.Message, string, string), out *[]convLine) {
	if l.Request == nil {
		return
	}
	head := fmt.Sprintf("leg %d of %d  id %s  %s", l.N, len(c.Legs), forms.Line(l.Request.ID), size(l.Request.Size))
	d, over := l.Took()
	switch {
	case over:
		head += "  " + took(d, m.th)
	case l.Cancelled():
		head += "  cancelled"
	case c.Run == nil || c.Run.Open():
		head += "  on the wire"
	default:
		head += "  no reply"
	}
	*out = append(*out, convLine{m.th.Strong.Render(kit.Clip(head, 1<<10)), l.Request})
	if l.Request.StateBytes >= 0 {
		say(l.Request, "  state    ", stateText(l.Request))
	}
	for _, n := range l.Notes {
		if n.Sent {
			say(n, "  sent     ", n.Method)
		}
	}
	for _, p := range l.Pushes {
		m.pushRows(p, say)
	}
	r := l.Reply
	switch {
	case r == nil:
		return
	case r.Raw == nil:
		say(r, "  reply    ", size(r.Size)+", not kept")
	case r.Failed:
		say(r, "  error    "+m.bar(), compact(errorOf(r)))
	case l.InputRequired():
		m.round(c, i, l, say)
	default:
		say(r, "  result   "+m.bar(), shown(inspect.ResultText(c.Method, resultOf(r))))
	}
}

// pushRows lay out a legacy server's own request during a leg.
func (m *Model) pushRows(p *inspect.Push, say func(*inspect.Message, string, string)) {
	s := "by its own request: " + p.Request.Method
	if text := inspect.Text(inspect.Member(inspect.Member(p.Request.Raw, "params"), "message")); text != "" {
		s += ": " + text
	}
	say(p.Request, "  asked    "+m.bar(), s)
	switch {
	case p.Answer == nil:
	case p.Answer.Failed:
		say(p.Answer, "  answered ", "with an error: "+compact(errorOf(p.Answer)))
	default:
		say(p.Answer, "  answered ", compact(resultOf(p.Answer)))
	}
}

// round lays out what a leg's reply asks and what went back for it.
func (m *Model) round(c *inspect.Conversation, i int, l *inspect.Leg, say func(*inspect.Message, string, string)) {
	qs := c.Questions(i)
	say(l.Reply, "  reply    ", roundText(c, i))
	if l.Reply.StateBytes >= 0 {
		say(l.Reply, "  state    ", stateText(l.Reply))
	}
	for _, q := range qs {
		s := q.Key + ": " + q.Method
		if q.Message != "" {
			s += ": " + q.Message
		}
		say(l.Reply, "  asked    "+m.bar(), s)
	}
	if len(qs) == 0 {
		say(l.Reply, "  asked    ", "nothing: repeated after a pause")
	}
	for _, q := range qs {
		if q.Answer != nil {
			say(c.Legs[i+1].Request, "  answered ", q.Key+": "+answerText(q))
		}
	}
}

// roundText numbers a round: legs that were sent again for another reason do not count.
func roundText(c *inspect.Conversation, i int) string {
	n := 0
	for _, l := range c.Legs[:i+1] {
		if l.InputRequired() {
			n++
		}
	}
	if n > inspect.Rounds {
		return fmt.Sprintf("input_required, after %d rounds", inspect.Rounds)
	}
	return fmt.Sprintf("input_required, round %d of at most %d", n, inspect.Rounds)
}

// stateText says all that is known of a message's requestState: its size, and whether it came back as it was.
func stateText(msg *inspect.Message) string {
	s := kit.Count(msg.StateBytes, "byte", "bytes")
	switch {
	case msg.Sent && msg.Echoed:
		s += ", echoed exactly"
	case msg.Sent:
		s += ", not as the server sent it"
	}
	return s
}

func answerText(q inspect.Question) string { return compact(q.Answer) }

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return shown(string(raw))
	}
	return shown(b.String())
}
