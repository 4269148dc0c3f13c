package screen

import (
	"context"
	"errors"

	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/internal/inspect"
	"askback/mcpmgr"
)

// visit asks the person to open the address of an authorization server. It is shown as a server's address is, but
// what the person agrees to is the authorization that they began: the page answers the program by itself.
type visit struct {
	server, address string
	agreed          chan error // buffered
	giveUp          func()
}

// authorized is the end of an authorization.
type authorized struct {
	server string
	err    error
}

var errGivenUp = errors.New("the authorization was given up")

// authorize begins the authorization of an HTTP server, which the person asked for.
func (m *Model) authorize(server string) tea.Cmd {
	ctx, cancel := context.WithCancelCause(m.ctx)
	visits := make(chan visit, 1)
	m.notice = "asking " + forms.Line(server) + " how it authorizes"
	show := func() tea.Msg {
		select {
		case v := <-visits:
			return v
		case <-ctx.Done():
			return nil
		}
	}
	run := func() tea.Msg {
		defer cancel(nil)
		return authorized{server, m.ins.Authorize(ctx, server, func(ctx context.Context, address string) error {
			v := visit{server, address, make(chan error, 1), func() { cancel(errGivenUp) }}
			visits <- v
			select {
			case err := <-v.agreed:
				return err
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})}
	}
	return tea.Batch(show, run)
}

// visit shows the address.
func (m *Model) visit(v visit) {
	m.visits++
	a := &inspect.Ask{ID: 1<<63 | m.visits, Kind: inspect.AskURL, Since: m.now(), Origin: mcpmgr.Origin{Server: v.server, Name: "authorization", Pushed: true},
		URL: mcpmgr.URLRequest{Message: "The server wants an authorization, which you give in a browser.", URL: v.address}}
	p := newURLPanel(a)
	p.visit = &v
	p.resize(m.w, m.h)
	m.panels = append(m.panels, p)
	if m.up == nil {
		m.raise(p)
	}
}

// authorized ends the showing of an address, and says how it went.
func (m *Model) authorized(e authorized) {
	for _, p := range m.panels {
		if u, ok := p.(*urlPanel); ok && u.visit != nil && u.visit.server == e.server {
			m.drop(p)
			break
		}
	}
	m.notice = forms.Line(e.server) + " is authorized"
	if e.err != nil {
		m.notice = errorText(e.err)
	}
}

// drop takes a panel away that is no Ask.
func (m *Model) drop(p panel) {
	for i, q := range m.panels {
		if q == p {
			m.panels = append(m.panels[:i:i], m.panels[i+1:]...)
			break
		}
	}
	if m.up == p {
		m.up = nil
		m.nextWaiting()
	}
}
