package screen

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/internal/inspect"
	"askback/mcpmgr"
)

// visit asks the person to open the address of an authorization server. The panel's answer goes to agreed.
type visit struct {
	server, address string
	agreed          chan error
}

// authorize begins the authorization of an HTTP server, which the person asked for.
func (m *Model) authorize(server string) tea.Cmd {
	visits := make(chan visit, 1)
	finished := make(chan error, 1)
	begin := func() tea.Msg {
		go func() { // ends with the authorization, which ends with ctx
			finished <- m.ins.Authorize(m.ctx, server, func(ctx context.Context, address string) error {
				v := visit{server, address, make(chan error, 1)}
				visits <- v
				select {
				case err := <-v.agreed:
					return err
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			})
		}()
		return nil
	}
	end := func() tea.Msg { return done{"authorized at " + forms.Line(server), <-finished} }
	show := func() tea.Msg {
		select {
		case v := <-visits:
			return v
		case err := <-finished:
			finished <- err
			return nil
		}
	}
	m.notice = "asking " + forms.Line(server) + " how it authorizes"
	return tea.Batch(begin, show, end)
}

// visit shows the address as the panel of an address does. To be done is to have opened it: the page answers the
// program by itself.
func (m *Model) visit(v visit) {
	m.visits++
	a := &inspect.Ask{ID: 1<<63 | m.visits, Kind: inspect.AskURL, Since: m.now(), Origin: mcpmgr.Origin{Server: v.server, Name: "authorization", Pushed: true},
		URL: mcpmgr.URLRequest{Message: "The server wants an authorization, which you give in a browser.", URL: v.address}}
	p := newURLPanel(a)
	p.visited = func(err error) { v.agreed <- err }
	m.panels = append(m.panels, p)
	if m.up == nil {
		m.raise(p)
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
	}
	m.nextWaiting()
}
