package formview

import "strings"

// hint is one key in the last row. Where there is no room, ctrl is "^" and brief, if set, stands for what it does.
type hint struct{ key, does, brief string }

// hints are the keys of the present screen, the most important first.
func (m *Model) hints() []hint {
	back := hint{key: "esc", does: "back"}
	review := hint{key: "ctrl+s", does: "review"}
	decline := hint{key: "ctrl+x", does: "decline"}
	dismiss := hint{key: "esc", does: "dismiss"}
	leave := hint{key: "ctrl+f", does: "leave for now", brief: "leave"}
	all := hint{key: "ctrl+g", does: "all text", brief: "all"}
	out := hint{key: "ctrl+o", does: "leave out", brief: "out"}
	reset := hint{key: "ctrl+r", does: "default"}
	submit := hint{key: "s", does: "submit"}
	if m.detail != nil {
		return []hint{back, {key: "up/down", does: "scroll"}}
	}
	switch m.stage {
	case filling:
		f := m.current()
		switch {
		case f.list != nil && f.list.filter != "":
			return []hint{{key: "esc", does: "clears the filter"}, {key: "enter", does: "take"}, review}
		case m.req.Arguments:
			return []hint{review, {key: "esc", does: "leave"}, out, reset, all}
		case m.textIsCut():
			return []hint{review, decline, dismiss, all, out, reset, leave}
		}
		return []hint{review, decline, dismiss, out, reset, leave, all}
	case reviewing:
		edit := hint{key: "e", does: "edit"}
		switch {
		case len(m.review.wrong) > 0:
			return []hint{{key: "enter", does: "put right", brief: "fix"}, edit, decline, back}
		case m.req.Arguments:
			submit.does = "call"
			return []hint{submit, edit, back}
		}
		return []hint{submit, edit, decline, back, {key: "tab", does: "choose a field"}, leave}
	case single:
		hs := []hint{submit, decline, dismiss, all, leave}
		if m.req.Arguments {
			hs = []hint{{key: "s", does: "call"}, {key: "esc", does: "leave"}, all}
		}
		if m.form != nil {
			if m.w >= wide { // else the row above says it
				hs = append([]hint{{key: "y/n", does: "choose"}}, hs...)
			}
			if !m.current().d.Spec.Required {
				hs = append(hs, out)
			}
		}
		return hs
	case confirming:
		return []hint{{key: "y", does: askVerb(m.ask)}, {key: "n", does: "back"}, leave}
	case sending:
		return []hint{leave}
	}
	hs := []hint{{key: "esc", does: "close"}}
	if m.canCopy() {
		hs = append(hs, hint{key: "c", does: "copy what you typed"})
	}
	return hs
}

// keysRow is the last row. Keys that do not fit are dropped from the end; help has them all.
func (m *Model) keysRow() string {
	hs := m.hints()
	row, n := joinHints(hs, m.dot(), m.w)
	if n < len(hs) && m.w < wide {
		brief := make([]hint, len(hs))
		for i, h := range hs {
			brief[i] = h.short()
		}
		row, _ = joinHints(brief, " ", m.w)
	}
	return m.th.Key.Render(row)
}

func (h hint) short() hint {
	h.key = strings.ReplaceAll(h.key, "ctrl+", "^")
	if h.brief != "" {
		h.does = h.brief
	}
	return h
}

// joinHints joins as many hints as fit into room cells, and says how many.
func joinHints(hs []hint, sep string, room int) (string, int) {
	var b strings.Builder
	used := 0
	for i, h := range hs {
		text := h.key + " " + h.does
		if i > 0 {
			text = sep + text
		}
		if used+cells(text) > room {
			return b.String(), i
		}
		used += cells(text)
		b.WriteString(text)
	}
	return b.String(), len(hs)
}
