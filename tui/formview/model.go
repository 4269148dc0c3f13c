// Package formview shows one form on the whole screen and turns keys into one answer.
//
// A Model knows no Host and does no I/O. Its owner hands it keys and window sizes, draws its View, carries out the
// Actions that Update returns, and tells it what became of the answer. Where the screen is not ours to trust, it is
// marked: the first two rows (who asks, the warning) and the last two are the program's at every size, and what came
// from a server stands only in rows that begin with the bar.
//
// Nothing irreversible follows from one key on a screen where text is typed: an answer leaves from review alone, and
// holds what review showed; a decline or a dismissal is asked once.
//
// huh provides the form, its focus and its text input; see field for what stands between.
package formview

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/huh"

	"askback/forms"
	"askback/tui/draft"
	"askback/tui/kit"
	"askback/tui/theme"
)

// stage is where a form stands.
//
//	filling    → reviewing (ctrl+s, enter on the last field), confirming
//	reviewing  → filling (e, esc), confirming, sending (s, while nothing is wrong)
//	single     → confirming, sending (s); a form of one boolean or no field, which is its own review
//	confirming → where it came from (n, esc), sending (y)
//	sending    → where it came from (Refused), settled
//	settled    → the owner drops the Model on Close
//
// Answered and Closed lead from any stage to settled.
type stage int

const (
	filling stage = iota
	reviewing
	single
	confirming
	sending
	settled
)

// Model is one form on the screen. It is not safe for concurrent use.
type Model struct {
	req   Request
	th    *theme.Theme
	now   func() time.Time
	draft *draft.Draft

	form   *huh.Form // nil for a form without fields
	fields []*field
	idx    int // the focused field

	stage stage
	back  stage // where confirming and sending came from
	keys  kit.Guard

	ask    forms.Action // what confirming asks about
	review review
	sent   forms.Result // what sending sent
	end    ending
	detail *pager // the overlay with everything in full, over any stage

	status       string     // one sentence about the last key, until the next
	link         Connection // without one nothing can be sent
	multiRune    time.Time
	w, h         int
	aside        int // cells of the status row that are somebody else's
	head         header
	message      []string // the message, wrapped to the width
	messageRoom  int
	messageWhole bool
}

// New opens a form. It has a size once Resize was called.
func New(req Request, opts Options) *Model {
	m := &Model{req: req, th: opts.Theme, now: opts.Now, draft: draft.New(req.Form, req.Earlier), w: 80, h: 24}
	if m.now == nil {
		m.now = time.Now
	}
	var in []huh.Field
	for _, d := range m.draft.Fields {
		f := newField(d, m.th)
		m.fields, in = append(m.fields, f), append(in, f)
	}
	if len(in) > 0 { // huh panics on a group without fields
		g := huh.NewGroup(in...).WithTheme(m.th.Huh()).WithShowHelp(false).WithShowErrors(false)
		m.form = huh.NewForm(g).WithTheme(m.th.Huh()).WithKeyMap(unbound())
		_ = m.form.Init() // its commands ask for a window size and for blinks
		m.fields[0].Focus()
	}
	if m.onOneScreen() {
		m.stage = single
	}
	m.guard()
	m.Resize(m.w, m.h)
	return m
}

// onOneScreen says whether the form is its own review: one boolean, or nothing to fill in.
func (m *Model) onOneScreen() bool {
	return len(m.fields) == 0 || len(m.fields) == 1 && m.fields[0].d.Spec.Kind == forms.KindBoolean
}

// ID is the Interaction's.
func (m *Model) ID() string { return m.req.ID }

// Form is the form as the Host stores it.
func (m *Model) Form() forms.Form { return m.req.Form }

// Touched says whether the person has typed or chosen anything.
func (m *Model) Touched() bool { return m.draft.Touched() }

// Sending says whether an answer is on its way.
func (m *Model) Sending() bool { return m.stage == sending }

// Settled says whether the form has ended; it is shown until the person closes it.
func (m *Model) Settled() bool { return m.stage == settled }

// SetPlace moves the form in the queue.
func (m *Model) SetPlace(position, total int) {
	m.req.Position, m.req.Total = position, total
	m.head = m.header()
}

// Show is called when the form comes back on the screen after it was left: keys are ignored until they pause again.
func (m *Model) Show() { m.guard() }

// Reopen shows a form again that was left for good, or sent in vain, as its fields were.
func (m *Model) Reopen() {
	m.stage, m.detail = filling, nil
	if m.onOneScreen() {
		m.stage = single
	}
	m.guard()
	m.status = "as you left it"
}

