package tui

import (
	"slices"
	"strings"
	"time"

	"askback/forms"
	"askback/tui/hostview"
)

// transcript holds the items of the open session and where the person looks. Nothing in it depends on how
// many items there are, except finding one by its key: only the rows on screen are ever laid out.
type transcript struct {
	items []*item
	byKey map[string]*item
	why   [2]string // the Turn that failed last, and why
	ours  []*item   // lines of our own that a reset has taken out
	start bool      // nothing older exists at the Host
	asked bool      // an older page is under way

	w, h    int
	follow  bool // the last row is the last of the window
	top     place
	browse  bool
	current int // the chosen item while browsing
}

// place is a row of an item.
type place struct{ item, row int }

func newTranscript() *transcript {
	return &transcript{byKey: map[string]*item{}, follow: true}
}

// find returns the item of a key, making it at the end where it is new.
func (t *transcript) find(key string) *item {
	it := t.byKey[key]
	if it == nil {
		it = &item{key: key}
		t.byKey[key] = it
		t.items = append(t.items, it)
	}
	return it
}

// findRow is find for a row. Events overtake rows, so a new row goes before the items at the end that only
// events have told of so far.
func (t *transcript) findRow(key string) *item {
	it := t.byKey[key]
	if it == nil {
		it = t.find(key)
		i := len(t.items) - 1
		for i > 0 && t.items[i-1].early {
			t.items[i] = t.items[i-1]
			i--
		}
		t.items[i] = it
	}
	it.early = false
	return it
}

// rowKey is the item that a row belongs to: a result is part of its call.
func rowKey(r hostview.Row) string {
	switch r.Kind {
	case hostview.RowToolCall, hostview.RowToolResult:
		return "tool:" + r.ToolUseID
	}
	return string(r.Kind) + ":" + r.Key
}

// add takes rows of the Host.
func (t *transcript) add(e hostview.Rows) {
	if e.Reset {
		t.reset(e.Rows)
	}
	t.start = t.start || e.Start
	if e.Older {
		t.asked = false
		t.prepend(e.Rows)
		return
	}
	for _, r := range e.Rows {
		if shown(r) {
			it := t.findRow(rowKey(r))
			it.apply(r)
			if r.TurnID == t.why[0] {
				it.because(t.why[1])
			}
			it.told = it.told || t.says(r.TurnID, it.args)
		}
		t.turnEnded(r)
	}
	t.insertOurs()
}

// unseen says whether nothing of the Host is there to be seen: the end of a transcript that was read need not hold
// one whole row, where the last one is large.
func (t *transcript) unseen() bool {
	return !slices.ContainsFunc(t.items, func(it *item) bool { return !strings.HasPrefix(it.key, localKey) })
}

// localKey begins the keys of what we say ourselves.
const localKey = "local:"

// reset is a new start of what the Host tells. Where it goes on from what is known, only what events told is
// forgotten, so that a reconnect moves nothing that is being read; else everything is, but for our own lines.
func (t *transcript) reset(rows []hostview.Row) {
	goesOn := slices.ContainsFunc(rows, func(r hostview.Row) bool { it := t.byKey[rowKey(r)]; return it != nil && !it.early })
	keep := func(it *item) bool {
		if goesOn {
			return !it.early
		}
		return strings.HasPrefix(it.key, localKey)
	}
	kept := t.items[:0]
	for i, it := range t.items {
		if keep(it) {
			kept = append(kept, it)
			continue
		}
		delete(t.byKey, it.key)
		if i < t.top.item {
			t.top.item--
		}
	}
	clear(t.items[len(kept):])
	t.items = kept
	t.current = max(0, min(t.current, len(kept)-1))
	t.asked = false
	if !goesOn {
		t.start, t.follow, t.browse, t.top = false, true, false, place{}
		t.ours = t.items // they go behind what happened before them
		t.items = nil
	}
}

