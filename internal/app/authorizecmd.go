package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"askback/forms"
	"askback/internal/inspect"
	"askback/mcpmgr/config"
)

// newAuthorize is the one place where an authorization starts: by a person who asks for it.
func newAuthorize(g *globals) *cobra.Command {
	var scopes []string
	cmd := &cobra.Command{
		Use:   "authorize SERVER",
		Short: "Authorize askback at an MCP server that wants it",
		Long: `authorize runs the OAuth flow for one HTTP server of the configuration: it shows the address of the authorization
server, opens it with $BROWSER where that is set, waits for the answer on the loopback interface and keeps the tokens
in a file that only you can read. Nothing else in askback starts an authorization.

A server may answer and refuse some of its tools all the same. Then authorize asks whether to go on, and --scope names
what the server said was missing.`,
		Example: "  askback authorize deploys\n  askback authorize deploys --scope tools:deploy",
		Args:    usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := withSignals(cmd.Context())
			defer stop()
			return runAuthorize(ctx, g, args[0], scopes)
		},
	}
	cmd.Flags().StringArrayVar(&scopes, "scope", nil, "ask for a `scope`, too; may be repeated")
	return cmd
}

func runAuthorize(ctx context.Context, g *globals, name string, scopes []string) error {
	if !g.interactive() {
		return usagef(errors.New("authorize needs a person at a terminal and a browser"))
	}
	f, err := g.loadServers(ctx)
	if err != nil {
		return err
	}
	entry, err := namedServer(f, name)
	if err != nil {
		return err
	}
	log, closeLog, err := g.logger(nil)
	if err != nil {
		return err
	}
	defer closeLog()
	side := g.startTools([]config.Server{entry}, log)
	defer side.close()
	anyway := len(scopes) > 0
	if side.mgr.Wait(ctx, name) == nil && !anyway {
		question := name + " answers without a further authorization. Authorize all the same? [y/N] "
		if anyway, err = g.askYes(ctx, question); err != nil || !anyway {
			return err
		}
	}
	show := func(ctx context.Context, address string) error {
		a := inspect.ReadAddress(address)
		if a.Refused != "" {
			return errors.New(a.Refused)
		}
		fmt.Fprintf(g.env.stderr, "Open this address to authorize askback at %s:\n  %s\n", name, forms.Line(address))
		// That no browser opens does not matter: the address is on the screen.
		_ = inspect.Browser(g.env.getenv("BROWSER")).Open(ctx, a)
		return nil
	}
	if anyway {
		err = side.mgr.AuthorizeAnyway(ctx, name, scopes, show)
	} else {
		err = side.mgr.Authorize(ctx, name, show)
	}
	if err == nil {
		err = side.mgr.Wait(ctx, name)
	}
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return &exitError{code: exitUnreachable, err: errors.New(forms.Line(err.Error()))}
	}
	fmt.Fprintf(g.env.stderr, "%s is authorized\n", name)
	return nil
}
