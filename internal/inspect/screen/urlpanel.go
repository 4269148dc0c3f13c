package screen

import (
	"errors"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/internal/inspect"
	"askback/tui/kit"
)

// urlStage is where a request to visit an address stands.
//
//	asking     → opening (y), confirming (ctrl+x, esc)
//	opening    → agreed (the browser ran, or could not)
//	agreed     → confirming, opening (o); r answers accept
//	confirming → where it came from (n, esc); y answers decline or cancel
//
// Nothing is opened before y, and accept is not sent before r: to open a page is not to be done with it.
type urlStage int

const (
	urlAsking urlStage = iota
	urlOpening
	urlAgreed
	urlConfirming
)

// urlPanel asks whether to visit an address.
type urlPanel struct {
	a       *inspect.Ask
	address inspect.Address
	stage   urlStage
	back    urlStage
	deny    forms.Action // what confirming asks about
	keys    kit.Guard
	status  string
	problem string // what became of the browser
	read    bool   // the end of the panel was on screen
	alone   bool   // nothing but the address is shown
	kit.Scroller
	w, h  int
	visit *visit // what the person's consent is for instead of an Ask: an authorization; or nil
}

// opened is what became of the browser.
type opened struct {
	panel uint64
	err   error
}

func newURLPanel(a *inspect.Ask) *urlPanel {
	return &urlPanel{a: a, address: inspect.ReadAddress(a.URL.URL)}
}

func (p *urlPanel) ask() *inspect.Ask      { return p.a }
func (p *urlPanel) id() uint64             { return p.a.ID }
func (p *urlPanel) show(m *Model)          { p.keys.Start(m.now()) }
func (p *urlPanel) ignoring(m *Model) bool { return p.keys.Ignoring(m.now()) }
func (p *urlPanel) resize(w, h int)        { p.w, p.h = w, h }

func (p *urlPanel) key(k tea.KeyMsg, m *Model) tea.Cmd {
	if !p.keys.Takes(m.now()) {
		return nil
	}
	m.notice = ""
	s := kit.Command(k)
	if s == "ctrl+f" {
		m.leavePanel()
		return nil
	}
	if p.stage == urlConfirming {
		return p.confirmKey(k, m)
	}
	if p.Scroller.Key(k, max(1, p.room(m)-1)) {
		if kit.Writes(k) {
			p.keys.Wrote(m.now())
		}
		return nil
	}
	if p.alone {
		if s == "p" || s == "esc" {
			p.alone, p.Scroller = false, kit.Scroller{}
		}
		return nil
	}
	switch s {
	case "p":
		p.keys.Wrote(m.now())
		if p.address.Host != "" { // else it may hold anything
			p.alone, p.Scroller = true, kit.Scroller{}
		}
	case "c":
		p.keys.Wrote(m.now())
		return m.copy(p.address.Text, "the address")
	case "y", "ctrl+y", "o", "r", "ctrl+r":
		if !p.keys.Decides(m.now()) {
			return nil
		}
		return p.decide(strings.TrimPrefix(s, "ctrl+"), k, m)
	case "ctrl+x":
		p.confirm(forms.ActionDecline, m)
	case "esc":
		p.confirm(forms.ActionCancel, m)
	default:
		stray(&p.keys, k, m)
	}
	return nil
}

// decide takes a letter that opens the address or answers, where it does.
func (p *urlPanel) decide(s string, k tea.KeyMsg, m *Model) tea.Cmd {
	switch {
	case s == "r" && p.stage == urlAgreed && p.visit == nil:
		return p.finish(m, forms.ActionAccept)
	case p.address.Refused == "" && (s == "y" && p.stage == urlAsking || s == "o" && p.stage == urlAgreed):
		return p.agree(s, m)
	}
	if p.address.Refused == "" {
		stray(&p.keys, k, m)
	}
	return nil
}

// agree opens the address: y is the consent, o opens once more.
func (p *urlPanel) agree(s string, m *Model) tea.Cmd {
	if !p.seen(m) {
		p.Scroller.Key(tea.KeyMsg{Type: tea.KeyPgDown}, max(1, p.room(m)-1))
		return nil
	}
	p.stage, p.status = urlOpening, ""
	if p.visit != nil && s == "y" {
		p.visit.agreed <- nil
	}
	browser, address, id := m.opt.Browser, p.address, p.id()
	return func() tea.Msg { return opened{id, browser.Open(m.ctx, address)} }
}

