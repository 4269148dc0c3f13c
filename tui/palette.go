package tui

import (
	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/tui/hostview"
	"askback/tui/kit"
)

// palette chooses a tool.
type palette struct {
	list
	filter editor
}

func newPalette() *palette { return &palette{filter: editor{limit: 64}} }

func (p *palette) title() string { return "tools" }

func (p *palette) shown(m *Model) []hostview.Tool {
	var out []hostview.Tool
	for _, t := range m.tools {
		if matches(p.filter.String(), t.Server+"/"+t.Name+" "+t.Title) {
			out = append(out, t)
		}
	}
	return out
}

func (p *palette) key(k tea.KeyMsg, v view) action {
	all := p.shown(v.m)
	p.clamp(len(all))
	key := kit.KeyName(k)
	if p.list.key(key, max(1, v.h-4)) {
		return nil
	}
	switch key {
	case "esc", "ctrl+t", "ctrl+c":
		if key == "esc" && !p.filter.empty() {
			p.filter.set("")
			return nil
		}
		return doClose{}
	case "enter", "ctrl+r":
		if len(all) > 0 {
			t := all[p.at]
			return doArgs{server: t.Server, tool: t.Name, raw: key == "ctrl+r"}
		}
	default:
		p.filter.key(k)
		p.at = 0
	}
	return nil
}

func (p *palette) rows(v view) []string {
	if v.m.servers == nil {
		return plainRows("No tool is offered from here. A line such as /call SERVER/TOOL {...} calls one that the Host knows.", v.w)
	}
	all := p.shown(v.m)
	p.clamp(len(all))
	out := []string{filterRow(&p.filter, v)}
	if len(all) == 0 {
		return append(out, v.th.Dim.Render("  no tool "+none(&p.filter)))
	}
	about := describe(all[p.at], v)
	h := max(1, v.h-1-len(about))
	out = append(out, p.draw(v.w, h, v.th, func(i, w int) string { return toolRow(all[i], w, v) })...)
	return append(out, about...)
}

func toolRow(t hostview.Tool, w int, v view) string {
	name := forms.Line(t.Server + "/" + t.Name)
	if t.Title == "" || w < 50 {
		return clipMiddle(name, w)
	}
	return kit.Spread(clipMiddle(name, max(8, 2*w/3)), v.th.Dim.Render(kit.Clip(forms.Line(t.Title), w/3)), w)
}

// describe is what the server says of a tool, behind our bar.
func describe(t hostview.Tool, v view) []string {
	if t.Description == "" || v.h < 5 {
		return nil
	}
	n := max(1, min(6, v.h/3))
	rows, more := few(forms.Block(t.Description), max(8, v.w-3), n)
	out := []string{v.th.Dim.Render(ruleOf(v.w, v.th))}
	for i, r := range rows {
		if i == n-1 && more > 0 {
			r = kit.Clip(r, v.w-5) + " " + kit.More
		}
		out = append(out, v.th.Dim.Render(v.th.Glyphs.Bar)+" "+r)
	}
	return out
}

func (p *palette) hints(v view) []kit.Hint {
	if len(p.shown(v.m)) == 0 {
		return []kit.Hint{{"esc", "back"}}
	}
	return []kit.Hint{{"enter", "arguments"}, {"ctrl+r", "raw JSON"}, {"esc", "back"}}
}