// Connection is how the connection over which the answer would go stands.
type Connection string

// The states of a Connection. All but Connected are shown by their names.
const (
	Connected    Connection = ""
	Reconnecting Connection = "reconnecting"
	NotConnected Connection = "not connected" // and nothing tries again
)

// Connection tells how the connection stands. While there is none the draft stays, and nothing is sent.
func (m *Model) Connection(c Connection) { m.link = c }

// Refused takes a form out of sending: the answer was not stored, and why. The draft is as it was.
func (m *Model) Refused(why string) { m.unsent("not sent: ", why) }

// Unconfirmed tells that nobody knows yet whether the answer was stored: the connection ended meanwhile. The person can
// send it again, which converges on what is stored.
func (m *Model) Unconfirmed(why string) { m.unsent("not confirmed: ", why) }

func (m *Model) unsent(lead, why string) {
	if m.stage != sending {
		return
	}
	m.stage = m.back
	if m.stage == reviewing {
		m.openReview()
	}
	m.guard()
	m.status = m.th.Glyphs.Bar + " " + lead + forms.Line(why) // behind the bar: it may quote the server
}

// Answered is the Host's canonical answer. It reports whether that is the answer we sent, in which case there is nothing
// left to show; any other was given elsewhere, and is shown until the person closes it.
func (m *Model) Answered(r forms.Result) (ours bool) {
	ours = m.stage == sending && forms.Equivalent(r, m.sent)
	m.settle(ending{result: &r, ours: ours})
	return ours
}

// Closed is the end of the form without an answer: why, as a sentence.
func (m *Model) Closed(why string) { m.settle(ending{why: forms.Line(why)}) }

func (m *Model) settle(e ending) {
	if m.stage == settled {
		return
	}
	m.stage, m.end, m.detail, m.status = settled, e, nil, ""
	m.guard()
	m.end.page.rows = m.endRows()
}

// Aside leaves cells at the right of the status row to whoever shows the form.
func (m *Model) Aside(cells int) { m.aside = cells }

// Resize fits the form to a window.
func (m *Model) Resize(w, h int) {
	small := m.tooSmall()
	m.w, m.h = w, h
	if m.tooSmall() {
		return
	}
	if small { // it comes back on the screen
		m.guard()
	}
	m.layout()
	if m.stage == reviewing || m.back == reviewing {
		m.review.fit(m)
	}
	if m.stage == settled {
		m.end.page.rows = m.endRows()
	}
	if m.detail != nil {
		m.detail.rows = m.detailRows()
	}
}

func (m *Model) tooSmall() bool { return m.w < MinWidth || m.h < MinHeight }

// layout divides the window: the message gets what the fields can spare.
func (m *Model) layout() {
	m.head = m.header()
	m.message = wrap(m.draft.Shown.Message, m.w-3)
	free := m.h - len(m.head.rows) - 2
	want := 0
	for _, f := range m.fields {
		want = max(want, f.natural(m.w))
	}
	want += max(0, len(m.fields)-1)
	least := max(1, m.h/12)
	m.messageRoom = min(len(m.message), max(min(least, len(m.message)), free-want))
	body := 5 // a field in focus
	if len(m.fields) == 0 {
		body = 3 // the words that stand for one
	}
	m.messageRoom = max(1, min(m.messageRoom, free-body))
	m.messageWhole = m.messageRoom >= len(m.message)
	room := m.bodyRoom()
	context := min(len(m.fields)-1, room/4)
	for _, f := range m.fields {
		f.fit(m.w, room-context)
	}
}

// bodyRoom is the height between the message and the last two rows.
func (m *Model) bodyRoom() int { return m.h - len(m.head.rows) - m.messageRoom - 2 }

// focus moves the focus to field i. huh checks nothing on the way.
func (m *Model) focus(i int) {
	i = min(max(0, i), len(m.fields)-1)
	for m.idx < i {
		m.form.Update(huh.NextField()) // never on the last field, where it would complete the form
		m.idx++
	}
	for m.idx > i {
		m.form.Update(huh.PrevField())
		m.idx--
	}
}

// Update takes a key or a window size and returns what is to be done, or nil. Other messages mean nothing to a form.
func (m *Model) Update(msg tea.Msg) Action {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.Resize(msg.Width, msg.Height)
	case tea.KeyMsg:
		return m.key(msg)
	}
	return nil
}
