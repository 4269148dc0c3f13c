package formview

import (
	"strings"

	"askback/forms"
)

// wide is where there is room for words rather than signs.
const wide = 60

// header is what stands above the form: who asks, the warning, and a notice where the form looks for a secret or holds a
// link. It is ours and never scrolls.
type header struct{ rows []string }

func (m *Model) header() header {
	secrets := m.draft.Secrets()
	warn, style := "! ", m.th.Warn
	if len(secrets) > 0 {
		warn, style = secretLead, m.th.Loud
	}
	text := warn + "Never enter passwords, API keys, access tokens or payment data here."
	if cells(text) > m.w-1 {
		text = warn + "No passwords, API keys, tokens, cards"
	}
	rows := []string{m.whoRow(), style.Render(cut(text, m.w))}
	var notice []string
	if len(secrets) > 0 {
		notice = append(notice, "")
	}
	if forms.HasLink(m.req.Form) {
		notice = append(notice, "the text holds a link")
		if len(secrets) > 0 && m.w < wide {
			notice[1] = "has a link"
		}
	}
	if len(secrets) > 0 {
		names := make([]string, len(secrets))
		for i, f := range secrets {
			names[i] = f.Shown.Label
		}
		notice[0] = looksSecret(names, m.w-1-cells(warn)-cells(strings.Join(notice, m.dot())))
	}
	if len(notice) > 0 {
		rows = append(rows, style.Render(cut(warn+strings.Join(notice, m.dot()), m.w-1)))
	}
	return header{rows}
}

// looksSecret names the fields that look as if they asked for a secret, in at most room cells. The names are quoted, and
// hold no quote of their own.
func looksSecret(names []string, room int) string {
	tail := " looks like a secret"
	switch {
	case len(names) > 1 && room < 44:
		tail = " +" + itoa(len(names)-1) + " look secret"
	case len(names) > 1:
		tail = " and " + itoa(len(names)-1) + " more look like secrets"
	case room < 44:
		tail = " looks secret"
	}
	name := strings.ReplaceAll(names[0], `"`, "'")
	return `"` + cut(name, max(5, room-len(tail)-2)) + `"` + tail
}

// whoRow says who asks and which form of the queue this is.
func (m *Model) whoRow() string {
	req := m.draft.Shown.Requester
	source := req.Source
	if source == "" {
		source = "unknown server"
	}
	place := ""
	if m.req.Total > 1 {
		place = " form " + itoa(m.req.Position) + " of " + itoa(m.req.Total)
		if m.w < wide {
			place = " " + itoa(m.req.Position) + "/" + itoa(m.req.Total)
		}
	}
	lead := ""
	if m.req.Arguments {
		lead = "arguments" + m.dot()
	}
	room := m.w - 1 - cells(place) - cells(lead)
	name := cutMiddle(req.Name, room/2)
	who := lead + name + m.dot() + cutMiddle(source, room-cells(name)-3)
	gap := strings.Repeat(" ", max(0, m.w-1-cells(who)-cells(place)))
	return m.th.Title.Render(who + gap + place)
}

func (m *Model) dot() string { return " " + m.th.Glyphs.Dot + " " }
