package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"askback/hostclient"
	"askback/mcpmgr/config"
	"askback/tui"
	"askback/tui/lineapp"
)

func newDemo(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "The terminal UI with a built-in demo server: nothing to configure",
		Long: `demo opens the terminal UI with an embedded Host and a demo MCP server whose tools ask for input in every way there
is. Try /call demo/deploy {"artifact":"build-42"}, or ctrl+t for the list of tools.`,
		Example: "  askback demo",
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if g.host != "" {
				return usagef(errors.New("demo has its own Host; 'askback --host URL' works with another"))
			}
			s, err := demoServer()
			if err != nil {
				return err
			}
			return runTerminal(cmd.Context(), g, terminal{servers: []config.Server{s}, temporary: true})
		},
	}
}

// demoServer is this program as its own demo server.
func demoServer() (config.Server, error) {
	self, err := os.Executable()
	if err != nil {
		return config.Server{}, err
	}
	return config.Server{Name: "demo", Transport: config.Stdio, Command: self, Args: []string{"demo-server"}, Protocol: config.Auto}, nil
}

func newAttach(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:     "attach",
		Short:   "The terminal UI alone: view and answer on a remote Host",
		Long:    `attach shows a Host's sessions and forms and answers them. It runs no servers: the provider runs elsewhere.`,
		Example: "  askback attach --host wss://devbox:7443 --token-file token",
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := g.needHost("attach"); err != nil {
				return err
			}
			return runTerminal(cmd.Context(), g, terminal{attach: true})
		},
	}
}

// runDefault is `askback` without a command.
func runDefault(ctx context.Context, g *globals) error {
	f, err := g.loadServers(ctx)
	if err != nil {
		return err
	}
	return runTerminal(ctx, g, terminal{servers: f.Servers, reload: g.reload})
}

// terminal says what a terminal UI runs beside itself.
type terminal struct {
	servers   []config.Server
	attach    bool // no servers of our own
	temporary bool // the embedded Host keeps nothing
	reload    reloader
	options   tui.Options     // what a scripted run replaces
	host      embeddedOptions // clock and ids of a scripted run's Host
	name      string          // of the session that is created; "" is the folder's
}

func runTerminal(ctx context.Context, g *globals, term terminal) error {
	ctx, stop := withEndSignals(ctx)
	defer stop()
	file, closeLog, err := g.logger(nil)
	if err != nil {
		return err
	}
	defer closeLog()
	lines := newViewHandler(file.Handler())
	log := slog.New(lines)
	t, err := g.openTerminalTarget(term, log)
	if err != nil {
		return err
	}
	defer t.close()
	view := hostclient.NewView(t.view)
	defer view.Close()
	if err := unusable(t, view); err != nil {
		return err
	}

	o := term.options
	o.Version, o.Logger, o.Logs = version, log, lines.lines
	if o.Getenv == nil {
		o.Getenv = g.env.getenv
	}
	o.Session, o.PermissionMode, o.Accessible = g.session, g.permissionMode, g.accessible
	host := tui.HostOptions{View: view, Address: g.host, Embedded: t.embedded != nil}
	if t.embedded != nil {
		host.Address = "embedded"
	}
	var tools *toolSide
	if !term.attach {
		o.NewSession = cmp.Or(term.name, folderName())
		// A credential of its own for tools is a provider's, whose tools run in every mode. Where it is not after all,
		// the Host's refusal brings up the question.
		o.TrustedTools = g.providerTokenFile != ""
		tools = g.startTools(term.servers, log)
		defer tools.close()
		tools.offer(t)
		host.Provider = tools.conn
		o.Servers = newServersView(tools, term.reload)
	}
	backend := tui.NewHostBackend(host)
	o.Backend = backend
	if tools != nil {
		defer tools.relay(func(ev hostclient.Event) {
			if c, ok := ev.(hostclient.Connection); ok {
				backend.ProviderConnection(c)
			}
		})()
	}
	out, err := tui.Run(ctx, o)
	if _, refused := errors.AsType[*lineapp.Refused](err); refused {
		if c := view.Connection(); c.State == hostclient.StateRefused {
			return connectError(c.Cause)
		}
		return &exitError{code: exitUnreachable, err: err}
	}
	if err != nil {
		return &exitError{code: exitFailed, err: err}
	}
	return terminalExit(out)
}

// unusable says what of the command line stands in the way of any connection, before a screen is shown.
func unusable(t *target, view *hostclient.View) error {
	if c := view.Connection(); c.State == hostclient.StateRefused {
		return connectError(c.Cause)
	}
	if _, err := t.view.Token(); err != nil {
		return usagef(err)
	}
	if _, err := t.provider.Token(); err != nil {
		return usagef(err)
	}
	return nil
}

// terminalExit: a person's quit is success; a signal, or a terminal that went away, ended us.
func terminalExit(out tui.Outcome) error {
	switch out.Reason {
	case tui.ReasonSignal:
		return &exitError{code: exitStopped, silent: true, err: fmt.Errorf("%w: %v", errSignal, out.Signal)}
	case tui.ReasonEnded:
		return &exitError{code: exitStopped, silent: true, err: errors.New("the terminal has gone")}
	}
	return nil
}

func (g *globals) openTerminalTarget(term terminal, log *slog.Logger) (*target, error) {
	o := term.host
	o.log, o.stderr = log, g.env.stderr
	if !term.temporary && g.host == "" {
		var err error
		if o.dir, err = g.hostDir(); err != nil {
			return nil, err
		}
	}
	return g.openTargetWith(o)
}

func folderName() string {
	wd, err := os.Getwd()
	if err != nil {
		return "askback"
	}
	if name := filepath.Base(wd); name != string(filepath.Separator) && name != "." {
		return name
	}
	return "askback"
}

// relay tells each event of the provider connection until the returned function is called.
func (s *toolSide) relay(tell func(hostclient.Event)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			ev, err := s.conn.Next(ctx)
			if err != nil {
				return
			}
			tell(ev)
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
