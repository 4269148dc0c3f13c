package formview

// pager is a list of rows of which a window is shown.
type pager struct {
	rows []string
	top  int
}

// key scrolls and says whether the key is one that does.
func (p *pager) key(key string, room int) (scrolled bool) {
	p.top, scrolled = scroll(key, p.top, room, len(p.rows))
	return scrolled
}

// window is what is shown in room rows.
func (p *pager) window(room int) []string {
	p.top = clampTop(p.top, room, len(p.rows))
	return p.rows[p.top:min(len(p.rows), p.top+room)]
}

// scroll moves the first shown of total rows and says whether the key is one that scrolls.
func scroll(key string, top, room, total int) (int, bool) {
	switch key {
	case "up", "k", "ctrl+p":
		top--
	case "down", "j", "ctrl+n":
		top++
	case "pgup":
		top -= room
	case "pgdown", " ":
		top += room
	case "home":
		top = 0
	case "end":
		top = total
	default:
		return top, false
	}
	return clampTop(top, room, total), true
}

func clampTop(top, room, total int) int { return max(0, min(top, total-room)) }

// place says where a window of room rows stands; "" where everything is shown.
func place(top, room, total int) string {
	if total <= room {
		return ""
	}
	top = clampTop(top, room, total)
	return "rows " + itoa(top+1) + "-" + itoa(min(total, top+room)) + " of " + itoa(total)
}
