package tui

import (
	"encoding/json"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/tui/kit"
)

func itoa(n int) string { return strconv.Itoa(n) }

// detail shows one item of the transcript in full.
type detail struct {
	it *item
	kit.Scroller
	cache []string
	width int
	text  string
	state string
}

func (d *detail) title() string {
	switch d.it.kind {
	case itemUser:
		return "you"
	case itemAssistant:
		return "agent"
	case itemTool:
		return d.it.tool
	}
	return "note"
}

func (d *detail) key(k tea.KeyMsg, v view) action {
	if d.Scroller.Key(k, max(1, v.h-1)) {
		return nil
	}
	switch kit.KeyName(k) {
	case "esc", "enter", "q", "ctrl+c":
		return doClose{}
	}
	return nil
}

func (d *detail) rows(v view) []string {
	if d.cache == nil || d.width != v.w || d.text != d.it.text || d.state != d.it.stateText() {
		d.cache, d.width, d.text, d.state = d.layout(v), v.w, d.it.text, d.it.stateText()
	}
	rows, _ := d.Cut(d.cache, v.h)
	return rows
}

func (d *detail) layout(v view) []string {
	it, w := d.it, max(8, v.w-4)
	var out []string
	section := func(name, text string) {
		if text == "" {
			return
		}
		if name != "" {
			out = append(out, v.th.Strong.Render(name))
		}
		for _, r := range kit.Wrap(text, w) {
			out = append(out, v.th.Dim.Render(v.th.Glyphs.Bar)+" "+r)
		}
	}
	if it.kind != itemTool {
		text := it.text
		if it.streaming {
			text = keep(it.raw)
		}
		section("", text)
		return out
	}
	head := it.stateText()
	if it.server != "" {
		head = it.server + " " + v.th.Glyphs.Dot + " " + head
	}
	out = append(out, kit.Clip(head, v.w))
	section("arguments", pretty(it.args))
	section("progress", it.output)
	section("result", it.text)
	return out
}

// pretty sets JSON on several lines, and leaves anything else as it is.
func pretty(s string) string {
	if !json.Valid([]byte(s)) {
		return s
	}
	var b strings.Builder
	if err := indentJSON(&b, s); err != nil {
		return s
	}
	return forms.Block(b.String())
}

func (d *detail) hints(v view) []kit.Hint {
	return append([]kit.Hint{{"esc", "back"}}, d.ScrollHints()...)
}
