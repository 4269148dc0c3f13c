package tui

import "askback/tui/kit"

import tea "github.com/charmbracelet/bubbletea"

// binding is one key of the program. The help, the last row and docs/keys.md are made of the same table.
type binding struct{ where, key, does string }

var bindings = []binding{
	{"everywhere", "f1", "this help"},
	{"everywhere", "?", "this help, while the composer is empty"},
	{"everywhere", "ctrl+f", "leave the form without deciding, and back to it"},
	{"everywhere", "ctrl+c", "clear the composer; else twice within 2 s stops the Turn; without a Turn, twice leaves"},
	{"everywhere", "ctrl+q", "leave; asks once while a call is open"},
	{"everywhere", "ctrl+l", "draw the screen again"},
	{"everywhere", "ctrl+z", "suspend, where a shell can continue us"},
	{"composer", "enter", "send"},
	{"composer", "ctrl+j", "a new line; a paste keeps its lines"},
	{"composer", "up, down", "move, then older and newer texts"},
	{"composer", "ctrl+p, ctrl+n", "older and newer texts"},
	{"composer", "ctrl+a, ctrl+e", "start and end of the line"},
	{"composer", "ctrl+u, ctrl+k, ctrl+w", "cut to the start, to the end, a word"},
	{"composer", "pgup, pgdown", "scroll the transcript"},
	{"composer", "ctrl+home, ctrl+end", "first and last row of the transcript"},
	{"composer", "tab", "choose among the rows of the transcript"},
	{"transcript", "up, down", "the row before and after"},
	{"transcript", "enter", "the row in full: arguments, result"},
	{"transcript", "esc, tab", "back to the composer"},
	{"screens", "ctrl+t", "tools: type to filter, enter asks for arguments, ctrl+r takes raw JSON; both are kept until they are sent"},
	{"screens", "ctrl+g", "sessions: enter opens, ctrl+t creates, ctrl+x removes"},
	{"screens", "ctrl+r", "servers: state, error, last lines of stderr, r restarts, l reads the configuration again"},
	{"screens", "ctrl+o", "Host: both connections; r connects again now"},
	{"screens", "ctrl+y", "log"},
	{"form", "enter, tab", "next field; enter on a select takes the row under the cursor"},
	{"form", "shift+tab", "field before"},
	{"form", "up, down, pgup, pgdown", "move in a list; between text fields, from one to the next"},
	{"form", "space", "take the row and stay; mark a row of a list"},
	{"form", "typing in a list", "filters it; esc clears the filter"},
	{"form", "ctrl+s", "review: shows everything that would be sent"},
	{"form", "s, ctrl+s", "submit, on the review only"},
	{"form", "e, esc", "back to the field, on the review"},
	{"form", "y, n", "choose, where one yes or no is all that is asked; s submits it"},
	{"form", "ctrl+o", "leave an optional field out, clear a required one, or send it empty"},
	{"form", "ctrl+r", "the default or your last answer again"},
	{"form", "ctrl+g", "all texts in full"},
	{"form", "ctrl+x", "decline; asks once"},
	{"form", "esc", "dismiss; asks once; closes a form that has ended"},
	{"form", "y, ctrl+y", "yes, where it asks; n or esc goes back"},
	{"form", "ctrl+n, ctrl+p", "the next and the previous form, where several wait"},
	{"form", "c", "copy what was typed, when the form has ended without it"},
	{"commands", "/call SERVER/TOOL {...}", "call a tool; up to eight lines start together"},
	{"commands", "/tools /sessions /servers", "the screens above"},
	{"commands", "/host /log /help", "the screens above"},
	{"commands", "/new NAME", "a new session"},
	{"commands", "/stop", "stop the Turn"},
	{"commands", "//TEXT", "send a text that begins with a slash"},
	{"commands", "/quit", "leave; asks once while a call is open"},
}

type help struct {
	kit.Scroller
	version string
}

func (h *help) title() string { return "help" }

func (h *help) key(k tea.KeyMsg, v view) action {
	if h.Scroller.Key(k, max(1, v.h-1)) {
		return nil
	}
	switch kit.KeyName(k) {
	case "esc", "f1", "q", "?", "enter", "ctrl+c":
		return doClose{}
	}
	return nil
}

func (h *help) rows(v view) []string {
	keys := 0
	for _, b := range bindings {
		keys = max(keys, len(b.key))
	}
	keys = min(keys, v.w/3)
	var out []string
	if h.version != "" {
		out = append(out, v.th.Dim.Render(kit.Clip("askback "+h.version, v.w)))
	}
	where := ""
	for _, b := range bindings {
		if b.where != where {
			where = b.where
			if len(out) > 0 {
				out = append(out, "")
			}
			out = append(out, v.th.Strong.Render(where))
		}
		names := kit.Wrap(b.key, keys)
		does := kit.Wrap(b.does, max(8, v.w-keys-4))
		for i := range max(len(names), len(does)) {
			left, right := "", ""
			if i < len(names) {
				left = names[i]
			}
			if i < len(does) {
				right = does[i]
			}
			out = append(out, "  "+v.th.Key.Render(kit.Pad(left, keys))+"  "+right)
		}
	}
	rows, _ := h.Cut(out, v.h)
	return rows
}

func (h *help) hints(v view) []kit.Hint {
	return append([]kit.Hint{{"esc", "back"}}, h.ScrollHints()...)
}
