package app

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// globals are the flags that every command shares.
type globals struct {
	env *env

	config            string
	host              string
	tokenFile         string
	providerTokenFile string
	caFile            string
	insecure          bool
	session           string
	logFile           string
	logLevel          string
	accessible        bool
	permissionMode    string

	inputRead bool // a flag took the standard input
}

func newRoot(e *env) *cobra.Command {
	g := &globals{env: e}
	root := &cobra.Command{
		Use:   "askback",
		Short: "A terminal client for tools that need to ask you something",
		Long: `askback runs MCP servers, offers their tools to a Runtime Host, shows the form that the Host holds when a tool
asks for input, and carries your answer back exactly once.

Without a command it opens the terminal UI with the configured servers and an embedded Host, or with the Host
that --host names.`,
		Example: `  askback demo
  askback --config servers.json
  askback --host wss://devbox:7443 --token-file token`,
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,

		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return checkFlags(cmd, g) },
	}
	// Without Args: cobra then names a first word that is no command before it reads the flags of none.
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if err := usageArgs(cobra.NoArgs)(cmd, args); err != nil {
			return err
		}
		return runDefault(cmd.Context(), g)
	}
	root.SetVersionTemplate(versionText())
	root.SetIn(e.stdin)
	root.SetOut(e.stdout)
	root.SetErr(e.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &exitError{code: exitUsage, flags: true, err: fmt.Errorf("%w\nSee '%s --help'.", err, cmd.CommandPath())}
	})
	f := root.PersistentFlags()
	f.StringVar(&g.config, "config", "", "MCP servers `file` (default ./.mcp.json, else $XDG_CONFIG_HOME/askback/mcp.json)")
	f.StringVar(&g.host, "host", "", "`URL` of a Runtime Host (ws:// or wss://)")
	f.StringVar(&g.tokenFile, "token-file", "", "`file` with the Host's token (or set ASKBACK_TOKEN)")
	f.StringVar(&g.providerTokenFile, "provider-token-file", "", "`file` with the provider's token, where it is another one")
	f.StringVar(&g.caFile, "ca-file", "", "PEM `file` with the authorities to trust for wss")
	f.BoolVar(&g.insecure, "insecure", false, "allow ws:// to a Host that is not on this machine")
	f.StringVar(&g.session, "session", "", "session `id` or unique name")
	f.StringVar(&g.logFile, "log-file", "", "write a log as JSON lines to `file`")
	f.StringVar(&g.logLevel, "log-level", "info", "debug, info, warn or error")
	f.BoolVar(&g.accessible, "accessible", false, "line mode: no screen control, for screen readers and simple terminals")
	f.StringVar(&g.permissionMode, "permission-mode", "", "`mode` of a session that is created: bypass, where own tools need it")
	addCommands(root, g)
	addHelp(root)
	addCompletion(root, g)
	return root
}

// addHelp makes cobra's own commands refuse what they do not know, instead of showing something else and succeeding.
func addHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = func(cmd *cobra.Command, args []string) error {
				found, rest, err := root.Find(args)
				if err == nil && len(rest) > 0 {
					err = fmt.Errorf("unknown command %q for %q", rest[0], found.CommandPath())
				}
				if err != nil {
					return usagef(fmt.Errorf("%s\nSee 'askback --help'.", strings.TrimSpace(err.Error())))
				}
				return nil
			}
		case "completion":
			c.Args = usageArgs(cobra.NoArgs)
			c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}
