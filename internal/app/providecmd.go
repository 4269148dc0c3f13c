package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"askback/forms"
	"askback/hostclient"
	"askback/mcpmgr"
	"askback/protocol"
)

func newProvide(g *globals) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "provide",
		Short: "Offer the configured servers' tools to a Host, without a terminal",
		Long: `provide runs the MCP servers and offers their tools to a Host until it is told to end. Forms that a tool asks are
shown wherever somebody is attached to the Host. SIGHUP reads the configuration again.`,
		Example: "  askback provide --host wss://devbox:7443 --token-file token --config servers.json",
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := g.needHost("provide"); err != nil {
				return err
			}
			return runProvide(cmd.Context(), g, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what happens as JSON lines on stdout")
	return cmd
}

func runProvide(parent context.Context, g *globals, asJSON bool) error {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	defer onSignals(func(os.Signal) { cancel() }, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT)()
	f, err := g.loadServers(ctx)
	if err != nil {
		return err
	}
	log, closeLog, err := g.logger(nil)
	if err != nil {
		return err
	}
	defer closeLog()
	t, err := g.openTarget("", log)
	if err != nil {
		return err
	}
	defer t.close()
	side := g.startTools(f.Servers, log)
	defer side.close()
	side.offer(t)
	r := &provideReport{g: g, json: asJSON, side: side, states: map[string]mcpmgr.State{}}
	changes := side.changes.Listen()
	events := make(chan hostclient.Event)
	relayed, stopRelay := context.WithCancel(ctx)
	defer side.relay(func(ev hostclient.Event) {
		select {
		case events <- ev:
		case <-relayed.Done():
		}
	})()
	defer stopRelay()
	for {
		select {
		case <-ctx.Done():
			return nil // it was told to end, which is how it ends
		case ev := <-events:
			if err := r.event(ev); err != nil {
				return err
			}
		case <-changes:
			r.servers()
		case <-hup:
			r.reload(g)
		}
		if err := g.env.unwritten(); err != nil {
			return err
		}
	}
}

// provideReport tells what happens, to people on stderr or as JSON lines on stdout.
type provideReport struct {
	g      *globals
	json   bool
	side   *toolSide
	states map[string]mcpmgr.State
}

func (r *provideReport) say(event map[string]any, format string, args ...any) {
	if r.json {
		printJSON(r.g.env.stdout, event)
		return
	}
	fmt.Fprintf(r.g.env.stderr, "askback: "+format+"\n", args...)
}

// event tells what became of the connection and of the offers, which are published again after each reconnect.
func (r *provideReport) event(ev hostclient.Event) error {
	switch ev := ev.(type) {
	case hostclient.Connection:
		return r.connection(ev)
	case hostclient.Published:
		r.published()
	case hostclient.PublishFailed:
		message := forms.Line(ev.Err.Error())
		if hostclient.RefusalOf(ev.Err) == protocol.CodeUnauthorized { // asking again gives nothing else
			return &exitError{code: exitUnreachable, err: fmt.Errorf(
				"this token may not offer tools (%s); it takes one with --role provider or both", message)}
		}
		r.say(map[string]any{"event": "not_offered", "message": message}, "the Host refuses the tools: %s", message)
	}
	return nil
}

// connection tells the state of the connection; a refusal ends the command.
func (r *provideReport) connection(c hostclient.Connection) error {
	switch c.State {
	case hostclient.StateReady:
		r.say(map[string]any{"event": "connected", "forms": c.Host.Forms()}, "connected to the Host")
		if !c.Host.Forms() {
			r.say(map[string]any{"event": "no_forms"}, "this Host cannot show forms: tools that ask for input will fail")
		}
	case hostclient.StateWaiting:
		r.say(map[string]any{"event": "disconnected", "code": c.Cause.Code, "message": c.Cause.Error()}, "%v; connecting again", c.Cause)
	case hostclient.StateRefused:
		return connectError(c.Cause)
	}
	return nil
}

func (r *provideReport) servers() {
	for _, s := range r.side.mgr.Servers() {
		if r.states[s.Name] == s.State {
			continue
		}
		r.states[s.Name] = s.State
		event := map[string]any{"event": "server", "server": s.Name, "state": s.State}
		switch s.State {
		case mcpmgr.StateReady:
			event["tools"], event["era"] = s.Tools, s.Era
			r.say(event, "server %s is ready: %d tools, %s", s.Name, s.Tools, s.Version)
		case mcpmgr.StateFailed:
			event["reason"] = forms.Line(s.Reason)
			r.say(event, "server %s failed: %s", s.Name, forms.Line(s.Reason))
		}
	}
}

func (r *provideReport) published() {
	plan := r.side.prov.Plan()
	line := fmt.Sprintf("%d tools offered", len(plan.Tools))
	event := map[string]any{"event": "offered", "tools": len(plan.Tools)}
	var left []string
	for _, l := range plan.LeftOut {
		left = append(left, forms.Line(l.String()))
	}
	if len(left) > 0 {
		event["left_out"] = left
	}
	r.say(event, "%s", line)
	if !r.json {
		for _, l := range left {
			io.WriteString(r.g.env.stderr, "askback: "+l+"\n")
		}
	}
}

func (r *provideReport) reload(g *globals) {
	servers, told, err := g.reload(r.side.mgr.Running())
	if told != "" {
		r.say(map[string]any{"event": "configuration", "message": told}, "%s", told)
	}
	if err != nil {
		r.say(map[string]any{"event": "not_reloaded", "message": err.Error()}, "the configuration was not read again: %v", err)
		return
	}
	r.side.mgr.Apply(servers)
	r.say(map[string]any{"event": "reloaded", "servers": len(servers)}, "the configuration was read again: %d servers", len(servers))
}
