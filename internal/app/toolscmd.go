package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"askback/forms"
	"askback/internal/bridge"
	"askback/mcpmgr"
	"askback/mcpmgr/config"
	"askback/provider"
)

func newTools(g *globals) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "tools [SERVER]",
		Short:   "List the tools of the configured servers",
		Example: "  askback tools\n  askback tools demo --json",
		Args:    usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := withSignals(cmd.Context())
			defer stop()
			return runTools(ctx, g, args, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return cmd
}

// runTools lists what it can. A server that cannot be reached is told on stderr and makes the exit code 5, an entry
// that is wrong 2.
func runTools(ctx context.Context, g *globals, args []string, asJSON bool) error {
	f, err := g.loadServers(ctx)
	if err != nil {
		return err
	}
	servers := f.Servers
	if len(args) == 1 {
		s, err := namedServer(f, args[0])
		if err != nil {
			return err
		}
		servers = []config.Server{s}
	}
	log, closeLog, err := g.logger(nil)
	if err != nil {
		return err
	}
	defer closeLog()
	side := g.startTools(servers, log)
	defer side.close()
	failures := side.readyAll(ctx, servers, func(names []string) {
		fmt.Fprintf(g.env.stderr, "askback: waiting for %s\n", forms.Line(strings.Join(names, ", ")))
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := printTools(g, side.mgr.Tools(), asJSON); err != nil {
		return err
	}
	side.tellLeftOut(g.env.stderr)
	var last error
	if len(args) == 0 && len(f.Errors) > 0 { // told already
		last = &exitError{code: exitUsage, silent: true, err: errors.New("an entry of the configuration is wrong")}
	}
	for _, err := range failures {
		if err != nil {
			fmt.Fprintf(g.env.stderr, "askback: %v\n", err)
			last = &exitError{code: exitUnreachable, silent: true, err: err}
		}
	}
	return last
}

// sayWaiting is after how long a person is told what is waited for.
const sayWaiting = time.Second

// readyAll waits for each server to be ready or to fail, and gives the failures in the servers' order. After a while it
// says, once, what it waits for.
func (s *toolSide) readyAll(ctx context.Context, servers []config.Server, waiting func(names []string)) []error {
	type end struct {
		i   int
		err error
	}
	ends := make(chan end, len(servers))
	for i, server := range servers {
		go func() { ends <- end{i, s.ready(ctx, server.Name)} }()
	}
	failures, ended := make([]error, len(servers)), make([]bool, len(servers))
	late := time.After(sayWaiting)
	for n := 0; n < len(servers); {
		select {
		case e := <-ends:
			n++
			failures[e.i], ended[e.i] = e.err, true
		case <-late:
			var names []string
			for i, server := range servers {
				if !ended[i] {
					names = append(names, server.Name)
				}
			}
			waiting(names)
		}
	}
	return failures
}

// tellLeftOut names the tools that a server has and nobody can call: those that cannot be read, and those that a Host
// cannot be offered.
func (s *toolSide) tellLeftOut(w io.Writer) {
	for _, st := range s.mgr.Servers() {
		for _, warning := range st.Warnings {
			fmt.Fprintf(w, "askback: %s: %s\n", st.Name, forms.Line(warning))
		}
	}
	all := bridge.NewTools(s.mgr, nil, forms.OurLimits).Tools()
	for _, l := range provider.NewPlan(all, provider.DefaultLabel).LeftOut {
		fmt.Fprintf(w, "askback: %s\n", forms.Line(l.String()))
	}
}

func printTools(g *globals, tools []mcpmgr.Tool, asJSON bool) error {
	if !asJSON {
		for _, t := range tools {
			line := forms.Line(t.Server) + "/" + forms.Line(t.Name)
			if d := forms.Line(t.Description); d != "" {
				line += "  " + d
			}
			fmt.Fprintln(g.env.stdout, line)
		}
		return nil
	}
	type entry struct {
		Server      string          `json:"server"`
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	out := []entry{}
	for _, t := range tools {
		out = append(out, entry{t.Server, t.Name, t.Description, t.InputSchema})
	}
	return printJSON(g.env.stdout, out)
}