// byHand is what a person does where no browser could be run. Not every terminal takes what c copies.
const byHand = "copy the address and open it yourself (c, or p to select)"

// opened says what became of the browser. The consent stays pending: only the person knows whether a page was seen.
func (p *urlPanel) opened(err error) {
	if p.stage == urlConfirming { // the question stays
		p.back = urlAgreed
	} else {
		p.stage = urlAgreed
	}
	p.problem = ""
	switch {
	case errors.Is(err, inspect.ErrNoBrowser):
		p.status = "no $BROWSER: " + byHand
	case err != nil:
		p.status = byHand
		p.problem = "not opened: " + err.Error()
	default:
		p.status = "opened by $BROWSER"
	}
}

// confirm asks once before the server is told no.
func (p *urlPanel) confirm(a forms.Action, m *Model) {
	p.deny, p.back, p.stage = a, p.stage, urlConfirming
	p.keys.Start(m.now())
}

func (p *urlPanel) confirmKey(k tea.KeyMsg, m *Model) tea.Cmd {
	switch kit.Command(k) {
	case "y", "ctrl+y":
		return p.finish(m, p.deny)
	case "n", "esc":
		p.stage = p.back
		p.keys.Start(m.now())
	default:
		stray(&p.keys, k, m)
	}
	return nil
}

// finish answers with an action alone.
func (p *urlPanel) finish(m *Model, a forms.Action) tea.Cmd {
	if p.visit == nil {
		return m.answer(p, inspect.Reply{Result: forms.Result{Action: a}})
	}
	p.visit.giveUp() // its end takes the panel away
	return nil
}

func (p *urlPanel) head(m *Model) []string {
	warn, short := "! Check the host before you agree. Nothing was opened or fetched.", "! Check the host. Nothing was opened."
	if p.agreed() {
		warn, short = "! Only your browser talks to the host. Nothing is fetched from here.", "! Nothing is fetched from here."
	}
	if kit.Width(warn) > p.w-1 {
		warn = short
	}
	return append([]string{whoRow(p.a, "address", p.w, m.th), m.th.Warn.Render(warn)}, noteRows(p.a, p.w, m.th)...)
}

// agreed says whether the person has agreed, whatever is asked since.
func (p *urlPanel) agreed() bool {
	stage := p.stage
	if stage == urlConfirming {
		stage = p.back
	}
	return stage != urlAsking
}

func (p *urlPanel) room(m *Model) int { return max(1, p.h-len(p.head(m))-2) }

// seen says whether the end of the panel is, or was, on screen: who agrees has seen all of it.
func (p *urlPanel) seen(m *Model) bool {
	p.read = p.read || p.Top >= len(p.body(m))-p.room(m)
	return p.read
}

func (p *urlPanel) body(m *Model) []string {
	var out []string
	if p.a.URL.Message != "" {
		out = append(out, barred(p.a.URL.Message, p.w, m.th)...)
	}
	out = append(out, p.addressRows(m)...)
	out = append(out, p.hostRows(m)...)
	for _, s := range p.address.Warnings {
		for i, r := range kit.Wrap(forms.Line(s), p.w-3) {
			out = append(out, m.th.Loud.Render(mark(i))+" "+r)
		}
	}
	if p.problem != "" {
		for i, r := range kit.Wrap(forms.Line(p.problem), p.w-3) {
			out = append(out, m.th.Error.Render(mark(i))+" "+r)
		}
	}
	if p.address.Refused != "" {
		for i, r := range kit.Wrap("not opened from here: "+p.address.Refused, p.w-3) {
			out = append(out, m.th.Error.Render(mark(i))+" "+r)
		}
	}
	return out
}

func mark(i int) string {
	if i == 0 {
		return "!"
	}
	return " "
}

// hostRows are the whole host, whose end says whose it is, and the port.
func (p *urlPanel) hostRows(m *Model) []string {
	if p.address.Host == "" {
		return nil
	}
	var out []string
	lead := " host "
	for _, r := range hardWrap(forms.Line(p.address.Host), p.w-len(lead)-3) {
		out = append(out, lead+m.th.Loud.Render(" "+r+" "))
		lead = strings.Repeat(" ", len(lead))
	}
	if p.address.Port != "" {
		out = append(out, " port "+m.th.Loud.Render(" "+p.address.Port+" "))
	}
	return out
}

