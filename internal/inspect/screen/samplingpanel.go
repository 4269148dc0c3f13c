package screen

import (
	"encoding/json"
	"strings"
	"time"

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
	review  json.RawMessage
	problem string
	since   time.Time
	kit.Scroller
	w, h int
}

func newSamplingPanel(a *inspect.Ask) *samplingPanel {
	return &samplingPanel{a: a, s: inspect.ReadSampling(a.Sampling.Params), edit: newArea("", forms.Block)}
}

func (p *samplingPanel) ask() *inspect.Ask { return p.a }
func (p *samplingPanel) id() uint64        { return p.a.ID }
func (p *samplingPanel) show(m *Model)     { p.since = m.now() }
func (p *samplingPanel) resize(w, h int)   { p.w, p.h = w, h }

func (p *samplingPanel) key(k tea.KeyMsg, m *Model) tea.Cmd {
	if m.now().Sub(p.since) < guard {
		return nil
	}
	m.notice = ""
	s := k.String()
	switch {
	case s == "ctrl+f":
		m.leavePanel()
		return nil
	case s == "ctrl+x" && p.stage != samplingRejecting:
		p.back, p.stage, p.since = p.stage, samplingRejecting, m.now()
		return nil
	}
	switch p.stage {
	case samplingWriting:
		return p.writeKey(k)
	case samplingReviewing:
		return p.reviewKey(k, m)
	case samplingRejecting:
		switch {
		case k.Paste:
		case s == "y":
			return m.answer(p, inspect.Reply{Reject: true})
		case s == "n" || s == "esc":
			p.stage = p.back
		}
		return nil
	}
	if k.Paste {
		return nil
	}
	switch s {
	case "a", "enter":
		p.write(p.edit.Value())
	case "j": // before the scroller, which would go down
		text := p.edit.Value()
		if strings.TrimSpace(text) == "" {
			text = "…"
		}
		if raw, err := inspect.SamplingAnswer(text); err == nil {
			text = inspect.Pretty(raw)
		}
		p.write(text)
	default:
		p.Scroller.Key(k, max(1, p.room(m)-1))
	}
	return nil
}

func (p *samplingPanel) write(text string) {
	p.edit = newArea(text, forms.Block)
	p.stage, p.problem = samplingWriting, ""
}

func (p *samplingPanel) writeKey(k tea.KeyMsg) tea.Cmd {
	switch k.String() {
	case "esc":
		p.stage = samplingReading
	case "ctrl+s":
		raw, err := inspect.SamplingAnswer(p.edit.Value())
		if err != nil {
			p.problem = err.Error()
			return nil
		}
		p.review, p.stage, p.Scroller = raw, samplingReviewing, kit.Scroller{}
	default:
		p.problem = ""
		p.edit.take(k)
	}
	return nil
}

func (p *samplingPanel) reviewKey(k tea.KeyMsg, m *Model) tea.Cmd {
	if k.Paste || p.Scroller.Key(k, max(1, p.room(m)-1)) {
		return nil
	}
	switch k.String() {
	case "s":
		return m.answer(p, inspect.Reply{Message: p.review})
	case "e", "esc":
		p.stage, p.Scroller = samplingWriting, kit.Scroller{}
	}
	return nil
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
		rows := kit.Wrap(forms.Block(inspect.Pretty(p.review)), p.w-1)
		body, where := p.Cut(rows, p.room(m))
		return frame(head, body, m.th.Strong.Render(strings.TrimSpace("this is what is sent "+where)),
			[]kit.Hint{{"s", "send"}, {"e", "edit"}, {"ctrl+x", "reject"}, {"ctrl+f", "leave"}}, m)
	case samplingRejecting:
		what := "Nothing is sent to the server."
		if p.a.Origin.Pushed {
			what = "The server gets an error."
		}
		return frame(head, []string{"", m.th.Strong.Render("Reject, and let the call fail?"), what, "",
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
	p.edit.size(p.w-3, p.room(m))
	var body []string
	for row := range strings.SplitSeq(p.edit.View(), "\n") {
		body = append(body, m.th.Focus.Render(m.th.Glyphs.FocusBar)+" "+row)
	}
	status := m.th.Dim.Render("a text, or a whole result as JSON")
	if p.problem != "" {
		status = m.th.Error.Render("! " + kit.Clip(forms.Line(p.problem), p.w-3))
	}
	return frame(head, body, status, []kit.Hint{{"ctrl+s", "review"}, {"esc", "what is asked"}, {"ctrl+x", "reject"}}, m)
}
