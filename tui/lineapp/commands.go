package lineapp

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"askback/forms"
	"askback/tui/hostview"
)

const helpText = `/call SERVER/TOOL {"name": value}  call a tool; the tool's forms are asked here
/tools                             the tools on offer
/sessions, /open NAME, /new NAME   the sessions of the Host; open one; create one
/remove NAME                       remove a session
/servers, /restart NAME            the servers that run here; restart one
/host                              the Host and the connection
/form                              ask a form again that was left
/stop                              stop the Turn that runs
/quit                              leave
ctrl+c twice                       stop the Turn, or leave where none runs
//TEXT                             send a text that begins with a slash
Anything else is sent to the Host as it is.`

// command does what a line says.
func (a *app) command(ctx context.Context, text string) error {
	text = strings.TrimSpace(text)
	name, rest, _ := strings.Cut(text, " ")
	rest = strings.TrimSpace(rest)
	switch name {
	case "":
	case "/help", "?":
		for l := range strings.SplitSeq(helpText, "\n") {
			a.out.line("%s", l)
		}
	case "/quit", "/exit":
		return a.leave(ctx)
	case "/tools":
		a.tools()
	case "/sessions":
		a.list()
	case "/open":
		a.openNamed(ctx, rest)
	case "/new":
		if rest == "" {
			a.out.line("! /new NAME")
			return a.out.err
		}
		a.create(ctx, forms.Line(rest))
	case "/remove":
		return a.remove(ctx, rest)
	case "/servers":
		a.servers()
	case "/restart":
		return a.restart(ctx, rest)
	case "/host":
		a.hostInfo()
	case "/form":
		clear(a.left)
		if len(a.pending) == 0 {
			a.out.line("No form waits in this session.")
		}
	case "/stop":
		if a.turn == nil || a.turn.Terminal() {
			a.out.line("No Turn is running.")
			return a.out.err
		}
		a.stop(ctx)
	case "/call":
		return a.start(ctx, text)
	default:
		if rest, ok := strings.CutPrefix(text, "//"); ok {
			return a.start(ctx, "/"+rest)
		}
		if strings.HasPrefix(name, "/") {
			a.out.line("! unknown command %s; /help lists them", forms.Line(name))
			return a.out.err
		}
		return a.start(ctx, text)
	}
	return a.out.err
}

func (a *app) leave(ctx context.Context) error {
	if a.turn != nil && !a.turn.Terminal() {
		yes, err := a.confirm(ctx, "A Turn is running. Leave?")
		if err != nil || !yes {
			return err
		}
	}
	a.quit = true
	return nil
}

// start sends a text as a Turn and waits for it to end.
func (a *app) start(ctx context.Context, text string) error {
	switch {
	case a.open == "":
		a.out.line("! No session is open. /sessions lists them, /new NAME creates one.")
		return a.out.err
	case a.state != hostview.StateReady:
		a.out.line("! The Host is not reachable now.")
		return a.out.err
	}
	if a.host.Foreign() && strings.HasPrefix(text, "/call") {
		yes, err := a.confirm(ctx, "This Host does not run /call lines itself: it hands the text to its agent, which may do something else. Send it?")
		if err != nil || !yes {
			return err
		}
	}
	id := a.open
	clear(a.running)
	if names := hostview.StartingFor(a.o.Servers, text); len(names) > 0 {
		a.out.line("Waiting for %s to start.", forms.Line(strings.Join(names, ", ")))
	}
	a.request(ctx, func() func() {
		t, err := a.ours.Start(func() (hostview.Turn, error) {
			hostview.AwaitTools(ctx, a.o.Servers, text)
			return a.o.Backend.Start(ctx, id, text)
		})
		return func() {
			if err != nil {
				a.out.line("! Not sent: %s", reason(err))
				return
			}
			if a.open == id && (a.turn == nil || a.turn.Terminal() && a.turn.TurnID != t.TurnID) {
				a.turn = &t
			}
			if a.turn != nil && a.turn.TurnID == t.TurnID && a.turn.Terminal() && len(a.running) > 0 {
				a.awaitResults(ctx, t.TurnID) // it has ended before its start was answered
			}
		}
	})
	return nil
}

func (a *app) tools() {
	if a.o.Servers == nil {
		a.out.line("No tool is offered from here.")
		return
	}
	tools := a.o.Servers.Tools()
	if len(tools) == 0 {
		a.out.line("No tool is on offer. /servers says how the servers are.")
	}
	for _, t := range tools {
		a.out.line("%s/%s", forms.Line(t.Server), forms.Line(t.Name))
		if t.Description != "" {
			a.out.quote(t.Description)
		}
		if names := argNames(t.InputSchema); names != "" {
			a.out.line("  arguments: %s", names)
		}
	}
}

// argNames are the arguments that a schema names, those that must be given marked.
func argNames(schema json.RawMessage) string {
	args, err := forms.ReadArguments(schema)
	if err != nil {
		return ""
	}
	var out []string
	for _, f := range args.Schema.Fields {
		name := forms.Line(f.Name) + " (" + string(f.Kind)
		if f.Required {
			name += ", required"
		}
		out = append(out, name+")")
	}
	if len(args.Unread) > 0 {
		out = append(out, strconv.Itoa(len(args.Unread))+" more that only JSON can hold")
	}
	return strings.Join(out, ", ")
}

