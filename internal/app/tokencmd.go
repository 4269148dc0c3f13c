package app

import (
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"askback/host/access"
)

func newToken(g *globals, f *hostFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Issue, list and revoke the tokens of a Host",
		Long: `A token lets one program connect to the Host. Only a hash of it is stored; a running Host sees changes within a
second, and a revoked token loses its connections.`,
		Example: "  askback host token add devbox --role provider --expires 720h > token",
		Args:    usageArgs(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newTokenAdd(g, f), newTokenList(g, f), newTokenRevoke(g, f))
	return cmd
}

func newTokenAdd(g *globals, f *hostFlags) *cobra.Command {
	var role string
	var expires time.Duration
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Issue a token and print it, once",
		Long: `Roles: client may view, start turns and answer; provider may publish tools and nothing else; both may do either,
but its tools run only in sessions in bypass mode.`,
		Example: "  askback host token add laptop > token",
		Args:    usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := access.ParseRole(role)
			if err != nil {
				return usagef(fmt.Errorf("--role: %w", err))
			}
			if expires < 0 || expires == 0 && cmd.Flags().Changed("expires") { // 0 would be never
				return usagef(errors.New("--expires: a time from now, for example 720h"))
			}
			store, _, err := f.tokens(g)
			if err != nil {
				return err
			}
			token, err := store.Add(args[0], r, expires)
			if err != nil {
				return usagef(err)
			}
			fmt.Fprintln(g.env.stdout, token)
			if err := g.env.unwritten(); err != nil { // nobody has it, so nobody may use it
				return errors.Join(err, store.Revoke(args[0]))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&role, "role", "client", "`role`: client, provider or both")
	cmd.Flags().DurationVar(&expires, "expires", 0, "`time` after which the token ends (default never)")
	return cmd
}

func newTokenList(g *globals, f *hostFlags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the tokens, without the tokens", Args: usageArgs(cobra.NoArgs),
		Example: "  askback host token list",
		RunE: func(*cobra.Command, []string) error {
			store, _, err := f.tokens(g)
			if err != nil {
				return err
			}
			list, err := store.List()
			if err != nil {
				return usagef(err)
			}
			if asJSON {
				return writeTokensJSON(g, list)
			}
			w := tabwriter.NewWriter(g.env.stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tROLE\tCREATED\tEXPIRES")
			for _, c := range list {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", c.Name, c.Role, c.Created.Format(time.DateOnly), expiry(c))
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return cmd
}

func expiry(c access.Credential) string {
	switch {
	case c.Expires.IsZero():
		return "never"
	case c.Expired(time.Now()):
		return "expired"
	}
	return c.Expires.Format(time.RFC3339)
}

func writeTokensJSON(g *globals, list []access.Credential) error {
	out := []map[string]any{}
	for _, c := range list {
		m := map[string]any{"name": c.Name, "role": c.Role, "created": c.Created}
		if !c.Expires.IsZero() {
			m["expires"] = c.Expires
		}
		out = append(out, m)
	}
	return printJSON(g.env.stdout, out)
}

func newTokenRevoke(g *globals, f *hostFlags) *cobra.Command {
	return &cobra.Command{
		Use: "revoke NAME", Short: "End a token and its connections", Args: usageArgs(cobra.ExactArgs(1)),
		Example: "  askback host token revoke laptop",
		RunE: func(_ *cobra.Command, args []string) error {
			store, _, err := f.tokens(g)
			if err != nil {
				return err
			}
			if err := store.Revoke(args[0]); err != nil {
				if errors.Is(err, access.ErrNotFound) {
					return &exitError{code: exitUnreachable, err: fmt.Errorf("no token is named %q; see 'askback host token list'", args[0])}
				}
				return usagef(err)
			}
			fmt.Fprintf(g.env.stderr, "revoked %s\n", args[0])
			return nil
		},
	}
}
