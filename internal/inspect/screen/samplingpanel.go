package screen

import (
	"cmp"
	"encoding/json"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/internal/inspect"
	"askback/tui/kit"
)

// samplingStage is where a sampling request stands.
//
//	reading   → writing (a, j, enter), rejecting (ctrl+x)
//	writing   → reading (esc), reviewing (ctrl+s)
//	reviewing → writing (e, esc); s answers
//	rejecting → where it came from (n, esc); y rejects
type samplingStage int

const (
	samplingReading samplingStage = iota
	samplingWriting
	samplingReviewing
	samplingRejecting
)

// samplingPanel shows what a model is asked, and takes the answer that a person writes in its place.
type samplingPanel struct {
	a       *inspect.Ask
	s       inspect.Sampling
	stage   samplingStage
	back    samplingStage
	edit    areaInput
	text    string // left for JSON
	json    string // left for a text, as which it cannot be written
	review  json.RawMessage
	read    bool // the end of the review was on the screen
	problem string
	keys    kit.Guard
	kit.Scroller
	w, h int
}

func newSamplingPanel(a *inspect.Ask) *samplingPanel {
	return &samplingPanel{a: a, s: inspect.ReadSampling(a.Sampling.Params), edit: newArea("", forms.Block)}
}

func (p *samplingPanel) ask() *inspect.Ask      { return p.a }
func (p *samplingPanel) id() uint64             { return p.a.ID }
func (p *samplingPanel) show(m *Model)          { p.keys.Start(m.now()) }
func (p *samplingPanel) ignoring(m *Model) bool { return p.keys.Ignoring(m.now()) }
func (p *samplingPanel) resize(w, h int)        { p.w, p.h = w, h }

func (p *samplingPanel) key(k tea.KeyMsg, m *Model) tea.Cmd {
	if !p.keys.Takes(m.now()) {
		return nil
	}
	m.notice = ""
	s := kit.Command(k)
	switch {
	case s == "ctrl+f":
		m.leavePanel()
		return nil
	case s == "ctrl+x" && p.stage != samplingRejecting:
		p.back, p.stage = p.stage, samplingRejecting
		p.keys.Start(m.now())
		return nil
	}
	switch p.stage {
	case samplingWriting:
		return p.writeKey(k, m)
	case samplingReviewing:
		return p.reviewKey(k, m)
	case samplingRejecting:
		switch s {
		case "y", "ctrl+y":
			return m.answer(p, inspect.Reply{Reject: true})
		case "n", "esc":
			p.stage = p.back
			p.keys.Start(m.now())
		default:
			stray(&p.keys, k, m)
		}
		return nil
	}
	switch s {
	case "a":
		p.writeText()
	case "enter":
		p.write(p.edit.Value())
	case "j": // before the scroller, which would go down
		p.writeJSON()
	default:
		p.Scroller.Key(k, max(1, p.room(m)-1))
	}
	return nil
}

// writeText edits the answer as a text. JSON that says more than a text stays, for writeJSON.
func (p *samplingPanel) writeText() {
	text := p.edit.Value()
	if isJSON(text) {
		said, ok := inspect.SamplingText(text)
		if ok {
			p.json = ""
		} else {
			p.json, said = text, p.text
		}
		if text = said; text == unsaid {
			text = ""
		}
	}
	p.write(text)
}

// unsaid stands in JSON where nothing was said yet.
const unsaid = "…"

func (p *samplingPanel) writeJSON() {
	text := p.edit.Value()
	if !isJSON(text) {
		p.text = text
		if strings.TrimSpace(text) == "" {
			text = unsaid
		}
		if p.json != "" {
			text = p.json
		}
	}
	if raw, err := inspect.SamplingAnswer(text); err == nil {
		text = inspect.Pretty(raw)
	}
	p.write(text)
}

func isJSON(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), "{") }

// typed is what the person wrote last, or left for the other way to write it.
func (p *samplingPanel) typed() string { return cmp.Or(p.edit.Value(), p.json, p.text) }

func (p *samplingPanel) write(text string) {
	p.edit = newArea(text, forms.Block)
	p.stage, p.problem = samplingWriting, ""
}

func (p *samplingPanel) writeKey(k tea.KeyMsg, m *Model) tea.Cmd {
	switch kit.KeyName(k) {
	case "esc":
		p.stage = samplingReading
	case "ctrl+s":
		raw, err := inspect.SamplingAnswer(p.edit.Value())
		if err != nil {
			p.problem = err.Error()
			return nil
		}
		p.review, p.stage, p.Scroller = raw, samplingReviewing, kit.Scroller{}
		p.read = false
		p.keys.Start(m.now())
	default:
		p.problem = ""
		p.edit.take(k)
	}
	return nil
}

