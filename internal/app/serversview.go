package app

import (
	"context"
	"errors"

	"askback/forms"
	"askback/mcpmgr"
	"askback/tui/hostview"
)

// serversView shows the MCP servers to the terminal.
type serversView struct {
	side    *toolSide
	reload  reloader // nil: there is no file
	changed <-chan struct{}
}

func newServersView(side *toolSide, reload reloader) *serversView {
	changed := make(chan struct{}, 1)
	side.changes.Add(changed)
	side.note.Add(changed)
	return &serversView{side: side, reload: reload, changed: changed}
}

func (v *serversView) Changed() <-chan struct{} { return v.changed }

func (v *serversView) Servers() []hostview.Server {
	list := v.side.mgr.Servers()
	held := v.side.held()
	refused := v.side.refused()
	out := make([]hostview.Server, len(list))
	for i, s := range list {
		out[i] = shownServer(s, held[s.Name], refused)
		out[i].Notes = serverNotes(s, v.side.leftOut(s.Name))
	}
	return out
}

// shownServer is a server as a person sees it: it is ready when the Host can call its tools.
func shownServer(s mcpmgr.ServerStatus, held int, refused error) hostview.Server {
	v := hostview.Server{Name: s.Name, State: string(s.State), Error: s.Reason, Era: s.Version, Tools: s.Tools, Stderr: s.Stderr}
	if s.Era != "" {
		v.Era = string(s.Era) + " " + s.Version
	}
	switch {
	case s.State != mcpmgr.StateReady:
	case held >= s.Tools:
		v.Ready = true
	case refused != nil:
		v.State, v.Error = "not offered", "the Host refuses the tools: "+forms.Line(refused.Error())
	default:
		v.State = "offering its tools"
	}
	return v
}

// serverNotes is what a person should know of a server beside its state.
func serverNotes(s mcpmgr.ServerStatus, leftOut []string) []string {
	var notes []string
	if s.EraReason != "" {
		notes = append(notes, s.EraReason)
	}
	if s.Notices != "" {
		notes = append(notes, s.Notices)
	}
	if s.NeedsAuth {
		notes = append(notes, "wants authorization: askback authorize "+s.Name)
	}
	return append(append(notes, s.Warnings...), leftOut...)
}

func (v *serversView) Tools() []hostview.Tool {
	list := v.side.mgr.Tools()
	out := make([]hostview.Tool, len(list))
	for i, t := range list {
		out[i] = hostview.Tool{Server: t.Server, Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.InputSchema}
	}
	return out
}

func (v *serversView) Restart(_ context.Context, name string) error {
	return v.side.mgr.Reconnect(name)
}

// Reload implements hostview.Reloader.
func (v *serversView) Reload(context.Context) (string, error) {
	if v.reload == nil {
		return "", errors.New("no file names these servers")
	}
	servers, told, err := v.reload(v.side.mgr.Running())
	if err != nil {
		return "", err
	}
	v.side.mgr.Apply(servers)
	return told, nil
}

// leftOut names the tools of a server that the Host cannot be offered, and why.
func (s *toolSide) leftOut(server string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		return nil
	}
	var out []string
	for _, l := range s.last.Plan.LeftOut {
		if l.Server == server {
			out = append(out, l.String())
		}
	}
	return out
}

// refused is why the Host does not hold the offers, nil while it has not said so.
func (s *toolSide) refused() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		return nil
	}
	return s.last.Err
}
