package formview

import (
	"strings"

	"askback/tui/draft"
)

// hint is one key in the last row. Where there is no room, ctrl is "^" and brief, if set, stands for what it does.
type hint struct{ key, does, brief string }

// hints are the keys of the present screen, the most important first.
func (m *Model) hints() []hint {
	back := hint{key: "esc", does: "back"}
	review := hint{key: "ctrl+s", does: "review"}
	decline := hint{key: "ctrl+x", does: "decline"}
	dismiss := hint{key: "esc", does: "dismiss"}
	leave := hint{key: "ctrl+f", does: "leave for now", brief: "hide"}
	all := hint{key: "ctrl+g", does: "all text", brief: "all"}
	submit := hint{key: "s", does: "submit"}
	if m.detail != nil {
		if len(m.detail.rows) > m.detailRoom() {
			return []hint{back, {key: "up/down", does: "scroll"}}
		}
		return []hint{back}
	}
	switch m.stage {
	case filling:
		f := m.current()
		own := fieldHints(f.d)
		switch {
		case f.list != nil && f.list.filter != "":
			return append(append([]hint{{key: "esc", does: "clears the filter"}}, f.list.takeHints()...), review)
		case m.req.Arguments:
			return append(append([]hint{review, {key: "esc", does: "leave"}}, own...), all)
		case m.textIsCut():
			return append(append([]hint{review, decline, dismiss, all}, own...), leave)
		}
		return append(append([]hint{review, decline, dismiss}, own...), leave, all)
	case reviewing:
		edit := hint{key: "e", does: "edit"}
		switch {
		case len(m.review.wrong) > 0:
			return []hint{{key: "enter", does: "put right", brief: "fix"}, edit, decline, back}
		case m.req.Arguments:
			submit.does = "call"
			return []hint{submit, edit, back}
		}
		hs := []hint{submit, edit, decline, back}
		if m.review.mark != m.review.from {
			hs[1] = hint{key: "enter", does: "edit this field", brief: "edit"}
		}
		if !m.messageWhole {
			hs = append(hs, all)
		}
		return append(hs, hint{key: "tab", does: "choose a field"}, leave)
	case single:
		hs := []hint{submit, decline, dismiss, all, leave}
		if m.req.Arguments {
			hs = []hint{{key: "s", does: "call"}, {key: "esc", does: "leave"}, all}
		}
		if m.form != nil {
			if m.w >= wide { // else the row above says it
				hs = append([]hint{{key: "y/n", does: "choose"}}, hs...)
			}
			hs = append(hs, fieldHints(m.current().d)...)
		}
		return hs
	case confirming:
		return []hint{{key: "y", does: askVerb(m.ask)}, {key: "n", does: "back"}, leave}
	case sending:
		return []hint{leave}
	}
	hs := []hint{{key: "esc", does: "close"}}
	if m.Keeps() {
		hs = append(hs, hint{key: "c", does: "copy what you typed"}, leave)
	}
	return hs
}

// fieldHints are the keys that change the field as it is now.
func fieldHints(f *draft.Field) []hint {
	var hs []hint
	switch f.Out() {
	case draft.OutLeave:
		hs = append(hs, hint{key: "ctrl+o", does: "leave out", brief: "out"})
	case draft.OutTakeBack:
		hs = append(hs, hint{key: "ctrl+o", does: "clear", brief: "del"})
	case draft.OutSendEmpty:
		brief := "[]"
		if f.IsText() {
			brief = `""`
		}
		hs = append(hs, hint{key: "ctrl+o", does: "send empty", brief: brief})
	}
	switch f.ResetsTo() {
	case draft.Default:
		hs = append(hs, hint{key: "ctrl+r", does: "default"})
	case draft.Earlier:
		hs = append(hs, hint{key: "ctrl+r", does: "as before", brief: "last"})
	}
	return hs
}

// takeHints are the keys that take the row under the cursor of a filtered list.
func (c *choices) takeHints() []hint {
	switch {
	case c.cur < 0:
		return nil
	case c.multi:
		return []hint{{key: "space", does: "take"}}
	}
	return []hint{{key: "enter", does: "take"}}
}

// keysRow is the last row. Keys that do not fit are left out; help has them all. The last column stays free, see
// kit.HintRow.
func (m *Model) keysRow() string {
	hs := m.hints()
	row, all := joinHints(hs, m.dot(), m.w-1)
	if !all && m.w < wide {
		brief := make([]hint, len(hs))
		for i, h := range hs {
			brief[i] = h.short()
		}
		row, _ = joinHints(brief, " ", m.w-1)
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

// joinHints joins the hints that fit into room cells, and says whether those are all.
func joinHints(hs []hint, sep string, room int) (row string, all bool) {
	all = true
	for _, h := range hs {
		text := h.key + " " + h.does
		if row != "" {
			text = sep + text
		}
		if cells(row)+cells(text) > room {
			all = false
			continue
		}
		row += text
	}
	return row, all
}