func (p *samplingPanel) reviewKey(k tea.KeyMsg, m *Model) tea.Cmd {
	if p.Scroller.Key(k, max(1, p.room(m)-1)) {
		if kit.Writes(k) {
			p.keys.Wrote(m.now())
		}
		return nil
	}
	switch kit.Command(k) {
	case "s", "ctrl+s":
		switch {
		case !p.keys.Decides(m.now()):
		case p.seen(m):
			return m.answer(p, inspect.Reply{Message: p.review})
		default: // nothing is sent that was not on the screen
			p.Scroller.Key(tea.KeyMsg{Type: tea.KeyPgDown}, max(1, p.room(m)-1))
			p.keys.Start(m.now())
		}
	case "e", "esc":
		p.stage, p.Scroller = samplingWriting, kit.Scroller{}
	default:
		stray(&p.keys, k, m)
	}
	return nil
}

func (p *samplingPanel) reviewRows() []string {
	return kit.Wrap(forms.Block(inspect.Pretty(p.review)), p.w-1)
}

// seen says whether the end of what would be sent is, or was, on the screen.
func (p *samplingPanel) seen(m *Model) bool {
	p.read = p.read || p.Top >= len(p.reviewRows())-p.room(m)
	return p.read
}

func (p *samplingPanel) head(m *Model) []string {
	warn := "! No model runs here: you answer in its place, and the server reads it."
	if kit.Width(warn) > p.w-1 {
		warn = "! You answer in a model's place."
	}
	return append([]string{whoRow(p.a, "sampling", p.w, m.th), m.th.Warn.Render(warn)}, noteRows(p.a, p.w, m.th)...)
}

func (p *samplingPanel) room(m *Model) int { return max(1, p.h-len(p.head(m))-2) }

func (p *samplingPanel) view(m *Model) string {
	head := p.head(m)
	switch p.stage {
	case samplingWriting:
		return p.writeView(head, m)
	case samplingReviewing:
		send := kit.Hint{"s", "send"}
		if !p.seen(m) {
			send = kit.Hint{"pgdn", "read on"}
		}
		body, where := p.Cut(p.reviewRows(), p.room(m))
		return frame(head, body, m.th.Strong.Render(strings.TrimSpace("this is what is sent "+where)),
			[]kit.Hint{send, {"e", "edit"}, {"ctrl+x", "reject"}, {"ctrl+f", "leave"}}, m)
	case samplingRejecting:
		sure, what := "Reject, and let the call fail?", "Nothing is sent to the server."
		if p.a.Origin.Pushed { // the call goes on, as the server likes
			sure, what = "Reject this request?", "The server gets an error, and goes on."
		}
		return frame(head, []string{"", m.th.Strong.Render(sure), what, "",
			"y       reject", "n, esc  go back"}, m.th.Dim.Render("nothing is sent yet"), []kit.Hint{{"y", "reject"}, {"n", "back"}}, m)
	}
	var rows []string
	for _, l := range p.s.Lines() {
		rows = append(rows, barred(l, p.w, m.th)...)
	}
	body, where := p.Cut(rows, p.room(m))
	status := "nothing is sent yet"
	if where != "" {
		status = where + ": up, down, pgdown"
	}
	hs := []kit.Hint{{"a", "answer"}, {"j", "answer as JSON"}, {"ctrl+x", "reject"}, {"ctrl+f", "leave"}}
	if p.a.Run != 0 {
		hs = append(hs, kit.Hint{"ctrl+c", "abort"})
	}
	return frame(head, body, m.th.Dim.Render(status), hs, m)
}

func (p *samplingPanel) writeView(head []string, m *Model) string {
	var wrong []string // above the status, whole
	if p.problem != "" {
		for i, r := range kit.Wrap(forms.Line(p.problem), max(8, p.w-3)) {
			wrong = append(wrong, m.th.Error.Render(mark(i))+" "+r)
		}
		wrong = wrong[:min(len(wrong), max(1, p.room(m)-1))]
	}
	p.edit.size(p.w-3, max(1, p.room(m)-len(wrong)))
	var body []string
	for row := range strings.SplitSeq(p.edit.View(), "\n") {
		body = append(body, m.th.Focus.Render(m.th.Glyphs.FocusBar)+" "+row)
	}
	return frame(head, append(body, wrong...), m.th.Dim.Render("a text, or a whole result as JSON"),
		[]kit.Hint{{"ctrl+s", "review"}, {"esc", "what is asked"}, {"ctrl+x", "reject"}}, m)
}
