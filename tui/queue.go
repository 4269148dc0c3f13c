package tui

import (
	"slices"

	"askback/forms"
	"askback/tui/draft"
	"askback/tui/formview"
	"askback/tui/hostview"
)

// entry is one Interaction that the Host holds, or held, for the open session, with the person's draft.
//
// A pending one is on screen or left. When an answer leaves, its view says "sending" until the Host's outcome;
// when the Host drops it from its projection, it waits for the Settled event. A settled one stays until the
// person closes it, if it was seen.
type entry struct {
	in   hostview.Interaction
	view *formview.Model
	seen bool // it was on screen
	gone bool // no longer pending at the Host

	withdrawn bool // it closed because its call ended; the call's result says why

	place [2]int // position and total that the view was told

	answer *hostview.Answer // what was submitted last, unless the Host refused it
}

func (e *entry) settled() bool { return e.view.Settled() }

// opener makes the view of an Interaction.
type opener func(in hostview.Interaction, earlier draft.Answers) *formview.Model

// queue holds the entries of one session in the Host's order, and the answers that calls got so far.
type queue struct {
	entries []*entry
	current string                   // id of the entry on screen
	answers map[string]draft.Answers // by tool call
	open    opener
	link    formview.Connection
	w, h    int // of the window
}

func newQueue(w, h int) *queue { return &queue{answers: map[string]draft.Answers{}, w: w, h: h} }

func (q *queue) resize(w, h int) {
	q.w, q.h = w, h
	for _, e := range q.entries {
		e.view.Resize(w, h)
	}
}

func (q *queue) find(id string) *entry {
	for _, e := range q.entries {
		if e.in.ID == id {
			return e
		}
	}
	return nil
}

// showing is the entry to draw: the chosen one, else the first.
func (q *queue) showing() *entry {
	if e := q.find(q.current); e != nil {
		return e
	}
	if len(q.entries) > 0 {
		return q.entries[0]
	}
	return nil
}

// waiting counts the entries that want an answer.
func (q *queue) waiting() int {
	n := 0
	for _, e := range q.entries {
		if !e.settled() {
			n++
		}
	}
	return n
}

// sync takes the Host's pending list. It says which entries are new.
func (q *queue) sync(pending []hostview.Interaction, open opener) (fresh []*entry) {
	q.open = open
	known := map[string]bool{}
	var order []*entry
	for _, in := range pending {
		if known[in.ID] {
			continue
		}
		known[in.ID] = true
		e := q.find(in.ID)
		if e == nil {
			e = &entry{in: in, view: open(in, q.answers[in.ToolUseID])}
			e.view.Connection(q.link)
			fresh = append(fresh, e)
		}
		e.gone = false
		order = append(order, e)
	}
	// What is no longer pending keeps its place as far as it can: before what came after it.
	for i, e := range q.entries {
		if !known[e.in.ID] {
			e.gone = true
			order = slices.Insert(order, min(i, len(order)), e)
		}
	}
	q.entries = order
	q.place()
	return fresh
}

// place numbers the entries that wait.
func (q *queue) place() {
	n, total := 0, q.waiting()
	for _, e := range q.entries {
		at := [2]int{}
		if !e.settled() {
			n++
			at = [2]int{n, total}
		}
		if e.place != at {
			e.place = at
			e.view.SetPlace(at[0], at[1])
			e.view.Resize(q.w, q.h) // the first row is laid out anew
		}
	}
}

// drop forgets an entry; the one after it, else the first, is next.
func (q *queue) drop(id string) {
	i := slices.IndexFunc(q.entries, func(e *entry) bool { return e.in.ID == id })
	if i < 0 {
		return
	}
	q.entries = slices.Delete(q.entries, i, i+1)
	if q.current == id {
		q.current = ""
		if i < len(q.entries) {
			q.current = q.entries[i].in.ID
		}
	}
	q.place()
}

// close ends every form, and leaves those in which the person typed.
func (q *queue) close(why string) {
	for _, e := range q.entries {
		e.view.Closed(why)
	}
	q.entries = slices.DeleteFunc(q.entries, func(e *entry) bool { return !e.view.Keeps() })
	clear(q.answers)
	q.place()
}

// turn moves the screen to another entry.
func (q *queue) turn(by int) {
	cur := q.showing()
	i := slices.Index(q.entries, cur)
	if i < 0 || len(q.entries) < 2 {
		return
	}
	n := len(q.entries)
	q.current = q.entries[((i+by)%n+n)%n].in.ID
}

// outcome takes the Host's canonical end of an Interaction. The text says it in one line for the transcript;
// it is empty when nothing needs saying.
func (q *queue) outcome(id string, o hostview.Outcome) (text string) {
	e := q.find(id)
	if e == nil || e.settled() {
		return ""
	}
	name := askedBy(e.in)
	if o.Status == hostview.StatusAnswered {
		ours := e.answer != nil && hostview.SameAnswer(*e.answer, o.Answer)
		if ours && e.in.Kind == hostview.KindForm {
			q.remember(e.in, o.Answer.Form)
			q.startAgain(e.in.ToolUseID)
		}
		r := hostview.ResultOf(e.in, o.Answer)
		if ours || e.view.Answered(r) {
			q.drop(id)
			return ""
		}
		if !e.seen && !e.view.Touched() {
			q.drop(id)
		}
		q.place()
		return name + ": answered elsewhere (" + hostview.ActionName(r.Action) + ")"
	}
	why := hostview.WhyEnded(o)
	e.withdrawn = o.Reason == hostview.ReasonWithdrawn
	e.view.Closed(why)
	if !e.seen && !e.view.Touched() {
		q.drop(id)
	}
	q.place()
	return name + ": closed, " + why
}

// remember keeps what a call was answered, for its next form.
func (q *queue) remember(in hostview.Interaction, r forms.Result) {
	if in.ToolUseID == "" || r.Action != forms.ActionAccept {
		return
	}
	if q.answers[in.ToolUseID] == nil {
		q.answers[in.ToolUseID] = draft.Answers{}
	}
	q.answers[in.ToolUseID].Remember(in.Form, r.Values)
}

// startAgain gives the answers of a call to its next form, where that has overtaken the end of the one before.
func (q *queue) startAgain(toolUseID string) {
	for _, e := range q.entries {
		if e.in.ToolUseID != toolUseID || e.answer != nil || e.settled() || e.view.Touched() {
			continue
		}
		e.view = q.open(e.in, q.answers[toolUseID])
		e.view.Connection(q.link)
		e.place = [2]int{} // to be told again
	}
}

// forget drops what a settled call was answered.
func (q *queue) forget(toolUseID string) { delete(q.answers, toolUseID) }

// calls are the transcript keys of the calls that wait for a person.
func (q *queue) calls() map[string]bool {
	out := map[string]bool{}
	for _, e := range q.entries {
		if !e.settled() && e.in.ToolUseID != "" {
			out["tool:"+e.in.ToolUseID] = true
		}
	}
	return out
}

// connection tells every draft whether answers can be sent.
func (q *queue) connection(c formview.Connection) {
	q.link = c
	for _, e := range q.entries {
		e.view.Connection(c)
	}
}

// askedBy is who asked, in short.
func askedBy(in hostview.Interaction) string {
	if in.Kind == hostview.KindForm {
		return forms.Line(in.Form.Requester.Name)
	}
	return hostview.KindName(in.Kind)
}
