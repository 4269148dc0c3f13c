package tui

import (
	"strings"
	"time"

	"askback/tui/kit"
	"askback/tui/theme"
)

// columns says how a transcript row is laid out.
type columns struct {
	time, who, text int // cells; time is 0 where there is no room for it
}

func columnsFor(w int) columns {
	c := columns{time: 10, who: 9}
	switch {
	case w < 60:
		c = columns{who: 8}
	case w >= 120:
		c.who = 14
	}
	c.text = max(8, w-c.time-c.who-1) // a spare last column: terminals disagree about some characters' width
	return c
}

// rows draws the item for a width. preview bounds a tool's result; chosen puts the mark of the chosen item
// before its text. how are the keys that show an item in full.
func (it *item) rows(w, preview int, chosen bool, how string, now time.Time, th *theme.Theme) []string {
	if chosen {
		return it.draw(columnsFor(w), preview, th.Focus.Render(th.Glyphs.FocusBar), how, now, th)
	}
	if it.cache != nil && it.cacheWidth == w && it.cacheRows == preview && it.cacheHow == how && !it.live() {
		return it.cache
	}
	c := columnsFor(w)
	out := it.draw(c, preview, " ", how, now, th)
	it.cache, it.cacheWidth, it.cacheRows, it.cacheHow = out, w, preview, how
	return out
}

func (it *item) draw(c columns, preview int, mark, how string, now time.Time, th *theme.Theme) []string {
	if it.kind == itemTool {
		return it.drawTool(c, preview, mark, how, now, th)
	}
	who, text := "", it.text
	var paint theme.Style
	switch it.kind {
	case itemUser:
		who, paint = "you", th.Strong
	case itemAssistant:
		who = "agent"
		if it.streaming {
			text = keep(it.raw)
		}
	case itemNote:
		who, paint = th.Glyphs.Dot, th.Dim
	case itemProblem:
		who, paint = "!", th.Error
	}
	lines := kit.Wrap(text, c.text)
	out := make([]string, len(lines))
	for i, l := range lines {
		l = paint.Render(l)
		out[i] = it.lead(c, i, who, mark, th) + l
	}
	return out
}

// lead is what stands before the text of the item's i-th row.
func (it *item) lead(c columns, i int, who, mark string, th *theme.Theme) string {
	if i > 0 {
		return strings.Repeat(" ", c.time+c.who-1) + mark
	}
	at := strings.Repeat(" ", c.time)
	if c.time > 0 && !it.time.IsZero() {
		at = th.Dim.Render(it.time.Format("15:04:05")) + "  "
	}
	return at + kit.Pad(kit.Clip(who, c.who-1), c.who-1) + mark
}

func (it *item) drawTool(c columns, preview int, mark, how string, now time.Time, th *theme.Theme) []string {
	state := it.stateText()
	paint := th.Text
	switch {
	case it.waits, it.state == toolUncertain:
		paint = th.Warn
	case it.state == toolFailed:
		paint = th.Error
	case it.state == toolDone:
		paint = th.Good
	}
	clock := ""
	switch {
	case it.live() && it.waits:
		clock = kit.Elapsed(now.Sub(it.waiting))
	case it.live() && !it.time.IsZero():
		clock = kit.Elapsed(now.Sub(it.time))
	case it.took > 0:
		clock = kit.Elapsed(it.took)
	}
	head := ""
	if it.server != "" {
		head = clipMiddle(it.server, max(6, c.text/3)) + " " + th.Glyphs.Dot + " "
	}
	out := []string{it.lead(c, 0, clipMiddle(it.tool, c.who-1), mark, th) + kit.Spread(head+paint.Render(state), th.Dim.Render(clock), c.text)}
	indent := it.lead(c, 1, "", mark, th)
	if it.args != "" && it.args != "{}" && !it.told {
		out = append(out, indent+th.Dim.Render(kit.Clip(it.args, c.text)))
	}
	if it.live() {
		if it.output != "" {
			out = append(out, indent+th.Dim.Render(th.Glyphs.Bar+" ")+kit.Clip(it.output, c.text-2))
		}
		return out
	}
	if it.text == "" {
		return out
	}
	lines, more := few(it.text, c.text-2, preview)
	for _, l := range lines {
		out = append(out, indent+th.Dim.Render(th.Glyphs.Bar+" ")+l)
	}
	if more > 0 {
		rest := kit.Count(more, "more line", "more lines")
		if it.cut {
			rest = itoa(more) + "+ more lines"
		}
		out = append(out, indent+th.Dim.Render(kit.Clip(th.Glyphs.Bar+" "+kit.More+" "+rest+how, c.text)))
	}
	return out
}
