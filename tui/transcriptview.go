package tui

import (
	"strings"
	"time"

	"askback/tui/kit"
	"askback/tui/theme"
)

// preview is how many rows of a result the transcript shows for a window height.
func preview(h int) int {
	switch {
	case h < 10:
		return 3
	case h < 30:
		return 6
	}
	return 12
}

func (t *transcript) rows(i int, now time.Time, th *theme.Theme) []string {
	how := ": tab, enter"
	if t.browse {
		how = ""
	}
	return t.items[i].rows(t.w, preview(t.h), t.browse && i == t.current, how, now, th)
}

// resize keeps what is looked at.
func (t *transcript) resize(w, h int) { t.w, t.h = w, h }

// bottom is the first visible row when the last row is the window's last.
func (t *transcript) bottom(now time.Time, th *theme.Theme) place {
	return t.ending(len(t.items)-1, now, th)
}

// ending is the first visible row when the last row of an item is the window's last.
func (t *transcript) ending(item int, now time.Time, th *theme.Theme) place {
	left := t.h
	for i := item; i >= 0; i-- {
		n := len(t.rows(i, now, th))
		if n >= left {
			return place{i, n - left}
		}
		left -= n
	}
	return place{}
}

// at is the first visible row.
func (t *transcript) at(now time.Time, th *theme.Theme) place {
	low := t.bottom(now, th)
	if t.follow || less(low, t.top) {
		return low
	}
	return t.top
}

func less(a, b place) bool { return a.item < b.item || a.item == b.item && a.row < b.row }

// scroll moves the window by n rows and says whether it reached the very first one.
func (t *transcript) scroll(n int, now time.Time, th *theme.Theme) (first bool) {
	if len(t.items) == 0 {
		return true
	}
	p := t.at(now, th)
	p.item = min(p.item, len(t.items)-1)
	p.row += n
	for p.row < 0 && p.item > 0 {
		p.item--
		p.row += len(t.rows(p.item, now, th))
	}
	for p.row >= 0 && p.row >= len(t.rows(p.item, now, th)) && p.item < len(t.items)-1 {
		p.row -= len(t.rows(p.item, now, th))
		p.item++
	}
	p.row = max(0, p.row)
	t.top = p
	t.follow = !less(p, t.bottom(now, th))
	return p == place{}
}

// home and end jump.
func (t *transcript) home(now time.Time, th *theme.Theme) {
	t.top = place{}
	t.follow = !less(t.top, t.bottom(now, th))
}

func (t *transcript) end() { t.follow = true }

// choose moves the chosen item while browsing and keeps it in the window.
func (t *transcript) choose(by int, now time.Time, th *theme.Theme) (first bool) {
	if len(t.items) == 0 {
		return true
	}
	t.current = max(0, min(len(t.items)-1, t.current+by))
	top, start := t.at(now, th), place{t.current, 0}
	if less(start, top) {
		t.top, t.follow = start, false
	} else if last := t.ending(t.current, now, th); less(top, last) {
		t.top, t.follow = last, false
		if less(start, last) {
			t.top = start // taller than the window: from its start
		}
	}
	t.follow = t.follow || !less(t.top, t.bottom(now, th))
	return t.current == 0
}

// view draws the window.
func (t *transcript) view(now time.Time, th *theme.Theme) []string {
	out := make([]string, 0, t.h)
	p := t.at(now, th)
	for i := p.item; i < len(t.items) && len(out) < t.h; i++ {
		rows := t.rows(i, now, th)
		if i == p.item {
			rows = rows[min(p.row, len(rows)):]
		}
		for _, r := range rows {
			if len(out) == t.h {
				break
			}
			out = append(out, r)
		}
	}
	for len(out) < t.h {
		out = append(out, "")
	}
	return out
}

// below says whether there is more under the window.
func (t *transcript) below() bool { return !t.follow }

// welcome is what an empty transcript says.
func welcome(w, h int, tools bool, th *theme.Theme) []string {
	text := "Nothing was said in this session yet."
	if tools {
		text += "\n\nctrl+t chooses a tool and asks for its arguments. A line such as\n/call SERVER/TOOL {\"name\": \"value\"}\ncalls it directly."
	} else {
		text += "\n\nForms that wait in this session open by themselves."
	}
	rows := kit.Wrap(text, max(8, w-2))
	for i, r := range rows {
		rows[i] = " " + th.Dim.Render(strings.TrimRight(r, " "))
	}
	return kit.Fit(rows, w, h)
}