// insertOurs puts our own lines back to where they belong by their time.
func (t *transcript) insertOurs() {
	for _, it := range t.ours {
		i := len(t.items)
		for i > 0 && t.items[i-1].time.After(it.time) {
			i--
		}
		t.items = slices.Insert(t.items, i, it)
	}
	t.ours = nil
}

// says whether the person's text of a Turn, which is one of the last items, holds a call's arguments.
func (t *transcript) says(turn, args string) bool {
	if args == "" {
		return false
	}
	for i := len(t.items) - 1; i >= max(0, len(t.items)-32); i-- {
		if it := t.items[i]; it.kind == itemUser && it.turn == turn {
			return strings.HasPrefix(it.text, "/call ") && strings.Contains(it.text, args)
		}
	}
	return false
}

// shown says whether a row draws anything.
func shown(r hostview.Row) bool {
	return r.Kind != hostview.RowTurn || r.Text != ""
}

func (t *transcript) prepend(rows []hostview.Row) {
	var front []*item
	for _, r := range rows {
		if !shown(r) {
			continue
		}
		key := rowKey(r)
		it := t.byKey[key]
		if it == nil {
			it = &item{key: key}
			t.byKey[key] = it
			front = append(front, it)
		}
		it.apply(r)
	}
	for _, it := range front {
		if it.live() {
			it.state = toolStopped // its result would be known by now
		}
	}
	t.items = append(front, t.items...)
	t.top.item += len(front)
	t.current += len(front)
}

// failed takes why a Turn has failed; its row may be there already or not.
func (t *transcript) failed(turn, why string) {
	if why = forms.Line(why); why == "" {
		return
	}
	t.why = [2]string{turn, why}
	for i := len(t.items) - 1; i >= max(0, len(t.items)-256); i-- {
		if it := t.items[i]; it.turn == turn && it.end {
			it.because(why)
		}
	}
}

// turnEnded marks calls that their Turn left without a result.
func (t *transcript) turnEnded(r hostview.Row) {
	if r.Kind == hostview.RowTurn && r.Status != "running" && r.TurnID != "" {
		t.endTurn(r.TurnID)
	}
}

func (t *transcript) endTurn(turn string) {
	for i := len(t.items) - 1; i >= 0; i-- {
		it := t.items[i]
		if it.turn == turn && it.live() {
			it.state, it.waits = toolStopped, false
			it.dirty()
		}
		if it.turn == turn && it.kind == itemUser {
			return
		}
	}
}

func (t *transcript) tool(e hostview.ToolEvent) { t.early("tool:" + e.ToolUseID).event(e) }

// early is find for an event.
func (t *transcript) early(key string) *item {
	_, known := t.byKey[key]
	it := t.find(key)
	it.early = it.early || !known
	return it
}

// write takes a piece of assistant text.
func (t *transcript) write(e hostview.Text, now time.Time) {
	it := t.early(string(hostview.RowAssistant) + ":" + e.Key)
	it.kind, it.turn, it.streaming = itemAssistant, e.TurnID, true
	if it.time.IsZero() {
		it.time = now
	}
	if e.Reset {
		it.raw = ""
	}
	it.raw += e.Append
	it.dirty()
}

// say adds a line of our own; problem makes it stand out.
func (t *transcript) say(key, text string, problem bool, now time.Time) {
	it := t.find(localKey + key)
	it.kind, it.text, it.time = itemNote, keep(text), now
	if problem {
		it.kind = itemProblem
	}
	it.dirty()
}

// waiting marks the calls that wait for a person.
func (t *transcript) waiting(calls map[string]bool, now time.Time) {
	for i := len(t.items) - 1; i >= 0 && i >= len(t.items)-256; i-- {
		it := t.items[i]
		if it.kind != itemTool {
			continue
		}
		waits := it.live() && calls[it.key]
		if waits && !it.waits {
			it.waiting = now
		}
		it.waits = waits
	}
}

// ticking says whether something on screen counts seconds.
func (t *transcript) ticking() bool {
	for i := len(t.items) - 1; i >= 0 && i >= len(t.items)-256; i-- {
		if t.items[i].live() {
			return true
		}
	}
	return false
}
