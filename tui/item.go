package tui

import (
	"fmt"
	"strings"
	"time"

	"askback/forms"
	"askback/tui/hostview"
)

// maxText is how much of one row's text is kept for showing.
const maxText = 256 << 10

// itemKind is what an item of the transcript draws.
type itemKind int

const (
	itemUser itemKind = iota
	itemAssistant
	itemTool
	itemNote
	itemProblem
)

// toolState is how far a tool call is: running → ended, where ended is one of the last four.
type toolState int

const (
	toolRunning toolState = iota
	toolDone
	toolFailed
	toolUncertain
	toolStopped // its Turn ended without a result
)

// item is one entry of the transcript. All its texts are projected when they come in.
type item struct {
	key, turn string
	kind      itemKind
	time      time.Time
	text      string // what was said; for a tool, its result
	raw       string // streamed text so far, unprojected
	streaming bool
	end       bool // how its Turn ended
	early     bool // known from events alone: its row has not come yet

	tool, server, args string
	state              toolState
	waiting            time.Time // since when it waits for the person
	waits              bool
	done, total        int
	output             string // the last line it told
	took               time.Duration
	cut                bool // its result is longer than what is kept
	told               bool // the arguments stand in the person's own text already

	cache      []string
	cacheWidth int
	cacheRows  int
	cacheHow   string
}

// live says whether the item changes by itself as time goes on.
func (it *item) live() bool { return it.kind == itemTool && it.state == toolRunning }

func (it *item) dirty() { it.cache = nil }

// keep cuts and projects a foreign text.
func keep(s string) string {
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + fmt.Sprintf("\n… %d bytes are not shown", len(s)-maxText)
	}
	return strings.TrimRight(forms.Block(s), "\n")
}

// apply takes what a row says.
func (it *item) apply(r hostview.Row) {
	it.dirty()
	it.turn = r.TurnID
	if it.time.IsZero() || r.Kind != hostview.RowToolResult && !r.Time.IsZero() {
		it.time = r.Time
	}
	switch r.Kind {
	case hostview.RowUser:
		it.kind, it.text = itemUser, keep(r.Text)
	case hostview.RowAssistant:
		it.kind, it.text, it.raw, it.streaming = itemAssistant, keep(r.Text), "", false
	case hostview.RowToolCall:
		it.kind, it.tool, it.server = itemTool, forms.Line(r.Tool), forms.Line(r.Server)
		it.args = forms.Line(string(r.Args))
	case hostview.RowToolResult:
		it.kind, it.text, it.took = itemTool, keep(r.Text), r.Duration
		it.cut = len(r.Text) > maxText
		it.state = resultState(r.IsError, r.Uncertain)
		it.waits = false
	case hostview.RowTurn:
		it.kind, it.end, it.text = itemNote, true, keep(r.Text)
	default:
		it.kind, it.text = itemNote, keep(r.Text)
	}
}

// because adds why a Turn has failed, which its row does not say.
func (it *item) because(why string) {
	if it.end && !strings.Contains(it.text, why) {
		it.text += ": " + why
		it.dirty()
	}
}

func resultState(failed, uncertain bool) toolState {
	switch {
	case uncertain:
		return toolUncertain
	case failed:
		return toolFailed
	}
	return toolDone
}

// event takes what a live tool event says.
func (it *item) event(e hostview.ToolEvent) {
	it.dirty()
	it.kind = itemTool
	switch e.Phase {
	case hostview.PhaseStart:
		it.turn = e.TurnID
		if it.tool == "" {
			it.tool = forms.Line(e.Name)
		}
		if it.time.IsZero() {
			it.time = e.Time
		}
	case hostview.PhaseProgress:
		it.done, it.total = e.Current, e.Total
		if e.Total == 0 {
			it.output = lastLine(e.Chunk)
		}
	case hostview.PhaseOutput:
		it.output = lastLine(e.Chunk)
	case hostview.PhaseEnd:
		if it.state == toolRunning {
			it.state, it.took, it.waits = resultState(e.Failed, false), e.Duration, false
		}
	}
}

func lastLine(s string) string {
	s = strings.TrimRight(s[max(0, len(s)-2048):], "\r\n")
	if i := strings.LastIndexByte(s, '\n'); i >= 0 {
		s = s[i+1:]
	}
	return forms.Line(s)
}

// stateText says a tool's state in words.
func (it *item) stateText() string {
	switch it.state {
	case toolDone:
		return "done"
	case toolFailed:
		return "failed"
	case toolUncertain:
		return "outcome unknown"
	case toolStopped:
		return "stopped"
	}
	if it.waits {
		return "waiting for you"
	}
	if it.total > 0 {
		return fmt.Sprintf("step %d of %d", it.done, it.total)
	}
	return "running"
}