// addressRows are the whole address, in rows of one width, with its host emphasised.
func (p *urlPanel) addressRows(m *Model) []string {
	a := p.address
	before, host, after := forms.Line(a.Text[:a.From]), forms.Line(a.Text[a.From:a.To]), forms.Line(a.Text[a.To:])
	full := before + host + after
	w := p.w - 3
	var out []string
	at, from, to := 0, len(before), len(before)+len(host)
	for _, r := range hardWrap(full, w) {
		end := at + len(r)
		s, e := min(max(from, at), end)-at, min(max(to, at), end)-at
		out = append(out, m.th.Dim.Render(m.th.Glyphs.Bar)+" "+r[:s]+m.th.Loud.Render(r[s:e])+r[e:])
		at = end
	}
	return out
}

func (p *urlPanel) view(m *Model) string {
	head := p.head(m)
	if p.stage == urlConfirming {
		title, text, does := "Dismiss this without an answer?", "The server learns that you closed it.", "dismiss"
		switch {
		case p.visit != nil:
			title, text, does = "Give the authorization up?", "Nothing is kept.", "give up"
		case p.deny == forms.ActionDecline:
			title, text, does = "Decline, and tell the server no?", "It learns only that you refuse.", "decline"
		}
		body := []string{"", m.th.Strong.Render(title), text}
		return frame(head, append(body, "", "y       "+does, "n, esc  go back"), m.th.Dim.Render("nothing is sent yet"),
			[]kit.Hint{{"y", does}, {"n", "back"}}, m)
	}
	if p.alone {
		return p.aloneView(m)
	}
	p.seen(m)
	body, where := p.Cut(p.body(m), p.room(m))
	status := p.status
	if status == "" {
		status = map[urlStage]string{urlAsking: "nothing is opened yet", urlOpening: "opening"}[p.stage]
	}
	if p.stage == urlAgreed && p.visit == nil {
		status += "; then r"
	}
	if where != "" && where != "end" && p.stage == urlAsking {
		status = where + ": read on with pgdown"
	}
	return frame(head, body, m.th.Strong.Render(kit.Clip(status, p.w)), p.hints(), m)
}

// aloneView is the address from edge to edge, so that a terminal's own selection gives it whole. It holds no blank, and
// its rows are full: it cannot look like anything else.
func (p *urlPanel) aloneView(m *Model) string {
	body, where := p.Cut(hardWrap(forms.Line(p.address.Text), p.w), p.room(m))
	status := "the address alone, to be selected"
	if where != "" {
		status = where + ": " + status
	}
	return frame(p.head(m), body, m.th.Dim.Render(status), []kit.Hint{{"p", "back"}, {"esc", "back"}}, m)
}

func (p *urlPanel) hints() []kit.Hint {
	retry := "I am done: retry"
	if p.a.Origin.Pushed {
		retry = "I am done: answer"
	}
	hs := []kit.Hint{{"y", "agree and open"}}
	switch {
	case p.stage == urlAgreed:
		hs = []kit.Hint{{"r", retry}, {"c", "copy"}, {"o", "open again"}}
		if p.visit != nil {
			hs = hs[1:]
		}
	case p.address.Refused != "":
		hs = []kit.Hint{{"c", "copy"}}
	case p.stage == urlOpening:
		hs = nil
	case !p.read:
		hs = []kit.Hint{{"pgdn", "read on"}}
	}
	hs = append(hs, kit.Hint{"ctrl+x", "decline"}, kit.Hint{"esc", "dismiss"}, kit.Hint{"ctrl+f", "leave"})
	if p.visit != nil {
		hs = append(hs[:len(hs)-3], kit.Hint{"esc", "give up"}, kit.Hint{"ctrl+f", "leave"})
	}
	if p.stage == urlAsking && p.address.Refused == "" {
		hs = append(hs, kit.Hint{"c", "copy"})
	}
	if p.a.Run != 0 {
		hs = append(hs, kit.Hint{"ctrl+c", "abort"})
	}
	return hs
}