func (a *app) list() {
	for _, s := range a.sessions {
		mark := " "
		if s.ID == a.open {
			mark = "*"
		}
		status := ""
		if s.Status == hostview.StatusWaitingForUser {
			status = ", waits for you"
		}
		a.out.line("%s %s (%s%s)", mark, forms.Line(s.Name), forms.Line(s.ID), status)
	}
	if len(a.sessions) == 0 {
		a.out.line("No session exists here. /new NAME creates one.")
	}
}

func (a *app) servers() {
	if a.o.Servers == nil {
		a.out.line("No server runs here.")
		return
	}
	servers := a.o.Servers.Servers()
	if len(servers) == 0 {
		a.out.line("No server is configured.")
	}
	for _, s := range servers {
		a.out.line("%s: %s, %d tools", forms.Line(s.Name), forms.Line(s.State), s.Tools)
		if s.Error != "" {
			a.out.quote(s.Error)
		}
		for _, l := range s.Stderr[max(0, len(s.Stderr)-5):] {
			a.out.quote("stderr: " + l)
		}
	}
}

func (a *app) hostInfo() {
	kind := "another program's: a Turn's text goes to its agent"
	if !a.host.Foreign() {
		kind = "our own: it runs /call lines itself"
	}
	a.out.line("Host %s, %s, %s, epoch %d", forms.Line(a.host.Address), a.state, kind, a.host.Dialect)
}

func (a *app) openNamed(ctx context.Context, want string) {
	s, n := hostview.FindSession(a.sessions, want)
	switch n {
	case 1:
		a.openSession(ctx, s)
	case 0:
		a.out.line("! No session is called \"%s\". /sessions lists them.", forms.Line(want))
	default:
		a.out.line("! %d sessions are called \"%s\"; give the id.", n, forms.Line(want))
	}
}

func (a *app) openSession(ctx context.Context, s hostview.Session) {
	if s.ID == a.open {
		return
	}
	a.forgetSession(s.ID)
	a.out.line("Session %s", forms.Line(cmp.Or(s.Name, s.ID)))
	a.request(ctx, func() func() {
		err := a.o.Backend.Open(ctx, s.ID)
		return func() {
			if err != nil {
				a.out.line("! The session could not be opened: %s", reason(err))
				a.forgetSession("")
				return
			}
			a.askBypass(ctx, s)
		}
	})
}

func (a *app) create(ctx context.Context, name string) {
	mode := ""
	if a.o.PermissionMode == hostview.ModeBypass {
		mode = hostview.ModeBypass
	}
	a.request(ctx, func() func() {
		s, err := a.o.Backend.Create(ctx, hostview.NewSession{Name: name, Mode: mode})
		return func() {
			if err != nil {
				a.out.line("! No session was created: %s", reason(err))
				return
			}
			a.sessions = append(a.sessions, s)
			a.openSession(ctx, s)
		}
	})
}

func (a *app) remove(ctx context.Context, want string) error {
	s, n := hostview.FindSession(a.sessions, want)
	if n != 1 {
		a.out.line("! %d sessions are called \"%s\".", n, forms.Line(want))
		return a.out.err
	}
	yes, err := a.confirm(ctx, "Remove session "+forms.Line(s.Name)+" with its transcript? This cannot be undone.")
	if err != nil || !yes {
		return err
	}
	a.request(ctx, func() func() {
		err := a.o.Backend.Remove(ctx, s)
		return func() {
			if err != nil {
				a.out.line("! The session was not removed: %s", reason(err))
				return
			}
			a.out.line("Removed.")
			if a.open == s.ID {
				a.forgetSession("")
			}
		}
	})
	return nil
}

func (a *app) restart(ctx context.Context, name string) error {
	if a.o.Servers == nil {
		a.out.line("No server runs here.")
		return a.out.err
	}
	if !slices.ContainsFunc(a.o.Servers.Servers(), func(s hostview.Server) bool { return s.Name == name }) {
		a.out.line("! No server is called \"%s\". /servers lists them.", forms.Line(name))
		return a.out.err
	}
	yes, err := a.confirm(ctx, "Restart "+forms.Line(name)+"? Its calls end.")
	if err != nil || !yes {
		return err
	}
	a.request(ctx, func() func() {
		err := a.o.Servers.Restart(ctx, name)
		return func() {
			if err != nil {
				a.out.line("! Not restarted: %s", reason(err))
			}
		}
	})
	return nil
}

// askBypass says what a foreign Host needs for our tools, and does it only when that was asked for in words.
func (a *app) askBypass(ctx context.Context, s hostview.Session) {
	if a.o.Servers == nil || s.Mode == hostview.ModeBypass || a.bypass[s.ID] {
		return
	}
	a.bypass[s.ID] = true
	if a.o.PermissionMode != hostview.ModeBypass {
		if !a.host.Foreign() || a.o.TrustedTools {
			return
		}
		a.out.line("! The tools of this program run on this Host only in sessions in mode bypass, where its agent may")
		a.out.line("! read and write files, run commands and use the network without your permission. This session is in")
		a.out.line("! mode %s, so they are refused. --permission-mode bypass allows them.", forms.Line(cmp.Or(s.Mode, "ask")))
		return
	}
	a.request(ctx, func() func() {
		_, err := a.o.Backend.SetMode(ctx, s, hostview.ModeBypass)
		return func() {
			if err != nil {
				a.out.line("! The mode was not changed: %s", reason(err))
				return
			}
			a.out.line("This session runs in mode bypass now.")
		}
	})
}
